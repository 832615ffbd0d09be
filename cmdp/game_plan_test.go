package cmdp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/oracle/game"

	"gonum.org/v1/gonum/floats"
)

// playedGame returns the counts of n episodes of uniform play of both players.
func playedGame(tb testing.TB, m *Model, pooled bool, n int) *Counts {
	tb.Helper()
	c, err := NewCounts(m.Shape(), pooled, nil)
	if err != nil {
		tb.Fatal(err)
	}
	env, agent, other := rand.New(Stream(1, "environment")), rand.New(Stream(1, "agent")),
		rand.New(Stream(1, "opponent"))
	tr := NewTrajectory(m.Shape())
	for range n {
		if err := tr.PlayAgainst(m, Uniform{m.Shape()}, NewUniformOpponent(m.Shape()), env, agent, other); err != nil {
			tb.Fatal(err)
		}
		c.Observe(tr)
	}
	return c
}

// denseGame is VI-Hoeffding for games written out densely from ALGORITHM and
// errata E-07 and E-18, with none of the planner's code.
func denseGame(t *testing.T, m *Model, c *Counts, dir []float64, scale, logTerm float64) (low, up []float64) {
	H, S, sh := m.horizon, m.states, m.shape
	L, U := make([]float64, H+1), make([]float64, H+1)
	for h := H - 1; h >= 0; h-- {
		k := m.Kernel(h).Plain(m.Dim())
		lo, hi := math.Inf(1), math.Inf(-1)
		for s := range S {
			if k.First[s] == k.First[s+1] {
				lo, hi = math.Min(lo, 0), math.Max(hi, 0)
			}
		}
		for j := range len(k.Returns) / m.dim {
			r := floats.Dot(dir, k.Returns[j*m.dim:(j+1)*m.dim])
			lo, hi = math.Min(lo, r), math.Max(hi, r)
		}
		L[h], U[h] = L[h+1]+lo, U[h+1]+hi
	}
	low, up = make([]float64, S), make([]float64, S)
	for h := H - 1; h >= 0; h-- {
		k, R := m.Kernel(h).Plain(m.Dim()), U[h+1]-L[h+1]
		nextLow, nextUp := slices.Clone(low), slices.Clone(up)
		for s := range S {
			rows, cols := sh.Actions(h, s), sh.OpponentActions(h, s)
			if rows == 0 {
				continue
			}
			ql, qu := make([][]float64, rows), make([][]float64, rows)
			for j := range rows * cols {
				r := floats.Dot(dir, k.Returns[(int(k.First[s])+j)*m.dim:(int(k.First[s])+j+1)*m.dim])
				l, u := r+L[h+1], r+U[h+1]
				n := countOf(c, h, s, j)
				if visits := floats.Sum(n); visits > 0 {
					beta := scale * R * math.Sqrt(logTerm/(2*visits))
					l = math.Max(l, r+floats.Dot(n, nextLow)/visits-beta)
					u = math.Min(u, r+floats.Dot(n, nextUp)/visits+beta)
				}
				ql[j/cols], qu[j/cols] = append(ql[j/cols], l), append(qu[j/cols], u)
			}
			sol, err := game.Nash(ql)
			if err != nil {
				t.Fatal(err)
			}
			low[s], up[s] = sol.Value, math.Inf(-1)
			for b := range cols {
				sum := 0.0
				for a, p := range sol.Row {
					sum += p * qu[a][b]
				}
				up[s] = math.Max(up[s], sum)
			}
		}
	}
	return low, up
}

func TestGamePlannerAgreesWithDenseReference(t *testing.T) {
	for seed := range uint64(40) {
		m := randomGame(t, seed, 5, 4, 3, seed%3 == 0)
		c := playedGame(t, m, false, int(1+2*seed*seed))
		dir := randomDirection(rand.New(Stream(seed, "dir")), 3, 1+float64(seed))
		const scale, logTerm = 0.2, 2.5
		vi := newVI(t, m, true, newHoeffding(scale, logTerm, 0))
		p := vi.NewPlan()
		vi.Plan(p, c, dir)
		low, up := denseGame(t, m, c, dir, scale, logTerm)
		if math.Abs(p.Low-low[0]) > 1e-9*(1+float64(seed)) || math.Abs(p.Up-up[0]) > 1e-9*(1+float64(seed)) {
			t.Errorf("seed %d: [%v, %v], dense [%v, %v]", seed, p.Low, p.Up, low[0], up[0])
		}
	}
}

// gameValues returns V*_h(s) of the true game, H steps.
func gameValues(m *Model, dir []float64) [][]float64 {
	v := make([][]float64, m.horizon+1)
	v[m.horizon] = make([]float64, m.states)
	for h := m.horizon - 1; h >= 0; h-- {
		v[h] = slices.Clone(v[h+1])
		k := m.Kernel(h).Plain(m.Dim())
		for s := range m.states {
			rows, cols := m.shape.Actions(h, s), m.shape.OpponentActions(h, s)
			if rows == 0 {
				continue
			}
			q := make([][]float64, rows)
			for j := range rows * cols {
				c := int(k.First[s]) + j
				x := floats.Dot(dir, k.Returns[c*m.dim:(c+1)*m.dim])
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					x += k.Prob[e] * v[h+1][k.Next[e]]
				}
				q[j/cols] = append(q[j/cols], x)
			}
			sol, err := game.Nash(q)
			if err != nil {
				panic(err)
			}
			v[h][s] = sol.Value
		}
	}
	return v
}

// countsFor returns empty counts, which learn returns unless they are known.
func countsFor(t *testing.T, m *Model, pooled, known bool, episodes float64) *Counts {
	t.Helper()
	var confidence *ReturnConfidence
	if !known {
		confidence = NewReturnConfidence(m.Shape(), math.Log(8*2*float64(m.Shape().Slots())*episodes/0.05), 1)
	}
	c := newCounts(t, m.Shape(), pooled, confidence)
	return c
}

// TestOptimismInGames covers all states and steps, both bonuses with their theory
// constants, known and learned returns, pooled counts and counts apart, and an
// opponent that leaves whole columns unseen.
func TestOptimismInGames(t *testing.T) {
	violations, cells, strict := 0, 0, 0
	for run := range uint64(200) {
		m := randomGame(t, run, 4, 4, 2, run%2 == 0)
		pooled, known := run%4 == 0, run%3 != 0
		const episodes = 60
		rng := rand.New(Stream(run, "optimism"))
		c := countsFor(t, m, pooled, known, episodes)
		vi := newVI(t, m, known, newBonus(t, m, run%5 == 0, pooled, Theory, episodes))
		opponent := NewUniformOpponent(m.Shape())
		if run%7 == 0 {
			opponent.Policy = Deterministic{make([]int32, m.states)}
		}
		tr := NewTrajectory(m.Shape())
		for k := range episodes {
			if err := tr.PlayAgainst(m, Uniform{m.Shape()}, opponent, rng, rng, rng); err != nil {
				t.Fatal(err)
			}
			c.Observe(tr)
			if k%6 != 0 {
				continue
			}
			for range 4 {
				dir := randomDirection(rng, 2, math.Exp(3*rng.NormFloat64()))
				plan, got := stepValues(vi, c, dir)
				want := gameValues(m, dir)
				tol := 1e-9 * (1 + floats.Norm(dir, 2))
				for h := range got {
					for s, b := range got[h] {
						if math.IsNaN(b.low) {
							continue
						}
						cells++
						if b.low > want[h][s]+tol || b.up < want[h][s]-tol {
							violations++
						}
						if b.low < want[h][s]-tol {
							strict++
						}
					}
				}
				v := startValue(m, want[0])
				if plan.Low > v+tol || plan.Up < v-tol {
					violations++
				}
			}
		}
	}
	if violations > 0 || cells < 50000 || strict < cells/10 {
		t.Errorf("%d violations of V_low ≤ V* ≤ V_up in %d cells, %d of them strict", violations, cells, strict)
	}
}

// TestGamesWithoutARealOpponentAreBitEqual: with one column a matrix game is the
// minimum over rows, and nothing else may change.
func TestGamesWithoutARealOpponentAreBitEqual(t *testing.T) {
	for seed := range uint64(20) {
		m := randomModel(t, seed, 6, 5, 2, seed%2 == 0)
		c := playedCounts(t, m, false, 100)
		for _, bernstein := range []bool{true, false} {
			vi := newVI(t, m, true, newBonus(t, m, bernstein, false, Practice, 100))
			dir := randomDirection(rand.New(Stream(seed, "dir")), 2, 1)
			p := vi.NewPlan()
			vi.Plan(p, c, dir)
			p.matrix = newMatrixPlan(m.shape)
			p.next = make([]bounds, m.states)
			for h := m.horizon - 1; h >= 0; h-- {
				p.stage.Step, p.stage.Range, p.stage.Diagonal = h, p.up[h+1]-p.low[h+1], vi.diag[h+1]
				vi.backup(p, c.layer(h), dir)
				want, wantActions := slices.Clone(p.now), slices.Clone(p.decisions[h])
				l := c.layer(h)
				b := vi.newBackup(p, l, dir)
				for _, s := range l.seen {
					if s.first == s.end {
						continue
					}
					got, action := b.game(s)
					if got != want[s.state] || action != wantActions[s.state] {
						t.Fatalf("seed %d, step %d, state %d: %v by action %d as a game, %v by %d without", seed, h+1,
							s.state, got, action, want[s.state], wantActions[s.state])
					}
				}
				p.now, p.next = p.next, p.now
			}
		}
	}
}

// TestAGameWithOneColumnIsTheSameRun plays the same model as it is and said to be a
// game.
func TestAGameWithOneColumnIsTheSameRun(t *testing.T) {
	for seed := range uint64(20) {
		m := randomModel(t, seed, 6, 5, 2, seed%2 == 0)
		spec := ModelSpec{Horizon: m.horizon, Dim: m.dim, Start: m.start,
			Kernels: []Kernel{*m.Kernel(0).Plain(m.Dim())}}
		for h := range m.rows {
			if h > 0 {
				spec.Kernels = append(spec.Kernels, *m.Kernel(h).Plain(m.Dim()))
			}
			ones := make([]int32, m.states)
			for s := range ones {
				ones[s] = 1
			}
			spec.Opponents = append(spec.Opponents, ones)
		}
		g, err := NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		task := Task{Target: atMost(t, m.Shape(), 0, 0.2)}
		settings := Settings{Confidence: Confidence{300, 0.1}, Bonus: BonusScale{Mode: Practice, Factor: 1}}
		a, err := NewLearner(m.Shape(), m.KnownReturns(), task, settings)
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewLearner(g.Shape(), g.KnownReturns(), task, settings)
		if err != nil {
			t.Fatal(err)
		}
		one := run(t, m, a, seed, 300)
		two, err := NewGameRunner(g, b, NewUniformOpponent(g.Shape()), seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := two.Run(t.Context(), 300); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one.Average(), two.Average()) || a.Findings().Gap != b.Findings().Gap {
			t.Errorf("seed %d: %v without an opponent, %v with one that has no choice", seed, one.Average(),
				two.Average())
		}
	}
}

func TestGamePlans(t *testing.T) {
	m := randomGame(t, 3, 6, 5, 3, false)
	c := playedGame(t, m, false, 30)
	rng := rand.New(Stream(1, "dir"))
	vi := newVI(t, m, true, newBonus(t, m, false, false, Theory, 1000))
	used := vi.NewPlan()
	mixed := 0
	for range 50 {
		dir := randomDirection(rng, 3, 1)
		long := make([]float64, 3)
		floats.ScaleTo(long, 123.4, dir)
		vi.Plan(used, c, dir)
		fresh, scaled := vi.NewPlan(), vi.NewPlan()
		vi.Plan(fresh, c, dir)
		vi.Plan(scaled, c, long)
		if used.Low != fresh.Low || used.Up != fresh.Up {
			t.Fatalf("used [%v, %v], fresh [%v, %v]", used.Low, used.Up, fresh.Low, fresh.Up)
		}
		if math.Abs(scaled.Low-123.4*fresh.Low) > 1e-9*123.4 {
			t.Fatalf("not homogeneous: %v and %v", scaled.Low, fresh.Low)
		}
		for h := range m.horizon {
			for s := range m.states {
				n := m.shape.Actions(h, s)
				if n == 0 {
					continue
				}
				p, q := make([]float64, n), make([]float64, n)
				used.Distribution(p, h, s)
				fresh.Distribution(q, h, s)
				if !slices.Equal(p, q) || math.Abs(floats.Sum(p)-1) > 1e-12 {
					t.Fatalf("step %d, state %d: %v and %v", h+1, s, p, q)
				}
				if floats.Max(p) < 1 {
					mixed++
				}
			}
		}
	}
	if mixed == 0 {
		t.Error("no plan was mixed")
	}
	dir := []float64{1, -2, 3}
	if n := testing.AllocsPerRun(100, func() { vi.Plan(used, c, dir) }); n > 0 {
		t.Errorf("planning allocates %v times", n)
	}
}

func TestMixedPlansAreDrawnAsTheySay(t *testing.T) {
	m := matrixGame(t, [][][]float64{{{3}, {1}}, {{0}, {2}}})
	vi := newVI(t, m, true, NoBonus{})
	for _, episodes := range []int{0, 1} { // the state unseen, and seen
		p := vi.NewPlan()
		vi.Plan(p, playedGame(t, m, false, episodes), []float64{1})
		probs := make([]float64, 2)
		p.Distribution(probs, 0, 0)
		if math.Abs(probs[0]-0.5) > 1e-12 || math.Abs(p.Low-1.5) > 1e-12 || math.Abs(p.Up-1.5) > 1e-12 {
			t.Errorf("%d episodes: %v with value [%v, %v]: want half and half with 1.5", episodes, probs, p.Low, p.Up)
		}
		rng, n := rand.New(Stream(1, "draw")), 0
		for range 10000 {
			n += p.Choose(rng, 0, 0)
		}
		if n < 4800 || n > 5200 {
			t.Errorf("action 1 drawn %d times in 10000", n)
		}
	}
}
