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

	"gonum.org/v1/gonum/floats"
)

// stayed is a model with a place to stay in: state 1 returns (1, 1) in each step, and
// leaves for rest at no cost; state 0 goes there at a cost of 0.5 or rests with a reward of 2.
func stayed(t *testing.T, pay, toll float64) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
	for _, r := range []struct {
		s, a, next int
		returns    []float64
	}{{0, 0, 1, []float64{0, 0.5}}, {0, 1, 2, []float64{2, 0}}, {1, 0, 1, []float64{pay, toll}},
		{1, 1, 2, []float64{0, 0}}} {
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: r.s, Action: r.a, Returns: r.returns,
			Next: []cmdp.Transition{{Next: r.next, Probability: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func reward(t *testing.T) cost.Cost {
	t.Helper()
	x, err := geometry.NewBox([]float64{-1e99, -1e99}, []float64{1e99, 1e99})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cost.NewLinear([]float64{-1, 0}, x)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func costAtMost(t *testing.T, bound float64) geometry.Compact {
	t.Helper()
	b, err := geometry.NewBox([]float64{-1e99, 0}, []float64{1e99, bound})
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUnbounded maximises a reward that can be had in each step of a place to stay in.
// What a step costs there, if anything, decides how long it is worth to stay.
func TestUnbounded(t *testing.T) {
	ctx := context.Background()
	t.Run("without a limit", func(t *testing.T) {
		m := stayed(t, 1, 1)
		r, err := exact.Solve(ctx, m, cmdp.Task{Cost: reward(t)}, exact.Options{})
		if err != nil || r.Status != exact.Unbounded || r.Return != 0 || !math.IsInf(r.Returns[0], 1) {
			t.Fatalf("%v, %+v: want it unbounded in return 0", err, r)
		}
		probs := make([]float64, 2)
		if r.Policy.Distribution(probs, 0, 1); probs[0] != 1 {
			t.Errorf("state 1 is played by %v: want it to stay", probs)
		}
		if r.Policy.Distribution(probs, 0, 0); probs[0] == 0 {
			t.Errorf("state 0 is played by %v: want it to go to state 1", probs)
		}
	})
	t.Run("where staying is free", func(t *testing.T) {
		r, err := exact.Solve(ctx, stayed(t, 1, 0), cmdp.Task{Cost: reward(t), Target: costAtMost(t, 0.1)},
			exact.Options{})
		if err != nil || r.Status != exact.Unbounded || r.Return != 0 {
			t.Fatalf("%v, %+v: want it unbounded in return 0", err, r)
		}
	})
	t.Run("where staying costs", func(t *testing.T) {
		// In the limit of coming there ever more rarely and staying ever longer: 2 + 5.
		m := stayed(t, 1, 1)
		task := cmdp.Task{Cost: reward(t), Target: costAtMost(t, 5)}
		r, err := exact.Solve(ctx, m, task, exact.Options{})
		if err != nil || r.Status != exact.Optimal || math.Abs(r.Objective+7) > 1e-8 || r.Bound > -7 ||
			r.Bound < -7-1e-8 {
			t.Fatalf("%v, %+v: want -7", err, r)
		}
		if r.Returns[1] > 5+1e-8 {
			t.Errorf("the policy costs %g: want at most 5", r.Returns[1])
		}
		if bound, err := exact.VerifyBound(ctx, m, task, r.Proof); err != nil || bound < -7-1e-8 {
			t.Errorf("the bound is verified to be %g, %v: want -7", bound, err)
		}
	})
	t.Run("where what it returns does not matter", func(t *testing.T) {
		// The reward is only asked to be at least 1: it may go on for ever.
		b, err := geometry.NewBox([]float64{3, -1e99}, []float64{1e99, 1})
		if err != nil {
			t.Fatal(err)
		}
		target, err := b.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(ctx, stayed(t, 1, 0), cmdp.Task{Target: target}, exact.Options{})
		if err != nil || r.Status != exact.Optimal || !(r.Returns[0] >= 3-1e-9) || r.Returns[1] > 1 {
			t.Fatalf("%v, %+v: want it met", err, r)
		}
	})
}

// TestUnboundedReturn names the return that changes the cost most in each step of the place where a policy stays.
func TestUnboundedReturn(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 1))
	const d = 3
	x, err := geometry.NewBox(slices.Repeat([]float64{-exact.Boundless}, d),
		slices.Repeat([]float64{exact.Boundless}, d))
	if err != nil {
		t.Fatal(err)
	}
	for trial := range 50 {
		gain, slope, falls := make([]float64, d), make([]float64, d), make([]float64, d)
		for i := range gain {
			gain[i], slope[i] = rng.NormFloat64(), rng.NormFloat64()
			falls[i] = gain[i] * slope[i]
		}
		if floats.Sum(falls) > 0 {
			floats.Scale(-1, slope)
			floats.Scale(-1, falls)
		}
		k := cmdp.NewKernel()
		k.Append([]int32{0}, []float64{1}, gain)
		k.Append([]int32{1}, []float64{1}, make([]float64, d))
		k.EndState()
		k.EndState()
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: d, Kernels: []cmdp.Kernel{k},
			Start: []cmdp.StartState{{State: 0, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(t.Context(), m, cmdp.Task{Cost: linear(t, x, slope)}, exact.Options{})
		if want := floats.MinIdx(falls); err != nil || r.Status != exact.Unbounded || r.Return != want {
			t.Errorf("trial %d: %v, %+v: want that return %d grows, of those that fall by %v", trial, err, r, want,
				falls)
		}
	}
}

// TestGathersLittle: a limit on a total that can be gathered for ever is kept, however little a step gives: where that
// is too little to be counted, a policy that goes on for ever is drawn rarely. State 1 pays so little, and the other
// return is best at rest.
func TestGathersLittle(t *testing.T) {
	for _, pay := range []float64{1e-3, 1e-9, 1e-12, 1e-18, 1e-30} {
		spec := cmdp.ModelSpec{Discount: 1, Dim: 2, Start: []cmdp.StartState{{State: 1, Probability: 1}}}
		b := cmdp.NewBuilder(spec, 3)
		for _, r := range []cmdp.Row{
			{State: 1, Action: 0, Returns: []float64{pay, 0}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
			{State: 1, Action: 1, Returns: []float64{0, 1}, Next: []cmdp.Transition{{Next: 2, Probability: 1}}},
		} {
			r.Step = cmdp.EveryStep
			if err := b.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		x, err := geometry.NewBox([]float64{0, 0}, []float64{exact.Boundless, 1})
		if err != nil {
			t.Fatal(err)
		}
		within, err := geometry.NewBox([]float64{1, 0}, []float64{exact.Boundless, 1})
		if err != nil {
			t.Fatal(err)
		}
		target, err := within.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(t.Context(), m, cmdp.Task{Cost: linear(t, x, []float64{0, -1}), Target: target},
			exact.Options{})
		if err != nil || r.Status != exact.Optimal || math.Abs(r.Objective+1) > 1e-9 || !(r.Returns[0] > 1-1e-9) {
			t.Errorf("%g a step: %v, %+v: want an objective of -1 and a total of 1 or more", pay, err, r)
		}
	}
}
