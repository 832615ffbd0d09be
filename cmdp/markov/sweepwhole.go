package markov

import (
	"context"
	"math"
)

// sweepWhole is gaussSeidel where all states are one block, by modified policy iteration (Puterman and Shin 1978) in
// place: each sweep of all choices is followed by sweeps of the policy, which take a fraction of the time. The policy
// is made to come to rest before: values that are too low rise slowly as long as it looks better to go round.
func (z *LeastTotal) sweepWhole(ctx context.Context, i int, lo, hi int32, cold bool) bool {
	w, ok := z.holdChoices(lo, hi)
	if !ok {
		return false
	}
	z.policyChanges = int(hi - lo)
	if cold {
		z.initialValues(lo, hi, hi)
		if !z.evaluateSwept(ctx, i, lo, hi) {
			return false
		}
	}
	const rounds = 64
	for range rounds {
		z.Progress.At(findingValues, math.NaN(), int(hi-lo))
		swept := z.sweepCached(w, lo, hi, hi, 0.5)
		z.policyChanges = swept.policy
		if swept.changed == hi {
			return z.isProper(lo, hi, make([]bool, hi-lo))
		}
		if ctx.Err() != nil || !z.evaluateSwept(ctx, i, lo, hi) {
			return false
		}
	}
	return false
}

// evaluateSwept improves the values in a component towards those of the policy that sweeps have found, of which the
// choices are held. As long as it changes in many states a few sweeps do.
func (z *LeastTotal) evaluateSwept(ctx context.Context, i int, lo, hi int32) bool {
	met := make([]bool, hi-lo)
	if len(passBack(met, z.policyRow(lo, hi, hi))) > 0 { // they may come to rest all the same, which is a longer search
		z.properPolicy(lo, hi, met)
		z.policyChanges++
	}
	z.loadPolicy(lo, hi)
	if z.sweepPolicy(ctx, lo, hi, z.policyChanges > int(hi-lo)/4096) {
		return true
	}
	rest := 0.1 * z.slack
	if z.policyChanges > 0 { // it will change
		rest = math.Inf(1)
	}
	loops, err := z.evaluate(ctx, i, lo, hi, rest)
	return loops == nil && err == nil
}

// loadPolicy sets the rows to those of the policy in a component whose choices are held.
func (z *LeastTotal) loadPolicy(lo, hi int32) {
	w, r := &z.chain.choices, &z.rows
	r.first, r.end, r.reward = grown(r.first, int(hi-lo)), grown(r.end, int(hi-lo)), grown(r.reward, int(hi-lo))
	r.next, r.prob = r.next[:0], r.prob[:0]
	for s := range hi - lo {
		row := w.first[s] + z.Policy[lo+s] - z.Quotient.First[lo+s]
		next, share := w.row(row)
		r.first[s] = int32(len(r.next))
		r.next, r.prob = append(r.next, next...), append(r.prob, share...)
		r.end[s], r.reward[s] = int32(len(r.next)), w.own[row]
	}
}

// sweepPolicy improves the values of a proper policy in a component, whose rows are loaded, by sweeps in place, two at
// a time, until they change little or, if the policy will change itself, less, or after few ones. It reports false
// where they are slow.
func (z *LeastTotal) sweepPolicy(ctx context.Context, lo, hi int32, few bool) bool {
	const enough, slow = 0.01, 0.7
	first, last, span := math.Inf(1), math.Inf(1), z.span(lo, hi)
	for n := 2; n <= mostSweeps*4 && ctx.Err() == nil; n += 2 {
		worst, least := [2]float64{}, true
		pipeline(z.workers, hi-lo, span, func(second bool, a, b int32) {
			if change, little := z.sweepRows(lo, a, b); second {
				worst[1], least = max(worst[1], change), least && little
			} else {
				worst[0] = max(worst[0], change)
			}
		})
		if n == 2 {
			first = worst[0]
		}
		if least || z.policyChanges > 0 && worst[1] <= enough*first || few && n == reviewEvery {
			return true
		}
		if n%reviewEvery == 0 {
			if worst[1] > slow*last {
				return false
			}
			last = worst[1]
		}
	}
	return false
}

// sweepRows sweeps the states lo + [from, to) of a component whose rows of the policy are loaded. It returns the
// largest change, and whether all changes are little.
func (z *LeastTotal) sweepRows(lo, from, to int32) (worst float64, little bool) {
	v, r, rounding := z.Values, &z.rows, z.roundingShare()
	little = true
	for s := from; s < to; s++ {
		x := r.reward[s]
		next := r.next[r.first[s]:r.end[s]]
		share := r.prob[r.first[s]:][:len(next)]
		size := 0.0
		for j, n := range next {
			y := float64(share[j] * v[n])
			x += y
			size += math.Abs(y)
		}
		x -= rounding * (size + math.Abs(x))
		change := math.Abs(x - v[lo+s])
		worst = max(worst, change)
		little = little && change <= 0.25*(z.slack+rounding*math.Abs(x))
		v[lo+s] = x
	}
	return worst, little
}
