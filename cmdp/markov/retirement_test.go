package markov

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

// drawPlaces draws states in a row, in which each step costs something but where one may rest, far from one another.
func drawPlaces(rng *rand.Rand, states int32) *cmdp.Kernel {
	const apart = 40
	k := cmdp.NewKernel()
	for s := range states {
		back, on := (s+states-1)%states, (s+1)%states
		k.Append([]int32{back, s}, []float64{0.7, 0.3}, []float64{0.8 + rng.Float64()})
		k.Append([]int32{on, rng.Int32N(states)}, []float64{0.9, 0.1}, []float64{0.8 + rng.Float64()})
		if s%apart == 1 {
			k.Append([]int32{s, on}, []float64{0.9, 0.1}, []float64{0.1 + 0.4*rng.Float64()})
		}
		k.EndState()
	}
	return k.Plain(1)
}

// TestRetirement wants means that are proved near the best class, with most states retired, to be those that policy
// iteration finds.
func TestRetirement(t *testing.T) {
	before := threshold.Retiring
	t.Cleanup(func() { threshold.Retiring = before })
	threshold.Retiring = 1
	ctx, dir, found, raised := t.Context(), []float64{1}, 0, 0
	for seed := range uint64(30) {
		k := drawPlaces(rand.New(rand.NewPCG(seed, 5)), 400)
		solver := func() *LeastMean {
			z := NewLeastMean(k, endsOf(&Graph{Kernel: k}), new(Chain))
			z.scalarize(dir)
			copy(z.greedy, k.First)
			z.greedy[1] += 2 // the first place to rest
			class, err := z.recurrentClass(ctx, z.ends.Part(0), z.greedy, dir)
			if err != nil {
				t.Fatal(err)
			}
			z.Best[0] = *class
			z.Best[0].approximate = seed%3 == 0
			return z
		}
		z, reference := solver(), solver()
		if seed%2 == 1 {
			z.Aim = 1e-3
		}
		proved, err := z.withRetirement(ctx, 0, dir)
		want, wrong := reference.policyIteration(ctx, 0, dir)
		if err != nil || wrong != nil {
			t.Fatalf("seed %d: errors %v and %v", seed, err, wrong)
		}
		if !proved { // more states than that are near
			continue
		}
		found++
		if z.Best[0].approximate {
			t.Fatalf("seed %d: the returns of the class are not exact", seed)
		}
		mean, states := floats.Dot(dir, z.Best[0].Mean), z.ends.Part(0)
		short := mean - z.leastResidual(states, mean, math.Inf(1))
		if mean < want-1e-12 || mean > want+z.Aim+1e-12 || short > z.Aim+1e-12 || !z.Rough && short > 1e-12 {
			t.Fatalf("seed %d: mean %.15g, proved up to %g, rough %v: want %.15g", seed, mean, short, z.Rough, want)
		}
		most, retired := floats.Max(z.Bias), 0
		for _, x := range z.Bias {
			if x == most {
				retired++
			}
		}
		if retired < len(states)/2 {
			t.Fatalf("seed %d: %d of %d states are retired: want most of them", seed, retired, len(states))
		}
		if most > z.sizes[0] {
			raised++
		}
	}
	if found < 10 || raised == 0 {
		t.Fatalf("%d means were proved, %d at a price that was raised", found, raised)
	}
}
