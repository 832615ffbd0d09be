package markov

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
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
// than reach. A few blocks save no sweeps.
func blockLength(states, reach int32) int32 {
	step := max(4, int64(reach)) * int64(threshold.Stretch)
	if step*int64(threshold.Blocks) > int64(states) {
		return states
	}
	return int32(step)
}

// rowsHeld returns of how many states of a component sweeps hold the rows, where blocks have step states: rows
// that each sweep goes over take less time to read again than to make again.
func rowsHeld(states, step int32) int32 {
	if step == states {
		return states
	}
	return int32(max(threshold.Window, 2*int(step)))
}

// gaussSeidel finds the values and the policy of component i, the states [lo, hi), without a discount. It reports false
// where that is slow, or the policy may not come to rest.
func (z *LeastTotal) gaussSeidel(ctx context.Context, i int, lo, hi int32) bool {
	reach, jump, least, most := z.componentExtent(lo, hi)
	if least >= 0 { // so are the values
		for s := lo; s < hi; s++ {
			z.Values[s] = max(z.Values[s], 0)
		}
	}
	z.zeroBelow = negligible * most
	step, cold := blockLength(hi-lo, reach), allZero(z.Values[lo:hi])
	if step == hi-lo && windowed(hi-lo, reach) && z.sweepWindows(ctx, lo, hi, reach, cold) {
		return true
	}
	if step == hi-lo && z.slack > 0 { // what is found to rounding is left to sweeps
		if z.sweepWhole(ctx, i, lo, hi, cold) {
			return true
		}
		if unit*floats.Norm(z.Values[lo:hi], math.Inf(1)) <= most {
			return false
		}
		// Some policy on the way hardly ever rests, and its values have no digits left for what others differ by.
		clear(z.Values[lo:hi])
		cold = true
	}
	part, w, ok := 0.125, &z.chain.cache, true
	from, front := lo, lo+step
	w.start(lo)
	if cold {
		z.initialValues(lo, front+min(reach, hi-front), hi)
	}
	for left := mostSweeps * int(hi-lo); left > 0 && ctx.Err() == nil; left -= int(front - from) {
		z.Progress.At(findingValues, float64(from-lo)/float64(hi-lo), int(hi-lo))
		back := max(lo, from-reach)
		again, changed := hi, hi // the first state that did
		if w.holds(back, front) && left > int(front-back) {
			again, changed = z.sweepTwice(w, lo, from, front, hi, reach, jump, part)
		} else {
			changed, ok = z.sweepBlocks(w, lo, from, front, hi, step, part)
		}
		if !ok {
			return false
		}
		if again < hi {
			from = again
			left -= int(front - from)
		}
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
				end := z.end(i)
				reach, _, _, _ := z.componentExtent(lo, end)
				whole = whole && blockLength(end-lo, reach) == end-lo && !windowed(end-lo, reach)
				large = true
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
	w, ok := z.holdChoices(lo, hi)
	if !ok {
		z.Fell = true
		return
	}
	z.raised = true
	end, fell := hi, false
	if n, ok := z.Within[lo]; ok {
		end = min(hi, lo+n)
	}
	span := z.span(lo, hi)
	for n := 0; n < z.Sweeps && ctx.Err() == nil; n += 2 {
		fell = false
		one := n+1 == z.Sweeps
		pipeline(z.workers, end-lo, span, func(second bool, a, b int32) {
			if one && second {
				return
			}
			found := z.sweepCached(w, lo+a, lo+b, hi, 0.5)
			if one || second {
				fell = fell || found.fell
			}
		})
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
		if end := z.end(i); end < hi {
			z.mendNear(lo, end, hi)
		} else if met := make([]bool, hi-lo); !z.isProper(lo, hi, met) {
			z.properPolicy(lo, hi, met)
		}
	}
	z.raised = false
}

// holdChoices returns the rows of all choices in the states [lo, hi) of a component, which are held until those of
// another one are asked for. Only their rewards are those of a direction. It reports false as loadChoices does.
func (z *LeastTotal) holdChoices(lo, hi int32) (*rowCache, bool) {
	w := &z.chain.choices
	if !z.holdsChoices(lo, hi) {
		z.chain.holder = z
		return w, z.loadChoices(w, lo, hi)
	}
	first := z.Quotient.First[lo]
	for r, out := range w.out {
		x, ok := z.cheaperReward(first+int32(r), out)
		if !ok {
			return w, false
		}
		w.own[r] = x
	}
	return w, true
}

// holdsChoices reports whether the choices of a component are held.
func (z *LeastTotal) holdsChoices(lo, hi int32) bool {
	w := &z.chain.choices
	return z.chain.holder == z && w.at == lo && len(w.first) == int(hi-lo)+1
}

// cheaperReward returns the reward of choice i for each time that it leaves its state, which it does with probability
// out, made cheaper by what does not depend on values, see perturb. It reports false where the choice goes on for ever
// at a prize.
func (z *LeastTotal) cheaperReward(i int32, out float64) (float64, bool) {
	if out > 0 {
		return (z.Reward[i] - z.slack - z.roundingShare()*z.Weight[i]) / out, true
	}
	return prohibitive, z.Reward[i] >= -cancellation*z.Weight[i]
}

// loadChoices makes a cache hold the choices of the states [from, to), see cheaperReward. It reports false where one
// goes on for ever at a prize, or all of a state go on for ever.
func (z *LeastTotal) loadChoices(w *rowCache, from, to int32) bool {
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
			w.next, w.share, w.out = next, share, append(w.out, out)
			x, ok := z.cheaperReward(i, out)
			if !ok {
				return false
			}
			w.end(x, out)
			rests = rests || out > 0
		}
		if !rests {
			return false
		}
		w.first = append(w.first, int32(len(w.own)))
	}
	return true
}

// span returns how far a transition inside a component leads at most, or nothing where no other worker asks.
func (z *LeastTotal) span(lo, hi int32) int32 {
	if z.workers <= 1 {
		return 0
	}
	at := [2]int32{lo, hi}
	if _, known := z.spans[at]; !known {
		reach, jump, _, _ := z.componentExtent(lo, hi)
		z.spans[at] = max(reach, jump)
	}
	return z.spans[at]
}

// A swept is what a sweep found.
type swept struct {
	changed int32 // the first state that changed by more than part of what makes choices cheaper
	fell    bool  // whether any fell by more than that
	policy  int   // how many choices changed
}

// sweepTwice sweeps the states [from, front) of a component that ends at hi, and then, if some state changed, those
// from the first that did on, and before it as far as transitions lead back. It returns where the second sweep began,
// hi for nowhere, and the first state that the last one changed, hi for none.
func (z *LeastTotal) sweepTwice(w *rowCache, lo, from, front, hi, reach, jump int32,
	part float64) (again, changed int32) {
	var first atomic.Int32
	first.Store(hi)
	changed = hi
	pipeline(z.workers, front-from, max(reach, jump), func(second bool, a, b int32) {
		began := first.Load()
		switch {
		case !second && began == hi:
			first.Store(z.sweepCached(w, from+a, from+b, hi, part).changed)
		case !second:
			z.sweepCached(w, from+a, from+b, hi, part)
		case began < hi:
			begin := max(lo, began-reach)
			if a > 0 {
				begin = max(begin, from+a)
			}
			if begin < from+b {
				changed = min(changed, z.sweepCached(w, begin, from+b, hi, part).changed)
			}
		}
	})
	if began := first.Load(); began < hi {
		return max(lo, began-reach), changed
	}
	return hi, hi
}

// sweepBlocks sweeps the states [from, front) of a component that ends at hi, and loads what the cache does not hold of
// them. It returns the first state that changed, hi for none, and reports false as loadChoices does.
func (z *LeastTotal) sweepBlocks(w *rowCache, lo, from, front, hi, step int32, part float64) (changed int32, ok bool) {
	held := rowsHeld(hi-lo, step)
	changed = hi
	for a := from; a < front; a += held {
		b := min(front, a+held)
		if !w.holds(a, b) && !z.loadChoices(w, max(lo, min(a, max(b-held, a-step/2))), b) {
			return hi, false
		}
		changed = min(changed, z.sweepCached(w, a, b, hi, part).changed)
	}
	return changed, true
}

// sweepCached gives the states [from, to) in a cache the values of their best choices, one after the other. The first
// state that changed is none if there is none.
func (z *LeastTotal) sweepCached(w *rowCache, from, to, none int32, part float64) swept {
	v, policies, rounding, extra, floor := z.Values, z.Policy, z.roundingShare(), z.slack, z.zeroBelow
	choices, first, own, ends, next, share := z.Quotient.First, w.first[from-w.at:], w.own, w.begin[1:], w.next, w.share
	r := first[0]
	j := w.begin[r]
	changed, fell, policy := none, false, 0
	for s := from; s < to; s++ {
		best, at := math.Inf(1), int32(0)
		for begin := r; r < first[s-from+1]; r++ {
			x, size := own[r], 0.0
			for end := ends[r]; j < end; j++ {
				y := float64(share[j] * v[next[j]])
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
		if i := choices[s] + at; policies[s] != i {
			policies[s] = i
			policy++
		}
	}
	return swept{changed, fell, policy}
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
			if out > 0 && x/out < best {
				best, z.Policy[s] = x/out, i
			}
		}
		if !math.IsInf(best, 1) {
			z.Values[s] = best
		}
	}
}

// componentExtent returns how far back, to a state with a larger number, some choice in a component leads, and how far
// on, the least reward or value outside that a state may get, and the largest magnitude of one.
func (z *LeastTotal) componentExtent(lo, hi int32) (reach, jump int32, least, most float64) {
	for s := lo; s < hi; s++ {
		for i := z.Quotient.First[s]; i < z.Quotient.First[s+1]; i++ {
			least, most = min(least, z.Reward[i]), max(most, math.Abs(z.Reward[i]))
			to, _ := z.Quotient.Row(i)
			for _, n := range to {
				switch {
				case n >= lo && n < hi:
					reach, jump = max(reach, n-s), max(jump, s-n)
				default:
					least, most = min(least, z.Values[n]), max(most, math.Abs(z.Values[n]))
				}
			}
		}
	}
	return reach, jump, least, most
}

// isProper reports whether the policy leaves a component from everywhere. It notes from where it does in met, which is
// false everywhere.
func (z *LeastTotal) isProper(lo, hi int32, met []bool) bool {
	return reachesExit(met, z.policyRow(lo, hi, hi))
}

// policyRow returns what visits the successors of a state of [lo, hi) under the policy, see reachesExit, but for those
// in [hi, end).
func (z *LeastTotal) policyRow(lo, hi, end int32) func(s int32, visit func(n int32) bool) {
	if !z.holdsChoices(lo, hi) {
		return func(s int32, visit func(n int32) bool) {
			next, prob := z.Quotient.Row(z.Policy[lo+s])
			if len(next) == 0 {
				visit(hi - lo)
			}
			for j, n := range next {
				if n < lo || n >= hi {
					if n >= hi && n < end {
						continue
					}
					n = hi
				}
				if prob[j] > 0 && visit(n-lo) {
					return
				}
			}
		}
	}
	w := &z.chain.choices
	return func(s int32, visit func(n int32) bool) {
		row := w.first[s] + z.Policy[lo+s] - z.Quotient.First[lo+s]
		next, _ := w.row(row)
		if len(next) == 0 && w.out[row] > 0 { // else it stays for ever
			visit(hi - lo)
		}
		for _, n := range next {
			if n < lo || n >= hi {
				if n >= hi && n < end {
					continue
				}
				n = hi
			}
			if visit(n - lo) {
				return
			}
		}
	}
}

// passBack meets the states that lead to one that is met, or out, in some passes to and fro, as long as each meets an
// eighth of those that are left. It returns the others.
func passBack(met []bool, row func(s int32, visit func(n int32) bool)) (left []int32) {
	states, leads := int32(len(met)), false
	visit := func(n int32) bool {
		leads = n == states || met[n]
		return leads
	}
	for s := range states {
		if !met[s] {
			left = append(left, s)
		}
	}
	for before := math.MaxInt; len(left) > 0 && len(left) < before-before/8; {
		before = len(left)
		kept := left[:0]
		for _, s := range left {
			leads = false
			row(s, visit)
			met[s] = leads
			if !leads {
				kept = append(kept, s)
			}
		}
		left = kept
		slices.Reverse(left)
	}
	return left
}

// reachesExit reports whether each state that is not met leads to one that is, or out, in the end. row visits
// the successors of a state until it is told to stop; what is out has the number after the last. As most
// successors have lower numbers, a few passes are enough as a rule.
func reachesExit(met []bool, row func(s int32, visit func(n int32) bool)) bool {
	states := int32(len(met))
	if len(passBack(met, row)) == 0 {
		return true
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
	out   []float64 // of each row of a choice, the probability of leaving
	// whether another cache has the same rows, all but own
	shared bool
}

// start empties the cache, the next states in which are those from the given one on.
func (w *rowCache) start(at int32) {
	if w.shared {
		*w = rowCache{}
	}
	w.at, w.first, w.begin = at, append(w.first[:0], 0), append(w.begin[:0], 0)
	w.next, w.share, w.own, w.out = w.next[:0], w.share[:0], w.own[:0], w.out[:0]
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
