package baseline

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
)

// oddModel draws a model with much that is out of the ordinary: states that rest at
// some steps and not at others, the first state perhaps among them, single actions, a
// return that never varies, returns far from [0, 1], one step or several.
func oddModel(t *testing.T, rng *rand.Rand) *cmdp.Model {
	t.Helper()
	states, horizon := 1+rng.IntN(4), 1+rng.IntN(4)
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: 3, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		states)
	for h := range horizon {
		for s := range states {
			if rng.IntN(3) == 0 && (h > 0 || s > 0 || horizon > 1) {
				continue
			}
			for a := range 1 + rng.IntN(3) {
				row := cmdp.Row{Step: h + 1, State: s, Action: a,
					Returns: []float64{1000 * rng.NormFloat64(), 0.5, float64(rng.IntN(3)) * 1e-3}}
				left := 1.0
				for n := range states {
					p := left * rng.Float64()
					if n == states-1 {
						p = left
					}
					row.Next = append(row.Next, cmdp.Transition{Next: n, Probability: p})
					left -= p
				}
				addRow(t, b, row)
			}
		}
	}
	return built(t, b)
}

// TestOdd wants every algorithm to play odd problems without a panic, and policies
// to be distributions: with equalities, targets of a single point, infeasible ones,
// and all bonus scales.
func TestOdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 3))
	for trial := range 60 {
		m := oddModel(t, rng)
		box := boxOf(t, m)
		lower, upper := box.Lower(), box.Upper()
		v := randomPoint(rng, lower, upper)
		task := cmdp.Task{Cost: linearCost(t, []float64{1, 0, rng.NormFloat64()}, box)}
		switch trial % 4 {
		case 0:
			upper[0], lower[2] = v[0], v[2]
		case 1:
			lower[0], upper[0] = v[0], v[0]
		case 2:
			lower, upper = v, v
		}
		task.Target = boundedBox(t, lower, upper)
		for _, name := range append(planners, bandits...) {
			c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 30, Failure: 0.1},
				Bonus: cmdp.BonusScale{Mode: cmdp.BonusMode(trial % 4),
					Factor: 1}}, Shape: m.Shape(), Task: task, Lazy: trial%5 == 0}
			if trial%2 == 0 {
				c.Returns = m.KnownReturns()
			}
			// Knowledge that may be false: what learners then promise is void, but they play on.
			c.Knowledge = Knowledge{Slater: 1e-4, Safe: cmdp.Uniform{Shape: m.Shape()}, SafeReturns: v,
				Null: cmdp.Uniform{Shape: m.Shape()}, NullReturns: v}
			l, err := New(name, c)
			if err != nil {
				if !errors.Is(err, ErrUnsupported) && name != "dope" && name != "optpess-lp" {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			env, agent := rand.New(cmdp.Stream(1, "e")), rand.New(cmdp.Stream(1, "a"))
			tr := cmdp.NewTrajectory(m.Shape())
			for range 30 {
				p := l.Policy()
				for h := range m.Horizon() {
					for s := range m.States() {
						if n := m.Shape().Actions(h, s); n > 0 {
							sum, probs := 0.0, make([]float64, n)
							p.Distribution(probs, h, s)
							for _, x := range probs {
								sum += x
								if !(x >= 0) {
									sum = math.NaN()
								}
							}
							if !(math.Abs(sum-1) < 1e-9) {
								t.Fatalf("%s, trial %d: step %d state %d: %v", name, trial, h, s, probs)
							}
						}
					}
				}
				tr.Play(m, p, env, agent)
				l.Observe(tr)
			}
		}
	}
}

func randomPoint(rng *rand.Rand, lower, upper []float64) []float64 {
	v := make([]float64, len(lower))
	for i := range v {
		v[i] = lower[i] + rng.Float64()*(upper[i]-lower[i])
	}
	return v
}
