package exact_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"
)

// TestSolveAgainstOccupancyLP compares verdicts and optima with the occupancy
// program on random problems with a linear cost and bounds on the other returns.
func TestSolveAgainstOccupancyLP(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	feasible, infeasible, most := 0, 0, 0
	for trial := range 500 {
		sh := shapeOf{states: 1 + rng.IntN(4), actions: 3, horizon: 1 + rng.IntN(4), dim: 1 + rng.IntN(4),
			successors: 3,
			stepwise:   trial%2 == 0, rests: trial%3 == 0, integer: trial%5 == 0}
		m := randomModel(t, rng, sh)
		x := box(t, m)
		c := make([]float64, sh.dim)
		for i := range c {
			c[i] = rng.NormFloat64()
		}
		task, rows := randomTask(t, rng, m, x, c)
		r, err := exact.Solve(context.Background(), m, task, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		exact.Fits(t, m, task, r)
		want := Occupancy(t, m, c, rows)
		if (want.Status == lp.Infeasible) != (r.Status == exact.Infeasible) {
			t.Fatalf("trial %d: %v, want %v (%+v)", trial, r.Status, want.Status, r)
		}
		if r.Status == exact.Infeasible {
			infeasible++
			continue
		}
		feasible++
		most = max(most, r.Iterations)
		checkOptimal(t, trial, m, task, r, want.Objective, 1e-9)
		if r.Randomized > len(rows) {
			t.Errorf("trial %d: %d randomised pairs with %d rows", trial, r.Randomized, len(rows))
		}
	}
	if feasible < 150 || infeasible < 50 {
		t.Errorf("%d feasible and %d infeasible: want many of both", feasible, infeasible)
	}
	t.Logf("%d feasible, %d infeasible, at most %d value iterations", feasible, infeasible, most)
}

// randomTask bounds some returns from above near what some policy reaches.
func randomTask(t *testing.T, rng *rand.Rand, m *cmdp.Model, x *geometry.Box,
	c []float64) (cmdp.Task, []cmdp.Constraint) {
	t.Helper()
	g, err := cost.NewLinear(c, x)
	if err != nil {
		t.Fatal(err)
	}
	bounds, at := make([]float64, m.Dim()), randomReturns(m, rng)
	var rows []cmdp.Constraint
	for i := range bounds {
		bounds[i] = math.Inf(1)
		if rng.IntN(3) > 0 {
			bounds[i] = max(x.Lower()[i], at[i]-0.3*rng.Float64()*min(1, x.Upper()[i]-x.Lower()[i]))
			n := make([]float64, len(bounds))
			n[i] = 1
			rows = append(rows, cmdp.Constraint{Normal: n, Offset: bounds[i]})
		}
	}
	return cmdp.Task{Cost: g, Target: atMost(t, x, bounds)}, rows
}

func Occupancy(t *testing.T, m *cmdp.Model, c []float64, rows []cmdp.Constraint) *lp.Solution {
	t.Helper()
	p, err := exact.OccupancyLP(m, c, rows)
	if err != nil {
		t.Fatal(err)
	}
	sol, err := lp.Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	return sol
}

// checkOptimal checks everything that an optimal result promises.
func checkOptimal(t *testing.T, trial int, m *cmdp.Model, task cmdp.Task, r *exact.Result, want, tol float64) {
	t.Helper()
	size := 1 + math.Abs(want)
	if r.Status != exact.Optimal {
		t.Fatalf("trial %d: %v: %+v", trial, r.Status, r)
	}
	if math.Abs(r.Objective-want) > 1e-7*size {
		t.Errorf("trial %d: objective %.12g, want %.12g", trial, r.Objective, want)
	}
	if r.Bound > r.Objective || r.Bound > want+1e-7*size || r.Gap > tol*size {
		t.Errorf("trial %d: bound %.15g and objective %.15g, gap %g", trial, r.Bound, r.Objective, r.Gap)
	}
	if r.Violation > r.Tolerance {
		t.Errorf("trial %d: violation %g", trial, r.Violation)
	}
	if n := drawnPairs(m, r.Policy); r.Randomized != n {
		t.Errorf("trial %d: %d randomised pairs, and the policy draws in %d", trial, r.Randomized, n)
	}
	v := make([]float64, m.Dim())
	if m.Horizon() > 0 {
		cmdp.NewEvaluator(m).Returns(v, r.Policy)
		for i := range v {
			if math.Abs(v[i]-r.Returns[i]) > 1e-12*size {
				t.Errorf("trial %d: returns %v, evaluated %v", trial, r.Returns, v)
			}
		}
	}
}

// drawnPairs returns in how many pairs of a step and a state a policy draws.
func drawnPairs(m *cmdp.Model, policy cmdp.Policy) (n int) {
	for h := range max(1, m.Horizon()) {
		rows := m.Rows(h)
		for s := range m.States() {
			first, end := rows.Choices(s)
			if end == first {
				continue
			}
			probs := make([]float64, end-first)
			policy.Distribution(probs, h, s)
			if slices.Max(probs) < 1 {
				n++
			}
		}
	}
	return n
}
