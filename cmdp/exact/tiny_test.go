package exact_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"
)

// TestUnitsFarApart plans with returns of all magnitudes, under limits in proportion to
// them and out of all proportion. Of returns too small to be rounded relative to their
// size, an answer right to 1e-300 is all that is asked for.
func TestUnitsFarApart(t *testing.T) {
	whole, err := geometry.NewBox([]float64{-1e99, -1e99}, []float64{1e99, 1e99})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []float64{1e-320, 1e-310, 1e-300, 1e-160, 1e-100, 1e-30, 1, 1e30, 1e98} {
		b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
			1)
		for a, r := range [][]float64{{-3, -1}, {0, 1}, {1, 2}} {
			row := cmdp.Row{Step: cmdp.EveryStep, Action: a, Next: []cmdp.Transition{{Next: 0, Probability: 1}},
				Returns: []float64{r[0] * x, r[1] * x}}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []float64{0, 1.5 * x, -1, 1, -1e7, 1e7, 1e-200, 1e-310} {
			above, err := geometry.NewBox([]float64{math.Inf(-1), limit}, []float64{math.Inf(1), math.Inf(1)})
			if err != nil {
				t.Fatal(err)
			}
			target, err := geometry.Restrict(above, whole)
			if err != nil {
				t.Fatal(err)
			}
			task := cmdp.Task{Cost: linear(t, box(t, m), []float64{1, 0}), Target: target}
			r, err := exact.Solve(context.Background(), m, task, exact.Options{})
			if err != nil {
				t.Errorf("returns of %g, limit %g: %v", x, limit, err)
				continue
			}
			exact.Fits(t, m, task, r)
			y := limit / x // the cheapest are the mixtures of the first and the last choice
			switch want := x * (-3 + 4./3*math.Max(0, y+1)); {
			case y > 2+1e-9 && limit > 1e-290:
				if r.Status != exact.Infeasible {
					t.Errorf("returns of %g, limit %g: %v: want infeasible", x, limit, r.Status)
				}
			case r.Status != exact.Optimal:
				t.Errorf("returns of %g, limit %g: %v: want optimal", x, limit, r.Status)
			case y <= 2 && math.Abs(r.Objective-want) > 1e-9*x+1e-300:
				t.Errorf("returns of %g, limit %g: %g: want %g", x, limit, r.Objective, want)
			}
		}
	}
}

// TestLimitsFarAway draws limits from 1 to 1e27 times as far away as returns of all sizes can come. One that a
// return alone cannot keep makes the task infeasible.
func TestLimitsFarAway(t *testing.T) {
	for trial := range 400 {
		rng := rand.New(rand.NewPCG(uint64(trial), 99))
		m := randomModel(t, rng, shapeOf{states: 2, actions: 2, horizon: 2, dim: 1 + rng.IntN(3), successors: 1})
		units := make([]float64, m.Dim())
		for i := range units {
			units[i] = math.Pow(10, float64(rng.IntN(20)-14))
		}
		m = inUnits(t, m, units)
		lower, upper := box(t, m).Lower(), box(t, m).Upper()
		least, most, beyond := make([]float64, len(lower)), make([]float64, len(lower)), false
		for i, u := range units {
			least[i], most[i] = lower[i]-u, upper[i]+u
			if rng.IntN(2) == 0 {
				least[i] = (rng.Float64() - 0.3) * u * math.Pow(10, float64(rng.IntN(28)))
				most[i] = max(most[i], least[i])
			}
			beyond = beyond || least[i] > upper[i]
		}
		asked, err := geometry.NewBox(least, most)
		if err != nil {
			t.Fatal(err)
		}
		target, err := asked.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(context.Background(), m, cmdp.Task{Target: target, Whole: asked}, exact.Options{})
		switch {
		case err != nil:
			t.Errorf("trial %d: %v", trial, err)
		case beyond && r.Status != exact.Infeasible:
			t.Errorf("trial %d: %v: want infeasible", trial, r.Status)
		}
	}
}
