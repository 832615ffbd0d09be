package exact

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// visits are the expected discounted numbers of visits of each state under a policy.
// Where it goes on for ever without a discount, a visit is the arrival.
type visits struct {
	of      []float64 // of each state of the base quotient, and 0 for what is over
	forever []int32   // the states of the model in which the policy goes on for ever, if it comes there
}

// seen returns the visits of a state of the model, 0 for one without choices.
func (p *stationary) seen(x *visits, s int32) float64 { return x.of[p.base.state[s]] }

// build makes the chain of a policy in the states [lo, hi) of the base quotient. It returns the states
// where the policy goes on for ever, which are left out of the chain, and whether there is a way out of
// [lo, hi).
func (p *stationary) build(st *stepPolicy, lo, hi int32) (forever []int32, leaves bool) {
	y := p.chain
	y.reset()
	wide := p.wide[lo]
	y.spilled = wide
	leaks, room := false, make([]taken, 0, p.mostActions)
	for n := lo; n < hi; n++ {
		leak := 0.0
		for _, t := range p.choose(room[:0], st, n) {
			o, e := p.k.Offset[t.c], p.k.Offset[t.c+1]
			prob := p.k.Prob[o:e]
			for j, next := range p.k.Next[o:e] {
				to, x := p.base.state[next], p.gamma*t.x*prob[j]
				switch {
				case to == n || x == 0:
				case to >= lo && to < hi:
					y.next, y.prob = append(y.next, to-lo), append(y.prob, x)
				default:
					leak += x
				}
			}
		}
		leaves = leaves || leak > 0
		leak += 1 - p.gamma
		y.end(leak)
		leaks = leaks || leak > 0
	}
	if p.gamma == 1 && (!leaks || !y.direct()) {
		for _, set := range y.closedSets() {
			for _, n := range set {
				y.leak[n]++
				y.diag[n]++
				forever = append(forever, lo+n)
			}
			y.spilled = wide
		}
	}
	if y.direct(); y.spilled {
		p.wide[lo] = true
	}
	return forever, leaves
}

// visits computes the numbers of visits from the start, to rounding or, if rough is true, as exact as
// prices need them. Those of the policy before are a first guess. They are good until the next call.
func (p *stationary) visits(ctx context.Context, st *stepPolicy, rough bool) (*visits, error) {
	if p.mass == nil {
		p.mass = make([]float64, p.m.States()+1) // so much room that spread can use it too
	}
	p.mass = resized(p.mass, int(p.base.over)+1)
	for _, s := range p.m.StartStates() {
		p.mass[p.base.state[s.State]] += s.Probability
	}
	return p.flow(ctx, st, p.mass, true, rough)
}

// visiting is what flow does, for those who wait.
const visiting = "finding visits of states"

// flow replaces arrivals at the states of the base quotient by the numbers of visits that they bring about, component by
// component, first ones first. Arrivals may be negative: visits that are no more. If again is true, visits of the last
// policy are a first guess, and then those of this one.
func (p *stationary) flow(ctx context.Context, st *stepPolicy, mass []float64, again, rough bool) (*visits, error) {
	q := p.base
	out := &visits{of: mass}
	for i := len(q.component) - 2; i >= 0; i-- {
		lo, hi := q.component[i], q.component[i+1]
		if i%1024 == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p.tell.at(visiting, 1-float64(lo)/float64(q.over), int(q.over))
		}
		if zero(mass[lo:hi]) {
			continue
		}
		if hi > lo+1 {
			if err := p.visitMany(ctx, st, lo, hi, again, rough, out); err != nil {
				return nil, err
			}
			continue
		}
		p.visitOne(st, lo, out)
	}
	mass[q.over] = 0
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

// visitOne is flow for a component of one state.
func (p *stationary) visitOne(st *stepPolicy, n int32, out *visits) {
	var room [4]taken
	choices, leaves := p.choose(room[:0], st, n), 1-p.gamma
	for _, t := range choices {
		for e := p.k.Offset[t.c]; e < p.k.Offset[t.c+1]; e++ {
			if p.base.state[p.k.Next[e]] != n {
				leaves += p.gamma * t.x * p.k.Prob[e]
			}
		}
	}
	if leaves == 0 {
		out.forever = append(out.forever, p.origin[n])
		return
	}
	out.of[n] /= leaves
	p.send(choices, out.of[n], n, n+1, out.of)
}

// send adds what x visits bring to states outside of [lo, hi).
func (p *stationary) send(choices []taken, x float64, lo, hi int32, mass []float64) {
	for _, t := range choices {
		for e := p.k.Offset[t.c]; e < p.k.Offset[t.c+1]; e++ {
			if to := p.base.state[p.k.Next[e]]; to < lo || to >= hi {
				mass[to] += float64(p.gamma * x * t.x * p.k.Prob[e])
			}
		}
	}
}

// sendAll is send for the visits of all states of a component.
func (p *stationary) sendAll(st *stepPolicy, lo, hi int32, out *visits) {
	room := make([]taken, 0, p.mostActions)
	for n := lo; n < hi; n++ {
		if y := out.of[n]; y != 0 {
			p.send(p.choose(room[:0], st, n), y, lo, hi, out.of)
		}
	}
}

// visitMany is flow for a component of several states.
func (p *stationary) visitMany(ctx context.Context, st *stepPolicy, lo, hi int32, again, rough bool, out *visits) error {
	mass := out.of[lo:hi]
	rest := 0.0
	if rough && p.enough > 0 {
		for _, y := range mass {
			rest += math.Abs(y)
		}
		// Returns are to meet a target, whatever the gap is, and what is missing at many states may add up.
		rest *= 1e-10
	}
	guess := func() []float64 {
		x := p.guess[lo]
		if x == nil || !again {
			x = make([]float64, hi-lo)
		}
		if again {
			p.guess[lo] = x
		}
		return x
	}
	if p.gamma == 1 && int(hi-lo) > threshold.Swept && !p.slow[lo] {
		x := guess()
		if p.pour(ctx, st, lo, hi, mass, x, rest) {
			copy(mass, x)
			p.sendAll(st, lo, hi, out)
			return nil
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	forever, leaves := p.build(st, lo, hi)
	x := mass
	if !p.chain.direct() {
		x = guess()
	}
	brisk := p.gamma < 1 && !p.slow[lo] && !p.chain.direct() && slices.Min(mass) >= 0
	if brisk {
		brisk = p.chain.carry(ctx, x, mass, rest)
		p.slow[lo] = !brisk
	}
	if !brisk {
		if err := p.chain.solve(ctx, x, mass, true, rest/float64(hi-lo)); err != nil {
			return err
		}
	}
	copy(mass, x)
	if leaves {
		p.sendAll(st, lo, hi, out)
	}
	for _, n := range forever {
		out.forever = append(out.forever, p.origin[n])
	}
	return nil
}

// returns computes the returns of a policy. What does not end is left out.
func (p *stationary) returns(ctx context.Context, st *stepPolicy) ([]float64, error) {
	x, err := p.visits(ctx, st, true)
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
	for s := range p.m.States() {
		if y := p.seen(x, int32(s)); y != 0 && !skip[int32(s)] {
			p.addReturns(part, y, st, int32(s))
		}
		if (s+1)%threshold.Chunk == 0 { // sums of few terms are added up, which keeps rounding small
			floats.AddScaled(total, 1, part)
			clear(part)
		}
	}
	floats.AddScaled(total, 1, part)
	return total
}

// addReturns adds x times the returns that a policy has in a step from state s.
func (p *stationary) addReturns(dst []float64, x float64, st *stepPolicy, s int32) {
	d, first := p.dim(), int(p.k.First[s])
	if probs, ok := st.mixed[s]; ok {
		for a, y := range probs {
			floats.AddScaled(dst, x*y, p.k.Returns[(first+a)*d:(first+a+1)*d])
		}
		return
	}
	c := first + st.actions.at(int(s))
	floats.AddScaled(dst, x, p.k.Returns[c*d:(c+1)*d])
}

// evaluate sums returns over visits. A return that does not end is infinite, or NaN where it goes up and
// down.
func (p *stationary) evaluate(ctx context.Context, policy *Policy) ([]float64, error) {
	st := &policy.steps[0]
	x, err := p.visits(ctx, st, false)
	if err != nil {
		return nil, err
	}
	return p.endless(p.sum(st, x), st, x), nil
}

// endless adds to the returns v of a policy what it returns for ever.
func (p *stationary) endless(v []float64, st *stepPolicy, x *visits) []float64 {
	once := make([]float64, len(v))
	for _, s := range x.forever {
		if p.seen(x, s) > 0 {
			clear(once)
			p.addReturns(once, 1, st, s)
			for i, r := range once {
				if r != 0 {
					v[i] += math.Inf(int(math.Copysign(1, r)))
				}
			}
		}
	}
	return v
}
