package exact

import (
	"context"
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// A class is a recurrent class of a policy.
type class struct {
	states, choices []int32
	mean            []float64 // its average returns
	slow            bool      // its end mixes so slowly that sweeps are of little use
}

// begin moves a state to the front, the one whose relative value is 0. It is to be visited often: what rounding takes of the mean
// is missing in its equation, divided by its share of the time, and another policy may come there more often.
func (c *class) begin(j int) {
	c.states[0], c.states[j] = c.states[j], c.states[0]
	c.choices[0], c.choices[j] = c.choices[j], c.choices[0]
}

// leastMean finds the least long-run mean of a reward in each end component, and a policy that has it: by relative value iteration
// and, where components mix too slowly for that, by policy iteration (Puterman 1994, chapters 8 and 9). It remembers what it found
// for the rewards before, as a first guess.
type leastMean struct {
	k     *cmdp.Kernel
	ends  *endComponents
	into  *predecessors // by the choices inside ends
	tell  teller
	chain *chain    // shared with others
	best  []class   // of each end, what was found last
	h     []float64 // of each state, its relative value within its end
	// enough is how far, relative to the largest reward, a least mean may be off, 0 for rounding; aim how far in absolute terms.
	enough, aim float64

	longest int       // most successors of a choice
	reward  []float64 // of each choice inside an end
	next    []float64
	place   []int32 // of each state, its number among those that are looked at
	stale   []bool  // of each state, whether a successor's relative value is lower than when it was looked at
	sweeps  int     // of an improvement of relative values, fewer once they led to what cannot be solved
	greedy  []int32 // of each state in a slow end, the choice that relaxation found
	slow    []int   // the ends in which relaxation does not converge
	size    float64 // the largest reward
	loop    chain   // of a policy inside an end
	loose   float64 // how exact shares of time need to be, 0 for rounding
}

func newLeastMean(k *cmdp.Kernel, ends *endComponents, chain *chain) *leastMean {
	states := len(k.First) - 1
	p := &leastMean{k: k, ends: ends, chain: chain, longest: longestRow(k)}
	p.into = (&graph{k: k, allowed: ends.inside}).predecessors()
	p.best, p.reward, p.greedy = make([]class, ends.parts()), make([]float64, len(k.Offset)-1), make([]int32, states)
	p.h, p.next, p.place, p.stale = make([]float64, states), make([]float64, states), make([]int32, states), make([]bool, states)
	return p
}

// solve returns the least mean of each end in a direction of the returns.
func (p *leastMean) solve(ctx context.Context, dir []float64) (least []float64, err error) {
	p.slow, p.size = p.slow[:0], 0
	least = make([]float64, p.ends.parts())
	for i := range least {
		p.tell.at(meaning, math.NaN(), len(p.ends.part(i)))
		if least[i], err = p.nearly(i, dir); err != nil {
			return nil, err
		}
	}
	for _, i := range p.slow {
		if least[i], err = p.leastIn(ctx, i, dir); err != nil {
			return nil, err
		}
	}
	return least, nil
}

// meaning is what solve does, for those who wait.
const meaning = "finding long-run means"

// restart forgets what was found last, except in slow ends, whose relative values are worth keeping.
func (p *leastMean) restart() {
	for i := range p.best {
		p.best[i] = class{slow: p.best[i].slow} // whose mean may be a rough one
		if !p.best[i].slow {
			for _, s := range p.ends.part(i) {
				p.h[s] = 0
			}
		}
	}
}

// nearly finds the least average of end i by relative value iteration, whose policy is
// evaluated. Ends that mix too slowly for that are put on the list of slow ones. Where an end is known
// to be slow, the policy is only where leastIn starts from, and is not evaluated.
func (p *leastMean) nearly(i int, dir []float64) (mean float64, err error) {
	states := p.ends.part(i)
	choices := make([]int32, len(states))
	slow := p.best[i].slow
	low, scale := p.relax(states, choices, dir, slow)
	p.size = max(p.size, scale)
	if known := p.best[i].states != nil; !known || !slow {
		found, err := p.recur(states, choices, dir)
		if err != nil {
			return 0, err
		}
		if !known || floats.Dot(dir, found.mean) < floats.Dot(dir, p.best[i].mean) {
			p.best[i] = *found
		}
	}
	mean = floats.Dot(dir, p.best[i].mean)
	const close = 1e-13
	if p.best[i].slow = slow; mean-low > math.Max(close*scale, p.aim) {
		p.slow, p.best[i].slow = append(p.slow, i), true
		for j, s := range states {
			p.greedy[s] = choices[j]
		}
	}
	return mean, nil
}

// leastIn finds the least mean of end i by policy iteration (Howard 1960). All states of an end lead to one
// another, so the policy outside of the best known class can be made to lead there, and then has relative
// values. Where they show a better choice it is taken, which gives values or a class that are better.
func (p *leastMean) leastIn(ctx context.Context, i int, dir []float64) (mean float64, err error) {
	states, best := p.ends.part(i), &p.best[i]
	choices := make([]int32, len(states))
	for j, s := range states {
		choices[j] = p.greedy[s]
	}
	var before []int32
	var last solved
	const rounds = 10_000
	p.sweeps = 4
	few := 0 // rounds that gained less than is aimed at
	for range rounds {
		p.tell.at(meaning, math.NaN(), len(states))
		p.leadTo(best.states, states, choices)
		for j, s := range best.states {
			choices[p.place[s]] = best.choices[j]
		}
		if slices.Equal(choices, before) { // what looked better forms another class, and is so by rounding
			break
		}
		before = append(before[:0], choices...)
		mean = floats.Dot(dir, best.mean)
		var found *class
		err := p.relative(ctx, states, choices, best.states[0], mean)
		if err == nil {
			last.keep(p, states, choices, best)
			better := p.better(states, choices, mean)
			for j, s := range states {
				p.greedy[s] = choices[j]
			}
			if !better {
				break
			}
			p.loose = p.enough
			found, err = p.recur(states, choices, dir)
			p.loose = 0
		}
		if errors.Is(err, errSystem) && p.sweeps > 1 && last.choices != nil {
			p.sweeps /= 4
			last.restore(p, states, choices, best)
			before = before[:0]
			continue
		}
		if err != nil {
			return 0, err
		}
		// The sweeps may still improve the way to a class that does not change any more. What is worse is so by no more
		// than the error of its mean; the class at hand stays then.
		gained := mean - floats.Dot(dir, found.mean)
		if few++; gained >= p.aim {
			few = 0
		}
		if gained >= 0 {
			found.slow = true
			*best = *found
		}
		if few > 1 {
			break
		}
	}
	return floats.Dot(dir, best.mean), nil
}

// A solved policy is one whose relative values are known. Many sweeps can end with a policy that mixes
// too slowly to be solved; then policy iteration goes back to the last solved one and takes a smaller step.
type solved struct {
	choices []int32
	h       []float64
	best    class
}

func (v *solved) keep(p *leastMean, states, choices []int32, best *class) {
	v.choices, v.h, v.best = append(v.choices[:0], choices...), v.h[:0], *best
	for _, s := range states {
		v.h = append(v.h, p.h[s])
	}
}

func (v *solved) restore(p *leastMean, states, choices []int32, best *class) {
	copy(choices, v.choices)
	for j, s := range states {
		p.h[s] = v.h[j]
	}
	*best = v.best
}

// leadTo makes a policy inside an end lead to some target states of it, whose choices stay. States that lead there already keep
// their choice; others take any choice that may lead to one of these.
func (p *leastMean) leadTo(targets, states, choices []int32) {
	p.places(states)
	met := make([]bool, len(states))
	queue := slices.Clone(targets)
	for _, s := range targets {
		met[p.place[s]] = true
	}
	for _, anything := range []bool{false, true} {
		for n := 0; n < len(queue); n++ {
			for _, c := range p.into.choices(queue[n]) {
				s := p.into.owner[c]
				at := p.place[s]
				if !met[at] && (anything || choices[at] == c) {
					met[at], choices[at] = true, c
					queue = append(queue, s)
				}
			}
		}
	}
}

// rough is how far a least mean may be off, 0 for rounding.
func (p *leastMean) rough() float64 { return max(p.enough*p.size, p.aim) }

// places notes the places of states in their order.
func (p *leastMean) places(states []int32) {
	for j, s := range states {
		p.place[s] = int32(j)
	}
}

// relative sets h to the relative values of a policy that has one class inside an end, 0 in a state of that.
func (p *leastMean) relative(ctx context.Context, states, choices []int32, zero int32, mean float64) error {
	y := p.chain
	y.reset()
	x, right := make([]float64, len(states)), make([]float64, len(states))
	base := p.h[zero]
	for j, s := range states {
		x[j] = p.h[s] - base
		if s == zero {
			y.end(1)
			continue
		}
		c := choices[j]
		right[j] = p.reward[c] - mean
		y.addChoice(p.k, p.place, c, 1)
		y.end(0)
	}
	if err := y.solve(ctx, x, right, false, 0.1*p.rough()); err != nil {
		return err
	}
	for j, s := range states {
		p.h[s] = x[j]
	}
	return nil
}

// better changes the choices of a policy wherever another is better by more than rounding, and reports
// whether there were any. Its sweeps go to and fro and lower h at once, so that what is found in one place
// is known in others, as in modified policy iteration (Puterman, Shin 1978).
func (p *leastMean) better(states, choices []int32, mean float64) bool {
	size, found := 0.0, false
	for j, s := range states {
		size = max(size, math.Abs(p.h[s])+math.Abs(p.reward[choices[j]]))
	}
	slack := math.Max(float64(64+4*p.longest)*unit*size, 0.5*p.rough())
	for _, s := range states {
		p.stale[s] = true
	}
	for n := range p.sweeps {
		changed := false
		for j := range states {
			if n%2 == 1 {
				j = len(states) - 1 - j
			}
			s := states[j]
			if !p.stale[s] {
				continue
			}
			p.stale[s] = false
			if best := p.lower(s, mean, slack); best >= 0 {
				changed, found = true, found || best != choices[j]
				choices[j] = best
				for _, c := range p.into.choices(s) {
					p.stale[p.into.owner[c]] = true
				}
			}
		}
		if !changed {
			break
		}
	}
	return found
}

// lower gives a state the value of its best choice if that gains more than slack, and returns the choice,
// or −1.
func (p *leastMean) lower(s int32, mean, slack float64) (best int32) {
	best = -1
	now := p.h[s]
	least := now
	for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
		if !p.ends.inside[c] {
			continue
		}
		x := p.reward[c] - mean
		next, prob := p.successors(c)
		for j, n := range next {
			x += prob[j] * (p.h[n] - now)
		}
		if x >= -slack {
			continue
		}
		out := 0.0
		for j, n := range next {
			if n != s {
				out += prob[j]
			}
		}
		if now+x/out < least {
			least, best = now+x/out, c
		}
	}
	if best >= 0 {
		p.h[s] = least
	}
	return best
}

// successors returns those of a choice and their probabilities.
func (p *leastMean) successors(c int32) ([]int32, []float64) {
	next := p.k.Next[p.k.Offset[c]:p.k.Offset[c+1]]
	return next, p.k.Prob[p.k.Offset[c]:][:len(next)]
}

// relax improves h in the states of an end by damped sweeps of relative value iteration, which converge in periodic
// ends too. It sets choices to the best ones, after a few sweeps if the end is known to be slow, and returns a lower
// bound of the least average, without what rounding takes, and the size of the rewards.
func (p *leastMean) relax(states, choices []int32, dir []float64, slow bool) (low, scale float64) {
	d := len(dir)
	for _, s := range states {
		for c := int(p.k.First[s]); c < int(p.k.First[s+1]); c++ {
			if p.ends.inside[c] {
				p.reward[c] = floats.Dot(dir, p.k.Returns[c*d:(c+1)*d])
				scale = max(scale, math.Abs(p.reward[c]))
			}
		}
	}
	const sweeps, brief, patience, least, step = 64, 8, 8, 1.0 / 16, 0.9
	last := math.Inf(1)
	for n := 1; ; n++ {
		var high float64
		low, high = math.Inf(1), math.Inf(-1)
		for j, s := range states {
			up, best := math.Inf(1), int32(0)
			for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
				if !p.ends.inside[c] {
					continue
				}
				x := p.reward[c]
				next, prob := p.successors(c)
				for j, n := range next {
					x += prob[j] * p.h[n]
				}
				if x < up { // without a branch, see backup.states
					best = c
				}
				up = min(up, x)
			}
			choices[j] = best
			up -= p.h[s]
			low, high = min(low, up), max(high, up)
			p.next[s] = p.h[s] + step*up
		}
		span := high - low
		if span <= math.Max(1e-14*scale, 0.5*p.aim) || n >= sweeps || slow && n >= brief || n%patience == 0 && span > least*last {
			return low, scale
		}
		if n == 1 || n%patience == 0 {
			last = span
		}
		base := p.next[states[0]]
		for _, s := range states {
			p.h[s] = p.next[s] - base
		}
	}
}

var errNoClass = errors.New("exact: a policy that stays in an end component has no recurrent class")

// recur returns the recurrent class of a policy in states that it does not leave, with its average
// returns. If there are several, it returns the one with the least mean in a direction, or the first
// where the direction is nil.
func (p *leastMean) recur(states, choices []int32, dir []float64) (*class, error) {
	y, d := p.chainOf(states, choices), len(p.k.Returns)/(len(p.k.Offset)-1)
	var best *class
	for _, set := range y.closedSets() {
		out := &class{mean: make([]float64, d)}
		shares := y.shares(set, 1e-3*p.loose, p.chain)
		for j, share := range shares {
			c := choices[set[j]]
			out.states, out.choices = append(out.states, states[set[j]]), append(out.choices, c)
			floats.AddScaled(out.mean, share, p.k.Returns[int(c)*d:(int(c)+1)*d])
		}
		out.begin(floats.MaxIdx(shares))
		if best == nil || dir != nil && floats.Dot(dir, out.mean) < floats.Dot(dir, best.mean) {
			best = out
		}
	}
	if best == nil {
		return nil, errNoClass
	}
	return best, nil
}

// chainOf returns the chain of a policy in states, numbered in their order, that it does
// not leave.
func (p *leastMean) chainOf(states, choices []int32) *chain {
	p.places(states)
	y := &p.loop
	y.reset()
	for _, c := range choices {
		y.addChoice(p.k, p.place, c, 1)
		y.end(0)
	}
	return y
}
