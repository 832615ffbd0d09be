package lp

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// A simplex is the embedded Solver: the primal simplex method for
//
//	A·x − r = 0,   l ≤ x ≤ u,   L ≤ r ≤ U
//
// with one logical variable r per row. All bounds are handled implicitly, a
// basis has one variable per row, and its inverse is kept as a dense matrix.
// Phase one minimises the sum of infeasibilities from whatever basis is at
// hand, so a warm start needs no artificial variables.
//
// See Maros, Computational Techniques of the Simplex Method (2003), chapters 9–10.
type simplex struct {
	model
	head []int     // variable at each basis position: j ≥ 0 is column j, ^i is row i
	xB   []float64 // its value
	inv  []float64 // inverse of the basis; row k starts at k*stride
	state

	doubt []float64 // uncertainty of xB from rounded data, as of the last refinement

	y, alpha, rhs, rhsLow, costB []float64 // work space, per row
	old                          []int     // work space of refactor
	free                         []bool
}

// state is what the simplex remembers from one iteration to the next.
type state struct {
	stride     int     // row length of inv, at least the number of rows
	exact      bool    // xB has been refined since the last change
	sincePivot int     // pivots since the basis was factorised
	stalled    int     // iterations since the last step of positive length
	patience   int     // how many of them, beyond one per row, bring in Bland's rule
	many       int     // columns from which on they are priced by Devex
	phaseTwo   bool    // the last iteration began with all variables within their bounds
	leeway     float64 // by what rounding errors are multiplied in tolerances
	magnitude  float64 // largest absolute value of a variable, for tolerances
	devex      devex
}

// NewEmbedded returns a Solver for p on the embedded simplex method. It copies p,
// and fails if p is not valid.
func NewEmbedded(p *Problem) (Solver, error) {
	data, err := newModel(p)
	if err != nil {
		return nil, err
	}
	return newSimplex(data), nil
}

// newSimplex returns a simplex that owns data, at the basis of logical variables.
func newSimplex(data model) *simplex {
	s := &simplex{model: data}
	s.patience, s.many = 20, manyColumns
	s.startBasis()
	return s
}

// SetRowBounds implements Solver. The row stays on the side where it rests, which
// keeps a dual feasible basis dual feasible.
func (s *simplex) SetRowBounds(i int, lower, upper float64) error {
	atUpper := i >= 0 && i < len(s.row.x) && s.row.x[i] == s.row.upper[i] && s.row.x[i] != s.row.lower[i]
	if err := s.model.SetRowBounds(i, lower, upper); err != nil {
		return err
	}
	if s.row.pos[i] >= 0 {
		return nil
	}
	low, high := s.row.lower[i], s.row.upper[i]
	s.row.x[i] = nearest(0, low, high)
	if atUpper && !math.IsInf(high, 1) {
		s.row.x[i] = high
	} else if !atUpper && !math.IsInf(low, -1) {
		s.row.x[i] = low
	}
	s.exact = false
	return nil
}

// AddColumn implements Solver. The new variable is nonbasic, so the basis stays
// as it is, and stays feasible if the variable may be zero.
func (s *simplex) AddColumn(c Column) error {
	if err := s.model.AddColumn(c); err != nil {
		return err
	}
	if s.col.x[len(s.col.x)-1] != 0 {
		s.exact = false
	}
	return nil
}

// AddRow implements Solver. The logical variable of the new row enters the
// basis, so the old basis and its duals are kept.
func (s *simplex) AddRow(r Constraint) error {
	dense, err := s.addRow(r)
	if err != nil {
		return err
	}
	s.growBasis(dense)
	return nil
}

// growBasis makes the logical variable of the last row basic. With a the new
// row over the basic variables, the inverse of the larger basis
//
//	⎡B  0⎤        ⎡B⁻¹    0⎤
//	⎣a −1⎦   is   ⎣aB⁻¹  −1⎦.
func (s *simplex) growBasis(row []float64) {
	m := len(s.head)
	s.resizeInverse(m + 1)
	last := s.inverseRow(m)
	clear(last)
	for k, v := range s.head {
		s.inverseRow(k)[m] = 0
		if v >= 0 && row[v] != 0 {
			floats.AddScaled(last[:m], row[v], s.inverseRow(k)[:m])
		}
	}
	last[m] = -1
	s.row.pos[m] = m
	s.head = append(s.head, ^m)
	s.xB = append(s.xB, 0)
	s.exact = false
}

// resizeInverse makes room for a basis of m rows and keeps what inv holds.
func (s *simplex) resizeInverse(m int) {
	if m > s.stride {
		stride := m + m/2 + 2
		inv := make([]float64, stride*stride)
		for k := range s.head {
			copy(inv[k*stride:], s.inverseRow(k))
		}
		s.inv, s.stride = inv, stride
	}
	s.y, s.alpha, s.costB = resize(s.y, m), resize(s.alpha, m), resize(s.costB, m)
	s.rhs, s.rhsLow, s.doubt = resize(s.rhs, m), resize(s.rhsLow, m), resize(s.doubt, m)
	s.inv = s.inv[:cap(s.inv)]
}
