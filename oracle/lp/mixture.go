package lp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A Mixture is a linear program with a handful of rows over the weights of points. More
// and more points are added to it:
//
//	min Σ λ_j·cost_j   s.t.  Σ λ_j = 1,   Σ λ_j·a_ij + s_i − u = b_i,   λ, s, u ≥ 0,
//
// u, the excess over the rows, being driven to 0 first. It is solved by the simplex method
// on a basis of I+1 variables, which is factorised anew at every pivot, so that rounding
// does not build up, and which the next solution starts from. A [Solver] does the same for
// any program, certified and refined, and takes five times as long for the programs of a
// learner (BenchmarkMixture). [Dense] solves the dual as fast there, but begins afresh each
// time: where there are many rows and columns, as in BenchmarkCut of package geometry, it
// takes 2.5 times as long. The zero value is ready for Reset. It must not be used
// concurrently.
type Mixture struct {
	limit []float64 // b
	cost  []float64 // of each column
	coef  []float64 // columns×(I+1): 1, a_1j … a_Ij
	basis []int     // column, or variableU, or slackOf(i)
	inv   []float64 // (I+1)²
	x, y  []float64 // basic values, prices
	alpha []float64 // the entering variable in terms of the basis
	work  []float64

	weights []float64
}

// Variables of the basis that are not columns: u, and the slacks of the rows 1 … I.
const variableU = -1

func slackOf(row int) int { return variableU - row }

// mostPivots bounds the pivots of a solution; tiny programs take a few.
const mostPivots = 200

// Reset removes all columns and sets the limits b, which it keeps.
func (m *Mixture) Reset(limit []float64) {
	n := len(limit) + 1
	m.limit, m.cost, m.coef, m.basis = limit, m.cost[:0], m.coef[:0], m.basis[:0]
	if len(m.x) != n {
		m.inv, m.work = make([]float64, n*n), make([]float64, 2*n*n)
		m.x, m.y, m.alpha = make([]float64, n), make([]float64, n), make([]float64, n)
	}
}

// Add adds a column with its cost and its coefficients, one for each limit, which it copies.
func (m *Mixture) Add(cost float64, a []float64) {
	m.cost, m.coef = append(m.cost, cost), append(append(m.coef, 1), a...)
}

// Solve finds the best mixture of the columns, of which there has to be one, from the last
// basis, and reports the excess u. An excess above tol means that no mixture keeps the
// limits, and that prices are those of the first phase. ok is false where rounding makes
// it fail; nothing is known then.
func (m *Mixture) Solve(tol float64) (excess float64, ok bool) {
	if len(m.basis) == 0 {
		m.begin()
	}
	phase := 1
	for range mostPivots {
		if !m.factor() {
			return 0, false
		}
		excess = m.excess()
		if phase == 1 && excess <= tol {
			phase = 2
		}
		m.prices(phase)
		q, d := m.entering(phase)
		if d == 0 {
			return excess, true
		}
		if !m.pivot(q, phase) {
			return 0, false
		}
	}
	return 0, false
}

// begin makes the basis of the first column: its slacks, with u in the place of the
// one that is negative most.
func (m *Mixture) begin() {
	m.basis = append(m.basis, 0)
	worst, row := 0.0, 0
	for i, b := range m.limit {
		m.basis = append(m.basis, slackOf(i+1))
		if over := m.coef[i+1] - b; over > worst {
			worst, row = over, i+1
		}
	}
	if row > 0 {
		m.basis[row] = variableU
	}
}

// entry returns the coefficient of a variable in a row.
func (m *Mixture) entry(v, row int) float64 {
	switch {
	case v >= 0:
		return m.coef[v*len(m.x)+row]
	case row == 0:
		return 0
	case v == variableU:
		return -1
	case v == slackOf(row):
		return 1
	}
	return 0
}

// factor inverts the basis, by Gauss and Jordan with row exchanges, and sets the
// basic values. It fails on a singular one, and where a basic value is negative by
// more than rounding.
func (m *Mixture) factor() bool {
	n := len(m.x)
	line := func(i int) []float64 { return m.work[i*2*n : (i+1)*2*n] } // basis and identity
	for i := range n {
		w := line(i)
		clear(w[n:])
		w[n+i] = 1
		for k, v := range m.basis {
			w[k] = m.entry(v, i)
		}
	}
	for k := range n {
		best := k
		for i := k + 1; i < n; i++ {
			if math.Abs(line(i)[k]) > math.Abs(line(best)[k]) {
				best = i
			}
		}
		w, other := line(k), line(best)
		if !(math.Abs(other[k]) > 1e-13) {
			return false
		}
		if best != k {
			for j := range w {
				w[j], other[j] = other[j], w[j]
			}
		}
		floats.Scale(1/w[k], w)
		for i := range n {
			if f := line(i)[k]; i != k && f != 0 {
				floats.AddScaled(line(i), -f, w)
			}
		}
	}
	for k := range n {
		copy(m.inv[k*n:(k+1)*n], line(k)[n:])
	}
	return m.values()
}

// values sets the basic values.
func (m *Mixture) values() bool {
	n, size := len(m.x), 1.0
	for k := range n {
		row := m.inv[k*n : (k+1)*n]
		m.x[k] = row[0]
		for i, b := range m.limit {
			m.x[k] += row[i+1] * b
		}
		size = max(size, math.Abs(m.x[k]))
	}
	for k, x := range m.x {
		if x < -1e-10*size || math.IsNaN(x) {
			return false
		}
		m.x[k] = max(0, x)
	}
	return true
}

// excess returns the value of u.
func (m *Mixture) excess() float64 {
	if k := slices.Index(m.basis, variableU); k >= 0 {
		return m.x[k]
	}
	return 0
}

// charge returns the cost of a variable in a phase.
func (m *Mixture) charge(v, phase int) float64 {
	switch {
	case phase == 1 && v == variableU:
		return 1
	case phase == 2 && v >= 0:
		return m.cost[v]
	}
	return 0
}

// prices sets y to the dual prices of a phase.
func (m *Mixture) prices(phase int) {
	n := len(m.x)
	clear(m.y)
	for k, v := range m.basis {
		if c := m.charge(v, phase); c != 0 {
			floats.AddScaled(m.y, c, m.inv[k*n:(k+1)*n])
		}
	}
}

// entering returns the variable with the least reduced cost d, 0 if none promises
// anything.
func (m *Mixture) entering(phase int) (q int, d float64) {
	n := len(m.x)
	for j := range m.cost {
		c := m.charge(j, phase)
		r, size := c, math.Abs(c)
		for i, a := range m.coef[j*n : (j+1)*n] {
			r -= m.y[i] * a
			size += math.Abs(m.y[i] * a)
		}
		if r < d && r < -1e-12*size {
			q, d = j, r
		}
	}
	for i := 1; i < n; i++ {
		if r := -m.y[i]; r < d && r < -1e-12*floats.Norm(m.y, math.Inf(1)) {
			q, d = slackOf(i), r
		}
	}
	if d < 0 && slices.Contains(m.basis, q) { // rounding: a basic variable has reduced cost 0
		return 0, 0
	}
	return q, d
}

// pivot lets variable q into the basis. In the second phase u leaves as soon as it
// would grow. Of equal ratios the largest pivot wins.
func (m *Mixture) pivot(q, phase int) bool {
	n := len(m.x)
	clear(m.alpha)
	for k := range n {
		for i := range n {
			m.alpha[k] += m.inv[k*n+i] * m.entry(q, i)
		}
	}
	out, least, size := -1, math.Inf(1), floats.Norm(m.alpha, math.Inf(1))
	for k, a := range m.alpha {
		if math.Abs(a) <= 1e-11*size {
			continue
		}
		ratio := m.x[k] / a
		if phase == 2 && m.basis[k] == variableU && a < 0 {
			ratio = 0
		} else if a < 0 {
			continue
		}
		if ratio < least || ratio == least && math.Abs(a) > math.Abs(m.alpha[out]) {
			out, least = k, ratio
		}
	}
	if out < 0 {
		return false
	}
	m.basis[out] = q
	return true
}

// Prices returns the dual prices of the last solution: that of Σ λ_j = 1, then those of the
// limits, which are at most 0. The slice belongs to the mixture.
func (m *Mixture) Prices() []float64 { return m.y }

// Weights returns the weights of the columns in the last solution. The slice belongs to the
// mixture.
func (m *Mixture) Weights() []float64 {
	m.weights = resize(m.weights, len(m.cost))
	clear(m.weights)
	for k, v := range m.basis {
		if v >= 0 {
			m.weights[v] = m.x[k]
		}
	}
	return m.weights
}
