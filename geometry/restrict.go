package geometry

import (
	"errors"
	"fmt"
	"math"

	"cmdpsolve/oracle"
	"cmdpsolve/oracle/lp"
)

// restricter is a Set with a better way than the general one to be cut by a box.
type restricter interface {
	restrict(box *BoundedBox) (Compact, error)
}

// Restrict returns the intersection of a set and a bounded box as a Compact. This
// is how a target is used: intersected with the box of possible returns, so that
// its support function is finite (erratum E-05).
//
// Boxes, balls, half-spaces, points, cuts along axes, and translates, multiples and
// products of these have closed forms. A Compact inside the box is returned as it
// is. Other polyhedral sets become a Polytope, answered by linear programs and an
// active-set method; a Hull, and a set that is known by its linear maximiser, is cut by
// column generation. What is in a ball is found by projections on the other sets, with one multiplier for the ball,
// if projections on these do not iterate themselves. All others go to oracle.IntersectionProjector for projection and
// to oracle.ProximalMaximizer for linear maximisation, or to column generation if one set of them has no rows and knows
// its extreme points.
//
// It is an error if the dimensions differ, if the box is unbounded (wrapping
// ErrUnbounded), or if the two have no common point (wrapping ErrEmpty, with a
// direction that separates them or Farkas multipliers).
func Restrict(s Set, box *Box) (Compact, error) {
	if s == nil || box == nil {
		return nil, errors.New("geometry: restriction of no set, or to no box: want both")
	}
	if s.Dim() != box.Dim() {
		return nil, fmt.Errorf("geometry: set of dimension %d and box of dimension %d: want the same", s.Dim(),
			box.Dim())
	}
	bounded, err := box.Bounded()
	if err != nil {
		return nil, err
	}
	return restrict(s, bounded)
}

func restrict(s Set, box *BoundedBox) (Compact, error) {
	if r, ok := s.(restricter); ok {
		return r.restrict(box)
	}
	lower, upper := boundsOf(s)
	if c, ok := s.(Compact); ok && inside(lower, upper, box) {
		return c, nil
	}
	for i, l := range lower { // the box need not be larger than the set
		lower[i], upper[i] = math.Max(l, box.lower[i]), math.Min(upper[i], box.upper[i])
		if gap := lower[i] - upper[i]; gap > 1e-12*(1+math.Abs(lower[i])+math.Abs(upper[i])) {
			return nil, fmt.Errorf("geometry: the set's coordinate %d and the box's miss each other by %g: %w", i, gap,
				ErrEmpty)
		}
		if lower[i] > upper[i] {
			lower[i], upper[i] = clip(upper[i], box.lower[i], box.upper[i]), clip(upper[i], box.lower[i], box.upper[i])
		}
	}
	if rows, ok := rowsOf(s); ok {
		return rows.restrict(box)
	}
	if answersByMaximizing(s) {
		return newCut(s.(Compact), Rows{}, box)
	}
	return newCommon([]Set{s}, &BoundedBox{&Box{lower, upper}})
}

// CompactOf returns a set as a Compact: itself if it is one, its restriction to its
// own bounding box if that is bounded. Otherwise it is an error that wraps
// ErrUnbounded.
func CompactOf(s Set) (Compact, error) {
	switch c := s.(type) {
	case nil:
		return nil, errors.New("geometry: compact form of no set: want a set")
	case Compact:
		return c, nil
	case *Box:
		return c.Bounded()
	case *Polyhedron:
		return c.Bounded()
	}
	lower, upper := boundsOf(s)
	for i, l := range lower {
		if u := upper[i]; math.IsInf(l, 0) || math.IsInf(u, 0) {
			return nil, fmt.Errorf("geometry: %T goes from %g to %g in coordinate %d, want a bounded set (or use "+
				"Restrict): %w", s, l, u, i, ErrUnbounded)
		}
	}
	return restrict(s, &BoundedBox{&Box{lower, upper}})
}

// boundsOf returns a set's bounding box, infinite where it is not known.
func boundsOf(s Set) (lower, upper []float64) {
	lower, upper = make([]float64, s.Dim()), make([]float64, s.Dim())
	if b, ok := s.(Bounder); ok {
		b.Bounds(lower, upper)
		return lower, upper
	}
	if c, ok := s.(Compact); ok {
		oracle.Extremes(c, lower, upper)
		return lower, upper
	}
	return lp.Free(s.Dim())
}

// inside reports whether the bounds lie in the box.
func inside(lower, upper []float64, box *BoundedBox) bool {
	for i, l := range lower {
		if l < box.lower[i] || upper[i] > box.upper[i] {
			return false
		}
	}
	return true
}

// restrict cuts a polyhedron: what is parallel to the axes becomes sides, one row
// that is left has a closed form, more make a polytope.
func (r Rows) restrict(box *BoundedBox) (Compact, error) {
	rest, folded, err := r.fold(box.Box)
	if err != nil {
		return nil, err
	}
	sides := &BoundedBox{folded}
	switch {
	case len(rest.A) == 0:
		return sides, nil
	case len(rest.A) == 1 && rest.Equalities == 0:
		h, err := NewHalfspace(rest.A[0], rest.B[0])
		if err != nil {
			return nil, err
		}
		return h.restrict(sides)
	}
	walls, _ := folded.Rows()
	p, err := newPolyhedron("polytope (equations first; its rows, then the sides of the box)", rest.and(walls))
	if err != nil {
		return nil, err
	}
	return p.Bounded()
}

func (b *Box) restrict(box *BoundedBox) (Compact, error) {
	m, err := b.meet(box.Box)
	if err != nil {
		return nil, err
	}
	return m.Bounded()
}
