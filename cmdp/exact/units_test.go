package exact_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// TestUnits checks that verdicts, optima and prices do not depend on the units in
// which the returns are given, however different they are.
func TestUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 4))
	ctx := context.Background()
	units := []float64{1e-9, 1e12, 1e-3}
	for trial := range 150 {
		m := randomModel(t, rng, shapeOf{states: 3, actions: 3, horizon: 3, dim: 3, successors: 3, rests: trial%2 == 0})
		bounds := randomReturns(m, rng)
		bounds[0] = math.Inf(1)
		for i, l := range box(t, m).Lower() {
			bounds[i] = max(bounds[i]-0.2*rng.Float64(), l+1e-3)
		}
		task := cmdp.Task{Cost: linear(t, box(t, m), []float64{1, 0, 0}), Target: atMost(t, box(t, m), bounds)}
		other := inUnits(t, m, units)
		for i := range bounds {
			bounds[i] *= units[i]
		}
		task2 := cmdp.Task{Cost: linear(t, box(t, other), []float64{1, 0, 0}), Target: atMost(t, box(t, other), bounds)}
		r, err := exact.Solve(ctx, m, task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		exact.Fits(t, m, task, r)
		r2, err := exact.Solve(ctx, other, task2, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if r.Status != r2.Status {
			t.Errorf("trial %d: %v and %v", trial, r.Status, r2.Status)
			continue
		}
		if r.Status == exact.Optimal && math.Abs(r.Objective*units[0]-r2.Objective) > 1e-8*units[0]*(1+
			math.Abs(r.Objective)) {
			t.Errorf("trial %d: %g and %g", trial, r.Objective, r2.Objective)
		}
	}
}

// inUnits multiplies each return by its unit.
func inUnits(t *testing.T, m *cmdp.Model, units []float64) *cmdp.Model {
	t.Helper()
	k := *m.Kernel(0).Plain(m.Dim())
	k.Returns = append([]float64(nil), k.Returns...)
	for j := range k.Returns {
		k.Returns[j] *= units[j%len(units)]
	}
	out, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: m.StartStates(),
		Kernels: []cmdp.Kernel{k}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
