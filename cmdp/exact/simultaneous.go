package exact

import (
	"context"
	"slices"
	"sync/atomic"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"
)

// A simultaneousPricer prices several directions of a total in one pass over the model.
type simultaneousPricer struct {
	p      *infiniteHorizon
	totals *markov.SimultaneousTotals // nil where that does not apply, or gave up
	failed int                        // how often it gave up
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
	if err == nil {
		out.totals = z.Simultaneous(p.dim())
	}
	return out, err
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
	if s.most() == 1 || len(dirs) == 1 {
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
	ok, err := s.totals.Solve(ctx)
	if err != nil {
		return nil, err
	}
	if !ok { // as on an axis, where what matters beside may be had for nothing
		const often = 3
		s.failed++
		if s.failed == often {
			s.totals = nil
		}
		return out, nil
	}
	proved := s.provenBelow()
	policies := s.liftPolicies(len(dirs))
	for l, k := range order {
		if proved[l] {
			value, margin := s.startMean(func(n int32) float64 { return s.totals.Values[n].Array()[l] })
			out[k] = &pricedPolicy{returns: s.returns(l), value: value, margin: margin, certified: true,
				policy: policies[l]}
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

// liftPolicies returns the policies of the first directions.
func (s *simultaneousPricer) liftPolicies(directions int) []*markov.Actions {
	out := make([]*markov.Actions, directions)
	for l := range out {
		a := markov.NewPackedActions(s.p.m.States(), s.p.mostActions)
		out[l] = &a
	}
	q := s.totals.Quotient
	for n, state := range q.Origin {
		for l, i := range s.totals.Policy[n][:directions] {
			out[l].Set(int(state), int(q.Choice[i]-s.p.k.First[state]))
		}
	}
	return out
}

// provenBelow goes through the choices of the model and reports in which directions all values are at most their
// backups, and 0 where the process rests. Like [lowerValues] it trusts nothing but the graph.
func (s *simultaneousPricer) provenBelow() (proved [markov.NumLanes]bool) {
	p := s.p
	var failed atomic.Uint32
	parallel.ForStates(p.workers, p.m.States(), len(p.k.Next), func(lo, hi int) float64 {
		for state := lo; state < hi; state++ {
			value := s.totals.Values[s.totals.Quotient.Number[state]]
			if p.k.First[state] == p.k.First[state+1] && value != (markov.Lanes{}) {
				failed.Store(1<<markov.NumLanes - 1)
			}
			if !p.graph.In[state] {
				continue
			}
			for c := p.k.First[state]; c < p.k.First[state+1]; c++ {
				if p.graph.Allows(c) {
					if above := s.above(int32(state), int(c)); above != 0 {
						failed.Or(above)
					}
				}
			}
		}
		return 0
	})
	for l := range proved {
		proved[l] = failed.Load()>>l&1 == 0
	}
	return proved
}

// above has a bit for each direction in which the value of a state may lie above what a choice gives, see
// lowerValues.shortfall.
func (s *simultaneousPricer) above(state int32, c int) (bits uint32) {
	number, values, d := s.totals.Quotient.Number, s.totals.Values, len(s.totals.Directions)
	next, prob := s.p.k.Row(c)
	var room [8]int32
	to := room[:0]
	for _, n := range next {
		to = append(to, number[n])
	}
	sum, size, _ := markov.Backup(s.totals.Directions, s.p.k.ReturnsOf(c, d), values, to, prob, number[state], 0, 0,
		&values[number[state]])
	rounding := float64(d+len(next)+4) * roundoff
	x := sum.AddScaled(-rounding, size)
	if x.A >= 0 && x.B >= 0 && x.C >= 0 && x.D >= 0 {
		return 0
	}
	for l, spare := range x.Array() {
		if !(spare >= 0) {
			bits |= 1 << l
		}
	}
	return bits
}
