package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// drawComponents draws a model in which components of up to five states follow one another; a choice leads to two states of its
// own component or of later ones. The last state is at rest.
func drawComponents(t *testing.T, rng *rand.Rand, states, dim int) *cmdp.Model {
	t.Helper()
	k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for s := 0; s < states-1; {
		size := min(1+rng.IntN(5), states-1-s)
		for range size {
			for range 1 + rng.IntN(3) {
				p := 0.1 + 0.8*rng.Float64()
				k.Next = append(k.Next, int32(s+rng.IntN(size)), int32(s+size+rng.IntN(states-s-size)))
				k.Prob = append(k.Prob, p, 1-p)
				k.Offset = append(k.Offset, len(k.Next))
				for range dim {
					k.Returns = append(k.Returns, rng.NormFloat64())
				}
			}
			k.First = append(k.First, int32(len(k.Offset)-1))
		}
		s += size
	}
	k.First = append(k.First, k.First[states-1])
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: dim, Kernels: []cmdp.Kernel{k}, Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPurifyWithoutHorizon mixes four policies, which differ in many states, and takes the randomisation out: what is to be kept
// stays the same, the cost does not grow, and no more states randomise than there are returns to keep.
func TestPurifyWithoutHorizon(t *testing.T) {
	bothSizes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(26, 1))
		most := 0
		for trial := range 60 {
			const dim = 4
			m := drawComponents(t, rng, 2+rng.IntN(60), dim)
			p, err := newStationary(m, 1, everything(dim), nil)
			if err != nil {
				t.Fatal(err)
			}
			var columns []column
			for range 4 {
				dir := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
				x, err := p.price(t.Context(), dir, 0)
				if err != nil {
					t.Fatal(err)
				}
				columns = append(columns, newColumn(x, dir))
			}
			policy, err := p.average(t.Context(), &blend{parts: p.partsOf(columns, []float64{0.1, 0.2, 0.3, 0.4})})
			if err != nil {
				t.Fatal(err)
			}
			before, err := p.evaluate(t.Context(), policy)
			if err != nil {
				t.Fatal(err)
			}
			f, kept := face{cost: []float64{0, 0, 0, 1}}, rng.IntN(dim)
			for i := range kept {
				f.keep = append(f.keep, targetRow{cmdp.Constraint{Normal: axis(dim, i, 1)}, 1})
			}
			most = max(most, policy.Randomized())
			if err := p.purify(t.Context(), policy, f); err != nil {
				t.Fatal(err)
			}
			after, err := p.evaluate(t.Context(), policy)
			if err != nil {
				t.Fatal(err)
			}
			scale := 1 + floats.Norm(before, math.Inf(1))
			for i := range kept {
				if !(math.Abs(after[i]-before[i]) <= 1e-9*scale) {
					t.Errorf("trial %d: return %d was %.15g and is %.15g", trial, i, before[i], after[i])
				}
			}
			if !(after[3] <= before[3]+1e-9*scale) {
				t.Errorf("trial %d: the cost was %.15g and is %.15g", trial, before[3], after[3])
			}
			if n := policy.Randomized(); n > kept {
				t.Errorf("trial %d: %d states randomise: want at most %d", trial, n, kept)
			}
		}
		if most < 15 {
			t.Errorf("at most %d states randomised: the test says little", most)
		}
	})
}
