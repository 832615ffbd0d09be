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
	// Needed is the bound with which some policy keeps all the others, and Give how far it is from the limit's;
	// NaN if there is none. Of a target set Give is a distance.
	Needed, Give float64
	// Probability is the greatest with which a limit of every episode can be kept, in the place of Needed and
	// Give; NaN if it is not known, and of other limits.
	Probability float64
}

// Conflict returns a smallest set of limits of a query with one player that are in conflict. It returns nil if
// none is proved, as where totals are rounded. With limits on the mean of the worst episodes a set is in conflict if
// no thresholds of these do. Limits of every episode have taken choices away from the model. To count among the others
// they become limits on chances, and all choices are offered again.
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
	separate, rest, err := q.separate(ctx)
	if err != nil {
		return nil, err
	}
	c, err := planner.Conflict(ctx, separate.Task, rest, exact.Options{Iterations: opts.Iterations})
	if err != nil || c == nil {
		return nil, err
	}
	rows := separate.Rows()
	var core []*Limit
	for _, row := range c.Rows {
		core = append(core, rows[row])
	}
	if len(q.Of(WorstEpisodes)) > 0 {
		sides := slices.ContainsFunc(core, func(l *Limit) bool { return l.Scope == OfTarget })
		clashes, err := q.clashes(ctx, core, c.Set || sides)
		if err != nil {
			return nil, err
		}
		if !clashes || sides {
			return q.conflictAnywhere(ctx)
		}
	}
	var out []Clash
	for j, row := range c.Rows {
		clash, err := q.clash(ctx, rows[row], separate.Task.Constraints[row], c.Relax[j])
		if err != nil {
			return nil, err
		}
		out = append(out, clash)
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

// clash says how far a limit would have to give, in its own units, where its row has to give so much.
func (q *Query) clash(ctx context.Context, l *Limit, row cmdp.Constraint, give float64) (Clash, error) {
	clash := Clash{Limit: l, Needed: math.NaN(), Give: math.NaN(), Probability: math.NaN()}
	switch {
	case l.Scope != OfTarget && len(q.Of(WorstEpisodes)) > 0:
		return q.clashAnywhere(ctx, l, l.Slack(give))
	case math.IsInf(give, 1):
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

// neededOfWorst returns what the bound on a mean of the worst episodes would have to be, all other limits being
// as they are. It is enough if the bound gives so much at the threshold that it has; another threshold may need
// less.
func (q *Query) neededOfWorst(ctx context.Context, l *Limit, enough float64) (float64, error) {
	way := 1.0
	if l.AtLeast {
		way = -1
	}
	number := slices.IndexFunc(q.Of(WorstEpisodes), func(o *Limit) bool { return o.Constraint == l.Constraint })
	needed := l.Bound + way*enough
	p := *q.Problem
	p.Constraints = slices.Clone(p.Constraints)
	c := &p.Constraints[l.Constraint]
	*c = copied(*c)
	**bound(c, l.AtLeast) = needed
	wide, err := q.family.compile(ctx, &p, q.options.Thresholds)
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

// clashes reports whether it is proved that no thresholds of the worst episodes allow a policy that keeps some
// limits, with the target or without it.
func (q *Query) clashes(ctx context.Context, limits []*Limit, target bool) (clashes bool, err error) {
	clashes = true
	err = q.EachThreshold(ctx, func(at *Query) error {
		if !clashes {
			return nil
		}
		task, err := q.only(ctx, at, limits, target)
		if errors.Is(err, geometry.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := exact.Solve(ctx, at.Model, task, exact.Options{NoNearest: true})
		clashes = err == nil && r.Status == exact.Infeasible
		return err
	})
	return clashes, err
}

// only returns the task of keeping some limits of q, with the thresholds of another query, and the target or not.
func (q *Query) only(ctx context.Context, at *Query, limits []*Limit, target bool) (cmdp.Task, error) {
	some := *at
	some.Limits = nil
	for i, l := range q.Limits {
		if slices.Contains(limits, l) && !(target && l.Scope == OfTarget) {
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
	return some.Task, err
}

// conflictAnywhere is Conflict where what is in conflict at the thresholds of the query is kept at others: it
// looks for limits that are not kept at any, one alone, then two, then by leaving out one after the other. The
// target counts as one of them.
func (q *Query) conflictAnywhere(ctx context.Context) ([]Clash, error) {
	var err error
	var all []*Limit // the target as nil
	for _, l := range q.Limits {
		if l.row >= 0 && l.Scope != OfTarget {
			all = append(all, l)
		}
	}
	if q.Problem.Target != nil {
		all = append(all, nil)
	}
	clash := func(some []*Limit) bool {
		if err != nil {
			return false
		}
		found := false
		found, err = q.clashes(ctx, some, slices.Contains(some, nil))
		return found && err == nil
	}
	if !clash(all) {
		return nil, err
	}
	core := fewest(all, clash)
	var out []Clash
	for _, l := range core {
		if err != nil {
			break
		}
		one := Clash{Needed: math.NaN(), Give: math.NaN(), Probability: math.NaN()}
		if l == nil {
			one.Give, err = q.distanceAnywhere(ctx)
		} else {
			one, err = q.clashAnywhere(ctx, l, math.Inf(1))
		}
		out = append(out, one)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// fewest returns one limit or a pair that clash or, where there is none, limits of which none can be left out.
func fewest(all []*Limit, clash func([]*Limit) bool) []*Limit {
	for _, l := range all {
		if one := []*Limit{l}; clash(one) {
			return one
		}
	}
	for i := range all {
		for j := range i {
			if two := []*Limit{all[j], all[i]}; clash(two) {
				return two
			}
		}
	}
	core := all
	for i := len(core) - 1; i >= 0; i-- {
		if rest := slices.Delete(slices.Clone(core), i, i+1); clash(rest) {
			core = rest
		}
	}
	return core
}

// clashAnywhere says how far a limit has to give, whatever the thresholds of the worst episodes. It is enough if it
// gives so much at the thresholds of the query.
func (q *Query) clashAnywhere(ctx context.Context, l *Limit, enough float64) (clash Clash, err error) {
	clash = Clash{Limit: l, Needed: math.NaN(), Give: math.NaN(), Probability: math.NaN()}
	if l.Scope == WorstEpisodes {
		if math.IsInf(enough, 1) {
			enough, err = q.enoughOfWorst(ctx, l)
		}
		if err != nil || math.IsInf(enough, 1) {
			return clash, err
		}
		clash.Needed, err = q.neededOfWorst(ctx, l, enough)
		clash.Give = math.Abs(clash.Needed - l.Bound)
		return clash, err
	}
	needed, err := q.neededAnywhere(ctx, l, enough)
	give := math.Abs(needed - l.expected.bound)
	if l.Scope == EveryEpisode {
		clash.Probability = 1 - give
		return clash, err
	}
	clash.Needed, clash.Give = needed, give
	return clash, err
}

// enoughOfWorst returns how far the bound on a mean of the worst episodes has to give at the most suitable of
// the thresholds that it has, +Inf if that does not do.
func (q *Query) enoughOfWorst(ctx context.Context, l *Limit) (float64, error) {
	way, enough := 1.0, math.Inf(1)
	if l.AtLeast {
		way = -1
	}
	number := slices.Index(q.Limits, l)
	err := q.EachThreshold(ctx, func(at *Query) error {
		here := at.Limits[number]
		task, err := at.without(ctx, here)
		if errors.Is(err, geometry.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := exact.Solve(ctx, at.Model, task, exact.Options{NoNearest: true})
		if err == nil && r.Status == exact.Optimal {
			enough = min(enough, max(0, way*here.Threshold+r.Objective/l.Share-way*l.Bound))
		}
		return err
	})
	return enough, err
}

// distanceAnywhere returns how near a policy that keeps all limits comes to the target set, whatever the
// thresholds of the worst episodes, NaN if none keeps them.
func (q *Query) distanceAnywhere(ctx context.Context) (float64, error) {
	least := math.NaN()
	set, err := q.target()
	if err != nil {
		return least, err
	}
	err = q.EachThreshold(ctx, func(at *Query) error {
		task, err := q.only(ctx, at, q.Limits, false)
		if errors.Is(err, geometry.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		compact, err := geometry.Restrict(set, at.Task.Box)
		if errors.Is(err, geometry.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		task.Cost, err = cost.NewDistance(compact)
		if err != nil {
			return err
		}
		r, err := exact.Solve(ctx, at.Model, task, exact.Options{NoNearest: true})
		if err == nil && r.Status == exact.Optimal && !(r.Objective >= least) {
			least = r.Objective
		}
		return err
	})
	return least, err
}

// neededAnywhere returns what the bound on an expected return would have to be, all other limits being as they
// are, whatever the thresholds of the worst episodes. It is enough if the bound gives so much at the thresholds
// of the query. It is NaN if no bound is enough.
func (q *Query) neededAnywhere(ctx context.Context, l *Limit, enough float64) (float64, error) {
	way := 1.0
	if l.expected.atLeast {
		way = -1
	}
	number := slices.Index(q.Limits, l)
	least := way*l.expected.bound + enough
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

// without returns the task of making what a limit bounds as small as can be, or as large if it is to be large,
// without the limit.
func (q *Query) without(ctx context.Context, l *Limit) (cmdp.Task, error) {
	free := *q
	free.Limits = slices.DeleteFunc(slices.Clone(q.Limits),
		func(o *Limit) bool { return o == l || o.Scope == OfTarget })
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
	// nil if it is out of reach of all returns that are possible, and no limit of its own here
	return &single, alone.Task.Whole, nil
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
