package cmdp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// TestBestPolicy wants the value to be that of the policy, and no change of a single
// action to lower it, which for a policy of a known model is to be optimal.
func TestBestPolicy(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for seed := range uint64(30) {
		m := randomModel(t, seed, 1+int(seed%5), 1+int(seed%4), 2, seed%2 == 0)
		dir := []float64{rng.NormFloat64(), rng.NormFloat64()}
		best, value := BestPolicy(m, dir)
		ev, v := NewEvaluator(m), make([]float64, 2)
		of := func(p Policy) float64 {
			ev.Returns(v, p)
			return floats.Dot(dir, v)
		}
		if got := of(best); math.Abs(got-value) > 1e-9 {
			t.Errorf("seed %d: the policy has the value %g: want %g", seed, got, value)
		}
		for h := range m.Horizon() {
			for s := range m.States() {
				for a := range m.Shape().Actions(h, s) {
					other := slices.Clone(best)
					other[h] = slices.Clone(best[h])
					other[h][s] = int32(a)
					if x := of(other); x < value-1e-9 {
						t.Errorf("seed %d: action %d at step %d in state %d lowers %g to %g", seed, a, h+1, s, value, x)
					}
				}
			}
		}
	}
}

// TestBestPolicyTies wants the first of equal actions.
func TestBestPolicyTies(t *testing.T) {
	b := NewBuilder(ModelSpec{Horizon: 2, Dim: 1, Start: []StartState{{0, 1}}}, 1)
	for a, r := range []float64{1, 0.3, 0.1 + 0.2, 0.3} {
		if err := b.Add(Row{Step: EveryStep, Action: a, Next: []Transition{{Next: 0, Probability: 1}}, Returns: []float64{r}}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if p, value := BestPolicy(m, []float64{1}); p[0][0] != 1 || p[1][0] != 1 || math.Abs(value-0.6) > 1e-12 {
		t.Errorf("policy %v with the value %g: want action 1 twice, 0.6", p, value)
	}
}
