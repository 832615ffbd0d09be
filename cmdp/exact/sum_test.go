package exact_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"
)

// TestSumSharesBlocks: where many parts share blocks of columns, the optimum is the same, and each part has
// returns of its own.
func TestSumSharesBlocks(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 33))
		var parts []exact.Part
		for range 7 {
			m := randomModel(t, rng, shapeOf{states: 3, actions: 3, horizon: 4, dim: 2, successors: 2})
			parts = append(parts, exact.Part{Model: m, Weight: 1 + float64(rng.IntN(3)), Returns: []int{0, 1}})
		}
		var found []*exact.Result
		for _, most := range []int{3, 100} {
			restore := exact.SetMostBlocks(most)
			p, err := exact.NewSumPlanner(parts, 2, []int{1}, 2)
			if err != nil {
				t.Fatal(err)
			}
			lower, upper, err := p.Ranges(t.Context(), exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Solve(t.Context(), sumTask(t, lower, upper), exact.Options{})
			restore()
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, r)
			if len(r.Parts) != len(parts) {
				t.Fatalf("%d parts: want %d", len(r.Parts), len(parts))
			}
			total := make([]float64, 6)
			for k, x := range r.Parts {
				for j, c := range x.Mixture {
					v := make([]float64, 2)
					cmdp.NewEvaluator(parts[k].Model).Returns(v, c.Policy)
					for i := range v {
						if math.Abs(v[i]-x.Returns[j][i]) > 1e-9 {
							t.Errorf("seed %d: part %d returns %v: want %v", seed, k, x.Returns[j][:2], v)
						}
					}
					for i, y := range x.Returns[j] {
						total[i] += parts[k].Weight * c.Weight * y
					}
					same := func(r []float64) bool { return slices.Equal(r, x.Returns[j]) }
					if most == 3 && slices.IndexFunc(x.Returns, same) < j {
						t.Errorf("seed %d: part %d has the same returns twice", seed, k)
					}
				}
			}
			for i := range total {
				if math.Abs(total[i]-r.Returns[i]) > 1e-9*(1+math.Abs(total[i])) {
					t.Errorf("seed %d: returns %v: want %v", seed, r.Returns, total)
				}
			}
		}
		if a, b := found[0], found[1]; a.Status != exact.Optimal || b.Status != exact.Optimal ||
			math.Abs(a.Objective-b.Objective) > 1e-8*(1+math.Abs(b.Objective)) {
			t.Errorf("seed %d: %v %v in shared blocks: want %v %v", seed, a.Status, a.Objective, b.Status, b.Objective)
		}
	}
}

// TestBudgetOfSums: each policy of all parts is priced in the time that is left, and with half of it there are mixtures
// that keep the limits long before the optimum is found.
func TestBudgetOfSums(t *testing.T) {
	kept := 0
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 34))
		var parts []exact.Part
		for range 7 {
			m := randomModel(t, rng, shapeOf{states: 3, actions: 3, horizon: 4, dim: 2, successors: 2})
			parts = append(parts, exact.Part{Model: m, Weight: 1, Returns: []int{0, 1}})
		}
		solve := func(budget time.Duration) (cmdp.Task, *exact.Result) {
			p, err := exact.NewSumPlanner(parts, 2, []int{1}, 1)
			if err != nil {
				t.Fatal(err)
			}
			lower, upper, err := p.Ranges(t.Context(), exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			task := sumTask(t, lower, upper)
			r, err := p.Solve(t.Context(), task, exact.OnTicks(exact.Options{Budget: budget}))
			if err != nil {
				t.Fatal(err)
			}
			return task, r
		}
		_, want := solve(0)
		for seconds := 3; seconds < 1000; seconds *= 2 {
			task, got := solve(time.Duration(seconds) * time.Second)
			if got.Iterations > seconds/3 { // a price asks for the time three times
				t.Errorf("seed %d: %d prices in %d s", seed, got.Iterations, seconds)
			}
			if got.Parts == nil {
				continue
			}
			kept++
			if !(task.Violation(got.Returns) <= got.Tolerance) || got.Objective < want.Objective-1e-8 ||
				got.Bound > want.Objective+1e-8 {
				t.Errorf("seed %d: %v in %d s: objective %g, bound %g, violation %g: the optimum is %g", seed, got.Status,
					seconds, got.Objective, got.Bound, task.Violation(got.Returns), want.Objective)
			}
		}
	}
	if kept < 12 {
		t.Errorf("%d answers keep the limits: want more", kept)
	}
}

// TestWeightsAreCopies: a part of weight n is n parts of weight 1: optimum, bound and what rounding may take are the
// same.
func TestWeightsAreCopies(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 35))
		sh := shapeOf{states: 3, actions: 3, horizon: 4, dim: 2, successors: 2}
		if seed%2 == 1 {
			sh.horizon, sh.discount = 0, 0.7
		}
		one := exact.Part{Model: randomModel(t, rng, sh), Weight: 1, Returns: []int{0, 1}}
		n := 4 + rng.IntN(5)
		var copies []exact.Part
		for range n {
			copies = append(copies, one)
		}
		heavy := one
		heavy.Weight = float64(n)
		var found [2]*exact.Result
		for k, parts := range [][]exact.Part{copies, {heavy}} {
			p, err := exact.NewSumPlanner(parts, 2, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			lower, upper, err := p.Ranges(t.Context(), exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			x, err := geometry.NewBox(lower, upper)
			if err != nil {
				t.Fatal(err)
			}
			found[k], err = p.Solve(t.Context(), cmdp.Task{Cost: linear(t, x, []float64{1, -0.5})}, exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
		}
		a, b := found[0], found[1]
		if near := 1e-9 * (1 + math.Abs(a.Objective)); math.Abs(a.Objective-b.Objective) > near ||
			math.Abs(a.Bound-b.Bound) > near {
			t.Errorf("seed %d: %g and %g of %d copies, %g and %g by weight", seed, a.Objective, a.Bound, n, b.Objective, b.Bound)
		}
		if b.Proof.Margin < a.Proof.Margin/2 {
			t.Errorf("seed %d: %d copies may lose %g, by weight %g", seed, n, a.Proof.Margin, b.Proof.Margin)
		}
	}
}

// sumTask minimises the negative of the first return, with the second at each step within a third of what it can be.
func sumTask(t *testing.T, lower, upper []float64) cmdp.Task {
	t.Helper()
	low, high := slices.Clone(lower), slices.Clone(upper)
	for i := 2; i < len(high); i++ {
		high[i] = lower[i] + 0.4*(upper[i]-lower[i])
	}
	box, err := geometry.NewBox(low, high)
	if err != nil {
		t.Fatal(err)
	}
	target, err := box.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	gradient := make([]float64, len(lower))
	gradient[0] = -1
	return cmdp.Task{Cost: linear(t, whole, gradient), Target: target, Box: whole}
}

func TestSumRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 34))
	m := randomModel(t, rng, shapeOf{states: 2, actions: 2, horizon: 3, dim: 2, successors: 2})
	longer := randomModel(t, rng, shapeOf{states: 2, actions: 2, horizon: 4, dim: 2, successors: 2})
	total := randomModel(t, rng, shapeOf{states: 2, actions: 2, dim: 2, successors: 2, discount: 1})
	good := exact.Part{Model: m, Weight: 1, Returns: []int{0, -1}}
	for name, of := range map[string]struct {
		parts []exact.Part
		dim   int
		each  []int
	}{
		"no parts":      {nil, 1, nil},
		"no model":      {[]exact.Part{{Weight: 1}}, 1, nil},
		"no weight":     {[]exact.Part{{Model: m, Returns: []int{0, 0}}}, 1, nil},
		"infinite":      {[]exact.Part{{Model: m, Weight: math.Inf(1), Returns: []int{0, 0}}}, 1, nil},
		"few returns":   {[]exact.Part{{Model: m, Weight: 1, Returns: []int{0}}}, 1, nil},
		"far return":    {[]exact.Part{{Model: m, Weight: 1, Returns: []int{0, 1}}}, 1, nil},
		"far each step": {[]exact.Part{good}, 1, []int{1}},
		"other horizon": {[]exact.Part{good, {Model: longer, Weight: 1, Returns: []int{0, -1}}}, 1, nil},
		"totals":        {[]exact.Part{{Model: total, Weight: 1, Returns: []int{0, -1}}}, 1, nil},
	} {
		if _, err := exact.NewSumPlanner(of.parts, of.dim, of.each, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := exact.NewSumPlanner([]exact.Part{good}, 1, []int{0}, 1); err != nil {
		t.Error(err)
	}
}
