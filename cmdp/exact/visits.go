package exact

import (
	"context"
	"math"
)

// visits are the expected discounted numbers of visits of each state under a policy.
// Where it goes on for ever without a discount, a visit is the arrival.
type visits struct {
	of      []float64 // of each state of the model
	forever []int32   // the states in which the policy goes on for ever, if it comes there
}

// row calls f with the transitions of a policy from state n of the base quotient, that
// back to itself left out, the discount being part of the probability.
func (p *stationary) row(st *stepPolicy, n int32, f func(to int32, prob float64)) {
	choice := func(c int, x float64) {
		for e := p.k.Offset[c]; e < p.k.Offset[c+1]; e++ {
			if to := p.base.to[e]; to != n && p.k.Prob[e] > 0 {
				f(to, p.gamma*x*p.k.Prob[e])
			}
		}
	}
	s := p.origin[n]
	if probs, ok := st.mixed[s]; ok {
		for a, x := range probs {
			if x > 0 {
				choice(int(p.k.First[s])+a, x)
			}
		}
		return
	}
	choice(int(p.k.First[s])+st.actions.at(int(s)), 1)
}

// build makes the chain of a policy in the states [lo, hi) of the base quotient, and
// calls out with the transitions to others. It returns the states in which the policy goes on for
// ever; the chain leaves those.
func (p *stationary) build(st *stepPolicy, lo, hi int32, out func(from, to int32, prob float64)) (forever []int32) {
	y := p.chain
	y.reset()
	leaks := false
	for n := lo; n < hi; n++ {
		leak := 1 - p.gamma
		p.row(st, n, func(to int32, prob float64) {
			if to >= lo && to < hi {
				y.next, y.prob = append(y.next, to-lo), append(y.prob, prob)
				return
			}
			leak += prob
			out(n, to, prob)
		})
		y.end(leak)
		leaks = leaks || leak > 0
	}
	for p.gamma == 1 && (!leaks || !y.direct()) {
		set := y.closed()
		if set == nil {
			break
		}
		for _, n := range set {
			y.leak[n]++
			y.diag[n]++
			forever = append(forever, lo+n)
		}
		leaks, y.spilled = true, false
	}
	return forever
}

// visits computes the numbers of visits from the start.
func (p *stationary) visits(ctx context.Context, st *stepPolicy) (*visits, error) {
	mass := make([]float64, p.base.over+1)
	for _, s := range p.m.StartStates() {
		mass[p.base.state[s.State]] += s.Probability
	}
	return p.flow(ctx, st, mass)
}

// flow computes the numbers of visits that arrivals at the states of the base quotient,
// which are used up, bring about, component by component, first ones first. Arrivals may be negative:
// visits that are no more.
func (p *stationary) flow(ctx context.Context, st *stepPolicy, mass []float64) (*visits, error) {
	q := p.base
	out := &visits{of: make([]float64, len(q.state))}
	for i := len(q.component) - 2; i >= 0; i-- {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		lo, hi := q.component[i], q.component[i+1]
		if zero(mass[lo:hi]) {
			continue
		}
		if hi > lo+1 {
			if err := p.visitMany(ctx, st, lo, hi, mass, out); err != nil {
				return nil, err
			}
			continue
		}
		leaves := 1 - p.gamma
		p.row(st, lo, func(_ int32, prob float64) { leaves += prob })
		if leaves == 0 {
			out.forever = append(out.forever, p.origin[lo])
			out.of[p.origin[lo]] = mass[lo]
			continue
		}
		x := mass[lo] / leaves
		out.of[p.origin[lo]] = x
		p.row(st, lo, func(to int32, prob float64) { mass[to] += float64(x * prob) })
	}
	return out, nil
}

func zero(x []float64) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// visitMany is flow for a component of several states.
func (p *stationary) visitMany(ctx context.Context, st *stepPolicy, lo, hi int32, mass []float64, out *visits) error {
	forever := p.build(st, lo, hi, func(int32, int32, float64) {})
	x := make([]float64, hi-lo)
	if err := p.chain.solve(ctx, x, mass[lo:hi], true, 0); err != nil {
		return err
	}
	for n := lo; n < hi; n++ {
		y := x[n-lo]
		out.of[p.origin[n]] = y
		if y != 0 {
			p.row(st, n, func(to int32, prob float64) {
				if to < lo || to >= hi {
					mass[to] += float64(y * prob)
				}
			})
		}
	}
	for _, n := range forever {
		out.forever = append(out.forever, p.origin[n])
	}
	return nil
}

// returns computes the returns of a policy. What does not end is left out.
func (p *stationary) returns(ctx context.Context, st *stepPolicy) ([]float64, error) {
	x, err := p.visits(ctx, st)
	if err != nil {
		return nil, err
	}
	return p.sum(st, x), nil
}

// sum adds up the returns of the visits, except where the policy goes on for ever.
func (p *stationary) sum(st *stepPolicy, x *visits) []float64 {
	d := p.dim()
	total, part := make([]float64, d), make([]float64, d)
	skip := make(map[int32]bool, len(x.forever))
	for _, s := range x.forever {
		skip[s] = true
	}
	for s, y := range x.of {
		if y != 0 && !skip[int32(s)] && p.k.First[s] < p.k.First[s+1] {
			p.addReturns(part, y, st, int32(s))
		}
		if s%chunk == chunk-1 { // sums of few terms are added up, which keeps rounding small
			axpy(total, 1, part)
			clear(part)
		}
	}
	axpy(total, 1, part)
	return total
}

// addReturns adds x times the returns that a policy has in a step from state s.
func (p *stationary) addReturns(dst []float64, x float64, st *stepPolicy, s int32) {
	d, first := p.dim(), int(p.k.First[s])
	if probs, ok := st.mixed[s]; ok {
		for a, y := range probs {
			axpy(dst, x*y, p.k.Returns[(first+a)*d:(first+a+1)*d])
		}
		return
	}
	c := first + st.actions.at(int(s))
	axpy(dst, x, p.k.Returns[c*d:(c+1)*d])
}

// evaluate sums returns over visits. A return that does not end is infinite, or NaN where it goes up and
// down.
func (p *stationary) evaluate(ctx context.Context, policy *Policy) ([]float64, error) {
	st := &policy.steps[0]
	x, err := p.visits(ctx, st)
	if err != nil {
		return nil, err
	}
	v := p.sum(st, x)
	once := make([]float64, len(v))
	for _, s := range x.forever {
		if x.of[s] > 0 {
			clear(once)
			p.addReturns(once, 1, st, s)
			for i, r := range once {
				if r != 0 {
					v[i] += math.Inf(int(math.Copysign(1, r)))
				}
			}
		}
	}
	return v, nil
}
