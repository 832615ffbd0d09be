package geometry

import (
	"fmt"
	"math"
	"sync"

	"cmdpsolve/internal/scratch"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// common is the intersection of a bounded box and sets that have no exact method
// together.
type common struct {
	*oracle.IntersectionProjector
	oracle.LinearMaximizer // a cut if there is but one set besides rows, else a ProximalMaximizer
	parts
	center []float64 // of the box, whose half diagonal is radius
	radius float64
}

// parts are a box and sets that have common points.
type parts struct {
	box   *BoundedBox
	sets  []Set     // besides the box
	found sync.Once // guards the others
	point []float64 // well inside, found when it is asked for
	room  float64
}

// Dim returns the dimension of the space.
func (p *parts) Dim() int { return p.box.Dim() }

// Bounds gives a box that need not be the smallest.
func (p *parts) Bounds(lower, upper []float64) { p.box.Bounds(lower, upper) }

// Separate asks the box and the sets one by one.
func (p *parts) Separate(normal, x []float64) (offset, missed float64) {
	check(p.Dim(), normal, x)
	return separateAny(append([]Set{p.box.Box}, p.sets...), normal, x)
}

func (p *parts) restrict(box *BoundedBox) (Compact, error) {
	return (&Intersection{sets: append([]Set{p.box.Box}, p.sets...)}).restrict(box)
}

// conditional is a set that is best handed to oracle.IntersectionProjector as conditions on
// images of x, not as one projection, which would iterate within the iteration.
type conditional interface {
	Members() []oracle.Member
}

// membersOf returns the conditions of a set, or the set as the one condition.
func membersOf(s Set) []oracle.Member {
	if c, ok := s.(conditional); ok {
		return c.Members()
	}
	return []oracle.Member{{Set: s}}
}

// conditionsOf gathers the polyhedral sets into one active-set projection and
// returns one condition for it and those of the others.
func conditionsOf(sets []Set) ([]oracle.Member, error) {
	var members []oracle.Member
	rows, others := split(sets)
	for _, s := range others {
		members = append(members, membersOf(s)...)
	}
	if len(rows.A) > 0 {
		linear, err := oracle.NewActiveSet(rows.A, rows.B, rows.Equalities)
		if err != nil {
			return nil, fmt.Errorf("geometry: intersection of polyhedral sets: %w", err)
		}
		members = append(members, oracle.Member{Set: linear})
	}
	return members, nil
}

func newCommon(sets []Set, box *BoundedBox) (Compact, error) {
	members, err := conditionsOf(append([]Set{box}, sets...))
	if err != nil {
		return nil, err
	}
	c := &common{parts: parts{box: box, sets: sets}}
	c.IntersectionProjector, err = oracle.NewIntersectionProjector(box.Dim(), members...)
	if err != nil {
		return nil, fmt.Errorf("geometry: %w", err)
	}
	c.center = make([]float64, box.Dim())
	box.InteriorPoint(c.center)
	for i, v := range c.center {
		c.radius = math.Hypot(c.radius, v-box.lower[i])
	}
	c.LinearMaximizer, err = c.maximizer()
	if err != nil {
		return nil, fmt.Errorf("geometry: %w", err)
	}
	return c, nil
}

// maximizer asks the extreme points of the one set that has no rows, if there is one that
// knows them. A run of 30,000 episodes that took 53 s by proximal points takes 3 s so.
func (c *common) maximizer() (oracle.LinearMaximizer, error) {
	rows, others := split(c.sets)
	if len(others) == 1 {
		if set, ok := others[0].(Compact); ok {
			if m, err := newCut(set, rows, c.box); err == nil { // an error where they barely touch
				return m, nil
			}
		}
	}
	return oracle.NewProximalMaximizer(c.IntersectionProjector, c.center, c.radius)
}

// inside sets dst to the mean of the extreme points along the axes of the set of the common points, and returns the
// least room that the parts are known to leave around it.
func (p *parts) inside(set Compact, dst []float64) (room float64) {
	check(p.Dim(), dst)
	p.found.Do(func() {
		d := set.Dim()
		dir, point, mean := make([]float64, d), make([]float64, d), make([]float64, d)
		for i := range dir {
			for _, sign := range []float64{1, -1} {
				dir[i] = sign
				set.MaximizeLinear(point, dir)
				floats.AddScaled(mean, 1/float64(2*d), point)
			}
			dir[i] = 0
		}
		set.Project(mean, mean)
		p.point, p.room = mean, roomIn(p.box, mean)
		for _, s := range p.sets {
			p.room = math.Min(p.room, roomIn(s, mean))
		}
		p.room = math.Max(p.room, 0)
	})
	copy(dst, p.point)
	return p.room
}

// roomIn returns the radius of a ball around x that lies in s: measured on rows, on
// a ball, or else 0 because it is not known.
func roomIn(s Set, x []float64) float64 {
	if b, ok := s.(*Ball); ok {
		return b.radius - floats.Distance(b.center, x, 2)
	}
	rows, ok := rowsOf(s)
	if !ok || rows.Equalities > 0 {
		return 0
	}
	room := math.Inf(1)
	for i, a := range rows.A {
		room = math.Min(room, (rows.B[i]-floats.Dot(a, x))/floats.Norm(a, 2))
	}
	return room
}

// Project finds the nearest point. Where sets meet at small angles, rounding blurs the projection of a far point. So
// the far point is moved towards its projection, to a hundred radii, where numbers are moderate, and projected again,
// until the projection stays where it is: a point of the set is the projection of all points on its normals. The first
// projection is that of the far point itself: from elsewhere, a face that all but ties could take too many rounds.
func (c *common) Project(dst, x []float64) {
	check(c.Dim(), dst, x)
	near := 1e2 * c.radius
	if !(floats.Distance(x, c.center, 2) > 10*near) || c.radius == 0 {
		c.IntersectionProjector.Project(dst, x)
		return
	}
	far, next := scratch.Get(c.Dim()), scratch.Get(c.Dim())
	copy(*far, x)
	c.IntersectionProjector.Project(dst, x)
	for range 20 {
		pull := near / floats.Distance(*far, dst, 2)
		for i, v := range *far {
			(*next)[i] = dst[i] + (v-dst[i])*pull
		}
		c.IntersectionProjector.Project(*next, *next)
		moved := floats.Distance(*next, dst, 2)
		copy(dst, *next)
		if moved <= 1e-12*c.radius {
			break
		}
	}
	scratch.Put(far)
	scratch.Put(next)
}

// Dim returns the dimension of the space.
func (c *common) Dim() int { return c.parts.Dim() }

// InteriorPoint gives a middle point, and the room around it as far as it is known.
func (c *common) InteriorPoint(dst []float64) float64 { return c.parts.inside(c, dst) }
