package monitor_test

import (
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"
)

// BenchmarkProduct builds the product of a thousand states with a budget of about a thousand values, of nearly
// a million pairs and 5.7 million transitions.
func BenchmarkProduct(b *testing.B) {
	const states = 1000
	rng := rand.New(rand.NewPCG(1, 1))
	builder := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 50, Dim: 2,
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, states)
	for s := range states {
		for a := range 2 {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a,
				Returns: []float64{float64(a), float64(rng.IntN(40))}}
			for _, p := range []float64{0.5, 0.25, 0.25} {
				row.Next = append(row.Next, cmdp.Transition{Next: rng.IntN(states), Probability: p})
			}
			if err := builder.Add(row); err != nil {
				b.Fatal(err)
			}
		}
	}
	m, err := builder.Build()
	if err != nil {
		b.Fatal(err)
	}
	spent, err := monitor.NewBudget(monitor.BudgetSpec{Title: "spent", Model: m, Coordinate: 1,
		Limits: []monitor.Threshold{{Kind: monitor.Above, At: 1000}}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := monitor.New(monitor.Spec{Model: m, Monitors: []monitor.Monitor{spent}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(p.Model.States()), "pairs")
	}
}
