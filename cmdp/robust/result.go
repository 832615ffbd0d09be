package robust

import (
	"fmt"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// A Status is the verdict of [Solve].
type Status int

// The verdicts. Optimal: the plan keeps the limits in every model of the set, and the certified gap is within
// SolveOptions.Gap. Feasible: it keeps them, and the gap is larger. Infeasible: in one model of the set no policy keeps
// the limits, as its certificate proves. Undecided: no plan was found that keeps the limits in every model, and no
// model in which none does.
const (
	Optimal Status = iota + 1
	Feasible
	Infeasible
	Undecided
)

// String returns the status in lower case.
func (s Status) String() string {
	switch s {
	case Optimal:
		return "optimal"
	case Feasible:
		return "feasible"
	case Infeasible:
		return "infeasible"
	case Undecided:
		return "undecided"
	}
	return fmt.Sprintf("Status(%d)", int(s))
}

// SolveOptions say how close an answer has to be and how long it may take. The zero value is ready to use.
type SolveOptions struct {
	// Gap is the certified gap that counts as optimal, relative to the larger of the magnitude of the optimum and 1. 0
	// stands for 1e-9.
	Gap float64
	// Rounds bounds the rounds of the search, for plans and for models each. 0 stands for 40.
	Rounds int
	// Deterministic asks for a plan that draws neither actions nor a policy. Bound remains that of all policies.
	Deterministic bool
	// Nodes bounds the problems that [exact.SolveDeterministic] solves for such a plan, at a time. 0 stands for 1,000.
	Nodes int
	// Budget is the time after which the search ends with the best plan so far, 0 for any time. To evaluate and check
	// the plan, as much of it is kept for each of its policies as that took for the first one. A plan for a single
	// model may take half of the time that is left.
	Budget time.Duration
	// Start are policies that are looked at first, such as those of a plan for another set of the same model.
	Start []*exact.Policy
	// Least is a lower bound that is known already, such as that of a smaller set; nil for none.
	Least *float64
	// Exact are the options with which single models of the set are planned for.
	Exact exact.Options
	// Progress, if not nil, is called after every round with their number, the best bound and the best objective, ±Inf
	// before there is one.
	Progress func(rounds int, bound, objective float64)
}

const (
	defaultGap    = 1e-9
	defaultRounds = 40
	defaultNodes  = 1000
)

func (o SolveOptions) withDefaults() (SolveOptions, error) {
	if o.Budget < 0 {
		return o, fmt.Errorf("robust: budget %v: want a time above 0, or 0 for any", o.Budget)
	}
	if !(o.Gap >= 0 && o.Gap < 1) || o.Rounds < 0 || o.Nodes < 0 {
		return o, fmt.Errorf("robust: gap %g, %d rounds, %d nodes: want 0 for the default, or more, and a gap below 1",
			o.Gap, o.Rounds, o.Nodes)
	}
	if o.Nodes == 0 {
		o.Nodes = defaultNodes
	}
	if o.Gap == 0 {
		o.Gap = defaultGap
	}
	if o.Rounds == 0 {
		o.Rounds = defaultRounds
	}
	return o, nil
}

// Bounds are the least and the greatest value of each return over a set, rounded outward.
type Bounds struct{ Least, Greatest []float64 }

// A Limit says how a plan stands to a half-space that contains the target.
type Limit struct {
	cmdp.Constraint
	// Greatest bounds Normal·V over the set, rounded up.
	Greatest float64
	// Price is how much the optimum of the model in which Bound was found improves for each unit by which the limit is
	// relaxed, at least 0, and BoundPrice the weight of the limit in a bound without Result.Proof.
	Price, BoundPrice float64
}

// Slack is by how much the limit is kept in the worst model.
func (l *Limit) Slack() float64 { return l.Offset - l.Greatest }

// A Result is the answer of [Solve].
type Result struct {
	Status Status
	// Objective is the greatest cost of the plan over the set, Bound a lower bound of that number for all policies
	// which keep the limits in every model, and Gap the difference. Bound is −Inf, and Gap +Inf, where there is none.
	// Without a cost all of them are 0.
	Objective, Bound, Gap float64
	// Returns are those of the plan in the nominal model, Bounds those over the set.
	Returns []float64
	Bounds  Bounds
	// Limits are those of the task, and Violation by how much the worst of them is missed, 0 of a plan that keeps them.
	Limits    []Limit
	Violation float64
	// Tolerance is the violation that counts as none: where all room is used, numbers that are rounded outward miss a
	// limit by rounding.
	Tolerance float64
	// Nominal is the optimum of the nominal model alone, where it has one.
	Nominal *exact.Result
	// Policy is the plan. It is nil where one of the Mixture is drawn at the start, with the probability of its
	// weight.
	Policy  *exact.Policy
	Mixture []exact.WeightedPolicy
	// Model is the model of the set whose optimum is Bound, or in which no policy keeps the limits. It is nil for the
	// nominal model. Certificate proves the latter, for that model.
	Model       *Answer
	Certificate *exact.Certificate
	// Proof proves Bound in that model; nil where the model was too large to plan for, or the bound was given.
	Proof *exact.Proof
	// Stopped says that the time of SolveOptions.Budget was over before the search was: the gap may be larger than it
	// has to be, and what is undecided may be decided with more time.
	Stopped bool
	// Rounds counts the rounds of the search.
	Rounds int
}

// Drawn is Plan as [Set.EvaluateDrawn] takes it.
func (r *Result) Drawn() []Drawn {
	var out []Drawn
	for _, c := range r.Plan() {
		out = append(out, Drawn{c.Weight, c.Policy})
	}
	return out
}

// Plan lists the policies that are drawn at the start, one with weight 1 if nothing is drawn.
func (r *Result) Plan() []exact.WeightedPolicy {
	if r.Policy != nil {
		return []exact.WeightedPolicy{{Weight: 1, Policy: r.Policy}}
	}
	return r.Mixture
}
