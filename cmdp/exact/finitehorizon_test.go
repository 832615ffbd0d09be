package exact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// randomKernel returns choices of random number, none in some states.
func randomKernel(rng *rand.Rand, states, dim int) cmdp.Kernel {
	k := cmdp.Kernel{First: make([]int32, states+1), Offset: []int{0}}
	for s := range states {
		k.First[s+1] = k.First[s] + int32(rng.IntN(4))
		for range k.First[s+1] - k.First[s] {
			p := rng.Float64()
			k.Next = append(k.Next, int32(s), int32((s+1+rng.IntN(states-1))%states))
			k.Prob = append(k.Prob, p, 1-p)
			k.Offset = append(k.Offset, len(k.Next))
			for range dim {
				k.Returns = append(k.Returns, rng.NormFloat64())
			}
		}
	}
	return k
}

// One pricer is asked in several directions, of a model with one kernel and of one
// whose steps offer different choices. Each answer must agree with an iteration
// that shares nothing with it, and the returns with the value.
func TestValueIterationAgreesWithRecheck(t *testing.T) {
	const states, horizon, dim = 30, 6, 3
	for _, kernels := range []int{1, horizon} {
		rng := rand.New(rand.NewPCG(11, uint64(kernels)))
		spec := cmdp.ModelSpec{Horizon: horizon, Dim: dim,
			Start: []cmdp.StartState{{State: 0, Probability: 0.25}, {State: 7, Probability: 0.75}}}
		for range kernels {
			spec.Kernels = append(spec.Kernels, randomKernel(rng, states, dim))
		}
		m, err := cmdp.NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		f := newFiniteHorizon(m, 2)
		for i := range 5 {
			t.Run(fmt.Sprintf("kernels=%d/direction=%d", kernels, i), func(t *testing.T) {
				dir := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
				p, err := f.price(context.Background(), dir, 0)
				if err != nil {
					t.Fatal(err)
				}
				value, margin, err := f.recheck(context.Background(), dir)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(p.value-value) > p.margin+margin {
					t.Errorf("value %v, recomputed %v: want at most %g between them", p.value, value, p.margin+margin)
				}
				if x := floats.Dot(dir, p.returns); math.Abs(x-value) > 1e-12*(1+math.Abs(value)) {
					t.Errorf("returns %v are worth %v: want %v", p.returns, x, value)
				}
			})
		}
	}
}
