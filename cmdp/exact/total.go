package exact

import (
	"context"
	"errors"
	"slices"

	"cmdpsolve/cmdp"
)

// total is the pricer of totals.
type total struct{ *stationary }

func (p *total) traits() traits {
	out := traits{plain: true, unbounded: true, endless: true, large: p.swept, steps: p.steps, relevance: &p.relevance, chosen: p.recurrent, farApart: p.farApart}
	if p.recurrent {
		out.rays = p.stationary
	}
	return out
}

func (p *total) extent(ctx context.Context, lower, upper []float64) error {
	return p.ranges(ctx, lower, upper)
}

func (p *total) possible(ctx context.Context, lower, upper []float64) error {
	return p.ranges(ctx, lower, upper)
}

// extremes remembers the extremes of the returns.
type extremes struct{ lower, upper []float64 }

// ranges sets lower and upper to the extremes of each total over all policies, rounded
// outwards, ±Boundless where there are none.
func (p *stationary) ranges(ctx context.Context, lower, upper []float64) error {
	if p.extremes.lower != nil {
		copy(lower, p.extremes.lower)
		copy(upper, p.extremes.upper)
		return nil
	}
	for i := range lower {
		if p.m.Mean(i) {
			continue
		}
		for _, sign := range []float64{1, -1} {
			bound := -Boundless
			dir := axis(len(lower), i, sign)
			q, err := p.with(relevanceOf(len(dir), cmdp.Task{}, dir))
			if err == nil {
				var value, margin float64
				if value, margin, err = q.recheck(ctx, dir); value-margin > bound {
					bound = value - margin
				}
			}
			if err != nil && !errors.Is(err, ErrNoTotal) {
				return err
			}
			if sign > 0 {
				lower[i] = bound
			} else {
				upper[i] = -bound
			}
		}
	}
	p.extremes.lower, p.extremes.upper = slices.Clone(lower), slices.Clone(upper)
	return nil
}
