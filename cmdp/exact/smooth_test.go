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

// TestSolveConvex solves random problems with costs and targets of every kind and
// checks the promise that is its own proof: bound ≤ objective within 1e-7, the
// target met, and no random policy that meets the target below the bound.
func TestSolveConvex(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 4))
	counts, most, worst := map[exact.Verdict]int{}, 0, 0.0
	for trial := range 300 {
		sh := shapeOf{states: 1 + rng.IntN(5), actions: 3, horizon: 1 + rng.IntN(5), dim: 1 + rng.IntN(4),
			successors: 3,
			stepwise:   trial%2 == 0, rests: trial%3 == 0, integer: trial%5 == 0}
		m := randomModel(t, rng, sh)
		x := box(t, m)
		task := cmdp.Task{Cost: randomCost(t, rng, x),
			Target: randomTarget(t, rng, x, randomReturns(m, rng), randomReturns(m, rng))}
		r, err := exact.Solve(context.Background(), m, task, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %T on %T: %v", trial, task.Cost, task.Target, err)
		}
		exact.Fits(t, m, task, r)
		counts[r.Status]++
		most = max(most, r.Iterations)
		if r.Status == exact.Infeasible {
			continue
		}
		if r.Status == exact.Undecided {
			t.Errorf("trial %d: %T on %T: objective %g, bound %g, gap %g, violation %g, %d iterations", trial,
				task.Cost, task.Target, r.Objective, r.Bound, r.Gap, r.Violation, r.Iterations)
			continue
		}
		worst = max(worst, r.Gap/(1+math.Abs(r.Objective)))
		checkOptimal(t, trial, m, task, r, r.Objective, 1e-7)
		for range 50 {
			v := randomReturns(m, rng)
			if task.Target != nil && !geometry.Contains(task.Target, v, 0) {
				continue
			}
			if g := task.Cost.Value(v); g < r.Bound {
				t.Errorf("trial %d: a policy costs %g, below the bound %g", trial, g, r.Bound)
			}
		}
	}
	t.Logf("%v, at most %d value iterations, gap at most %g", counts, most, worst)
}

func randomCost(t *testing.T, rng *rand.Rand, x *geometry.Box) cost.Cost {
	t.Helper()
	d := x.Dim()
	center, weights, other := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range center {
		center[i] = x.Lower()[i] + rng.Float64()*(x.Upper()[i]-x.Lower()[i])
		weights[i], other[i] = 0.1+rng.Float64(), rng.NormFloat64()
	}
	var c cost.Cost
	var err error
	switch rng.IntN(8) {
	case 0:
		c, err = cost.NewSquared(center, weights, x)
	case 1:
		c, err = cost.NewNorm(2, center, x)
	case 2:
		c, err = cost.NewNorm(1, center, x)
	case 3:
		c, err = cost.NewLogSumExp(0.5, x)
	case 4:
		c, err = cost.NewHuber(center, weights, 0.3, x)
	case 5:
		c, err = cost.NewMaxAffine([][]float64{weights, other, center}, []float64{0, 0.2, -0.3}, x)
	case 6:
		var ball *geometry.Ball
		if ball, err = geometry.NewBall(center, 0.2); err == nil {
			c, err = cost.NewDistance(ball)
		}
	default:
		c, err = cost.NewLinear(other, x)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// randomTarget draws a target near two achievable points.
func randomTarget(t *testing.T, rng *rand.Rand, x *geometry.Box, a, b []float64) geometry.Compact {
	t.Helper()
	d := x.Dim()
	mid, normal := make([]float64, d), make([]float64, d)
	for i := range mid {
		mid[i] = a[i] + 0.3*(b[i]-a[i])
		normal[i] = rng.NormFloat64()
	}
	shift := 0.3 * rng.NormFloat64()
	var set geometry.Set
	var err error
	switch rng.IntN(6) {
	case 0:
		return nil
	case 1:
		set, err = geometry.NewBall(mid, 0.05+0.4*rng.Float64())
	case 2:
		offset := shift
		for i, n := range normal {
			offset += n * mid[i]
		}
		set, err = geometry.NewHalfspace(normal, offset)
	case 3:
		set, err = geometry.NewPoint(mid)
	case 4:
		shape := make([][]float64, d)
		for i := range shape {
			shape[i] = make([]float64, d)
			shape[i][i] = 1 / math.Pow(0.1+0.5*rng.Float64(), 2)
		}
		set, err = geometry.NewEllipsoid(mid, shape)
	default:
		set, err = geometry.NewL1Ball(mid, 0.1+0.3*rng.Float64())
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := geometry.Restrict(set, x)
	if err != nil {
		return randomTarget(t, rng, x, a, b) // empty
	}
	return c
}
