package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// inSteps returns the model with a horizon in the place of none.
func inSteps(t *testing.T, m *cmdp.Model, horizon int) *cmdp.Model {
	t.Helper()
	out, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: horizon, Dim: m.Dim(), Start: m.StartStates(),
		Kernels: []cmdp.Kernel{*m.Kernel(0)}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// drawEnding draws a model in which an action ends with a probability of a tenth or more. If waits is true, it
// may also wait or go elsewhere for nothing, and returns are costs: what is worth having could be had just
// before the last of many steps.
func drawEnding(t *testing.T, rng *rand.Rand, states int, waits bool) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		states+1)
	add := func(s, a int, returns []float64, next ...cmdp.Transition) {
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: returns, Next: next}); err != nil {
			t.Fatal(err)
		}
	}
	for s := range states {
		choices := 1 + rng.IntN(3)
		for a := range choices {
			end := 0.1 + 0.3*rng.Float64()
			returns := []float64{rng.NormFloat64(), rng.NormFloat64()}
			if waits {
				returns = []float64{rng.Float64(), rng.Float64()}
			}
			add(s, a, returns, cmdp.Transition{Next: states, Probability: end},
				cmdp.Transition{Next: rng.IntN(states), Probability: 0.5 * (1 - end)},
				cmdp.Transition{Next: rng.IntN(states), Probability: 0.5 * (1 - end)})
		}
		if to := rng.IntN(states); waits && s > 0 && rng.IntN(2) == 0 {
			add(s, choices, []float64{0, 0}, cmdp.Transition{Next: to, Probability: 1})
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTotalsAgainstLongHorizons compares totals, with a limit and without, with those of so many steps that
// what is still to come is rounding.
func TestTotalsAgainstLongHorizons(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	rng := rand.New(rand.NewPCG(15, 21))
	box, err := geometry.NewBox([]float64{-1e3, -1e3}, []float64{1e3, 1e3})
	if err != nil {
		t.Fatal(err)
	}
	optimal, infeasible := 0, 0
	for trial := range 80 {
		waits := trial%2 == 1
		m := drawEnding(t, rng, 2+rng.IntN(4), waits)
		long := inSteps(t, m, 500)
		gradient, most := []float64{rng.NormFloat64(), rng.NormFloat64()}, 2*rng.NormFloat64()
		if waits {
			gradient, most = []float64{rng.Float64(), rng.Float64()}, rng.Float64()
		}
		goal, err := cost.NewLinear(gradient, box)
		if err != nil {
			t.Fatal(err)
		}
		half, err := geometry.NewBox([]float64{-1e3, -1e3}, []float64{1e3, most})
		if err != nil {
			t.Fatal(err)
		}
		limit, err := half.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range []cmdp.Task{{Cost: goal}, {Cost: goal, Target: limit}} {
			got, err := Solve(t.Context(), m, task, Options{})
			if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			want, err := Solve(t.Context(), long, task, Options{})
			if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			switch {
			case got.Status != want.Status:
				t.Errorf("trial %d: %v, in 500 steps %v", trial, got.Status, want.Status)
			case got.Status == Infeasible:
				infeasible++
			default:
				if optimal++; math.Abs(got.Objective-want.Objective) > 1e-8*(1+math.Abs(want.Objective)) {
					t.Errorf("trial %d: %.12g, in 500 steps %.12g", trial, got.Objective, want.Objective)
				}
			}
		}
	}
	if optimal < 80 || infeasible < 10 {
		t.Errorf("%d optimal and %d infeasible: the test says little", optimal, infeasible)
	}
}

// TestAveragesAgainstLongHorizons compares least means with what the best policy of many steps returns in each,
// from step 5,000 to 10,040: the policy has settled by then, and 5,040 is a multiple of all periods of a few
// states. Random models and rings have periods.
func TestAveragesAgainstLongHorizons(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 22))
		m := randomAverage(t, seed, 2+rng.IntN(5), 2)
		if seed%8 == 0 {
			m = ring(t, 3+rng.IntN(5))
		}
		dir := make([]float64, m.Dim())
		for i := range dir {
			dir[i] = rng.NormFloat64()
		}
		p, err := newAverageReward(t.Context(), m, 1, allRelevant(m.Dim()), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.price(t.Context(), dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		const steps, more = 5_000, 5_040
		var total [2]float64
		for i, horizon := range []int{steps, steps + more} {
			long, err := newFiniteHorizon(inSteps(t, m, horizon), 1).price(t.Context(), dir, 0)
			if err != nil {
				t.Fatal(err)
			}
			total[i] = long.value
		}
		if want := (total[1] - total[0]) / more; math.Abs(got.value-want) > 1e-6 {
			t.Errorf("seed %d: mean %.10g, in %d steps %.10g each", seed, got.value, more, want)
		}
	}
}

// ring is a model of a ring of n states that is walked round, each step with a loss of its
// own, and another way round with fewer: two recurrent classes, periodic ones.
func ring(t testing.TB, n int) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Average: true, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, n)
	for s := range n {
		for a, step := range []int{1, 2} {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{float64(s%3) + float64(a)},
				Next: []cmdp.Transition{{Next: (s + step) % n, Probability: 1}}}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAverageRing wants the least mean of a periodic ring: by single steps the losses 0, 1, 2 have
// the mean 1; the cheapest cycle in three states with losses s%3 + a takes 0→1→0 or better, as
// enumeration of the cycles of the deterministic graph says (Karp 1978).
func TestAverageRing(t *testing.T) {
	for _, n := range []int{3, 6, 7, 30} {
		m := ring(t, n)
		// Karp's minimum mean cycle: min over s of max over k of (d_n − d_k)/(n − k).
		d := make([][]float64, n+1)
		for k := range d {
			d[k] = make([]float64, n)
			for s := range d[k] {
				d[k][s] = math.Inf(1)
			}
		}
		d[0][0] = 0
		for k := range n {
			for s, x := range d[k] {
				for a, step := range []int{1, 2} {
					to := (s + step) % n
					d[k+1][to] = math.Min(d[k+1][to], x+float64(s%3)+float64(a))
				}
			}
		}
		want := math.Inf(1)
		for s := range n {
			worst := math.Inf(-1)
			for k := range n {
				if !math.IsInf(d[k][s], 1) && !math.IsInf(d[n][s], 1) {
					worst = math.Max(worst, (d[n][s]-d[k][s])/float64(n-k))
				}
			}
			if !math.IsInf(worst, -1) {
				want = math.Min(want, worst)
			}
		}
		p, err := newAverageReward(t.Context(), m, 1, allRelevant(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.price(t.Context(), []float64{1}, 0)
		if err != nil || math.Abs(got.value-want) > 1e-9 || math.Abs(got.returns[0]-want) > 1e-9 {
			t.Errorf("ring of %d: %v, returns %v, %v: want %v", n, got.value, got.returns, err, want)
		}
	}
}
