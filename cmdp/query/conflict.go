package query

import (
	"context"
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/geometry"
)

// A Clash is one of a smallest set of limits that no policy keeps together.
type Clash struct {
	// Limit is nil for a target set that is one limit as a whole.
	Limit *Limit
	// Needed is the bound with which some policy keeps all the others, and Give how far it is from the limit's;
	// NaN if there is none. Of a target set Give is a distance.
	Needed, Give float64
	// Least is the least that it has to give, in the units of Give: the same as Give unless the value iterations were
	// over before it was known that exactly. Of a limit of every episode it is 1 less the most that Probability may be.
	Least float64
	// Probability is the greatest with which a limit of every episode can be kept, in the place of Needed and
	// Give; NaN if it is not known, and of other limits.
	Probability float64
	// Unknown tells that neither a bound that is enough was found nor that there is none.
	Unknown bool
	// Undecided tells, of all limits of a set, that it may not be a smallest one: of the limits without one of it
	// neither a policy that keeps them nor a proof that there is none was found.
	Undecided bool
}

// unfound is the clash of a limit, nil for a target, with nothing known of how far it has to give.
func unfound(l *Limit) Clash {
	return Clash{Limit: l, Needed: math.NaN(), Give: math.NaN(), Least: math.NaN(), Probability: math.NaN()}
}

// Conflict returns a smallest set of limits of a query with one player that are in conflict. It returns nil if
// none is proved, as where totals are rounded. With limits on the mean of the worst episodes a set is in conflict if
// no thresholds of these do. Limits of every episode have taken choices away from the model. To count among the others
// they become limits on chances, and all choices are offered again. Of opts only Iterations is used, see
// [exact.Planner.Conflict]; the search for thresholds goes beyond it.
func (q *Query) Conflict(ctx context.Context, opts exact.Options) ([]Clash, error) {
	if q.Rounded() {
		return nil, nil
	}
	q, err := q.softened(ctx)
	if err != nil {
		return nil, err
	}
	planner, err := q.Planner()
	if err != nil {
		return nil, err
	}
	task, limits, rest, err := q.separateLimits(ctx)
	if err != nil {
		return nil, err
	}
	c, err := planner.Conflict(ctx, task, rest, exact.Options{Iterations: opts.Iterations})
	if err != nil || c == nil {
		return nil, err
	}
	rows := rowsOf(limits)
	var core []*Limit
	for _, row := range c.Rows {
		core = append(core, rows[row])
	}
	if len(q.Of(WorstEpisodes)) > 0 {
		anywhere := anyThresholds{q, ctx}
		sides := slices.ContainsFunc(core, func(l *Limit) bool { return l.Scope == OfTarget })
		verdict, err := anywhere.judge(core, c.Set || sides)
		if err != nil {
			return nil, err
		}
		if verdict != exact.Infeasible || sides {
			return anywhere.conflict()
		}
	}
	var out []Clash
	for j, row := range c.Rows {
		clash, err := q.clash(ctx, rows[row], task.Constraints[row], c.RelaxLeast[j], c.Relax[j])
		if err != nil {
			return nil, err
		}
		clash.Undecided = c.Undecided
		out = append(out, clash)
	}
	if c.Set {
		clash := unfound(nil)
		clash.Undecided, clash.Unknown = c.Undecided, math.IsNaN(c.RelaxSet)
		if !math.IsInf(c.RelaxSet, 1) {
			clash.Give, clash.Least = c.RelaxSet, c.RelaxSetLeast
		}
		out = append(out, clash)
	}
	return out, nil
}

// softened returns the query with every choice offered, q itself if none has been taken away.
func (q *Query) softened(ctx context.Context) (*Query, error) {
	if !slices.ContainsFunc(q.Limits, (*Limit).Enforced) {
		return q, nil
	}
	opts := q.options
	opts.Soft = true
	soft, err := (&family{declared: q.family.declared, opts: opts}).compile(ctx, q.Problem, opts.Thresholds)
	if errors.Is(err, geometry.ErrEmpty) {
		err = nil // limits that contradict each other are named all the same
	}
	return soft, err
}

// clash says how far a limit would have to give, in its own units, where its row has to give so much, and that least.
func (q *Query) clash(ctx context.Context, l *Limit, row cmdp.Constraint, least, give float64) (Clash, error) {
	clash := unfound(l)
	switch {
	case l.Scope != OfTarget && len(q.Of(WorstEpisodes)) > 0:
		if math.IsNaN(give) {
			give = math.Inf(1)
		}
		return anyThresholds{q, ctx}.clash(l, l.Slack(give))
	case math.IsNaN(give):
		clash.Unknown = true
	case math.IsInf(give, 1):
	case l.Scope == EveryEpisode:
		clash.Probability, clash.Least = 1-give, least
	default:
		clash.Give, clash.Least, clash.Needed = give, least, l.Bound+give
		if l.Return != "" && slices.Min(row.Normal) < 0 {
			clash.Needed = l.Bound - give
		}
	}
	return clash, nil
}

// separateLimits returns the task of keeping limits that can be told one by one, these limits, and what of the target
// is one limit as a whole, or nil.
func (q *Query) separateLimits(ctx context.Context) (task cmdp.Task, limits []*Limit, whole geometry.Set, err error) {
	if q.Problem.Target == nil || halfspacesOnly(q.Problem.Target) {
		return q.Task, q.Limits, nil, nil
	}
	limits = slices.DeleteFunc(slices.Clone(q.Limits), func(l *Limit) bool { return l.Scope == OfTarget })
	p := *q.Problem
	p.Target = nil
	// Limits that contradict each other are named all the same.
	task, limits, err = q.compiled.task(ctx, &p, limits)
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return task, nil, nil, err
	}
	alone, _, err := q.compiled.task(ctx, q.Problem, nil)
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return task, nil, nil, err
	}
	// nil if it is out of reach of all returns that are possible, and no limit of its own here
	return task, limits, alone.Whole, nil
}

// halfspacesOnly reports whether a set is said by half-spaces alone.
func halfspacesOnly(s *problem.Set) bool {
	for _, part := range s.Intersection {
		if !halfspacesOnly(part) {
			return false
		}
	}
	return s.Box != nil || s.Halfspace != nil || s.Polytope != nil || s.Affine != nil || len(s.Intersection) > 0
}
