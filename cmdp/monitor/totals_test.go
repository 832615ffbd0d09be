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

// TestTotalsUntilRest: without a horizon the totals on the way count too, up to the bound, which may be one of them. Of
// negative ones others may be listed beside them.
func TestTotalsUntilRest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 10))
	sizes := []float64{0, 0.5, 1, 3, 7}
	for trial := range 100 {
		states, sign := 1+rng.IntN(4), 1-2*float64(trial%3/2)
		start := []cmdp.StartState{{State: 0, Probability: 1}}
		b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: start}, states)
		rows := make([][]cmdp.Row, states)
		for s := range states {
			for a := range rng.IntN(3) {
				row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a,
					Returns: []float64{sign * sizes[rng.IntN(len(sizes))]},
					Next:    []cmdp.Transition{{Next: rng.IntN(states), Probability: 1}}}
				if err := b.Add(row); err != nil {
					t.Fatal(err)
				}
				rows[s] = append(rows[s], row)
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
		type place struct {
			state int
			total float64
		}
		bound := float64(rng.IntN(20)) / 2
		met, want := make(map[place]bool), make(map[float64]bool)
		var visit func(place)
		visit = func(at place) {
			if sign*at.total > bound || met[at] {
				return
			}
			met[at], want[at.total] = true, true
			for _, row := range rows[at.state] {
				visit(place{row.Next[0].Next, at.total + row.Returns[0]})
			}
		}
		visit(place{})
		got, all := budget.Totals(sign*bound, sign > 0), slices.Sorted(maps.Keys(want))
		if sign < 0 {
			for _, x := range all {
				if !slices.Contains(got, x) || got[0] < -bound || got[len(got)-1] > 0 {
					t.Errorf("trial %d, from %g on: %v, want %v and no others beyond", trial, -bound, got, all)
				}
			}
		} else if !slices.Equal(got, all) {
			t.Errorf("trial %d, up to %g: %v, want %v", trial, bound, got, all)
		}
	}
}
