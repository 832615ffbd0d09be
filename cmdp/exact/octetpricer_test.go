package exact

import (
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// TestOctetPricer prices up to eight directions of a walk at once, three times: policies and bounds are those of policy
// iteration by dense matrices, up to what was asked for. A direction in which some choice costs nothing is left to
// others.
func TestOctetPricer(t *testing.T) {
	t.Cleanup(threshold.Lower())
	threshold.Windows = 1
	rng := rand.New(rand.NewPCG(26, 89))
	for range 6 {
		m := grid{width: 4 + rng.IntN(4), height: 4 + rng.IntN(4), ahead: 0.8, slips: true, sure: 0.6}.model(t, rng)
		p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(2), nil)
		if err != nil {
			t.Fatal(err)
		}
		p.nearness = 0
		s, err := p.simultaneous(t.Context())
		if err != nil || s.octets == nil || s.most() != 8 || s.inOnePass() != 8 {
			t.Fatalf("octets %+v, error %v", s.octets, err)
		}
		for round := range 3 {
			var dirs [][]float64
			var least, aims []float64
			for len(dirs) < 8-round {
				x := 0.05 + 0.9*rng.Float64()
				dirs = append(dirs, []float64{x, 1 - x})
				dir := dirs[len(aims)]
				v, _ := howard(t, m, func(c int32) float64 { return floats.Dot(dir, p.k.ReturnsOf(int(c), 2)) })
				least, aims = append(least, v[0]), append(aims, 1e-4*v[0])
			}
			found, err := s.price(t.Context(), dirs, aims)
			if err != nil {
				t.Fatal(err)
			}
			for k, got := range found {
				if got == nil {
					t.Fatalf("round %d: direction %v is not priced", round, dirs[k])
				}
				reached := floats.Dot(dirs[k], got.returns)
				if v := least[k]; got.value-got.margin > v*(1+1e-12) || reached < v*(1-1e-10) ||
					!(reached-got.value <= aims[k]) || !got.certified {
					t.Errorf("direction %v: a policy at %.12g, bound %.12g: want them around %.12g", dirs[k], reached,
						got.value, v)
				}
				counted, _, err := p.returns(t.Context(), &markov.Rule{Actions: *got.policy.actions()}, 0)
				if err != nil || !floats.EqualApprox(counted, got.returns, 1e-7*least[k]) {
					t.Errorf("direction %v: returns %v: want %v, error %v", dirs[k], got.returns, counted, err)
				}
			}
		}
		found, err := s.price(t.Context(), [][]float64{{0, 1}, {0.5, 0.5}}, []float64{0.1, 0.1})
		if err != nil || found[0] != nil || found[1] == nil {
			t.Errorf("a direction in which steps cost nothing, and another one: %+v, error %v", found, err)
		}
	}
}
