package geometry

import (
	"slices"

	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// similarity is {shift + factor·x : x in set} with a positive factor. All questions
// are passed to the set, so it is as exact as that and allocates as little.
type similarity struct {
	set    Set
	shift  []float64
	factor float64
}

type compactSimilarity struct {
	*similarity
	compact Compact
}

type faceSimilarity struct {
	*compactSimilarity
	face oracle.FaceProjector
}

// newSimilarity returns as capable a set as the given one.
func newSimilarity(set Set, shift []float64, factor float64) Set {
	s := &similarity{set, shift, factor}
	c, ok := set.(Compact)
	if !ok {
		return s
	}
	if f, ok := set.(oracle.FaceProjector); ok {
		return &faceSimilarity{&compactSimilarity{s, c}, f}
	}
	return &compactSimilarity{s, c}
}

// inward sets dst to the point of the set that x comes from.
func (s *similarity) inward(dst, x []float64) {
	for i, v := range x {
		dst[i] = (v - s.shift[i]) / s.factor
	}
}

func (s *similarity) outward(x []float64) {
	for i, v := range x {
		x[i] = s.shift[i] + s.factor*v
	}
}

// Members gives those of the set, moved and enlarged: M·(x − shift)/factor + t is in S if M·x + factor·t − M·shift is
// in factor·S.
func (s *similarity) Members() []oracle.Member {
	inner := membersOf(s.set)
	if len(inner) == 1 && inner[0].Matrix == nil && inner[0].Shift == nil {
		return []oracle.Member{{Set: s}}
	}
	var moved []oracle.Member
	for _, m := range inner {
		shift := slices.Clone(s.shift)
		if m.Matrix != nil {
			shift = make([]float64, len(m.Matrix))
			for i, row := range m.Matrix {
				shift[i] = floats.Dot(row, s.shift)
			}
		}
		floats.Scale(-1, shift)
		if m.Shift != nil {
			floats.AddScaled(shift, s.factor, m.Shift)
		}
		if s.factor != 1 {
			m.Set = newSimilarity(m.Set, make([]float64, m.Set.Dim()), s.factor)
		}
		moved = append(moved, oracle.Member{Set: m.Set, Matrix: m.Matrix, Shift: shift})
	}
	return moved
}

// Dim returns the dimension of the space.
func (s *similarity) Dim() int { return len(s.shift) }

// Project projects on the set and moves the result.
func (s *similarity) Project(dst, x []float64) {
	check(s.Dim(), dst, x)
	s.inward(dst, x)
	s.set.Project(dst, dst)
	s.outward(dst)
}

// MaximizeLinear maximises on the set and moves the result.
func (s *compactSimilarity) MaximizeLinear(dst, dir []float64) {
	check(s.Dim(), dst, dir)
	s.compact.MaximizeLinear(dst, dir)
	s.outward(dst)
}

// ProjectFace projects on the set's face and moves the result.
func (s *faceSimilarity) ProjectFace(dst, dir, x []float64) {
	check(s.Dim(), dst, dir, x)
	s.inward(dst, x)
	s.face.ProjectFace(dst, dir, dst)
	s.outward(dst)
}

// Bounds moves the set's bounds.
func (s *similarity) Bounds(lower, upper []float64) {
	check(s.Dim(), lower, upper)
	l, u := boundsOf(s.set)
	copy(lower, l)
	copy(upper, u)
	s.outward(lower)
	s.outward(upper)
}

// InteriorPoint moves the set's.
func (s *similarity) InteriorPoint(dst []float64) float64 {
	check(s.Dim(), dst)
	room := interiorOf(s.set, dst)
	s.outward(dst)
	return room * s.factor
}

// Rows gives the set's rows, moved, if it has any.
func (s *similarity) Rows() (Rows, bool) {
	r, ok := rowsOf(s.set)
	moved := Rows{A: r.A, Equalities: r.Equalities}
	for k, a := range r.A {
		moved.B = append(moved.B, s.factor*r.B[k]+floats.Dot(a, s.shift))
	}
	return moved, ok
}

func (s *similarity) restrict(box *BoundedBox) (Compact, error) {
	inner := &BoundedBox{&Box{box.Lower(), box.Upper()}}
	s.inward(inner.lower, inner.lower)
	s.inward(inner.upper, inner.upper)
	c, err := restrict(s.set, inner)
	if err != nil {
		return nil, err
	}
	return newSimilarity(c, s.shift, s.factor).(Compact), nil
}
