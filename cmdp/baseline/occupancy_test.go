package baseline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// TestColumnsAreTheirOccupancies wants a column to be worth what its mass collects: sent from step to step, each
// choice and each rest that it comes to adds its signals, and the sums are the value that the sweep found by going
// back from the last step. Kernels of confidence boxes are in it, which depend on the values after each step.
func TestColumnsAreTheirOccupancies(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 71))
	for seed := range uint64(12) {
		ex, c := loggedExample(t, seed, rng)
		for _, name := range append([]string{"conrl-knapsack", "conrl-convex"}, lpNames...) {
			l := lpOf(newLearner(t, name, c))
			sw, x, m := l.sweep, newTable(l.scaledTask), l.signals
			for number := range 6 {
				dir := make([]float64, m)
				for j := range dir {
					dir[j] = rng.NormFloat64()
				}
				want := slices.Clone(sw.Least(number, dir))
				got, mass, next := make([]float64, m), make([]float64, sw.states), make([]float64, sw.states)
				for _, st := range ex.model.StartStates() {
					mass[st.State] = st.Probability
				}
				clear(x.probs)
				for h := range sw.horizon {
					for s, p := range mass {
						if ex.model.Shape().Actions(h, s) == 0 {
							floats.AddScaled(got, p, sw.rested[h*m:(h+1)*m])
						}
					}
					sw.send(x, sw.columns[number], h, mass, next)
					mass, next = next, mass
					clear(next)
				}
				for i, p := range x.probs {
					floats.AddScaled(got, p, sw.signal[i*m:(i+1)*m])
				}
				if !floats.EqualApprox(got, want, 1e-9) {
					t.Errorf("%s: the column in the direction %v collects %v: want %v",
						fmt.Sprintf("%s, seed %d", name, seed), dir, got, want)
				}
			}
		}
	}
}
