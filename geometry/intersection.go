package geometry

import (
	"fmt"
	"math"
	"slices"

	"cmdpsolve/oracle"
	"cmdpsolve/oracle/lp"
)

// Intersection is the set of the common points of several sets, unbounded ones. It
// is a Set. Polyhedral sets together are projected on by one active-set method.
type Intersection struct {
	sets       []Set
	projection Set
	middle     []float64
}

// NewIntersection returns the common points of the sets. If one of them is bounded
// the result is a Compact, as Restrict gives it for the others. It is an
// error if there are no sets, if dimensions differ, and, wrapping ErrEmpty and with
// the multipliers of the rows or planes that show it, if they have no common point.
func NewIntersection(sets ...Set) (Set, error) {
	flat, box, err := flatten(sets)
	if err != nil {
		return nil, err
	}
	for _, s := range flat { // bounds of the members bound the intersection
		lower, upper := boundsOf(s)
		for i, l := range lower {
			lower[i], upper[i] = math.Max(l, box.lower[i]), math.Min(upper[i], box.upper[i])
		}
		box, err = box.meet(&Box{lower, upper})
		if err != nil {
			return nil, err
		}
	}
	s := &Intersection{sets: append(flat, box)}
	if bounded, err := box.Bounded(); err == nil {
		return s.restrict(bounded)
	}
	if len(flat) == 0 {
		return box, nil
	}
	members, err := conditionsOf(s.sets)
	if err != nil {
		return nil, err
	}
	if len(members) == 1 && members[0].Matrix == nil && members[0].Shift == nil {
		s.projection = members[0].Set
	} else {
		s.projection, err = oracle.NewIntersectionProjector(box.Dim(), members...)
		if err != nil {
			return nil, fmt.Errorf("geometry: %w", err)
		}
	}
	s.middle = make([]float64, box.Dim())
	s.projection.Project(s.middle, s.middle)
	return s, nil
}

// flatten opens nested intersections and collects boxes in one.
func flatten(sets []Set) (flat []Set, box *Box, err error) {
	if err := present("intersection", sets...); err != nil {
		return nil, nil, err
	}
	if len(sets) == 0 || sets[0].Dim() == 0 {
		return nil, nil, fmt.Errorf("geometry: intersection of no sets: want at least one")
	}
	d := sets[0].Dim()
	lower, upper := lp.Free(d)
	box = &Box{lower, upper}
	for k, s := range sets {
		if s.Dim() != d {
			return nil, nil, fmt.Errorf("geometry: intersection: set %d has dimension %d, set 0 has %d: want the same",
				k, s.Dim(), d)
		}
		switch s := s.(type) {
		case *Box:
			box, err = box.meet(s)
		case *BoundedBox:
			box, err = box.meet(s.Box)
		case *Intersection:
			flat = append(flat, s.sets...)
		case *common:
			flat = append(append(flat, s.sets...), s.box.Box)
		case *ballPart:
			flat = append(append(flat, s.sets...), s.box.Box)
		case *ballInBox:
			flat = append(flat, s.ball, s.box.Box)
		case extreme:
			if c, ok := s.LinearMaximizer.(*cut); ok {
				flat = append(flat, c.set, c.box.Box)
				if len(c.given.A) > 0 {
					var p *Polyhedron
					p, err = newPolyhedron("intersection", c.given)
					flat = append(flat, p)
				}
			} else {
				flat = append(flat, s)
			}
		case *halfspaceInBox:
			flat = append(flat, s.half, s.box.Box)
		default:
			flat = append(flat, s)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for i := 0; i < len(flat); i++ { // the boxes of nested intersections
		if b, ok := flat[i].(*Box); ok {
			box, err = box.meet(b)
			if err != nil {
				return nil, nil, err
			}
			flat = append(flat[:i:i], flat[i+1:]...)
			i--
		}
	}
	return flat, box, nil
}

func (s *Intersection) restrict(box *BoundedBox) (Compact, error) {
	flat, own, err := flatten(s.sets)
	if err != nil {
		return nil, err
	}
	own, err = own.meet(box.Box)
	if err != nil {
		return nil, err
	}
	rows, others := split(flat)
	if len(others) == 0 {
		return rows.restrict(&BoundedBox{own})
	}
	rest, sides, err := rows.fold(own)
	if err != nil {
		return nil, err
	}
	if len(rest.A) == 0 && len(others) == 1 {
		return restrict(others[0], &BoundedBox{sides})
	}
	if len(others) == 1 && answersByMaximizing(others[0]) {
		return newCut(others[0].(Compact), rest, &BoundedBox{sides})
	}
	if len(rest.A) > 0 {
		p, err := newPolyhedron("intersection", rest)
		if err != nil {
			return nil, err
		}
		others = append(others, p)
	}
	for i, s := range others {
		if ball, ok := s.(*Ball); ok {
			return newBallPart(ball, slices.Delete(others, i, i+1), &BoundedBox{sides})
		}
	}
	return newCommon(others, &BoundedBox{sides})
}

// Members returns the conditions of oracle.IntersectionProjector that are the intersection.
func (s *Intersection) Members() []oracle.Member { return membersOf(s.projection) }

// Dim returns the dimension of the space.
func (s *Intersection) Dim() int { return s.projection.Dim() }

// Project finds the nearest common point: exactly if all sets are polyhedral, else
// by oracle.IntersectionProjector.
func (s *Intersection) Project(dst, x []float64) {
	check(s.Dim(), dst, x)
	s.projection.Project(dst, x)
}

// Rows gives all rows if all sets have rows.
func (s *Intersection) Rows() (Rows, bool) {
	rows, others := split(s.sets)
	return rows, len(others) == 0
}

// Bounds gives the intersection of the members' bounds, which need not be the
// smallest box.
func (s *Intersection) Bounds(lower, upper []float64) {
	check(s.Dim(), lower, upper)
	s.sets[len(s.sets)-1].(*Box).Bounds(lower, upper)
}

// InteriorPoint gives the common point nearest to the origin, with the room around
// it as far as that is known.
func (s *Intersection) InteriorPoint(dst []float64) float64 {
	check(s.Dim(), dst)
	copy(dst, s.middle)
	room := math.Inf(1)
	for _, m := range s.sets {
		room = math.Min(room, roomIn(m, dst))
	}
	return math.Max(math.Min(room, maxMagnitude), 0)
}
