package baseline

import (
	"math"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// approArms are arms whose returns span [0, 1] × [0, 0.5], a box of the centre (0.5, 0.25).
var approArms = [][][]float64{{{1, 0}}, {{0, 0.5}}, {{0.2, 0.3}}}

// TestApproPOByHand follows ApproPO of Miryoosefi et al. (2019) with known returns and the point
// w = (0.2, 0.5) as target. Less the centre it is (−0.3, 0.25), κ = ‖(−0.3, 0.25)‖, and the cone is the ray c
// along (κ, −0.3, 0.25). λ starts at the projection of (1, 1, 1) on the polar cone in the ball; each
// episode pulls the arm that is best for the last coordinates of λ, and
//
//	λ ← Π(λ + (κ, r − centre)/(B√t)),   B = √(radius² + κ²),   radius² = 0.5² + 0.25².
//
// The published constants are κ = 20 and, in place of the step, λ ← Π(λ + v) with the velocity
// v ← 0.9v + 0.1·(κ, r − centre)/√t.
func TestApproPOByHand(t *testing.T) {
	m := roundsModel(t, approArms)
	for _, published := range []bool{false, true} {
		c := roundsConfig(t, m, pointOf(t, 0.2, 0.5))
		kappa := math.Hypot(0.3, 0.25)
		if published {
			c.Bonus, kappa = cmdp.BonusScale{Mode: cmdp.Published, Factor: 1}, 20
		}
		ray := []float64{kappa, -0.3, 0.25}
		floats.Scale(1/floats.Norm(ray, 2), ray)
		polar := func(u []float64) {
			floats.AddScaled(u, -max(0, floats.Dot(u, ray)), ray)
			floats.Scale(1/max(1, floats.Norm(u, 2)), u)
		}
		l := newLearner(t, "appropo", c).(*approPO)
		lambda, velocity := []float64{1, 1, 1}, make([]float64, 3)
		polar(lambda)
		pulled := map[int]bool{}
		for k := 1.; k <= 12; k++ {
			for i, x := range lambda {
				if math.Abs(l.search.Lambda[i]-x) > 1e-9 {
					t.Fatalf("published %v, episode %v: λ %v, want %v", published, k, l.search.Lambda, lambda)
				}
			}
			best := 0
			for a, r := range approArms {
				if floats.Dot(lambda[1:], r[0]) < floats.Dot(lambda[1:], approArms[best][0])-1e-12 {
					best = a
				}
			}
			probs := make([]float64, 3)
			probs[best] = 1
			wantProbs(t, "arm", l.Policy(), probs...)
			pulled[best] = true
			r := approArms[best][0]
			tell(l, m.Shape(), best, r...)
			z := []float64{kappa, r[0] - 0.5, r[1] - 0.25}
			if published {
				floats.Scale(0.9, velocity)
				floats.AddScaled(velocity, 0.1/math.Sqrt(k), z)
				floats.Add(lambda, velocity)
			} else {
				floats.AddScaled(lambda, 1/math.Sqrt((0.25+0.0625+kappa*kappa)*k), z)
			}
			polar(lambda)
		}
		if len(pulled) < 2 {
			t.Errorf("published %v: arms %v: the test says little", published, pulled)
		}
	}
}

// TestApproPOBisection wants thresholds of the cost to be decided as the comment of newApproPO says:
// refuted by a positive optimistic value (more than 0.001 of the length B of a lifted return) or
// after max(64, K/10) episodes, accepted when the mean estimate lies within 0.5% of the diameter of the
// returns, which is looked at from 16 episodes on when they are a power of two. The cost is −v₀ in [−1, 0],
// so that the first threshold is −0.5, and v₁ is to be at most 0.2.
func TestApproPOBisection(t *testing.T) {
	m := roundsModel(t, approArms)
	diameter := math.Hypot(1, 0.5)
	for _, tt := range []struct {
		name       string
		k          int // episodes of the run
		episodes   int // of the stage
		optimistic float64
		mean       []float64 // of the estimates
		low, up    float64
	}{
		{"nothing is known", 1000, 5, 0, []float64{0.4, 0.4}, -1, 0},
		{"refuted by its value", 1000, 5, 0.0011, []float64{0.4, 0.4}, -0.5, 0},
		{"not refuted by rounding", 1000, 5, 0.0009, []float64{0.4, 0.4}, -1, 0},
		{"out of time", 1000, 100, 0, []float64{0.4, 0.4}, -0.5, 0},
		{"not yet out of time", 1000, 99, 0, []float64{0.4, 0.4}, -1, 0},
		{"at least 64 episodes", 100, 63, 0, []float64{0.4, 0.4}, -1, 0},
		{"no more than 64", 100, 64, 0, []float64{0.4, 0.4}, -0.5, 0},
		{"accepted", 1000, 16, 0, []float64{0.5 - 0.0049*diameter, 0.1}, -1, -0.5},
		{"not near enough", 1000, 16, 0, []float64{0.5 - 0.0051*diameter, 0.1}, -1, 0},
		{"too early", 1000, 8, 0, []float64{0.6, 0.1}, -1, 0},
		{"no power of two", 1000, 17, 0, []float64{0.6, 0.1}, -1, 0},
	} {
		box := boxOf(t, m)
		c := roundsConfig(t, m, boundedBox(t, []float64{0, 0}, []float64{1, 0.2}))
		c.Task.Cost, c.Confidence.Episodes = linearCost(t, []float64{-1, 0}, box), tt.k
		l := newLearner(t, "appropo", c).(*approPO)
		if st := l.search; st.Threshold != -0.5 || st.Low != -1 || st.Up != 0 {
			t.Fatalf("first stage: %+v", st)
		}
		for i := range l.search.Lambda { // a new stage knows nothing of the one before
			l.search.Lambda[i], l.search.Velocity[i] = -0.3, 7
		}
		l.search.Episodes = tt.episodes
		floats.ScaleTo(l.search.Sum, float64(tt.episodes), tt.mean)
		l.decide(tt.optimistic, 1)
		if st := l.search; st.Low != tt.low || st.Up != tt.up || st.Threshold != (tt.low+tt.up)/2 {
			t.Errorf("%s: thresholds %v, %v and %v, want %v, %v and their middle", tt.name, st.Low, st.Threshold, st.Up,
				tt.low, tt.up)
		} else if st.Threshold != -0.5 {
			fresh := newLearner(t, "appropo", c).(*approPO)
			level, err := fresh.level(st.Threshold)
			if err != nil {
				t.Fatal(err)
			}
			if err := fresh.aim(level); err != nil {
				t.Fatal(err)
			}
			if want := fresh.search; st.Episodes != 0 || !slices.Equal(st.Sum, want.Sum) ||
				!slices.Equal(st.Lambda, want.Lambda) || !slices.Equal(st.Velocity, want.Velocity) {
				t.Errorf("%s: a stage begins with %+v, want %+v", tt.name, st, want)
			}
		}
	}
}

// TestApproPOBracket wants the thresholds of a run with known returns to close in on the optimum: with
// v₁ ≥ 0.2 the best is 0.6 of arm 0 and 0.4 of arm 1, v₀ = 0.6. A constant of the cost moves them along.
func TestApproPOBracket(t *testing.T) {
	m := roundsModel(t, approArms)
	for _, constant := range []float64{0, 2.5, -0.25} {
		c := roundsConfig(t, m, boundedBox(t, []float64{0, 0.2}, []float64{1, 0.5}))
		goal, err := cost.NewAffine([]float64{-1, 0}, constant, boxOf(t, m))
		if err != nil {
			t.Fatal(err)
		}
		c.Task.Cost, c.Confidence.Episodes = goal, 4000
		l := newLearner(t, "appropo", c).(*approPO)
		play(t, m, l, 1, 4000)
		small, best := 0.005*math.Hypot(1, 0.5), constant-0.6
		if st := l.search; st.Up-st.Low > small || st.Threshold != st.Up || st.Low > best+1e-9 || st.Up < best-small {
			t.Errorf("thresholds %v to %v around %v", st.Low, st.Up, best)
		}
	}
}
