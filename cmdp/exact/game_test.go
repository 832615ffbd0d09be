package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// randomGame returns a game with full support and returns of both signs; with one
// column it is a decision process.
func randomGame(t testing.TB, seed uint64, states, rows, cols, horizon, dim int) *cmdp.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 31))
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon, Dim: dim,
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, states)
	for s := range states {
		for j := range rows * cols {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: j / cols, Opponent: j % cols,
				Returns: make([]float64, dim)}
			for i := range row.Returns {
				row.Returns[i] = 2*rng.Float64() - 0.5
			}
			sum := 0.0
			for n := range states {
				p := rng.ExpFloat64()
				sum += p
				row.Next = append(row.Next, cmdp.Transition{Next: n, Probability: p})
			}
			for n := range row.Next {
				row.Next[n].Probability /= sum
			}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wideBox contains all returns and more, so that targets are not cut.
func wideBox(t testing.TB, dim int) *geometry.Box {
	t.Helper()
	lower, upper := make([]float64, dim), make([]float64, dim)
	for i := range dim {
		lower[i], upper[i] = -50, 50
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func restricted(t testing.TB, set geometry.Set, err error) cmdp.Task {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	w, err := geometry.Restrict(set, wideBox(t, set.Dim()))
	if err != nil {
		t.Fatal(err)
	}
	return cmdp.Task{Target: w}
}

// someTarget draws a ball, a point or a hull near the middle of the returns.
func someTarget(t testing.TB, rng *rand.Rand, dim, horizon int) cmdp.Task {
	t.Helper()
	draw := func(spread float64) []float64 {
		x := make([]float64, dim)
		for i := range x {
			x[i] = 0.5*float64(horizon) + spread*rng.NormFloat64()
		}
		return x
	}
	switch rng.IntN(5) {
	case 0:
		point, err := geometry.NewPoint(draw(0.2))
		return restricted(t, point, err)
	case 1:
		points := [][]float64{draw(1)}
		for range dim {
			points = append(points, draw(1))
		}
		hull, err := geometry.NewHull(points)
		return restricted(t, hull, err)
	}
	ball, err := geometry.NewBall(draw(0.2), 0.2+0.6*rng.Float64())
	return restricted(t, ball, err)
}

// gridGap is the largest F on a dense grid of directions of dimension 2 or 3.
func gridGap(t testing.TB, m *cmdp.Model, task cmdp.Task) float64 {
	t.Helper()
	g, err := cmdp.NewMinimax(m)
	if err != nil {
		t.Fatal(err)
	}
	best := math.Inf(-1)
	eval := func(dir []float64) {
		low, _, _ := g.Solve(t.Context(), dir)
		best = math.Max(best, low-oracle.Support(task.Target, dir))
	}
	if m.Dim() == 2 {
		for i := range 4000 {
			a := 2 * math.Pi * float64(i) / 4000
			eval([]float64{math.Cos(a), math.Sin(a)})
		}
		return best
	}
	for i := range 100 {
		for j := range 200 {
			a, b := math.Pi*(float64(i)+.5)/100, 2*math.Pi*float64(j)/200
			eval([]float64{math.Sin(a) * math.Cos(b), math.Sin(a) * math.Sin(b), math.Cos(a)})
		}
	}
	return best
}

func gapOf(t testing.TB, m *cmdp.Model, task cmdp.Task, opts GapOptions) *Gap {
	t.Helper()
	g, err := ApproachabilityGap(t.Context(), m, task, opts)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGapAgreesWithAGridOfDirections checks both bounds, the tolerance, and the
// proof of the lower one.
func TestGapAgreesWithAGridOfDirections(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	verdicts := map[GapStatus]int{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 32))
		dim, tol := 2+int(seed%2), 0.002
		if dim == 3 {
			tol = 0.02
		}
		m := randomGame(t, seed, 1+int(seed%3), 2+rng.IntN(2), 1+rng.IntN(3), 1+int(seed%3), dim)
		if dim == 3 && m.Horizon() > 1 {
			m = randomGame(t, seed, 1, 2, 3, 1, dim)
		}
		task := someTarget(t, rng, dim, m.Horizon())
		g := gapOf(t, m, task, GapOptions{Tolerance: tol, Evaluations: 100000})
		verdicts[g.Status]++
		grid := gridGap(t, m, task)
		if grid > g.Upper+1e-9 {
			t.Errorf("seed %d: a direction has %v above the upper bound %v", seed, grid, g.Upper)
		}
		if slack := 0.05 * float64(dim-1) * float64(dim-1); math.Max(0, grid) < g.Lower-slack {
			t.Errorf("seed %d: lower bound %v, but the grid has at most %v", seed, g.Lower, grid)
		}
		if g.Status != GapUndecided && g.Upper-g.Lower > tol+1e-12 {
			t.Errorf("seed %d: [%v, %v] %v after %d evaluations", seed, g.Lower, g.Upper, g.Status, g.Evaluations)
		}
		proved, err := VerifyGap(t.Context(), m, task, g)
		if err != nil || math.Abs(math.Max(0, proved)-g.Lower) > 1e-8 {
			t.Errorf("seed %d: lower bound %v, proved %v, %v", seed, g.Lower, proved, err)
		}
		if (g.Status == NotApproachable) != (g.Lower > 0) {
			t.Errorf("seed %d: %v with lower bound %v", seed, g.Status, g.Lower)
		}
	}
	if verdicts[Approachable] < 10 || verdicts[NotApproachable] < 10 || verdicts[GapUndecided] > 0 {
		t.Errorf("verdicts %v", verdicts)
	}
}

// TestExchangeIdentity: δ = max_ν dist(𝒱(ν), W), so that every opponent's distance
// lies below the upper bound. The distance is that of the decision process
// against the opponent, found by the solver for those.
func TestExchangeIdentity(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 33))
		m := randomGame(t, seed, 1, 3, 3, 1, 2)
		point, err := geometry.NewPoint([]float64{rng.Float64(), rng.Float64()})
		task := restricted(t, point, err)
		g := gapOf(t, m, task, GapOptions{Tolerance: 1e-4})
		best := 0.0
		for range 300 {
			nu := []float64{rng.ExpFloat64(), rng.ExpFloat64(), rng.ExpFloat64()}
			floats.Scale(1/floats.Sum(nu), nu)
			d := distanceAgainst(t, m, task, nu)
			if best = math.Max(best, d); d > g.Upper+1e-7 {
				t.Fatalf("seed %d: opponent %v keeps a distance of %v, above %v", seed, nu, d, g.Upper)
			}
		}
		if best < g.Lower-0.1 {
			t.Errorf("seed %d: no random opponent comes near the gap %v: %v", seed, g.Lower, best)
		}
	}
}

// distanceAgainst returns the distance of the target from the returns that a mix of
// rows has against the mix nu of columns in a game of one state and one step.
func distanceAgainst(t *testing.T, m *cmdp.Model, task cmdp.Task, nu []float64) float64 {
	t.Helper()
	k := m.Kernel(0).Plain(m.Dim())
	var points [][]float64
	for a := range 3 {
		x := make([]float64, 2)
		for b, p := range nu {
			floats.AddScaled(x, p, k.Returns[(3*a+b)*2:(3*a+b+1)*2])
		}
		points = append(points, x)
	}
	hull, err := geometry.NewHull(points)
	if err != nil {
		t.Fatal(err)
	}
	p, dir := make([]float64, 2), make([]float64, 2)
	task.Target.MaximizeLinear(p, dir) // the target is a point
	return oracle.Distance(hull, p)
}

// TestGapWithoutAnOpponent is the distance of the target from the achievable
// returns, which the solver for decision processes certifies by itself.
func TestGapWithoutAnOpponent(t *testing.T) {
	for seed := range uint64(12) {
		m := randomGame(t, seed, 3, 3, 1, 4, 2)
		ball, err := geometry.NewBall([]float64{float64(seed) / 3, 1}, 0.3)
		task := restricted(t, ball, err)
		g := gapOf(t, m, task, GapOptions{Tolerance: 1e-4})
		r, err := Solve(t.Context(), m, task, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		if r.Status == Infeasible {
			want = r.Certificate.Value - r.Certificate.Support
		}
		if g.Upper < want-1e-7 || g.Lower > want+1e-3 || r.Status == Optimal && g.Lower > 0 {
			t.Errorf("seed %d: gap [%v, %v], %v with distance %v", seed, g.Lower, g.Upper, r.Status, want)
		}
	}
}

// TestHalfspacesHaveTheGapOfOneDirection: dist to {n·x ≤ b} is n·x − b, so that the
// gap is V*(n) − b.
func TestHalfspacesHaveTheGapOfOneDirection(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 4, 5, 9} {
		m := randomGame(t, uint64(dim), 2, 3, 3, 3, dim)
		n := make([]float64, dim)
		for i := range n {
			n[i] = 1 / math.Sqrt(float64(dim))
		}
		game, err := cmdp.NewMinimax(m)
		if err != nil {
			t.Fatal(err)
		}
		_, value, _ := game.Solve(t.Context(), n)
		for _, gap := range []float64{-0.5, 0.25} {
			half, err := geometry.NewHalfspace(n, value-gap)
			task := restricted(t, half, err)
			g := gapOf(t, m, task, GapOptions{Tolerance: 0.01, Evaluations: 3000})
			want := math.Max(0, gap)
			if g.Lower > want+1e-9 || g.Lower < want-0.01 || g.Upper < want-1e-9 || dim <= 3 && g.Upper > want+0.011 {
				t.Errorf("dimension %d: [%v, %v] %v: want %v", dim, g.Lower, g.Upper, g.Status, want)
			}
		}
	}
}

func TestSolveGameIsAnEquilibrium(t *testing.T) {
	for seed := range uint64(10) {
		m := randomGame(t, seed, 4, 3, 3, 4, 2)
		g, err := cost.NewAffine([]float64{1, -0.5}, 3, wideBox(t, 2))
		if err != nil {
			t.Fatal(err)
		}
		v, err := SolveGame(t.Context(), m, cmdp.Task{Cost: g})
		if err != nil {
			t.Fatal(err)
		}
		game, err := cmdp.NewMinimax(m)
		if err != nil {
			t.Fatal(err)
		}
		most, _, _ := game.OpponentResponse(t.Context(), g.Gradient(), v.Agent)
		least, _, _ := game.AgentResponse(t.Context(), g.Gradient(), v.Opponent)
		most, least = most+3, least+3
		if math.Abs(most-v.Value) > 1e-10 || math.Abs(least-v.Value) > 1e-10 ||
			math.Abs(g.Value(v.Returns)-v.Value) > 1e-10 {
			t.Errorf("seed %d: value %v, best responses %v and %v, played %v", seed, v.Value, least, most,
				g.Value(v.Returns))
		}
	}
}

func TestGapsRefuseBadInput(t *testing.T) {
	m := randomGame(t, 1, 2, 2, 2, 2, 2)
	point, err := geometry.NewPoint([]float64{0, 0})
	task := restricted(t, point, err)
	goal, err := cost.NewLinear([]float64{1, 0}, wideBox(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	bend, err := cost.NewNorm(2, []float64{0, 0}, wideBox(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	far, err := geometry.NewPoint([]float64{0, 0, 0})
	solid := restricted(t, far, err)
	good := gapOf(t, m, task, GapOptions{})
	gap := func(task cmdp.Task, o GapOptions) error {
		_, err := ApproachabilityGap(t.Context(), m, task, o)
		return err
	}
	value := func(task cmdp.Task) error {
		_, err := SolveGame(t.Context(), m, task)
		return err
	}
	for name, err := range map[string]error{
		"no target":      gap(cmdp.Task{}, GapOptions{}),
		"a cost":         gap(cmdp.Task{Cost: goal, Target: task.Target}, GapOptions{}),
		"dimension":      gap(solid, GapOptions{}),
		"tolerance":      gap(task, GapOptions{Tolerance: -1}),
		"evaluations":    gap(task, GapOptions{Evaluations: -1}),
		"value target":   value(task),
		"no cost":        value(cmdp.Task{}),
		"a curved cost":  value(cmdp.Task{Cost: bend}),
		"no gap":         verify(m, task, nil),
		"solve":          second(Solve(t.Context(), m, task, Options{})),
		"planner":        second(NewPlanner(m, 1)),
		"program":        second(OccupancyLP(m, []float64{1, 0}, nil)),
		"rational":       second(RationalValue(t.Context(), m, []*big.Rat{big.NewRat(1, 1), new(big.Rat)})),
		"no opponent":    verify(m, task, &Gap{Direction: good.Direction}),
		"zero direction": verify(m, task, &Gap{Direction: []float64{0, 0}, Opponent: good.Opponent}),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "exact: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ApproachabilityGap(ctx, randomGame(t, 1, 2, 2, 2, 2, 3), solid,
		GapOptions{Tolerance: 1e-9}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// TestVerifyGapIsStopped wants the check of a gap, a value iteration, to end with its context.
func TestVerifyGapIsStopped(t *testing.T) {
	m := randomGame(t, 1, 1, 2, 2, 2, 2)
	task := someTarget(t, rand.New(rand.NewPCG(1, 2)), 2, m.Horizon())
	g := gapOf(t, m, task, GapOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := VerifyGap(ctx, m, task, g); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v: want that of the context", err)
	}
}

func second[T any](_ T, err error) error { return err }

func verify(m *cmdp.Model, task cmdp.Task, g *Gap) error {
	_, err := VerifyGap(context.Background(), m, task, g)
	return err
}

func ExampleApproachabilityGap() {
	// The opponent alone decides the first coordinate, the agent the second: the
	// point (1/2, 1/2) is missed by 1/4, when the opponent plays its second column.
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for pair, payoff := range [][]float64{{0.4, 0}, {0.75, 0}, {0.4, 1}, {0.75, 1}} {
		b.Add(cmdp.Row{Step: cmdp.EveryStep, Action: pair / 2, Opponent: pair % 2, Returns: payoff,
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}})
	}
	m, _ := b.Build()
	point, _ := geometry.NewPoint([]float64{0.5, 0.5})
	task := cmdp.Task{Target: point}
	g, err := ApproachabilityGap(context.Background(), m, task, GapOptions{})
	fmt.Printf("%v: %.3f to %.3f, direction %.2f, %v\n", g.Status, g.Lower, g.Upper, g.Direction, err)
	proved, _ := VerifyGap(context.Background(), m, task, g)
	fmt.Printf("proved %.3f\n", proved)
	// Output:
	// not approachable: 0.250 to 0.250, direction [1.00 0.00], <nil>
	// proved 0.250
}
