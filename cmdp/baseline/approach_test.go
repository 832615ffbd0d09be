package baseline

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"
	"cmdpsolve/oracle/game"

	"gonum.org/v1/gonum/floats"
)

// vectorPayoffs returns the game of one state and one step with random payoffs.
func vectorPayoffs(t testing.TB, seed uint64, rows, cols, dim int) *cmdp.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: dim, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for j := range rows * cols {
		r := make([]float64, dim)
		for i := range r {
			r[i] = rng.Float64()
		}
		row := cmdp.Row{Step: cmdp.EveryStep, Action: j / cols, Opponent: j % cols, Returns: r,
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}}
		addRow(t, b, row)
	}
	return built(t, b)
}

// approachConfig has a ball of the given radius as target.
func approachConfig(t testing.TB, m *cmdp.Model, center []float64, radius float64, episodes int) Config {
	t.Helper()
	ball, err := geometry.NewBall(center, radius)
	if err != nil {
		t.Fatal(err)
	}
	lower, upper := make([]float64, len(center)), make([]float64, len(center))
	m.Shape().ReturnToGo(lower, upper, 0)
	box := newBox(t, lower, upper)
	w, err := geometry.Restrict(ball, box)
	if err != nil {
		t.Fatal(err)
	}
	return Config{Settings: cmdp.Settings{Confidence: cmdp.Confidence{Episodes: episodes, Failure: 0.1}},
		Shape: m.Shape(), Returns: m.KnownReturns(), Task: cmdp.Task{Target: w}}
}

func playGame(t testing.TB, m *cmdp.Model, l cmdp.Learner, target geometry.Compact, seed uint64,
	episodes int) *cmdp.Runner {
	t.Helper()
	o, err := cmdp.NewBestResponseOpponent(m, target)
	if err != nil {
		t.Fatal(err)
	}
	r, err := cmdp.NewGameRunner(m, l, o, seed, cmdp.NewEvaluator(m))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context(), episodes); err != nil {
		t.Fatal(err)
	}
	return r
}

// followed is a learner whose every step is compared with the strategy as its paper says it.
type followed struct {
	*MOMA
	t      *testing.T
	model  *cmdp.Model
	turn   func(theta, payoff []float64) // moves θ
	theta  []float64
	rounds int
}

func (l *followed) Policy() cmdp.Policy {
	if !slices.Equal(l.Direction(), l.theta) {
		l.t.Fatalf("round %d: direction %v: want %v", l.rounds+1, l.Direction(), l.theta)
	}
	k := l.model.Kernel(0).Plain(l.model.Dim())
	payoff, row, col, got := make([]float64, 9), make([]float64, 3), make([]float64, 3), make([]float64, 3)
	for c := range payoff {
		payoff[c] = floats.Dot(l.theta, k.Returns[3*c:3*c+3])
	}
	new(game.Solver).Solve(row, col, payoff)
	p := l.MOMA.Policy()
	if p.Distribution(got, 0, 0); !slices.Equal(got, row) {
		l.t.Fatalf("round %d: %v in direction %v: want %v", l.rounds+1, got, l.theta, row)
	}
	return p
}

func (l *followed) Observe(tr *cmdp.Trajectory) {
	l.MOMA.Observe(tr)
	l.rounds++
	l.turn(l.theta, tr.Total)
}

// TestBlackwellAndShimkin: in a game of one state and one step whose payoffs are known nothing is
// uncertain, and MOMA with the projection-based dual is Blackwell's strategy, with the
// projection-free one Shimkin's, to the last bit.
func TestBlackwellAndShimkin(t *testing.T) {
	const rounds = 2000
	for seed := range uint64(10) {
		m := vectorPayoffs(t, seed, 3, 3, 3)
		c := approachConfig(t, m, []float64{.5, .4, .6}, .02*float64(seed), rounds)
		blackwell := &followed{t: t, model: m, MOMA: newLearner(t, "blackwell", c).(*MOMA)}
		shimkin := &followed{t: t, model: m, MOMA: newLearner(t, "shimkin", c).(*MOMA)}
		mean, point := make([]float64, 3), make([]float64, 3)
		one := 1 / math.Sqrt(3)
		blackwell.theta, shimkin.theta = []float64{one, one, one}, make([]float64, 3)
		blackwell.turn = func(theta, payoff []float64) {
			for i, x := range payoff {
				mean[i] += (x - mean[i]) / float64(blackwell.rounds)
			}
			c.Task.Target.Project(point, mean)
			floats.SubTo(point, mean, point)
			if n := floats.Norm(point, 2); n > 1e-12 { // outside
				floats.ScaleTo(theta, 1/n, point)
			}
		}
		lower, upper := m.Shape().Totals()
		size := 0.0
		for i := range lower {
			size += (upper[i] - lower[i]) * (upper[i] - lower[i])
		}
		shimkin.turn = func(theta, payoff []float64) {
			c.Task.Target.(oracle.FaceProjector).ProjectFace(point, theta, payoff)
			for i := range theta {
				theta[i] += 1 / math.Sqrt(float64(shimkin.rounds)) / math.Sqrt(size) * (payoff[i] - point[i])
			}
			if n := floats.Norm(theta, 2); n > 1 {
				floats.Scale(1/n, theta)
			}
		}
		for _, l := range []*followed{blackwell, shimkin} {
			if playGame(t, m, l, c.Task.Target, seed, rounds); l.rounds != rounds {
				t.Errorf("%d rounds", l.rounds)
			}
		}
	}
}

// TestApproachabilityBounds checks the promised constants on the expected payoffs,
// against the best response, where the gap is known: the target is a ball around
// what a mixed row keeps, or the same moved away.
func TestApproachabilityBounds(t *testing.T) {
	const rounds = 3000
	for seed := range uint64(6) {
		m := vectorPayoffs(t, seed, 3, 2, 2)
		_, target, gap := knownGap(t, m, seed)
		c := approachConfig(t, m, []float64{.5, .5}, .1, rounds)
		c.Task.Target = target
		for name, constant := range map[string]float64{"blackwell": math.Sqrt2, "shimkin": 3 * math.Sqrt2} {
			l, err := New(name, c)
			if err != nil {
				t.Fatal(err)
			}
			r := playGame(t, m, l, target, seed, rounds)
			bound := gap + constant/math.Sqrt(rounds)
			noise := 3 * math.Sqrt2 / math.Sqrt(rounds) // the strategies see realised payoffs
			if d := oracle.Distance(target, r.Average()); d > bound+noise || d < gap-noise {
				t.Errorf("%s, seed %d: distance %v with gap %v: want at most %v", name, seed, d, gap, bound)
			}
		}
	}
}

// knownGap returns a half-space cut with the box of payoffs, whose gap is found by
// minimax alone: V*(n) − b.
func knownGap(t *testing.T, m *cmdp.Model, seed uint64) (value float64, target geometry.Compact, gap float64) {
	t.Helper()
	g, err := cmdp.NewMinimax(m)
	if err != nil {
		t.Fatal(err)
	}
	n := []float64{0.6, 0.8}
	_, value, _ = g.Solve(t.Context(), n)
	gap = 0.1 * float64(seed%2)
	half, err := geometry.NewHalfspace(n, value-gap)
	if err != nil {
		t.Fatal(err)
	}
	// A wide box, so that the nearest point of the cut is that of the half-space.
	box := newBox(t, []float64{-5, -5}, []float64{5, 5})
	if target, err = geometry.Restrict(half, box); err != nil {
		t.Fatal(err)
	}
	return value, target, gap
}

func TestABHApproaches(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	const rounds = 20000
	for seed := range uint64(4) {
		m := vectorPayoffs(t, 2*seed, 3, 2, 2)
		_, target, gap := knownGap(t, m, 2*seed)
		c := approachConfig(t, m, []float64{.5, .5}, .1, rounds)
		c.Task.Target = target
		size := newConeDual(c.Shape, target).size
		r := playGame(t, m, newLearner(t, "abh", c), target, seed, rounds)
		if d := oracle.Distance(target, r.Average()); gap != 0 || d > 6*size/math.Sqrt(rounds) || d > 0.1 {
			t.Errorf("seed %d: distance %v", seed, d)
		}
	}
}

// TestHeightByCorners compares the height of a cone over a box, and the length of a payoff that steps of abh allow for,
// with the corners of boxes on all sides of the origin, by enumeration.
func TestHeightByCorners(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	drawn := func() (lower, upper []float64, most float64) {
		lower, upper = make([]float64, 2), make([]float64, 2)
		for i := range lower {
			x, y := 3*rng.NormFloat64(), 3*rng.NormFloat64()
			lower[i], upper[i] = min(x, y), max(x, y)
		}
		for _, x := range []float64{lower[0], upper[0]} {
			for _, y := range []float64{lower[1], upper[1]} {
				most = max(most, math.Hypot(x, y))
			}
		}
		return lower, upper, most
	}
	for range 50 {
		lower, upper, height := drawn()
		target := boundedBox(t, lower, upper)
		lower, upper, payoff := drawn()
		sh, err := cmdp.NewShape(cmdp.ShapeSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{Probability: 1}},
			First: [][]int32{{0, 2}}, Returns: []cmdp.Interval{{Lower: lower, Upper: upper}}})
		if err != nil {
			t.Fatal(err)
		}
		u := newConeDual(sh, target)
		if math.Abs(u.cone.height-height) > 1e-12 || math.Abs(u.size-math.Hypot(height, payoff)) > 1e-12 {
			t.Errorf("height %v, size %v: want %v, %v", u.cone.height, u.size, height, math.Hypot(height, payoff))
		}
	}
}

// TestLiftedConeProjects checks the conditions of a projection on a cone: p lies in
// it, u − p is at right angles to p and in the polar cone.
func TestLiftedConeProjects(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		center := []float64{rng.NormFloat64(), rng.NormFloat64()}
		var set geometry.Compact
		set, err := geometry.NewBall(center, rng.Float64())
		if i%3 == 1 {
			set, err = geometry.NewHull([][]float64{center, {1, 2}, {-1, 0.5}})
		}
		if i%3 == 2 {
			set, err = geometry.NewPoint(center)
		}
		if err != nil {
			t.Fatal(err)
		}
		cone := newLiftedCone(set, largestNorm(set))
		u := []float64{2 * rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		p, q, w := make([]float64, 3), make([]float64, 3), make([]float64, 2)
		cone.project(p, u)
		floats.SubTo(q, u, p)
		set.MaximizeLinear(w, q[1:])
		if polar := cone.height*q[0] + floats.Dot(q[1:], w); polar > 1e-9 || math.Abs(floats.Dot(p, q)) > 1e-9 {
			t.Errorf("%d: not the projection: %v, %v", i, polar, floats.Dot(p, q))
		}
		if p[0] > 0 {
			floats.Scale(cone.height/p[0], p)
			if d := oracle.Distance(set, p[1:]); d > 1e-9 {
				t.Errorf("%d: projection leaves the cone by %v", i, d)
			}
		} else if floats.Norm(p, 2) > 0 {
			t.Errorf("%d: projection %v", i, p)
		}
	}
}

func TestApproachabilityRefusesWhatItCannotDo(t *testing.T) {
	m := vectorPayoffs(t, 1, 2, 2, 2)
	good := approachConfig(t, m, []float64{.5, .5}, .1, 10)
	box := newBox(t, []float64{0, 0}, []float64{1, 1})
	goal := linearCost(t, []float64{1, 0}, box)
	long := randomModel(t, 1, modelSpec{states: 2, actions: 2, horizon: 3, dim: 2})
	for _, name := range []string{"blackwell", "abh", "shimkin"} {
		for what, change := range map[string]func(*Config){
			"several steps":   func(c *Config) { c.Shape, c.Returns = long.Shape(), long.KnownReturns() },
			"unknown payoffs": func(c *Config) { c.Returns = nil },
			"no target":       func(c *Config) { c.Task.Cost, c.Task.Target = goal, nil },
		} {
			c := good
			change(&c)
			if _, err := New(name, c); !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s with %s: error %v", name, what, err)
			}
		}
	}
}

func TestApproachabilityIsSaved(t *testing.T) {
	m := vectorPayoffs(t, 3, 3, 3, 2)
	c := approachConfig(t, m, []float64{.5, .5}, .1, 100)
	for _, name := range []string{"blackwell", "abh", "shimkin"} {
		start := func(episodes int) *cmdp.Runner {
			l, err := New(name, c)
			if err != nil {
				t.Fatal(err)
			}
			return playGame(t, m, l, c.Task.Target, 4, episodes)
		}
		whole, first, second := start(100), start(37), start(3)
		data, err := first.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := second.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if err := second.Run(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(whole.Average(), second.Average()) {
			t.Errorf("%s: %v, interrupted %v", name, whole.Average(), second.Average())
		}
		wantSameState(t, name, whole, second)
	}
}
