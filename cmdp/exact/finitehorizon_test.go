package exact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

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
				// Both count rewards and values of each step, the latter at most twice.
				if p.margin < margin/2 {
					t.Errorf("margin %g: want half of %g at least", p.margin, margin)
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

// countingPricer counts the directions that are priced.
type countingPricer struct {
	pricer
	prices int
}

func (p *countingPricer) price(ctx context.Context, dir []float64, aim float64) (pricedPolicy, error) {
	p.prices++
	return p.pricer.price(ctx, dir, aim)
}

// TestIterationsAreCounted: an answer says how often a direction was priced for it, whatever its verdict.
func TestIterationsAreCounted(t *testing.T) {
	verdicts := make(map[Verdict]int)
	for trial := range 40 {
		rng := rand.New(rand.NewPCG(12, uint64(trial)))
		m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: 4, Dim: 3, Kernels: []cmdp.Kernel{randomKernel(rng, 10, 3)},
			Start: []cmdp.StartState{{State: 0, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		lower, upper := make([]float64, 3), make([]float64, 3)
		m.Shape().ReturnToGo(lower, upper, 0)
		box, err := geometry.NewBox(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < 3; i++ {
			upper[i] = lower[i] + (0.3+0.4*rng.Float64())*(upper[i]-lower[i])
		}
		within, err := geometry.NewBox(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		var task cmdp.Task
		task.Target, err = within.Bounded()
		if err == nil && trial%3 > 0 {
			task.Cost, err = cost.NewLinear([]float64{1, 0, 0}, box)
		}
		if err != nil {
			t.Fatal(err)
		}
		opts, err := Options{Workers: 1}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		counted := &countingPricer{pricer: newFiniteHorizon(m, 1)}
		measured, err := newProgram(t.Context(), counted, task, opts)
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSolver(t.Context(), counted, measured)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.run()
		if err != nil || r.Iterations != counted.prices {
			t.Fatalf("trial %d: %v, %+v: want %d iterations", trial, err, r, counted.prices)
		}
		verdicts[r.Status]++
	}
	if verdicts[Optimal] < 5 || verdicts[Infeasible] < 5 {
		t.Errorf("%v: want both verdicts", verdicts)
	}
}
