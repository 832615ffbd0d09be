package query

import (
	"context"
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// A Clash is one of a smallest set of limits that no policy keeps together.
type Clash struct {
	// Limit is nil for a target set that is one limit as a whole.
	Limit *Limit
	// Needed is the bound with which some policy keeps all the others, and Give how far it is from the limit's; NaN if there is
	// none. Of a target set Give is a distance.
	Needed, Give float64
	// Probability is the greatest with which a limit of every episode can be kept, in the place of Needed and Give; NaN if it is not
	// known, and of other limits.
	Probability float64
}

// Conflict returns a smallest set of limits of a query with one player that are in conflict. It returns nil if none
// is proved, as where other thresholds of the worst episodes would do. Limits of every episode have taken choices away from the model. To count with the others they are
// given up, for limits on chances.
func (q *Query) Conflict(ctx context.Context, opts exact.Options) ([]Clash, error) {
	q, err := q.softened(ctx)
	if err != nil {
		return nil, err
	}
	planner, err := q.Planner()
	if err != nil {
		return nil, err
	}
	separate, rest, err := q.separate(ctx)
	if err != nil {
		return nil, err
	}
	c, err := planner.Conflict(ctx, separate.Task, rest, exact.Options{Iterations: opts.Iterations})
	if err != nil || c == nil {
		return nil, err
	}
	rows := separate.Rows()
	var out []Clash
	for j, row := range c.Rows {
		clash, err := q.clash(ctx, rows[row], separate.Task.Constraints[row], c.Relax[j])
		if err != nil {
			return nil, err
		}
		out = append(out, clash)
	}
	if len(q.Of(WorstEpisodes)) > 0 {
		if kept, err := q.kept(ctx, out, c.Set); err != nil || kept {
			return nil, err
		}
	}
	if c.Set {
		clash := Clash{Needed: math.NaN(), Give: math.NaN(), Probability: math.NaN()}
		if !math.IsInf(c.RelaxSet, 1) {
			clash.Give = c.RelaxSet
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

// clash says how far a limit would have to give, whose row has to give so much.
func (q *Query) clash(ctx context.Context, l *Limit, row cmdp.Constraint, give float64) (Clash, error) {
	clash := Clash{Limit: l, Needed: math.NaN(), Give: math.NaN(), Probability: math.NaN()}
	switch {
	case (l.Scope == OnAverage || l.Scope == WithProbability) && len(q.Of(WorstEpisodes)) > 0:
		needed, err := q.neededAnywhere(ctx, l, give)
		clash.Needed, clash.Give = needed, math.Abs(needed-l.Bound)
		return clash, err
	case math.IsInf(give, 1):
	case l.Scope == WorstEpisodes:
		needed, err := q.neededOfWorst(ctx, l, l.Slack(give))
		clash.Needed, clash.Give = needed, math.Abs(needed-l.Bound)
		return clash, err
	case l.Scope == EveryEpisode:
		clash.Probability = 1 - give
	default:
		clash.Give, clash.Needed = give, l.Bound+give
		if l.Return != "" && slices.Min(row.Normal) < 0 {
			clash.Needed = l.Bound - give
		}
	}
	return clash, nil
}

// neededOfWorst returns what the bound on a mean of the worst episodes would have to be, all other limits being as they are. It is
// enough if the bound gives so much at the threshold that it has; another threshold may need less.
func (q *Query) neededOfWorst(ctx context.Context, l *Limit, enough float64) (float64, error) {
	way := 1.0
	if l.AtLeast {
		way = -1
	}
	number := slices.IndexFunc(q.Of(WorstEpisodes), func(o *Limit) bool { return o.Constraint == l.Constraint })
	needed := l.Bound + way*enough
	wide, err := q.With(ctx, Change{Bounds: []Bound{{l.Return, side(l.AtLeast), needed}}})
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return 0, err
	}
	err = wide.EachThreshold(ctx, func(at *Query) error {
		here := at.Of(WorstEpisodes)[number]
		task, err := at.without(ctx, here)
		if err != nil {
			return err
		}
		r, err := exact.Solve(ctx, at.Model, task, exact.Options{})
		if err == nil && r.Status == exact.Optimal {
			needed = way * min(way*needed, way*here.Threshold+r.Objective/l.Share)
		}
		return err
	})
	return needed, err
}

// kept reports whether some thresholds of the worst episodes allow a policy that keeps the limits of a conflict, with the target or
// without it.
func (q *Query) kept(ctx context.Context, conflict []Clash, target bool) (kept bool, err error) {
	err = q.EachThreshold(ctx, func(at *Query) error {
		some := *at
		some.Limits = nil
		for i, l := range q.Limits {
			if slices.ContainsFunc(conflict, func(c Clash) bool { return c.Limit == l }) {
				some.Limits = append(some.Limits, at.Limits[i])
			}
		}
		p := *at.Problem
		p.Goal = problem.Goal{}
		if !target {
			p.Target = nil
		}
		some.Problem = &p
		err := some.setTask(ctx)
		if kept || errors.Is(err, geometry.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := exact.Solve(ctx, at.Model, some.Task, exact.Options{})
		kept = err == nil && r.Status == exact.Optimal
		return err
	})
	return kept, err
}

// neededAnywhere returns what the bound on an expected return would have to be, all other limits being as they are, whatever the
// thresholds of the worst episodes. It is enough if the bound gives so much at the thresholds of the query. It is NaN if no bound is enough.
func (q *Query) neededAnywhere(ctx context.Context, l *Limit, enough float64) (float64, error) {
	way := 1.0
	if l.expected.atLeast {
		way = -1
	}
	number := slices.Index(q.Limits, l)
	least := way*l.Bound + enough
	err := q.EachThreshold(ctx, func(at *Query) error {
		task, err := at.without(ctx, at.Limits[number])
		if errors.Is(err, geometry.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := exact.Solve(ctx, at.Model, task, exact.Options{})
		if err == nil && r.Status == exact.Optimal {
			least = min(least, r.Objective)
		}
		return err
	})
	if math.IsInf(least, 1) {
		return math.NaN(), err
	}
	return way * least, err
}

// without returns the task of making what a limit bounds as small as can be, or as large if it is to be large, without the limit.
func (q *Query) without(ctx context.Context, l *Limit) (cmdp.Task, error) {
	free := *q
	free.Limits = slices.DeleteFunc(slices.Clone(q.Limits), func(o *Limit) bool { return o == l || o.Scope == OfTarget })
	p := *q.Problem
	p.Goal = problem.Goal{}
	free.Problem = &p
	if err := free.setTask(ctx); err != nil {
		return cmdp.Task{}, err
	}
	gradient := make([]float64, len(q.Returns))
	gradient[l.expected.coordinate] = 1
	if l.expected.atLeast {
		gradient[l.expected.coordinate] = -1
	}
	c, err := cost.NewLinear(gradient, free.Task.Box)
	if err != nil {
		return cmdp.Task{}, err
	}
	free.Task.Cost = c
	return free.Task, nil
}

// separate returns a query whose limits can be told one by one, and what of the target
// is one limit as a whole, or nil.
func (q *Query) separate(ctx context.Context) (*Query, geometry.Set, error) {
	whole := q.Problem.Target
	if whole != nil && halfspacesOnly(whole) {
		whole = nil
	}
	if whole == nil {
		return q, nil, nil
	}
	single := *q
	single.Limits = slices.DeleteFunc(slices.Clone(q.Limits), func(l *Limit) bool { return l.Scope == OfTarget })
	p := *q.Problem
	p.Target = nil
	single.Problem = &p
	// Limits that contradict each other are named all the same.
	if err := single.setTask(ctx); err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return nil, nil, err
	}
	alone := *q
	alone.Limits = nil
	if err := alone.setTask(ctx); err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return nil, nil, err
	}
	return &single, alone.Task.Whole, nil // nil if it is out of reach of all returns that are possible, and no limit of its own here
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
