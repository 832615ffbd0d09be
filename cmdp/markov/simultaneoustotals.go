package markov

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/internal/threshold"
)

// SimultaneousTotals finds the policies of least expected totals in several directions in one pass over the rows of a
// model, and what these policies return: for each state, the values of all directions stand side by side. It is
// [LeastTotal] without a discount, with the same policy iteration and perturbation, of a model in which nothing is
// merged and few states of a component are on all of its cycles: otherwise each direction takes a long time for its own
// linear system. Where a policy would go on for ever it gives up.
//
// Values are proved as they are found. That of a component of one state is below what each choice gives by more than
// rounding takes, see solveState, and the last look at all choices of any other shows the same.
type SimultaneousTotals struct {
	Quotient *Quotient
	// Directions hold, for each return, its weight in each direction.
	Directions []Lanes
	Progress   Progress
	// Solved, if not nil, is called with states [lo, hi) that are solved, while a cache holds them.
	Solved func(lo, hi int32)

	// What Solve finds, of the states that were solved last, those of Solved among them, see Slot:
	Values  []Lanes           // at most their backups
	Returns []Lanes           // all returns of the policies, those of a state side by side
	Policy  [][NumLanes]int32 // the index of a choice in Quotient.Choice
	Above   [NumLanes]bool    // in these directions some value may be above a backup all the same

	mask, rest int32 // see Slot; −1 if nothing is given up

	rows     laneRows
	head     []uint8 // of each state, its number among the heads of its component, from 1, and 0 for others
	system   laneFeedback
	proper   []int32 // a policy that comes to rest
	error    float64 // more than what rounding takes from a sum of numbers of the size 1
	rounding float64 // what is taken from one, twice as much at least
}

// Simultaneous returns the simultaneous program of a quotient for models with dim returns, or nil where it does not
// apply. It starts from the policy of the solver.
func (z *LeastTotal) Simultaneous(dim int) *SimultaneousTotals {
	q := z.Quotient
	if z.gamma < 1 || len(q.Merged) > 0 || len(q.ZeroStates) > 0 || z.Cancels() || z.improper >= 0 ||
		dim == 0 || q.Rest == 0 || len(q.To) == 0 {
		return nil
	}
	head, ok := q.heads()
	if !ok || slices.Contains(z.Policy, -1) {
		return nil
	}
	out := &SimultaneousTotals{Quotient: q, Directions: make([]Lanes, dim), head: head,
		proper: slices.Clone(z.Policy), error: float64(dim+z.longest+4) * unit}
	out.rounding = max(z.roundingShare(), 2*out.error)
	out.mask, out.rest = q.window(threshold.Block)
	out.Values = make([]Lanes, out.rest+1)
	out.Returns = make([]Lanes, int(out.rest+1)*dim)
	out.Policy = make([][NumLanes]int32, out.rest)
	out.rows.set(out)
	return out
}

// Slot returns where a state, or what rests, stands in Values, Returns and Policy. What is found of a state gives way
// to what is found of others as soon as no transition leads there any more, so that a cache may hold all of it.
func (z *SimultaneousTotals) Slot(n int32) int32 {
	if n == z.Quotient.Rest {
		return z.rest
	}
	return n & z.mask
}

// window returns how many of the last states are to be known, and a mask of the numbers below, so that while a
// component is solved all are known that it leads to, and as many as block and a component later. The mask is −1 where
// that is all states.
func (q *Quotient) window(block int) (mask, states int32) {
	back, component := int32(0), int32(0)
	for i, hi := range q.Component[1:] {
		lo := q.Component[i]
		component = max(component, hi-lo)
		for s := lo; s < hi; s++ {
			for _, c := range q.Choice[q.First[s]:q.First[s+1]] {
				to, _ := q.row(c)
				for _, n := range to {
					if n < s {
						back = max(back, s-n)
					}
				}
			}
		}
	}
	states = 1
	for int(states) < int(back)+int(component)+block {
		if states >= q.Rest/2 {
			return -1, q.Rest
		}
		states *= 2
	}
	return states - 1, states
}

// heads numbers the states to which some choice of their component leads back: each other state leads to those and to
// states before it. It is nil where all components have one state, and reports false where one has too many heads.
func (q *Quotient) heads() (head []uint8, ok bool) {
	for i, hi := range q.Component[1:] {
		lo, found := q.Component[i], 0
		if hi == lo+1 {
			continue
		}
		if head == nil {
			head = make([]uint8, q.Rest)
		}
		for s := lo; s < hi; s++ {
			for i := q.First[s]; i < q.First[s+1]; i++ {
				to, _ := q.row(q.Choice[i])
				for _, n := range to {
					if n > s && n < hi && head[n] == 0 {
						found++
						head[n] = 1
					}
				}
			}
			if found > mostHeads {
				return nil, false
			}
		}
		number := uint8(0) // in the order of the states
		for s := lo; s < hi; s++ {
			if head[s] > 0 {
				number++
				head[s] = number
			}
		}
	}
	return head, true
}

// Solve finds values, policies and returns for the directions. It reports false where it gives up.
func (z *SimultaneousTotals) Solve(ctx context.Context) (bool, error) {
	q, most := z.Quotient, int32(threshold.Block) // states at a time, or one component
	z.Above = [NumLanes]bool{}
	for i := 0; i < len(q.Component)-1; {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		lo := q.Component[i]
		z.Progress.At(findingValues, float64(lo)/float64(q.Rest), int(q.Rest))
		more := func() bool { return i < len(q.Component)-1 && q.Component[i] < lo+most }
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
				return false, ctx.Err()
			}
		}
		if z.Solved != nil {
			z.Solved(lo, q.Component[i])
		}
	}
	return true, nil
}

// backup returns what choice i of state s gives in each direction: the sum of its returns, each times its weights in
// the directions, and of by how much the values of successors outside of [lo, hi) are above a base, each times its
// probability. size is the sum of the magnitudes of these and of those of successors inside, and out is how likely s is
// left.
func (z *SimultaneousTotals) backup(s, i, lo, hi int32, base Lanes) (sum, size Lanes, out float64) {
	c := z.Quotient.Choice[i]
	for j, r := range z.Quotient.Kernel.ReturnsOf(int(c), len(z.Directions)) {
		x := Lanes{}.AddScaled(r, z.Directions[j])
		sum, size = sum.AddScaled(1, x), size.AddScaled(1, x.Magnitudes())
	}
	next, prob := z.Quotient.row(c)
	for j, n := range next {
		if n == s {
			continue
		}
		p := prob[j]
		out += p
		x := Lanes{}.AddScaled(p, z.Values[z.Slot(n)].Minus(base))
		size = size.AddScaled(1, x.Magnitudes())
		if n < lo || n >= hi {
			sum = sum.AddScaled(1, x)
		}
	}
	return sum, size, out
}

// solveStates is solveState for the states [lo, hi), one after the other.
func (z *SimultaneousTotals) solveStates(lo, hi int32, follow int) bool {
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

// solveState sets the value of a state to what its best choice gives where others have the values that they have, and
// policy and the first returns, as many as follow, to those of that choice. What a choice gives is made less by more
// than rounding takes from its sum, the product of value and probability included, so that the value is proved where
// others keep theirs. It reports false where the best choice may be to stay for ever.
func (z *SimultaneousTotals) solveState(s int32, follow int) bool {
	q, inf := z.Quotient, math.Inf(1)
	at := z.Slot(s)
	best := &z.Values[at]
	*best = Lanes{inf, inf, inf, inf}
	for i := q.First[s]; i < q.First[s+1]; i++ {
		x, size, out := z.backup(s, i, s, s+1, noLanes)
		if out == 0 { // for ever, which is fine at a price
			x = x.AddScaled(-cancellation, size)
			if !(min(x.A, x.B, x.C, x.D) > 0) {
				return false
			}
			continue
		}
		// Of the same size again is what the value weighs.
		x = x.AddScaled(-z.rounding, size.AddScaled(1, x.Magnitudes())).Over(out)
		var better [NumLanes]bool
		old := best.Array()
		for l, y := range x.Array() {
			if y < old[l] {
				better[l], z.Policy[at][l] = true, i
			}
		}
		best.set(better, x)
		for k := range follow {
			z.Returns[int(at)*follow+k].set(better, z.returnsOf(s, i, s, s+1, k).Over(out))
		}
	}
	return best.A < inf && best.B < inf && best.C < inf && best.D < inf // some may overflow where others do not
}

// returnsOf is what choice i of state s gives of return k: that of a step, and those to come from states outside of
// [lo, hi).
func (z *SimultaneousTotals) returnsOf(s, i, lo, hi int32, k int) Lanes {
	q, d := z.Quotient, len(z.Directions)
	to, prob := q.row(q.Choice[i])
	r := q.Kernel.ReturnsOf(int(q.Choice[i]), d)[k]
	x := Lanes{r, r, r, r}
	for j, n := range to {
		if n < lo || n >= hi {
			x = x.AddScaled(prob[j], z.Returns[int(z.Slot(n))*d+k])
		}
	}
	return x
}

// solveComponent finds policies in the component [lo, hi) by policy iteration, all directions at once. It begins with
// the policies of a few sweeps from values as they are beside the component, or, where these do not come to rest, with
// one that does.
func (z *SimultaneousTotals) solveComponent(ctx context.Context, lo, hi int32) bool {
	const sweeps = 2
	near := noLanes
	if lo > 0 {
		near = z.Values[z.Slot(lo-1)]
	}
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

// policyIteration reports false where a policy may stay for ever, or ctx ends.
func (z *SimultaneousTotals) policyIteration(ctx context.Context, lo, hi int32) bool {
	const most = 1000
	for range most {
		if !z.evaluate(ctx, lo, hi) {
			return false
		}
		changed, above := z.improve(lo, hi)
		if !changed {
			for l := range above {
				z.Above[l] = z.Above[l] || above[l]
			}
			return true
		}
	}
	return false
}

// evaluate sets values and returns to those of the policies. What choices are made cheaper by depends on values, so
// that it is done again where these were far from what they are. It reports false where a policy may stay for ever, or
// ctx ends.
func (z *SimultaneousTotals) evaluate(ctx context.Context, lo, hi int32) bool {
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

// taken returns in which directions the policy takes choice i of state s.
func (z *SimultaneousTotals) taken(s, i int32) (in [NumLanes]bool) {
	for l, j := range z.Policy[z.Slot(s)] {
		in[l] = i == j
	}
	return in
}

// improve changes the policies in a component wherever a choice is better by more than half of what it is made cheaper
// by, and reports whether one is. Else values are proved but above some backup: what a choice gives exceeds the value
// by more than rounding, which is less than half of what choices are made cheaper by.
func (z *SimultaneousTotals) improve(lo, hi int32) (changed bool, above [NumLanes]bool) {
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
