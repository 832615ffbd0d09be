package markov

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// A Class is a recurrent class of a deterministic policy.
type Class struct {
	States      []int32
	Choices     []int32   // of each of the states
	Mean        []float64 // its long-run mean returns
	slow        bool      // its end component mixes so slowly that sweeps are of little use
	approximate bool      // whether the mean is known to a tolerance only, not to rounding
}

// moveToFront moves a state to the front, the one whose relative value is 0. It is to be visited often: what rounding
// takes of the mean is missing in its equation, divided by its share of the time, and another policy may come
// there more often.
func (c *Class) moveToFront(j int) {
	c.States[0], c.States[j] = c.States[j], c.States[0]
	c.Choices[0], c.Choices[j] = c.Choices[j], c.Choices[0]
}

// LeastMean finds the least long-run mean of a reward, the gain, in each end component, and a policy that has
// it: by relative value iteration and, where components mix too slowly for that, by policy iteration (Puterman
// 1994, chapters 8 and 9). It remembers what it found for the rewards before, as a first guess.
type LeastMean struct {
	Predecessors *Predecessors // by the choices inside the end components
	Progress     progress.Func
	// Tolerance is how far a least mean may be off relative to the largest reward, 0 for rounding, and Aim how far in
	// absolute terms.
	Tolerance, Aim float64
	// Workers is how many goroutines share large end components.
	Workers int

	// What Solve finds:
	Reward []float64 // of each choice inside an end component, in the direction
	Bias   []float64 // of each state, its relative value within its end component
	Best   []Class   // of each end component, the class of the least mean
	Rough  bool      // whether some mean is the least up to Aim only

	kernel   *cmdp.Kernel
	last     []float64 // the direction in which the bias was found, nil for none
	ends     *EndComponents
	chain    *Chain       // shared with others
	loop     Chain        // of a recurrent class
	blocks   policyBlocks // of a policy inside an end component
	values   []float64    // of the states of a block, in a system of theirs
	right    []float64    // the right-hand side of that system
	longest  int          // most successors of a choice
	next     []float64    // the next relative values
	position []int32      // of each state, its number among those that are looked at
	cut      int32        // the state at which the policy was cut open
	before   lists[int32] // of each state, the other states that may lead there; see statesBefore
	stale    []staleness  // of each state, what has changed since it was looked at
	// statesBefore makes before when it is needed, once for all twins.
	statesBefore func() lists[int32]
	careful      bool // improvements sweep once, since more led to what cannot be solved
	// of each state in a slow end component, the choice of the last policy, or that relative value iteration found
	greedy         []int32
	slow           []int     // the end components in which relative value iteration does not converge
	sizes          []float64 // of each end component, the largest reward
	size           float64   // the largest of all
	solved         []solvedMean
	shareTolerance float64 // how exact shares of time need to be, 0 for rounding
}

// NewLeastMean returns the dynamic program of the long-run means in the end components of a kernel, whose states it
// sorts. It works in the memory of chain.
func NewLeastMean(k *cmdp.Kernel, ends *EndComponents, chain *Chain) *LeastMean {
	states := len(k.First) - 1
	p := &LeastMean{kernel: k, ends: ends, chain: chain, longest: LongestRow(k)}
	p.Predecessors = (&Graph{Kernel: k, Allowed: ends.Inside}).Predecessors()
	p.statesBefore = sync.OnceValue(p.listStatesBefore)
	p.Reward = make([]float64, k.Choices())
	p.Bias = make([]float64, states)
	p.Best = make([]Class, ends.Len())
	p.next = make([]float64, states)
	p.position = make([]int32, states)
	p.stale = make([]staleness, states)
	p.greedy = make([]int32, states)
	p.sizes = make([]float64, ends.Len())
	for i := range ends.Len() { // rows are read in the order in which they lie in memory
		slices.Sort(ends.Part(i))
	}
	return p
}

// Solve returns the least mean of each end component, the reward of a choice being its returns in the direction dir.
func (p *LeastMean) Solve(ctx context.Context, dir []float64) (least []float64, err error) {
	p.slow, p.Rough = p.slow[:0], false
	p.scalarize(dir)
	p.chain.progress = p.Progress
	p.loop.progress = p.Progress
	p.startFromNearest(dir)
	p.rescaleBias(dir)
	least = make([]float64, p.ends.Len())
	for i := range least {
		p.Progress.At(findingMeans, math.NaN(), len(p.ends.Part(i)))
		least[i], err = p.relativeValueIteration(ctx, i, dir)
		if err != nil {
			return nil, err
		}
	}
	for _, i := range p.slow {
		least[i], err = p.slowMean(ctx, i, dir)
		if err != nil {
			return nil, err
		}
	}
	if len(p.slow) > 0 {
		p.keepSolved(dir)
	}
	return least, nil
}

// A solvedMean is what was found in a direction, where that took policy iteration.
type solvedMean struct {
	dir, bias []float64
	greedy    []int32
	best      []Class
}

// keepSolved notes what was found in a direction.
func (p *LeastMean) keepSolved(dir []float64) {
	p.remember(solvedMean{slices.Clone(dir), slices.Clone(p.Bias), slices.Clone(p.greedy), slices.Clone(p.Best)})
}

// remember notes what was found in a direction, in the place of the first where there are too many.
func (p *LeastMean) remember(found solvedMean) {
	const numbers = 1 << 24 // 200 MB
	p.solved = slices.DeleteFunc(p.solved, func(at solvedMean) bool { return slices.Equal(at.dir, found.dir) })
	if most := max(2, numbers/len(p.Bias)); len(p.solved) >= most {
		p.solved = slices.Delete(p.solved, 0, 1)
	}
	p.solved = append(p.solved, found)
}

// Twin returns a dynamic program of the same means that knows what p knows, but works in the memory of chain, so that
// both may be used at the same time.
func (p *LeastMean) Twin(chain *Chain) *LeastMean {
	out := *p
	out.chain, out.loop, out.blocks, out.slow, out.values, out.right = chain, Chain{}, policyBlocks{}, nil, nil, nil
	out.Reward, out.Bias, out.Best = slices.Clone(p.Reward), slices.Clone(p.Bias), slices.Clone(p.Best)
	out.next, out.position, out.stale = slices.Clone(p.next), slices.Clone(p.position), slices.Clone(p.stale)
	out.greedy, out.sizes, out.solved = slices.Clone(p.greedy), slices.Clone(p.sizes), slices.Clone(p.solved)
	return &out
}

// Remember makes p know the directions that another one of the same means has solved, in place of its own.
func (p *LeastMean) Remember(other *LeastMean) { p.solved = slices.Clone(other.solved) }

// RememberLast makes p know the direction too that another one of the same means has solved last.
func (p *LeastMean) RememberLast(other *LeastMean) {
	if last := len(other.solved) - 1; last >= 0 {
		p.remember(other.solved[last])
	}
}

// startFromNearest puts back what was found in the direction at the least angle to a new one, in ends that were slow
// there: they may have been quick in the last direction, from which little is learnt.
func (p *LeastMean) startFromNearest(dir []float64) {
	nearest, most := -1, math.Inf(-1)
	for k, at := range p.solved {
		if cosine := floats.Dot(dir, at.dir) / floats.Norm(at.dir, 2); cosine >= most {
			nearest, most = k, cosine
		}
	}
	if nearest < 0 {
		return
	}
	at := p.solved[nearest]
	p.last = at.dir
	for i, class := range at.best {
		if class.slow {
			p.Best[i] = class
			for _, s := range p.ends.Part(i) {
				p.Bias[s], p.greedy[s] = at.bias[s], at.greedy[s]
			}
		}
	}
}

// scalarize sets the rewards to those of a direction. Kernels are read in their order.
func (p *LeastMean) scalarize(dir []float64) {
	clear(p.sizes)
	p.size = 0
	for s, i := range p.ends.Of {
		if i < 0 {
			continue
		}
		for c := p.kernel.First[s]; c < p.kernel.First[s+1]; c++ {
			if p.ends.Inside[c] {
				p.Reward[c] = floats.Dot(dir, p.kernel.ReturnsOf(int(c), len(dir)))
				p.sizes[i] = max(p.sizes[i], math.Abs(p.Reward[c]))
			}
		}
		p.size = max(p.size, p.sizes[i])
	}
}

// rescaleBias scales the bias that was found in the last direction by how much of that a new direction has: where one
// is a multiple of the other, that is its bias.
func (p *LeastMean) rescaleBias(dir []float64) {
	if p.last != nil {
		share := floats.Dot(dir, p.last) / floats.Dot(p.last, p.last)
		if share > 0 && share != 1 && !math.IsInf(share, 1) {
			floats.Scale(share, p.Bias)
		}
	}
	if !allZero(dir) {
		p.last = slices.Clone(dir)
	}
}

// findingMeans is what Progress is told.
const findingMeans = "finding long-run means"

// Restart forgets what was found last, except in slow ends, whose relative values are worth keeping. It returns what
// puts back the directions that were solved before, of which what follows is to know nothing.
func (p *LeastMean) Restart() (remember func()) {
	before := p.solved
	p.solved = nil
	for i := range p.Best {
		p.Best[i] = Class{slow: p.Best[i].slow} // whose mean may be a rough one
		if !p.Best[i].slow {
			for _, s := range p.ends.Part(i) {
				p.Bias[s] = 0
			}
		}
	}
	return func() { p.solved = append(before, p.solved...) }
}

// exactMean is how far a least mean may be off to be exact, relative to the largest reward.
const exactMean = 1e-13

// relativeValueIteration finds the least average of end i by relative value iteration, whose policy is
// evaluated. Ends that mix too slowly for that are put on the list of slow ones. Where an end is known to be
// slow, one sweep tells whether the policy at hand is still the best, from which policyIteration starts
// otherwise: it is nearer to that of a new direction than what a few sweeps find.
func (p *LeastMean) relativeValueIteration(ctx context.Context, i int, dir []float64) (mean float64, err error) {
	states := p.ends.Part(i)
	choices := make([]int32, len(states))
	slow, known := p.Best[i].slow, p.Best[i].States != nil
	scale := p.sizes[i]
	exact := exactMean * scale
	wanted := math.Max(exact, p.Aim)
	var low float64
	if slow && known {
		low, err = p.leastResidual(states, floats.Dot(dir, p.Best[i].Mean), wanted), ctx.Err()
	} else {
		low, err = p.relativeSweeps(ctx, states, choices, scale, slow)
	}
	if err != nil {
		return 0, err
	}
	if !known || !slow {
		from, take := states, choices
		if slow || scale == 0 { // any class is as good: the bias is known, or nothing has a mean but 0
			p.numberStates(states)
			from, take, _ = p.reached(states[0], choices)
		}
		found, err := p.recurrentClass(ctx, from, take, dir)
		if err != nil {
			return 0, err
		}
		if !known || floats.Dot(dir, found.Mean) < floats.Dot(dir, p.Best[i].Mean) {
			p.Best[i] = *found
		}
	}
	mean = floats.Dot(dir, p.Best[i].Mean)
	p.Best[i].slow = slow
	short := mean - low
	if short > exact && short <= p.Aim {
		p.Rough = true
	}
	if short > wanted {
		p.slow, p.Best[i].slow = append(p.slow, i), true
		if !known || !slow {
			p.keepGreedy(states, choices)
		}
	}
	return mean, nil
}

// policyIteration finds the least mean of end i by policy iteration (Howard 1960). All states of an end lead to one
// another, so the policy outside of the best known class can be made to lead there, and then has relative
// values. Where they show a better choice it is taken, which gives values or a class that are better.
func (p *LeastMean) policyIteration(ctx context.Context, i int, dir []float64) (mean float64, err error) {
	states, best := p.ends.Part(i), &p.Best[i]
	choices := make([]int32, len(states))
	for j, s := range states {
		choices[j] = p.greedy[s]
	}
	p.numberStates(states)
	p.followClass(best, choices)
	watch := meanProgress{rounding: p.rounding(best.States[0]), mean: math.Inf(1)}
	rough := p.Aim > 0
	var before []int32
	var last solvedPolicy
	_, evaluated, err := p.evaluateClass(ctx, states, choices, best, dir) // whether the bias is that of the choices
	if err != nil {
		return 0, err
	}
	searched := !evaluated // whether the blocks of the choices are known
	const rounds = 10_000
	p.careful = false
	for range rounds {
		p.Progress.At(findingMeans, math.NaN(), len(states))
		mean, err = floats.Dot(dir, best.Mean), nil
		var found *Class
		var better, done bool
		if !evaluated {
			p.leadTo(best, states, choices, searched)
			if slices.Equal(choices, before) { // what looked better forms another class, and is so by rounding
				break
			}
			err = p.evaluate(ctx, states, choices, best.States[0], mean)
		}
		before = append(before[:0], choices...)
		if err == nil {
			if watch.ends(mean, p.totalBias(states)) {
				break
			}
			if p.Aim > 0 {
				if short := mean - p.leastResidual(states, mean, p.Aim); short <= p.Aim {
					rough = short > exactMean*p.sizes[i]
					break
				}
			}
			last.keep(p, states, choices, best)
			better, done = p.improve(ctx, states, choices, mean)
			p.keepGreedy(states, choices)
			if !better || done && p.follows(best, choices) { // no mean is below that of the class
				break
			}
			found, evaluated, err = p.evaluateClass(ctx, states, choices, best, dir)
			searched = !evaluated
			watch.sameClass = evaluated && found == best
		}
		if errors.Is(err, ErrSingular) && !p.careful && last.choices != nil {
			p.careful = true
			evaluated, searched = false, false
			last.restore(p, states, choices, best)
			before = before[:0]
			continue
		}
		if err != nil {
			return 0, err
		}
		gained := mean - floats.Dot(dir, found.Mean)
		if done && gained <= watch.rounding { // no mean is lower than by the rounding of values
			p.endWith(best, found, gained, states, evaluated)
			break
		}
		// The sweeps may still improve the way to a class that does not change any more. What is worse is so by
		// no more than the error of its mean; the class at hand stays then.
		if gained >= -watch.rounding {
			found.slow = true
			*best = *found
		} else {
			evaluated = false
		}
	}
	p.Rough = p.Rough || rough
	err = p.makeExact(ctx, best, dir)
	return floats.Dot(dir, best.Mean), err
}

// endWith takes the better class and puts back the bias, from which no choice gains, if it was evaluated since.
func (p *LeastMean) endWith(best, found *Class, gained float64, states []int32, evaluated bool) {
	if evaluated {
		p.restoreBias(states)
	}
	if gained > 0 {
		found.slow = true
		*best = *found
	}
}

// keepGreedy notes the choices of states, from which policyIteration starts.
func (p *LeastMean) keepGreedy(states, choices []int32) {
	for j, s := range states {
		p.greedy[s] = choices[j]
	}
}

// leadTo has a policy lead to a class and stay there. searched says that the blocks of the policy are known.
func (p *LeastMean) leadTo(class *Class, states, choices []int32, searched bool) {
	if searched {
		p.leadOn(class.States, states, choices)
	} else {
		p.LeadTo(class.States, states, choices)
	}
	p.followClass(class, choices)
}

// makeExact finds the returns of a class again if they are approximate: mixtures of them keep limits.
func (p *LeastMean) makeExact(ctx context.Context, best *Class, dir []float64) error {
	if !best.approximate {
		return nil
	}
	exact, err := p.recurrentClass(ctx, best.States, best.Choices, dir)
	if err != nil {
		return err
	}
	exact.slow = best.slow
	*best = *exact
	return nil
}

// A solvedPolicy is one whose relative values are known. Many sweeps can end with a policy that mixes
// too slowly to be solved; then policy iteration goes back to the last solved one and takes a smaller step.
type solvedPolicy struct {
	choices []int32
	h       []float64
	best    Class
}

func (v *solvedPolicy) keep(p *LeastMean, states, choices []int32, best *Class) {
	v.choices, v.h, v.best = append(v.choices[:0], choices...), v.h[:0], *best
	for _, s := range states {
		v.h = append(v.h, p.Bias[s])
	}
}

func (v *solvedPolicy) restore(p *LeastMean, states, choices []int32, best *Class) {
	copy(choices, v.choices)
	for j, s := range states {
		p.Bias[s] = v.h[j]
	}
	*best = v.best
}

// followClass makes a policy do as a class does in its states.
func (p *LeastMean) followClass(class *Class, choices []int32) {
	for j, s := range class.States {
		choices[p.position[s]] = class.Choices[j]
	}
}

// follows reports whether a policy does as a class does in its states.
func (p *LeastMean) follows(class *Class, choices []int32) bool {
	for j, s := range class.States {
		if choices[p.position[s]] != class.Choices[j] {
			return false
		}
	}
	return true
}

// tolerance is how far a least mean may be off, 0 for rounding.
func (p *LeastMean) tolerance() float64 { return max(p.Tolerance*p.size, p.Aim) }

// numberStates notes the places of states in their order.
func (p *LeastMean) numberStates(states []int32) {
	for j, s := range states {
		p.position[s] = int32(j)
	}
}

// evaluate sets the bias to the relative values of a policy that has one class inside an end, 0 in a state of that.
func (p *LeastMean) evaluate(ctx context.Context, states, choices []int32, zero int32, mean float64) error {
	closed, err := p.relativeValues(ctx, states, choices, zero, mean)
	if err == nil && closed != nil {
		err = ErrSingular
	}
	return err
}

// evaluateClass finds the class of a policy that has the least mean to rounding, and sets the bias to its relative
// values if all states lead to the first state of best, which evaluated says. The class is best if the policy does as
// that does. Otherwise the bias is left alone. The error is errRetires if the policy comes back to that state by
// retiring.
func (p *LeastMean) evaluateClass(ctx context.Context, states, choices []int32, best *Class,
	dir []float64) (found *Class, evaluated bool, err error) {
	p.shareTolerance = p.Tolerance
	defer func() { p.shareTolerance = 0 }()
	zero, found := best.States[0], best
	if !p.follows(best, choices) {
		from, take, retires := p.reached(zero, choices)
		if retires {
			return nil, false, errRetires
		}
		found, err = p.recurrentClass(ctx, from, take, dir)
		if err != nil {
			return nil, false, err
		}
	}
	closed, err := p.relativeValues(ctx, states, choices, zero, floats.Dot(dir, found.Mean))
	if err != nil || closed == nil {
		return found, err == nil, err
	}
	other, err := p.leastClass(ctx, closed, dir)
	// An improved policy forms another class only where that is better, be it by less than rounding.
	if err == nil && floats.Dot(dir, other.Mean) < floats.Dot(dir, found.Mean)+p.rounding(zero) {
		found = other
	}
	return found, false, err
}

// reached returns the states that a policy inside an end comes to from one of them, its choices there, and whether it
// may retire.
func (p *LeastMean) reached(from int32, choices []int32) (queue, take []int32, retires bool) {
	met := make([]bool, len(choices))
	met[p.position[from]] = true
	queue = []int32{from}
	for n := 0; n < len(queue); n++ {
		take = append(take, choices[p.position[queue[n]]])
		next, prob := p.successors(take[n])
		for j, t := range next {
			at := p.position[t]
			switch {
			case prob[j] == 0:
			case at == retired:
				retires = true
			case !met[at]:
				met[at] = true
				queue = append(queue, t)
			}
		}
	}
	return queue, take, retires
}

// leastResidual returns the least of what a choice returns and adds to the bias, which no mean is below, or the first
// one that a mean is above by more than aim.
func (p *LeastMean) leastResidual(states []int32, mean, aim float64) float64 {
	least := math.Inf(1)
	for _, s := range states {
		for c := p.kernel.First[s]; c < p.kernel.First[s+1]; c++ {
			if p.ends.Inside[c] {
				x := p.Reward[c]
				next, prob := p.successors(c)
				for j, n := range next {
					x += prob[j] * (p.Bias[n] - p.Bias[s])
				}
				least = min(least, x)
			}
		}
		if mean-least > aim {
			break
		}
	}
	return least
}

// successors returns those of a choice and their probabilities.
func (p *LeastMean) successors(c int32) ([]int32, []float64) {
	return p.kernel.Row(int(c))
}

// relativeSweeps improves the bias in the states of an end by damped sweeps of relative value iteration, which
// converge in periodic ends too. It sets choices to the best ones, after a single sweep if the end is known to be
// slow, and returns a lower bound of the least average, without what rounding takes. No reward is larger than scale.
func (p *LeastMean) relativeSweeps(ctx context.Context, states, choices []int32, scale float64,
	slow bool) (low float64, err error) {
	const sweeps, patience, least, step = 64, 8, 1.0 / 16, 0.9
	last := math.Inf(1)
	for n := 1; ; n++ {
		p.Progress.At(findingMeans, float64(n)/sweeps, len(states))
		var high float64
		low, high = p.shareBackups(states, choices, step)
		span := high - low
		enough := span <= math.Max(1e-14*scale, 0.5*p.Aim)
		converges := n%patience != 0 || span <= least*last
		if enough || !converges || n >= sweeps || slow {
			return low, ctx.Err()
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if n == 1 || n%patience == 0 {
			last = span
		}
		base := p.next[states[0]]
		for _, s := range states {
			p.Bias[s] = p.next[s] - base
		}
	}
}

// shareBackups is relativeBackups, by several workers where there are many states.
func (p *LeastMean) shareBackups(states, choices []int32, step float64) (low, high float64) {
	work := len(p.kernel.Next) / len(p.next) * len(states)
	if p.Workers <= 1 || work < threshold.Shared {
		return p.relativeBackups(states, choices, step)
	}
	low, high = math.Inf(1), math.Inf(-1)
	var lock sync.Mutex
	parallel.ForStates(p.Workers, len(states), work, func(from, to int) float64 {
		least, most := p.relativeBackups(states[from:to], choices[from:to], step)
		lock.Lock()
		defer lock.Unlock()
		low, high = min(low, least), max(high, most)
		return 0
	})
	return low, high
}

// relativeBackups sets choices to the best ones of some states, and the next bias to one that is changed by a part of
// what these gain. It returns the least and the largest gain.
func (p *LeastMean) relativeBackups(states, choices []int32, step float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for j, s := range states {
		up, best := math.Inf(1), int32(0)
		for c := p.kernel.First[s]; c < p.kernel.First[s+1]; c++ {
			if !p.ends.Inside[c] {
				continue
			}
			x := p.Reward[c]
			next, prob := p.successors(c)
			for j, n := range next {
				x += prob[j] * p.Bias[n]
			}
			if x < up { // two assignments without a branch, which would be guessed wrong
				best = c
			}
			up = min(up, x)
		}
		choices[j] = best
		up -= p.Bias[s]
		low, high = min(low, up), max(high, up)
		p.next[s] = p.Bias[s] + step*up
	}
	return low, high
}

// ErrNoClass is the error of a policy that stays in an end component and has no recurrent class there, or
// several, where it should have one.
var ErrNoClass = errors.New("markov: a policy that stays in an end component has no recurrent class")

// recurrentClass returns the recurrent class of a policy in states that it does not leave, with its average
// returns. If there are several, it returns the one with the least mean in a direction.
func (p *LeastMean) recurrentClass(ctx context.Context, states, choices []int32, dir []float64) (*Class, error) {
	closed, err := p.closedSets(ctx, states, choices)
	if err != nil {
		return nil, err
	}
	if closed == nil {
		return nil, ErrNoClass
	}
	return p.leastClass(ctx, closed, dir)
}

// leastClass returns the class of the least mean among closed sets of the policy that was searched last.
func (p *LeastMean) leastClass(ctx context.Context, sets [][]int32, dir []float64) (best *Class, err error) {
	for _, set := range sets {
		out, err := p.classOf(ctx, set, len(dir))
		if err != nil {
			return nil, err
		}
		if best == nil || floats.Dot(dir, out.Mean) < floats.Dot(dir, best.Mean) {
			best = out
		}
	}
	return best, nil
}

// classOf returns a closed set of the policy that was searched last as a class, with its d average returns.
func (p *LeastMean) classOf(ctx context.Context, set []int32, d int) (*Class, error) {
	out := &Class{Mean: make([]float64, d), States: set}
	y, all := &p.loop, make([]int32, len(set))
	for j, s := range set {
		all[j], p.blocks.lowlink[s] = int32(j), int32(j)
		out.Choices = append(out.Choices, p.blocks.policy[s])
	}
	y.Reset()
	for _, c := range out.Choices {
		y.AddChoice(p.kernel, p.blocks.lowlink, c, 1)
		y.EndRow(0)
	}
	shares, err := y.stationaryShares(ctx, all, 1e-3*p.shareTolerance, p.chain)
	if err != nil {
		return nil, err
	}
	for j, share := range shares {
		floats.AddScaled(out.Mean, share, p.kernel.ReturnsOf(int(out.Choices[j]), d))
	}
	out.approximate = p.shareTolerance > 0 && len(set) > 1 && p.chain.factors == nil
	out.moveToFront(floats.MaxIdx(shares))
	return out, nil
}
