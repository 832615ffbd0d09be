package geometry

import (
	"cmdpsolve/internal/scratch"

	"gonum.org/v1/gonum/floats"
)

// sum is the Minkowski sum of several compact sets.
type sum struct {
	sets []Compact
}

// NewMinkowskiSum returns {x_1 + … + x_n : x_k in set k}. Linear maximisation adds
// the sets' maximisers. Balls are taken together as an inflation and points as a
// translation, so that those sums are as exact as their terms; sums of two or
// more other sets are projected on by the minimum-norm point (see
// FromMaximizer). It is an error if there are no sets or if dimensions differ.
func NewMinkowskiSum(sets ...Compact) (Compact, error) {
	if err := sameDims("Minkowski sum", sets); err != nil {
		return nil, err
	}
	shift, radius := make([]float64, sets[0].Dim()), 0.0
	var rest []Compact
	for _, s := range sets {
		var at []float64
		switch s := s.(type) {
		case *Point:
			at = s.lower
		case *Ball:
			at = s.center
			radius += s.radius
		default:
			rest = append(rest, s)
			continue
		}
		floats.Add(shift, at)
	}
	if len(rest) == 0 {
		return NewBall(shift, radius)
	}
	total := rest[0]
	if len(rest) > 1 {
		total = newExtreme(&sum{sets: rest})
	}
	if radius == 0 && floats.Norm(shift, 2) == 0 {
		return total, nil
	}
	moved, err := NewTranslate(total, shift)
	if err != nil {
		return nil, err
	}
	inflated, err := NewInflate(moved, radius)
	if err != nil {
		return nil, err
	}
	return inflated.(Compact), nil
}

func (s *sum) Dim() int { return s.sets[0].Dim() }

// MaximizeLinear adds the maximisers of the terms.
func (s *sum) MaximizeLinear(dst, dir []float64) {
	check(s.Dim(), dst, dir)
	next := scratch.Get(len(dst))
	s.sets[0].MaximizeLinear(dst, dir)
	for _, t := range s.sets[1:] {
		t.MaximizeLinear(*next, dir)
		floats.Add(dst, *next)
	}
	scratch.Put(next)
}
