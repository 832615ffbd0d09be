package robust_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/robust"
)

// largeCase returns a model of so many states, steps, successors and returns whose probabilities are known up to
// intervals, so wide on each side, and a policy.
func largeCase(
	b *testing.B, states, steps, successors, returns int, width float64,
) (*cmdp.Model, *robust.Set, cmdp.Policy) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	k := cmdp.NewKernel()
	next, prob, gains := make([]int32, successors), make([]float64, successors), make([]float64, returns)
	for range states {
		for range 2 {
			sum := 0.0
			for i := range next {
				next[i] = rng.Int32N(int32(states))
				prob[i] = 0.1 + rng.Float64()
				sum += prob[i]
			}
			for i := range prob {
				prob[i] /= sum
			}
			for i := range gains {
				gains[i] = rng.Float64()
			}
			k.Append(next, prob, gains)
		}
		k.EndState()
	}
	var start []cmdp.StartState // so that the exact evaluation, too, has to do with all states in all steps
	for s := range states {
		start = append(start, cmdp.StartState{State: s, Probability: 1 / float64(states)})
	}
	m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: steps, Dim: returns, Start: start, Kernels: []cmdp.Kernel{k}})
	if err != nil {
		b.Fatal(err)
	}
	iv, err := cmdp.Widen(m, nil, width)
	if err != nil {
		b.Fatal(err)
	}
	set, err := robust.New(robust.Spec{Model: m, Intervals: iv})
	if err != nil {
		b.Fatal(err)
	}
	policy := make(cmdp.Deterministic, steps)
	for h := range policy {
		policy[h] = make([]int32, states)
		for s := range policy[h] {
			policy[h][s] = rng.Int32N(2)
		}
	}
	return m, set, policy
}

// BenchmarkEvaluate measures the certified returns of a policy, least and greatest, on 10^5 states, 20 steps and 20
// successors, beside the exact evaluation of the same policy in the nominal model, in turn. It reports the time of the
// processor that each takes, and how many times that of the second the first is, which is to be at most 5.
func BenchmarkEvaluate(b *testing.B) {
	for _, returns := range []int{1, 3} {
		for _, width := range []float64{0.02, 0.2, 1} {
			b.Run(fmt.Sprintf("returns=%d/width=%g", returns, width), func(b *testing.B) {
				m, set, policy := largeCase(b, 100_000, 20, 20, returns, width)
				evaluateInTurn(b, m, set, policy)
			})
		}
	}
}

func evaluateInTurn(b *testing.B, m *cmdp.Model, set *robust.Set, policy cmdp.Policy) {
	var intervals, exact time.Duration
	v, runs := make([]float64, m.Dim()), 0
	for b.Loop() {
		begin := harness.ProcessorTime()
		cmdp.NewEvaluator(m).Returns(v, policy)
		middle := harness.ProcessorTime()
		if _, err := set.Evaluate(b.Context(), policy); err != nil {
			b.Fatal(err)
		}
		exact += middle - begin
		intervals += harness.ProcessorTime() - middle
		runs++
	}
	b.ReportMetric(intervals.Seconds()/float64(runs), "intervals-cpu-s")
	b.ReportMetric(exact.Seconds()/float64(runs), "exact-cpu-s")
	b.ReportMetric(intervals.Seconds()/exact.Seconds(), "ratio")
}
