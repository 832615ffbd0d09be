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
	box                    *BoundedBox
	sets                   []Set     // besides the box
	center                 []float64 // of the box, whose half diagonal is radius
	radius                 float64
	middle
}

// middle is a point well inside of a set that is known by its parts, found when it is asked for.
type middle struct {
	found sync.Once // guards the others
	point []float64
	room  float64
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
	c := &common{box: box, sets: sets}
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

// find sets dst to the mean of the extreme points along the axes of a set, and returns the least room that the parts
// are known to leave around it.
func (m *middle) find(set Compact, dst []float64, parts []Set) (room float64) {
	m.found.Do(func() {
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
		m.point, m.room = mean, math.Inf(1)
		for _, s := range parts {
			m.room = math.Min(m.room, roomIn(s, mean))
		}
		m.room = math.Max(m.room, 0)
	})
	copy(dst, m.point)
	return m.room
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

func (c *common) restrict(box *BoundedBox) (Compact, error) {
	return (&Intersection{sets: append([]Set{c.box.Box}, c.sets...)}).restrict(box)
}

// Dim returns the dimension of the space.
func (c *common) Dim() int { return c.box.Dim() }

// Bounds gives a box that need not be the smallest.
func (c *common) Bounds(lower, upper []float64) { c.box.Bounds(lower, upper) }

// InteriorPoint gives a middle point, and the room around it as far as it is known.
func (c *common) InteriorPoint(dst []float64) float64 {
	check(c.Dim(), dst)
	return c.middle.find(c, dst, append([]Set{c.box}, c.sets...))
}
