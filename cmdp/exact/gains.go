package exact

import (
	"context"
	"errors"
	"math"
	"slices"

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

// nearly finds the least average of end i by relative value iteration, whose policy is
// evaluated. Ends that mix too slowly for that are put on the list of slow ones. Where an end is known
// to be slow, the policy is only where leastIn starts from, and is not evaluated.
func (p *average) nearly(i int, dir []float64) (mean float64, err error) {
	if i == 0 {
		p.slow, p.size = p.slow[:0], 0
	}
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
func (p *average) leastIn(ctx context.Context, i int, dir []float64) (mean float64, err error) {
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
		p.leadTo(best, states, choices)
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

func (v *solved) keep(p *average, states, choices []int32, best *class) {
	v.choices, v.h, v.best = append(v.choices[:0], choices...), v.h[:0], *best
	for _, s := range states {
		v.h = append(v.h, p.h[s])
	}
}

func (v *solved) restore(p *average, states, choices []int32, best *class) {
	copy(choices, v.choices)
	for j, s := range states {
		p.h[s] = v.h[j]
	}
	*best = v.best
}

// leadTo makes a policy inside an end lead to a class of it. States that lead there already keep their
// choice; others take any choice that may lead to one of these.
func (p *average) leadTo(class *class, states, choices []int32) {
	p.places(states)
	met := make([]bool, len(states))
	queue := slices.Clone(class.states)
	for j, s := range class.states {
		at := p.place[s]
		met[at], choices[at] = true, class.choices[j]
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
func (p *average) rough() float64 { return max(p.enough*p.size, p.aim) }

// places notes the places of states in their order.
func (p *average) places(states []int32) {
	for j, s := range states {
		p.place[s] = int32(j)
	}
}

// relative sets h to the relative values of a policy that has one class inside an end, 0 in a state of that.
func (p *average) relative(ctx context.Context, states, choices []int32, zero int32, mean float64) error {
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
		p.row(y, int32(j), c, 1)
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

// row adds the entries of a choice, which is taken with probability x, to a chain. j is the number of its state in
// the chain.
func (p *average) row(y *chain, j, c int32, x float64) {
	for e := p.k.Offset[c]; e < p.k.Offset[c+1]; e++ {
		if n := p.place[p.k.Next[e]]; p.k.Prob[e] > 0 && n != j {
			y.next, y.prob = append(y.next, n), append(y.prob, x*p.k.Prob[e])
		}
	}
}

// better changes the choices of a policy wherever another is better by more than rounding, and reports
// whether there were any. Its sweeps go to and fro and lower h at once, so that what is found in one place
// is known in others, as in modified policy iteration (Puterman, Shin 1978).
func (p *average) better(states, choices []int32, mean float64) bool {
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
func (p *average) lower(s int32, mean, slack float64) (best int32) {
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
func (p *average) successors(c int32) ([]int32, []float64) {
	next := p.k.Next[p.k.Offset[c]:p.k.Offset[c+1]]
	return next, p.k.Prob[p.k.Offset[c]:][:len(next)]
}

// relax improves h in the states of an end by damped sweeps of relative value iteration, which converge in periodic
// ends too. It sets choices to the best ones, after a few sweeps if the end is known to be slow, and returns a lower
// bound of the least average, without what rounding takes, and the size of the rewards.
func (p *average) relax(states, choices []int32, dir []float64, slow bool) (low, scale float64) {
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
func (p *average) recur(states, choices []int32, dir []float64) (*class, error) {
	y, d := p.chainOf(states, choices), p.dim()
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
		if p.keep(out.mean, true); best == nil || dir != nil && floats.Dot(dir, out.mean) < floats.Dot(dir, best.mean) {
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
func (p *average) chainOf(states, choices []int32) *chain {
	p.places(states)
	y := &p.loop
	y.reset()
	for j, c := range choices {
		p.row(y, int32(j), c, 1)
		y.end(0)
	}
	return y
}
