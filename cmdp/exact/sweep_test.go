package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/mat"
)

// drawMixing draws a model whose states lead anywhere in their half; from the first half, three steps in ten lead
// to the second. So it has two components, of which the second is closed.
func drawMixing(t *testing.T, gamma float64, half int) *cmdp.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(15, 11))
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: gamma, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 2*half)
	for s := range 2 * half {
		for a := range 3 {
			base := s / half * half
			next := []cmdp.Transition{{Next: half + rng.IntN(half), Probability: 0.3}}
			for _, p := range []float64{0.1, 0.1, 0.2, 0.3} {
				next = append(next, cmdp.Transition{Next: base + rng.IntN(half), Probability: p})
			}
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{rng.Float64(), rng.NormFloat64()}, Next: next}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSweep wants values found by sweeps to be at most their backups, and so bounds, and near the returns of the policy,
// which a dense system gives; and the visits of the policy to solve the transposed system.
func TestSweep(t *testing.T) {
	const half = 250
	for _, gamma := range []float64{0.9, 0.9999} {
		for _, enough := range []float64{0, 1e-8} {
			m := drawMixing(t, gamma, half)
			p, err := newStationary(m, 1, everything(2))
			if err != nil {
				t.Fatal(err)
			}
			p.enough = enough
			dir := []float64{1, -0.5}
			z := p.scalar(dir)
			if _, _, _, err := p.solve(t.Context(), z, dir, true); err != nil {
				t.Fatal(err)
			}
			v, k, size := p.spread(z), m.Kernel(0), 0.0
			for _, x := range v {
				size = math.Max(size, math.Abs(x))
			}
			policy := newActions(m.States(), p.mostActions)
			z.q.lift(z.pick, func(s, c int32) { policy.set(int(s), int(c-k.First[s])) })
			a, right := mat.NewDense(2*half, 2*half, nil), mat.NewVecDense(2*half, nil)
			for s := range 2 * half {
				for c := k.First[s]; c < k.First[s+1]; c++ {
					reward := dot(dir, k.Returns[2*c:2*c+2])
					x := reward - v[s]
					for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
						x += gamma * k.Prob[e] * v[k.Next[e]]
						if int(c-k.First[s]) == policy.at(s) {
							a.Set(s, int(k.Next[e]), a.At(s, int(k.Next[e]))-gamma*k.Prob[e])
						}
					}
					if x < -1e-14*size {
						t.Errorf("γ = %g, error %g: state %d: the value %g is above a backup by %g", gamma, enough, s, v[s], -x)
					}
					if int(c-k.First[s]) == policy.at(s) {
						right.SetVec(s, reward)
					}
				}
				a.Set(s, s, a.At(s, s)+1)
			}
			var returns, visits mat.VecDense
			if err := returns.SolveVec(a, right); err != nil {
				t.Fatal(err)
			}
			start := mat.NewVecDense(2*half, nil)
			start.SetVec(0, 1)
			if err := visits.SolveVec(a.T(), start); err != nil {
				t.Fatal(err)
			}
			found, err := p.visits(t.Context(), &stepPolicy{actions: policy}, false)
			if err != nil {
				t.Fatal(err)
			}
			for s, x := range v {
				if more := returns.AtVec(s) - x; more > (2*enough+1e-12/(1-gamma))*size {
					t.Errorf("γ = %g, error %g: state %d: the policy returns %g, more than the value by %g", gamma, enough, s, x+more, more)
				}
				if diff := p.seen(found, int32(s)) - visits.AtVec(s); math.Abs(diff) > 1e-11*(1+visits.AtVec(s)) {
					t.Errorf("γ = %g: state %d is visited %g times: want %g", gamma, s, p.seen(found, int32(s)), visits.AtVec(s))
				}
			}
			if len(z.slow) != 2 || z.slow[0] || z.slow[1] || len(p.slow) != 2 || p.slow[0] || p.slow[half] {
				t.Errorf("γ = %g: sweeps were given up: %v, %v", gamma, z.slow, p.slow)
			}
		}
	}
}
