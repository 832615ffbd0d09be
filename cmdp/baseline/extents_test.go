package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"

	"gonum.org/v1/gonum/floats"
)

// logOf returns counts of so many episodes of a drawn policy that prefers some action of every state: some choices
// are met often, some rarely, and some never. With learned, returns are counted too.
func logOf(t *testing.T, m *cmdp.Model, pooled, learned bool, episodes int, rng *rand.Rand) *cmdp.Counts {
	t.Helper()
	var returns *cmdp.ReturnConfidence
	if learned {
		returns = cmdp.NewReturnConfidence(m.Shape(), 0, 0)
	}
	counts, err := cmdp.NewCounts(m.Shape(), pooled, returns)
	if err != nil {
		t.Fatal(err)
	}
	steps := make([][]float64, m.Horizon())
	for h := range steps {
		for s := range m.States() {
			row := make([]float64, m.Shape().Actions(h, s))
			for a := range row {
				row[a] = math.Pow(rng.Float64(), 6) + 1e-4
			}
			floats.Scale(1/floats.Sum(row), row)
			steps[h] = append(steps[h], row...)
		}
	}
	policy, err := cmdp.NewRandomized(m.Shape().AgentOffsets(), steps)
	if err != nil {
		t.Fatal(err)
	}
	tr := cmdp.NewTrajectory(m.Shape())
	for range episodes {
		tr.Play(m, policy, rng, rng)
		counts.Observe(tr)
	}
	return counts
}

// loggedExample draws an example with a log, and what a learner of it is told: of all steps or pooled, with rests or
// not, returns that are known or learned, and bonuses large or small.
func loggedExample(t *testing.T, seed uint64, rng *rand.Rand) (*example, Config) {
	t.Helper()
	ex := newExample(t, seed, modelSpec{states: 3, actions: 3, horizon: 1 + int(seed)%4, dim: 2,
		stationary: seed%2 == 0, rests: seed%3 > 0})
	c := ex.config(1000)
	c.Bonus = cmdp.TheoryTimes([]float64{1, 0.1, 0.01}[seed%3])
	c.Pooled = seed%4 == 0
	if seed%4 == 1 {
		c.Returns = nil
	}
	c.Prior = logOf(t, ex.model, c.Pooled, c.Returns == nil, 40, rng)
	ex.withNull(&c)
	return ex, c
}

// lpOf returns the learner of programs in a learner.
func lpOf(l cmdp.Learner) *lpLearner {
	if x, ok := l.(*knapsackLearner); ok {
		return x.lpLearner
	}
	return l.(*lpLearner)
}

// wantExtent wants no point of a set to lie outside its box, and the box to have the sides that are wanted. With
// reached some point has to reach each side.
func wantExtent(t *testing.T, what string, x exact.Points, wantLower, wantUpper []float64, reached bool,
	rng *rand.Rand) {
	t.Helper()
	d := x.Dim()
	lower, upper, dir := make([]float64, d), make([]float64, d), make([]float64, d)
	floats.AddConst(rng.NormFloat64(), lower) // what was there before does not count
	x.Extent(lower, upper)
	if !floats.EqualApprox(lower, wantLower, 1e-9) || !floats.EqualApprox(upper, wantUpper, 1e-9) {
		t.Errorf("%s: the box is %v to %v: want %v to %v", what, lower, upper, wantLower, wantUpper)
	}
	for i := range 4*d + 8 {
		clear(dir)
		if i < 2*d {
			dir[i/2] = float64(1 - i%2*2)
		} else {
			for j := range dir {
				dir[j] = rng.NormFloat64()
			}
		}
		v := x.Least(i%3, dir)
		for j := range v {
			if !(v[j] >= lower[j]-1e-9 && v[j] <= upper[j]+1e-9) {
				t.Errorf("%s: the direction %v has the point %v, outside of %v to %v", what, dir, v, lower, upper)
			}
		}
		if side := []float64{lower[i/2%d], upper[i/2%d]}[i%2]; reached && i < 2*d && math.Abs(v[i/2]-side) > 1e-9 {
			t.Errorf("%s: the side %v of return %d is not reached: %v", what, side, i/2, v)
		}
	}
}

// TestExtents wants the boxes that planning programs start from to hold all points of their sets, rests included, and
// to be no wider than what the definition adds up over the steps: the extremes of the signals of the choices, and for
// conrl-convex of the mean returns, widened by the sum of the largest bonuses times the widths.
func TestExtents(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 61))
	for seed := range uint64(12) {
		ex, c := loggedExample(t, seed, rng)
		for _, name := range append([]string{"conrl-knapsack", "conrl-convex"}, lpNames...) {
			sw := lpOf(newLearner(t, name, c)).sweep
			lower, upper := make([]float64, sw.signals), make([]float64, sw.signals)
			for h := range sw.horizon {
				for j := range sw.signals {
					var all []float64
					for s := range sw.states {
						first, end := ex.model.Shape().Choices(h, s)
						for i := first; i < end; i++ {
							all = append(all, sw.signal[(sw.base[h]+i)*sw.signals+j])
						}
						if first == end {
							all = append(all, sw.rest(h, j))
						}
					}
					lower[j], upper[j] = lower[j]+floats.Min(all), upper[j]+floats.Max(all)
				}
			}
			what := fmt.Sprintf("%s, seed %d", name, seed)
			if name != "conrl-convex" {
				wantExtent(t, what, sw, lower, upper, false, rng)
				continue
			}
			bonus := upper[2]
			for j := range 2 {
				lower[j], upper[j] = sw.width[j]*(lower[j]-bonus)+sw.shift[j], sw.width[j]*(upper[j]+bonus)+sw.shift[j]
			}
			x := &widened{sweep: sw, weight: make([]float64, sw.signals)}
			wantExtent(t, what, x, lower[:2], upper[:2], false, rng)
		}
	}
}

// TestWidenedExtent has the box of conrl-convex in the user's units where there is one step in one state: mean returns
// less and plus the bonus of the arm that was pulled least, times the width of the return.
func TestWidenedExtent(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 62))
	for trial := range 20 {
		var arms [][]float64
		for range 2 + trial%3 {
			arms = append(arms, []float64{4 * rng.NormFloat64(), rng.NormFloat64()})
		}
		m := armed(t, arms...)
		box := boxOf(t, m)
		c := Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: 100, Failure: 0.1},
			Bonus: cmdp.BonusScale{Mode: cmdp.Published, Factor: 100}}, Shape: m.Shape(), Returns: m.KnownReturns(),
			Task: cmdp.Task{Cost: linearCost(t, []float64{1, 1}, box)}, Prior: newCounts(t, m.Shape(), false)}
		least := math.Inf(1)
		for a := range arms {
			n := 1 + rng.IntN(50)
			if err := c.Prior.Add(0, 0, a, 0, uint32(n)); err != nil {
				t.Fatal(err)
			}
			least = min(least, float64(n))
		}
		l := newLearner(t, "conrl-convex", c).(*lpLearner)
		lower, upper := box.Lower(), box.Upper()
		for j := range 2 {
			b := 0.1 / math.Sqrt(least) * (upper[j] - lower[j])
			lower[j], upper[j] = lower[j]-b, upper[j]+b
		}
		x := &widened{sweep: l.sweep, weight: make([]float64, l.signals)}
		wantExtent(t, fmt.Sprintf("trial %d", trial), x, lower, upper, false, rng)
		for range 4 {
			dir, want := []float64{rng.NormFloat64(), rng.NormFloat64()}, math.Inf(1)
			for a, arm := range arms {
				b := 0.1 / math.Sqrt(float64(c.Prior.Visits(0, 0, a)))
				box := boxOf(t, m)
				wide := floats.SubTo(make([]float64, 2), box.Upper(), box.Lower())
				want = min(want, floats.Dot(dir, arm)-b*(math.Abs(dir[0])*wide[0]+math.Abs(dir[1])*wide[1]))
			}
			if got := floats.Dot(dir, x.Least(0, dir)); math.Abs(got-want) > 1e-9 {
				t.Errorf("trial %d: the least in the direction %v is %v: want %v", trial, dir, got, want)
			}
		}
	}
}

// TestArmExtents wants the box of bwcr-ucb to be the least that holds the confidence boxes of all arms.
func TestArmExtents(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 63))
	for _, factor := range []float64{0, 0.1, 1} {
		l, low, high := armsLearner(t, "bwcr-ucb", atMost(t, 0.5), factor)
		lower, upper := low[0][:], high[0][:]
		for i := range low {
			for j := range lower {
				lower[j], upper[j] = min(lower[j], low[i][j]), max(upper[j], high[i][j])
			}
		}
		wantExtent(t, fmt.Sprint("factor ", factor), l.(*banditPlanner), lower, upper, true, rng)
	}
}
