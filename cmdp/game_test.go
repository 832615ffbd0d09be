package cmdp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// randomGame returns a small game with random numbers of actions of both players,
// sparse rows and returns of both signs; some states have no choice, in others only
// one player has.
func randomGame(t testing.TB, seed uint64, states, horizon, dim int, stationary bool) *Model {
	t.Helper()
	rng := rand.New(Stream(seed, "random game"))
	b := NewBuilder(ModelSpec{Horizon: horizon, Dim: dim, Start: []StartState{{0, 1}}}, states)
	steps := horizon
	if stationary {
		steps = 1
	}
	for h := range steps {
		for s := range states {
			if s > 0 && rng.IntN(6) == 0 {
				continue
			}
			rows, cols := 1+rng.IntN(3), 1+rng.IntN(3)
			if s == 0 {
				rows, cols = 2, 3
			}
			for j := range rows * cols {
				row := Row{Step: h + 1, State: s, Action: j / cols, Opponent: j % cols, Returns: make([]float64, dim)}
				if stationary {
					row.Step = EveryStep
				}
				for i := range row.Returns {
					row.Returns[i] = 2*rng.Float64() - 0.5
				}
				succ, sum := rng.Perm(states)[:1+rng.IntN(states)], 0.0
				for _, n := range succ {
					p := rng.ExpFloat64()
					sum += p
					row.Next = append(row.Next, Transition{Next: n, Probability: p})
				}
				for i := range row.Next {
					row.Next[i].Probability /= sum
				}
				addRow(t, b, row)
			}
		}
	}
	return built(t, b)
}

// matrixGame returns the game of one state and one step with the given payoff
// vectors of each pair of actions.
func matrixGame(t testing.TB, payoff [][][]float64) *Model {
	t.Helper()
	b := NewBuilder(ModelSpec{Horizon: 1, Dim: len(payoff[0][0]), Start: []StartState{{0, 1}}}, 1)
	for a, row := range payoff {
		for j, r := range row {
			addRow(t, b, Row{Step: EveryStep, Action: a, Opponent: j, Returns: r,
				Next: []Transition{{Next: 0, Probability: 1}}})
		}
	}
	return built(t, b)
}

// randomPolicyOn returns a randomised policy over a table of actions.
func randomPolicyOn(t testing.TB, first [][]int32, horizon int, rng *rand.Rand) *Randomized {
	t.Helper()
	probs := make([][]float64, horizon)
	for h := range probs {
		f := first[min(h, len(first)-1)]
		probs[h] = make([]float64, f[len(f)-1])
		for s := range len(f) - 1 {
			row := probs[h][f[s]:f[s+1]]
			for a := range row {
				row[a] = rng.ExpFloat64()
			}
			if sum := floats.Sum(row); sum > 0 {
				floats.Scale(1/sum, row)
			}
		}
	}
	p, err := NewRandomized(first, probs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// against returns the agent's decision process against a fixed opponent: kernels
// and returns averaged over the opponent's actions.
func against(t testing.TB, m *Model, opponent Policy) *Model {
	t.Helper()
	b := NewBuilder(ModelSpec{Horizon: m.horizon, Dim: m.dim, Start: m.start}, m.states)
	sh := m.shape
	for h := range m.horizon {
		k := m.Kernel(h).Plain(m.Dim())
		for s := range m.states {
			cols := sh.OpponentActions(h, s)
			probs := []float64{1}
			if cols > 1 {
				probs = make([]float64, cols)
				opponent.Distribution(probs, h, s)
			}
			for a := range sh.Actions(h, s) {
				row := Row{Step: h + 1, State: s, Action: a, Returns: make([]float64, m.dim)}
				next := make([]float64, m.states)
				for j, y := range probs {
					c := int(k.First[s]) + sh.Joint(h, s, a, j)
					floats.AddScaled(row.Returns, y, k.Returns[c*m.dim:(c+1)*m.dim])
					for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
						next[k.Next[e]] += y * k.Prob[e]
					}
				}
				for n, p := range next {
					row.Next = append(row.Next, Transition{Next: n, Probability: p})
				}
				addRow(t, b, row)
			}
		}
	}
	return built(t, b)
}

func TestPairsOfPoliciesAgreeWithTheProcessAgainstAFixedOpponent(t *testing.T) {
	for seed := range uint64(30) {
		m := randomGame(t, seed, 5, 4, 2, seed%2 == 0)
		rng := rand.New(Stream(seed, "policies"))
		mu := randomPolicyOn(t, m.shape.AgentOffsets(), m.horizon, rng)
		nu := randomPolicyOn(t, m.shape.OpponentOffsets(), m.horizon, rng)
		mdp := against(t, m, nu)
		got, want := make([]float64, 2), make([]float64, 2)
		NewEvaluator(m).ReturnsAgainst(got, mu, nu)
		NewEvaluator(mdp).Returns(want, mu)
		if !floats.EqualApprox(got, want, 1e-12) {
			t.Errorf("seed %d: %v, in the process against the opponent %v", seed, got, want)
		}
		g, err := NewMinimax(m)
		if err != nil {
			t.Fatal(err)
		}
		dir := randomDirection(rng, 2, 2)
		best, policy, _ := g.AgentResponse(t.Context(), dir, nu)
		if want := startValue(mdp, optimalValues(mdp, dir)[0]); math.Abs(best-want) > 1e-12 {
			t.Errorf("seed %d: best response %v, value iteration %v", seed, best, want)
		}
		NewEvaluator(m).ReturnsAgainst(got, policy, nu)
		if v := floats.Dot(dir, got); math.Abs(v-best) > 1e-12 {
			t.Errorf("seed %d: best response earns %v: want %v", seed, v, best)
		}
		most, reply, _ := g.OpponentResponse(t.Context(), dir, mu)
		NewEvaluator(m).ReturnsAgainst(got, mu, reply)
		if v := floats.Dot(dir, got); math.Abs(v-most) > 1e-12 {
			t.Errorf("seed %d: opponent's response earns %v: want %v", seed, v, most)
		}
		for range 20 { // no policy of the opponent does better
			NewEvaluator(m).ReturnsAgainst(got, mu, randomPolicyOn(t, m.shape.OpponentOffsets(), m.horizon, rng))
			if v := floats.Dot(dir, got); v > most+1e-12 {
				t.Errorf("seed %d: a random opponent earns %v, more than the best response %v", seed, v, most)
			}
		}
	}
}

// TestMinimaxIsAnEquilibrium proves each value by the best responses of both
// players to the policies found.
func TestMinimaxIsAnEquilibrium(t *testing.T) {
	for seed := range uint64(40) {
		m := randomGame(t, seed, 6, 5, 3, seed%2 == 0)
		dir := randomDirection(rand.New(Stream(seed, "dir")), 3, 1+float64(seed))
		g, err := NewMinimax(m)
		if err != nil {
			t.Fatal(err)
		}
		low, up, _ := g.Solve(t.Context(), dir)
		agent, opponent := g.Agent(), g.Opponent()
		other, _ := NewMinimax(m)
		most, _, _ := other.OpponentResponse(t.Context(), dir, agent)
		least, _, _ := other.AgentResponse(t.Context(), dir, opponent)
		tol := 1e-10 * (1 + floats.Norm(dir, 2))
		if math.Abs(low-least) > tol || math.Abs(up-most) > tol || up-low > tol {
			t.Errorf("seed %d: [%v, %v], best responses [%v, %v]", seed, low, up, least, most)
		}
		if n := testing.AllocsPerRun(5, func() { g.Solve(t.Context(), dir) }); n > 0 {
			t.Errorf("solving allocates %v times", n)
		}
	}
	m := randomModel(t, 3, 6, 5, 2, false)
	g, err := NewMinimax(m)
	if err != nil {
		t.Fatal(err)
	}
	dir := []float64{1, -0.5}
	low, up, _ := g.Solve(t.Context(), dir)
	if want := startValue(m, optimalValues(m, dir)[0]); math.Abs(low-want) > 1e-12 || math.Abs(up-want) > 1e-12 {
		t.Errorf("without an opponent: [%v, %v], value iteration %v", low, up, want)
	}
}

func TestGamesRefuseBadInput(t *testing.T) {
	kernel := Kernel{First: []int32{0, 4, 4}, Offset: []int{0, 1, 2, 3, 4}, Next: make([]int32, 4),
		Prob: []float64{1, 1, 1, 1}, Returns: make([]float64, 4)}
	for _, c := range []struct {
		opponents [][]int32
		want      string
	}{
		{[][]int32{{0, 0}}, "state 0: the opponent has no action"},
		{[][]int32{{2, 3}}, "state 1: the opponent has 3 actions and the agent none"},
		{[][]int32{{3, 1}}, "state 0: 4 choices are not pairs with 3 actions"},
		{[][]int32{{2}}, "for 1 states: want 2"},
		{[][]int32{{2, 1}, {2, 1}}, "for 2 steps: want 1"},
	} {
		_, err := NewModel(ModelSpec{Horizon: 2, Dim: 1, Start: []StartState{{0, 1}}, Kernels: []Kernel{kernel},
			Opponents: c.opponents})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v: want %q", c.opponents, err, c.want)
		}
	}
	_, err := NewModel(ModelSpec{Discount: 0.9, Dim: 1, Start: []StartState{{0, 1}}, Kernels: []Kernel{kernel},
		Opponents: [][]int32{{2, 1}}})
	if err == nil || !strings.Contains(err.Error(), "game with an infinite horizon") {
		t.Errorf("discounted game: error %v", err)
	}
	next := []Transition{{Next: 0, Probability: 1}}
	for _, c := range []struct {
		pairs [][2]int
		want  string
	}{
		{[][2]int{{0, 0}, {0, 1}, {1, 0}},
			"cmdp: state 0, action 1 against the opponent's action 1 has no row: want one for every pair of the " +
				"players' actions"},
		{[][2]int{{0, 0}, {1, 0}, {1, 1}}, "cmdp: state 0, action 0 against the opponent's action 1 has no row"},
		{[][2]int{{0, 1}}, "cmdp: state 0, action 0 has no row, but one of a greater number has"},
		{[][2]int{{0, 0}, {0, 1}, {1, 1}}, "cmdp: state 0, action 1 against the opponent's action 0 has no row"},
		{[][2]int{{0, 0}, {0, 1}, {2, 0}, {2, 1}},
			"cmdp: state 0, action 1 has no row, but one of a greater number has"},
		{[][2]int{{0, 0}, {0, 0}}, "given twice"},
		{[][2]int{{0, 0}, {0, 2}},
			"cmdp: state 0, action 0 against the opponent's action 1 has no row, but one of a greater number has"},
	} {
		b := NewBuilder(ModelSpec{Horizon: 1, Dim: 1, Start: []StartState{{0, 1}}}, 1)
		for _, p := range c.pairs {
			addRow(t, b, Row{Step: EveryStep, Action: p[0], Opponent: p[1], Next: next,
				Returns: []float64{0}})
		}
		if _, err := b.Build(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v: want %q", c.pairs, err, c.want)
		}
	}
	if err := NewBuilder(ModelSpec{Horizon: 1, Dim: 1},
		1).Add(Row{Opponent: -1, Next: next, Returns: []float64{0}}); err == nil {
		t.Error("a negative action of the opponent was accepted")
	}
}

// TestGamesNameTheirChoices: a row that is wrong is named by both players' actions, and what is said of an opponent
// where the process rests does not matter.
func TestGamesNameTheirChoices(t *testing.T) {
	for seed := range uint64(5) {
		m := randomGame(t, seed, 4, 1, 1, true)
		sh, k := m.Shape(), m.Kernel(0).Plain(1)
		spec := ModelSpec{Horizon: 1, Dim: 1, Start: m.StartStates(), Kernels: []Kernel{*k},
			Opponents: [][]int32{make([]int32, m.States())}}
		for s := range m.States() {
			if sh.Actions(0, s) > 0 {
				spec.Opponents[0][s] = int32(sh.OpponentActions(0, s))
			}
		}
		again, err := NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		for s := range m.States() {
			if got, want := again.Shape().Actions(0, s), sh.Actions(0, s); got != want {
				t.Errorf("game %d, state %d: %d actions: want %d", seed, s, got, want)
			}
			first, end := sh.Choices(0, s)
			for c := first; c < end; c++ {
				a, b := sh.Split(0, s, c-first)
				want := fmt.Sprintf("state %d, action %d", s, a)
				if sh.OpponentActions(0, s) > 1 {
					want += fmt.Sprintf(" against %d", b)
				}
				spec.Kernels[0].Prob = slices.Clone(k.Prob)
				spec.Kernels[0].Prob[k.Offset[c]] += 0.5
				if _, err := NewModel(spec); err == nil || !strings.Contains(err.Error(), want+":") {
					t.Errorf("game %d: error %v: want one of %s", seed, err, want)
				}
			}
		}
	}
}

func TestJointActionsAreNumberedByPairs(t *testing.T) {
	m := randomGame(t, 1, 6, 4, 1, false)
	sh := m.Shape()
	for h := range sh.Horizon() {
		for s := range sh.States() {
			first, end := sh.Choices(h, s)
			n := 0
			for a := range sh.Actions(h, s) {
				for b := range sh.OpponentActions(h, s) {
					if x, y := sh.Split(h, s, n); sh.Joint(h, s, a, b) != n || x != a || y != b {
						t.Fatalf("pair (%d, %d) is not number %d", a, b, n)
					}
					n++
				}
			}
			agent, opponent, against := sh.AgentOffsets()[h], sh.OpponentOffsets()[h], 0
			if first < end {
				against = sh.OpponentActions(h, s)
			}
			if n != end-first || int(agent[s+1]-agent[s]) != sh.Actions(h, s) ||
				int(opponent[s+1]-opponent[s]) != against {
				t.Errorf("step %d, state %d: %d pairs, %d choices, from %v against %v", h+1, s, n, end-first,
					agent[s:s+2], opponent[s:s+2])
			}
		}
	}
	sizes, tuple := []int{2, 3, 4}, make([]int, 3)
	for n := range 24 {
		if FactorActions(tuple, sizes, n); ProductActions(sizes, tuple) != n {
			t.Errorf("tuple %v is not number %d", tuple, n)
		}
	}
}

func TestProductPoliciesMultiply(t *testing.T) {
	m := matrixGame(t, [][][]float64{make2(6), make2(6)})
	one, err := NewRandomized([][]int32{{0, 2}}, [][]float64{{.25, .75}})
	if err != nil {
		t.Fatal(err)
	}
	two, err := NewRandomized([][]int32{{0, 3}}, [][]float64{{.5, .2, .3}})
	if err != nil {
		t.Fatal(err)
	}
	p := ProductPolicy{func(int, int) []int { return []int{2, 3} }, []Policy{one, two}}
	o, err := NewFixedOpponent(m.Shape(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, count := make([]float64, 6), make([]float64, 6)
	o.Distribution(got, 0, 0)
	rng := rand.New(Stream(1, "product"))
	for range 20000 {
		count[o.Choose(rng, 0, 0)] += 1.0 / 20000
	}
	if want := []float64{.125, .05, .075, .375, .15, .225}; !floats.EqualApprox(got, want, 1e-12) ||
		!floats.EqualApprox(count, want, .02) {
		t.Errorf("%v, drawn %v: want %v", got, count, want)
	}
}

func make2(n int) [][]float64 {
	x := make([][]float64, n)
	for i := range x {
		x[i] = []float64{float64(i)}
	}
	return x
}

// TestMinimaxStops wants the error of the context, and a solver that can go on afterwards.
func TestMinimaxStops(t *testing.T) {
	g, err := NewMinimax(randomGame(t, 1, 4, 5, 2, true))
	if err != nil {
		t.Fatal(err)
	}
	dir := []float64{1, -0.5}
	low, up, err := g.Solve(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := g.Solve(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v: want that of the context", err)
	}
	if l, u, err := g.Solve(t.Context(), dir); l != low || u != up || err != nil {
		t.Errorf("%v to %v, %v: want %v to %v as before", l, u, err, low, up)
	}
}
