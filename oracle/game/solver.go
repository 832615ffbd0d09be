package game

import (
	"math"

	"cmdpsolve/oracle/lp"
)

// A Solver solves matrix games one after the other and keeps its memory between
// them. The zero value is ready for use. It must not be used concurrently.
type Solver struct {
	program lp.Dense
	table   []float64  // of the program, a line for each column of the game and one for the costs
	best    Strategies // the best pair so far, where rounding spoils the first
	cols    []float64  // (μᵀQ)_b
}

// Strategies are a pair of mixed strategies of a game.
type Strategies struct {
	Row, Col []float64
}

// Tolerance is the exploitability that Solve stays below, relative to the largest
// absolute payoff.
const Tolerance = 1e-9

const (
	badSize   = "game: payoff does not fit the strategies: want one entry for each row and column, and at least one of each"
	badPayoff = "game: payoff is not finite"
	// good is where Solve stops to improve an answer, relative like Tolerance.
	good = 1e-13
)

// Solve sets row and col to optimal strategies of the game with the given payoff,
// which has len(row)·len(col) entries, and returns the certificate low ≤ value ≤ up,
// with up − low ≤ Tolerance·max|payoff|. If there is a saddle point, low and up
// are equal and both strategies pure; of several optimal rows that is the first
// among those with the least maximum. It panics if the sizes do not fit or a
// payoff is not finite. It allocates nothing once games of the size were solved,
// but for payoffs beyond 1e150 or all below 1e-150.
func (s *Solver) Solve(row, col, payoff []float64) (low, up float64) {
	if len(row) == 0 || len(col) == 0 || len(payoff) != len(row)*len(col) {
		panic(badSize)
	}
	size := magnitude(payoff)
	if math.IsNaN(size) {
		panic(badPayoff)
	}
	a, b, low, up := saddle(payoff, len(row), len(col))
	switch {
	case low == up:
		pure(row, a)
		pure(col, b)
		return low, up
	case size > huge || size < 1/huge:
		return s.rescaled(row, col, payoff, size)
	case len(row) == 2 && len(col) == 2:
		return s.twoByTwo(row, col, payoff)
	}
	return s.general(row, col, payoff, a)
}

// magnitude returns the largest absolute value, NaN if one is not finite.
func magnitude(x []float64) float64 {
	most, sum := 0.0, 0.0
	for _, v := range x {
		sum += v - v // NaN unless v is finite
		v = math.Abs(v)
		if v > most {
			most = v
		}
	}
	return most + sum
}

// huge is where differences or quotients of payoffs might leave the range of
// numbers.
const huge = 1e150

// rescaled solves a game of very large or very small payoffs in another unit.
func (s *Solver) rescaled(row, col, payoff []float64, size float64) (low, up float64) {
	_, e := math.Frexp(size)
	scaled := make([]float64, len(payoff))
	for i, x := range payoff {
		scaled[i] = math.Ldexp(x, -e)
	}
	low, up = s.Solve(row, col, scaled)
	return math.Ldexp(low, e), math.Ldexp(up, e)
}

func pure(x []float64, i int) {
	clear(x)
	x[i] = 1
}

// saddle returns the row a with the least maximum up and the column b with the
// greatest minimum low. If low equals up, (a, b) is a saddle point.
func saddle(q []float64, rows, cols int) (a, b int, low, up float64) {
	up = math.Inf(1)
	for i := range rows {
		most := math.Inf(-1)
		for _, x := range q[i*cols : (i+1)*cols] {
			if x > most {
				most = x
			}
		}
		if most < up {
			a, up = i, most
		}
	}
	low = math.Inf(-1)
	for j := range cols {
		least := math.Inf(1)
		for k := j; k < len(q); k += cols {
			if q[k] < least {
				least = q[k]
			}
		}
		if least > low {
			b, low = j, least
		}
	}
	return a, b, low, up
}

// twoByTwo mixes so that the other player is indifferent. Without a saddle point
// the two terms of each sum have the same sign, so that nothing cancels.
func (s *Solver) twoByTwo(row, col, q []float64) (low, up float64) {
	top, bottom := q[0]-q[1], q[3]-q[2]
	left, right := q[0]-q[2], q[3]-q[1]
	row[0] = bottom / (top + bottom)
	row[1] = top / (top + bottom)
	col[0] = right / (left + right)
	col[1] = left / (left + right)
	return s.certify(row, col, q)
}

// certify returns what the strategies guarantee: the opponent at least low, the
// agent at most up.
func (s *Solver) certify(row, col, q []float64) (low, up float64) {
	n := len(col)
	s.cols = room(s.cols, n)
	sums := s.cols
	clear(sums)
	low = math.Inf(1)
	for a, p := range row {
		line, dot := q[a*n:(a+1)*n], 0.0
		for b, x := range line {
			dot += col[b] * x
			sums[b] += p * x
		}
		if dot < low {
			low = dot
		}
	}
	up = math.Inf(-1)
	for _, x := range sums {
		if x > up {
			up = x
		}
	}
	if low > up { // by rounding: both are the value
		low = up
	}
	return low, up
}

func room(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n, n+n/2)
	}
	return x[:n]
}

// general solves a game without a saddle point by the linear program of the
// agent, Σx → max subject to Mᵀx ≤ 1 and x ≥ 0, where M is the payoff moved and
// scaled into [1, 2]: x/Σx is then the agent's strategy and the multipliers of
// the rows, scaled alike, the opponent's. start is the row with the least maximum.
func (s *Solver) general(row, col, payoff []float64, start int) (low, up float64) {
	s.program.Careful = false
	size := s.load(payoff, len(row), len(col))
	s.program.Maximize(row, col, s.table, start)
	low, up = s.strategies(row, col, payoff)
	if up-low <= good*size {
		return low, up
	}
	s.best.Row, s.best.Col = append(s.best.Row[:0], row...), append(s.best.Col[:0], col...)
	keep := func() bool {
		if l, u := s.strategies(row, col, payoff); u-l < up-low {
			copy(s.best.Row, row)
			copy(s.best.Col, col)
			low, up = l, u
		}
		return up-low <= good*size
	}
	polish := func() bool {
		s.load(payoff, len(row), len(col))
		return s.program.Polish(row, col, s.table) && keep()
	}
	// Rounding has crept into the tableau, or a tie has misled it: solve the final
	// basis afresh, and failing that begin anew with the careful rule.
	if !polish() && up-low > Tolerance/100*size {
		s.program.Careful = true
		s.load(payoff, len(row), len(col))
		s.program.Maximize(row, col, s.table, start)
		if !keep() {
			polish()
		}
	}
	copy(row, s.best.Row)
	copy(col, s.best.Col)
	return low, up
}

// load writes the tableau of the program and returns the size of the payoffs.
func (s *Solver) load(payoff []float64, m, n int) (size float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range payoff {
		if x < lo {
			lo = x
		}
		if x > hi {
			hi = x
		}
	}
	w := m + 1
	s.table = room(s.table, (n+1)*w)
	table := s.table
	base, scale := lo/2, 1/(hi/2-lo/2) // half of each, so that no payoff overflows
	for a := range m {
		at := a
		for _, x := range payoff[a*n : (a+1)*n] {
			table[at] = 1 + (x/2-base)*scale
			at += w
		}
		table[at] = -1
	}
	for at := m; at < n*w; at += w {
		table[at] = 1
	}
	table[n*w+m] = 0
	return max(math.Abs(lo), math.Abs(hi))
}

// strategies makes strategies of a solution of the program, and returns what they guarantee.
func (s *Solver) strategies(row, col, payoff []float64) (low, up float64) {
	normalize(row)
	normalize(col)
	return s.certify(row, col, payoff)
}

// normalize makes a probability vector of numbers that are at least 0 up to
// rounding.
func normalize(x []float64) {
	sum := 0.0
	for i, v := range x {
		if v < 0 {
			x[i] = 0
			continue
		}
		sum += v
	}
	inv := 1 / sum
	for i := range x {
		x[i] *= inv
	}
}
