package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/geometry"
)

// A rooted problem is one as it was given, with thresholds of the worst episodes if it has any. planner is nil in a game.
type rooted struct {
	*loaded
	planner *exact.Planner
}

// mostRethinking bounds the time for which thresholds of the worst episodes are tried.
const mostRethinking = 10 * time.Second

// planWorst plans for limits on the mean of the worst episodes: with the thresholds that the problem was read with, or the nearest to
// them that can do, which gives first numbers, and then with all of them.
func (e *explorer) planWorst(ctx context.Context, p *loaded, q *question, progress func(any)) (*planAnswer, error) {
	v, opts, begin := e.variation(q), e.options.solver(shown(p.sense(), progress)), time.Now()
	nearest := e.rooted
	if beyond(p.Problem) {
		var err error
		if nearest, err = e.root(atBounds(p.Problem)); err != nil {
			return nil, err
		}
	}
	near, err := nearest.vary(v)
	if errors.Is(err, geometry.ErrEmpty) {
		return e.planNothing(ctx, near, err)
	} else if err != nil {
		return nil, err
	}
	first, err := nearest.planner.Solve(ctx, near.task, opts)
	if err != nil {
		return nil, err
	}
	progress(near.early(first, begin))
	trial, cancel := context.WithTimeout(ctx, mostRethinking)
	defer cancel()
	type made struct {
		p    *loaded
		root rooted
	}
	plans := make(map[*problem.Problem]made)
	best, r, err := p.BestThresholds(func(thresholds []float64) (*problem.Problem, *exact.Result, error) {
		root, err := e.root(thresholds)
		if err != nil {
			return nil, nil, err
		}
		of, err := root.vary(v)
		if err != nil {
			return nil, nil, err
		}
		r, err := root.planner.Solve(trial, of.task, opts)
		plans[of.Problem] = made{of, root}
		return of.Problem, r, err
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		a, err := e.answer(ctx, near, nearest, first, q.Keep)
		if err == nil {
			a.Notes = append(a.Notes, "The worst episodes begin where they do in the problem as it was given; the command looks for where they best begin under these limits.")
		}
		return a, err
	case err != nil:
		return nil, err
	}
	return e.answer(ctx, plans[best].p, plans[best].root, r, q.Keep)
}

// atBounds returns the thresholds that are nearest to the bounds.
func atBounds(p *problem.Problem) (thresholds []float64) {
	for _, t := range tails(p) {
		switch n := len(t.Thresholds); {
		case n == 0:
			thresholds = append(thresholds, t.Bound)
		case t.AtLeast:
			thresholds = append(thresholds, t.Thresholds[0])
		default:
			thresholds = append(thresholds, t.Thresholds[n-1])
		}
	}
	return thresholds
}

// root returns the problem as it was given with thresholds of the worst episodes. It keeps small ones.
func (e *explorer) root(thresholds []float64) (rooted, error) {
	if thresholds == nil {
		return e.rooted, nil
	}
	key := fmt.Sprint(thresholds)
	e.mu.Lock()
	root, is := e.roots[key]
	e.mu.Unlock()
	if is {
		return root, nil
	}
	q, err := e.Problem.At(thresholds)
	if err != nil {
		return root, err
	}
	root.loaded = &loaded{Problem: q, name: e.name}
	if root.planner, err = exact.NewPlanner(q.Model, e.options.parallel); err != nil {
		return root, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stored += q.Model.Transitions(); e.stored <= quick {
		e.roots[key] = root
	}
	return root, nil
}
