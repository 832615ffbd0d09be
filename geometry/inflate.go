package geometry

import (
	"fmt"

	"cmdpsolve/internal/scratch"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// inflation is the set of the points within a distance of a set.
type inflation struct {
	set    Set
	radius float64
}

type compactInflation struct {
	*inflation
	compact Compact
}

type faceInflation struct {
	*compactInflation
	face oracle.FaceProjector
}

// NewInflate returns the points within the given Euclidean distance of the set, its
// δ-expansion. All questions are passed to the set, so it is as exact as that. The
// result is a Compact, or an oracle.FaceProjector, if the set is; points and balls
// give a Ball. It is an error if the radius is negative or not finite.
func NewInflate(set Set, radius float64) (Set, error) {
	if err := present("inflation", set); err != nil {
		return nil, err
	}
	if !(radius >= 0 && radius <= maxMagnitude) {
		return nil, fmt.Errorf("geometry: inflate by %g: want a finite radius ≥ 0", radius)
	}
	switch s := set.(type) {
	case *Point:
		return NewBall(s.lower, radius)
	case *Ball:
		return NewBall(s.center, s.radius+radius)
	}
	if radius == 0 {
		return set, nil
	}
	s := &inflation{set: set, radius: radius}
	c, ok := set.(Compact)
	if !ok {
		return s, nil
	}
	if f, ok := set.(oracle.FaceProjector); ok {
		return &faceInflation{&compactInflation{s, c}, f}, nil
	}
	return &compactInflation{s, c}, nil
}

// Dim returns the dimension of the space.
func (s *inflation) Dim() int { return s.set.Dim() }

// Project goes from the set's nearest point towards x, by at most the radius.
func (s *inflation) Project(dst, x []float64) {
	check(s.Dim(), dst, x)
	nearest := scratch.Get(len(dst))
	s.set.Project(*nearest, x)
	gap := floats.Distance(x, *nearest, 2)
	for i, v := range *nearest {
		dst[i] = x[i]
		if gap > s.radius {
			dst[i] = v + s.radius*((dst[i]-v)/gap)
		}
	}
	scratch.Put(nearest)
}

// MaximizeLinear goes from the set's maximiser in the direction.
func (s *compactInflation) MaximizeLinear(dst, dir []float64) {
	check(s.Dim(), dst, dir)
	s.compact.MaximizeLinear(dst, dir)
	if length := floats.Norm(dir, 2); length > 0 {
		for i, v := range dir {
			dst[i] += s.radius * (v / length)
		}
	}
}

// ProjectFace projects on the set's face, moved by the radius in the direction.
func (s *faceInflation) ProjectFace(dst, dir, x []float64) {
	check(s.Dim(), dst, dir, x)
	length := floats.Norm(dir, 2)
	if length == 0 {
		s.Project(dst, x)
		return
	}
	for i, v := range dir {
		dst[i] = x[i] - s.radius*(v/length)
	}
	s.face.ProjectFace(dst, dir, dst)
	for i, v := range dir {
		dst[i] += s.radius * (v / length)
	}
}

// Bounds gives the set's bounds, wider by the radius.
func (s *inflation) Bounds(lower, upper []float64) {
	check(s.Dim(), lower, upper)
	l, u := boundsOf(s.set)
	for i := range lower {
		lower[i], upper[i] = l[i]-s.radius, u[i]+s.radius
	}
}

// InteriorPoint gives the set's, with more room.
func (s *inflation) InteriorPoint(dst []float64) float64 {
	check(s.Dim(), dst)
	return interiorOf(s.set, dst) + s.radius
}
