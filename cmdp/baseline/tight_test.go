package baseline

import (
	"context"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
)

// sampled returns counts of n visits of every choice, drawn from the model.
func sampled(t *testing.T, m *cmdp.Model, n int, rng *rand.Rand) *cmdp.Counts {
	t.Helper()
	c := newCounts(t, m.Shape(), false)
	returns := make([]float64, m.Dim())
	for h := range m.Horizon() {
		for s := range m.States() {
			for a := range m.Shape().Actions(h, s) {
				times := make([]uint32, m.States())
				for range n {
					times[m.Step(returns, rng, h, s, a)]++
				}
				for next, x := range times {
					if err := c.Add(h, s, a, next, x); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	return c
}

// TestOptimismTight counts optimism where it could fail: after so many visits that
// radii of theory are small against the values. The bound is to be near the truth,
// too, or the test would say nothing.
func TestOptimismTight(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	bad, all := map[string]int{}, 0
	gap := map[string]float64{}
	for seed := range uint64(12) {
		ex := newExample(t, seed, modelSpec{states: 2, actions: 2, horizon: 3, dim: 2})
		c := ex.config(1000)
		c.Prior = sampled(t, ex.model, 6000, rng)
		all++
		for _, name := range []string{"optcmdp", "optcmdp-bonus", "conrl-lp"} {
			l := newLearner(t, name, c).(*lpLearner)
			value, feasible, err := l.ProgramValue()
			if err != nil {
				t.Fatal(err)
			}
			best := ex.unitOptimum(l.scaledTask)
			gap[name] += (best - value) / 12
			if !feasible || value > best+1e-7 {
				bad[name]++
			}
		}
		for _, name := range []string{"optprimaldual", "opdop"} {
			l := newLearner(t, name, c).(*policyOptimizer)
			v, truth := make([]float64, 2), make([]float64, 2)
			cmdp.NewEvaluator(ex.model).Returns(v, l.policy)
			l.totals(truth, v)
			l.evaluate()
			for j, x := range truth {
				got := l.value[j]
				if name == "opdop" { // rewards
					got = float64(l.horizon) - got
				}
				gap[name] += (x - got) / 24
				if got > x+1e-9 {
					bad[name]++
				}
			}
		}
	}
	for name, g := range gap {
		if float64(bad[name]) > 0.1*float64(all) {
			t.Errorf("%s: %d of %d not optimistic", name, bad[name], all)
		}
		if g <= 0 || g > 2.4 { // of 3, the largest value
			t.Errorf("%s: mean gap %.3f", name, g)
		}
		t.Logf("%s: mean gap %.3f of 3", name, g)
	}
}

// TestLazy wants lazy learners to solve few programs, and to end as well as the
// others.
func TestLazy(t *testing.T) {
	ex := newExample(t, 3, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2})
	for _, name := range append([]string{"conrl-convex", "conrl-knapsack"}, lpNames...) {
		c := ex.config(2000)
		c.Bonus = cmdp.TheoryTimes(0.001)
		c.Lazy = true
		ex.withNull(&c)
		l := newLearner(t, name, c)
		play(t, ex.model, l, 1, 2000)
		if n := l.(Worker).Work().Programs; n < 3 || n > 700 {
			t.Errorf("%s: %d programs in 2000 episodes", name, n)
		}
	}
}

// TestKnowledge wants the room that is computed to be that of the policy, and
// nothing to be claimed to be known where there is nothing.
func TestKnowledge(t *testing.T) {
	ex := newExample(t, 4, modelSpec{states: 3, actions: 3, horizon: 3, dim: 3, rests: true})
	v := make([]float64, 3)
	cmdp.NewEvaluator(ex.model).Returns(v, ex.know.Safe)
	for i, x := range v {
		if d := x - ex.know.SafeReturns[i]; d > 1e-9 || d < -1e-9 {
			t.Errorf("returns %v, told %v", v, ex.know.SafeReturns)
		}
	}
	if x := ex.excess(t, v) + ex.know.Slater; x > 1e-9 || x < -1e-9 {
		t.Errorf("room %g, excess %g", ex.know.Slater, ex.excess(t, v))
	}
	squared, err := cost.NewSquared([]float64{0, 0, 0}, []float64{1, 1, 1}, boxOf(t, ex.model))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range []cmdp.Task{{Cost: squared, Target: ex.task.Target}, {Cost: ex.task.Cost}} {
		k, err := KnowledgeOf(context.Background(), ex.model, task)
		if err != nil || k.Safe != nil || k.Slater != 0 {
			t.Error(k, err)
		}
	}
}
