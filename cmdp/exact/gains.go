package exact

import (
	"context"
	"errors"
	"math"
	"slices"
)

// A class is a recurrent class of a policy.
type class struct {
	states, choices []int32
	mean            []float64 // its average returns
}

// open makes the quotient inside the ends, whose components follow one another end by end. An end
// is cut at a state of the class that is known to be good, which becomes its first.
func (p *average) open() {
	inside := make([]bool, p.m.States())
	for i := range p.ends.parts() {
		states := p.ends.part(i)
		j := slices.Index(states, p.best[i].states[0])
		states[0], states[j] = states[j], states[0]
		for _, s := range p.ends.part(i)[1:] {
			inside[s] = true
		}
	}
	p.into = (&graph{k: p.k, allowed: p.ends.inside}).choicesInto()
	g := &graph{k: p.k, in: inside, allowed: p.ends.inside}
	parts, t := newPartition(p.m.States()), newTarjan(g)
	var before []int
	for i := range p.ends.parts() {
		before = append(before, parts.parts())
		for _, s := range p.ends.part(i)[1:] {
			t.from(s, parts.add)
		}
	}
	q := g.quotient(parts, nil, nil, nil)
	for _, n := range before {
		p.from = append(p.from, int32(n))
	}
	p.from = append(p.from, int32(parts.parts()))
	p.at = make([]int32, q.over)
	for s, n := range q.state {
		if n != q.over {
			p.at[n] = int32(s)
		}
	}
	p.cut = newScalar(q, 1, p.workers, p.chain)
}

// nearly finds the least average of end i by relative value iteration, whose policy is
// evaluated. Ends that mix too slowly for that are put on the list of slow ones.
func (p *average) nearly(i int, dir []float64) (mean float64, err error) {
	if i == 0 {
		p.slow = p.slow[:0]
	}
	states := p.ends.part(i)
	choices := make([]int32, len(states))
	low, scale := p.relax(states, choices, dir)
	found, err := p.recur(states, choices)
	if err != nil {
		return 0, err
	}
	if p.best[i].states == nil || dot(dir, found.mean) < dot(dir, p.best[i].mean) {
		p.best[i] = *found
	}
	mean = dot(dir, p.best[i].mean)
	const close = 1e-13
	if mean-low > close*scale {
		p.slow = append(p.slow, i)
		for j, s := range states {
			p.greedy[s] = choices[j]
		}
	}
	return mean, nil
}

// leastIn finds the least average of end i by policy iteration in the form of Dinkelbach (1967): with
// a mean that some class has, less in each step, no way back to the first state of the
// end and no loop elsewhere costs less than 0, or there is a class with a lower mean.
func (p *average) leastIn(ctx context.Context, i int, dir []float64) (mean float64, err error) {
	if p.cut == nil {
		p.open()
	}
	states := p.ends.part(i)
	p.aim(states)
	mean = dot(dir, p.best[i].mean)
	const rounds = 10_000
	for range rounds {
		found, err := p.below(ctx, i, dir, mean)
		if err != nil || found == nil {
			p.settle(states)
			return mean, err
		}
		now := dot(dir, found.mean)
		if !(now < mean) { // by no more than rounding
			break
		}
		p.best[i], mean = *found, now
	}
	p.settle(states)
	return mean, nil
}

// aim makes the policy inside an end the greedy one of relative value iteration, as far as that
// leads to the first state; elsewhere it goes to where it does.
func (p *average) aim(states []int32) {
	z := p.cut
	met := map[int32]bool{states[0]: true}
	pick := func(s, c int32) {
		n := z.q.state[s]
		z.pick[n] = z.q.first[n]
		for z.q.choice[z.pick[n]] != c {
			z.pick[n]++
		}
		met[s] = true
	}
	queue := []int32{states[0]}
	for _, anything := range []bool{false, true} {
		for at := 0; at < len(queue); at++ {
			for _, c := range p.into.of(queue[at]) {
				if s := p.owner(c); !met[s] && (anything || p.greedy[s] == c) {
					pick(s, c)
					queue = append(queue, s)
				}
			}
		}
	}
}

// owner returns the state of a choice.
func (p *average) owner(c int32) int32 { return p.base.owner(c) }

// settle takes the relative values of an end from cut.
func (p *average) settle(states []int32) {
	for _, s := range states {
		p.h[s] = p.cut.v[p.cut.q.state[s]] // 0 in the first
	}
}

// relax improves h in the states of an end by sweeps of relative value iteration, each
// going most of the way, so that no period keeps it from converging. It sets choices to the best
// ones and returns a lower bound of the least average, without what rounding takes, and the
// size of the rewards.
func (p *average) relax(states, choices []int32, dir []float64) (low, scale float64) {
	d := len(dir)
	for _, s := range states {
		for c := int(p.k.First[s]); c < int(p.k.First[s+1]); c++ {
			if p.ends.inside[c] {
				p.reward[c] = dot(dir, p.k.Returns[c*d:(c+1)*d])
				scale = math.Max(scale, math.Abs(p.reward[c]))
			}
		}
	}
	const sweeps, patience, step = 64, 64, 0.9
	last := math.Inf(1)
	for n := 1; ; n++ {
		var high float64
		low, high = math.Inf(1), math.Inf(-1)
		for j, s := range states {
			least := math.Inf(1)
			for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
				if !p.ends.inside[c] {
					continue
				}
				x := p.reward[c]
				for e := p.k.Offset[c]; e < p.k.Offset[c+1]; e++ {
					x += p.k.Prob[e] * p.h[p.k.Next[e]]
				}
				if x < least {
					least, choices[j] = x, c
				}
			}
			up := least - p.h[s]
			low, high = math.Min(low, up), math.Max(high, up)
			p.next[s] = p.h[s] + step*up
		}
		span := high - low
		if span <= 1e-14*scale || n >= sweeps || n%patience == 0 && span > last/2 {
			return low, scale
		}
		if n%patience == 0 {
			last = span
		}
		base := p.next[states[0]]
		for _, s := range states {
			p.h[s] = p.next[s] - base
		}
	}
}

// below returns a class of end i with a lower mean than the given one, or nil. The values that
// prove that there is none are then in cut.
func (p *average) below(ctx context.Context, i int, dir []float64, mean float64) (*class, error) {
	z := p.cut
	p.scalarizeCut(i, dir, mean)
	for c := p.from[i]; c < p.from[i+1]; c++ {
		lo, hi := z.q.component[c], z.q.component[c+1]
		var endless []int32
		var err error
		if hi == lo+1 {
			if !z.single(lo) {
				endless = []int32{lo}
			}
		} else if endless, err = z.iterate(ctx, int(c), lo, hi); err != nil {
			return nil, err
		}
		if endless == nil {
			continue
		}
		states, choices := make([]int32, len(endless)), make([]int32, len(endless))
		for j, n := range endless {
			states[j], choices[j] = p.at[n], z.q.choice[z.pick[n]]
		}
		z.rest(lo, hi)
		return p.recur(states, choices)
	}
	return p.cycle(i, dir, mean)
}

// scalarizeCut sets the rewards inside end i to dir·r less the mean.
func (p *average) scalarizeCut(i int, dir []float64, mean float64) {
	z, d := p.cut, len(dir)
	lo, hi := z.q.component[p.from[i]], z.q.component[p.from[i+1]]
	for j := z.q.first[lo]; j < z.q.first[hi]; j++ {
		sum, size := -mean, math.Abs(mean)
		for n, r := range p.k.Returns[int(z.q.choice[j])*d:][:d] {
			x := float64(dir[n] * r)
			sum += x
			size += math.Abs(x)
		}
		z.reward[j], z.weight[j] = sum, size
	}
	z.level = nil
}

// cycle looks for the cheapest way from the first state of end i back to it. It returns the
// class of that policy if it costs less than 0 by more than rounding, else nil.
func (p *average) cycle(i int, dir []float64, mean float64) (*class, error) {
	first, d := p.ends.part(i)[0], len(dir)
	least, best := 0.0, int32(-1)
	for c := p.k.First[first]; c < p.k.First[first+1]; c++ {
		if !p.ends.inside[c] {
			continue
		}
		sum, size := -mean, math.Abs(mean)
		for j, r := range p.k.Returns[int(c)*d:][:d] {
			sum += dir[j] * r
			size += math.Abs(dir[j] * r)
		}
		for e := p.k.Offset[c]; e < p.k.Offset[c+1]; e++ {
			x := p.k.Prob[e] * p.cut.v[p.cut.q.state[p.k.Next[e]]]
			sum += x
			size += math.Abs(x)
		}
		if sum < least && sum < -level*size {
			least, best = sum, c
		}
	}
	if best < 0 {
		return nil, nil
	}
	// What the policy reaches from the first state.
	states, choices := []int32{first}, []int32{best}
	met := map[int32]bool{first: true}
	for j := 0; j < len(states); j++ {
		c := choices[j]
		for e := p.k.Offset[c]; e < p.k.Offset[c+1]; e++ {
			if n := p.k.Next[e]; p.k.Prob[e] > 0 && !met[n] {
				met[n] = true
				states, choices = append(states, n), append(choices, p.cut.q.choice[p.cut.pick[p.cut.q.state[n]]])
			}
		}
	}
	return p.recur(states, choices)
}

var errNoClass = errors.New("exact: a policy that stays in an end component has no recurrent class")

// recur returns the recurrent class of a policy in states that it does not leave, the
// first one if there are several, with its average returns.
func (p *average) recur(states, choices []int32) (*class, error) {
	y := p.chainOf(states, choices)
	set := y.closed()
	if set == nil {
		return nil, errNoClass
	}
	out, d := &class{mean: make([]float64, p.dim())}, p.dim()
	for j, share := range y.shares(set) {
		c := choices[set[j]]
		out.states, out.choices = append(out.states, states[set[j]]), append(out.choices, c)
		axpy(out.mean, share, p.k.Returns[int(c)*d:(int(c)+1)*d])
	}
	p.keep(out.mean, true)
	return out, nil
}

// chainOf returns the chain of a policy in states, numbered in their order, that it does
// not leave.
func (p *average) chainOf(states, choices []int32) *chain {
	local := make(map[int32]int32, len(states))
	for j, s := range states {
		local[s] = int32(j)
	}
	y := &chain{}
	y.reset()
	for j, c := range choices {
		for e := p.k.Offset[c]; e < p.k.Offset[c+1]; e++ {
			if n := local[p.k.Next[e]]; p.k.Prob[e] > 0 && n != int32(j) {
				y.next, y.prob = append(y.next, n), append(y.prob, p.k.Prob[e])
			}
		}
		y.end(0)
	}
	return y
}
