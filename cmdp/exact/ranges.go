package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
)

// Ranges returns, for each coordinate, the least and the greatest expected return
// over all policies, by a value iteration for each; discounted sums and totals are bounds,
// rounded outwards, and totals may be infinite. Of opts only Workers and Working are used.
func Ranges(ctx context.Context, m *cmdp.Model, opts Options) (lower, upper []float64, err error) {
	if err := checkTask(m, cmdp.Task{}); err != nil {
		return nil, nil, err
	}
	opts, err = opts.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	lower, upper = make([]float64, m.Dim()), make([]float64, m.Dim())
	if m.Horizon() == 0 && !m.Means() {
		err := analyseReachable(m, opts.Workers, opts.Working).ranges(ctx, lower, upper)
		infiniteSides(lower, upper)
		return lower, upper, err
	}
	p, err := newPricer(m, opts.Workers, noneRelevant(m.Dim()), opts.Working)
	if err != nil {
		return nil, nil, err
	}
	if m.Means() && !m.Average() { // of the others
		if err := analyseReachable(m, opts.Workers, opts.Working).ranges(ctx, lower, upper); err != nil {
			return nil, nil, err
		}
		infiniteSides(lower, upper)
	}
	err = extremes(ctx, p, lower, upper, func(i int) bool { return m.Means() && !m.Mean(i) })
	return lower, upper, err
}

// extremes sets lower and upper to the extremes of each coordinate over all policies, but for those that are known.
func extremes(ctx context.Context, p pricingProblem, lower, upper []float64, known func(i int) bool) error {
	for i := range lower {
		if known != nil && known(i) {
			continue
		}
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
			if math.Abs(x) < Boundless {
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
