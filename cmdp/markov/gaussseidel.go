package markov

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/internal/threshold"
)

// Totals of a large component are found by sweeps in place, in which values go from the states that are left
// last to those before, and visits the other way. Where transitions lead back only a little, sweeps rest on one
// block of states before they go on to the next one: a state is then swept as often as the process goes back
// near it, not as often as it does on the whole way. Where they lead back far, all states are one block.

// mostSweeps is how often all states may be swept.
const mostSweeps = 200

// prohibitive is the price of a choice that does not leave its state, instead of +Inf, which is not to be made cheaper.
const prohibitive = 1e300

// negligible is the size of a value, relative to the largest reward, that counts as 0 if it is above.
const negligible = 1e-30

// blockLength returns by how many states sweeps are extended at a time where transitions lead back no farther
// than reach.
func blockLength(states, reach int32) int32 {
	return int32(min(int64(states), max(4, int64(reach))*int64(threshold.Stretch)))
}

// rowsHeld returns of how many states of a component sweeps hold the rows, where blocks have step states: rows
// that each sweep goes over take less time to read again than to make again.
func rowsHeld(states, step int32) int32 {
	if step == states {
		return states
	}
	return int32(threshold.Window)
}

// The policy that sweeps find is evaluated after fewSweeps of all states if it hardly changes any more, or
// after manySweeps.
const fewSweeps, manySweeps = 4, 16

// gaussSeidel finds the values and the policy of component i, the states [lo, hi), without a discount. Where
// sweeps go on and on because values are slow to add up, the policy is evaluated in between. It reports false
// where that is slow too, or the policy may not come to rest.
func (z *LeastTotal) gaussSeidel(ctx context.Context, i int, lo, hi int32) bool {
	reach, least, most := z.componentExtent(lo, hi)
	if least >= 0 { // so are the values
		for s := lo; s < hi; s++ {
			z.Values[s] = max(z.Values[s], 0)
		}
	}
	z.zeroBelow = negligible * most
	step, cold := blockLength(hi-lo, reach), allZero(z.Values[lo:hi])
	held := rowsHeld(hi-lo, step)
	part, w := 0.125, &z.chain.cache
	from, front := lo, lo+step
	w.start(lo)
	if cold {
		z.initialValues(lo, front+min(reach, hi-front), hi)
	}
	// how many states have been swept since the policy was evaluated, and whether it is stable
	since, settled := -fewSweeps*int(hi-lo), false
	for left := mostSweeps * int(hi-lo); left > 0 && ctx.Err() == nil; left -= int(front - from) {
		// What is found block by block, or to rounding, is left to sweeps.
		if step == hi-lo && z.slack > 0 && (since > manySweeps*int(hi-lo) || settled && since > fewSweeps*int(hi-lo)) {
			since = 0
			if !z.evaluateSwept(ctx, i, lo, hi) {
				return false
			}
			from, part = lo, 0.5
		}
		since += int(front - from)
		z.policyChanges = 0
		z.Progress.At(findingValues, float64(from-lo)/float64(hi-lo), int(hi-lo))
		changed := hi // the first state that did
		for a := from; a < front; a += held {
			b := min(front, a+held)
			if !w.holds(a, b) && !z.loadChoices(w, max(lo, min(a, max(b-held, a-step/2))), b) {
				return false
			}
			first, _ := z.sweepCached(w, a, b, hi, part)
			changed = min(changed, first)
		}
		settled = front == hi && z.policyChanges <= int(front-from)/1024
		switch {
		case changed < hi:
			from = max(lo, changed-reach)
		case front < hi:
			z.Progress.At(findingValues, float64(front-lo)/float64(hi-lo), int(hi-lo))
			from, front = front, front+min(step, hi-front)
			if cold {
				z.initialValues(from, front+min(reach, hi-front), hi)
			}
		case from > lo: // little changes may have added up
			from, part = lo, 0.5
		default:
			return z.isProper(lo, hi, make([]bool, hi-lo))
		}
	}
	return false
}

// Raises reports whether values of totals may be raised by sweeps of all states, see Sweeps: where some component is
// swept, and none is better swept block by block.
func (z *LeastTotal) Raises() bool {
	if z.raises == nil {
		large, whole := false, z.gamma == 1
		for i, hi := range z.Quotient.Component[1:] {
			if lo := z.Quotient.Component[i]; int(hi-lo) > threshold.Swept {
				reach, _, _ := z.componentExtent(lo, hi)
				large, whole = true, whole && blockLength(hi-lo, reach) == hi-lo
			}
		}
		whole = whole && large
		z.raises = &whole
	}
	return *z.raises
}

// raise sweeps the states [lo, hi) of a component a few times, see Sweeps.
func (z *LeastTotal) raise(ctx context.Context, lo, hi int32) {
	z.slack, z.zeroBelow = 0, 0
	w := &z.chain.cache
	if !z.loadChoices(w, lo, hi) {
		z.Fell = true
		return
	}
	z.raised = true
	fell := false
	for n := 0; n < z.Sweeps && ctx.Err() == nil; n++ {
		_, fell = z.sweepCached(w, lo, hi, hi, 0.5)
		z.Progress.At(findingValues, math.NaN(), int(hi-lo))
	}
	z.Fell = z.Fell || fell
}

// Mend makes the policy come to rest: where values are far too low still, it may look better not to.
func (z *LeastTotal) Mend() {
	for i, hi := range z.Quotient.Component[1:] {
		lo := z.Quotient.Component[i]
		if !z.raised || int(hi-lo) <= threshold.Swept {
			continue
		}
		if met := make([]bool, hi-lo); !z.isProper(lo, hi, met) {
			z.properPolicy(lo, hi, met)
		}
	}
	z.raised = false
}

// evaluateSwept sets the values in a component to those of the policy that sweeps have found, where that comes
// to rest from everywhere.
func (z *LeastTotal) evaluateSwept(ctx context.Context, i int, lo, hi int32) bool {
	if z.sweepPolicy(ctx, lo, hi) || !z.isProper(lo, hi, make([]bool, hi-lo)) {
		return true
	}
	rest := 0.1 * z.slack
	if z.policyChanges > 0 { // it will change
		rest = math.Inf(1)
	}
	loops, err := z.evaluate(ctx, i, lo, hi, rest)
	return loops == nil && err == nil
}

// sweepPolicy improves the values of a proper policy in a component by sweeps in place of the policy alone,
// until they change little or, if the policy will change itself, less. It reports false where sweeps are slow.
func (z *LeastTotal) sweepPolicy(ctx context.Context, lo, hi int32) bool {
	const enough, slow = 0.01, 0.7
	rounding := z.roundingShare()
	z.rows.start(z.Quotient, lo, hi)
	z.right = grown(z.right, int(hi-lo))
	for s := lo; s < hi; s++ {
		i := z.Policy[s]
		to, prob := z.Quotient.Row(i)
		out := 0.0
		for j, n := range to {
			if n != s {
				out += prob[j]
			}
		}
		if len(to) == 0 {
			out = 1
		}
		z.right[s-lo] = (z.Reward[i] - z.slack - rounding*z.Weight[i]) / out
		z.rows.setShares(int(s-lo), s, to, prob, out)
	}
	v, r := z.Values, &z.rows
	first, last := math.Inf(1), math.Inf(1)
	for n := 1; n <= mostSweeps*4 && ctx.Err() == nil; n++ {
		worst, least := 0.0, true
		for s := range z.right {
			next := r.next[r.first[s]:r.end[s]]
			share := r.prob[r.first[s]:][:len(next)]
			x, size := z.right[s], 0.0
			for j, n := range next {
				y := float64(share[j] * v[n])
				x += y
				size += math.Abs(y)
			}
			x -= rounding * (size + math.Abs(x))
			change := math.Abs(x - v[lo+int32(s)])
			worst = max(worst, change)
			least = least && change <= 0.25*(z.slack+rounding*math.Abs(x))
			v[lo+int32(s)] = x
		}
		if n == 1 {
			first = worst
		}
		if least || z.policyChanges > 0 && worst <= enough*first {
			return true
		}
		if n%reviewEvery == 0 {
			if worst > slow*last {
				return false
			}
			last = worst
		}
	}
	return false
}

// loadChoices makes a cache hold the choices of the states [from, to), which are made cheaper by what does not
// depend on values, see perturb. It reports false where one goes on for ever at a prize, or all of a state go
// on for ever.
func (z *LeastTotal) loadChoices(w *rowCache, from, to int32) bool {
	rounding := z.roundingShare()
	w.start(from)
	for s := from; s < to; s++ {
		rests := false
		for i := z.Quotient.First[s]; i < z.Quotient.First[s+1]; i++ {
			to, prob := z.Quotient.Row(i)
			next, share, out := w.next, w.share, 0.0
			if len(to) == 0 {
				out = 1
			}
			for j, n := range to {
				if n != s && prob[j] > 0 {
					next, share = append(next, n), append(share, prob[j])
					out += prob[j]
				}
			}
			w.next, w.share = next, share
			x := prohibitive
			if out > 0 {
				x = (z.Reward[i] - z.slack - rounding*z.Weight[i]) / out
				rests = true
			} else if z.Reward[i] < -cancellation*z.Weight[i] {
				return false
			}
			w.end(x, out)
		}
		if !rests {
			return false
		}
		w.first = append(w.first, int32(len(w.own)))
	}
	return true
}

// sweepCached gives the states [from, to) in a cache the values of their best choices, one after the other. It
// returns the first state that changed by more than part of what makes choices cheaper, or none, and whether any
// fell by more than that.
func (z *LeastTotal) sweepCached(w *rowCache, from, to, none int32, part float64) (changed int32, fell bool) {
	v, rounding, extra, floor := z.Values, z.roundingShare(), z.slack, z.zeroBelow
	first, own, begins, nexts, shares := w.first[from-w.at:], w.own, w.begin, w.next, w.share
	r := first[0]
	changed = none
	for s := from; s < to; s++ {
		best, at := math.Inf(1), int32(0)
		for begin := r; r < first[s-from+1]; r++ {
			o, e := begins[r], begins[r+1]
			next := nexts[o:e]
			share := shares[o:][:len(next)]
			x, size := own[r], 0.0
			for j, n := range next {
				y := float64(share[j] * v[n])
				x += y
				size += math.Abs(y)
			}
			// Of the same size again is what the value itself weighs.
			x -= rounding * (size + math.Abs(x))
			if x < best { // two assignments without a branch, which would be guessed wrong
				at = r - begin
			}
			best = min(best, x)
		}
		if best > 0 && best < floor { // it would go on to fall by the same factor again and again
			best = 0
		}
		if change := best - v[s]; math.Abs(change) > part*(extra+rounding*math.Abs(v[s])) {
			changed = min(changed, s)
			fell = fell || change < 0
		}
		v[s] = best
		if i := z.Quotient.First[s] + at; z.Policy[s] != i {
			z.Policy[s] = i
			z.policyChanges++
		}
	}
	return changed, fell
}

// initialValues sets the values of the states [from, to) of a component that ends at hi to what they are where
// each way back is replaced by staying. States ahead of a sweep whose values are far too low would draw the
// policy there.
func (z *LeastTotal) initialValues(from, to, hi int32) {
	for s := from; s < to; s++ {
		best := math.Inf(1)
		for i := z.Quotient.First[s]; i < z.Quotient.First[s+1]; i++ {
			x, out := z.Reward[i], 0.0
			to, prob := z.Quotient.Row(i)
			if len(to) == 0 {
				out = 1
			}
			for j, n := range to {
				if n < s || n >= hi {
					x += float64(prob[j] * z.Values[n])
					out += prob[j]
				}
			}
			if out > 0 {
				best = min(best, x/out)
			}
		}
		if !math.IsInf(best, 1) {
			z.Values[s] = best
		}
	}
}

// componentExtent returns how far back, to a state with a larger number, some choice in a component leads, the least
// reward or value outside that a state may get, and the largest magnitude of one.
func (z *LeastTotal) componentExtent(lo, hi int32) (reach int32, least, most float64) {
	for s := lo; s < hi; s++ {
		for i := z.Quotient.First[s]; i < z.Quotient.First[s+1]; i++ {
			least, most = min(least, z.Reward[i]), max(most, math.Abs(z.Reward[i]))
			to, _ := z.Quotient.Row(i)
			for _, n := range to {
				switch {
				case n >= lo && n < hi:
					reach = max(reach, n-s)
				default:
					least, most = min(least, z.Values[n]), max(most, math.Abs(z.Values[n]))
				}
			}
		}
	}
	return reach, least, most
}

// isProper reports whether the policy leaves a component from everywhere. It notes from where it does in met, which is
// false everywhere.
func (z *LeastTotal) isProper(lo, hi int32, met []bool) bool {
	return reachesExit(met, func(s int32, visit func(n int32) bool) {
		next, prob := z.Quotient.Row(z.Policy[lo+s])
		if len(next) == 0 {
			visit(hi - lo)
		}
		for j, n := range next {
			if n < lo || n >= hi {
				n = hi
			}
			if prob[j] > 0 && visit(n-lo) {
				return
			}
		}
	})
}

// reachesExit reports whether each state that is not met leads to one that is, or out, in the end. row visits
// the successors of a state until it is told to stop; what is out has the number after the last. As most
// successors have lower numbers, a few passes are enough as a rule.
func reachesExit(met []bool, row func(s int32, visit func(n int32) bool)) bool {
	states, passes := int32(len(met)), 4
	for range passes {
		left, changed := false, false
		for s := range met {
			if met[s] {
				continue
			}
			row(int32(s), func(n int32) bool {
				met[s] = met[s] || n == states || met[n]
				return met[s]
			})
			changed, left = changed || met[s], left || !met[s]
		}
		if !left || !changed {
			return !left
		}
	}
	into := newLists(len(met), func(add func(at, item int32)) {
		for s := range states {
			if !met[s] {
				row(s, func(n int32) bool {
					add(n, s)
					return false
				})
			}
		}
	})
	var queue []int32
	for s, m := range met {
		if m {
			queue = append(queue, int32(s))
		}
	}
	for len(queue) > 0 {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, by := range into.of(s) {
			if !met[by] {
				met[by] = true
				queue = append(queue, by)
			}
		}
	}
	return !slices.Contains(met, false)
}

// A rowCache holds rows of some states, one after the other, so that sweeps over these are fast: the shares of
// what leaves a state that go to other states. It has room for what is swept again and again, see rowsHeld.
type rowCache struct {
	at    int32     // the first state
	first []int32   // of each state, its first row, and the end
	begin []int32   // of each row, where its entries begin in next, and the end
	next  []int32   // where it leads
	share []float64 // of what leaves the state
	own   []float64 // of each row, the reward of a choice for leaving, or how often a policy leaves
}

// start empties the cache, the next states in which are those from the given one on.
func (w *rowCache) start(at int32) {
	w.at, w.first, w.begin = at, append(w.first[:0], 0), append(w.begin[:0], 0)
	w.next, w.share, w.own = w.next[:0], w.share[:0], w.own[:0]
}

// end ends a row, the entries of which add up to out.
func (w *rowCache) end(own, out float64) {
	if row := w.share[w.begin[len(w.own)]:]; out != 1 {
		for j := range row {
			row[j] /= out
		}
	}
	w.begin, w.own = append(w.begin, int32(len(w.share))), append(w.own, own)
}

// holds reports whether the states [from, to) are in the cache.
func (w *rowCache) holds(from, to int32) bool { return w.at <= from && int(to-w.at) < len(w.first) }

// row returns where a row leads, and the shares.
func (w *rowCache) row(r int32) ([]int32, []float64) {
	next := w.next[w.begin[r]:w.begin[r+1]]
	return next, w.share[w.begin[r]:][:len(next)]
}
