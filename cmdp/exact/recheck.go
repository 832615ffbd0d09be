package exact

import (
	"context"
	"math"
	"math/big"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// recheck is a second, plain value iteration: values only, in place of vectors, the
// sums formed from the last entry to the first.
func (f *finiteHorizon) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	states := f.m.States()
	now, next := make([]float64, states), make([]float64, states)
	dirs := f.stepwise.directions(dir)
	most := 0.0
	for h := f.m.Horizon(); h > 0; h-- {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		k := f.m.Kernel(h - 1)
		size := parallel.ForStates(f.workers, states, len(k.Next), func(lo, hi int) float64 {
			return maxOverRanges(rangesAt(f.reachable, h-1), lo, hi, func(lo,
				hi int) float64 {
				return recheckStates(k, dirs[h-1], next, now, lo, hi)
			})
		})
		margin += float64(f.longestRow+f.m.Dim()+4) * roundoff * (size + most)
		most = size
		now, next = next, now
	}
	value, lost := startMean(f.m, next)
	return value, 1.001*margin + lost, nil
}

// recheckStates sets now to the backups of the states [lo, hi), and returns the largest magnitude of a value and of
// what a reward is the sum of.
func recheckStates(k *cmdp.Kernel, dir, next, now []float64, lo, hi int) (size float64) {
	for s := lo; s < hi; s++ {
		if k.First[s] == k.First[s+1] {
			now[s] = next[s]
			continue
		}
		now[s] = math.Inf(1)
		for c := int(k.First[s+1]) - 1; c >= int(k.First[s]); c-- {
			to, prob := k.Row(c)
			returns := k.ReturnsOf(c, len(dir))
			q, r := expectation(to, prob, next), 0.0
			for i := len(dir) - 1; i >= 0; i-- {
				x := dir[i] * returns[i]
				q, r = q+x, r+math.Abs(x)
			}
			now[s], size = math.Min(now[s], q), math.Max(size, r)
		}
		size = math.Max(size, math.Abs(now[s]))
	}
	return size
}

func expectation(next []int32, prob, v []float64) float64 {
	sum := 0.0
	for e := len(next) - 1; e >= 0; e-- {
		sum += prob[e] * v[next[e]]
	}
	return sum
}

// recheck proves a bound of V*(dir) by going through all choices of the model, wherever
// the values come from.
func (p *infiniteHorizon) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	z, endless, value, margin, err := p.solve(ctx, dir, 0, true)
	if err != nil || endless != nil {
		return value, margin, err
	}
	if p.gamma == 1 {
		return p.tightened(ctx, z, dir, value, margin)
	}
	if p.gamma > nearOneDiscount || !z.Iterates() {
		return value, margin, nil
	}
	// What iteration leaves is missing from below, and more of it from one start of the values than from another.
	const rest = 1e-5
	z.Tolerance = rest
	return p.solveShaped(ctx, z, dir)
}

// tightened returns a better bound of a total where its own is far below what the policy that was found comes to: what
// choices are made cheaper by adds up in the many steps that a rare end takes. That of corrections comes first, then
// in small models one in rational arithmetic.
func (p *infiniteHorizon) tightened(ctx context.Context, z *markov.LeastTotal, dir []float64,
	value, margin float64) (bound, error float64, err error) {
	small := z.Quotient.Rest <= mostNearOneStates
	if p.usesSweeps && !small || p.tolerance > 0 {
		return value, margin, nil
	}
	st := &markov.Rule{Actions: markov.NewActions(p.m.States(), p.mostActions)}
	z.Quotient.Lift(z.Policy, func(s, c int32) { st.Actions.Set(int(s), int(c-p.k.First[s])) })
	returns, _, err := p.returns(ctx, st, false)
	if err != nil {
		return 0, 0, err
	}
	reached := dot(dir, returns)
	wide := func() bool { return reached-value > 0.5*defaultGap*math.Abs(reached) }
	if wide() && !z.Cancels() && !p.usesSweeps {
		sharp, error, err := p.solveShaped(ctx, z, dir)
		if err != nil {
			return 0, 0, err
		}
		if sharp-error > value-margin {
			value, margin = sharp, error
		}
	}
	if wide() && small {
		sharp, error := p.solveRational(z, dir, value)
		if sharp-error > value-margin {
			value, margin = sharp, error
		}
	}
	return value, margin, nil
}

// lowerBound returns μ·v and how far V*(dir) may lie below. It goes through the choices of the model itself and
// trusts nothing but the graph: with a discount, if no backup of v falls short of v by more than ε, V* ≥ v −
// ε/(1−γ). For a total, v must be at most its backups, and at most 0 where a policy may stay for ever. Then v
// is below the returns to come of every policy that rests. The margin is infinite where that is not so. The
// values are the sums of v and of small corrections, unless these are nil.
func (p *infiniteHorizon) lowerBound(dir, v, small []float64) (value, margin float64) {
	g := p.gamma
	short := parallel.ForStates(p.workers, len(v), len(p.k.Next), func(lo, hi int) float64 {
		short := 0.0
		for s := lo; s < hi; s++ {
			if !p.graph.In[s] {
				continue
			}
			for c := int(p.k.First[s]); c < int(p.k.First[s+1]); c++ {
				if !p.graph.Allows(int32(c)) {
					continue
				}
				lack := p.shortfall(dir, v, small, s, c)
				if math.IsNaN(lack) {
					return math.Inf(1)
				}
				if lack > short && !(g == 1 && p.holdsExactly(dir, v, small, s, c)) {
					short = lack
				}
			}
		}
		return short
	})
	for s, x := range v {
		if p.k.First[s] == p.k.First[s+1] && (x != 0 || small != nil && small[s] != 0) {
			short = math.Inf(1)
		}
	}
	q := p.solverFor(dir).Quotient
	for j := range q.Merged {
		place := q.StayStates(j)
		if place == nil {
			continue
		}
		x := v[place[0]]
		if small != nil {
			x += small[place[0]]
		}
		if x > 0 {
			short = math.Inf(1)
		}
	}
	value, margin = startMean(p.m, v)
	if small != nil {
		more, lost := startMean(p.m, small)
		value += more
		margin += lost + roundoff*math.Abs(value)
	}
	if short > 0 {
		short *= 1.001 / (1 - g)
		enough := 1e-10 * math.Abs(value)
		if short > enough && isFinite(short) {
			short = math.Min(short, p.accumulatedShortfall(dir, v, small, enough))
		}
		margin += short
	}
	return value, margin
}

// shortfall bounds by how much values v, and small corrections unless these are nil, may lie above what a choice gives.
func (p *infiniteHorizon) shortfall(dir, v, small []float64, s, c int) float64 {
	d, g := len(dir), p.gamma
	// All that is added up, and a bound of it. The way back to s itself drops out.
	sum, size := -(1-g)*v[s], (1-g)*math.Abs(v[s])
	for i, r := range p.k.ReturnsOf(c, d) {
		x := dir[i] * r
		sum += x
		size += math.Abs(x)
	}
	next, prob := p.k.Row(c)
	for j, n := range next {
		x := g * prob[j] * (v[n] - v[s])
		sum += x
		size += math.Abs(x)
	}
	terms := d + len(next) + 4
	if small != nil {
		sum -= (1 - g) * small[s]
		size += (1 - g) * math.Abs(small[s])
		for j, n := range next {
			x := g * prob[j] * (small[n] - small[s])
			sum += x
			size += math.Abs(x)
		}
		terms += len(next) + 1
	}
	return float64(terms)*roundoff*size - sum
}

// accumulatedShortfall bounds what discounted values lack from the start, under every policy. The largest lack of all
// states, for ever, is far more than that where only states lack something that are rarely reached. The bounds of
// states begin with the largest lack that can be reached from their component, for ever, and stay bounds in every
// backup. Once that of the start is small enough, it is left at that.
func (p *infiniteHorizon) accumulatedShortfall(dir, v, small []float64, enough float64) float64 {
	const sweeps = 100
	lacks, bound := make([]float64, p.k.Choices()), make([]float64, len(v))
	most := func(s int32, of func(c int) float64) (most float64) {
		for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
			if p.graph.In[s] && p.graph.Allows(c) {
				most = math.Max(most, of(int(c)))
			}
		}
		return most
	}
	for i := range p.parts.Len() { // last ones first
		reached := 0.0
		for _, s := range p.parts.Part(i) {
			reached = math.Max(reached, most(s, func(c int) float64 {
				lacks[c] = 1.001 * p.shortfall(dir, v, small, int(s), c)
				most := lacks[c] / (1 - p.gamma)
				next, _ := p.k.Row(c)
				for _, n := range next {
					most = math.Max(most, bound[n])
				}
				return most
			}))
		}
		for _, s := range p.parts.Part(i) {
			bound[s] = reached
		}
	}
	value, _ := startMean(p.m, bound)
	for n := 0; n < sweeps && value > enough; n++ {
		for s := int32(len(v)) - 1; s >= 0; s-- {
			bound[s] = most(s, func(c int) float64 {
				next, prob := p.k.Row(c)
				return lacks[c] + p.gamma*expectation(next, prob, bound)
			})
		}
		value, _ = startMean(p.m, bound)
	}
	return 1.001 * value
}

// holdsExactly reports in rational arithmetic whether a total is at most its backup: in loops
// whose returns cancel out it is just that, and rounding leaves it open.
func (p *infiniteHorizon) holdsExactly(dir, v, small []float64, s, c int) bool {
	values := func(s int) *big.Rat {
		x := rational(v[s])
		if small != nil {
			x.Add(x, rational(small[s]))
		}
		return x
	}
	return p.rationalGain(func(i int) *big.Rat { return rational(dir[i]) }, values, s, c).Sign() >= 0
}

// solverBound returns μ·v and the solver's own bound on how far V* may lie below it. What is
// said in the end goes through infiniteHorizon.recheck.
func (p *infiniteHorizon) solverBound(z *markov.LeastTotal) (value, margin float64) {
	m := p.m
	sum, size := 0.0, floats.Norm(z.Values, math.Inf(1))
	for _, st := range m.StartStates() {
		sum += st.Probability * z.Values[z.Quotient.Number[st.State]]
	}
	margin = (startError + float64(len(m.StartStates()))*roundoff) * size
	if p.gamma < 1 {
		margin += 1.001 * (z.Shortfall + 2*float64(p.longestRow+m.Dim()+5)*roundoff*size) / (1 - p.gamma)
	}
	return sum, margin
}
