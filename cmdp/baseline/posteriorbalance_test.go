package baseline

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// spender returns a learner of one step with the choices (0, 0) and (1, 1) of reward and cost, of which the
// reward is wanted and at most ½ of the cost is allowed, after ten episodes that returned total in all. Its
// policy returns (x, x), where x is the probability of the second choice. The ranges are 1 and ½, and the price
// of the limit is 1, so that λ = ½.
func spender(t *testing.T, total [2]float64) *posterior {
	t.Helper()
	m := armed(t, []float64{0, 0}, []float64{1, 1})
	goal := linearCost(t, []float64{-1, 0}, boxOf(t, m))
	target := boundedBox(t, []float64{0, 0}, []float64{1, 0.5})
	// The limit in other units, 4·cost ≤ 2, is the same.
	c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 1000}}, Returns: m.KnownReturns(),
		Task: cmdp.Task{Cost: goal, Target: target,
			Constraints: []cmdp.Constraint{{Normal: []float64{0, 4}, Offset: 2}}}}
	l := posteriorOf(t, m, c)
	see(l, m, 10, 0, total[0]/10, total[1]/10)
	return l
}

// spent returns the probability x.
func spent(l *posterior) float64 {
	probs := make([]float64, 2)
	l.Policy().(*table).Distribution(probs, 0, 0)
	return probs[1]
}

// TestPosteriorRepays works out the policy of m = 3 episodes after k = 10 that do not scatter. W = (R + 3(x, x))/13,
// the regret is ½ − W₁ of a range of 1, and the violation W₂ − ½ of ½.
//
//   - R = (4, 7): ½ − (4+3x)/13 = (14+6x)/13 − 1 where x = 1/6. The limit alone allows no x ≥ 0. Without the past
//     x is ½; the violation is 4/13 and the regret 1/13, so that (4−1)/13/(1+λ) = 2/13 of violation are saved by a
//     W₂ that is 1/13 less, which is x = ½ − 1/3.
//   - R = (7, 7): what was overspent was to good purpose, and is saved: ½ − (7+3x)/13 = (14+6x)/13 − 1 wants x = −1/6.
//   - R = (0, 5): the regret is large, but nothing is saved that could be spent, so that x is ½.
//   - R = (0, 3.8): 6.5 − 3.8 = 2.7 are, and x is 0.9.
//   - R = (0, 7): the violation is less than the regret whatever is done; nothing is paid back.
func TestPosteriorRepays(t *testing.T) {
	for _, tc := range []struct {
		total [2]float64
		want  float64
	}{{[2]float64{4, 7}, 1.0 / 6}, {[2]float64{7, 7}, 0}, {[2]float64{0, 5}, 0.5}, {[2]float64{0, 3.8}, 0.9},
		{[2]float64{0, 7}, 0.5}, {[2]float64{5, 5}, 0.5}} {
		if got := spent(spender(t, tc.total)); math.Abs(got-tc.want) > 1e-3 {
			t.Errorf("after %v: x = %.4f, want %.4f", tc.total, got, tc.want)
		}
	}
}

// TestPosteriorStaysInside has returns that scatter, after a past of (½, ½) each. With s = σ√3/13 the policy stays
// away from the limit by y with y = −2y + 2·(s₂/½ − s₁), which is z(s₂/ν − s₁/ρ)/(1+λ) of ν = ½; where the
// reward scatters twice as much as the cost it does not stay away.
func TestPosteriorStaysInside(t *testing.T) {
	for _, tc := range []struct{ reward, cost float64 }{{0, 0}, {0, 0.3}, {0.2, 0.3}, {0.6, 0.3}, {0.7, 0.3}} {
		l := spender(t, [2]float64{5, 5})
		l.balance.noise.Covariance = []float64{tc.reward * tc.reward, 0, 0, tc.cost * tc.cost}
		root := math.Sqrt(3) / 13
		y := max(0, balanceMargin*(tc.cost*root/0.5-tc.reward*root)/3)
		if got, want := spent(l), 0.5-y*13/3; math.Abs(got-want) > 1e-3 {
			t.Errorf("deviations %v: x = %.4f, want %.4f", tc, got, want)
		}
	}
}

// TestPosteriorNoise has episodes that return 1, 2, 4 and count 1, 2, 3 of 6.
func TestPosteriorNoise(t *testing.T) {
	n := noise{Mean: make([]float64, 2), Covariance: make([]float64, 4)}
	for i, x := range []float64{1, 2, 4} {
		n.observe([]float64{x, -3 * x}, i+1)
	}
	mean := (1.0 + 4 + 12) / 6
	variance := (math.Pow(1-mean, 2) + 2*math.Pow(2-mean, 2) + 3*math.Pow(4-mean, 2)) / 6
	if !floats.EqualApprox(n.Mean, []float64{mean, -3 * mean}, 1e-12) ||
		!floats.EqualApprox(n.Covariance, []float64{variance, -3 * variance, -3 * variance, 9 * variance}, 1e-12) {
		t.Errorf("%+v: want mean %v, variance %v", n, mean, variance)
	}
	if got, want := n.deviation([]float64{2, -1}), 5*math.Sqrt(variance); math.Abs(got-want) > 1e-12 {
		t.Errorf("deviation %v: want %v", got, want)
	}
}

// TestPosteriorFlipsACoin wants half of the blocks to be planned on the frequencies of what was visited. One
// choice went to its two successors once each: a draw never has ½ of either, the frequencies do.
func TestPosteriorFlipsACoin(t *testing.T) {
	m := fourStates(t)
	l := posteriorOf(t, m, Config{Returns: m.KnownReturns(), Seed: 5})
	see(l, m, 1, 0, 0, 0)
	see(l, m, 1, 1, 0, 0)
	even := 0
	for range 400 {
		model, _, _, err := l.plan()
		if err != nil {
			t.Fatal(err)
		}
		next, prob := model.Kernel(0).Row(0)
		if slices.Equal(prob, []float64{0.5, 0.5}) && slices.Equal(next, []int32{0, 1}) {
			even++
		}
	}
	if even < 150 || even > 250 { // five standard deviations
		t.Errorf("%d of 400 blocks are planned on the frequencies: want 200", even)
	}
}

// TestBalanceByDefinition compares what plans minimise with its definition, times ρ and moved by g° and what chance
// adds to the regret, for curved goals, drawn pasts and drawn noise, at drawn returns.
func TestBalanceByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 12))
	for trial := range 20 {
		m := armed(t, []float64{0, 0}, []float64{1, 2})
		box := boxOf(t, m)
		best, weights := []float64{rng.Float64(), 2 * rng.Float64()}, []float64{1 + rng.Float64(), 1 + rng.Float64()}
		goal, err := cost.NewSquared(best, weights, box)
		if err != nil {
			t.Fatal(err)
		}
		rows := []cmdp.Constraint{{Normal: []float64{0, 4}, Offset: 1 + 4*rng.Float64()},
			{Normal: []float64{3, 1}, Offset: 1 + 2*rng.Float64()}}
		target, err := boxWithin(rows, box)
		if err != nil {
			t.Fatal(err)
		}
		b, err := newBalance(m.Shape(), cmdp.Task{Cost: goal, Target: target, Constraints: rows})
		if err != nil || b == nil {
			t.Fatal(err)
		}
		x, y := rng.NormFloat64(), rng.NormFloat64()
		b.noise.Covariance = []float64{x * x, x * y, x * y, y*y + rng.Float64()}
		k, ahead := float64(1+rng.IntN(50)), float64(1+rng.IntN(20))
		total := []float64{k * rng.Float64(), 2 * k * rng.Float64()}
		free := &exact.Result{Objective: rng.Float64(), Returns: []float64{rng.Float64(), 2 * rng.Float64()},
			Status: exact.Optimal}
		task, err := b.task(goal, total, k, ahead, free)
		if err != nil {
			t.Fatal(err)
		}
		mean := func(v []float64) []float64 {
			return []float64{(total[0] + ahead*v[0]) / (k + ahead), (total[1] + ahead*v[1]) / (k + ahead)}
		}
		scatter := func(dir []float64) float64 {
			c := b.noise.Covariance
			square := dir[0]*dir[0]*c[0] + 2*dir[0]*dir[1]*c[1] + dir[1]*dir[1]*c[3]
			return balanceMargin * math.Sqrt(square*ahead) / (k + ahead)
		}
		w := mean(free.Returns)
		gradient := []float64{2 * weights[0] * (w[0] - best[0]), 2 * weights[1] * (w[1] - best[1])}
		rho, nu, err := Ranges(m.Shape(), cmdp.Task{Cost: goal, Target: target, Constraints: rows})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			v := randomPoint(rng, box.Lower(), box.Upper())
			w := mean(v)
			want := weights[0]*math.Pow(w[0]-best[0], 2) + weights[1]*math.Pow(w[1]-best[1], 2)
			for _, r := range rows {
				norm := floats.Norm(r.Normal, 2)
				unit := []float64{r.Normal[0] / norm, r.Normal[1] / norm}
				violation := (floats.Dot(unit, w) - r.Offset/norm + scatter(unit)) / nu
				want = max(want, rho*violation+free.Objective-scatter(gradient))
			}
			if got := task.Cost.Value(v); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("trial %d: %v costs %v, want %v", trial, v, got, want)
			}
		}
	}
}
