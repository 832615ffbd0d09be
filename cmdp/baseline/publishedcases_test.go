package baseline

import (
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// publishedModel draws a model of the size of MO-UCBVI's experiment: 20 states, 5 actions,
// horizon 10, 15 uniform rewards, a kernel without structure. Rewards are the same at every
// step, as pooled counts ask; the experiment draws them for each step.
func publishedModel(t *testing.T) *cmdp.Model {
	t.Helper()
	const states, actions, horizon, dim = 20, 5, 10, 15
	rng := rand.New(rand.NewPCG(3, 9))
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: dim,
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, states)
	for i := range states * actions {
		row := cmdp.Row{Step: cmdp.EveryStep, State: i / actions, Action: i % actions, Returns: make([]float64, dim)}
		sum := 0.0
		for n := range states {
			row.Next = append(row.Next, cmdp.Transition{Next: n, Probability: rng.Float64()})
			sum += row.Next[n].Probability
		}
		for n := range row.Next {
			row.Next[n].Probability /= sum
		}
		for j := range row.Returns {
			row.Returns[j] = rng.Float64()
		}
		addRow(t, b, row)
	}
	return built(t, b)
}

// best returns the policy that is best in a direction if the model is known, and its
// value.
func best(t *testing.T, m *cmdp.Model, counts *cmdp.Counts, dir []float64) (*cmdp.Plan, float64) {
	t.Helper()
	vi, err := cmdp.NewOptimisticVI(m.Shape(), m.KnownReturns(), cmdp.NoBonus{})
	if err != nil {
		t.Fatal(err)
	}
	p := vi.NewPlan()
	vi.Plan(p, counts, dir)
	return p, p.Low
}

// TestPublishedPreferences repeats MO-UCBVI's experiment with its constants: a random preference in
// each episode. There, as here, regret grows much more slowly than that of the one policy
// that is best for the mean preference, which is told the model.
func TestPublishedPreferences(t *testing.T) {
	m := publishedModel(t)
	box := boxOf(t, m)
	down := make([]float64, m.Dim())
	for j := range down {
		down[j] = -1. / 15
	}
	counts := known(t, m, false)
	stationary, _ := best(t, m, counts, down)
	fixed := make([]float64, m.Dim())
	cmdp.NewEvaluator(m).Returns(fixed, stationary)
	const episodes = 1000
	l := newLearner(t, "mo-ucbvi",
		Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: episodes, Failure: 0.1},
			Bonus:  cmdp.BonusScale{Mode: cmdp.Published, Factor: 1},
			Pooled: true}, Shape: m.Shape(), Returns: m.KnownReturns(), Task: cmdp.Task{Cost: linearCost(t, down, box)},
			Preferences: "random", Seed: 1})
	dual := newRandomPreferences(m.Dim(), 1)
	var regret, other float64
	for k := range episodes {
		dir := dual.Direction()
		_, each := play(t, m, l, uint64(k), 1)
		if k >= episodes-200 {
			_, optimum := best(t, m, counts, dir)
			r := floats.Dot(dir, each[0]) - optimum
			if r < -1e-6 {
				t.Fatalf("episode %d: better than best by %g", k, -r)
			}
			regret += r
			other += floats.Dot(dir, fixed) - optimum
		}
		dual.Observe(nil, 0)
	}
	if regret > other/3 {
		t.Errorf("regret of the last 200 episodes %.2f, of the best fixed policy %.2f", regret, other)
	}
}
