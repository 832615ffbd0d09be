package nasty

import (
	"math/big"
	"slices"
)

// A program is: minimise cost·x subject to rows and x ≥ 0.
type program struct {
	cost []*big.Rat
	rows []row
}

// A row is coef·x ≤ bound, ≥ bound or = bound, for a sense of -1, 1 or 0.
type row struct {
	coef  []*big.Rat
	sense int
	bound *big.Rat
}

type status int

const (
	optimal status = iota
	infeasible
	unbounded
)

func (s status) String() string { return [...]string{"optimal", "infeasible", "unbounded"}[s] }

// A solution of a program: if optimal, a vertex, its value, and the price of each row, which is how much
// the value changes for each unit of its bound; if infeasible, prices that prove so.
type solution struct {
	status status
	x      []*big.Rat
	value  *big.Rat
	prices []*big.Rat
}

// A tableau holds whole numbers over one denominator. Its pivots divide exactly (Edmonds 1967, Bareiss 1968),
// so that no fraction is ever reduced. Behind the rows of a program is one of reduced costs.
type tableau struct {
	rows [][]*big.Int
	over *big.Int // positive
	work float64  // so far
}

// mostWork bounds the products of words that the pivots of a program take, which is some ten seconds.
const mostWork = 1e10

// tooLarge is what the reference does not know of a program that takes more.
const tooLarge = unknown("an exact program takes too long")

// solve is the two-phase simplex method, after Bland's rule. Each row has an artificial column, which keeps
// the inverse of the basis and so the prices.
func (p *program) solve() solution {
	m, n := len(p.rows), len(p.cost)
	columns := n // that are not artificial
	for _, r := range p.rows {
		if r.sense != 0 {
			columns++
		}
	}
	width := columns + m
	t := &tableau{over: big.NewInt(1)}
	scale := make([]*big.Rat, m)
	basis := make([]int, m)
	slack := n
	for i, r := range p.rows {
		row, factor := whole(append(slices.Clone(r.coef), r.bound))
		bound := row[len(row)-1]
		row = append(row[:len(row)-1], zeros(width+1-len(r.coef))...)
		row[width] = bound
		if r.sense != 0 {
			row[slack].SetInt64(int64(-r.sense))
			slack++
		}
		scale[i] = new(big.Rat).SetInt(factor)
		if bound.Sign() < 0 {
			scale[i].Neg(scale[i])
			negate(row)
		}
		row[columns+i].SetInt64(1)
		basis[i] = columns + i
		t.rows = append(t.rows, row)
	}
	artificial := zeros(width)
	for i := range m {
		artificial[columns+i].SetInt64(1)
	}
	prices := func(cost, factor *big.Int) []*big.Rat {
		y := vector(m)
		for i := range y {
			y[i].Sub(new(big.Rat).SetInt(cost), t.at(m, columns+i))
			y[i].Mul(y[i], scale[i])
			y[i].Quo(y[i], new(big.Rat).SetInt(factor))
		}
		return y
	}
	one := big.NewInt(1)
	t.reduce(basis, artificial, width)
	if t.rows[m][width].Sign() != 0 {
		return solution{status: infeasible, prices: prices(one, one)}
	}
	t.rows = t.rows[:m]
	// Artificial columns that are left in the basis at 0 are driven out where a row has anything else.
	for i, b := range basis {
		if b < columns {
			continue
		}
		for j := range columns {
			if t.rows[i][j].Sign() != 0 {
				t.pivot(i, j)
				basis[i] = j
				break
			}
		}
	}
	cost, factor := whole(p.cost)
	bounded := t.reduce(basis, append(cost, zeros(width-n)...), columns)
	s := solution{status: optimal, x: vector(n), prices: prices(new(big.Int), factor)}
	s.value = neg(t.at(m, width))
	s.value.Quo(s.value, new(big.Rat).SetInt(factor))
	if !bounded {
		s.status = unbounded
	}
	for i, b := range basis {
		if b < n {
			s.x[b] = t.at(i, width)
		}
	}
	return s
}

// at returns the number in row i and column j.
func (t *tableau) at(i, j int) *big.Rat { return new(big.Rat).SetFrac(t.rows[i][j], t.over) }

// reduce adds the row of reduced costs, behind them minus the value, and pivots until no column below allowed
// has a negative one. It reports whether the value is bounded.
func (t *tableau) reduce(basis []int, cost []*big.Int, allowed int) bool {
	m, width := len(t.rows), len(cost)
	z := zeros(width + 1)
	for j, c := range cost {
		z[j].Mul(c, t.over)
	}
	for i, b := range basis {
		if cost[b].Sign() == 0 {
			continue
		}
		for j := range z {
			z[j].Sub(z[j], new(big.Int).Mul(cost[b], t.rows[i][j]))
		}
	}
	t.rows = append(t.rows, z)
	// compare says which of two rows lets the entering variable grow less.
	compare := func(i, k, enter int) int {
		x := new(big.Int).Mul(t.rows[i][width], t.rows[k][enter])
		return x.Cmp(new(big.Int).Mul(t.rows[k][width], t.rows[i][enter]))
	}
	for {
		enter := slices.IndexFunc(t.rows[m][:allowed], func(x *big.Int) bool { return x.Sign() < 0 })
		if enter < 0 {
			return true
		}
		leave := -1
		for i := range m {
			if t.rows[i][enter].Sign() <= 0 {
				continue
			}
			if leave >= 0 {
				if c := compare(i, leave, enter); c > 0 || c == 0 && basis[i] > basis[leave] {
					continue
				}
			}
			leave = i
		}
		if leave < 0 {
			return false
		}
		t.pivot(leave, enter)
		basis[leave] = enter
	}
}

// pivot makes column j the unit vector of row i.
func (t *tableau) pivot(i, j int) {
	by := t.rows[i][j]
	words := float64(by.BitLen()+t.over.BitLen()) / 64
	t.work += float64(len(t.rows)*len(t.rows[i])) * (10 + words*words)
	if t.work > mostWork {
		panic(tooLarge)
	}
	product, part := new(big.Int), new(big.Int)
	for o, r := range t.rows {
		if o == i {
			continue
		}
		f := new(big.Int).Set(r[j])
		for k, x := range r {
			product.Mul(x, by)
			if f.Sign() != 0 {
				product.Sub(product, part.Mul(f, t.rows[i][k]))
			}
			x.Quo(product, t.over)
		}
	}
	t.over = new(big.Int).Set(by)
	if t.over.Sign() < 0 {
		t.over.Neg(t.over)
		for _, r := range t.rows {
			negate(r)
		}
	}
}

// whole returns numbers times the least factor that makes them whole, and the factor.
func whole(v []*big.Rat) ([]*big.Int, *big.Int) {
	factor := big.NewInt(1)
	for _, x := range v {
		common := new(big.Int).GCD(nil, nil, factor, x.Denom())
		factor.Mul(factor, new(big.Int).Quo(x.Denom(), common))
	}
	w := zeros(len(v))
	for j, x := range v {
		w[j].Mul(x.Num(), w[j].Quo(factor, x.Denom()))
	}
	return w, factor
}

func zeros(n int) []*big.Int {
	v := make([]*big.Int, n)
	for j := range v {
		v[j] = new(big.Int)
	}
	return v
}

func negate(v []*big.Int) {
	for _, x := range v {
		x.Neg(x)
	}
}
