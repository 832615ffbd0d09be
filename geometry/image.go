package geometry

import (
	"fmt"

	"cmdpsolve/internal/scratch"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// image is {matrix·x + shift : x in set}.
type image struct {
	*linearMap
	set Compact
}

// NewImage returns the affine image {matrix·x + shift : x in set}, in as many dimensions as the matrix has rows; a
// nil shift is zero. Linear maximisation is passed to the set; projection is the minimum-norm point (see
// FromMaximizer). The image of a hull is a Hull, and that of a ball or an ellipsoid an Ellipsoid unless it is flat.
// It is an error if shapes do not fit or an entry is not finite.
func NewImage(matrix [][]float64, shift []float64, set Compact) (Compact, error) {
	if err := present("image", set); err != nil {
		return nil, err
	}
	m, err := newLinearMap("image", matrix, shift)
	if err != nil {
		return nil, err
	}
	if m.dim != set.Dim() {
		return nil, fmt.Errorf("geometry: image by a matrix of %d columns of a set of dimension %d: want the same",
			m.dim, set.Dim())
	}
	if h, ok := set.(*Hull); ok {
		var points [][]float64
		for _, p := range h.points {
			y := make([]float64, len(matrix))
			m.apply(y, p)
			points = append(points, y)
		}
		return NewHull(points)
	}
	if e := m.ellipsoid(set); e != nil {
		return e, nil
	}
	return newExtreme(&image{linearMap: m, set: set}), nil
}

// ellipsoid returns the image of a ball or an ellipsoid, nil of another set or if the image is flat, or so thin that
// projections on it would lose digits.
func (m *linearMap) ellipsoid(set Compact) *Ellipsoid {
	const thinnest = 1e-6
	rows := len(m.matrix)
	axes := mat.NewDense(rows, m.dim, nil) // images of the half-axes, as columns
	var center []float64
	switch set := set.(type) {
	case *Ball:
		center = set.center
		for i, row := range m.matrix {
			axes.SetRow(i, row)
		}
		axes.Scale(set.radius, axes)
	case *Ellipsoid:
		center = set.center
		for k, axis := range set.axes {
			for i, row := range m.matrix {
				axes.Set(i, k, set.half[k]*floats.Dot(row, axis))
			}
		}
	default:
		return nil
	}
	var svd mat.SVD
	if rows > m.dim || !svd.Factorize(axes, mat.SVDThinU) {
		return nil
	}
	e := &Ellipsoid{center: make([]float64, rows), half: svd.Values(nil)}
	if !(e.half[rows-1] > thinnest*e.half[0]) || e.half[rows-1] < minLength {
		return nil
	}
	m.apply(e.center, center)
	var u mat.Dense
	svd.UTo(&u)
	for k := range rows {
		e.axes = append(e.axes, mat.Col(nil, k, &u))
	}
	return e
}

func (s *image) Dim() int { return len(s.matrix) }

// MaximizeLinear asks the set in the direction matrixᵀ·dir.
func (s *image) MaximizeLinear(dst, dir []float64) {
	check(len(s.matrix), dst, dir)
	back, point := scratch.Get(s.dim), scratch.Get(s.dim)
	s.transposed(*back, dir)
	s.set.MaximizeLinear(*point, *back)
	s.apply(dst, *point)
	scratch.Put(back)
	scratch.Put(point)
}
