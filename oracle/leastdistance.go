package oracle

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// leastDistance finds the nearest point to a given one in {x : ⟨a_i, x⟩ ≤ b_i},
// the first rows being equalities, by the dual active-set method of Goldfarb and
// Idnani (Mathematical Programming 27, 1983) for the identity Hessian. It begins at
// the given point, with no row active, and makes one violated row after another
// hold, dropping rows whose multiplier would turn negative; the distance grows
// strictly, so it ends after finitely many steps, at the answer or at a proof that
// there is none. Rows may be dependent, repeated or nearly parallel.
//
// It is one call's work space, not safe for concurrent use. Rows have unit norm.
type leastDistance struct {
	dim, equal int
	rows, rhs  []float64 // rows is flat, dim numbers each

	x      []float64
	active []int     // the rows that hold with equality, in the order they came
	mult   []float64 // their multipliers: given = x + Σ mult·row
	basis  []float64 // orthonormal columns that span the active rows, dim numbers each
	tri    []float64 // rows[active] = tri·basis, upper triangular, column k at k·dim
	ignore []bool    // rows that contradict others by no more than rounding

	given, step, coef, far []float64
	farkas                 []float64 // multipliers of all rows when there is no answer
	steps                  int
}

// dependent is the sine of the angle below which a row counts as a combination of
// the active ones.
const dependent = 1e-12

func (w *leastDistance) count() int             { return len(w.rhs) }
func (w *leastDistance) row(i int) []float64    { return w.rows[i*w.dim : (i+1)*w.dim] }
func (w *leastDistance) column(k int) []float64 { return w.basis[k*w.dim : (k+1)*w.dim] }
func (w *leastDistance) triangle(k int) []float64 {
	return w.tri[k*w.dim : (k+1)*w.dim]
}

// reset prepares for a problem with the rows that are in place.
func (w *leastDistance) reset(p []float64) {
	n := w.dim
	if len(w.x) != n {
		w.x, w.given, w.step, w.coef = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		w.basis, w.tri = make([]float64, n*n), make([]float64, n*n)
		w.active, w.mult = make([]int, 0, n), make([]float64, 0, n)
	}
	if cap(w.ignore) < w.count() {
		w.ignore, w.farkas = make([]bool, 2*w.count()), make([]float64, 2*w.count())
	}
	w.ignore, w.farkas = w.ignore[:w.count()], w.farkas[:w.count()]
	clear(w.ignore)
	w.active, w.mult, w.steps = w.active[:0], w.mult[:0], 0
	copy(w.given, p)
	copy(w.x, p)
}

// solve leaves the nearest point to p in w.x, the rows that hold it in w.active and
// their multipliers in w.mult, and returns true; or it leaves Farkas multipliers
// in w.farkas, with Σ farkas·row = 0 and Σ farkas·rhs < 0, and returns false.
func (w *leastDistance) solve(p []float64) bool {
	w.reset(p)
	for i := range w.equal {
		if !w.enter(i) {
			return false
		}
	}
	for range 100 + 20*(w.count()+w.dim) {
		i := w.mostViolated()
		if i < 0 {
			return true
		}
		if !w.enter(i) {
			return false
		}
	}
	return true
}

// size is the magnitude against which rounding in row i is measured.
func (w *leastDistance) size(i int) float64 {
	return math.Abs(w.rhs[i]) + floats.Norm(w.x, 2) + floats.Norm(w.given, 2)
}

func (w *leastDistance) mostViolated() int {
	worst, at := 0.0, -1
	slack := 4e-16 * (floats.Norm(w.x, 2) + floats.Norm(w.given, 2))
	for i := w.equal; i < w.count(); i++ {
		excess := floats.Dot(w.row(i), w.x) - w.rhs[i]
		if excess > worst && excess > slack+4e-16*math.Abs(w.rhs[i]) && !w.ignore[i] && !slices.Contains(w.active, i) {
			worst, at = excess, i
		}
	}
	return at
}

// enter makes row i hold. It returns false, with w.farkas set, if it cannot.
func (w *leastDistance) enter(i int) bool {
	sign := 1.0
	if i < w.equal && floats.Dot(w.row(i), w.x) < w.rhs[i] {
		sign = -1
	}
	entering := 0.0
	for {
		w.steps++
		excess := sign * (floats.Dot(w.row(i), w.x) - w.rhs[i])
		slope := w.split(i)
		w.solveUpper(w.coef)
		partial, leaving := math.Inf(1), -1
		for k, j := range w.active {
			if r := sign * w.coef[k]; j >= w.equal && r > 1e-14 && w.mult[k]/r < partial {
				partial, leaving = w.mult[k]/r, k
			}
		}
		full := math.Inf(1)
		if slope > dependent && len(w.active) < w.dim {
			full = math.Max(excess, 0) / (slope * slope)
		}
		t := math.Min(partial, full)
		if math.IsInf(t, 1) {
			if excess <= 1e-12*w.size(i) {
				w.ignore[i] = true
				w.recompute()
				return true
			}
			w.contradict(i, sign)
			return false
		}
		for k := range w.active {
			w.mult[k] -= t * sign * w.coef[k]
		}
		entering += t
		if t == full {
			w.append(i, sign*entering)
			w.recompute()
			return true
		}
		if slope > dependent {
			floats.AddScaled(w.x, -t*sign, w.step)
		}
		w.drop(leaving)
	}
}

// split sets w.step to the part of row i orthogonal to the active rows, w.coef to
// its coefficients in the basis, and returns the norm of the former.
func (w *leastDistance) split(i int) float64 {
	w.reduce(w.row(i))
	return floats.Norm(w.step, 2)
}

// reduce sets w.step to the part of v orthogonal to the active rows, and w.coef to its coefficients in the basis.
func (w *leastDistance) reduce(v []float64) {
	copy(w.step, v)
	clear(w.coef)
	for range 2 { // once more, against cancellation
		for k := range w.active {
			c := floats.Dot(w.column(k), w.step)
			w.coef[k] += c
			floats.AddScaled(w.step, -c, w.column(k))
		}
	}
}

// append adds row i to the active ones.
func (w *leastDistance) append(i int, mult float64) {
	k := len(w.active)
	q, tri := w.column(k), w.triangle(k)
	slope := w.split(i)
	for j, v := range w.step {
		q[j] = v / slope
	}
	copy(tri, w.coef[:k])
	tri[k] = slope
	w.active = append(w.active, i)
	w.mult = append(w.mult, mult)
}

// drop removes the k-th active row and builds the rest of the basis again.
func (w *leastDistance) drop(k int) {
	later := w.active[k+1:]
	mults := w.mult[k+1:]
	w.active, w.mult = w.active[:k], w.mult[:k]
	for n, i := range later {
		m := mults[n]
		w.append(i, m)
	}
}

// solveUpper replaces c by the solution u of tri·u = c.
func (w *leastDistance) solveUpper(c []float64) {
	for k := len(w.active) - 1; k >= 0; k-- {
		tri := w.triangle(k)
		c[k] /= tri[k]
		for j := range k {
			c[j] -= c[k] * tri[j]
		}
	}
}

// recompute computes the point and the multipliers from the active rows alone, so
// that rounding does not add up over the steps.
func (w *leastDistance) recompute() {
	n := len(w.active)
	w.reduce(w.given)
	if n == w.dim {
		clear(w.step)
	}
	copy(w.x, w.step)
	for k, i := range w.active { // tri transposed: the point's coordinates in the basis
		tri := w.triangle(k)
		c := w.rhs[i]
		for j := range k {
			c -= tri[j] * w.step[j]
		}
		w.step[k] = c / tri[k]
	}
	for k := range n {
		w.coef[k] -= w.step[k]
		floats.AddScaled(w.x, w.step[k], w.column(k))
	}
	w.solveUpper(w.coef)
	for k, i := range w.active {
		w.mult[k] = w.coef[k]
		if i >= w.equal {
			w.mult[k] = math.Max(w.mult[k], 0)
		}
	}
}

// contradict sets w.farkas from row i, which is a combination of active rows with
// no positive coefficient.
func (w *leastDistance) contradict(i int, sign float64) {
	clear(w.farkas)
	w.farkas[i] = sign
	for k, j := range w.active {
		w.farkas[j] = -sign * w.coef[k]
		if j >= w.equal {
			w.farkas[j] = math.Max(w.farkas[j], 0)
		}
	}
}
