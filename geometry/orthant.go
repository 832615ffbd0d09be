package geometry

import (
	"fmt"
	"math"
)

// NewOrthant returns the non-negative orthant {x : x ≥ 0}, which is a box without
// upper bounds. It is an error if dim < 1
// or above 2²⁴.
func NewOrthant(dim int) (*Box, error) {
	if dim < 1 || dim > maxDim {
		return nil, fmt.Errorf("geometry: orthant of dimension %d: want 1 to %d", dim, maxDim)
	}
	b := &Box{make([]float64, dim), make([]float64, dim)}
	for i := range b.upper {
		b.upper[i] = math.Inf(1)
	}
	return b, nil
}
