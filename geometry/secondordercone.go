package geometry

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// SecondOrderCone is {x : ‖(x_0, …, x_{d−2})‖₂ ≤ x_{d−1}}. It is unbounded; its
// projection has a closed form and does not allocate.
type SecondOrderCone struct{ dim int }

// NewSecondOrderCone returns the cone in dimension dim, whose last coordinate is the
// height. It is an error if dim < 1.
func NewSecondOrderCone(dim int) (*SecondOrderCone, error) {
	if dim < 1 || dim > maxDim {
		return nil, fmt.Errorf("geometry: second-order cone of dimension %d: want 1 to %d", dim, maxDim)
	}
	return &SecondOrderCone{dim}, nil
}

// Dim returns the dimension of the space.
func (c *SecondOrderCone) Dim() int { return c.dim }

// Project leaves points of the cone, sends those of the polar cone to the apex, and
// others to the nearest ray of the boundary.
func (c *SecondOrderCone) Project(dst, x []float64) {
	check(c.dim, dst, x)
	last := c.dim - 1
	height, radius := x[last], floats.Norm(x[:last], 2)
	switch {
	case radius <= height:
		copy(dst, x)
	case radius <= -height:
		clear(dst)
	default:
		middle := radius/2 + height/2
		for i := range last {
			dst[i] = x[i] / radius * middle
		}
		dst[last] = middle
	}
}

// Bounds is infinite except for the height, which is at least 0.
func (c *SecondOrderCone) Bounds(lower, upper []float64) {
	check(c.dim, lower, upper)
	for i := range lower {
		lower[i], upper[i] = math.Inf(-1), math.Inf(1)
	}
	lower[c.dim-1] = 0
}

// InteriorPoint gives the point of height √2 on the axis, which has room 1; in
// dimension 1, height 1.
func (c *SecondOrderCone) InteriorPoint(dst []float64) float64 {
	check(c.dim, dst)
	clear(dst)
	dst[c.dim-1] = math.Sqrt2
	if c.dim == 1 {
		dst[0] = 1
	}
	return 1
}
