package exact

import (
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
)

// TestZeroDirection prices totals in a direction and then in that in which nothing costs anything, as a goal comes to
// beside a limit on it: values that start from those before must not be made less by rounding until they are no numbers
// that a linear system is solved with.
func TestZeroDirection(t *testing.T) {
	for trial := range 8 {
		rng := rand.New(rand.NewPCG(uint64(trial), 7))
		var rows []cmdp.Row
		for s := range 1199 {
			for a := range 3 {
				row := cmdp.Row{State: s, Action: a, Returns: []float64{rng.Float64()}}
				row.Next = []cmdp.Transition{{Next: 1199, Probability: 1.0 / 64}}
				for j := range 3 {
					p := []float64{1.0 / 2, 1.0 / 4, 15.0 / 64}[j]
					next := (s + 1 + rng.IntN(7) + 7*j) % 1199
					row.Next = append(row.Next, cmdp.Transition{Next: next, Probability: p})
				}
				rows = append(rows, row)
			}
		}
		m := modelOf(t, cmdp.ModelSpec{Discount: 1, Dim: 1,
			Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1200, rows)
		p, err := newPricer(t.Context(), m, 1, allRelevant(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []float64{1, 0} {
			found, err := p.price(t.Context(), []float64{x}, 0)
			if err != nil || x == 0 && found.value != 0 {
				t.Errorf("trial %d, direction %g: %g, %v", trial, x, found.value, err)
			}
		}
	}
}
