package lp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A Mixture is a linear program with a handful of rows over the weights of points. More
// and more points are added to it:
//
//	min Σ λ_j·cost_j   s.t.  Σ λ_j = 1,   Σ λ_j·a_ij ≤ b_i,   λ ≥ 0.
//
// Its dual over the price y₀ of the first row and z ≥ 0, the negative prices of the others,
//
//	max y₀ − Σ b_i·z_i   s.t.  y₀ − Σ a_ij·z_i ≤ cost_j,
//
// is a program of [Dense] once costs and coefficients are shifted to be positive. A [Solver]
// does the same for any program, certified and refined, but takes several times as long as
// value iteration on a small model; BenchmarkMixture measures it. The zero value is ready
// for Reset. It must not be used concurrently.
type Mixture struct {
	limit   []float64 // b
	cost    []float64 // of each column
	coef    []float64 // columns×I
	prices  []float64
	weights []float64

	dense  Dense
	table  []float64 // of the program, and a copy that Dense overwrites
	work   []float64
	dual   []float64 // y₀ and z, shifted and scaled
	shares []float64 // of the columns, and u in the first phase
	total  []float64 // of the shares' rows, less the goal
	least  []float64 // the least coefficient of each row
	extent []float64 // by how much its coefficients differ
}

// Reset removes all columns and sets the limits b, which it keeps.
func (m *Mixture) Reset(limit []float64) {
	n := len(limit)
	m.limit, m.cost, m.coef = limit, m.cost[:0], m.coef[:0]
	m.least, m.extent, m.prices, m.dual = resize(m.least, n), resize(m.extent, n), resize(m.prices, n+1), resize(m.dual, n+1)
}

// Add adds a column with its cost and its coefficients, one for each limit, which it copies.
func (m *Mixture) Add(cost float64, a []float64) {
	m.cost, m.coef = append(m.cost, cost), append(m.coef, a...)
}

// Solve finds the best mixture of the columns, of which there has to be one, and reports the
// least excess over the limits that a mixture has. An excess above tol means that no mixture
// keeps the limits; prices are then those of the program that minimises the excess. ok is
// false where rounding leads astray; nothing is known then.
func (m *Mixture) Solve(tol float64) (excess float64, ok bool) {
	m.measure()
	if feasible, ok := m.optimize(0); feasible {
		return 0, ok
	}
	if excess, ok = m.minimizeExcess(); ok && excess <= tol {
		_, ok = m.optimize(excess + 1e-14*(1+floats.Norm(m.limit, math.Inf(1))))
	}
	return excess, ok
}

// measure finds the range of the coefficients of each row.
func (m *Mixture) measure() {
	n := len(m.limit)
	for i := range n {
		low, high := math.Inf(1), math.Inf(-1)
		for k := i; k < len(m.coef); k += n {
			low, high = min(low, m.coef[k]), max(high, m.coef[k])
		}
		m.least[i], m.extent[i] = low, high-low
		if high == low {
			m.extent[i] = 1
		}
	}
}

// load writes the table of the dual, with limits that are wider by slack and room for extra
// rows. Its row j is y₀ − Σ a_ij·z_i ≤ 1 + cost_j in shifted numbers; z_i is multiplied and
// a_ij divided by the extent of row i. The 1 makes y₀ positive at an optimum, so that the
// weights add up to 1.
func (m *Mixture) load(cost func(j int) float64, slack float64, extra int) {
	n, columns := len(m.limit), len(m.cost)
	m.table = resize(m.table, (columns+extra+1)*(n+2))
	for j := range columns {
		line := m.table[j*(n+2) : (j+1)*(n+2)]
		line[0], line[n+1] = 1, 1+cost(j)
		for i, a := range m.coef[j*n : (j+1)*n] {
			line[i+1] = (m.least[i] - a) / m.extent[i]
		}
	}
	goal := m.table[(columns+extra)*(n+2):]
	goal[0], goal[n+1] = -1, 0
	for i, b := range m.limit {
		goal[i+1] = (b + slack - m.least[i]) / m.extent[i]
	}
	m.shares = resize(m.shares, columns+extra)
}

// maximize solves the program of the table, and reports whether it is bounded.
func (m *Mixture) maximize() bool {
	m.dense.Careful = false
	m.work = append(m.work[:0], m.table...)
	if !m.dense.Maximize(m.dual, m.shares, m.work, 0) {
		return false
	}
	if m.residual() > 1e-15 {
		m.dense.Polish(m.dual, m.shares, m.table)
	}
	return true
}

// residual returns by how much the solution misses the equations of its basis.
func (m *Mixture) residual() (most float64) {
	w := len(m.dual) + 1
	m.total = append(m.total[:0], m.table[len(m.shares)*w:]...)
	for j, share := range m.shares {
		if share == 0 {
			continue
		}
		line := m.table[j*w : (j+1)*w]
		gap := -line[w-1]
		for i, a := range line[:w-1] {
			gap += a * m.dual[i]
			m.total[i] += a * share
		}
		most = max(most, gap, -gap)
	}
	for i, z := range m.dual {
		if z != 0 {
			most = max(most, m.total[i], -m.total[i])
		}
	}
	return most
}

// settle takes prices and weights from the solution. In the table a cost of 0 stands for
// low and a cost of 1 for low + scale. It reports whether the weights are a mixture.
func (m *Mixture) settle(low, scale float64) bool {
	m.prices[0] = low + scale*(m.dual[0]-1)
	for i, z := range m.dual[1:] {
		z *= scale / m.extent[i]
		m.prices[0] += m.least[i] * z
		m.prices[i+1] = -z
	}
	m.weights = append(m.weights[:0], m.shares[:len(m.cost)]...)
	sum := 0.0
	for j, w := range m.weights {
		m.weights[j] = max(0, w)
		sum += m.weights[j]
	}
	return math.Abs(sum-1) < 1e-9
}

// optimize solves the program with limits that are wider by slack. It is feasible if its
// dual is bounded.
func (m *Mixture) optimize(slack float64) (feasible, ok bool) {
	low := floats.Min(m.cost)
	scale := floats.Max(m.cost) - low
	if scale == 0 {
		scale = 1
	}
	m.load(func(j int) float64 { return (m.cost[j] - low) / scale }, slack, 0)
	if !m.maximize() {
		return false, false
	}
	return true, m.settle(low, scale)
}

// minimizeExcess solves the first phase, min u with Σ λ_j·a_ij ≤ b_i + u, whose dual is the
// same but for costs of 0 and Σ z_i ≤ 1.
func (m *Mixture) minimizeExcess() (excess float64, ok bool) {
	n, columns := len(m.limit), len(m.cost)
	m.load(func(int) float64 { return 0 }, 0, 1)
	scale := slices.Min(m.extent)
	line := m.table[columns*(n+2) : (columns+1)*(n+2)]
	line[0], line[n+1] = 0, 1
	for i, e := range m.extent {
		line[i+1] = scale / e
	}
	ok = m.maximize() && m.settle(0, scale)
	return max(0, m.prices[0]+floats.Dot(m.prices[1:], m.limit)), ok
}

// Prices returns the dual prices of the last solution: that of Σ λ_j = 1, then those of the
// limits, which are at most 0. The slice belongs to the mixture.
func (m *Mixture) Prices() []float64 { return m.prices }

// Weights returns the weights of the columns in the last solution. The slice belongs to the
// mixture.
func (m *Mixture) Weights() []float64 { return m.weights }
