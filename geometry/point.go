package geometry

import (
	"fmt"
	"slices"
)

// Point is the set of one point, a box whose sides have length 0. Closed forms, no
// allocation, exact ties.
type Point struct{ BoundedBox }

// NewPoint returns {at}. It is an error if at is empty or has an entry that is
// not finite.
func NewPoint(at []float64) (*Point, error) {
	if err := vector("point", at); err != nil {
		return nil, err
	}
	at = slices.Clone(at)
	return &Point{BoundedBox{&Box{at, at}}}, nil
}

// Project gives the point.
func (p *Point) Project(dst, x []float64) {
	check(len(p.lower), dst, x)
	copy(dst, p.lower)
}

// MaximizeLinear gives the point.
func (p *Point) MaximizeLinear(dst, dir []float64) {
	check(len(p.lower), dst, dir)
	copy(dst, p.lower)
}

// ProjectFace gives the point.
func (p *Point) ProjectFace(dst, dir, x []float64) {
	check(len(p.lower), dst, dir, x)
	copy(dst, p.lower)
}

// restrict allows the point to miss the box by rounding.
func (p *Point) restrict(box *BoundedBox) (Compact, error) {
	for i, v := range p.lower {
		if slack := 1e-12 * (1 + max(v, -v)); v < box.lower[i]-slack || v > box.upper[i]+slack {
			return nil, fmt.Errorf("geometry: point %v is outside the box in coordinate %d, which goes from %g to "+
				"%g: %w", p.lower, i, box.lower[i], box.upper[i], ErrEmpty)
		}
	}
	return p, nil
}
