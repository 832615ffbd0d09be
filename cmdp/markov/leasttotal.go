package markov

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/internal/threshold"
)

// LeastTotal finds the policy of a quotient with the least expected total of one reward, discounted or not,
// component by component in topological order, last first. A component of one state takes one backup. Larger
// ones take modified policy iteration with a discount and Gauss-Seidel sweeps without one, if these are fast,
// and policy iteration if they are not.
//
// Policies of a total are improved from proper ones (Bertsekas), which surely come to rest, and only by
// strictly better choices. All policies then are proper too, until there is one that goes on for ever at a
// negative reward in each step: the total has no bound then.
//
// Without a discount every choice is made cheaper by a little, more than all rounding: what is found is then
// below the true values, and each value is below every backup, which proves it.
type LeastTotal struct {
	Quotient *Quotient
	Reward   []float64 // of each choice, that of staying included
	Weight   []float64 // of each choice, the sum of the magnitudes that its reward is made of
	Progress progress.Func
	// Tolerance is the relative error that values may have; 0 asks for that of rounding alone.
	Tolerance float64
	// Perturbation multiplies what choices are made cheaper by; it is 1, and larger where rounding turned out
	// to be more.
	Perturbation float64
	// LowerBound is a number that no value is below, −Inf if none is known.
	LowerBound float64
	// Sweeps is how often Solve sweeps a component of a total that is so large that it is swept, 0 for as often as it
	// takes. Values that are below their backups rise then, and stay below them. The policy needs Mend.
	Sweeps int
	// Within says of components, by their first states, over how many of their states Sweeps go; over all if not said.
	Within map[int32]int32

	// What Solve finds:
	Values    []float64 // of each state, and 0 at rest
	Policy    []int32   // of each state, the index of its choice in Quotient.Choice, −1 if none can rest
	Loops     []Loop    // in which a policy goes round and rewards cancel out
	Shortfall float64   // by how much some backup falls short of a value, with a discount
	Fell      bool      // some value fell in the last of Sweeps, so that values may be above their backups

	stages         []stage         // see solveLevels, nil before they are known
	order          []int32         // of the components in these, nil for the order that they have
	near           map[int32]int32 // see LookNear
	looked         [][2]int32      // the ranges of states that are looked at
	resting        []int32         // a policy that comes to rest, of which LookNear leaves some
	gamma          float64
	workers        int
	longest        int                // most successors of a choice
	chain          *Chain             // shared with others
	rows           policyRows         // of the policy, for sweeps
	right          []float64          // right-hand side of the policy's system
	previous       []float64          // values before the last evaluation
	cancelling     map[int32]bool     // choices of Loops, which are not made cheaper
	loopWeight     float64            // the largest weight of these, of which rounding is a gain of others
	spans          map[[2]int32]int32 // see span, of components by where they begin and end
	iterative      map[int]bool       // components that are too wide to be eliminated
	slow           map[int]bool       // components in which sweeps are slow
	improper       int                // the component whose policy is not proper, −1 for none
	raises         *bool              // see Raises, nil before it is known
	raised         bool               // so that the policy may not be proper, see Mend
	policyChanges  int                // choices that changed in a sweep
	valuesMoved    bool               // some values were far from what they are now
	allowance      float64            // see Allowance
	allowanceShare float64            // what allowance is, of Tolerance times the mean weight
	slack          float64            // what a choice is made cheaper by besides, for the sake of allowance
	zeroBelow      float64            // positive values below are 0 in sweeps of totals
}

// A Loop is a set of choices of a quotient between which a policy may go round, and the share of its steps that
// each takes.
type Loop struct {
	Choices []int32
	Share   []float64
}

// NewLeastTotal returns the dynamic program of a quotient with discount gamma, 1 for totals. Reward and Weight
// are to be set before it is solved. It works in the memory of chain, and workers goroutines share large
// components.
func NewLeastTotal(q *Quotient, gamma float64, workers int, chain *Chain) *LeastTotal {
	z := &LeastTotal{Quotient: q, chain: chain, gamma: gamma, workers: workers, longest: LongestRow(q.Kernel)}
	z.Perturbation, z.allowanceShare, z.improper, z.LowerBound = 1, 1, -1, math.Inf(-1)
	z.Values = make([]float64, q.Rest+1)
	z.Policy = make([]int32, q.Rest)
	z.Reward, z.Weight = make([]float64, len(q.Choice)), make([]float64, len(q.Choice))
	z.spans = make(map[[2]int32]int32)
	z.iterative = make(map[int]bool)
	z.slow = make(map[int]bool)
	z.looked = [][2]int32{{0, q.Rest}}
	parallel.ForStates(workers, len(q.Component)-1, len(q.To), func(first, end int) float64 {
		for i := first; i < end; i++ {
			z.properPolicy(q.Component[i], q.Component[i+1], nil)
		}
		return 0
	})
	return z
}

// Twin returns a solver of the same quotient that knows what z knows, but works in the memory of chain, so that both
// may be used at the same time. They share the rows of choices that are held.
func (z *LeastTotal) Twin(chain *Chain) *LeastTotal {
	out := *z
	out.chain, out.rows, out.right, out.previous = chain, policyRows{}, nil, nil
	out.Values, out.Policy = slices.Clone(z.Values), slices.Clone(z.Policy)
	out.Reward, out.Weight = slices.Clone(z.Reward), slices.Clone(z.Weight)
	out.looked, out.resting, out.cancelling = slices.Clone(z.looked), slices.Clone(z.resting), maps.Clone(z.cancelling)
	out.spans, out.iterative, out.slow = maps.Clone(z.spans), maps.Clone(z.iterative), maps.Clone(z.slow)
	if z.chain.holder == z {
		z.chain.choices.shared = true
		chain.choices, chain.holder = z.chain.choices, &out
		chain.choices.own = slices.Clone(z.chain.choices.own)
	}
	return &out
}

// SetWorkers sets how many goroutines share large components.
func (z *LeastTotal) SetWorkers(workers int) { z.workers = workers }

// Reset forgets the loops found for other rewards, and sets Tolerance.
func (z *LeastTotal) Reset(tolerance float64) {
	z.cancelling = nil
	z.loopWeight = 0
	z.Loops = nil
	z.Tolerance = tolerance
}

// Cancels reports whether rewards cancel out in some loop, so that no proper policy is the best one.
func (z *LeastTotal) Cancels() bool { return z.cancelling != nil }

// Iterates reports whether some component is too large for its linear systems to be eliminated in any case.
func (z *LeastTotal) Iterates() bool {
	for i, lo := range z.Quotient.Component[1:] {
		if int(lo-z.Quotient.Component[i]) > threshold.Eliminated {
			return true
		}
	}
	return false
}

// Allowance is what a backup of a total may fall short by in components that are too wide to be eliminated, 0
// for rounding.
func (z *LeastTotal) Allowance() float64 { return z.allowance }

// Sharpen makes the allowance of the next Solve smaller.
func (z *LeastTotal) Sharpen() {
	z.allowanceShare /= 16
	if z.allowanceShare < 1e-6 {
		z.allowanceShare = 0
	}
}

// Relax makes the allowance of the next Solve larger.
func (z *LeastTotal) Relax() { z.allowanceShare = min(max(4*z.allowanceShare, 1e-6), 256) }

// setAllowance sets the allowance: a share of the mean weight of a choice.
func (z *LeastTotal) setAllowance() {
	z.allowance = 0
	if z.gamma < 1 || z.Tolerance == 0 {
		return
	}
	choices := 0
	for _, at := range z.looked {
		first, end := z.Quotient.First[at[0]], z.Quotient.First[at[1]]
		for i := first; i < end; i++ {
			if z.Quotient.Choice[i] != Stay {
				z.allowance += z.Weight[i]
			}
		}
		choices += int(end - first)
	}
	z.allowance *= z.allowanceShare * z.Tolerance / float64(choices)
}

// findingValues is what Progress is told.
const findingValues = "finding values of states"

// perturbation is what a choice is made cheaper by without a discount, relative to the
// numbers that are added up, see perturb. Where rounding turns out to be more, it is
// multiplied.
const perturbation = 16 * unit

// perturb returns what choice i is made cheaper by. size is that of the numbers that its backup adds up, apart
// from the reward.
func (z *LeastTotal) perturb(i int32, size float64) float64 {
	if z.gamma < 1 || z.cancelling != nil && z.cancelling[i] {
		return 0
	}
	return z.slack + z.roundingShare()*(size+z.Weight[i])
}

// roundingShare is more than what rounding takes from a sum of numbers of the size 1.
func (z *LeastTotal) roundingShare() float64 {
	return z.Perturbation * (perturbation + 4*float64(z.longest)*unit)
}

// properPolicy sets the policy of a component to one that surely comes to rest from every state that
// can. It goes backwards from where the process rests or leaves the component: each state
// takes the first choice that may lead to a state met before. States of met, nil for none, come to rest by the choices
// that they have.
func (z *LeastTotal) properPolicy(lo, hi int32, met []bool) {
	q := z.Quotient
	var room [denseStates]int32 // enough as a rule
	queue := room[:0]
	for s := lo; s < hi; s++ {
		if met != nil && met[s-lo] {
			queue = append(queue, s)
			continue
		}
		z.Policy[s] = -1
		for i := q.First[s]; i < q.First[s+1]; i++ {
			to, prob := q.Row(i)
			leaves := len(to) == 0 || z.gamma < 1
			for j, n := range to {
				leaves = leaves || prob[j] > 0 && (n < lo || n >= hi)
			}
			if leaves && z.Policy[s] < 0 {
				z.Policy[s] = i
				queue = append(queue, s)
			}
		}
	}
	if len(queue) == int(hi-lo) || len(queue) == 0 {
		return
	}
	into := newLists(int(hi-lo), func(add func(at, item int32)) {
		for i := q.First[lo]; i < q.First[hi]; i++ {
			to, prob := q.Row(i)
			for j, n := range to {
				if prob[j] > 0 && n >= lo && n < hi {
					add(n-lo, i)
				}
			}
		}
	})
	owner := make([]int32, q.First[hi]-q.First[lo])
	for s := lo; s < hi; s++ {
		for i := q.First[s]; i < q.First[s+1]; i++ {
			owner[i-q.First[lo]] = s
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, i := range into.of(s - lo) {
			if by := owner[i-q.First[lo]]; z.Policy[by] < 0 {
				z.Policy[by] = i
				queue = append(queue, by)
			}
		}
	}
}

// Begin makes the policy that of the model, which comes to rest, in components of several states that policy iteration
// treats. It does nothing where states are merged.
func (z *LeastTotal) Begin(policy *Actions) {
	q := z.Quotient
	for i, hi := range q.Component[1:] {
		lo := q.Component[i]
		if size := int(hi - lo); q.Origin == nil || size == 1 || size > threshold.Swept {
			continue
		}
		for s := lo; s < hi; s++ {
			c := q.Kernel.First[q.Origin[s]] + int32(policy.At(int(q.Origin[s])))
			for i := q.First[s]; i < q.First[s+1]; i++ {
				if q.Choice[i] == c {
					z.Policy[s] = i
				}
			}
		}
	}
}

// Solve finds values and policy for the rewards. It returns nil, or the states of a closed set in
// which the policy goes on for ever at a negative reward, or which no policy can leave; the values are of no use
// then.
func (z *LeastTotal) Solve(ctx context.Context) (endless []int32, err error) {
	z.Shortfall, z.Fell = 0, false
	z.chain.progress = z.Progress
	z.setAllowance()
	if z.Sweeps == 0 {
		z.Mend()
	}
	if z.improper >= 0 {
		z.properPolicy(z.Quotient.Component[z.improper], z.Quotient.Component[z.improper+1], nil)
		z.improper = -1
	}
	shared, err := z.solveLevels(ctx)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(z.Quotient.Component)-1 && !shared; i++ {
		lo, hi := z.Quotient.Component[i], z.end(i)
		if i%1024 == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			z.Progress.At(findingValues, float64(lo)/float64(z.Quotient.Rest), int(z.Quotient.Rest))
		}
		if hi == lo+1 {
			if !z.solveState(lo) {
				return []int32{lo}, nil
			}
			continue
		}
		if endless, err := z.policyIteration(ctx, i, lo, hi); endless != nil || err != nil {
			z.improper = i
			return endless, err
		}
	}
	if !math.IsInf(z.LowerBound, -1) { // what choices are made cheaper by may have added up to more
		for _, at := range z.looked {
			for s := at[0]; s < at[1]; s++ {
				z.Values[s] = max(z.Values[s], z.LowerBound)
			}
		}
	}
	if z.near != nil && z.Sweeps == 0 {
		z.raised = true
		z.Mend()
	}
	return nil, nil
}

// solveLevels solves states that workers share, where no component has several states and no choice stays in its state
// for ever. It reports false where that is not so, or some state has no finite value.
func (z *LeastTotal) solveLevels(ctx context.Context) (bool, error) {
	if z.workers <= 1 || len(z.Quotient.Component) <= int(z.Quotient.Rest) {
		return false, nil
	}
	if z.stages == nil {
		z.findStages()
	}
	if len(z.stages) == 0 {
		return false, nil
	}
	var failed atomic.Bool
	err := relay(z.workers, z.stages, func(first, end int32) {
		z.Progress.At(findingValues, float64(first)/float64(z.Quotient.Rest), int(z.Quotient.Rest))
		for i := first; i < end && !failed.Load(); i++ {
			s := i
			if z.order != nil {
				s = z.order[i]
			}
			if !z.solveState(s) {
				failed.Store(true)
			}
		}
	}).Run(ctx)
	return !failed.Load(), err
}

// findStages sets the stages of solveLevels, none where it does not apply or levels are short.
func (z *LeastTotal) findStages() {
	q := z.Quotient
	z.stages = make([]stage, 0)
	for s := range q.Rest {
		for i := q.First[s]; i < q.First[s+1]; i++ {
			to, prob := q.Row(i)
			leaves := len(to) == 0 || z.gamma < 1
			for j, n := range to {
				leaves = leaves || n != s && prob[j] > 0
			}
			if !leaves {
				return
			}
		}
	}
	levels := q.runs()
	if !levels.mostlyWide() {
		levels = q.levels()
	}
	if levels.mostlyWide() {
		z.stages, z.order = levels.stages(int(q.Rest)), levels.order
	}
}

// SolveComponent is Solve for component i, of several states, where those before it have been solved.
func (z *LeastTotal) SolveComponent(ctx context.Context, i int) (endless []int32, err error) {
	return z.policyIteration(ctx, i, z.Quotient.Component[i], z.Quotient.Component[i+1])
}

// solveState treats a component of one state, and reports whether its value is finite.
func (z *LeastTotal) solveState(s int32) bool {
	q, best, at := z.Quotient, math.Inf(1), int32(-1)
	for i := q.First[s]; i < q.First[s+1]; i++ {
		x, out, size := z.Reward[i], 1-z.gamma, 0.0
		to, prob := q.Row(i)
		if len(to) == 0 {
			out = 1
		}
		for j, n := range to {
			if n != s {
				p := z.gamma * prob[j]
				y := float64(p * z.Values[n])
				x += y
				out += p
				size += math.Abs(y)
			}
		}
		if out == 0 { // for ever, at an infinite price or prize
			if x < -cancellation*z.Weight[i] {
				z.Policy[s] = i
				return false
			}
			if z.Weight[i] > 0 {
				z.Loops = append(z.Loops, Loop{[]int32{q.Choice[i]}, []float64{1}})
			}
			continue
		}
		// Of the same size again is what the value itself weighs.
		x = (x - z.perturb(i, size+math.Abs(x))) / out
		if x < best {
			best, at = x, i
		}
	}
	z.Values[s], z.Policy[s] = best, at
	return at >= 0
}
