package geometry

import (
	"fmt"
	"math"

	"cmdpsolve/internal/scratch"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// ballPart is the part of a set in a ball. It asks the set for projections alone: the nearest point to x in the part is
// the projection on the set of a point between the centre and x, and the extreme point in a direction that of a point
// ahead of the centre. How far ahead is the multiplier of the ball; the distance from the centre grows with it.
type ballPart struct {
	ball *Ball
	set  Compact // all but the ball
	parts
}

// newBallPart returns the common points of a ball, other sets and a box, or an error that wraps ErrEmpty.
func newBallPart(ball *Ball, others []Set, box *BoundedBox) (Compact, error) {
	set, err := (&Intersection{sets: others}).restrict(withoutSidesOf(ball, others, box))
	if err != nil {
		return nil, err
	}
	if _, iterated := set.(*common); iterated { // projections on the others alone take as long as on all of them
		return newCommon(append([]Set{ball}, others...), box)
	}
	s := &ballPart{ball: ball, set: set, parts: parts{box: box, sets: append([]Set{ball}, others...)}}
	nearest := make([]float64, ball.Dim())
	set.Project(nearest, ball.center)
	gap := floats.Distance(nearest, ball.center, 2)
	if ball.misses(gap) {
		floats.SubTo(nearest, ball.center, nearest)
		return nil, fmt.Errorf("geometry: the ball's center is %g from the other sets, its radius is %g, direction %v "+
			"separates them: %w", gap, ball.radius, nearest, ErrEmpty)
	}
	return s, nil
}

// withoutSidesOf moves the sides of the box that the ball keeps to those of the other sets, which they do not cut then.
func withoutSidesOf(ball *Ball, others []Set, box *BoundedBox) *BoundedBox {
	low, high := boundsOf(ball)
	lower, upper := append([]float64(nil), box.lower...), append([]float64(nil), box.upper...)
	for _, s := range others {
		l, u := boundsOf(s)
		for i := range lower {
			if box.lower[i] <= low[i] && !math.IsInf(l[i], -1) {
				lower[i] = math.Min(lower[i], l[i])
			}
			if box.upper[i] >= high[i] && !math.IsInf(u[i], 1) {
				upper[i] = math.Max(upper[i], u[i])
			}
		}
	}
	return &BoundedBox{&Box{lower, upper}}
}

// Project goes from the centre towards x, no farther than x.
func (s *ballPart) Project(dst, x []float64) {
	check(s.Dim(), dst, x)
	way := scratch.Get(s.Dim())
	floats.SubTo(*way, x, s.ball.center)
	s.ahead(dst, *way, 1)
	scratch.Put(way)
}

// MaximizeLinear goes ahead of the centre. It gives the maximiser nearest to the centre, if the set can.
func (s *ballPart) MaximizeLinear(dst, dir []float64) {
	check(s.Dim(), dst, dir)
	length := floats.Norm(dir, 2)
	if length == 0 {
		s.set.Project(dst, s.ball.center)
		return
	}
	if f, ok := s.set.(oracle.FaceProjector); ok {
		f.ProjectFace(dst, dir, s.ball.center)
	} else {
		s.set.MaximizeLinear(dst, dir)
	}
	beyond := floats.Distance(dst, s.ball.center, 2)
	if beyond <= s.ball.radius {
		return
	}
	way := scratch.Get(s.Dim())
	floats.ScaleTo(*way, 1/length, dir)
	s.ahead(dst, *way, 1e12*(s.ball.radius+beyond))
	scratch.Put(way)
}

// ahead sets dst to the projection on the set of centre + t·way for the largest t ≤ most at which that is in the ball.
func (s *ballPart) ahead(dst, way []float64, most float64) {
	near, far := scratch.Get(len(dst)), scratch.Get(len(dst))
	defer scratch.Put(near)
	defer scratch.Put(far)
	low, below := 0.0, s.beyond(*near, way, 0)
	high := s.ball.radius / floats.Norm(way, 2) // before that the way does not leave the ball
	if !(high > 0 && high < most) {
		high = most
	}
	above := s.beyond(*far, way, high)
	for above <= 0 && high < most {
		low, below = high, above
		*near, *far = *far, *near
		high = math.Min(most, 4*high)
		above = s.beyond(*far, way, high)
	}
	switch {
	case above <= 0:
		copy(dst, *far)
		return
	case below >= 0: // no more than touches the ball
		copy(dst, *near)
		return
	}
	s.narrow(*near, *far, way, bracket{low, below, high, above})
	copy(dst, *near)
}

// bracket holds two steps along a way, and how far their projections are out of the ball: the nearer one is not.
type bracket struct{ low, below, high, above float64 }

// narrow moves near and far, the projections at the ends of a bracket, together, and sets near to where they meet.
func (s *ballPart) narrow(near, far, way []float64, b bracket) {
	next := scratch.Get(len(near))
	defer scratch.Put(next)
	small := 1e-14 * (s.ball.radius + floats.Norm(s.ball.center, 2))
	atLow, atHigh := b.below, b.above // for the secant: halved where an end has stood still (Illinois)
	for moved := 0.0; floats.Distance(near, far, 2) > small && b.high-b.low > 4e-16*b.high; {
		t := b.low + (b.high-b.low)*atLow/(atLow-atHigh)
		if !(t > b.low && t < b.high) {
			t = b.low + (b.high-b.low)/2
		}
		v := s.beyond(*next, way, t)
		if v <= 0 {
			b.low, b.below, atLow = t, v, v
			copy(near, *next)
			if moved < 0 {
				atHigh /= 2
			}
		} else {
			b.high, b.above, atHigh = t, v, v
			copy(far, *next)
			if moved > 0 {
				atLow /= 2
			}
		}
		moved = v
	}
	// The distance is convex between the two: what is between them by their distances is in the ball.
	share := b.below / (b.below - b.above)
	for i, v := range near {
		near[i] = v + share*(far[i]-v)
	}
}

// beyond sets p to the projection of centre + t·way on the set, and returns how far it is out of the ball.
func (s *ballPart) beyond(p, way []float64, t float64) float64 {
	floats.AddScaledTo(p, s.ball.center, t, way)
	s.set.Project(p, p)
	return floats.Distance(p, s.ball.center, 2) - s.ball.radius
}

// InteriorPoint gives a middle point, and the room around it as far as it is known.
func (s *ballPart) InteriorPoint(dst []float64) float64 { return s.parts.inside(s, dst) }
