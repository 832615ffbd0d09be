package markov

import (
	"context"
	"math"

	"cmdpsolve/internal/threshold"
)

// Where a policy moves on on the average, but goes back now and then, a sweep in place carries values on by a few
// transitions only: to go on for p and back for q of the time, by (p−q)/q of them. Sweeps over all states would be as
// many as the way is long. So sweeps go over a window that moves on by a small part of its length from one sweep to
// the next: each state is swept as often as the window is long, measured by these parts, whatever the length of the
// way. What a window leaves behind is right to some digits, the more the longer it is, and the next pass adds as many.

// A window has so many states for each one that transitions lead back, and one more in each pass. It moves on by its
// first length in so many sweeps, of which each that is of all choices is followed by some of the policy.
const (
	windowReaches = 4
	windowSweeps  = 30
	sweepsOfOne   = 4
)

// windowed reports whether transitions lead back over so few states that windows make fewer sweeps.
func windowed(states, reach int32) bool {
	return int64(reach)*int64(threshold.Windows) <= int64(states)
}

// slideWindow calls sweep with one window of the states after the other in a pass, so that each state is in so many of
// those of the first pass.
func slideWindow(ctx context.Context, states, reach int32, pass, times int, sweep func(from, to int32)) {
	reaches := int(max(1, reach))
	moveWindow(ctx, int(states), (windowReaches+pass)*reaches, max(1, windowReaches*reaches/times), sweep)
}

// moveWindow calls sweep with a window of so many states, which moves on by a step from one call to the next, from the
// one that ends after the first step to the one that begins near the last state.
func moveWindow(ctx context.Context, states, length, step int, sweep func(from, to int32)) {
	for front := step; front-length < states && ctx.Err() == nil; front += step {
		sweep(int32(max(0, front-length)), int32(min(front, states)))
	}
}

// sweepWindows is gaussSeidel by windows, see windowReaches: of all choices with sweeps of the policy between them, and
// of the policy alone once it hardly changes. It reports false where that is slow, or the policy may not come to rest.
func (z *LeastTotal) sweepWindows(ctx context.Context, lo, hi, reach int32, cold bool) bool {
	const passes, few = 24, 100
	w, ok := z.holdChoices(lo, hi)
	if !ok {
		return false
	}
	z.rows.start(z.Quotient, lo, hi)
	fresh, changes := true, int(hi-lo)
	for n := range passes {
		if n > 0 || !cold {
			swept := z.sweepCached(w, lo, hi, hi, 0.5)
			if swept.changed == hi {
				return z.isProper(lo, hi, make([]bool, hi-lo))
			}
			changes = swept.policy
		}
		z.Progress.At(findingValues, math.NaN(), int(hi-lo))
		switch {
		case ctx.Err() != nil:
			return false
		case changes > int(hi-lo)/few:
			z.slideChoices(ctx, w, lo, hi, reach, n, fresh)
			fresh = false
		default:
			z.setRows(w, lo, lo, hi)
			slideWindow(ctx, hi-lo, reach, n, windowSweeps/2, func(from, to int32) {
				z.rows.sweep(z.Values, lo, from, to, z.roundingShare())
			})
		}
	}
	return false
}

// slideChoices sweeps all choices of a component by windows, and the policy that is found after each. Fresh values
// are those of driftValues.
func (z *LeastTotal) slideChoices(ctx context.Context, w *rowCache, lo, hi, reach int32, pass int, fresh bool) {
	ahead := lo // the values of the states before are known
	slideWindow(ctx, hi-lo, reach, pass, windowSweeps/(1+sweepsOfOne), func(from, to int32) {
		if end := lo + min(hi-lo, to+reach); fresh && end > ahead {
			z.driftValues(w, lo, ahead, end, hi)
			ahead = end
		}
		z.sweepCached(w, lo+from, lo+to, hi, 0.5)
		z.setRows(w, lo, lo+from, lo+to)
		for range sweepsOfOne {
			z.rows.sweep(z.Values, lo, from, to, z.roundingShare())
		}
	})
}

// setRows sets the rows of the states [from, to) of the component that begins at lo, whose choices are held, to those
// of the policy.
func (z *LeastTotal) setRows(w *rowCache, lo, from, to int32) {
	for s := from; s < to; s++ {
		row := w.first[s-lo] + z.Policy[s] - z.Quotient.First[s]
		next, share := w.row(row)
		z.rows.set(int(s-lo), next, share, 1, w.own[row])
	}
}

// driftValues sets the values of the states [from, to) of a component that ends at hi to what they are if the process
// drifts: each way back costs half as much again as it takes to come from one state to the next. Values that are too
// low would draw the policy to states ahead, and rise slowly; those that are too high fall with each sweep.
func (z *LeastTotal) driftValues(w *rowCache, lo, from, to, hi int32) {
	const dear, least = 1.5, 0.125 // a way back, and the least drift
	for s := from; s < to; s++ {
		best := math.Inf(1)
		for r := w.first[s-lo]; r < w.first[s-lo+1]; r++ {
			x, out := 0.0, 0.0
			next, share := w.row(r)
			for j, n := range next {
				if n < s || n >= hi {
					x += float64(share[j] * z.Values[n])
					out += share[j]
				}
			}
			if len(next) == 0 && w.out[r] > 0 {
				out = 1
			}
			if out == 0 {
				continue
			}
			x = x/out + max(w.own[r]/out, w.own[r]/max(out-dear*(1-out), least))
			if x < best {
				best, z.Policy[s] = x, z.Quotient.First[s]+r-w.first[s-lo]
			}
		}
		if !math.IsInf(best, 1) {
			z.Values[s] = best
		}
	}
}
