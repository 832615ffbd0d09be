package exact

import (
	"context"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"
)

// A simultaneousPricer prices several directions of a total in one pass over the model.
type simultaneousPricer struct {
	p        *infiniteHorizon
	totals   *markov.SimultaneousTotals // nil where that does not apply, or gave up
	failed   int                        // how often it gave up
	policies []*markov.Actions          // of the directions
}

// simultaneous returns the pricer of several directions at once, for totals without places where a policy may stay.
func (p *infiniteHorizon) simultaneous(ctx context.Context) (*simultaneousPricer, error) {
	out := &simultaneousPricer{p: p}
	places := p.neutralEnds != nil && p.neutralEnds.Len() > 0
	if p.gamma < 1 || places || p.usesSweeps || p.removesZeroCost || p.m.States() < threshold.Simultaneous {
		return out, nil
	}
	all := make([]float64, p.dim())
	for i := range all {
		all[i] = 1
	}
	z, err := p.solverFor(ctx, all)
	if err != nil || !p.numbersAll(z.Quotient) {
		return out, err
	}
	out.totals = z.Simultaneous(p.dim())
	if out.totals != nil {
		out.totals.Solved = out.takeDown
	}
	return out, nil
}

// numbersAll reports whether a quotient numbers each state in which there is something to choose.
func (p *infiniteHorizon) numbersAll(q *markov.Quotient) bool {
	for s, n := range q.Number {
		if n == q.Rest && p.graph.In[s] && p.k.First[s] < p.k.First[s+1] {
			return false
		}
	}
	return true
}

// most is how many directions are priced at once.
func (s *simultaneousPricer) most() int {
	if s == nil || s.totals == nil {
		return 1
	}
	return markov.NumLanes
}

// price prices directions, as many as most at the most. Those for which it fails are nil.
func (s *simultaneousPricer) price(ctx context.Context, dirs [][]float64) ([]*pricedPolicy, error) {
	out := make([]*pricedPolicy, len(dirs))
	if s.most() == 1 {
		return out, nil
	}
	order := make([]int, len(dirs)) // neighbours have much the same policy
	for l := range order {
		order[l] = l
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(dirs[a], dirs[b]) })
	lane := func(l int) []float64 { return dirs[order[min(l, len(order)-1)]] }
	for i := range s.totals.Directions {
		s.totals.Directions[i] = markov.Lanes{A: lane(0)[i], B: lane(1)[i], C: lane(2)[i], D: lane(3)[i]}
	}
	s.totals.Progress = s.p.progress
	s.policies = make([]*markov.Actions, len(dirs))
	for l := range s.policies {
		a := markov.NewPackedActions(s.p.m.States(), s.p.mostActions)
		s.policies[l] = &a
	}
	ok, err := s.totals.Solve(ctx)
	if err != nil {
		return nil, err
	}
	if !ok && len(dirs) > 1 { // one fails, as on an axis, where what matters beside may be had for nothing
		for k := range dirs {
			one, err := s.price(ctx, dirs[k:k+1])
			if err != nil {
				return nil, err
			}
			out[k] = one[0]
		}
		return out, nil
	}
	if !ok {
		const often = 3
		s.failed++
		if s.failed == often {
			s.totals = nil
		}
		return out, nil
	}
	for l, k := range order {
		if !s.totals.Above[l] {
			value, margin := s.startMean(func(n int32) float64 { return s.totals.Values[n].Array()[l] })
			out[k] = &pricedPolicy{returns: s.returns(l), value: value, margin: margin, certified: true,
				policy: knownPolicy(s.policies[l])}
		}
	}
	return out, nil
}

// returns are those of the policy of a direction, at the start.
func (s *simultaneousPricer) returns(l int) []float64 {
	out := make([]float64, s.p.dim())
	for i := range out {
		out[i], _ = s.startMean(func(n int32) float64 { return s.totals.Returns[int(n)*len(out)+i].Array()[l] })
	}
	return out
}

// startMean is the function startMean for numbers of the states of the quotient.
func (s *simultaneousPricer) startMean(of func(n int32) float64) (mean, margin float64) {
	starts := s.p.m.StartStates()
	start, v := make([]cmdp.StartState, len(starts)), make([]float64, len(starts))
	for i, st := range starts {
		start[i] = cmdp.StartState{State: i, Probability: st.Probability}
		v[i] = of(s.totals.Quotient.Number[st.State])
	}
	return meanOver(start, v)
}

// takeDown takes down the policies in the states [lo, hi), where there is something to choose.
func (s *simultaneousPricer) takeDown(lo, hi int32) {
	p, q := s.p, s.totals.Quotient
	for n := lo; n < hi; n++ {
		first, end := p.k.First[q.Origin[n]], p.k.First[q.Origin[n]+1]
		if end == first+1 {
			continue
		}
		for l, a := range s.policies {
			a.Set(int(q.Origin[n]), int(q.Choice[s.totals.Policy[n][l]]-first))
		}
	}
}
