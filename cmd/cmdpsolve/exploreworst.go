package main

import (
	"context"
	"errors"
	"time"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/geometry"
)

// mostRethinking bounds the time for which thresholds of the worst episodes are tried.
const mostRethinking = 10 * time.Second

// planWorst plans for limits on the mean of the worst episodes: with the thresholds that the problem was read
// with, or the nearest to them that can do, which gives first numbers, and then with all of them.
func (e *explorer) planWorst(ctx context.Context, p *loaded, keep []int, progress func(any)) (*planAnswer, error) {
	opts, begin := e.options.solver(shown(p.Sense(), progress)), time.Now()
	opts.Budget = e.options.budget / 2
	near := p
	if p.Beyond() {
		at, err := p.At(ctx, atBounds(p.Query))
		if errors.Is(err, geometry.ErrEmpty) {
			return e.planNothing(ctx, p.as(at), err)
		} else if err != nil {
			return nil, err
		}
		near = p.as(at)
	}
	first, err := near.Solve(ctx, opts)
	if err != nil {
		return nil, err
	}
	progress(newEarlyAnswer(near, first, begin))
	rethinking := mostRethinking
	if opts.Budget > 0 {
		opts.Budget = max(1, opts.Budget/2)
		rethinking = min(rethinking, opts.Budget)
	}
	best, err := p.BestWithin(ctx, rethinking)
	if err != nil {
		return nil, err
	}
	r, err := best.Solve(ctx, opts)
	if err != nil {
		return nil, err
	}
	keeps := func(r *exact.Result) bool { return r.Status == exact.Optimal || stoppedWithPolicy(r) }
	if !best.Early() || keeps(r) && !(keeps(first) && first.Objective <= r.Objective) {
		return e.answer(ctx, p.as(best), r, keep)
	}
	a, err := e.answer(ctx, near, first, keep)
	if err == nil {
		a.Notes = append(a.Notes,
			"The worst episodes begin where they do in the problem as it was given; the command looks for where "+
				"they best begin under these limits.")
	}
	return a, err
}

// atBounds returns the thresholds that are nearest to the bounds.
func atBounds(q *query.Query) (thresholds []float64) {
	for _, t := range q.Of(query.WorstEpisodes) {
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
