package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// anyThresholds asks what is in conflict whatever the thresholds of the worst episodes: limits that clash at those of
// the query may be kept at others.
type anyThresholds struct {
	*Query
	ctx context.Context
}

// conflict looks for limits that are not kept at any thresholds, one alone, then two, then by leaving out one after
// the other. The target counts as one of them.
func (q anyThresholds) conflict() ([]Clash, error) {
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
	judge := func(some []*Limit) exact.Verdict {
		if err != nil {
			return exact.Undecided
		}
		verdict := exact.Undecided
		verdict, err = q.judge(some, slices.Contains(some, nil))
		return verdict
	}
	if judge(all) != exact.Infeasible {
		return nil, err
	}
	core, undecided := fewest(all, judge)
	var out []Clash
	for _, l := range core {
		if err != nil {
			break
		}
		one := unfound(nil)
		if l == nil {
			one.Give, one.Least, one.Unknown, err = q.distance()
		} else {
			one, err = q.clash(l, math.Inf(1))
		}
		one.Undecided = undecided
		out = append(out, one)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// fewest returns one limit or a pair that clash or, where there is none, limits of which none can be left out. It
// reports whether it is not known of one of them that the others can be kept without it.
func fewest(all []*Limit, find func([]*Limit) exact.Verdict) (core []*Limit, undecided bool) {
	verdicts := make(map[string]exact.Verdict)
	judge := func(some []*Limit) exact.Verdict {
		name := fmt.Sprint(some)
		if _, known := verdicts[name]; !known {
			verdicts[name] = find(some)
		}
		return verdicts[name]
	}
	for _, l := range all {
		if one := []*Limit{l}; judge(one) == exact.Infeasible {
			return one, false
		}
	}
	core = all
	for i := range all {
		for j := range i {
			if two := []*Limit{all[j], all[i]}; len(core) > 2 && judge(two) == exact.Infeasible {
				core = two
			}
		}
	}
	for again := true; again; {
		again, undecided = false, false
		for i := len(core) - 1; i >= 0; i-- {
			rest := slices.Delete(slices.Clone(core), i, i+1)
			verdict := judge(rest)
			if verdict == exact.Infeasible {
				core, again = rest, undecided // fewer limits may be easier to keep
			}
			undecided = undecided || verdict == exact.Undecided
		}
	}
	return core, undecided
}

// each solves a task at the thresholds at which it has returns to choose from and its optimum may be useful, which is
// asked with a lower bound of it, and shows the answers. It passes over those of which others prove that no policy
// keeps the limits. Where every policy goes on for ever at a return that matters nothing is decided.
func (q anyThresholds) each(task func(at *Query) (cmdp.Task, error),
	useful func(thresholds []float64, bound float64) bool, show func(thresholds []float64, r *exact.Result)) error {
	var search thresholdSearch
	return q.thresholds(coarseFirst, func(thresholds []float64) error {
		if cost, missed := search.bounds(thresholds); missed > 0 || !useful(thresholds, cost) {
			return nil
		}
		at, err := q.At(q.ctx, thresholds)
		if err != nil && !errors.Is(err, geometry.ErrEmpty) {
			return err
		}
		here, err := task(at)
		if errors.Is(err, geometry.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := exact.Solve(q.ctx, at.Model, here, exact.Options{NoNearest: true})
		if endless(err) {
			r, err = &exact.Result{Status: exact.Undecided, Bound: math.Inf(-1)}, nil
		}
		if err == nil {
			search.learn(at, r)
			show(thresholds, r)
		}
		return err
	})
}

// judge says whether some thresholds allow a policy that keeps some limits, with the target or without it: Infeasible
// if it is proved that none do.
func (q anyThresholds) judge(limits []*Limit, target bool) (exact.Verdict, error) {
	verdict := exact.Infeasible
	err := q.each(
		func(at *Query) (cmdp.Task, error) { return q.only(at, limits, target) },
		func([]float64, float64) bool { return verdict != exact.Optimal }, // one is enough
		func(_ []float64, r *exact.Result) {
			if r.Status != exact.Infeasible {
				verdict = r.Status
			}
		})
	return verdict, err
}

// least returns the least of what optima of a task come to at some thresholds, which grows with the optimum, and most
// if none is below that. None is below floor, which is lower where thresholds are undecided. It reports whether it is
// not proved of all thresholds that no policy keeps the limits.
func (q anyThresholds) least(most float64, task func(at *Query) (cmdp.Task, error),
	value func(thresholds []float64, optimum float64) float64) (least, floor float64, possible bool, err error) {
	least, floor = most, math.Inf(1)
	err = q.each(task,
		func(thresholds []float64, bound float64) bool { return value(thresholds, bound) < least },
		func(thresholds []float64, r *exact.Result) {
			possible = possible || r.Status != exact.Infeasible
			switch r.Status {
			case exact.Optimal:
				least = min(least, value(thresholds, r.Objective))
			case exact.Undecided:
				floor = min(floor, value(thresholds, r.Bound))
			}
		})
	return least, min(floor, least), possible, err
}

// only returns the task of keeping some limits, with the thresholds of another query, and the target or not.
func (q anyThresholds) only(at *Query, limits []*Limit, target bool) (cmdp.Task, error) {
	var some []*Limit
	for i, l := range q.Limits {
		if slices.Contains(limits, l) && l.Scope != OfTarget {
			some = append(some, at.Limits[i])
		}
	}
	p := *at.Problem
	p.Goal = problem.Goal{}
	if !target {
		p.Target = nil
	}
	task, _, err := at.compiled.task(q.ctx, &p, some)
	return task, err
}

// clash says how far a limit has to give. It is enough if it gives so much at the thresholds of the query.
func (q anyThresholds) clash(l *Limit, enough float64) (clash Clash, err error) {
	clash = unfound(l)
	if l.Scope == WorstEpisodes {
		if math.IsInf(enough, 1) {
			enough, clash.Unknown, err = q.enoughOfWorst(l)
		}
		if err != nil || math.IsInf(enough, 1) {
			return clash, err
		}
		clash.Needed, clash.Least, err = q.neededOfWorst(l, enough)
		clash.Give = math.Abs(clash.Needed - l.Bound)
		if _, many := errors.AsType[*manyThresholdsError](err); many { // at another one less may do
			clash.Least, err = 0, nil
		}
		return clash, err
	}
	needed, least, unknown, err := q.needed(l, enough)
	clash.Unknown = unknown
	give := math.Abs(needed - l.expected.bound)
	clash.Least = least
	if l.Scope == EveryEpisode {
		clash.Probability = 1 - give
		return clash, err
	}
	clash.Needed, clash.Give = needed, give
	return clash, err
}

// enoughOfWorst returns how far the bound on a mean of the worst episodes has to give at the most suitable of
// the thresholds that it has, +Inf if that does not do, or is not known to.
func (q anyThresholds) enoughOfWorst(l *Limit) (enough float64, unknown bool, err error) {
	way, number := signOf(l.AtLeast), slices.Index(q.Of(WorstEpisodes), l)
	enough, _, possible, err := q.least(math.Inf(1),
		func(at *Query) (cmdp.Task, error) { return q.without(at, at.Of(WorstEpisodes)[number]) },
		func(thresholds []float64, excess float64) float64 {
			return max(0, way*thresholds[number]+excess/l.Share-way*l.Bound)
		})
	return enough, possible && math.IsInf(enough, 1), err
}

// neededOfWorst returns what the bound on a mean of the worst episodes would have to be, all other limits being
// as they are. It is enough if the bound gives so much at the threshold that it has; another threshold may need
// less, which is at least how far it has to give in any case.
func (q anyThresholds) neededOfWorst(l *Limit, enough float64) (needed, least float64, err error) {
	way := signOf(l.AtLeast)
	number := slices.IndexFunc(q.Of(WorstEpisodes), func(o *Limit) bool { return o.Constraint == l.Constraint })
	needed = l.Bound + way*enough
	p := *q.Problem
	p.Constraints = slices.Clone(p.Constraints)
	c := &p.Constraints[l.Constraint]
	*c = copied(*c)
	**bound(c, l.AtLeast) = needed
	wide, err := q.family.compile(q.ctx, &p, q.options.Thresholds)
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return needed, enough, err
	}
	found, floor, _, err := anyThresholds{wide, q.ctx}.least(way*needed,
		func(at *Query) (cmdp.Task, error) { return q.without(at, at.Of(WorstEpisodes)[number]) },
		func(thresholds []float64, excess float64) float64 { return way*thresholds[number] + excess/l.Share })
	return way * found, max(0, floor-way*l.Bound), err
}

// needed returns what the bound on an expected return would have to be, all other limits being as they are. It is
// enough if the bound gives so much at the thresholds of the query. It has to give least in any case. Both are NaN if
// no bound is enough, or is known to be.
func (q anyThresholds) needed(l *Limit, enough float64) (bound, least float64, unknown bool, err error) {
	way, number := signOf(l.expected.atLeast), slices.Index(q.Limits, l)
	found, floor, possible, err := q.least(way*l.expected.bound+enough,
		func(at *Query) (cmdp.Task, error) { return q.without(at, at.Limits[number]) },
		func(_ []float64, optimum float64) float64 { return optimum })
	if math.IsInf(found, 1) {
		return math.NaN(), math.NaN(), possible, err
	}
	return way * found, max(0, floor-way*l.expected.bound), false, err
}

// distance returns how near a policy that keeps all limits comes to the target set, and what none comes nearer than.
// Both are NaN if none keeps them, or is known to.
func (q anyThresholds) distance() (near, least float64, unknown bool, err error) {
	set, err := (&taskBuilder{compiled: q.compiled, problem: q.Problem, returns: q.Returns}).target()
	if err != nil {
		return math.NaN(), math.NaN(), false, err
	}
	near, least, possible, err := q.least(math.Inf(1),
		func(at *Query) (cmdp.Task, error) {
			task, err := q.only(at, q.Limits, false)
			if err != nil {
				return cmdp.Task{}, err
			}
			compact, err := geometry.Restrict(set, at.Task.Box)
			if err != nil {
				return cmdp.Task{}, err
			}
			task.Cost, err = cost.NewDistance(compact)
			return task, err
		},
		func(_ []float64, optimum float64) float64 { return optimum })
	if math.IsInf(near, 1) {
		return math.NaN(), math.NaN(), possible, err
	}
	return near, max(0, least), false, err
}

// without returns the task of making what a limit bounds as small as can be, or as large if it is to be large,
// without the limit.
func (q anyThresholds) without(at *Query, l *Limit) (cmdp.Task, error) {
	others := slices.DeleteFunc(slices.Clone(at.Limits),
		func(o *Limit) bool { return o == l || o.Scope == OfTarget })
	p := *at.Problem
	p.Goal = problem.Goal{}
	task, _, err := at.compiled.task(q.ctx, &p, others)
	if err != nil {
		return cmdp.Task{}, err
	}
	gradient := make([]float64, len(at.Returns))
	gradient[l.expected.coordinate] = signOf(l.expected.atLeast)
	task.Cost, err = cost.NewLinear(gradient, task.Box)
	return task, err
}
