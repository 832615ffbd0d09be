package nasty

import "math/big"

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

// solve is the two-phase simplex method on a dense tableau of rational numbers, after Bland's rule. Each
// row has an artificial column, which keeps the inverse of the basis and so the prices.
func (p *program) solve() solution {
	m, n := len(p.rows), len(p.cost)
	slacks := 0
	for _, r := range p.rows {
		if r.sense != 0 {
			slacks++
		}
	}
	width := n + slacks + m
	t := make([][]*big.Rat, m)
	flipped := make([]bool, m)
	basis := make([]int, m)
	slack := n
	for i, r := range p.rows {
		t[i] = vector(width + 1)
		for j, c := range r.coef {
			t[i][j].Set(c)
		}
		if r.sense != 0 {
			t[i][slack].SetInt64(int64(-r.sense))
			slack++
		}
		t[i][width].Set(r.bound)
		if r.bound.Sign() < 0 {
			flipped[i] = true
			for j := range t[i] {
				t[i][j].Neg(t[i][j])
			}
		}
		t[i][n+slacks+i].SetInt64(1)
		basis[i] = n + slacks + i
	}
	artificial := vector(width)
	for i := range m {
		artificial[n+slacks+i].SetInt64(1)
	}
	z, _ := reduce(t, basis, artificial, width, width)
	prices := func(z []*big.Rat, cost int64) []*big.Rat {
		y := vector(m)
		for i := range y {
			y[i].Sub(big.NewRat(cost, 1), z[n+slacks+i])
			if flipped[i] {
				y[i].Neg(y[i])
			}
		}
		return y
	}
	if z[width].Sign() != 0 {
		return solution{status: infeasible, prices: prices(z, 1)}
	}
	// Artificial columns that are left in the basis at 0 are driven out where a row has anything else.
	for i, b := range basis {
		if b < n+slacks {
			continue
		}
		for j := range n + slacks {
			if t[i][j].Sign() != 0 {
				pivot(t, nil, i, j)
				basis[i] = j
				break
			}
		}
	}
	cost := vector(width)
	for j, c := range p.cost {
		cost[j].Set(c)
	}
	z, bounded := reduce(t, basis, cost, n+slacks, width)
	s := solution{status: optimal, x: vector(n), value: neg(z[width]), prices: prices(z, 0)}
	if !bounded {
		s.status = unbounded
	}
	for i, b := range basis {
		if b < n {
			s.x[b].Set(t[i][width])
		}
	}
	return s
}

// reduce pivots until no column below allowed has a negative reduced cost. It returns the reduced costs,
// behind them minus the value, and whether the value is bounded.
func reduce(t [][]*big.Rat, basis []int, cost []*big.Rat, allowed, width int) ([]*big.Rat, bool) {
	z := vector(width + 1)
	for j := range cost {
		z[j].Set(cost[j])
	}
	for i, b := range basis {
		c := new(big.Rat).Set(cost[b])
		if c.Sign() == 0 {
			continue
		}
		for j := range z {
			if t[i][j].Sign() != 0 {
				z[j].Sub(z[j], mul(c, t[i][j]))
			}
		}
	}
	for {
		enter := -1
		for j := range allowed {
			if z[j].Sign() < 0 {
				enter = j
				break
			}
		}
		if enter < 0 {
			return z, true
		}
		leave := -1
		var best *big.Rat
		for i := range t {
			if t[i][enter].Sign() <= 0 {
				continue
			}
			ratio := new(big.Rat).Quo(t[i][width], t[i][enter])
			if c := -1; leave >= 0 {
				if c = ratio.Cmp(best); c > 0 || c == 0 && basis[i] > basis[leave] {
					continue
				}
			}
			leave, best = i, ratio
		}
		if leave < 0 {
			return z, false
		}
		pivot(t, z, leave, enter)
		basis[leave] = enter
	}
}

// pivot makes column j the unit vector of row i, in t and in the row z below it.
func pivot(t [][]*big.Rat, z []*big.Rat, i, j int) {
	by := new(big.Rat).Inv(t[i][j])
	var filled []int
	for k := range t[i] {
		if t[i][k].Sign() != 0 {
			t[i][k].Mul(t[i][k], by)
			filled = append(filled, k)
		}
	}
	clear := func(r []*big.Rat) {
		f := new(big.Rat).Set(r[j])
		if f.Sign() == 0 {
			return
		}
		for _, k := range filled {
			r[k].Sub(r[k], mul(f, t[i][k]))
		}
	}
	for o := range t {
		if o != i {
			clear(t[o])
		}
	}
	if z != nil {
		clear(z)
	}
}
