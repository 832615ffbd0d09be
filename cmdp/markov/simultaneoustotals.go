package markov

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"cmdpsolve/cmdp/progress"
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
//
// Where many states are in components that do not lead to each other, workers share these, see levels.
type SimultaneousTotals struct {
	Quotient *Quotient
	// Directions hold, for each return, its weight in each direction.
	Directions []Lanes
	Progress   progress.Func
	// Solved, if not nil, is called with states [lo, hi) that are solved, while a cache holds them, and at the same
	// time with others where workers share them.
	Solved func(lo, hi int32)

	// What Solve finds, of the states that were solved last, those of Solved among them, see Slot:
	Values  []Lanes           // at most their backups
	Returns []Lanes           // all returns of the policies, those of a state side by side
	Policy  [][NumLanes]int32 // the index of a choice in Quotient.Choice
	Above   [NumLanes]bool    // in these directions some value may be above a backup all the same

	mask, rest int32 // see Slot; −1 if nothing is given up

	head     []uint8 // of each state, its number among the heads of its component, from 1, and 0 for others
	proper   []int32 // a policy that comes to rest
	error    float64 // more than what rounding takes from a sum of numbers of the size 1
	rounding float64 // what is taken from one, twice as much at least

	workers int
	stages  []stage
	solvers chan *laneSolver // those that no worker has
}

// Simultaneous returns the simultaneous program of a quotient for models with dim returns, or nil where it does not
// apply. It starts from the policy of the solver. Where workers are to share it, its own quotient is that of the solver
// level by level.
func (z *LeastTotal) Simultaneous(dim int) *SimultaneousTotals {
	q := z.Quotient
	if z.gamma < 1 || len(q.Merged) > 0 || len(q.ZeroStates) > 0 || z.Cancels() || z.improper >= 0 ||
		dim == 0 || q.Rest == 0 || len(q.To) == 0 {
		return nil
	}
	head, ok := q.heads()
	if !ok || slices.Contains(z.Policy, -1) || q.largestSystem(head, dim) > threshold.Columns {
		return nil
	}
	out := &SimultaneousTotals{Quotient: q, Directions: make([]Lanes, dim), head: head,
		proper: slices.Clone(z.Policy), error: float64(dim+z.longest+4) * unit, workers: 1}
	out.rounding = max(z.roundingShare(), 2*out.error)
	block := threshold.Block
	out.stages = []stage{{end: int32(len(q.Component) - 1)}}
	if z.workers > 1 && q.Origin != nil {
		out.shareLevels(z.workers, 2*block)
		block *= 2
	}
	out.mask, out.rest = out.Quotient.window(block)
	out.Values = make([]Lanes, out.rest+1)
	out.Returns = make([]Lanes, int(out.rest+1)*dim)
	out.Policy = make([][NumLanes]int32, out.rest)
	out.solvers = make(chan *laneSolver, out.workers)
	for range out.workers {
		out.solvers <- out.newSolver()
	}
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
	var gaveUp atomic.Bool
	r := relay(z.workers, z.stages, func(first, end int32) {
		if gaveUp.Load() {
			return
		}
		w := <-z.solvers
		w.tell = z.Progress
		if !w.solve(ctx, first, end) {
			gaveUp.Store(true)
		}
		z.solvers <- w
	})
	err := r.Run(ctx)
	z.Above = [NumLanes]bool{}
	for range z.workers {
		w := <-z.solvers
		for l, above := range w.above {
			z.Above[l] = z.Above[l] || above
		}
		w.above = [NumLanes]bool{}
		z.solvers <- w
	}
	if err == nil && gaveUp.Load() {
		err = ctx.Err()
	}
	return err == nil && !gaveUp.Load(), err
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

// taken returns in which directions the policy takes choice i of state s.
func (z *SimultaneousTotals) taken(s, i int32) (in [NumLanes]bool) {
	for l, j := range z.Policy[z.Slot(s)] {
		in[l] = i == j
	}
	return in
}
