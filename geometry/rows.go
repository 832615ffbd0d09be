package geometry

import "math"

// Rows describes a polyhedron {x : A x ≤ B}, of whose rows the first Equalities
// hold with equality.
type Rows struct {
	A          [][]float64
	B          []float64
	Equalities int
}

// Polyhedral is a set that may have a description by rows. Intersections of such
// sets are then answered by exact methods for polyhedra.
type Polyhedral interface {
	// Rows returns the rows, which the caller must not change, and whether the set
	// has them. A whole space has none and is true.
	Rows() (Rows, bool)
}

// rowsOf returns the rows of a set, if it has any.
func rowsOf(s Set) (Rows, bool) {
	if p, ok := s.(Polyhedral); ok {
		return p.Rows()
	}
	return Rows{}, false
}

// split returns the rows of the sets that have any, and the other sets.
func split(sets []Set) (rows Rows, others []Set) {
	for _, s := range sets {
		if r, ok := rowsOf(s); ok {
			rows = rows.and(r)
		} else {
			others = append(others, s)
		}
	}
	return rows, others
}

// and returns the rows of both, equalities first.
func (r Rows) and(o Rows) Rows {
	var all Rows
	all.A = append(append(all.A, r.A[:r.Equalities]...), o.A[:o.Equalities]...)
	all.B = append(append(all.B, r.B[:r.Equalities]...), o.B[:o.Equalities]...)
	all.Equalities = len(all.A)
	all.A = append(append(all.A, r.A[r.Equalities:]...), o.A[o.Equalities:]...)
	all.B = append(append(all.B, r.B[r.Equalities:]...), o.B[o.Equalities:]...)
	return all
}

// axis returns the index of the only entry of a that is not zero, or -1.
func axis(a []float64) int {
	at := -1
	for i, v := range a {
		if v == 0 {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = i
	}
	return at
}

// fold moves the rows along an axis into the sides of the box.
func (r Rows) fold(box *Box) (rest Rows, folded *Box, err error) {
	folded = &Box{box.Lower(), box.Upper()}
	for k, a := range r.A {
		i := axis(a)
		if i < 0 {
			rest.A, rest.B = append(rest.A, a), append(rest.B, r.B[k])
			if k < r.Equalities {
				rest.Equalities++
			}
			continue
		}
		bound := r.B[k] / a[i]
		if k < r.Equalities || a[i] > 0 {
			folded.upper[i] = math.Min(folded.upper[i], bound)
		}
		if k < r.Equalities || a[i] < 0 {
			folded.lower[i] = math.Max(folded.lower[i], bound)
		}
	}
	folded, err = folded.meet(folded)
	return rest, folded, err
}

// Rows gives a row for every finite side.
func (b *Box) Rows() (Rows, bool) {
	var r Rows
	add := func(i int, sign, bound float64) {
		a := make([]float64, len(b.lower))
		a[i] = sign
		r.A, r.B = append(r.A, a), append(r.B, sign*bound)
	}
	for i, l := range b.lower {
		if u := b.upper[i]; l == u {
			add(i, 1, u)
			r.Equalities++
		}
	}
	for i, l := range b.lower {
		u := b.upper[i]
		if l == u {
			continue
		}
		if !math.IsInf(l, 0) {
			add(i, -1, l)
		}
		if !math.IsInf(u, 0) {
			add(i, 1, u)
		}
	}
	return r, true
}

// Rows gives the one row.
func (h *Halfspace) Rows() (Rows, bool) {
	return Rows{A: [][]float64{h.normal}, B: []float64{h.offset}}, true
}
