package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/geometry"
	"cmdpsolve/internal/threshold"
)

// ranges remembers the extremes of the total return of a model, which are problems of
// their own.
type ranges struct {
	mu           sync.Mutex
	lower, upper []float64
}

// of sets lower and upper to the extremes of the total return.
func (r *ranges) of(ctx context.Context, planner *exact.Planner, lower, upper []float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lower == nil {
		least, most, err := planner.Ranges(ctx)
		if err != nil {
			return problem.Inside(err, "discount")
		}
		for i := range least {
			least[i], most[i] = max(least[i], -exact.Boundless), min(most[i], exact.Boundless)
		}
		r.lower, r.upper = least, most
	}
	copy(lower, r.lower)
	copy(upper, r.upper)
	return nil
}

// largest is the largest magnitude of returns and of bounds, that which geometry takes.
const largest = 1e100

// box returns the box of possible returns: with a horizon, the sums of the
// extremes of single steps, cut to the promised range of the return to go; with
// a discount below 1, the geometric series of the extremes, and at most 1 of what is
// reached once; with discount 1, bounds of the expected total return over all policies,
// [exact.Boundless] where it may be infinite; of
// long-run averages, the extremes of single steps. Errors say which key of the file they are about.
func (b *taskBuilder) box(ctx context.Context) (*geometry.Box, error) {
	m, shape, d := b.process.Model, b.process.Shape(), len(b.returns)
	lower, upper := make([]float64, d), make([]float64, d)
	key := "returns"
	switch {
	case b.fleet != nil:
		low, high, err := b.fleet.planner.Exact().Extent(ctx)
		if err != nil {
			return nil, err
		}
		lower, upper = low, high
	case shape != nil:
		shape.ReturnToGo(lower, upper, 0)
	case m.Average():
		key = "criterion"
		stepRange(m, lower, upper)
	case m.Discount() == 1:
		key = "discount"
		if uncertain(b.problem) { // what totals can be depends on the model of the set
			for i := range lower {
				lower[i], upper[i] = -exact.Boundless, exact.Boundless
			}
		} else if err := b.extremes(ctx, lower, upper); err != nil {
			return nil, err
		}
		low, high := make([]float64, d), make([]float64, d)
		stepRange(m, low, high)
		for i := range lower {
			if m.Mean(i) {
				lower[i], upper[i] = low[i], high[i]
			}
		}
	default:
		key = "discount"
		stepRange(m, lower, upper)
		for i := range lower {
			lower[i] /= 1 - m.Discount()
			upper[i] /= 1 - m.Discount()
			of := slices.Index(b.problem.Returns, b.returns[i])
			if of >= 0 && b.problem.Kinds != nil && b.problem.Kinds[of].Reach != nil { // which counts once
				lower[i], upper[i] = max(lower[i], 0), min(upper[i], 1)
			}
		}
	}
	for i := range lower {
		if max(-lower[i], upper[i]) > largest {
			return nil, problem.Inside(fmt.Errorf("return %s: its possible values go from %g to %g: want at most %g",
				b.returns[i], lower[i], upper[i], largest), key)
		}
	}
	return geometry.NewBox(lower, upper)
}

// extremes sets lower and upper to bounds of the totals. In a large model they are not sought for limits and
// goals of single returns alone: signs of returns bound what they can, and the box is as wide elsewhere as
// where totals may be infinite.
func (b *taskBuilder) extremes(ctx context.Context, lower, upper []float64) error {
	m := b.process.Model
	if m.States() < threshold.Ranged || m.Means() || b.problem.Goal.Cost != nil || b.problem.Target != nil {
		planner, err := b.planner()
		if err != nil {
			return err
		}
		return b.ranges.of(ctx, planner, lower, upper)
	}
	stepRange(m, lower, upper)
	for i := range lower {
		below, above := lower[i] < 0, upper[i] > 0
		lower[i], upper[i] = 0, 0
		if below {
			lower[i] = -exact.Boundless
		}
		if above {
			upper[i] = exact.Boundless
		}
	}
	return nil
}

// stepRange sets lower and upper to the extremes of one step, 0 included if the
// process can rest.
func stepRange(m *cmdp.Model, lower, upper []float64) {
	rows, rests := m.Rows(0), false
	for i := range lower {
		lower[i], upper[i] = math.Inf(1), math.Inf(-1)
	}
	add := func(returns []float64) {
		for i, x := range returns {
			lower[i], upper[i] = min(lower[i], x), max(upper[i], x)
		}
	}
	for s := range m.States() {
		first, end := rows.Choices(s)
		rests = rests || first == end
		for c := first; c < end; c++ {
			next, _ := rows.Row(c)
			for e := range next {
				add(rows.Outcome(c, e))
			}
		}
	}
	if rests {
		add(make([]float64, len(lower)))
	}
}
