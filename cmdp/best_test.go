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
		if got, err := BestReturns(t.Context(), m, dir); err != nil || !floats.EqualApprox(got, v, 1e-9) {
			t.Errorf("seed %d: returns %g of the best policy: want %g", seed, got, v)
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

// TestBestPolicyTies wants the first of actions that are equal up to rounding.
func TestBestPolicyTies(t *testing.T) {
	b := NewBuilder(ModelSpec{Horizon: 2, Dim: 1, Start: []StartState{{0, 1}}}, 1)
	for a, r := range []float64{1, math.Nextafter(0.3, 1), 0.3, 0.3} {
		addRow(t, b, Row{Step: EveryStep, Action: a, Next: []Transition{{Next: 0, Probability: 1}},
			Returns: []float64{r}})
	}
	m := built(t, b)
	if p, value := BestPolicy(m, []float64{1}); p[0][0] != 1 || p[1][0] != 1 || math.Abs(value-0.6) > 1e-12 {
		t.Errorf("policy %v with the value %g: want action 1 twice, 0.6", p, value)
	}
}

// TestExtremes follows every episode of random policies in random models, in which some
// states rest at some steps.
func TestExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for seed := range uint64(40) {
		m := elaborate(t, rng, randomModel(t, seed, 1+int(seed%4), 1+int(seed%4), 2, seed%3 == 0))
		dir := []float64{rng.NormFloat64(), rng.NormFloat64()}
		rarely := randomPolicy(t, m, rng) // it takes some actions hardly ever, and others never
		for _, row := range rarely.probs {
			for c := range row {
				row[c] *= []float64{0, 1e-9, 1}[rng.IntN(3)]
			}
		}
		probs := make([]float64, m.Shape().MaxActions())
		for _, p := range []Policy{nil, firstActions(m), Uniform{m.Shape()}, rarely} {
			low, up := math.Inf(1), math.Inf(-1)
			var walk func(h, s int, sum float64)
			walk = func(h, s int, sum float64) {
				if h == m.Horizon() {
					low, up = min(low, sum), max(up, sum)
					return
				}
				k := m.Kernel(h).Plain(m.Dim())
				if m.Shape().Actions(h, s) == 0 {
					walk(h+1, s, sum)
				}
				actions := m.Shape().Actions(h, s)
				for a := range actions {
					if p != nil {
						p.Distribution(probs[:actions], h, s)
					}
					if p != nil && probs[a] == 0 {
						continue
					}
					c := int(k.First[s]) + a
					for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
						r := k.Returns[c*2 : c*2+2]
						if k.Outcomes != nil {
							r = k.Outcomes[e*2 : e*2+2]
						}
						if k.Prob[e] > 0 {
							walk(h+1, int(k.Next[e]), sum+floats.Dot(dir, r))
						}
					}
				}
			}
			for _, st := range m.StartStates() {
				walk(0, st.State, 0)
			}
			if least, greatest := Extremes(m, p, dir); math.Abs(least-low) > 1e-12 || math.Abs(greatest-up) > 1e-12 {
				t.Errorf("seed %d, %T: %g to %g: want %g to %g", seed, p, least, greatest, low, up)
			}
		}
	}
}
