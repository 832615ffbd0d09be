package query

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// Rounded reports whether totals of episodes are rounded, see [CompileOptions]. A policy that keeps the limits then
// keeps the exact ones too. The opposite does not hold: what is true of all policies of the rounded problem need not
// be true of all policies of the exact one. [Query.Solve], [Query.SolveFleet] and [Query.Front] take care of that,
// other answers are about the rounded problem.
func (q *Query) Rounded() bool { return q.compiled.inexact }

// defaultFrontError is that of [exact.FrontOptions].
const defaultFrontError = 1e-4

// missed returns by how much the parts of another curve go beyond this one: the Euclidean distance, the greatest part
// of the range of an objective over both, and whether that is within the error asked for.
func (f *Front) missed(outer *Front, opts exact.FrontOptions) (euclidean, relative float64, reached bool) {
	most := 0.0
	for _, o := range outer.Parts {
		best, part, least := math.Inf(1), math.Inf(1), math.Inf(1)
		for _, p := range f.Parts {
			e, r, t := p.missed(o.Result.Corners, opts)
			if t < least {
				best, part, least = e, r, t
			}
		}
		euclidean, relative, most = max(euclidean, best), max(relative, part), max(most, least)
	}
	return euclidean, relative, most <= cmp.Or(opts.Error, defaultFrontError)
}

// missed returns by how much corners go beyond the mixtures of the points of a part, last as a part of the scale by
// which the error asked for is measured.
func (p *FrontPart) missed(corners [][]float64, opts exact.FrontOptions) (euclidean, relative, most float64) {
	points, part := p.Result.Points, cmp.Or(opts.Error, defaultFrontError)
	if len(points) == 0 {
		return math.Inf(1), math.Inf(1), math.Inf(1)
	}
	both := slices.Clone(points)
	for _, y := range corners {
		both = append(both, exact.FrontPoint{Objectives: y})
	}
	ranges := scaleOf(both, make([]float64, len(p.Result.Rounding)))
	scale := slices.Clone(ranges)
	for k, x := range p.Result.Rounding {
		ranges[k] = max(ranges[k], x/part)
		scale[k] = ranges[k]
		if len(opts.Absolute) > 0 && opts.Absolute[k] > 0 {
			scale[k] = max(opts.Absolute[k], x) / part
		}
	}
	for _, y := range corners {
		most = max(most, worse(points, exact.FrontPoint{Objectives: y}, scale))
	}
	for k, x := range scale { // no corner is behind by more than the range
		relative = max(relative, min(most*x/ranges[k], 1))
	}
	return most * floats.Norm(scale, 2), relative, most
}

// A certification makes what answers with rounded totals say of all policies true of the exact problem, in what is left
// of the time since begin.
type certification struct {
	*Query
	opts  exact.Options
	begin time.Time
}

// certify returns an answer with what it says of all policies made true of the exact problem. Every policy that
// keeps the exact limits keeps those of the question with totals rounded to the other side, and has a goal there that
// is at least as good: a bound of that question holds, and if it is infeasible, so is the exact one.
func (q certification) certify(ctx context.Context, r *exact.Result) (*exact.Result, error) {
	if p := q.Problem; p.Goal.Cost != nil || p.Target != nil {
		r = q.atWorst(r)
	}
	if r.Status == exact.Unbounded || r.Status == exact.Optimal && q.Task.Cost == nil {
		return r, nil // what the policy does proves it
	}
	free, err := q.solveRelaxed(ctx)
	if err != nil {
		return nil, err
	}
	certified := q.Unproved(r)
	wanted := 0.0
	switch {
	case free == nil:
	case free.Status == exact.Infeasible && r.Status != exact.Optimal:
		certified.Status = exact.Infeasible
	case free.Status == exact.Optimal:
		certified.Bound = free.Bound
		wanted = max(r.Gap, free.Gap, q.opts.Gap*math.Abs(r.Objective))
	}
	certified.Gap = certified.Objective - certified.Bound
	if certified.Status == exact.Stopped && certified.Gap <= wanted {
		certified.Status = r.Status
	}
	return certified, nil
}

// otherSides returns, of each declared return that is rounded, the coordinate of its other bound.
func (c *compiled) otherSides() map[int]int {
	sides := make(map[int]int)
	for i, name := range c.declaredReturns() {
		for _, side := range []string{lowerBound, upperBound} {
			if j := slices.Index(c.process.Returns, name+side); j >= 0 {
				sides[i] = j
			}
		}
	}
	return sides
}

// atWorst returns an answer for a curved goal or a target with what is certain of it: the exact returns lie between
// their bounds, so that the goal is at most, and the target kept if it is, at all corners of these.
func (q certification) atWorst(r *exact.Result) *exact.Result {
	worst := *r
	if q.Fleet() != nil { // one of the bounds alone is known
		worst.Status = exact.Undecided
		if q.Problem.Goal.Cost != nil {
			worst.Objective = math.NaN()
		}
		return &worst
	}
	if !r.HasPolicy() {
		return &worst
	}
	corners := [][]float64{r.Returns}
	for i, j := range q.compiled.otherSides() {
		for _, v := range corners {
			v = slices.Clone(v)
			v[i] = r.Returns[j]
			corners = append(corners, v)
		}
	}
	for _, v := range corners {
		if q.Task.Cost != nil && q.Problem.Goal.Cost != nil {
			worst.Objective = max(worst.Objective, q.Task.Cost.Value(v))
		}
		if q.Problem.Target != nil && !q.Keeps(v) {
			worst.Status = exact.Undecided
		}
	}
	return &worst
}

// Unproved returns an answer with rounded totals without what it says of all policies.
func (q *Query) Unproved(r *exact.Result) *exact.Result {
	plain := *r
	plain.Certificate = nil
	switch {
	case r.Status == exact.Infeasible:
		plain.Status, plain.Objective = exact.Undecided, math.NaN()
	case r.Status == exact.Unbounded || r.Status == exact.Optimal && q.Task.Cost == nil:
		return &plain // what the policy does proves it
	case r.Status == exact.Optimal:
		plain.Status = exact.Stopped
	}
	plain.Bound, plain.Gap = math.Inf(-1), math.Inf(1)
	return &plain
}

// solveRelaxed solves the question with totals rounded to the other side in what is left of the time. It returns nil
// if there is none left, and where no side is known to be the better one for a curved goal or a target.
func (q certification) solveRelaxed(ctx context.Context) (*exact.Result, error) {
	opts := q.opts
	var c *clock
	if opts.Budget > 0 {
		c = &clock{time.Now, q.begin.Add(opts.Budget)}
	}
	if c.over() {
		return nil, nil
	}
	within, done := c.within(ctx)
	defer done()
	curved := q.Problem.Goal.Cost != nil || q.Problem.Target != nil
	if curved && (q.Fleet() != nil || len(q.compiled.otherSides()) > 0) {
		return nil, nil
	}
	free, err := q.relaxed(within)
	if errors.Is(c.orLate(ctx, err), errLate) {
		return nil, nil
	}
	if err != nil || free == nil {
		return nil, err
	}
	opts.Progress = nil
	_, r, err := free.BestOf(func(thresholds []float64) (*Query, *exact.Result, error) {
		of, err := free.At(within, thresholds)
		if err != nil {
			return nil, nil, err
		}
		planner, err := of.Planner()
		if err != nil {
			return nil, nil, err
		}
		opts.Budget = c.left()
		r, err := planner.Solve(ctx, of.Task, opts)
		return of, r, err
	})
	if errors.Is(c.orLate(ctx, err), errLate) { // what is open of some thresholds is open of all
		return nil, nil
	}
	return r, err
}

// relaxed returns the question with totals rounded to the other side, nil if its limits contradict each other.
func (q *Query) relaxed(ctx context.Context) (*Query, error) {
	free, err := q.family.relaxed().compile(ctx, q.Problem, nil)
	if errors.Is(err, geometry.ErrEmpty) {
		if free != nil && free.Beyond() {
			return free, nil
		}
		return nil, nil
	}
	return free, err
}

// relaxed returns the family of the questions with totals rounded to the other side.
func (f *family) relaxed() *family {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.free == nil {
		opts := f.opts
		opts.relaxed = true
		f.free = &family{declared: f.declared, opts: opts}
	}
	return f.free
}
