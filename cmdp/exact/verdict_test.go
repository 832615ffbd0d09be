package exact_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// TestOptimalMeansWithinTheGap stops the solver after each number of value iterations:
// "optimal" is said only of what is within the stated part of the spread of the cost, or
// of the optimum, which another run finds without a limit; and the bound is one.
func TestOptimalMeansWithinTheGap(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	rng := rand.New(rand.NewPCG(66, 4))
	ctx := context.Background()
	near := map[bool]int{}
	for trial := range 30 {
		sh := shapeOf{states: 6, actions: 4, horizon: 6, dim: 3, successors: 4, stepwise: true}
		m := randomModel(t, rng, sh)
		x, smooth := box(t, m), trial%2 == 0
		c := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		task, rows := randomTask(t, rng, m, x, c)
		task.Constraints = rows
		spread := 0.0
		for i, y := range c {
			spread += math.Abs(y) * (x.Upper()[i] - x.Lower()[i])
		}
		gap := 1e-10
		if smooth {
			g, err := cost.NewSquared(randomReturns(m, rng), []float64{1, 2, 3}, x)
			if err != nil {
				t.Fatal(err)
			}
			task.Cost, gap = g, 2e-8
			spread = g.Lipschitz() * length([]float64{x.Upper()[0] - x.Lower()[0], x.Upper()[1] - x.Lower()[1],
				x.Upper()[2] - x.Lower()[2]})
		}
		best, err := exact.Solve(ctx, m, task, exact.Options{Gap: 1e-15})
		if err != nil {
			t.Fatal(err)
		}
		if math.IsInf(best.Bound, -1) || best.Status == exact.Infeasible {
			continue
		}
		for limit := 1; limit <= 16; limit++ {
			for _, asked := range []float64{0, []float64{1e-2, 1e-5}[limit%2]}[:1+limit%3/2] {
				r, err := exact.Solve(ctx, m, task, exact.Options{Iterations: limit, Gap: asked})
				if err != nil {
					t.Fatal(err)
				}
				allowed := gap
				if asked > 0 {
					allowed = asked
				}
				allowed *= math.Max(spread, math.Abs(best.Objective))
				if r.Bound > best.Objective+1e-9*spread {
					t.Errorf("trial %d: %d value iterations: bound %g above the optimum %g", trial, limit, r.Bound,
						best.Objective)
				}
				// The rounding of the bound may come on top, far below what is looked for.
				if r.Status == exact.Optimal && (r.Gap > 1.1*allowed ||
					r.Objective-best.Bound > 1.1*allowed+1e-9*spread) {
					t.Errorf("trial %d: %d value iterations: %g is called optimal, with the gap %g of which %g is "+
						"allowed, the bound is %g", trial, limit, r.Objective, r.Gap, allowed, best.Bound)
				}
				if asked == 0 && r.Status == exact.Undecided && r.Gap > allowed && r.Gap < 1e-3*spread {
					near[smooth]++
				}
			}
		}
	}
	if near[true] < 20 || near[false] < 5 {
		t.Errorf("%v: want many that were stopped just before", near)
	}
}

// TestMissesThatRoundingHides has returns of 1e9 that cancel, and targets that are missed
// by less than rounding lets anyone prove, but by far more than the tolerance: they are
// neither out of reach nor met.
func TestMissesThatRoundingHides(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 3, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for h, r := range []float64{1e9, 0.5, -1e9} {
		if err := b.Add(cmdp.Row{Step: h + 1, Returns: []float64{r},
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, miss := range []float64{1e-8, 1e-7, 1e-6} {
		point, err := geometry.NewPoint([]float64{0.5 - miss})
		if err != nil {
			t.Fatal(err)
		}
		for kind, target := range map[string]geometry.Compact{"bounds": bounded(t, []float64{-5},
			[]float64{0.5 - miss}), "point": point} {
			r, err := exact.Solve(context.Background(), m, cmdp.Task{Target: target}, exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != exact.Undecided || r.Tolerance > 1e-9 {
				t.Errorf("%s missed by %g: %v with a violation of %g, tolerance %g", kind, miss, r.Status, r.Violation,
					r.Tolerance)
			}
		}
	}
}

// TestLongHorizonsAreUndecided: over 600,000 steps the bound of rounding comes to 4e-10
// of the optimum, more than is called rounding; over a thousand it does not.
func TestLongHorizonsAreUndecided(t *testing.T) {
	for horizon, want := range map[int]exact.Verdict{1000: exact.Optimal, 600000: exact.Undecided} {
		b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 1,
			Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
		for a, r := range []float64{0.1, 1} {
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, Action: a, Returns: []float64{r},
				Next: []cmdp.Transition{{Next: 0, Probability: 1}}}); err != nil {
				t.Fatal(err)
			}
		}
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(context.Background(), m, cmdp.Task{Cost: linear(t, box(t, m), []float64{-1})},
			exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != want || math.Abs(r.Objective+float64(horizon)) > 1e-8*float64(horizon) {
			t.Errorf("horizon %d: %v, objective %g with gap %g: want %v", horizon, r.Status, r.Objective, r.Gap, want)
		}
	}
}
