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

// TestPricesBesideCurves bounds a return of a task with a ball as target, from one side
// or to a value: the price of the bound, less that of the opposite one, is the
// rate at which the optimum changes with it, no part of which is the price of the ball.
func TestPricesBesideCurves(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	rng := rand.New(rand.NewPCG(8, 61))
	binding, equalities := 0, 0
	for trial := range 200 {
		d := 2 + rng.IntN(2)
		m := randomModel(t, rng, shapeOf{states: 2, actions: 4, horizon: 2, dim: d, successors: 2})
		x, at := box(t, m), randomReturns(m, rng)
		ball, err := geometry.NewBall(at, 0.2+0.2*rng.Float64())
		if err != nil {
			t.Fatal(err)
		}
		c := make([]float64, d)
		for i := range c {
			c[i] = rng.NormFloat64()
		}
		equality := trial%2 == 0
		bound := at[0] + 0.1*rng.NormFloat64()
		solve := func(bound float64) *exact.Result {
			lower, upper := x.Lower(), x.Upper()
			rows := []cmdp.Constraint{{Normal: make([]float64, d), Offset: bound}}
			rows[0].Normal[0] = 1
			if upper[0] = min(upper[0], bound); equality {
				lower[0] = bound
				rows = append(rows, cmdp.Constraint{Normal: make([]float64, d), Offset: -bound})
				rows[1].Normal[0] = -1
			}
			cut, err := geometry.NewBox(lower, upper)
			if err != nil {
				return nil
			}
			target, err := geometry.Restrict(ball, cut)
			if err != nil {
				return nil
			}
			r, err := exact.Solve(context.Background(), m,
				cmdp.Task{Cost: linear(t, x, c), Target: target, Constraints: rows}, exact.Options{})
			if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			if r.Status != exact.Optimal {
				return nil
			}
			return r
		}
		const step = 1e-4
		before, r, after := solve(bound-step), solve(bound), solve(bound+step)
		if before == nil || r == nil || after == nil {
			continue
		}
		price := r.Prices[0].Value
		if equality {
			price -= r.Prices[1].Value
			equalities++
		}
		left, right := (before.Objective-r.Objective)/step, (r.Objective-after.Objective)/step
		tol := 0.02 * (0.1 + math.Abs(left) + math.Abs(right))
		if price < math.Min(left, right)-tol || price > math.Max(left, right)+tol {
			t.Errorf("trial %d: equality %v: price %g, rates %g and %g", trial, equality, price, left, right)
		}
		if math.Abs(price) > 0.01 {
			binding++
		}
	}
	if binding < 50 || equalities < 20 {
		t.Errorf("%d binding, %d equalities: want many", binding, equalities)
	}
	t.Logf("%d binding, %d equalities", binding, equalities)
}

// TestPricesOfScaledLimits: with a curved cost a limit that is written in other units has its price in these.
func TestPricesOfScaledLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 34))
	priced := 0
	for trial := range 40 {
		d := 2 + rng.IntN(2)
		m := randomModel(t, rng, shapeOf{states: 3, actions: 4, horizon: 3, dim: d, successors: 2})
		x := box(t, m)
		g, at := randomCost(t, rng, x), randomReturns(m, rng)
		normal := make([]float64, d)
		for i := range normal {
			normal[i] = rng.NormFloat64()
		}
		if trial%2 == 0 { // a limit that is hardly kept at all has many multipliers, of which the least counts
			r, err := exact.Solve(context.Background(), m, cmdp.Task{Cost: linear(t, x, normal)}, exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			at = r.Returns
		}
		price := func(unit float64) float64 {
			row := cmdp.Constraint{Normal: make([]float64, d)}
			for i, y := range normal {
				row.Normal[i] = unit * y
				row.Offset += unit * y * at[i]
			}
			half, err := geometry.NewHalfspace(row.Normal, row.Offset)
			if err != nil {
				t.Fatal(err)
			}
			target, err := geometry.Restrict(half, x)
			if err != nil {
				t.Fatal(err)
			}
			task := cmdp.Task{Cost: g, Target: target, Constraints: []cmdp.Constraint{row}}
			if trial%3 == 0 { // who gives room to one of two that are the same gains nothing
				task.Constraints = append(task.Constraints, row)
			}
			r, err := exact.Solve(context.Background(), m, task, exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			exact.Fits(t, m, task, r)
			if r.Status != exact.Optimal {
				return math.NaN()
			}
			return unit * r.Prices[0].Value
		}
		want := price(1)
		if want > 1e-3 {
			priced++
		}
		for _, unit := range []float64{1e-8, 1e8} {
			if got := price(unit); math.Abs(got-want) > 1e-2*math.Max(want, 0.1) {
				t.Errorf("trial %d: in units of %g the price is %g: want %g", trial, unit, got, want)
			}
		}
	}
	if priced < 8 {
		t.Errorf("%d prices: want more", priced)
	}
}
