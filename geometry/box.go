package geometry

import (
	"fmt"
	"math"
	"slices"
)

// NoSide is the magnitude from which on a finite side of a box, or of what lies in it, stands for none. Returns without
// bounds have such sides, and those that are looked at are of another size.
const NoSide = 1e60

// Box is {x : lower ≤ x ≤ upper}, whose sides may be infinite. It is a Set; its
// method Bounded gives the Compact where all sides are finite.
type Box struct{ lower, upper []float64 }

// NewBox returns the box with the given sides, -Inf and +Inf being allowed for a
// side without bound. It is an error if the lengths differ or are 0, if a bound is
// NaN, and, wrapping ErrEmpty, if a lower bound exceeds the upper one.
func NewBox(lower, upper []float64) (*Box, error) {
	if len(lower) == 0 || len(lower) != len(upper) {
		return nil, fmt.Errorf("geometry: box with %d lower and %d upper bounds: want equally many, at least one",
			len(lower), len(upper))
	}
	for i := range lower {
		l, u := lower[i], upper[i]
		switch {
		case math.IsNaN(l) || math.IsNaN(u) || math.IsInf(l, 1) || math.IsInf(u, -1):
			return nil, fmt.Errorf("geometry: box side %d is [%g, %g]: want numbers, or -Inf below and +Inf above", i,
				l, u)
		case l > u:
			return nil, fmt.Errorf("geometry: box side %d has lower bound %g above upper bound %g: %w", i, l, u,
				ErrEmpty)
		case !math.IsInf(l, 0) && math.Abs(l) > maxMagnitude || !math.IsInf(u, 0) && math.Abs(u) > maxMagnitude:
			return nil, fmt.Errorf("geometry: box side %d is [%g, %g]: want infinite bounds or magnitudes at most %g",
				i, l, u, maxMagnitude)
		}
	}
	return &Box{slices.Clone(lower), slices.Clone(upper)}, nil
}

// Dim returns the dimension of the space.
func (b *Box) Dim() int { return len(b.lower) }

// Lower returns a copy of the lower bounds.
func (b *Box) Lower() []float64 { return slices.Clone(b.lower) }

// Upper returns a copy of the upper bounds.
func (b *Box) Upper() []float64 { return slices.Clone(b.upper) }

// Project clips x to the box. It does not allocate.
func (b *Box) Project(dst, x []float64) {
	check(len(b.lower), dst, x)
	for i, v := range x {
		dst[i] = clip(v, b.lower[i], b.upper[i])
	}
}

// Bounds copies the sides.
func (b *Box) Bounds(lower, upper []float64) {
	check(len(b.lower), lower, upper)
	copy(lower, b.lower)
	copy(upper, b.upper)
}

// InteriorPoint gives the centre; on a side that is not bounded, a point one unit
// away from the bound there is, or 0.
func (b *Box) InteriorPoint(dst []float64) float64 {
	check(len(b.lower), dst)
	radius := math.Inf(1)
	for i, l := range b.lower {
		u := b.upper[i]
		switch low, high := !math.IsInf(l, 0), !math.IsInf(u, 0); {
		case low && high:
			dst[i] = l + (u-l)/2
		case low:
			dst[i] = l + 1
		case high:
			dst[i] = u - 1
		default:
			dst[i] = 0
		}
		radius = min(radius, dst[i]-l, u-dst[i])
	}
	return min(radius, maxMagnitude)
}

// Bounded returns the box as a Compact. It is an error, wrapping ErrUnbounded, if
// a side is infinite.
func (b *Box) Bounded() (*BoundedBox, error) {
	for i, l := range b.lower {
		sign := ""
		switch {
		case math.IsInf(b.upper[i], 0):
		case math.IsInf(l, 0):
			sign = "-"
		default:
			continue
		}
		return nil, fmt.Errorf("geometry: box side %d is [%g, %g], direction %se%d recedes, want a bounded box (or "+
			"use Restrict): %w", i, l, b.upper[i], sign, i, ErrUnbounded)
	}
	return &BoundedBox{b}, nil
}

// meet returns the intersection of two boxes of the same dimension. Sides that miss each other by no more than rounding
// touch.
func (b *Box) meet(o *Box) (*Box, error) {
	m := &Box{b.Lower(), b.Upper()}
	for i := range m.lower {
		l, u := max(m.lower[i], o.lower[i]), min(m.upper[i], o.upper[i])
		if l-u > 1e-12*(math.Abs(l)+math.Abs(u)) {
			return nil, fmt.Errorf("geometry: side %d must be at least %g and at most %g: %w", i, l, u, ErrEmpty)
		}
		m.lower[i], m.upper[i] = min(l, u), u
	}
	return m, nil
}

// BoundedBox is a Box with finite sides: a Compact with exact ties, closed forms
// and no allocation. The method Bounded of Box makes one.
type BoundedBox struct{ *Box }

// MaximizeLinear gives the vertex in the direction; the middle of a side whose
// direction is zero.
func (b *BoundedBox) MaximizeLinear(dst, dir []float64) {
	check(len(b.lower), dst, dir)
	for i, v := range dir {
		switch l, u := b.lower[i], b.upper[i]; {
		case v > 0:
			dst[i] = u
		case v < 0:
			dst[i] = l
		default:
			dst[i] = l + (u-l)/2
		}
	}
}

// ProjectFace gives the vertex in the direction; the clipped coordinate of x
// where the direction is zero.
func (b *BoundedBox) ProjectFace(dst, dir, x []float64) {
	check(len(b.lower), dst, dir, x)
	for i, v := range dir {
		switch l, u := b.lower[i], b.upper[i]; {
		case v > 0:
			dst[i] = u
		case v < 0:
			dst[i] = l
		default:
			dst[i] = clip(x[i], l, u)
		}
	}
}

// LinearRange returns the least and the greatest ⟨dir, x⟩ over the box of finite sides lower and upper.
func LinearRange(dir, lower, upper []float64) (least, most float64) {
	for i, t := range dir {
		a, b := t*lower[i], t*upper[i]
		least += min(a, b)
		most += max(a, b)
	}
	return least, most
}
