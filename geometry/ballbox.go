package geometry

import (
	"fmt"
	"math"

	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// ballInBox is the intersection of a ball and a bounded box: closed forms, exact
// ties, no allocation.
type ballInBox struct {
	ball *Ball
	box  *BoundedBox
}

func (b *Ball) restrict(box *BoundedBox) (Compact, error) {
	nearest := make([]float64, b.Dim())
	box.Project(nearest, b.center)
	inside := true
	for i, c := range b.center {
		nearest[i] = c - nearest[i]
		inside = inside && box.lower[i] <= c-b.radius && c+b.radius <= box.upper[i]
	}
	if inside {
		return b, nil
	}
	if gap := floats.Norm(nearest, 2); b.misses(gap) {
		return nil, fmt.Errorf("geometry: the ball's center is %g from the box, its radius is %g, direction %v "+
			"separates them: %w", gap, b.radius, nearest, ErrEmpty)
	}
	return &ballInBox{b, box}, nil
}

// misses tells whether a set is out of the ball by more than rounding, that of the coordinates of its centre too,
// given how far the centre is from the set.
func (b *Ball) misses(gap float64) bool {
	return gap > b.radius+1e-12*(gap+b.radius)+1e-15*floats.Norm(b.center, 2)
}

func (s *ballInBox) restrict(box *BoundedBox) (Compact, error) {
	m, err := s.box.meet(box.Box)
	if err != nil {
		return nil, err
	}
	return s.ball.restrict(&BoundedBox{m})
}

func (s *ballInBox) Dim() int { return s.ball.Dim() }

func (s *ballInBox) path(toward []float64) radial {
	return radial{center: s.ball.center, lower: s.box.lower, upper: s.box.upper, toward: toward, radius: s.ball.radius}
}

// Project follows the path from the centre to x.
func (s *ballInBox) Project(dst, x []float64) {
	check(s.Dim(), dst, x)
	path := s.path(x)
	path.relative = true
	path.write(dst, path.step(1))
}

// MaximizeLinear follows the path from the centre in the direction. It gives the
// maximiser nearest to the centre.
func (s *ballInBox) MaximizeLinear(dst, dir []float64) {
	s.ProjectFace(dst, dir, s.ball.center)
}

// ProjectFace follows the path in the direction. If that ends on the sphere the
// maximiser is unique; if it ends on a face of the box, x is projected on the part
// of the face in the ball.
func (s *ballInBox) ProjectFace(dst, dir, x []float64) {
	check(s.Dim(), dst, dir, x)
	if isZero(dir) {
		s.Project(dst, x)
		return
	}
	path := s.path(dir)
	if step := path.step(math.Inf(1)); !math.IsInf(step, 1) {
		path.write(dst, step)
		return
	}
	path.toward, path.relative, path.face = x, true, dir
	path.write(dst, path.step(1))
}

// Bounds gives the smallest box.
func (s *ballInBox) Bounds(lower, upper []float64) {
	check(s.Dim(), lower, upper)
	oracle.Extremes(s, lower, upper)
}

// InteriorPoint gives the middle of the segment between the point nearest to the
// centre of the box and the one nearest to the centre of the ball, with the room
// around it.
func (s *ballInBox) InteriorPoint(dst []float64) float64 {
	check(s.Dim(), dst)
	for i, l := range s.box.lower {
		dst[i] = l + (s.box.upper[i]-l)/2
	}
	s.Project(dst, dst)
	room := math.Inf(1)
	gap := 0.0
	for i, c := range s.ball.center {
		dst[i] = (dst[i] + clip(c, s.box.lower[i], s.box.upper[i])) / 2
		room = min(room, dst[i]-s.box.lower[i], s.box.upper[i]-dst[i])
		gap = math.Hypot(gap, dst[i]-c)
	}
	return math.Max(math.Min(room, s.ball.radius-gap), 0)
}
