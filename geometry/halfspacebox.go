package geometry

import (
	"fmt"
	"math"

	"cmdpsolve/oracle"
)

// halfspaceInBox is the intersection of a half-space and a bounded box. Both
// questions are continuous knapsack problems with one multiplier, which is found
// by visiting the at most 2d points where the solution's coordinates start or stop
// to move: exact up to rounding, exact ties, no allocation.
type halfspaceInBox struct {
	half   *Halfspace
	box    *BoundedBox
	anchor []float64 // a point of the set, next to its middle unless that is far away
}

// wide is the width of a side from which on its middle says nothing about where the half-space is: what is projected
// from there would have no digits left.
const wide = 1e15

func (h *Halfspace) restrict(box *BoundedBox) (Compact, error) {
	lower, upper := make([]float64, h.Dim()), make([]float64, h.Dim())
	h.Bounds(lower, upper)
	least, most, size, sides := 0.0, 0.0, math.Abs(h.level), 0
	for i, a := range h.unit {
		if a != 0 {
			sides++
		}
		p, q := a*box.lower[i], a*box.upper[i]
		least += math.Min(p, q)
		most += math.Max(p, q)
		size += math.Abs(math.Min(p, q)) // the other side may be far away
	}
	if most <= h.level {
		return box, nil
	}
	if least > h.level+1e-13*size {
		return nil, fmt.Errorf("geometry: ⟨%v, x⟩ is at least %g on the box, above the unit halfspace's offset %g: %w",
			h.unit, least, h.level, ErrEmpty)
	}
	if sides == 1 {
		return (&Box{lower, upper}).restrict(box)
	}
	s := &halfspaceInBox{half: h, box: box, anchor: make([]float64, h.Dim())}
	for i, l := range box.lower {
		s.anchor[i] = l + (box.upper[i]-l)/2
		if box.upper[i]-l > wide {
			s.anchor[i] = clip(0, l, box.upper[i])
		}
	}
	s.Project(s.anchor, s.anchor)
	return s, nil
}

func (s *halfspaceInBox) restrict(box *BoundedBox) (Compact, error) {
	m, err := s.box.meet(box.Box)
	if err != nil {
		return nil, err
	}
	return s.half.restrict(&BoundedBox{m})
}

// Rows gives the half-space's row and the sides of the box.
func (s *halfspaceInBox) Rows() (Rows, bool) {
	half, _ := s.half.Rows()
	sides, _ := s.box.Rows()
	return half.and(sides), true
}

func (s *halfspaceInBox) Dim() int { return len(s.anchor) }

// Project finds the multiplier μ ≥ 0 of clip(x − μ·normal).
func (s *halfspaceInBox) Project(dst, x []float64) {
	check(s.Dim(), dst, x)
	face := knapsackFace{set: s}
	face.project(dst, x, false)
}

// MaximizeLinear gives the maximiser nearest to the anchor.
func (s *halfspaceInBox) MaximizeLinear(dst, dir []float64) {
	s.ProjectFace(dst, dir, s.anchor)
}

// ProjectFace raises the multiplier λ of the half-space until the face of the box
// in the direction dir − λ·normal meets the half-space, then projects x on the
// part of the face on the boundary. Coordinates whose ratios to the normal agree to
// a few units in the last place are taken as tied.
func (s *halfspaceInBox) ProjectFace(dst, dir, x []float64) {
	check(s.Dim(), dst, dir, x)
	face := knapsackFace{set: s, dir: dir}
	for {
		least := 0.0
		next := math.Inf(1)
		for i, a := range s.half.unit {
			lower, upper := face.sides(i)
			least += math.Min(a*lower, a*upper)
			if ratio := dir[i] / a; a != 0 && ratio > face.price && !face.tied(i) {
				next = math.Min(next, ratio)
			}
		}
		if least <= s.half.level || math.IsInf(next, 1) {
			face.project(dst, x, face.price > 0)
			return
		}
		face.price = next
	}
}

// Bounds gives the smallest box.
func (s *halfspaceInBox) Bounds(lower, upper []float64) {
	check(s.Dim(), lower, upper)
	oracle.Extremes(s, lower, upper)
}

// InteriorPoint gives the middle between the centre of the box, projected, and the
// vertex deepest in the half-space, with the room around it. The boundary of the half-space is never nearer
// than the sides: half of the way to the vertex leads away from it by at least the room times the sum norm of
// the unit normal, which is at least 1.
func (s *halfspaceInBox) InteriorPoint(dst []float64) float64 {
	check(s.Dim(), dst)
	room := math.Inf(1)
	for i, a := range s.half.unit {
		l, u := s.box.lower[i], s.box.upper[i]
		deepest := l
		if a < 0 {
			deepest = u
		} else if a == 0 {
			deepest = s.anchor[i]
		}
		dst[i] = (s.anchor[i] + deepest) / 2
		room = min(room, dst[i]-l, u-dst[i])
	}
	return math.Max(room, 0)
}

// knapsackFace is the face of the box in the direction dir − price·normal, the
// whole box if dir is nil.
type knapsackFace struct {
	set   *halfspaceInBox
	dir   []float64
	price float64
}

func (f *knapsackFace) tied(i int) bool {
	cost := f.price * f.set.half.unit[i]
	return math.Abs(f.dir[i]-cost) <= 0x1p-50*math.Abs(f.dir[i])
}

func (f *knapsackFace) sides(i int) (lower, upper float64) {
	lower, upper = f.set.box.lower[i], f.set.box.upper[i]
	switch {
	case f.dir == nil || f.tied(i):
	case f.dir[i] > f.price*f.set.half.unit[i]:
		lower = upper
	default:
		upper = lower
	}
	return lower, upper
}

// project sets dst to the point of the face nearest to x with ⟨normal, ·⟩ ≤ offset,
// or = offset. dst may be x.
func (f *knapsackFace) project(dst, x []float64, equal bool) {
	excess := -f.set.half.level
	for i, a := range f.set.half.unit {
		lower, upper := f.sides(i)
		excess += a * clip(x[i], lower, upper)
	}
	sign, shift := 1.0, 0.0
	if excess < 0 {
		sign = -1
	}
	if excess > 0 || excess < 0 && equal {
		shift = sign * f.shift(x, sign)
	}
	for i, a := range f.set.half.unit {
		lower, upper := f.sides(i)
		dst[i] = clip(x[i]-shift*a, lower, upper)
	}
}

// shift returns the μ ≥ 0 at which ⟨normal, clip(x − μ·sign·normal)⟩ meets the
// offset, or the last break point if rounding keeps it from doing so.
func (f *knapsackFace) shift(x []float64, sign float64) float64 {
	at := 0.0
	for {
		next, value, slope := math.Inf(1), -sign*f.set.half.level, 0.0
		for i, n := range f.set.half.unit {
			a := sign * n
			if a == 0 {
				continue
			}
			lower, upper := f.sides(i)
			start, end := (x[i]-upper)/a, (x[i]-lower)/a
			if a < 0 {
				start, end = end, start
			}
			value += a * clip(x[i]-at*a, lower, upper)
			if start <= at && at < end {
				slope += a * a
				next = math.Min(next, end)
			} else if start > at {
				next = math.Min(next, start)
			}
		}
		if value <= 0 {
			return at
		}
		if slope > 0 {
			if root := at + value/slope; root <= next {
				return root
			}
		}
		if math.IsInf(next, 1) || next <= at {
			return at
		}
		at = next
	}
}
