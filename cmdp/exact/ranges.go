package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/geometry"
)

// Ranges returns, for each coordinate, the least and the greatest expected return
// over all policies, by a value iteration for each; discounted sums and totals are bounds,
// rounded outwards, and totals may be infinite. Extremes of totals are found once.
func (p *Planner) Ranges(ctx context.Context) (lower, upper []float64, err error) {
	lower, upper = make([]float64, p.dim()), make([]float64, p.dim())
	if p.m == nil {
		err = p.withPricer(ctx, noneRelevant(p.width), Options{},
			func(q pricer) error { return extremes(ctx, q, lower, upper, nil) })
		return lower, upper, err
	}
	if p.m.Epochs() != nil {
		err = p.epochRanges(ctx, lower, upper)
		infiniteSides(lower, upper)
		return lower, upper, err
	}
	if p.m.Horizon() == 0 && !p.m.Average() {
		if err := p.totalRanges(ctx, lower, upper, progress.Of(ctx)); err != nil {
			return nil, nil, err
		}
	}
	if p.m.Horizon() > 0 || p.m.Means() {
		q, err := newPricer(ctx, p.m, p.workers, noneRelevant(p.m.Dim()), progress.Of(ctx))
		if err != nil {
			return nil, nil, err
		}
		total := func(i int) bool { return p.m.Means() && !p.m.Mean(i) }
		if err := extremes(ctx, q, lower, upper, total); err != nil {
			return nil, nil, err
		}
	}
	return lower, upper, nil
}

// epochRanges sets lower and upper to the extremes of totals of a model of epochs.
func (p *Planner) epochRanges(ctx context.Context, lower, upper []float64) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	all, err := p.epochModels(ctx)
	if err != nil {
		return err
	}
	return all.ranges(ctx, lower, upper)
}

// totalRanges sets lower and upper to the extremes of totals or discounted sums.
func (p *Planner) totalRanges(ctx context.Context, lower, upper []float64, tell progress.Func) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.stale {
		p.forget()
	}
	if err := p.analyse(ctx, tell); err != nil {
		return err
	}
	of := *p.analysed
	of.solvers = make(map[string]*markov.LeastTotal) // solutions do not start from those of ranges
	if err := of.ranges(ctx, lower, upper); err != nil {
		p.forget()
		return err
	}
	infiniteSides(lower, upper)
	return nil
}

// extremes sets lower and upper to the extremes of each coordinate over all policies, but for those that are known.
func extremes(ctx context.Context, p pricingProblem, lower, upper []float64, known func(i int) bool) error {
	for i := range lower {
		if known != nil && known(i) {
			continue
		}
		progress.Of(ctx).Tell("finding ranges of returns", float64(i)/float64(len(lower)))
		least, err := p.price(ctx, axis(len(lower), i, 1), 0)
		if err != nil {
			return err
		}
		most, err := p.price(ctx, axis(len(lower), i, -1), 0)
		if err != nil {
			return err
		}
		lower[i], upper[i] = least.returns[i], most.returns[i]
	}
	return nil
}

// infiniteSides turns sides that stand for infinity into infinity.
func infiniteSides(lower, upper []float64) {
	for i := range lower {
		if lower[i] <= -Boundless {
			lower[i] = math.Inf(-1)
		}
		if upper[i] >= Boundless {
			upper[i] = math.Inf(1)
		}
	}
}

// CutBox makes the box of all returns of a model without a horizon smaller where it goes
// far beyond the target, which may be nil. Useless policies may have totals of any size,
// and rounding must not be measured by them.
func CutBox(lower, upper []float64, target geometry.Compact) {
	const far = 16
	at := make([]float64, len(lower))
	for i := range lower {
		size := 0.0
		note := func(x float64) {
			// Corners of a set without bounds, such as a cone in a box, are known to rounding of Boundless.
			if math.Abs(x) < geometry.NoSide {
				size = math.Max(size, math.Abs(x))
			}
		}
		if target != nil {
			for _, sign := range []float64{1, -1} {
				target.MaximizeLinear(at, axis(len(at), i, sign))
				note(at[i])
			}
		}
		note(math.Min(math.Abs(lower[i]), math.Abs(upper[i])))
		if size == 0 {
			size = 1
		}
		if target != nil || lower[i] <= -Boundless || upper[i] >= Boundless {
			lower[i], upper[i] = math.Max(lower[i], -far*size), math.Min(upper[i], far*size)
		}
	}
}

// Extent returns a box around the returns of all policies whose totals are finite, which is found without planning.
// Its sides are ±[Boundless] where it has none.
func (p *Planner) Extent(ctx context.Context) (lower, upper []float64, err error) {
	lower, upper = make([]float64, p.dim()), make([]float64, p.dim())
	err = p.withPricer(ctx, allRelevant(p.dim()), Options{},
		func(q pricer) error { return q.extent(ctx, lower, upper) })
	return lower, upper, err
}
