package baseline

import (
	"math"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// roundsModel is a problem of one state and one step. Rows are the arms, in a game each has
// a return for every column.
func roundsModel(t *testing.T, rows [][][]float64) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: len(rows[0][0]),
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a, columns := range rows {
		for o, r := range columns {
			addRow(t, b, cmdp.Row{Action: a, Opponent: o, Returns: r,
				Next: []cmdp.Transition{{Next: 0, Probability: 1}}})
		}
	}
	return built(t, b)
}

// tell shows a learner a round.
func tell(l cmdp.Learner, sh *cmdp.Shape, arm int, r ...float64) {
	tr := cmdp.NewTrajectory(sh)
	tr.Steps, tr.Actions[0] = 1, arm
	copy(tr.Return(0), r)
	copy(tr.Total, r)
	l.Observe(tr)
}

// wantVector compares vectors.
func wantVector(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	for i := range want {
		if len(got) != len(want) || !(math.Abs(got[i]-want[i]) <= 1e-12) {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// wantProbs compares the probabilities of a policy in the one state.
func wantProbs(t *testing.T, what string, p cmdp.Policy, want ...float64) {
	t.Helper()
	got := make([]float64, len(want))
	p.Distribution(got, 0, 0)
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-7) {
			t.Errorf("%s: arms %v, want %v", what, got, want)
			return
		}
	}
}

// roundsGame is a game whose payoffs lie in [0, 1] × [0, 0.5], the first of them moved by a number.
// The last row is worse than the others in all directions of the tests.
func roundsGame(moved float64) [][][]float64 {
	return [][][]float64{{{1 + moved, 0}, {moved, 0.5}}, {{moved, 0.25}, {0.75 + moved, 0}},
		{{1 + moved, 0.5}, {1 + moved, 0.5}}}
}

func roundsConfig(t *testing.T, m *cmdp.Model, target geometry.Compact) Config {
	t.Helper()
	return Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 100, Failure: 0.1}}, Shape: m.Shape(),
		Returns: m.KnownReturns(), Task: cmdp.Task{Target: target}}
}

func ballOf(t *testing.T, radius float64, center ...float64) geometry.Compact {
	t.Helper()
	b, err := geometry.NewBall(center, radius)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pointOf(t *testing.T, at ...float64) geometry.Compact {
	t.Helper()
	p, err := geometry.NewPoint(at)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBlackwellByHand follows Blackwell's strategy (1956) for the ball of radius 0.1 around
// (0.3, 0.4): θ is the direction from the projection of the mean on the ball to the mean, that
// from its centre, and stays as it is while the mean lies inside. Of the matrix (a b; c d) the row
// that equalises its columns is (d−c)/(a−b−c+d).
func TestBlackwellByHand(t *testing.T) {
	m := roundsModel(t, roundsGame(0))
	l := newLearner(t, "blackwell", roundsConfig(t, m, ballOf(t, 0.1, 0.3, 0.4))).(*MOMA)
	wantVector(t, "first direction", l.Direction(), math.Sqrt(0.5), math.Sqrt(0.5))
	wantProbs(t, "θ ~ (1, 1): (1 0.5; 0.25 0.75)", l.Policy(), 0.5, 0.5, 0)
	tell(l, m.Shape(), 0, 0.9, 0.2)
	wantVector(t, "mean (0.9, 0.2)", l.Direction(), 3/math.Sqrt(10), -1/math.Sqrt(10))
	wantProbs(t, "θ ~ (3, −1): (3 −0.5; −0.25 2.25)", l.Policy(), 2.5/6, 3.5/6, 0)
	tell(l, m.Shape(), 0, 0.1, 0.4)
	wantVector(t, "mean (0.5, 0.3)", l.Direction(), 2/math.Sqrt(5), -1/math.Sqrt(5))
	tell(l, m.Shape(), 0, 0, 0.5)
	wantVector(t, "mean (1/3, 1.1/3), inside", l.Direction(), 2/math.Sqrt(5), -1/math.Sqrt(5))
}

// TestShimkinByHand follows Shimkin's strategy (2016) for the same ball: θ ← Π_ball{θ + (r − y)/(R√k)}, R =
// √(1² + 0.5²), y the point of the ball farthest in the direction θ, at first, where
// all are, the nearest to r. Payoffs and ball are moved by 2, which changes nothing.
func TestShimkinByHand(t *testing.T) {
	m := roundsModel(t, roundsGame(2))
	l := newLearner(t, "shimkin", roundsConfig(t, m, ballOf(t, 0.1, 2.3, 0.4))).(*MOMA)
	size := math.Sqrt(1.25)
	wantVector(t, "first direction", l.Direction(), 0, 0)
	tell(l, m.Shape(), 0, 2.9, 0.2)
	away := math.Hypot(0.6, 0.2)
	x, y := 0.6*(1-0.1/away)/size, -0.2*(1-0.1/away)/size
	wantVector(t, "second", l.Direction(), x, y)
	wantProbs(t, "θ ~ (3, −1) again", l.Policy(), 2.5/6, 3.5/6, 0)
	for k := 2.; k <= 9; k++ {
		r := []float64{0.9, 0.2}
		if k == 3 {
			r = []float64{0, 0.5}
		}
		tell(l, m.Shape(), 0, r[0]+2, r[1])
		n := math.Hypot(x, y)
		x, y = x+(r[0]-0.3-0.1*x/n)/(size*math.Sqrt(k)), y+(r[1]-0.4-0.1*y/n)/(size*math.Sqrt(k))
		if n = math.Hypot(x, y); n > 1 {
			x, y = x/n, y/n
		}
		wantVector(t, "later", l.Direction(), x, y)
	}
	if math.Abs(math.Hypot(x, y)-1) > 1e-12 {
		t.Error("the ball was not met")
	}
}

// TestABHByHand follows the strategy of Abernethy, Bartlett and Hazan (2011) for the point
// w = (0.3, 0.4): κ = ‖w‖ = 0.5, the cone is the ray along c = (κ, w)/‖(κ, w)‖, and what its projection
// leaves of u = θ + (κ, r)/(√(κ²+R²)√k) is u − [u·c]₊c, shortened to length 1. R² = 1² + 0.5²
// is that of the longest payoff. For the origin κ is R.
func TestABHByHand(t *testing.T) {
	for _, tt := range []struct {
		moved float64
		w     []float64
		kappa float64
		size  float64 // R²
	}{{0, []float64{0.3, 0.4}, 0.5, 1.25}, {0, []float64{0, 0}, math.Sqrt(1.25), 1.25},
		{0.2, []float64{0.3, 0.4}, 0.5, 1.44 + 0.25}} {
		m := roundsModel(t, roundsGame(tt.moved))
		l := newLearner(t, "abh", roundsConfig(t, m, pointOf(t, tt.w...))).(*MOMA)
		long := math.Hypot(tt.kappa, math.Hypot(tt.w[0], tt.w[1]))
		c := []float64{tt.kappa / long, tt.w[0] / long, tt.w[1] / long}
		theta, full := []float64{0, 0, 0}, false
		for k := 1.; k <= 40; k++ {
			r := []float64{0.9, 0.2}
			if k == 2 {
				r = []float64{0.2, 0.5}
			}
			tell(l, m.Shape(), 0, r...)
			eta := 1 / math.Sqrt((tt.kappa*tt.kappa+tt.size)*k)
			theta = []float64{theta[0] + eta*tt.kappa, theta[1] + eta*r[0], theta[2] + eta*r[1]}
			if along := theta[0]*c[0] + theta[1]*c[1] + theta[2]*c[2]; along > 0 {
				for i := range theta {
					theta[i] -= along * c[i]
				}
			}
			if n := math.Hypot(theta[0], math.Hypot(theta[1], theta[2])); n > 1 {
				full = true
				for i := range theta {
					theta[i] /= n
				}
			}
			for i, x := range l.Direction() {
				if math.Abs(x-theta[i+1]) > 1e-9 {
					t.Fatalf("w %v, round %v: direction %v, want %v", tt.w, k, l.Direction(), theta[1:])
				}
			}
		}
		if !full {
			t.Error("the ball was not met")
		}
	}
}

// roundsArms are three arms with returns of [−1, 3] × [0, 2].
var roundsArms = [][][]float64{{{3, 2}}, {{1, 0.5}}, {{-1, 0}}}

// armBox is the confidence box of Agrawal and Devanur (2014) for the mean of so many pulls,
// where γ = ln(3·2·100/0.1) for three arms, two returns, K = 100 and p = 0.1: 2(√(γν/n) + γ/n) to each side, n the
// pulls plus one, in coordinates scaled to [0, 1].
func armBox(mean [2]float64, pulls, factor float64) (low, high [2]float64) {
	gamma := factor * factor * math.Log(3*2*100/0.1)
	for j, least := range []float64{-1, 0} {
		width := []float64{4, 2}[j]
		nu := (mean[j] - least) / width
		r := 2 * (math.Sqrt(gamma*nu/(pulls+1)) + gamma/(pulls+1))
		low[j], high[j] = least+width*max(0, nu-r), least+width*min(1, nu+r)
	}
	return low, high
}

// armsTold are the pulls and means that the learners are shown.
var armsTold = []struct {
	pulls int
	mean  [2]float64
}{{900, [2]float64{2, 1.6}}, {1600, [2]float64{0.8, 0.4}}, {2500, [2]float64{0, 0.2}}}

// armsLearner returns a learner that was shown armsTold, and the boxes of the arms.
func armsLearner(t *testing.T, name string, task func(box *geometry.Box) cmdp.Task,
	factor float64) (l cmdp.Learner, low, high [3][2]float64) {
	t.Helper()
	m := roundsModel(t, roundsArms)
	c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 100, Failure: 0.1},
		Penalty: &cmdp.Penalty{Rule: cmdp.PenaltyGiven, Rho: 3},
		Bonus:   cmdp.TheoryTimes(factor)}, Shape: m.Shape(), Task: task(boxOf(t, m))}
	l = newLearner(t, name, c)
	for i, a := range armsTold {
		for k := range a.pulls { // two returns in turn, with the mean that is wanted
			e := 0.2 * float64(1-2*(k%2))
			tell(l, m.Shape(), i, a.mean[0]+e, a.mean[1]-e)
		}
		low[i], high[i] = armBox(a.mean, float64(a.pulls), factor)
	}
	return l, low, high
}

// atMost is the task max v₀ with v₁ ≤ bound, atLeast min v₀ with v₁ ≥ bound.
func atMost(t *testing.T, bound float64) func(box *geometry.Box) cmdp.Task {
	return func(box *geometry.Box) cmdp.Task {
		return cmdp.Task{Cost: linearCost(t, []float64{-1, 0}, box),
			Target: boundedBox(t, box.Lower(), []float64{box.Upper()[0], bound})}
	}
}

func atLeast(t *testing.T, bound float64) func(box *geometry.Box) cmdp.Task {
	return func(box *geometry.Box) cmdp.Task {
		return cmdp.Task{Cost: linearCost(t, []float64{1, 0}, box),
			Target: boundedBox(t, []float64{box.Lower()[0], bound}, box.Upper())}
	}
}

// TestBwCRByHand wants bwcr to pull the arm with the least Σ θ_j(LCB_j if θ_j ≥ 0, else UCB_j), at hand-made
// counts, and its dual to move by hand. At first θ = φ = (−1, 0). A return of (2, 1.6) with v₁ ≤ 0.5
// has the excess (0, 1.1); G is the most that v₁ can differ from the bound set [0, 0.5], 2, and so
// ϕ = (0, 1.1/2) and θ = φ + 3ϕ.
func TestBwCRByHand(t *testing.T) {
	m := roundsModel(t, roundsArms)
	c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 100, Failure: 0.1},
		Penalty: &cmdp.Penalty{Rule: cmdp.PenaltyGiven, Rho: 3}}, Shape: m.Shape(), Task: atMost(t, 0.5)(boxOf(t, m))}
	first := newLearner(t, "bwcr", c).(*banditLearner)
	wantVector(t, "first direction", first.dual.Direction(), -1, 0)
	tell(first, m.Shape(), 0, 2, 1.6)
	wantVector(t, "second direction", first.dual.Direction(), -1, 3*1.1/2)
	for _, factor := range []float64{1, 0.35} {
		for i, task := range []func(*geometry.Box) cmdp.Task{
			atMost(t, 0.9), atLeast(t, 1), atMost(t, 0.2), atLeast(t, 0.3),
		} {
			l, low, high := armsLearner(t, "bwcr", task, factor)
			theta := l.(*banditLearner).dual.Direction()
			best, least := 0, math.Inf(1)
			for arm := range low {
				sum := 0.0
				for j, x := range theta {
					if x >= 0 {
						sum += x * low[arm][j]
					} else {
						sum += x * high[arm][j]
					}
				}
				if sum < least {
					best, least = arm, sum
				}
			}
			want := make([]float64, 3)
			want[best] = 1
			wantProbs(t, "arm", l.Policy(), want...)
			if got := l.(*banditLearner).low; math.Abs(got-least) > 1e-9 {
				t.Errorf("task %d: optimistic value %v in direction %v, want %v", i, got, theta, least)
			}
		}
	}
}

// TestBwCRDoubles wants the weight of the target to be doubled when the optimistic values of the
// rounds say so: with known means those are the least means, and the weight is that of MOMA.
func TestBwCRDoubles(t *testing.T) {
	m := roundsModel(t, roundsArms)
	c := Config{Settings: cmdp.Settings{Bonus: cmdp.TheoryTimes(0),
		Confidence: cmdp.Confidence{Episodes: 3000, Failure: 0.1},
		Penalty: &cmdp.Penalty{Rule: cmdp.PenaltyDoubling,
			Rho: 0.05}}, Shape: m.Shape(), Returns: m.KnownReturns(), Task: atMost(t, 0.5)(boxOf(t, m))}
	l, moma := newLearner(t, "bwcr", c).(*banditLearner), newLearner(t, "moma-double", c).(*MOMA)
	play(t, m, l, 1, 3000)
	play(t, m, moma, 1, 3000)
	if rho, n := moma.Findings().Rho, moma.Findings().Doublings; l.dual.(*cmdp.TermsDual).Rho() != rho || n < 2 {
		t.Errorf("weight %v, MOMA's %v after %d doublings", l.dual.(*cmdp.TermsDual).Rho(), rho, n)
	}
}

// TestBwCRUCBByHand wants bwcr-ucb to mix two arms such that their best corners meet the bound
// exactly: for max v₀ with v₁ ≤ b those are (UCB, LCB), and the arm that exceeds b by itself is
// drawn with the probability (b − LCB')/(LCB − LCB'); for min v₀ with v₁ ≥ b they are (LCB, UCB). The
// third arm is the best for neither.
func TestBwCRUCBByHand(t *testing.T) {
	for _, factor := range []float64{1, 0.35} {
		_, low, high := armsLearner(t, "bwcr-ucb", atMost(t, 1), factor)
		b := 0.3*low[0][1] + 0.7*low[1][1]
		l, _, _ := armsLearner(t, "bwcr-ucb", atMost(t, b), factor)
		wantProbs(t, "at most", l.Policy(), 0.3, 0.7, 0)
		b = 0.3*high[0][1] + 0.7*high[2][1]
		l, _, _ = armsLearner(t, "bwcr-ucb", atLeast(t, b), factor)
		share := (low[1][0] - low[2][0]) * (high[0][1] - high[2][1]) // is arm 1 above the chord of the two others?
		if share < (high[1][1]-high[2][1])*(low[0][0]-low[2][0]) {
			t.Error("arm 1 is of use")
		}
		wantProbs(t, "at least", l.Policy(), 0.3, 0, 0.7)
	}
}

// TestBwCRFrankWolfeByHand follows bwcr-fw with known means: the arm with the least ∇f(v̄)·r, v̄ at first
// the middle (1, 1) of the range, then the mean. For f = (v₀−1)² + 2(v₁−0.6)² the gradient is (2(v₀−1), 4(v₁−0.6)).
func TestBwCRFrankWolfeByHand(t *testing.T) {
	m := roundsModel(t, roundsArms)
	f, err := cost.NewSquared([]float64{1, 0.6}, []float64{1, 2}, boxOf(t, m))
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 100, Failure: 0.1}}, Shape: m.Shape(),
		Returns: m.KnownReturns(), Task: cmdp.Task{Cost: f}}
	pure := [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	l := newLearner(t, "bwcr-fw", c)
	wantProbs(t, "∇ (0, 1.6) at (1, 1)", l.Policy(), pure[2]...) // 3.2, 0.8, 0
	tell(l, m.Shape(), 2, -1, 0)
	wantProbs(t, "∇ (−4, −2.4) at (−1, 0)", l.Policy(), pure[0]...) // −16.8, −5.2, 4
	tell(l, m.Shape(), 0, 3, 2)
	wantVector(t, "mean", l.(*banditLearner).dual.(*frankWolfe).mean, 1, 1)
	wantProbs(t, "∇ (0, 1.6) at (1, 1)", l.Policy(), pure[2]...)
	tell(l, m.Shape(), 2, -1, 0)
	wantVector(t, "mean", l.(*banditLearner).dual.(*frankWolfe).mean, 1./3, 2./3)
	wantProbs(t, "∇ (−4/3, 4/15) at (1/3, 2/3)", l.Policy(), pure[0]...) // −3.47, −1.2, 1.33
	// The target: half the squared distance from a ball around (1, 1.5) has the gradient v̄ − Π(v̄), here
	// along v̄ less the centre.
	c.Task = cmdp.Task{Target: ballOf(t, 0.25, 1, 1.5)}
	l = newLearner(t, "bwcr-fw", c)
	wantProbs(t, "∇ ~ (0, −0.5) at (1, 1)", l.Policy(), pure[0]...)
	tell(l, m.Shape(), 0, 3, 2)
	wantProbs(t, "∇ ~ (2, 0.5) at (3, 2)", l.Policy(), pure[2]...)
	tell(l, m.Shape(), 2, -3, 0) // any return will do
	wantProbs(t, "∇ ~ (−1, −0.5) at (0, 1)", l.Policy(), pure[0]...)
}
