package geometry

import (
	"fmt"
	"slices"

	"cmdpsolve/oracle"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// preimage is {x : matrix·x + shift in set} for a set that is not polyhedral.
type preimage struct {
	*oracle.IntersectionProjector
	*linearMap
	set    Set
	middle []float64
}

// NewPreimage returns {x : matrix·x + shift in set}, in as many dimensions as the
// matrix has columns; a nil shift is zero. The preimage of a polyhedral set is a
// Polyhedron (the set itself need not be bounded); others are projected on by
// oracle.IntersectionProjector, and become a Compact by Restrict. It is an error if shapes do
// not fit or an entry is not finite, and, wrapping ErrEmpty, if the map never meets
// the set.
func NewPreimage(matrix [][]float64, shift []float64, set Set) (Set, error) {
	if err := present("preimage", set); err != nil {
		return nil, err
	}
	m, err := newLinearMap("preimage", matrix, shift)
	if err != nil {
		return nil, err
	}
	if len(matrix) != set.Dim() {
		return nil, fmt.Errorf("geometry: preimage by a matrix of %d rows of a set of dimension %d: want the same",
			len(matrix), set.Dim())
	}
	if rows, ok := rowsOf(set); ok {
		return m.pull(rows)
	}
	s := &preimage{linearMap: m, set: set, middle: make([]float64, m.dim)}
	s.IntersectionProjector, err = oracle.NewIntersectionProjector(m.dim, m.members(set)...)
	if err != nil {
		return nil, fmt.Errorf("geometry: preimage: %w", err)
	}
	inner := make([]float64, set.Dim())
	interiorOf(set, inner)
	s.transposed(s.middle, inner)
	s.IntersectionProjector.Project(s.middle, s.middle)
	return s, nil
}

// members returns the conditions of a set on matrix·x + shift, as conditions on x.
func (m *linearMap) members(set Set) []oracle.Member {
	var pulled []oracle.Member
	for _, inner := range membersOf(set) {
		next := oracle.Member{Set: inner.Set, Matrix: m.matrix, Shift: slices.Clone(m.shift)}
		if inner.Matrix != nil {
			next.Matrix, next.Shift = nil, nil
			for _, row := range inner.Matrix {
				back := make([]float64, m.dim)
				m.transposed(back, row)
				next.Matrix = append(next.Matrix, back)
				next.Shift = append(next.Shift, floats.Dot(row, m.shift))
			}
		}
		if inner.Shift != nil {
			floats.Add(next.Shift, inner.Shift)
		}
		pulled = append(pulled, next)
	}
	return pulled
}

// pull returns the polyhedron of the rows on matrix·x + shift. Rows that the matrix
// maps to zero are left out if they hold.
func (m *linearMap) pull(rows Rows) (Set, error) {
	var back Rows
	for k, a := range rows.A {
		row := make([]float64, m.dim)
		m.transposed(row, a)
		bound := rows.B[k] - floats.Dot(a, m.shift)
		size := floats.Norm(a, 2) * (floats.Norm(m.shift, 2) + 1)
		if floats.Norm(row, 2) <= 1e-14*size {
			if bound < -1e-12*size || k < rows.Equalities && bound > 1e-12*size {
				return nil, fmt.Errorf("geometry: preimage: row %d of the set reads 0 ≤ %g whatever x is: %w", k, bound,
					ErrEmpty)
			}
			continue
		}
		back.A, back.B = append(back.A, row), append(back.B, bound)
		if k < rows.Equalities {
			back.Equalities++
		}
	}
	if len(back.A) == 0 {
		lower, upper := lp.Free(m.dim)
		return &Box{lower, upper}, nil
	}
	return newPolyhedron("preimage", back)
}

// Dim returns the dimension of x.
func (s *preimage) Dim() int { return s.dim }

// InteriorPoint gives a point of the set; the room around it is not known.
func (s *preimage) InteriorPoint(dst []float64) float64 {
	check(s.dim, dst)
	copy(dst, s.middle)
	return 0
}
