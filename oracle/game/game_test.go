package game

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/oracle/lp"
)

// A family draws the payoff of one kind of game.
type family struct {
	name string
	draw func(rng *rand.Rand) (m, n int, q []float64)
}

func fill(m, n int, f func(a, b int) float64) (int, int, []float64) {
	q := make([]float64, m*n)
	for i := range q {
		q[i] = f(i/n, i%n)
	}
	return m, n, q
}

func plainFamilies() []family {
	size := func(rng *rand.Rand) (int, int) { return 1 + rng.IntN(6), 1 + rng.IntN(6) }
	return []family{
		{"random", func(rng *rand.Rand) (int, int, []float64) {
			m, n := size(rng)
			return fill(m, n, func(int, int) float64 { return rng.NormFloat64() })
		}},
		{"two by two", func(rng *rand.Rand) (int, int, []float64) {
			return fill(2, 2, func(int, int) float64 { return math.Round(8*rng.Float64()) / 4 })
		}},
		{"tied", func(rng *rand.Rand) (int, int, []float64) {
			m, n := size(rng)
			return fill(m, n, func(int, int) float64 { return float64(rng.IntN(3)) })
		}},
		{"degenerate", func(rng *rand.Rand) (int, int, []float64) { // repeated and mixed rows and columns
			m, n := size(rng)
			_, _, q := fill(m, n, func(int, int) float64 { return float64(rng.IntN(5)) })
			for range 2 {
				a, b, c := rng.IntN(m), rng.IntN(m), rng.IntN(m)
				for j := range n {
					q[a*n+j] = (q[b*n+j] + q[c*n+j]) / 2
				}
				i, j := rng.IntN(n), rng.IntN(n)
				for a := range m {
					q[a*n+i] = q[a*n+j]
				}
			}
			return m, n, q
		}},
	}
}

func families() []family { return append(plainFamilies(), extremeFamilies()...) }

// extremeFamilies are games of one row or column, and games whose numbers are hard.
func extremeFamilies() []family {
	size := func(rng *rand.Rand) (int, int) { return 1 + rng.IntN(6), 1 + rng.IntN(6) }
	return []family{
		{"one row", func(rng *rand.Rand) (int, int, []float64) {
			return fill(1, 1+rng.IntN(9), func(int, int) float64 { return rng.NormFloat64() })
		}},
		{"one column", func(rng *rand.Rand) (int, int, []float64) {
			return fill(1+rng.IntN(9), 1, func(int, int) float64 { return rng.NormFloat64() })
		}},
		{"constant", func(rng *rand.Rand) (int, int, []float64) {
			m, n := size(rng)
			c := math.Exp(20*rng.NormFloat64()) * float64(rng.IntN(3)-1)
			return fill(m, n, func(int, int) float64 { return c })
		}},
		{"badly scaled", func(rng *rand.Rand) (int, int, []float64) {
			m, n := size(rng)
			rows := make([]float64, m)
			for i := range rows {
				rows[i] = math.Exp(5 * rng.NormFloat64())
			}
			return fill(m, n, func(a,
				_ int) float64 {
				return rows[a] * math.Exp(4*rng.NormFloat64()) * rng.NormFloat64()
			})
		}},
		{"nearly constant", func(rng *rand.Rand) (int, int, []float64) {
			m, n := size(rng)
			return fill(m, n, func(int, int) float64 { return 1 + 1e-9*rng.Float64() })
		}},
		{"far apart", func(rng *rand.Rand) (int, int, []float64) { // which rounding spoils at first
			m, n := 2+rng.IntN(7), 2+rng.IntN(7)
			near := math.Pow(10, -12*rng.Float64())
			return fill(m, n, func(int, int) float64 {
				if rng.IntN(3) == 0 {
					return rng.NormFloat64() * math.Pow(10, -9*rng.Float64())
				}
				return 1 + near*rng.NormFloat64()
			})
		}},
		{"cyclic", func(rng *rand.Rand) (int, int, []float64) { // rock, paper, scissors of odd size
			m := 1 + 2*rng.IntN(4)
			return fill(m, m, func(a, b int) float64 {
				switch d := (b - a + m) % m; {
				case d == 0:
					return 0
				case d <= m/2:
					return 1
				}
				return -1
			})
		}},
		{"signs", func(rng *rand.Rand) (int, int, []float64) { // many optimal strategies
			m, n := 2+rng.IntN(7), 2+rng.IntN(7)
			return fill(m, n, func(int, int) float64 { return float64(2*rng.IntN(2) - 1) })
		}},
	}
}

func largest(q []float64) float64 {
	most := 0.0
	for _, x := range q {
		most = max(most, math.Abs(x))
	}
	return most
}

// exploitability judges a pair of strategies by definition.
func exploitability(t *testing.T, row, col, q []float64) (low, up float64) {
	t.Helper()
	for _, x := range [][]float64{row, col} {
		sum := 0.0
		for _, p := range x {
			if !(p >= 0) {
				t.Fatalf("strategy %v", x)
			}
			sum += p
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("strategy %v sums to %v", x, sum)
		}
	}
	low, up = math.Inf(1), math.Inf(-1)
	for a := range row {
		sum := 0.0
		for b, p := range col {
			sum += p * q[a*len(col)+b]
		}
		low = min(low, sum)
	}
	for b := range col {
		sum := 0.0
		for a, p := range row {
			sum += p * q[a*len(col)+b]
		}
		up = max(up, sum)
	}
	return low, up
}

// program is the linear program of the agent: the least t above all columns.
func program(m, n int, q []float64) *lp.Problem {
	p := &lp.Problem{Minimize: make([]float64, m+1), Lower: make([]float64, m+1)}
	p.Minimize[m], p.Lower[m] = 1, math.Inf(-1)
	ones := make([]float64, m+1)
	for a := range m {
		ones[a] = 1
	}
	p.Rows = append(p.Rows, lp.Equal(ones, 1))
	for b := range n {
		c := make([]float64, m+1)
		for a := range m {
			c[a] = q[a*n+b]
		}
		c[m] = -1
		p.Rows = append(p.Rows, lp.AtMost(c, 0))
	}
	return p
}

func TestCertificatesOfAHundredThousandGames(t *testing.T) {
	count := 100000
	if testing.Short() {
		count = 10000
	}
	fam := families()
	s := new(Solver)
	worst := make([]float64, len(fam))
	for i := range count {
		f := i % len(fam)
		m, n, q := fam[f].draw(rand.New(rand.NewPCG(uint64(i), 1)))
		row, col := make([]float64, m), make([]float64, n)
		low, up := s.Solve(row, col, q)
		lowSeen, upSeen := exploitability(t, row, col, q)
		size := largest(q)
		if math.Abs(low-lowSeen)+math.Abs(up-upSeen) > 1e-13*size {
			t.Fatalf("%s %d: certificate [%v, %v], by definition [%v, %v]\n%v", fam[f].name, i, low, up, lowSeen,
				upSeen, q)
		}
		if low > up || up-low > Tolerance*size {
			t.Fatalf("%s %d: exploitability %v of %v\n%d×%d %v", fam[f].name, i, up-low, size, m, n, q)
		}
		if size > 0 {
			worst[f] = max(worst[f], (up-low)/size)
		}
		checkSaddle(t, row, col, q, low, up)
		if i%10 == 0 {
			checkNash(t, len(row), q)
		}
	}
	for f, w := range worst {
		t.Logf("%-16s worst relative exploitability %.2g", fam[f].name, w)
	}
}

// checkSaddle wants the first of the rows with the least maximum, and a column with the greatest minimum, where these
// are equal.
func checkSaddle(t *testing.T, row, col, q []float64, low, up float64) {
	t.Helper()
	n := len(col)
	best, first := math.Inf(1), 0
	for a := range row {
		if most := slices.Max(q[a*n : (a+1)*n]); most < best {
			best, first = most, a
		}
	}
	least := slices.Repeat([]float64{math.Inf(1)}, n)
	for i, v := range q {
		least[i%n] = min(least[i%n], v)
	}
	other := slices.Max(least)
	if best != other {
		return
	}
	if low != best || up != best || row[first] != 1 || least[slices.Index(col, 1)] != best {
		t.Fatalf("saddle point %g at row %d: rows %v, columns %v, value in [%g, %g] of %v", best, first, row, col, low, up, q)
	}
}

// checkNash wants the answer of a Solver, whatever the unit: the value lies between its bounds.
func checkNash(t *testing.T, m int, q []float64) {
	t.Helper()
	_, e := math.Frexp(largest(q))
	for _, unit := range []int{0, 1024 - e, -e - 1000} {
		n, scaled, table := len(q)/m, make([]float64, len(q)), make([][]float64, m)
		for i, v := range q {
			scaled[i] = math.Ldexp(v, unit)
			table[i/n] = append(table[i/n], scaled[i])
		}
		row, col := make([]float64, m), make([]float64, n)
		low, up := new(Solver).Solve(row, col, scaled)
		sol, err := Nash(table)
		if err != nil || sol.Low != low || sol.Up != up || !(sol.Value >= low && sol.Value <= up) ||
			!slices.Equal(sol.Row, row) || !slices.Equal(sol.Col, col) {
			t.Fatalf("%v: %+v, %v; a Solver says %v, %v in [%g, %g]", table, sol, err, row, col, low, up)
		}
	}
}

func TestValuesAgreeWithLinearPrograms(t *testing.T) {
	fam := families()
	s := new(Solver)
	for _, backend := range programSolvers() {
		count := 4400
		if testing.Short() {
			count = 1100
		}
		for i := range count {
			f := i % len(fam)
			m, n, q := fam[f].draw(rand.New(rand.NewPCG(uint64(i), 2)))
			row, col := make([]float64, m), make([]float64, n)
			low, up := s.Solve(row, col, q)
			solver, err := backend.NewSolver(program(m, n, q))
			if err != nil {
				t.Fatal(err)
			}
			var sol lp.Solution
			err = solver.Solve(&sol)
			if err != nil || sol.Status != lp.Optimal {
				t.Fatalf("%s, %s %d: %v, %v", backend.Name, fam[f].name, i, sol.Status, err)
			}
			if tol := 1e-7 * (largest(q)); sol.Objective < low-tol || sol.Objective > up+tol {
				t.Errorf("%s, %s %d: value in [%v, %v], by linear program %v", backend.Name, fam[f].name, i, low, up,
					sol.Objective)
			}
		}
	}
}

// TestLargeGames checks sizes where rounding in the tableau adds up.
func TestLargeGames(t *testing.T) {
	s := new(Solver)
	for i, size := range [][2]int{{20, 30}, {50, 50}, {100, 20}, {20, 100}, {120, 120}} {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		for _, draw := range []func(int, int) float64{
			func(int, int) float64 { return rng.NormFloat64() },
			func(int, int) float64 { return float64(rng.IntN(2)) },
			func(a, b int) float64 { return 1 / float64(a+b+1) }, // a Hilbert matrix
		} {
			m, n, q := fill(size[0], size[1], draw)
			row, col := make([]float64, m), make([]float64, n)
			if low, up := s.Solve(row, col, q); up-low > Tolerance*largest(q) {
				t.Errorf("%d×%d: exploitability %v", m, n, up-low)
			}
		}
	}
}

// TestErratum07Orientation: the agent minimises and plays the rows.
func TestErratum07Orientation(t *testing.T) {
	sol, err := Nash([][]float64{{.5, .4}, {.9, .8}})
	if err != nil || sol.Value != 0.5 || sol.Row[0] != 1 || sol.Col[0] != 1 || sol.Up != sol.Low {
		t.Errorf("%+v, %v: want value 0.5 at row 0, column 0", sol, err)
	}
	// The game read by the opponent has minus the value: Q → −Qᵀ.
	for i := range 2000 {
		fam := families()[i%len(families())]
		m, n, q := fam.draw(rand.New(rand.NewPCG(uint64(i), 4)))
		p := make([]float64, len(q))
		for a := range m {
			for b := range n {
				p[b*m+a] = -q[a*n+b]
			}
		}
		s, row, col := new(Solver), make([]float64, m), make([]float64, n)
		low, up := s.Solve(row, col, q)
		low2, up2 := s.Solve(col, row, p)
		if tol := Tolerance * largest(q); math.Abs(low+up2) > 2*tol || math.Abs(up+low2) > 2*tol {
			t.Fatalf("%s %d: value [%v, %v], turned round [%v, %v]", fam.name, i, low, up, low2, up2)
		}
	}
}

// TestKnownGames have their values from the textbook argument of indifference.
func TestKnownGames(t *testing.T) {
	for _, c := range []struct {
		payoff [][]float64
		value  float64
	}{
		{[][]float64{{1, -1}, {-1, 1}}, 0},
		{[][]float64{{3, 1}, {0, 2}}, 1.5},
		{[][]float64{{0, 1, -1}, {-1, 0, 1}, {1, -1, 0}}, 0},
		{[][]float64{{1, 0, 0}, {0, 2, 0}, {0, 0, 4}}, 4.0 / 7}, // 1/(1+1/2+1/4)
		{[][]float64{{4, 0, 1}, {0, 3, 1}}, 12.0 / 7},
		{[][]float64{{7}}, 7},
	} {
		sol, err := Nash(c.payoff)
		if err != nil || math.Abs(sol.Value-c.value) > 1e-12 {
			t.Errorf("%v: %+v, %v: want %v", c.payoff, sol, err, c.value)
		}
	}
}

// TestGamesDoNotDependOnTheUnit solves the same games in units at the ends of the
// range of numbers.
func TestGamesDoNotDependOnTheUnit(t *testing.T) {
	for i := range 1000 {
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		m, n, q := fill(1+rng.IntN(4), 1+rng.IntN(4),
			func(int, int) float64 { return math.Round(8*rng.NormFloat64()) / 8 })
		s, row, col := new(Solver), make([]float64, m), make([]float64, n)
		low, up := s.Solve(row, col, q)
		for _, e := range []int{-1060, -700, 700, 1015} {
			p := make([]float64, len(q))
			for j, x := range q {
				p[j] = math.Ldexp(x, e)
			}
			low2, up2 := s.Solve(row, col, p)
			quantum := math.Ldexp(1, -1070) // of the smallest numbers
			if tol := math.Ldexp(1e-12*largest(q), e) +
				quantum; !(math.Abs(low2-math.Ldexp(low, e)) <= tol && math.Abs(up2-math.Ldexp(up, e)) <= tol) {
				t.Fatalf("%d: [%v, %v], times 2^%d: [%v, %v]", i, low, up, e, low2, up2)
			}
			exploitability(t, row, col, p) // checks that they are strategies
		}
	}
}

func TestBadGamesAreRefused(t *testing.T) {
	for want, q := range map[string][][]float64{
		"game: no payoffs":                               nil,
		"game: no payoffs: want at least":                {{}},
		"game: row 1 has 1 payoffs: want 2":              {{1, 2}, {3}, {4}},
		"game: row 2 has 3 payoffs: want 2":              {{1, 2}, {3, 4}, {5, 6, 7}},
		"game: row 1 has a payoff that is not finite":    {{1, 2}, {1, math.NaN()}},
		"game: row 0 has a payoff that is not finite":    {{math.Inf(1)}, {math.Inf(-1)}},
		"game: row 2 has a payoff that is not finite":    {{0, 0}, {0, 0}, {math.Inf(-1), 0}},
		"game: row 1 has 0 payoffs: want 1 as in the fi": {{1}, {}},
	} {
		if _, err := Nash(q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", q, err, want)
		}
	}
	for _, f := range []func(s *Solver){
		func(s *Solver) { s.Solve(make([]float64, 2), make([]float64, 2), make([]float64, 3)) },
		func(s *Solver) { s.Solve(nil, make([]float64, 2), nil) },
		func(s *Solver) { s.Solve(make([]float64, 2), make([]float64, 1), []float64{1, math.NaN()}) },
		func(s *Solver) { s.Solve(make([]float64, 2), make([]float64, 1), []float64{math.Inf(-1), 1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f(new(Solver))
		}()
	}
}

func TestSolvingDoesNotAllocate(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		rng := rand.New(rand.NewPCG(uint64(n), 5))
		_, _, q := fill(n, n, func(int, int) float64 { return rng.NormFloat64() })
		s, row, col := new(Solver), make([]float64, n), make([]float64, n)
		if a := testing.AllocsPerRun(50, func() { s.Solve(row, col, q) }); a > 0 {
			t.Errorf("%d×%d allocates %v times", n, n, a)
		}
	}
}

// programSolvers are the linear program solvers of this build.
func programSolvers() []programSolver {
	list := []programSolver{{"embedded", lp.NewEmbedded}}
	if _, err := lp.NewGLPK(nil); !errors.Is(err, lp.ErrNoGLPK) {
		list = append(list, programSolver{"glpk", lp.NewSolver})
	}
	return list
}

type programSolver struct {
	Name      string
	NewSolver func(*lp.Problem) (lp.Solver, error)
}
