package geometry

import (
	"math"
	"slices"

	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// A Separator finds a half-space between itself and a point without projecting: sets
// whose projection iterates, but whose parts answer at once.
type Separator interface {
	Set
	// Separate returns by how much x misses the set, or the part of it that it misses
	// most: 0 or less if it is in all of them. Then it sets normal to a unit vector
	// and offset so that ⟨normal, y⟩ ≤ offset for all points y of the set. ⟨normal, x⟩
	// is larger by the distance of x from the set, or by less where rounding matters.
	// If nothing is missed the half-space may be any, and a zero normal with the
	// offset +Inf is allowed. normal and x must not overlap.
	Separate(normal, x []float64) (offset, missed float64)
}

// Separate is Separator.Separate for all sets. A set that is no Separator is
// projected on, and asked for its support in the direction if it knows it.
func Separate(s Set, normal, x []float64) (offset, missed float64) {
	if s == nil {
		panic(noSet)
	}
	if sep, ok := s.(Separator); ok {
		return sep.Separate(normal, x)
	}
	if rows, ok := rowsOf(s); ok {
		return rows.separate(normal, x)
	}
	check(s.Dim(), normal, x)
	return separateNearest(s, normal, x, 0)
}

// separateNearest takes the direction from the set's nearest point, and leaves room for all
// points within the radius of the set. From a point of these it gives no half-space.
func separateNearest(s Set, normal, x []float64, radius float64) (offset, missed float64) {
	s.Project(normal, x)
	gap := floats.Distance(x, normal, 2)
	if gap <= radius {
		clear(normal)
		return math.Inf(1), 0
	}
	near := slices.Clone(normal)
	for i, v := range near {
		normal[i] = (x[i] - v) / gap
	}
	offset = floats.Dot(normal, near)
	if c, ok := s.(Compact); ok {
		offset = math.Max(offset, oracle.Support(c, normal))
	}
	return offset + radius, gap - radius
}

// separate gives the row that is missed by most, or kept by least.
func (r Rows) separate(normal, x []float64) (offset, missed float64) {
	clear(normal)
	offset, missed = math.Inf(1), math.Inf(-1)
	for k, a := range r.A {
		length := floats.Norm(a, 2)
		for _, sign := range []float64{1, -1} {
			if sign < 0 && k >= r.Equalities {
				break
			}
			if beyond := sign * (floats.Dot(a, x) - r.B[k]) / length; beyond > missed {
				missed, offset = beyond, sign*r.B[k]/length
				for i, v := range a {
					normal[i] = sign * v / length
				}
			}
		}
	}
	return offset, missed
}

// separateAny gives the half-space of the set that is missed by most.
func separateAny(sets []Set, normal, x []float64) (offset, missed float64) {
	clear(normal)
	offset, missed = math.Inf(1), math.Inf(-1)
	next := make([]float64, len(x))
	for _, s := range sets {
		if h, beyond := Separate(s, next, x); beyond > missed {
			missed, offset = beyond, h
			copy(normal, next)
		}
	}
	return offset, missed
}

// Separate asks the ball and the box one by one: sides of the box are not mixed with
// tangents of the ball.
func (s *ballInBox) Separate(normal, x []float64) (offset, missed float64) {
	check(s.Dim(), normal, x)
	return separateAny([]Set{s.box.Box, s.ball}, normal, x)
}

// Separate asks the factors one by one.
func (p *product) Separate(normal, x []float64) (offset, missed float64) {
	check(p.Dim(), normal, x)
	offset, missed = math.Inf(1), math.Inf(-1)
	clear(normal)
	at := 0
	for _, s := range p.sets {
		n, next := s.Dim(), make([]float64, s.Dim())
		if h, beyond := Separate(s, next, x[at:at+n]); beyond > missed {
			offset, missed = h, beyond
			clear(normal)
			copy(normal[at:], next)
		}
		at += n
	}
	return offset, missed
}

// Separate asks the sets one by one.
func (s *Intersection) Separate(normal, x []float64) (offset, missed float64) {
	check(s.Dim(), normal, x)
	return separateAny(s.sets, normal, x)
}

// Separate pulls back what separates the image of x.
func (s *preimage) Separate(normal, x []float64) (offset, missed float64) {
	check(s.dim, normal, x)
	image, n := make([]float64, s.set.Dim()), make([]float64, s.set.Dim())
	s.apply(image, x)
	offset, missed = Separate(s.set, n, image)
	offset -= floats.Dot(n, s.shift)
	s.transposed(normal, n)
	length := floats.Norm(normal, 2)
	if length <= minLength {
		clear(normal)
		return math.Inf(1), math.Min(missed, 0)
	}
	for i := range normal {
		normal[i] /= length
	}
	return offset / length, missed / length
}

// Separate moves what separates the point that x comes from.
func (s *similarity) Separate(normal, x []float64) (offset, missed float64) {
	check(s.Dim(), normal, x)
	from := make([]float64, len(x))
	s.inward(from, x)
	offset, missed = Separate(s.set, normal, from)
	return s.factor*offset + floats.Dot(normal, s.shift), s.factor * missed
}

// Separate takes the direction from the set's nearest point, which is farther away and
// so known better than that of the inflation.
func (s *inflation) Separate(normal, x []float64) (offset, missed float64) {
	check(s.Dim(), normal, x)
	return separateNearest(s.set, normal, x, s.radius)
}

// Separate projects. Near the set rounding spoils the direction of the projection.
// Then it projects points farther out on the ray from the middle, and takes the
// half-space that x misses most. Such a half-space supports the set beside x, which
// costs only the square of the distance.
func (e extreme) Separate(normal, x []float64) (offset, missed float64) {
	check(e.Dim(), normal, x)
	if c, ok := e.LinearMaximizer.(*cut); ok {
		offset, missed = c.rows.separate(normal, x)
		next := make([]float64, len(x))
		if h, beyond := Separate(c.set, next, x); beyond > missed {
			offset, missed = h, beyond
			copy(normal, next)
		}
		return offset, missed
	}
	c := e.core()
	normalTo := func(from []float64) (gap float64) {
		z := make([]float64, len(x))
		e.Project(z, from)
		gap = floats.Distance(from, z, 2)
		for i, v := range z {
			z[i] = (from[i] - v) / gap
		}
		if gap > 0 {
			h := oracle.Support(e, z)
			if beyond := floats.Dot(z, x) - h; beyond > missed {
				offset, missed = h, beyond
				copy(normal, z)
			}
		}
		return gap
	}
	clear(normal)
	offset, missed = math.Inf(1), math.Inf(-1)
	gap := normalTo(x)
	way := floats.Distance(x, c.middle, 2)
	if gap == 0 {
		return math.Inf(1), 0
	}
	if gap > 1e-4*c.radius || way == 0 {
		return offset, missed
	}
	from := make([]float64, len(x))
	for _, out := range []float64{1e-5, 1e-6, 1e-7} {
		for i, v := range x {
			from[i] = v + out*c.radius*((v-c.middle[i])/way)
		}
		normalTo(from)
	}
	return offset, missed
}
