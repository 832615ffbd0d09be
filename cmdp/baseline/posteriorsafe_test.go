package baseline

import (
	"encoding"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
)

// TestPosteriorSafe counts the episodes whose policy breaks the limit in expectation: of posterior-safe from a
// log that tells the kernel there are few, and of posterior, which plans for the limit itself, many; the
// objective comes near the optimum all the same. Without data it plays the safe policy that it was told.
func TestPosteriorSafe(t *testing.T) {
	violating := map[string]int{}
	for seed := range uint64(2) {
		ex := newExample(t, 11+seed, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2, stationary: true})
		prior := newCounts(t, ex.model.Shape(), true)
		k := ex.model.Kernel(0)
		for s := range ex.model.States() {
			for c := k.First[s]; c < k.First[s+1]; c++ {
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					if err := prior.Add(0, s, int(c-k.First[s]), int(k.Next[e]), uint32(2000*k.Prob[e])); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for _, name := range []string{"posterior-safe", "posterior"} {
			c := ex.config(150)
			c.Pooled, c.Prior, c.Seed = true, prior, seed
			mean, each := play(t, ex.model, newLearner(t, name, c), seed, 150)
			for _, v := range each {
				if ex.excess(t, v) > 1e-9 {
					violating[name]++
				}
			}
			if name == "posterior-safe" && ex.task.Cost.Value(mean) > ex.optimum+0.1 {
				t.Errorf("seed %d: cost %g of an optimum of %g", seed, ex.task.Cost.Value(mean), ex.optimum)
			}
		}
	}
	if violating["posterior-safe"] > 30 || violating["posterior"] < 75 {
		t.Errorf("of 300 episodes break the limit: %v; want at most 30 of posterior-safe, and at least 75 of posterior",
			violating)
	}
}

// TestPosteriorSafeRetreats wants the safe policy to be played as long as no plan is sure enough, and the most
// cautious one where none was told.
func TestPosteriorSafeRetreats(t *testing.T) {
	ex := newExample(t, 4, modelSpec{states: 4, actions: 3, horizon: 3, dim: 2})
	// A limit that only the safe policy keeps, nearly.
	c := ex.config(100)
	l := newLearner(t, "posterior-safe", c).(*posteriorSafe)
	_, each := play(t, ex.model, l, 1, 1)
	if l.retreats && ex.excess(t, each[0]) > 1e-9 {
		t.Errorf("the safe policy breaks a limit by %g", ex.excess(t, each[0]))
	}
	if !l.retreats {
		t.Error("without data a plan is promised")
	}
	c.Knowledge.Safe, c.Knowledge.SafeReturns = nil, nil
	l = newLearner(t, "posterior-safe", c).(*posteriorSafe)
	if play(t, ex.model, l, 1, 3); l.retreats || l.state.Work.Programs == 0 {
		t.Error("without a safe policy there is none to play")
	}
}

// TestPosteriorSafeSaved wants a learner that was saved to go on bit for bit, and one that is restored to have
// its safe policy.
func TestPosteriorSafeSaved(t *testing.T) {
	ex := newExample(t, 5, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2})
	c := ex.config(60)
	one, other := newLearner(t, "posterior-safe", c), newLearner(t, "posterior-safe", c)
	play(t, ex.model, one, 1, 12)
	play(t, ex.model, other, 3, 7)
	data, err := one.(encoding.BinaryMarshaler).MarshalBinary()
	if err == nil {
		err = other.(encoding.BinaryUnmarshaler).UnmarshalBinary(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	first, _ := play(t, ex.model, one, 2, 12)
	second, _ := play(t, ex.model, other, 2, 12)
	if !slices.Equal(first, second) {
		t.Errorf("returns %v, restored %v", first, second)
	}
	wantSameState(t, "posterior-safe", one, other)
	ball, err := geometry.NewBall([]float64{1, 0.5}, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	c.Task.Target = ball
	if _, err := New("posterior-safe", c); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a ball: %v", err)
	}
}

// TestPosteriorSafeLearns wants posterior-safe to plan on what it has observed: after 2,000 episodes of the uniform
// policy a plan is promised, and comes near the optimum, where before there was none.
func TestPosteriorSafeLearns(t *testing.T) {
	ex := newExample(t, 11, modelSpec{states: 3, actions: 2, horizon: 3, dim: 2, stationary: true})
	c := ex.config(3000)
	c.Pooled, c.Knowledge.Safe, c.Knowledge.SafeReturns = true, nil, nil
	l := newLearner(t, "posterior-safe", c).(*posteriorSafe)
	rng, tr := rand.New(rand.NewPCG(30, 11)), cmdp.NewTrajectory(ex.model.Shape())
	for range 2000 {
		tr.Play(ex.model, cmdp.Uniform{Shape: ex.model.Shape()}, rng, rng)
		l.Observe(tr)
	}
	v := make([]float64, 2)
	cmdp.NewEvaluator(ex.model).Returns(v, l.Policy())
	if l.state.Work.Infeasible > 0 || ex.task.Cost.Value(v) > ex.optimum+0.1 {
		t.Errorf("%d plans are not promised, and the plan costs %g: want an optimum of %g", l.state.Work.Infeasible,
			ex.task.Cost.Value(v), ex.optimum)
	}
}
