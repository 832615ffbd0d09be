package query

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/robust"
)

// Uncertain reports whether some probability of the problem is known up to an interval.
func (q *Query) Uncertain() bool { return uncertain(q.Problem) }

func uncertain(p *problem.Problem) bool { return p.Intervals != nil && p.Intervals.Rows() > 0 }

// Intervals returns the intervals of the process, and a number for each choice of each kernel, the same for those
// whose probabilities are the same; both are nil where there is nothing to say, see [problem.Process.Lift].
func (q *Query) Intervals() (iv *cmdp.Intervals, same func(h, c int) int, err error) {
	if !q.Uncertain() {
		return nil, nil, nil
	}
	return q.Lift(q.Problem.Intervals)
}

// Set returns the set of models of the process, that of its one model where probabilities are exact. Of the
// specification Workers counts.
func (q *Query) Set(spec robust.Spec) (*robust.Set, error) {
	iv, same, err := q.Intervals()
	if err != nil {
		return nil, err
	}
	spec.Model, spec.Intervals, spec.Same = q.Model, iv, same
	spec.Fixed = q.Problem.Uncertainty.Fixed()
	return robust.New(spec)
}

// An Evaluation says what the expected returns of a plan can be over the set of models, and whether it keeps the
// limits on them in all of these.
type Evaluation struct {
	robust.Bounds
	// Known says that the target is known as half-spaces. Else nothing is said of limits.
	Known bool
	// Keeps says that all limits are kept up to rounding, and Violation is by how much one is missed in the worst
	// model. Undecided says that bounds of the one model are too far apart to tell.
	Keeps, Undecided bool
	Violation        float64
}

// Evaluate computes what the returns of policies can be of which one is drawn at the start, such as those of
// [Query.ReadPolicy], over a set of [Query.Set].
func (q *Query) Evaluate(ctx context.Context, set *robust.Set, policies []Drawn) (*Evaluation, error) {
	drawn := make([]robust.Drawn, len(policies))
	for i, d := range policies {
		drawn[i] = robust.Drawn(d)
	}
	b, err := set.EvaluateDrawn(ctx, drawn)
	if err != nil {
		return nil, err
	}
	rows, known := halfspaces(q.Task)
	e := &Evaluation{Bounds: b, Known: known}
	if !known {
		return e, nil
	}
	sides := q.Scale()
	q.judge(e, rows, sides)
	if e.Keeps && e.Violation > 0 && !q.Uncertain() && q.Model.Horizon() == 0 && q.Model.Discount() < 1 {
		// What is rounding by these sides may be more than that for returns that are far smaller.
		err := q.narrow(ctx, sides)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			e.Keeps, e.Undecided = false, true
		default:
			q.judge(e, rows, sides)
		}
	}
	return e, nil
}

// judge sets what bounds of returns say of limits. Rounding is measured by the sides of the returns.
func (q *Query) judge(e *Evaluation, rows []cmdp.Constraint, sides []float64) {
	missed, open := false, false
	for _, row := range rows {
		scale, width := 0.0, 0.0
		for i, n := range row.Normal {
			if n != 0 {
				scale += math.Abs(n) * sides[i]
				width += math.Abs(n) * (e.Greatest[i] - e.Least[i])
			}
		}
		excess := row.Excess(e.Least, e.Greatest)
		e.Violation = math.Max(e.Violation, excess)
		rounding := 1e-9 * scale
		if q.Uncertain() || !(width > rounding) || math.IsInf(width, 1) {
			missed = missed || !(excess <= rounding)
			continue
		}
		// Only rounding parts the bounds of one model. Its value is about the middle of them, if they are near.
		near := width <= widestRounding*scale
		middle := excess - width/2
		switch {
		case excess <= rounding:
		case excess-width > rounding || near && !(middle <= max(rounding, width/100)):
			missed = true
		case !near:
			open = true
		}
	}
	e.Keeps, e.Undecided = !missed && !open, !missed && open
}

// widestRounding is how far bounds of one model may be apart for its value to be taken as their middle, in the scale of
// the returns.
const widestRounding = 1e-6

// narrow makes the sides of [Query.Scale] those of the returns that policies have. Near a discount of 1 these may be
// far smaller than those of episodes that never end, of which a billionth is no rounding.
func (q *Query) narrow(ctx context.Context, sides []float64) error {
	planner, err := q.Planner()
	if err != nil {
		return err
	}
	lower, upper, err := planner.Ranges(ctx)
	if err != nil {
		return err
	}
	for i, x := range lower {
		sides[i] = min(sides[i], max(upper[i]-x, math.Abs(x), math.Abs(upper[i])))
	}
	return nil
}

// Ordinary returns the problem with one model in the place of the set. The model has the choices of the process, whose
// states remember what is remembered.
func (q *Query) Ordinary(m *cmdp.Model) *problem.Problem {
	of := q.Problem.WithModel(m)
	of.Uncertainty = problem.Uncertainty{}
	if !q.Remembers() {
		return of
	}
	of.Returns = q.Returns
	of.Kinds, of.Labels, of.Coordinates = nil, nil, nil
	of.Target, of.Described = nil, nil
	of.States, of.Actions, of.Constraints = nil, nil, nil
	for s := range m.States() {
		of.States = append(of.States, q.StateName(s))
	}
	for h := range m.Kernels() {
		var names []string
		for s := range m.States() {
			first, end := m.Rows(h).Choices(s)
			for a := range end - first {
				names = append(names, q.ActionName(h, s, a))
			}
		}
		of.Actions = append(of.Actions, names)
	}
	for _, row := range q.Task.Constraints {
		if i := slices.IndexFunc(row.Normal, func(x float64) bool { return x != 0 }); i >= 0 {
			bound := row.Offset / row.Normal[i]
			c := problem.Limit{Return: q.Returns[i], AtMost: &bound}
			if row.Normal[i] < 0 {
				c.AtMost, c.AtLeast = nil, &bound
			}
			of.Constraints = append(of.Constraints, c)
		}
	}
	if of.Goal.Cost != nil {
		of.Goal = problem.Goal{}
	}
	return of
}
