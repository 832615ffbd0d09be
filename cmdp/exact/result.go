package exact

import (
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"
)

// A Verdict is the verdict of a solver.
type Verdict int

// The verdicts. Optimal: the policy meets the target within
// Options.Feasibility and Gap is within Options.Gap. Infeasible: a certificate
// proves, rounding included, that no policy meets the target. Undecided: neither
// could be shown, because a limit was reached or because the answer lies within
// rounding; what was found is reported all the same.
const (
	Optimal Verdict = iota + 1
	Infeasible
	Undecided
	// Unbounded: the cost has no lower bound, since policies that meet the target may go on for
	// ever at a negative cost in each step.
	Unbounded
	// Stopped: the time of Options.Budget was over before Gap was within Options.Gap. Bound and Gap are
	// certified all the same. Policy and Mixture are nil if no policy was found that meets the target;
	// Returns are then those of a mixture that comes near, NaN without one.
	Stopped
)

// String returns the status in lower case.
func (s Verdict) String() string {
	switch s {
	case Optimal:
		return "optimal"
	case Infeasible:
		return "infeasible"
	case Undecided:
		return "undecided"
	case Unbounded:
		return "unbounded"
	case Stopped:
		return "stopped"
	}
	return fmt.Sprintf("Status(%d)", int(s))
}

// A Result is the answer of [Solve]. All numbers are in the units of the model.
type Result struct {
	Status Verdict
	// Objective is the cost at Returns, 0 without a cost. Like Policy and Returns it
	// is meaningful only where Policy is not nil.
	Objective float64
	// Bound is a lower bound of the cost of every policy that meets the target,
	// recomputed by an independent value iteration; Gap is Objective − Bound ≥ 0. The
	// bound is −Inf where none was found.
	Bound, Gap float64
	// Returns is the expected return V of Policy, evaluated from scratch, and
	// Violation its Euclidean distance from the target. Tolerance is the distance
	// up to which the verdict "optimal" takes a target as met; "infeasible" needs
	// none.
	Returns              []float64
	Violation, Tolerance float64
	// Prices are the dual prices of the Constraints of the task, in that order, then
	// those of the sides of a box or the rows of a polyhedron that the target was
	// found to be. Other targets have only the Dual.
	Prices []Price
	// Dual is ψ*, the price of the target as a whole, DualNorm is ‖ψ*‖₂ and Rho the
	// advised radius 2‖ψ*‖₂ of the dual ball of a learner (erratum E-11).
	Dual          []float64
	DualNorm, Rho float64
	// Iterations counts the value iterations.
	Iterations int
	// Phases say what the time was spent on, in the order in which it began.
	Phases []Phase
	// Policy is one policy, Markov or stationary, that has these returns. It randomises in Randomized (step,
	// state) pairs. It is nil where no single policy without memory is enough, as for long-run averages in
	// models with several end components, and for totals where some policies stay for good and others leave.
	// Then one of Mixture is drawn at the start, with the probability of its weight, and played for
	// good.
	Policy     *Policy
	Mixture    []WeightedPolicy
	Randomized int
	// Parts has what each part of a sum does, see [NewSumPlanner]. It is nil for any other model.
	Parts []PartMixture
	// Product is not nil where an optimum of totals has to remember whether it is done with loops: after going
	// round one for a while, it stays in it at no cost, or leaves for good. Policy and Mixture are for
	// Product.Model then, whose states are those of the model with the memory of a [monitor.ChoiceTaken].
	Product *monitor.ProductModel
	// Branches are, with long-run averages, the ways in which endless runs can go on, the likeliest first.
	// Returns are their mean, and limits are kept by that: a single run of a branch has the means of the branch
	// for ever. In an end component there is one branch at most, see [Options.Gap].
	Branches []Branch
	// Joined says how recurrent classes of an end component were joined to one, nil if that was not necessary.
	Joined *Joined
	// Return is the number of the return that grows without bound, if Status is Unbounded: the one that changes
	// the cost most in the steps that Policy repeats for ever. The cost is −Inf then.
	Return int
	// Proof holds the numbers behind Bound, and Certificate those behind the verdict
	// "infeasible"; either is nil if there is none. [VerifyBound] and [Verify] check
	// them, [VerifyBoundRational] and [VerifyRational] without rounding.
	Proof       *Proof
	Certificate *Certificate

	targetTest targetTest
}

// stop makes an undecided answer one for which there was no time to be decided: its policy is none to give unless it
// keeps the limits.
func (r *Result) stop(kept bool) {
	r.Status = Stopped
	if !kept {
		r.Policy, r.Mixture, r.Parts, r.Branches = nil, nil, nil, nil
		r.Objective, r.Gap = math.NaN(), math.Inf(1)
	}
}

// HasPolicy reports whether the answer has a policy, or what each part of a sum does.
func (r *Result) HasPolicy() bool { return r.Policy != nil || r.Mixture != nil || r.Parts != nil }

// A Price is the dual price of a constraint.
type Price struct {
	cmdp.Constraint
	// Value is the rate, at least 0, at which the optimal cost falls when Offset grows a little. With a target that is
	// not known as a polyhedron it is any rate between that and the one when Offset shrinks a little.
	Value float64
	// Multiplier is that of Bound, one of those that are optimal for all constraints together: at least Value.
	Multiplier float64
}

// A Certificate proves that no policy meets the target: Direction is a unit vector
// θ with Value = V*(θ) = min over policies of θ·V, and Support = h_W(θ) < Value.
type Certificate struct {
	Direction      []float64
	Support, Value float64
	// Distance is the distance of the best policy that was found from the target.
	// The true distance of the achievable set is between Value − Support and
	// Distance.
	Distance float64
	// Margin bounds the rounding error of Value − Support, which exceeds it.
	Margin float64
	// Whole says that Support and Distance are those of Task.Whole, not of the
	// target, which is a part of it.
	Whole bool
	// Without holds the states that were left out, see Proof.
	Without []int
	// Finite says that Value is that of policies whose totals are finite, as far as they matter: others go on for
	// ever, and break a limit without end.
	Finite bool
	// Rows and Weights say the same by half-spaces that contain the target: with
	// θ = Σ Weights·Normal, V*(θ) > Σ Weights·Offset. They are what [VerifyRational]
	// checks. θ need not be a multiple of Direction, which is the best one found.
	Rows    []cmdp.Constraint
	Weights []float64
}

// A Proof holds the numbers behind a lower bound: with weights μ summing to 1,
//
//	g(v) ≥ Σ μ_i (g(x_i) + s_i·(v − x_i))   and   ψ·v ≤ h_W(ψ) on the target,
//
// so that g(v) ≥ V*(φ+ψ) − Σ μ_i (s_i·x_i − g(x_i)) − h_W(ψ) with φ = Σ μ_i s_i.
type Proof struct {
	// Points are the x_i, Subgradients the s_i, Values the g(x_i) and Weights the μ_i.
	Points, Subgradients [][]float64
	Values, Weights      []float64
	// Psi is ψ and Support a number ≥ h_W(ψ).
	Psi     []float64
	Support float64
	// Rows are half-spaces that contain the target and Prices their multipliers: ψ = Σ
	// Prices·Normal, Support = Σ Prices·Offset.
	Rows   []cmdp.Constraint
	Prices []float64
	// Without holds states that no policy comes to which keeps the limits: what policies could collect there,
	// were they to come there at no cost, does not count. V* is that of the policies that do not come there.
	Without []int
	// Value is V*(φ+ψ), and Margin a bound of the rounding error of the whole.
	Value, Margin float64
	// Bound is the bound itself, the margin subtracted.
	Bound float64
	slack float64 // the part of Margin that is not of Value
}

var _ cmdp.Policy = (*Policy)(nil)
