package monitor_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// TestGeneratedRows: a product whose rows are generated has the same ranges of returns, the same optimum, and the same prices as the
// stored one, for all kinds of limits and on random models. The stored one is tested against brute force over histories.
func TestGeneratedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 13))
	generated := 0
	for i := range 150 {
		m := randomModel(t, rng, shape{states: 2 + rng.IntN(4), horizon: 1 + rng.IntN(6), stepwise: i%5 == 0, rests: i%3 == 0, outcomes: i%2 == 0, negative: i%7 < 3})
		spec := monitor.Spec{Model: m}
		if i%4 == 0 {
			spec.Monitors = append(spec.Monitors, &monitor.Reach{Title: "there", Target: randomSet(rng, m.States()), Within: rng.IntN(4) - 1})
		}
		var limits []monitor.Limit
		for range 1 + rng.IntN(2) {
			limits = append(limits, monitor.Limit{Kind: monitor.LimitKind(rng.IntN(4)), At: float64(rng.IntN(9)-1) / 10})
		}
		if i%6 == 5 {
			kind := monitor.Above
			if rng.IntN(2) == 0 {
				kind = monitor.AtLeast
			}
			limits = append(limits, monitor.Limit{Kind: kind, At: float64(rng.IntN(7)) / 10, Enforced: true})
			spec.Enforced = []int{len(spec.Monitors)}
		}
		spec.Monitors = append(spec.Monitors, budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Limits: limits}))
		if i%8 == 1 {
			spec.Monitors = append(spec.Monitors, &monitor.Visits{Title: "visits", States: randomSet(rng, m.States())})
		}
		stored := product(t, spec)
		spec.Generate = 1
		p := product(t, spec)
		if p.Model.Tally() == nil {
			continue // one pair
		}
		generated++
		if (stored.Worst == nil) != (p.Worst == nil) {
			t.Fatalf("model %d: one of the products can be sure to keep what is enforced", i)
		}
		comparePlans(t, rng, i, stored.Model, p.Model)
	}
	if generated < 100 {
		t.Errorf("%d products were generated: want most of 150", generated)
	}
}

// TestGeneratedRowsOfManyActions: a policy has several bits for an action.
func TestGeneratedRowsOfManyActions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 6, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 4)
	for s := range 4 {
		for a := range 2 + 3*s {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{float64(rng.IntN(30)), rng.Float64()}}
			for range 2 {
				row.Next = append(row.Next, cmdp.Transition{Next: rng.IntN(4), Probability: 0.5})
			}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []float64{20, 60, 100} {
		spent := budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Limits: []monitor.Limit{{Kind: monitor.Above, At: limit}}})
		spec := monitor.Spec{Model: m, Monitors: []monitor.Monitor{spent}}
		stored := product(t, spec)
		spec.Generate = 1
		for i := range 5 {
			comparePlans(t, rng, i, stored.Model, product(t, spec).Model)
		}
	}
}

// comparePlans compares ranges, and the least value of a direction of which a half-space takes the best part away.
func comparePlans(t *testing.T, rng *rand.Rand, number int, stored, generated *cmdp.Model) {
	t.Helper()
	ctx, d := context.Background(), stored.Dim()
	lower, upper, err := exact.Ranges(ctx, stored, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	least, most, err := exact.Ranges(ctx, generated, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range lower {
		upper[i] = max(upper[i], lower[i]) // but for rounding
		if math.Abs(lower[i]-least[i]) > 1e-9 || math.Abs(upper[i]-most[i]) > 1e-9 {
			t.Fatalf("model %d, return %d: [%g, %g] generated, [%g, %g] stored", number, i, least[i], most[i], lower[i], upper[i])
		}
	}
	gradient := make([]float64, d)
	for i := range gradient {
		gradient[i] = rng.NormFloat64()
	}
	limited := rng.IntN(d)
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	upper[limited] = lower[limited] + 0.3*(upper[limited]-lower[limited])
	target, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	linear, err := cost.NewLinear(gradient, box)
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := target.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: linear, Target: allowed}
	want, err := exact.Solve(ctx, stored, task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := exact.Solve(ctx, generated, task, exact.Options{Workers: 1 + number%2})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != want.Status || math.Abs(got.Objective-want.Objective) > 1e-8 || math.Abs(got.Bound-want.Bound) > 1e-8 {
		t.Errorf("model %d: %v, %.12g, at least %.12g, generated; %v, %.12g, at least %.12g, stored", number, got.Status, got.Objective, got.Bound, want.Status, want.Objective, want.Bound)
	}
}
