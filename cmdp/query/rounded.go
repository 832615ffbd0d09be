package query

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"
)

// Rounded reports whether totals of episodes are rounded, see [Options]. A policy that keeps the limits then keeps the
// exact ones too. The opposite does not hold: what is true of all policies of the rounded problem need not be true of
// all policies of the exact one. [Query.Solve] takes care of that, other answers are about the rounded problem.
func (q *Query) Rounded() bool { return q.compiled.inexact }

// settle makes what an answer with rounded totals says of all policies true of the exact problem. Every policy that
// keeps the exact limits keeps those of the question with totals rounded to the other side, and has a goal there that
// is at least as good: a bound of that question holds, and if it is infeasible, so is the exact one.
func (q *Query) settle(ctx context.Context, r *exact.Result, opts exact.Options,
	begin time.Time) (*exact.Result, error) {
	if r.Status == exact.Unbounded || r.Status == exact.Optimal && q.Task.Cost == nil {
		return r, nil // what the policy does proves it
	}
	free, err := q.solveRelaxed(ctx, opts, begin)
	if err != nil {
		return nil, err
	}
	settled := q.Unproved(r)
	wanted := 0.0
	switch {
	case free == nil:
	case free.Status == exact.Infeasible && r.Status != exact.Optimal:
		settled.Status = exact.Infeasible
	case free.Status == exact.Optimal:
		settled.Bound = free.Bound
		wanted = max(r.Gap, free.Gap, opts.Gap*math.Abs(r.Objective))
	}
	settled.Gap = settled.Objective - settled.Bound
	if settled.Status == exact.Stopped && settled.Gap <= wanted {
		settled.Status = r.Status
	}
	return settled, nil
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
func (q *Query) solveRelaxed(ctx context.Context, opts exact.Options, begin time.Time) (*exact.Result, error) {
	if opts.Budget > 0 {
		opts.Budget -= time.Since(begin)
		if opts.Budget <= 0 {
			return nil, nil
		}
	}
	if p := q.Problem; p.Goal.Cost != nil || p.Target != nil {
		for _, name := range q.declared() {
			if slices.Contains(q.Returns, name+lowerBound) || slices.Contains(q.Returns, name+upperBound) {
				return nil, nil
			}
		}
	}
	free, err := q.family.relaxed().compile(ctx, q.Problem, nil)
	if errors.Is(err, geometry.ErrEmpty) && free != nil && free.Beyond() {
		err = nil
	}
	if errors.Is(err, geometry.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	opts.Progress = nil
	_, r, err := free.BestOf(func(thresholds []float64) (*Query, *exact.Result, error) {
		of, err := free.At(ctx, thresholds)
		if err != nil {
			return nil, nil, err
		}
		planner, err := of.Planner()
		if err != nil {
			return nil, nil, err
		}
		r, err := planner.Solve(ctx, of.Task, opts)
		return of, r, err
	})
	return r, err
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
