package exact

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"
)

// largeModel returns a model whose policies are worth several blocks of states and
// whose steps are worth sharing among workers.
func largeModel(t *testing.T, stationary bool) *cmdp.Model {
	t.Helper()
	const states, horizon, dim = 9000, 5, 3
	rng := rand.New(rand.NewPCG(4, 21))
	spec := cmdp.ModelSpec{Horizon: horizon, Dim: dim}
	for s := range 40 {
		spec.Start = append(spec.Start, cmdp.StartState{State: 101 * s, Probability: 1.0 / 40})
	}
	for h := range horizon {
		if h == 0 || !stationary {
			spec.Kernels = append(spec.Kernels, randomKernel(rng, states, dim))
		}
	}
	m, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The answers of value iteration are the same for any number of workers, bit by bit,
// and its returns are those that package cmdp finds for the policy it recorded.
func TestFlowDoesNotDependOnWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, stationary := range []bool{true, false} {
		m := largeModel(t, stationary)
		dir := []float64{1, -0.4, 0.2}
		var first pricedPolicy
		for workers := 1; workers <= 4; workers++ {
			f := newFiniteHorizon(m, workers)
			for range 2 { // nothing is left of the first
				p, err := f.price(context.Background(), dir, 0)
				if err != nil {
					t.Fatal(err)
				}
				if first.returns == nil {
					first = p
				}
				if p.value != first.value || p.margin != first.margin || !slices.Equal(p.returns, first.returns) {
					t.Errorf("%d workers: %v, want %v", workers, p, first)
				}
			}
			if f.forward.blocks.Parts != mostStateBlocks || f.forward.work < threshold.Shared {
				t.Errorf("%d blocks, %d transitions: want them shared", f.forward.blocks.Parts, f.forward.work)
			}
			policy, want := &Policy{}, make([]float64, m.Dim())
			for _, a := range f.policy {
				policy.steps = append(policy.steps, markov.Rule{Actions: a})
			}
			cmdp.NewEvaluator(m).Returns(want, policy)
			for i, x := range want {
				if math.Abs(first.returns[i]-x) > 1e-13 {
					t.Errorf("return %d is %v: want %v", i, first.returns[i], x)
				}
			}
		}
	}
}

// A pricer that was interrupted anywhere gives the same answer as before afterwards.
func TestInterruptedFlow(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	m := largeModel(t, true)
	dir := []float64{1, 0, 0.5}
	for _, workers := range []int{1, 3} {
		f := newFiniteHorizon(m, workers)
		want, err := f.price(context.Background(), dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		for after := range int64(2 * m.Horizon() * workers) {
			ctx := cmdptest.EndAfter(context.Background(), after)
			// A worker that is late may find all parts taken before it looks at the context.
			if _, err := f.price(ctx, dir, 0); err == nil && workers == 1 ||
				err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("interrupted after %d looks: %v", after, err)
			}
			if p, err := f.price(context.Background(), dir, 0); err != nil || p.value != want.value ||
				!slices.Equal(p.returns, want.returns) {
				t.Errorf("after an interruption after %d looks: %v, %v: want %v", after, p, err, want)
			}
		}
	}
}

// The mean of many values is as good as its bound says: a plain sum of these loses more than
// ten times as much.
func TestMeanAtStart(t *testing.T) {
	const states = 100_000
	spec := cmdp.ModelSpec{Horizon: 1, Dim: 1,
		Kernels: []cmdp.Kernel{{First: make([]int32, states+1), Offset: []int{0}}}}
	v := make([]float64, states)
	want, plain := new(big.Float).SetPrec(200), 0.0
	for s := range states {
		p := 1 / float64(states)
		v[s] = 1 + 1/float64(s+3)
		spec.Start = append(spec.Start, cmdp.StartState{State: s, Probability: p})
		plain += p * v[s]
		want.Add(want, new(big.Float).SetPrec(200).Mul(big.NewFloat(p), big.NewFloat(v[s])))
	}
	m, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	off := func(x float64) float64 {
		d, _ := new(big.Float).Sub(want, big.NewFloat(x)).Float64()
		return math.Abs(d)
	}
	mean, most := startMean(m, v)
	if off(mean) > most || most > startError*1.34 || off(plain) < 10*most {
		t.Errorf("errors of %g, and of a plain sum %g: want one below %g and one well above", off(mean), off(plain),
			most)
	}
}
