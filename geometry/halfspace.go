package geometry

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Halfspace is {x : ⟨normal, x⟩ ≤ offset}. It is unbounded: use Restrict for a
// Compact, which has closed forms. Projection does not allocate.
type Halfspace struct {
	normal []float64
	offset float64
	unit   []float64 // normal/‖normal‖, and offset/‖normal‖ with it
	level  float64
}

// NewHalfspace returns the half-space. It is an error if the normal is empty,
// zero or not finite, or the offset not finite. The normal need not be of unit
// length and is kept as given.
func NewHalfspace(normal []float64, offset float64) (*Halfspace, error) {
	if err := cmp.Or(vector("halfspace normal", normal), number("halfspace offset", offset)); err != nil {
		return nil, err
	}
	length := floats.Norm(normal, 2)
	if length < minLength {
		return nil, fmt.Errorf("geometry: halfspace normal %v: want a vector that is not zero (norm at least %g)",
			normal, minLength)
	}
	unit := slices.Clone(normal)
	for i := range unit {
		unit[i] /= length
	}
	return &Halfspace{slices.Clone(normal), offset, unit, offset / length}, nil
}

// Dim returns the dimension of the space.
func (h *Halfspace) Dim() int { return len(h.normal) }

// Normal returns a copy of the normal.
func (h *Halfspace) Normal() []float64 { return slices.Clone(h.normal) }

// Offset returns the offset.
func (h *Halfspace) Offset() float64 { return h.offset }

// Project moves x along the normal, if it is outside.
func (h *Halfspace) Project(dst, x []float64) {
	check(len(h.normal), dst, x)
	excess := math.Max(floats.Dot(h.unit, x)-h.level, 0)
	floats.AddScaledTo(dst, x, -excess, h.unit)
}

// Bounds is infinite except for a normal along an axis.
func (h *Halfspace) Bounds(lower, upper []float64) {
	check(len(h.normal), lower, upper)
	for i := range lower {
		lower[i], upper[i] = math.Inf(-1), math.Inf(1)
	}
	switch i := axis(h.normal); {
	case i < 0:
	case h.normal[i] > 0:
		upper[i] = h.offset / h.normal[i]
	default:
		lower[i] = h.offset / h.normal[i]
	}
}

// InteriorPoint gives the point one unit below the nearest point to the origin.
func (h *Halfspace) InteriorPoint(dst []float64) float64 {
	check(len(h.normal), dst)
	for i, v := range h.unit {
		dst[i] = v * (h.level - 1)
	}
	return 1
}
