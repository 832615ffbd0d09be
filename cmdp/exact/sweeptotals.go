package exact

import (
	"context"
	"math"
	"slices"
)

// Totals of a large component are found by sweeps in place, in which values go from the states that are left last to those
// before, and visits the other way. Where transitions lead back only a little, sweeps rest on one stretch of states before they go
// on to the next one: a state is then swept as often as the process goes back near it, not as often as it does on the whole
// way. Where they lead back far, all states are one stretch.

// large is the number of states from which this is tried, and patience how often all states may be swept.
const (
	large    = 1 << 14
	patience = 200
)

// stretchOf returns by how many states sweeps are extended at a time where transitions lead back no farther than reach.
func stretchOf(states, reach int32) int32 {
	return int32(min(int64(states), max(64, 16*int64(reach))))
}

// creep finds the values and the policy of a component, the states [lo, hi), without a discount. It reports false where
// sweeps are slow, or the policy may not come to rest.
func (z *scalar) creep(ctx context.Context, lo, hi int32) bool {
	reach := z.reach(lo, hi)
	step, cold := stretchOf(hi-lo, reach), zero(z.v[lo:hi])
	// A change is nothing beside what makes choices cheaper, see charge, or at first a part of that.
	rounding, part := z.slack*(perturbation+4*float64(z.longest)*unit), 0.125
	from, front := lo, lo+step
	if cold {
		z.begin(lo, front+min(reach, hi-front), hi)
	}
	for left := patience * int(hi-lo); left > 0 && ctx.Err() == nil; left -= int(front - from) {
		changed := hi // the first state that did
		for s := from; s < front; s++ {
			before := z.v[s]
			if !z.single(s) {
				return false
			}
			if changed == hi && math.Abs(z.v[s]-before) > part*(z.extra+rounding*math.Abs(z.v[s])) {
				changed = s
			}
		}
		switch {
		case changed < hi:
			from = max(lo, changed-reach)
		case front < hi:
			from, front = front, front+min(step, hi-front)
			if cold {
				z.begin(from, front+min(reach, hi-front), hi)
			}
		case from > lo: // little changes may have added up
			from, part = lo, 0.5
		default:
			return z.drains(lo, hi)
		}
	}
	return false
}

// begin sets the values of the states [from, to) of a component that ends at hi to what they are where each way back is replaced by
// staying. States ahead of a sweep whose values are far too low would draw the policy there.
func (z *scalar) begin(from, to, hi int32) {
	for s := from; s < to; s++ {
		best := math.Inf(1)
		for i := z.q.first[s]; i < z.q.first[s+1]; i++ {
			x, out := z.reward[i], 0.0
			to, prob := z.q.row(i)
			if len(to) == 0 {
				out = 1
			}
			for j, n := range to {
				if n < s || n >= hi {
					x += float64(prob[j] * z.v[n])
					out += prob[j]
				}
			}
			if out > 0 {
				best = min(best, x/out)
			}
		}
		if !math.IsInf(best, 1) {
			z.v[s] = best
		}
	}
}

// reach returns how far back, to a state with a larger number, some choice in a component leads.
func (z *scalar) reach(lo, hi int32) (reach int32) {
	for s := lo; s < hi; s++ {
		for i := z.q.first[s]; i < z.q.first[s+1]; i++ {
			to, _ := z.q.row(i)
			for _, n := range to {
				if n < hi {
					reach = max(reach, n-s)
				}
			}
		}
	}
	return reach
}

// drains reports whether a few passes show that the policy leaves a component from everywhere, see chain.leaks.
func (z *scalar) drains(lo, hi int32) bool {
	return drains(hi-lo, func(s int32, to func(n int32)) {
		next, prob := z.q.row(z.pick[lo+s])
		if len(next) == 0 {
			to(-1)
		}
		for j, n := range next {
			if prob[j] > 0 {
				to(n - lo)
			}
		}
	})
}

func drains(states int32, leads func(s int32, to func(n int32))) bool {
	met, left := make([]bool, states), int(states)
	for range 8 {
		for s := range states {
			if !met[s] {
				leads(s, func(n int32) { met[s] = met[s] || n < 0 || n >= states || met[n] })
				if met[s] {
					left--
				}
			}
		}
	}
	return left == 0
}

// pour corrects a guess x of the visits of the states [lo, hi) of the base quotient, without a discount, until what is still on
// its way is at most rest in all, or rounding. It reports false where that is slow, or where the policy may not leave
// the component from everywhere.
func (p *stationary) pour(ctx context.Context, st *stepPolicy, lo, hi int32, arrivals, x []float64, rest float64) bool {
	room := make([]taken, 0, p.mostActions)
	each := func(s int32, do func(n int32, prob float64)) {
		for _, t := range p.choose(room[:0], st, lo+s) {
			for e := p.k.Offset[t.c]; e < p.k.Offset[t.c+1]; e++ {
				if n := p.base.state[p.k.Next[e]] - lo; n != s && p.k.Prob[e] > 0 {
					do(n, t.x*p.k.Prob[e])
				}
			}
		}
	}
	states, reach := hi-lo, int32(0)
	if !drains(states, func(s int32, to func(n int32)) { each(s, func(n int32, _ float64) { to(n) }) }) {
		return false
	}
	missing := slices.Clone(arrivals) // what is still on its way, or too much of it
	for s := range states {
		each(s, func(n int32, prob float64) {
			missing[s] -= x[s] * prob
			if n >= 0 && n < states {
				missing[n] += float64(x[s] * prob)
				reach = max(reach, n-s)
			}
		})
	}
	nothing := func(s int32) bool { return math.Abs(missing[s]) <= max(rest/float64(states), unit/4*math.Abs(x[s])) }
	step := stretchOf(states, reach)
	from, front := states-1, states-step
	for left := patience * int(states); left > 0 && ctx.Err() == nil; left -= int(from-front) + 1 {
		again := int32(-1) // the last state that something came back to
		for s := from; s >= front; s-- {
			if nothing(s) {
				continue
			}
			out := 0.0
			each(s, func(_ int32, prob float64) { out += prob })
			y := missing[s] / out
			x[s], missing[s] = x[s]+y, 0
			each(s, func(n int32, prob float64) {
				if n >= 0 && n < states {
					if missing[n] += float64(y * prob); n > s && n > again && !nothing(n) {
						again = n
					}
				}
			})
		}
		switch {
		case again >= 0:
			from = again
		case front > 0:
			from, front = front-1, max(0, front-step)
		default:
			return true
		}
	}
	return false
}
