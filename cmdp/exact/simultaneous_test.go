package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// TestSimultaneousPricer compares directions that are priced at once with each priced by itself.
func TestSimultaneousPricer(t *testing.T) {
	defer func(n int) { threshold.Simultaneous = n }(threshold.Simultaneous)
	threshold.Simultaneous = 1
	rng := rand.New(rand.NewPCG(26, 52))
	for range 8 {
		m := grid{width: 3, height: 3 + rng.IntN(2), ahead: 0.8, slips: true, sure: 0.6}.model(t, rng)
		p, err := newInfiniteHorizon(t.Context(), m, 2, allRelevant(2), nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.simultaneous(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var dirs [][]float64
		for range 3 {
			x := rng.Float64()
			dirs = append(dirs, []float64{x, 1 - x})
		}
		found, err := s.price(t.Context(), dirs, make([]float64, len(dirs)))
		if err != nil {
			t.Fatal(err)
		}
		for k, dir := range dirs {
			alone, err := p.price(t.Context(), dir, 0)
			if err != nil {
				t.Fatal(err)
			}
			if found[k] == nil || !floats.EqualApprox(found[k].returns, alone.returns, 1e-9) ||
				math.Abs(found[k].value-alone.value) > 1e-9*alone.value ||
				!found[k].policy.actions().Equal(alone.policy.actions()) {
				t.Errorf("direction %v at once is %+v, alone %+v", dir, found[k], alone)
			}
		}
	}
}
