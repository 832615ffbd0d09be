package geometry

import (
	"fmt"
	"math"

	"cmdpsolve/oracle"
)

// product is the Cartesian product of sets, whose coordinates stand one after the
// other.
type product struct {
	sets []Set
	dim  int
}

type compactProduct struct {
	*product
	compact []Compact
}

type faceProduct struct {
	*compactProduct
	faces []oracle.FaceProjector
}

// NewProduct returns the Cartesian product of the sets, whose coordinates stand one
// after the other. All questions are passed to the factors, so it is as exact as
// they are and allocates as little. The result is a Compact if all factors are, and
// an oracle.FaceProjector if all factors are. It is an error if there are no
// factors.
func NewProduct(sets ...Set) (Set, error) {
	if err := present("product", sets...); err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("geometry: product of no sets: want at least one")
	}
	p := &product{sets: append([]Set(nil), sets...)}
	c := &compactProduct{product: p}
	f := &faceProduct{compactProduct: c}
	for _, s := range sets {
		p.dim += s.Dim()
		if s, ok := s.(Compact); ok {
			c.compact = append(c.compact, s)
		}
		if s, ok := s.(oracle.FaceProjector); ok {
			f.faces = append(f.faces, s)
		}
	}
	switch {
	case len(c.compact) < len(sets):
		return p, nil
	case len(f.faces) < len(sets):
		return c, nil
	}
	return f, nil
}

// Dim returns the sum of the factors' dimensions.
func (p *product) Dim() int { return p.dim }

// Project projects each block on its factor.
func (p *product) Project(dst, x []float64) {
	check(p.dim, dst, x)
	at := 0
	for _, s := range p.sets {
		n := at + s.Dim()
		s.Project(dst[at:n], x[at:n])
		at = n
	}
}

// MaximizeLinear maximises in each block.
func (p *compactProduct) MaximizeLinear(dst, dir []float64) {
	check(p.dim, dst, dir)
	at := 0
	for _, s := range p.compact {
		n := at + s.Dim()
		s.MaximizeLinear(dst[at:n], dir[at:n])
		at = n
	}
}

// ProjectFace projects each block on its factor's face.
func (p *faceProduct) ProjectFace(dst, dir, x []float64) {
	check(p.dim, dst, dir, x)
	at := 0
	for _, s := range p.faces {
		n := at + s.Dim()
		s.ProjectFace(dst[at:n], dir[at:n], x[at:n])
		at = n
	}
}

// Bounds gives the factors' bounds.
func (p *product) Bounds(lower, upper []float64) {
	check(p.dim, lower, upper)
	at := 0
	for _, s := range p.sets {
		l, u := boundsOf(s)
		copy(lower[at:], l)
		copy(upper[at:], u)
		at += s.Dim()
	}
}

// InteriorPoint gives the factors' points, and the least of their radii.
func (p *product) InteriorPoint(dst []float64) float64 {
	check(p.dim, dst)
	at, room := 0, math.Inf(1)
	for _, s := range p.sets {
		n := at + s.Dim()
		room = math.Min(room, interiorOf(s, dst[at:n]))
		at = n
	}
	return room
}

// interiorOf sets dst to a set's interior point, or, if it knows none, to the
// projection of the origin.
func interiorOf(s Set, dst []float64) float64 {
	if i, ok := s.(Interior); ok {
		return i.InteriorPoint(dst)
	}
	clear(dst)
	s.Project(dst, dst)
	return 0
}

// Rows gives the factors' rows, if all have them.
func (p *product) Rows() (Rows, bool) {
	var all Rows
	at := 0
	for _, s := range p.sets {
		r, ok := rowsOf(s)
		if !ok {
			return Rows{}, false
		}
		wide := Rows{B: r.B, Equalities: r.Equalities}
		for _, a := range r.A {
			row := make([]float64, p.dim)
			copy(row[at:], a)
			wide.A = append(wide.A, row)
		}
		all = all.and(wide)
		at += s.Dim()
	}
	return all, true
}

func (p *product) restrict(box *BoundedBox) (Compact, error) {
	var cut []Set
	at := 0
	for k, s := range p.sets {
		n := at + s.Dim()
		c, err := restrict(s, &BoundedBox{&Box{box.lower[at:n:n], box.upper[at:n:n]}})
		if err != nil {
			return nil, fmt.Errorf("geometry: product, factor %d: %w", k, err)
		}
		cut = append(cut, c)
		at = n
	}
	whole, err := NewProduct(cut...)
	if err != nil {
		return nil, err
	}
	return whole.(Compact), nil
}
