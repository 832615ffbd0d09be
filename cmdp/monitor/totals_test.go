package monitor

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
)

// TestTotalsAreThoseOfEpisodes: thresholds of the worst episodes are totals that some episode has, all of them
// and no others, although values of very different sizes have a small unit. Every history of small random
// models is enumerated.
func TestTotalsAreThoseOfEpisodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	sizes := []float64{0, 0.001, 1, -1, 0.5, 7, -0.25}
	for trial := range 200 {
		horizon, states := 1+rng.IntN(4), 1+rng.IntN(3)
		b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 1,
			Start: []cmdp.StartState{{State: 0, Probability: 1}}}, states)
		for s := range states {
			for a := range rng.IntN(3) {
				row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a,
					Returns: []float64{sizes[rng.IntN(len(sizes))]}}
				to := rng.IntN(states)
				row.Next = []cmdp.Transition{{Next: to, Probability: 1}}
				if other := rng.IntN(states); other != to {
					row.Next = []cmdp.Transition{{Next: to, Probability: 0.5}, {Next: other, Probability: 0.5}}
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
		budget, err := NewBudget(BudgetSpec{Title: "r", Model: m, Limits: []Threshold{{Kind: Excess}}})
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[float64]bool)
		var visit func(h, s, units int)
		visit = func(h, s, units int) {
			k := m.Kernel(0).Plain(m.Dim())
			if h == horizon || k.First[s] == k.First[s+1] {
				want[float64(units)/1000] = true
				return
			}
			for c := k.First[s]; c < k.First[s+1]; c++ {
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					visit(h+1, int(k.Next[e]), units+int(1000*k.Returns[c]))
				}
			}
		}
		visit(0, 0, 0)
		all := slices.Sorted(maps.Keys(want))
		if got := budget.Totals(100, true); !slices.Equal(got, all) {
			t.Fatalf("trial %d: totals %v, want %v", trial, got, all)
		}
		if got := budget.Totals(0.5, false); !slices.Equal(got,
			slices.DeleteFunc(all, func(x float64) bool { return x < 0.5 })) {
			t.Fatalf("trial %d: totals from 0.5 on: %v of %v", trial, got, all)
		}
	}
}

// TestTotalsUntilRest: without a horizon the totals on the way count too, up to the bound.
func TestTotalsUntilRest(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
	for _, row := range []cmdp.Row{
		{Step: cmdp.EveryStep, State: 0, Action: 0, Returns: []float64{3},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.5}, {Next: 1, Probability: 0.5}}},
		{Step: cmdp.EveryStep, State: 1, Action: 0, Returns: []float64{10},
			Next: []cmdp.Transition{{Next: 2, Probability: 1}}},
		{Step: cmdp.EveryStep, State: 1, Action: 1, Returns: []float64{1},
			Next: []cmdp.Transition{{Next: 2, Probability: 1}}},
	} {
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	budget, err := NewBudget(BudgetSpec{Title: "r", Model: m, Limits: []Threshold{{Kind: Excess}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := budget.Totals(14, true), []float64{0, 3, 4, 6, 7, 9, 10, 12, 13}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
