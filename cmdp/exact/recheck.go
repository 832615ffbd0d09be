package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"

	"gonum.org/v1/gonum/floats"
)

// recheck is a second, plain value iteration: values only, in place of vectors, the
// sums formed from the last entry to the first.
func (f *finiteHorizon) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	states, choices := f.m.States(), len(f.reward)
	r := rechecking{now: make([]float64, states), next: make([]float64, states), reward: make([]float64, choices),
		most: make([]float64, states)}
	dirs := f.stepwise.directions(dir)
	most := 0.0
	for h := f.m.Horizon(); h > 0; h-- {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		r.k = f.m.Kernel(h - 1)
		anew := h == f.m.Horizon() || !f.m.Stationary() || len(f.stepwise.each) > 0
		size := parallel.ForStates(f.workers, states, len(r.k.Next), func(lo, hi int) float64 {
			if anew {
				r.scalarize(dirs[h-1], lo, hi)
			}
			return maxOverRanges(rangesAt(f.reachable, h-1), lo, hi, r.backups)
		})
		margin += float64(f.longestRow+f.m.Dim()+4) * roundoff * (size + most)
		most = size
		r.now, r.next = r.next, r.now
	}
	value, lost := startMean(f.m, r.next)
	return value, 1.001*margin + lost, nil
}

// A rechecking is one step of recheck.
type rechecking struct {
	k         *cmdp.Kernel
	reward    []float64 // of each choice
	most      []float64 // of each state, the largest magnitude of what a reward is the sum of
	next, now []float64 // values from the next step on, and from this one on
}

// scalarize sets the rewards of the states [lo, hi).
func (r *rechecking) scalarize(dir []float64, lo, hi int) {
	for s := lo; s < hi; s++ {
		r.most[s] = 0
		for c := int(r.k.First[s]); c < int(r.k.First[s+1]); c++ {
			returns, sum, size := r.k.ReturnsOf(c, len(dir)), 0.0, 0.0
			for i := len(dir) - 1; i >= 0; i-- {
				x := dir[i] * returns[i]
				sum, size = sum+x, size+math.Abs(x)
			}
			r.reward[c], r.most[s] = sum, max(r.most[s], size)
		}
	}
}

// backups sets now to the backups of the states [lo, hi), and returns the largest magnitude of a value and of what a
// reward is the sum of.
func (r *rechecking) backups(lo, hi int) (size float64) {
	for s := lo; s < hi; s++ {
		first, end := int(r.k.First[s]), int(r.k.First[s+1])
		if first == end {
			r.now[s] = r.next[s]
			continue
		}
		least := math.Inf(1)
		for c := end - 1; c >= first; c-- {
			to, prob := r.k.Row(c)
			least = min(least, expectation(to, prob, r.next)+r.reward[c])
		}
		r.now[s] = least
		size = max(size, r.most[s], math.Abs(least))
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
// the values come from. What choices are made cheaper by is the least again, as a verifier has it: other directions, in
// which loops cancel out up to rounding, may have asked for much more.
func (p *infiniteHorizon) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	z, err := p.solverFor(ctx, dir)
	if err != nil {
		return math.Inf(-1), 0, err
	}
	z.Perturbation = 1
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
// choices are made cheaper by adds up in the many steps that a rare end takes. That of corrections comes first, and of
// corrections of these, then in small models one in rational arithmetic.
func (p *infiniteHorizon) tightened(ctx context.Context, z *markov.LeastTotal, dir []float64,
	value, margin float64) (bound, error float64, err error) {
	small := z.Quotient.Rest <= mostNearOneStates
	if p.usesSweeps && !small && !hasRareEnds(z) || p.tolerance > 0 {
		return value, margin, nil
	}
	st := &markov.Rule{Actions: markov.NewActions(p.m.States(), p.mostActions)}
	z.Quotient.Lift(z.Policy, func(s, c int32) { st.Actions.Set(int(s), int(c-p.k.First[s])) })
	returns, _, err := p.returns(ctx, st, 0)
	if err != nil {
		return 0, 0, err
	}
	reached := dot(dir, returns)
	wide := func() bool { return reached-value > 0.5*defaultGap*math.Abs(reached) }
	for n := 0; n < mostCorrections && wide() && !z.Cancels(); n++ {
		sharp, error, err := p.solveShaped(ctx, z, dir)
		if err != nil {
			return 0, 0, err
		}
		if sharp-error > value-margin {
			value, margin = sharp, error
		}
	}
	if wide() && small {
		sharp, error, err := p.solveRational(ctx, z, dir, value)
		if err != nil {
			return 0, 0, err
		}
		if sharp-error > value-margin {
			value, margin = sharp, error
		}
	}
	return value, margin, nil
}

// mostCorrections is how often values are corrected.
const mostCorrections = 3

// hasRareEnds reports whether a total takes so many steps that their rounding adds up to more than what is negligible.
func hasRareEnds(z *markov.LeastTotal) bool {
	const steps = 1e4
	return floats.Norm(z.Values, math.Inf(1)) > steps*floats.Norm(z.Reward, math.Inf(1))
}

// solverBound returns μ·v and the solver's own bound on how far V* may lie below it. What is
// said in the end goes through infiniteHorizon.recheck.
func (p *infiniteHorizon) solverBound(z *markov.LeastTotal) (value, margin float64) {
	m := p.m
	size := floats.Norm(z.Values, math.Inf(1))
	margin = (startError + float64(len(m.StartStates()))*roundoff) * size
	if p.gamma < 1 {
		margin += 1.001 * (z.Shortfall + 2*float64(p.longestRow+m.Dim()+5)*roundoff*size) / (1 - p.gamma)
	}
	return p.startValueOf(z), margin
}

// startValueOf returns μ·v.
func (p *infiniteHorizon) startValueOf(z *markov.LeastTotal) (sum float64) {
	for _, st := range p.m.StartStates() {
		sum += st.Probability * z.Values[z.Quotient.Number[st.State]]
	}
	return sum
}
