package exact

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// A Branch is one of the ways in which the endless runs of an answer can go on: a recurrent class of its policy, or rest.
// All runs that come there have the same long-run means.
type Branch struct {
	// Probability is that of a run to come there, over the start, chance and what the policy draws.
	Probability float64
	// Returns are the long-run means there, NaN for the returns that are totals.
	Returns []float64
	// States are those of the class, in order, and none at rest.
	States []int
}

// Branches returns the branches of an answer of [Solve] for a model with long-run means, the likeliest first: of its policy or,
// where that is nil, its components.
func Branches(ctx context.Context, m *cmdp.Model, policy *Policy, components []Component) ([]Branch, error) {
	if err := checkTask(m, cmdp.Task{}); err != nil {
		return nil, err
	}
	if !m.Means() {
		return nil, nil
	}
	p, err := newAverage(m, 1, indifferent(m.Dim()), nil)
	if err != nil {
		return nil, err
	}
	if policy != nil {
		components = []Component{{1, policy}}
	}
	return p.branches(ctx, components)
}

// branches is Branches of a pricer. Classes of several components with the same states and means are one.
func (p *average) branches(ctx context.Context, components []Component) ([]Branch, error) {
	const same = 1e-9
	var out []Branch
	extent := p.meanExtent()
	add := func(b Branch) {
		for i := range b.Returns {
			if !p.m.Mean(i) {
				b.Returns[i] = math.NaN()
			}
		}
		for i := range out {
			equal := slices.Equal(out[i].States, b.States)
			for j, x := range b.Returns {
				equal = equal && !(math.Abs(x-out[i].Returns[j]) > same*extent[j])
			}
			if equal {
				out[i].Probability += b.Probability
				return
			}
		}
		out = append(out, b)
	}
	for _, c := range components {
		classes, err := p.classes(ctx, &c.Policy.steps[0])
		if err != nil {
			return nil, err
		}
		rest := 1.0
		for _, in := range classes {
			b := Branch{Probability: c.Weight * in.prob, Returns: in.mean}
			for _, s := range in.states {
				b.States = append(b.States, int(s))
			}
			slices.Sort(b.States)
			rest -= in.prob
			add(b)
		}
		if rest > 1e-12 {
			add(Branch{Probability: c.Weight * rest, Returns: make([]float64, p.dim())})
		}
	}
	slices.SortStableFunc(out, func(a, b Branch) int {
		if a.Probability > b.Probability {
			return -1
		} else if a.Probability < b.Probability {
			return 1
		}
		return 0
	})
	return out, nil
}

// meanExtent returns how much each return varies over the steps, 0 being one of its values.
func (p *average) meanExtent() []float64 {
	d := p.dim()
	low, high := make([]float64, d), make([]float64, d)
	for j, r := range p.k.Returns {
		low[j%d], high[j%d] = math.Min(low[j%d], r), math.Max(high[j%d], r)
	}
	return minus(high, low)
}

// A recurrent is a recurrent class of a policy that may draw.
type recurrent struct {
	prob   float64 // of coming there
	end    int32
	states []int32
	share  []float64 // of the time there, in each state
	mean   []float64 // the long-run mean returns there, 0 for totals
}

// classes returns the recurrent classes that a policy comes to.
func (p *average) classes(ctx context.Context, st *stepPolicy) ([]recurrent, error) {
	x, err := p.visits(ctx, st, false)
	if err != nil {
		return nil, err
	}
	return p.classesOf(st, x)
}

// classesOf is classes for a policy whose visits are known.
func (p *average) classesOf(st *stepPolicy, x *visits) ([]recurrent, error) {
	stays := make(map[int32][]int32)
	var order []int32
	for _, s := range x.forever {
		end := p.ends.of[s]
		if stays[end] == nil {
			order = append(order, end)
		}
		stays[end] = append(stays[end], s)
	}
	var out []recurrent
	for _, end := range order {
		states := stays[end]
		y := p.chainUnder(states, st)
		for _, set := range y.closedSets() {
			in := recurrent{end: end, mean: make([]float64, p.dim())}
			for _, j := range set {
				in.prob += p.seen(x, states[j])
			}
			if in.prob == 0 {
				continue
			}
			var err error
			if in.share, err = p.stationaryShares(y, set); err != nil {
				return nil, err
			}
			for j, at := range set {
				s := states[at]
				in.states = append(in.states, s)
				p.addReturns(in.mean, in.share[j], st, s)
			}
			p.keep(in.mean, true)
			out = append(out, in)
		}
	}
	return out, nil
}

// stationaryShares returns the share of time in each state of a closed set, or an error if it could not be found.
func (p *average) stationaryShares(y *chain, set []int32) ([]float64, error) {
	shares := y.shares(set, 0, p.chain)
	flow := make([]float64, y.states())
	size := 0.0
	for j, s := range set {
		out := y.diag[s] * shares[j]
		size = max(size, out)
		flow[s] -= out
		for e := y.first[s]; e < y.first[s+1]; e++ {
			flow[y.next[e]] += shares[j] * y.prob[e]
		}
	}
	const balanced = 1e-9
	if len(set) > 1 && !(floats.Norm(flow, math.Inf(1)) <= balanced*size) {
		return nil, errSystem
	}
	return shares, nil
}

// chainUnder returns the chain of a policy in states, numbered in their order, that it does not leave.
func (p *average) chainUnder(states []int32, st *stepPolicy) *chain {
	p.places(states)
	y := &p.loop
	y.reset()
	room := make([]taken, 0, p.mostActions)
	for j, s := range states {
		for _, t := range p.choose(room[:0], st, p.base.state[s]) {
			p.row(y, int32(j), int32(t.c), t.x)
		}
		y.end(0)
	}
	return y
}

// A frequencies says how often a policy takes choices in the long run, as shares of the time of all runs, and with which
// probability it stays in ends.
type frequencies struct {
	choices []int32
	mass    []float64
	ends    []int32 // in order
	prob    []float64
}

// longRun returns the long run of a policy.
func (p *average) longRun(ctx context.Context, st *stepPolicy) (*frequencies, error) {
	classes, err := p.classes(ctx, st)
	if err != nil {
		return nil, err
	}
	out := new(frequencies)
	slices.SortStableFunc(classes, func(a, b recurrent) int { return int(a.end - b.end) })
	room := make([]taken, 0, p.mostActions)
	for _, in := range classes {
		for j, s := range in.states {
			for _, t := range p.choose(room[:0], st, p.base.state[s]) {
				out.choices = append(out.choices, int32(t.c))
				out.mass = append(out.mass, in.prob*in.share[j]*t.x)
			}
		}
		if n := len(out.ends); n > 0 && out.ends[n-1] == in.end {
			out.prob[n-1] += in.prob
			continue
		}
		out.ends, out.prob = append(out.ends, in.end), append(out.prob, in.prob)
	}
	return out, nil
}
