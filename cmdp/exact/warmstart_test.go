package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// TestDirectionsShareValues asks for directions between two others up to an error, as of a large model. Their values
// are raised from those of the others, as a rule. Policies and bounds are compared with policy iteration by dense
// matrices.
func TestDirectionsShareValues(t *testing.T) {
	t.Cleanup(threshold.Lower())
	threshold.Stretch = 16 // sweeps go over all states
	rng := rand.New(rand.NewPCG(26, 40))
	raised, asked := 0, 0
	for range 12 {
		m := grid{width: 4 + rng.IntN(4), height: 4 + rng.IntN(4), ahead: 0.8, slips: true, sure: 0.6,
			jumps: 0.2 * float64(rng.IntN(2))}.model(t, rng)
		p, err := newInfiniteHorizon(m, 1, allRelevant(2), nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 8 {
			share := rng.Float64()
			if n < 2 {
				share = 0.98*float64(n) + 0.01
			}
			dir := []float64{share, 1 - share}
			v, _ := howard(t, m, func(c int32) float64 { return floats.Dot(dir, p.k.ReturnsOf(int(c), 2)) })
			aim := v[0] * math.Pow(10, -2-6*rng.Float64())
			got, err := p.price(t.Context(), dir, aim)
			if err != nil {
				t.Fatal(err)
			}
			found, rounding := floats.Dot(dir, got.returns), 1e-11*v[0]
			if got.withInfinite != nil || got.value > v[0]+rounding || found < v[0]-rounding {
				t.Errorf("direction %v: a policy at %.15g, bound %.15g: want them around %.15g", dir, found, got.value,
					v[0])
			}
			if n > 0 && found-got.value > aim+rounding {
				t.Errorf("direction %v: bound %.15g of a policy at %.15g: want at most %g between them", dir, got.value,
					found, aim)
			}
			if n < 2 {
				continue
			}
			_, ok, err := p.raise(t.Context(), dir, aim, true)
			if err != nil {
				t.Fatal(err)
			}
			asked++
			if ok {
				raised++
			}
		}
	}
	if raised < asked*3/4 {
		t.Errorf("%d of %d directions were raised", raised, asked)
	}
}
