package oracle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// ActiveSet projects on a polyhedron {x : ⟨a_i, x⟩ ≤ b_i, the first rows with
// equality} by the dual active-set method of Goldfarb and Idnani (1983): finitely
// many steps, no step size, accurate up to rounding. Rows may be redundant,
// repeated or nearly parallel, and the polyhedron flat or unbounded.
//
// A call allocates only when the pool of work space is empty. It is safe for
// concurrent use.
type ActiveSet struct {
	dim, equal int
	rows, rhs  []float64 // unit rows, flat; read only
	pool       sync.Pool
}

// NewActiveSet returns the projection on the points that satisfy the rows. The
// first rows are equalities. It is an error if there are no rows, if they differ in
// length, are zero or not finite, if rhs or equalities do not fit, and, wrapping
// ErrEmpty and with Farkas multipliers, if no point satisfies all rows.
func NewActiveSet(rows [][]float64, rhs []float64, equalities int) (*ActiveSet, error) {
	if len(rows) == 0 || len(rows) != len(rhs) || equalities < 0 || equalities > len(rows) {
		return nil, fmt.Errorf("oracle: %d rows with %d right-hand sides and %d equalities: want equally many, at "+
			"least one, and no more equalities", len(rows), len(rhs), equalities)
	}
	a := &ActiveSet{dim: len(rows[0]), equal: equalities}
	if a.dim == 0 {
		return nil, errors.New("oracle: rows have no entries: want at least one")
	}
	lengths := make([]float64, len(rows))
	for i, r := range rows {
		length := floats.Norm(r, 2)
		switch {
		case len(r) != a.dim:
			return nil, fmt.Errorf("oracle: row %d has %d entries, row 0 has %d: want equally many", i, len(r), a.dim)
		case !(length > 0) || math.IsInf(length, 0) || math.IsNaN(rhs[i]/length) || math.IsInf(rhs[i]/length, 0):
			return nil, fmt.Errorf("oracle: row %d is %v with right-hand side %g: want a row that is not zero, and "+
				"finite numbers", i, r, rhs[i])
		}
		for _, v := range r {
			a.rows = append(a.rows, v/length)
		}
		a.rhs = append(a.rhs, rhs[i]/length)
		lengths[i] = length
	}
	w := a.borrow()
	if !w.solve(make([]float64, a.dim)) {
		return nil, farkasError(w, lengths)
	}
	a.pool.Put(w)
	return a, nil
}

// farkasError words the contradiction found by a projection.
func farkasError(w *leastDistance, lengths []float64) error {
	var terms strings.Builder
	most, total := 0.0, 0.0
	for i, m := range w.farkas {
		most = math.Max(most, math.Abs(m)/lengths[i])
	}
	for i, m := range w.farkas {
		if m != 0 {
			total += m * w.rhs[i] / most
			fmt.Fprintf(&terms, " %+.6g·row %d", m/lengths[i]/most, i)
		}
	}
	return fmt.Errorf("oracle: rows contradict each other,%s gives 0 ≤ %.6g: %w", terms.String(), total, ErrEmpty)
}

func (a *ActiveSet) borrow() *leastDistance {
	w, ok := a.pool.Get().(*leastDistance)
	if !ok {
		w = &leastDistance{dim: a.dim, equal: a.equal}
		w.rows = append(make([]float64, 0, len(a.rows)+a.dim), a.rows...)
		w.rhs = append(make([]float64, 0, len(a.rhs)+1), a.rhs...)
	}
	return w
}

// Dim returns the dimension of the space.
func (a *ActiveSet) Dim() int { return a.dim }

// Project sets dst to the point of the polyhedron nearest to x. dst may be x. It panics if a number of x is not finite.
func (a *ActiveSet) Project(dst, x []float64) {
	if len(dst) != a.dim || len(x) != a.dim {
		panic(badLength)
	}
	mustBeFinite("point", x)
	w := a.borrow()
	w.project(x)
	copy(dst, w.x)
	a.pool.Put(w)
}

// mustBeFinite panics where a number of x is not finite: the steps of a projection on rows would not end at a point.
func mustBeFinite(what string, x []float64) {
	for i, v := range x {
		if math.IsNaN(v - v) {
			panic(fmt.Sprintf("oracle: projection with the %s %v: number %d is %g: want finite numbers", what,
				slices.Clone(x), i, v))
		}
	}
}

// ProjectLevel sets dst to the point nearest to x among those of the polyhedron with
// ⟨dir, ·⟩ ≥ level, where dir is not zero. If level is the largest value of
// ⟨dir, ·⟩, up to rounding, that is the projection on a face. If there are no such points
// it returns false, and dst is the projection on the polyhedron. dst may be x. It panics if a number that it is given
// is not finite.
func (a *ActiveSet) ProjectLevel(dst, dir []float64, level float64, x []float64) bool {
	if len(dst) != a.dim || len(dir) != a.dim || len(x) != a.dim {
		panic(badLength)
	}
	mustBeFinite("point", x)
	mustBeFinite("direction", dir)
	mustBeFinite("level", []float64{level})
	w := a.borrow()
	length := floats.Norm(dir, 2)
	for _, v := range dir {
		w.rows = append(w.rows, -v/length)
	}
	w.rhs = append(w.rhs, -level/length)
	ok := w.project(x)
	w.rows, w.rhs = w.rows[:len(a.rows)], w.rhs[:len(a.rhs)]
	if !ok {
		w.project(x)
	}
	copy(dst, w.x)
	a.pool.Put(w)
	return ok
}

// project is solve, repeated for a far point from a nearer one on the same normal:
// rounding in proportion to the distance would blur the polyhedron otherwise. It
// returns false if there is no point.
func (w *leastDistance) project(x []float64) bool {
	if !w.solve(x) {
		return false
	}
	near := 1e2 * (floats.Norm(w.x, 2) + 1e-3*floats.Norm(w.rhs, math.Inf(1)))
	far := floats.Distance(x, w.x, 2)
	if far <= 10*near || near == 0 {
		return true
	}
	p := w.far
	if len(p) != w.dim {
		p = make([]float64, w.dim)
		w.far = p
	}
	for i, v := range w.x {
		p[i] = v + (x[i]-v)*(near/far)
	}
	return w.solve(p)
}
