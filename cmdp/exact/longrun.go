package exact

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
)

// A Branch is one of the ways in which the endless runs of an answer can go on: a recurrent class of its
// policy, or rest. All runs that come there have the same long-run means.
type Branch struct {
	// Probability is that of a run to come there, over the start, chance and what the policy draws.
	Probability float64
	// Returns are the long-run means there, NaN for the returns that are totals.
	Returns []float64
	// States are those of the class, in order, and none at rest.
	States []int
}

// Branches returns the branches of a draw between stationary policies for a model with long-run means, the
// likeliest first, or none for other models. weights are the probabilities of the policies. A policy is asked
// for step 0, and only for the states that it reaches. Branches with the same states and means are one.
func Branches(ctx context.Context, m *cmdp.Model, policies []cmdp.Policy, weights []float64) ([]Branch, error) {
	if err := checkTask(m, cmdp.Task{}); err != nil {
		return nil, err
	}
	if len(policies) != len(weights) || slices.Contains(policies, nil) {
		return nil, fmt.Errorf("exact: branches: %d policies with %d weights: want a weight for each, and no policy "+
			"missing", len(policies), len(weights))
	}
	if !m.Means() {
		return nil, nil
	}
	var all []Branch
	only := &markov.Rule{Actions: markov.NewActions(m.States(), 1)}
	for i, policy := range policies {
		process, err := inducedProcess(ctx, m, policy)
		if err != nil {
			return nil, err
		}
		p, err := newAverageReward(ctx, process, 1, noneRelevant(m.Dim()), progress.Of(ctx))
		if err != nil {
			return nil, err
		}
		found, err := p.branchesUnder(ctx, only, weights[i])
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return mergeBranches(m, all), nil
}

// branchesUnder returns the branches of a rule that is drawn with a probability.
func (p *averageReward) branchesUnder(ctx context.Context, st *markov.Rule, weight float64) ([]Branch, error) {
	classes, err := p.recurrentClasses(ctx, st)
	if err != nil {
		return nil, err
	}
	var out []Branch
	rest := 1.0
	for _, in := range classes {
		b := Branch{Probability: weight * in.prob, Returns: in.mean}
		for _, s := range in.states {
			b.States = append(b.States, int(s))
		}
		slices.Sort(b.States)
		rest -= in.prob
		out = append(out, b)
	}
	const rounding = 1e-12
	if rest > rounding {
		out = append(out, Branch{Probability: weight * rest, Returns: make([]float64, p.dim())})
	}
	for _, b := range out {
		for i := range b.Returns {
			if !p.m.Mean(i) {
				b.Returns[i] = math.NaN()
			}
		}
	}
	return out, nil
}

// branches returns the branches of a policy that may draw one of several components.
func (p *averageReward) branches(ctx context.Context, policy *Policy) ([]Branch, error) {
	if len(policy.mixture) == 0 {
		found, err := p.branchesUnder(ctx, &policy.steps[0], 1)
		return mergeBranches(p.m, found), err
	}
	var all []Branch
	for _, c := range policy.mixture {
		found, err := p.branchesUnder(ctx, &c.Policy.steps[0], c.Weight)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return mergeBranches(p.m, all), nil
}

// mergeBranches makes one of branches with the same states and means, and sorts them.
func mergeBranches(m *cmdp.Model, branches []Branch) []Branch {
	const same = 1e-9
	var out []Branch
	extent := stepExtent(m)
	for _, b := range branches {
		at := slices.IndexFunc(out, func(o Branch) bool {
			equal := slices.Equal(o.States, b.States)
			for j, x := range b.Returns {
				equal = equal && !(math.Abs(x-o.Returns[j]) > same*extent[j])
			}
			return equal
		})
		if at < 0 {
			out = append(out, b)
			continue
		}
		out[at].Probability += b.Probability
	}
	slices.SortStableFunc(out, func(a, b Branch) int { return cmp.Compare(b.Probability, a.Probability) })
	return out
}

// stepExtent returns how much each return varies over the steps, 0 being one of its values.
func stepExtent(m *cmdp.Model) []float64 {
	d := m.Dim()
	low, high := make([]float64, d), make([]float64, d)
	for j, r := range m.Kernel(0).Returns {
		low[j%d], high[j%d] = math.Min(low[j%d], r), math.Max(high[j%d], r)
	}
	return minus(high, low)
}

// A recurrentClass is a recurrent class of a policy that may draw.
type recurrentClass struct {
	prob   float64 // of coming there
	end    int32
	states []int32
	share  []float64 // of the time there, in each state
	mean   []float64 // the long-run mean returns there, 0 for totals
}

// recurrentClasses returns the recurrent classes that a policy comes to.
func (p *averageReward) recurrentClasses(ctx context.Context, st *markov.Rule) ([]recurrentClass, error) {
	only, err := p.onlyClass(ctx, st)
	if only != nil || err != nil {
		return only, err
	}
	x, err := p.visits(ctx, st, 0)
	if err != nil {
		return nil, err
	}
	return p.recurrentClassesOf(ctx, st, x)
}

// onlyClass is recurrentClasses for a policy whose runs all come to the same class, as the states that it reaches show:
// no visits are needed then, and these states are few as a rule. It returns nil for others.
func (p *averageReward) onlyClass(ctx context.Context, st *markov.Rule) ([]recurrentClass, error) {
	if !p.m.Average() {
		return nil, nil
	}
	states, rests := p.reachedBy(st)
	if rests {
		return nil, nil
	}
	y := p.chainOf(states, st)
	sets := y.ClosedSets()
	if len(sets) != 1 {
		return nil, nil
	}
	in := recurrentClass{prob: 1, end: p.ends.Of[states[sets[0][0]]], mean: make([]float64, p.dim())}
	if err := p.fillClass(ctx, &in, y, sets[0], states, st); err != nil {
		return nil, err
	}
	return []recurrentClass{in}, nil
}

// reachedBy returns the states that a policy reaches from the start, in order, and whether it comes to rest.
func (p *averageReward) reachedBy(st *markov.Rule) (states []int32, rests bool) {
	met := make([]bool, p.m.States())
	visit := func(s int32) {
		if !met[s] {
			met[s] = true
			states = append(states, s)
		}
	}
	for _, at := range p.m.StartStates() {
		if at.Probability > 0 {
			visit(int32(at.State))
		}
	}
	room := make([]markov.WeightedChoice, 0, p.mostActions)
	for n := 0; n < len(states); n++ {
		if s := states[n]; p.k.First[s] == p.k.First[s+1] {
			return nil, true
		}
		for _, t := range p.takenChoices(room[:0], st, p.quotient.Number[states[n]]) {
			next, prob := p.k.Row(t.Choice)
			for j, to := range next {
				if prob[j] > 0 {
					visit(to)
				}
			}
		}
	}
	slices.Sort(states)
	return states, false
}

// fillClass finds the states of a class, the shares of time in these, and its means. The class is a closed set of the
// chain y of a policy in some states.
func (p *averageReward) fillClass(ctx context.Context, in *recurrentClass, y *markov.Chain, set, states []int32,
	st *markov.Rule) (err error) {
	in.share, err = y.StationaryShares(ctx, set)
	if err != nil {
		return err
	}
	for j, at := range set {
		s := states[at]
		in.states = append(in.states, s)
		p.addReturns(in.mean, in.share[j], st, s)
	}
	p.mask(in.mean, true)
	return nil
}

// recurrentClassesOf is recurrentClasses for a policy whose visits are known.
func (p *averageReward) recurrentClassesOf(ctx context.Context, st *markov.Rule,
	x *markov.Occupancy) ([]recurrentClass, error) {
	stays := make(map[int32][]int32)
	var order []int32
	for _, s := range x.Recurrent {
		end := p.ends.Of[s]
		if stays[end] == nil {
			order = append(order, end)
		}
		stays[end] = append(stays[end], s)
	}
	var out []recurrentClass
	for _, end := range order {
		states := stays[end]
		y := p.chainOf(states, st)
		for _, set := range y.ClosedSets() {
			in := recurrentClass{end: end, mean: make([]float64, p.dim())}
			for _, j := range set {
				in.prob += p.visitsTo(x, states[j])
			}
			if in.prob == 0 {
				continue
			}
			if err := p.fillClass(ctx, &in, y, set, states, st); err != nil {
				return nil, err
			}
			out = append(out, in)
		}
	}
	return out, nil
}

// chainOf returns the chain of a policy in states, numbered in their order, that it does not leave.
func (p *averageReward) chainOf(states []int32, st *markov.Rule) *markov.Chain {
	p.numberStates(states)
	y := &p.classChain
	y.Reset()
	room := make([]markov.WeightedChoice, 0, p.mostActions)
	for _, s := range states {
		for _, t := range p.takenChoices(room[:0], st, p.quotient.Number[s]) {
			y.AddChoice(p.k, p.index, int32(t.Choice), t.Prob)
		}
		y.EndRow(0)
	}
	return y
}

// A longRunFrequencies says how often a policy takes choices in the long run, as shares of the time of all runs, and
// with which probability it stays in ends.
type longRunFrequencies struct {
	choices []int32
	mass    []float64
	ends    []int32 // in order
	prob    []float64
}

// frequenciesOf returns the long run of a policy.
func (p *averageReward) frequenciesOf(ctx context.Context, st *markov.Rule) (*longRunFrequencies, error) {
	classes, err := p.recurrentClasses(ctx, st)
	if err != nil {
		return nil, err
	}
	out := new(longRunFrequencies)
	slices.SortStableFunc(classes, func(a, b recurrentClass) int { return int(a.end - b.end) })
	room := make([]markov.WeightedChoice, 0, p.mostActions)
	for _, in := range classes {
		for j, s := range in.states {
			for _, t := range p.takenChoices(room[:0], st, p.quotient.Number[s]) {
				out.choices = append(out.choices, int32(t.Choice))
				out.mass = append(out.mass, in.prob*in.share[j]*t.Prob)
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
