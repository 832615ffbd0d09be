package geometry

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Affine is the affine subspace {x : A x = b}. Projection has a closed form and does
// not allocate.
type Affine struct {
	rows  Rows
	basis [][]float64 // orthonormal rows with the same solutions
	level []float64
	point []float64
}

// NewAffine returns {x : A x = b}. Rows may be dependent. It is an error if
// there are no rows, if lengths differ, if a row is zero or an entry not finite,
// and, wrapping ErrEmpty and with Farkas multipliers, if the equations contradict
// each other.
func NewAffine(a [][]float64, b []float64) (*Affine, error) {
	p, err := newEquations(a, b)
	if err != nil {
		return nil, err
	}
	s := &Affine{rows: p.rows, point: make([]float64, p.Dim())}
	p.active.Project(s.point, s.point)
	for _, row := range p.rows.A {
		v := slices.Clone(row)
		for range 2 {
			for _, q := range s.basis {
				c := floats.Dot(q, v)
				for i := range v {
					v[i] -= c * q[i]
				}
			}
		}
		length := floats.Norm(v, 2)
		if length <= 1e-12 {
			continue
		}
		for i := range v {
			v[i] /= length
		}
		s.basis = append(s.basis, v)
		s.level = append(s.level, floats.Dot(v, s.point))
	}
	return s, nil
}

// newEquations checks the equations as a polyhedron does.
func newEquations(a [][]float64, b []float64) (*Polyhedron, error) {
	return newPolyhedron("affine subspace", Rows{A: a, B: b, Equalities: len(a)})
}

// Dim returns the dimension of the space.
func (s *Affine) Dim() int { return len(s.point) }

// Project takes away what sticks out along each vector of an orthonormal basis; twice,
// so that far points land exactly.
func (s *Affine) Project(dst, x []float64) {
	check(s.Dim(), dst, x)
	copy(dst, x)
	for range 2 {
		for k, q := range s.basis {
			c := -s.level[k]
			for i, v := range q {
				c += v * dst[i]
			}
			addShort(dst, -c, q)
		}
	}
}

// Rows gives the equations, scaled to unit length.
func (s *Affine) Rows() (Rows, bool) { return s.rows, true }

// Bounds is infinite except for coordinates that the equations fix.
func (s *Affine) Bounds(lower, upper []float64) {
	check(s.Dim(), lower, upper)
	for i := range lower {
		lower[i], upper[i] = math.Inf(-1), math.Inf(1)
		rest := 1.0 // the part of the unit vector that is free
		for _, q := range s.basis {
			rest -= q[i] * q[i]
		}
		if rest <= 1e-14 {
			lower[i], upper[i] = s.point[i], s.point[i]
		}
	}
}

// InteriorPoint gives the point nearest to the origin; the radius is 0.
func (s *Affine) InteriorPoint(dst []float64) float64 {
	check(s.Dim(), dst)
	copy(dst, s.point)
	return 0
}
