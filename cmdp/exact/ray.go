package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp/markov"
)

// A ray is a place where a policy may go on for as long as it likes. What it gains there
// in a step, on average, can be added to the returns any number of times. In the master
// it is a column without a share in the sum of the weights, whose weight counts steps.
type ray struct {
	states []int32
	share  []float64 // of the time, spent in each
	policy *markov.Rule
}

// followedBy makes a policy stay in the place of the ray.
func (r *ray) followedBy(st *markov.Rule) {
	for _, s := range r.states {
		delete(st.Mixed, s)
		st.Actions.Set(int(s), r.policy.Actions.At(int(s)))
		if probs, ok := r.policy.Mixed[s]; ok {
			st.Mix(s, probs)
		}
	}
}

// recurrentRay returns the place where the policy of a quotient goes on for ever with a
// negative gain in a direction.
func (p *infiniteHorizon) recurrentRay(ctx context.Context, q *markov.Quotient, policy *markov.Actions, endless []int32,
	stuck bool) (pricedPolicy, error) {
	var places *markov.EndComponents
	if stuck {
		places = p.neutralEnds
		if places == nil { // it can go nowhere, since values are beyond all numbers
			return pricedPolicy{}, markov.ErrSingular
		}
	}
	return p.rayIn(ctx, p.chain, q, policy, endless, places)
}

// rayIn is recurrentRay. Where every policy goes on for ever in the endless states it takes all choices of one of the
// places, which are end components; these are nil elsewhere.
func (p *policyEvaluator) rayIn(ctx context.Context, y *markov.Chain, q *markov.Quotient, policy *markov.Actions,
	endless []int32, places *markov.EndComponents) (pricedPolicy, error) {
	st := &markov.Rule{Actions: *policy}
	in := make([]bool, q.Rest+1)
	for _, n := range endless {
		in[n] = true
	}
	lo, hi := p.quotient.Rest, int32(0)
	place, of := int32(-1), make([]bool, len(q.Number))
	for s, n := range q.Number {
		if !in[n] || n == q.Rest {
			continue
		}
		if places != nil {
			if place < 0 {
				place = places.Of[s]
			}
			if place < 0 || places.Of[s] != place {
				continue
			}
			p.uniformInside(st, int32(s), places)
		}
		of[s] = true
		lo, hi = min(lo, p.quotient.Number[s]), max(hi, p.quotient.Number[s]+1)
	}
	// The states of a component are numbered one after the other, and between those in
	// question others may be, whose way does not lead there.
	y.Reset()
	for n := lo; n < hi; n++ {
		leak := 0.0
		for _, t := range p.takenChoices(nil, st, n) {
			next, prob := p.k.Row(t.Choice)
			for j, to := range next {
				switch to, x := p.quotient.Number[to], t.Prob*prob[j]; {
				case to == n || x == 0:
				case to >= lo && to < hi:
					y.Add(to-lo, x)
				default:
					leak += x
				}
			}
		}
		if !of[p.quotient.Origin[n]] {
			leak++
		}
		y.EndRow(leak)
	}
	if lo >= hi {
		return pricedPolicy{}, markov.ErrSingular
	}
	sets := y.ClosedSets()
	if len(sets) == 0 {
		return pricedPolicy{}, markov.ErrSingular
	}
	closed := sets[0]
	share, err := y.StationaryShares(ctx, closed)
	if err != nil {
		return pricedPolicy{}, err
	}
	r := &ray{policy: st, share: share}
	gain, size := make([]float64, p.dim()), make([]float64, p.dim())
	for j, n := range closed {
		s := p.quotient.Origin[lo+n]
		r.states = append(r.states, s)
		p.addReturns(gain, r.share[j], st, s)
		for i, x := range p.magnitudes(st, s) {
			size[i] += r.share[j] * x
		}
	}
	for i, x := range size {
		if math.Abs(gain[i]) <= 1e-14*x { // what cancels out
			gain[i] = 0
		}
	}
	return pricedPolicy{returns: gain, value: math.Inf(-1), ray: r}, nil
}

// uniformInside lets the policy take all choices that stay in the end component of a state, with the same probability.
func (p *policyEvaluator) uniformInside(st *markov.Rule, s int32, ends *markov.EndComponents) {
	n := p.k.First[s+1] - p.k.First[s]
	probs, kept := make([]float64, n), 0.0
	for a := range n {
		if ends.Inside[p.k.First[s]+a] {
			probs[a] = 1
			kept++
		}
	}
	st.Assign(int(s), probs, kept)
}
