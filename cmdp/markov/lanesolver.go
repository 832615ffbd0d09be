package markov

import (
	"context"

	"cmdpsolve/cmdp/progress"
	"cmdpsolve/internal/threshold"
)

// A laneSolver is what one worker solves states and components of a simultaneous program with.
type laneSolver struct {
	*SimultaneousTotals
	rows   laneRows
	system laneFeedback
	tell   progress.Func
	above  [NumLanes]bool // see SimultaneousTotals.Above, of the components that it has solved
}

func (z *SimultaneousTotals) newSolver() *laneSolver {
	w := &laneSolver{SimultaneousTotals: z}
	w.rows.set(z)
	return w
}

// shareLevels makes workers share components that do not lead to each other, so many states at a time at most: runs of
// the quotient or, where these are short, its levels, in whose order the components stand then. It does nothing where
// levels are short too.
func (z *SimultaneousTotals) shareLevels(workers, most int) {
	q := z.Quotient
	if runs := q.runs(); runs.mostlyWide() {
		z.workers, z.stages = workers, runs.stages(most)
		return
	}
	levels := q.levels()
	if !levels.mostlyWide() {
		return
	}
	sorted, before := q.inOrder(levels)
	head, proper := z.head, z.proper
	z.Quotient, z.workers, z.stages, z.proper = sorted, workers, levels.stages(most), make([]int32, q.Rest)
	for n, s := range before {
		z.proper[n] = sorted.First[n] + proper[s] - q.First[s]
	}
	if head != nil {
		z.head = make([]uint8, q.Rest)
		for n, s := range before {
			z.head[n] = head[s]
		}
	}
}

// solve solves the components [first, end) and tells of them, a block at a time. It reports false where it gives up.
func (z *laneSolver) solve(ctx context.Context, first, end int32) bool {
	q, most := z.Quotient, int32(threshold.Block) // states at a time, or one component
	for i := first; i < end; {
		if ctx.Err() != nil {
			return false
		}
		lo := q.Component[i]
		z.tell.At(findingValues, float64(lo)/float64(q.Rest), int(q.Rest))
		more := func() bool { return i < end && q.Component[i] < lo+most }
		for more() {
			ok, from := false, q.Component[i]
			if q.Component[i+1] > from+1 {
				i++
				ok = z.solveComponent(ctx, from, q.Component[i])
			} else {
				for more() && q.Component[i+1] == q.Component[i]+1 {
					i++
				}
				ok = z.solveStates(from, q.Component[i], len(z.Directions))
			}
			if !ok {
				return false
			}
		}
		if z.Solved != nil {
			z.Solved(lo, q.Component[i])
		}
	}
	return true
}

// solveStates is solveState for the states [lo, hi), one after the other.
func (z *laneSolver) solveStates(lo, hi int32, follow int) bool {
	z.rows.follow = follow
	for s := lo; s < hi; s++ {
		if vectors {
			s = relaxVector(&z.rows, s, hi)
			if s == hi {
				break
			}
		}
		if !z.solveState(s, follow) {
			return false
		}
	}
	return true
}

// solveComponent finds policies in the component [lo, hi) by policy iteration, all directions at once. It begins with
// the policies of a few sweeps from values as they are beside the component, or, where these do not come to rest, with
// one that does.
func (z *laneSolver) solveComponent(ctx context.Context, lo, hi int32) bool {
	const sweeps = 2
	near := z.Values[z.Slot(z.Quotient.beside(lo, hi))]
	for s := lo; s < hi; s++ {
		z.Values[z.Slot(s)] = near
	}
	swept := true
	for n := 0; n < sweeps && swept; n++ {
		swept = z.solveStates(lo, hi, 0)
	}
	z.system.start(z, lo, hi)
	if !swept || !z.policyIteration(ctx, lo, hi) {
		for s := lo; s < hi; s++ {
			i := z.proper[s]
			z.Policy[z.Slot(s)] = [NumLanes]int32{i, i, i, i}
			z.Values[z.Slot(s)] = near
		}
		return z.policyIteration(ctx, lo, hi)
	}
	return true
}

// beside returns a state that the component [lo, hi) leads to, or what rests.
func (q *Quotient) beside(lo, hi int32) int32 {
	for i := q.First[lo]; i < q.First[hi]; i++ {
		to, _ := q.Row(i)
		for _, n := range to {
			if n < lo || n >= hi {
				return n
			}
		}
	}
	return q.Rest
}

// policyIteration reports false where a policy may stay for ever, or ctx ends.
func (z *laneSolver) policyIteration(ctx context.Context, lo, hi int32) bool {
	const most = 1000
	for range most {
		if !z.evaluate(ctx, lo, hi) {
			return false
		}
		changed, above := z.improve(lo, hi)
		if !changed {
			for l := range above {
				z.above[l] = z.above[l] || above[l]
			}
			return true
		}
	}
	return false
}

// evaluate sets values and returns to those of the policies. What choices are made cheaper by depends on values, so
// that it is done again where these were far from what they are. It reports false where a policy may stay for ever, or
// ctx ends.
func (z *laneSolver) evaluate(ctx context.Context, lo, hi int32) bool {
	const rounds = 8
	d, moved := len(z.Directions), true
	set := func(s int32, x []Lanes) {
		at := z.Slot(lo + s)
		old := &z.Values[at]
		change := x[0].Minus(*old).Magnitudes().AddScaled(-0.5, x[0].Magnitudes())
		moved = moved || change.A > 0 || change.B > 0 || change.C > 0 || change.D > 0
		*old = x[0]
		copy(z.Returns[int(at)*d:], x[1:])
	}
	for n := 0; moved && n < rounds; n++ {
		moved = false
		if ctx.Err() != nil || !z.system.load(z, lo, hi) || !z.system.solve(set) {
			return false
		}
	}
	return true
}

// improve changes the policies in a component wherever a choice is better by more than half of what it is made cheaper
// by, and reports whether one is. Else values are proved but above some backup: what a choice gives exceeds the value
// by more than rounding, which is less than half of what choices are made cheaper by.
func (z *laneSolver) improve(lo, hi int32) (changed bool, above [NumLanes]bool) {
	for s := lo; s < hi; s++ {
		if vectors {
			s = proveVector(&z.rows, s, hi)
			if s == hi {
				break
			}
		}
		policy := &z.Policy[z.Slot(s)]
		now, least, old := *policy, [NumLanes]float64{}, z.Values[z.Slot(s)]
		for i := z.Quotient.First[s]; i < z.Quotient.First[s+1]; i++ {
			gain, size, out := z.backup(s, i, 0, 0, old)
			charge := Lanes{}.AddScaled(z.rounding, size.AddScaled(out, old.Magnitudes()))
			better, proved := gain.AddScaled(-0.5, charge).Array(), gain.AddScaled(-z.error, size).Array()
			// x is what it would give the state if it is taken for good
			for k, x := range gain.Minus(charge).Over(out).Array() {
				switch {
				case better[k] >= 0:
				case now[k] == i || !(better[k] < 0):
					above[k] = above[k] || !(proved[k] >= 0)
				case x < least[k]:
					least[k], policy[k], changed = x, i, true
				}
			}
		}
	}
	return changed, above
}
