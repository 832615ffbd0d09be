package geometry

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Ball is {x : ‖x − center‖₂ ≤ radius}. Closed forms, no allocation. Its
// maximisers are unique, so ties are exact.
type Ball struct {
	center []float64
	radius float64
}

// NewBall returns the Euclidean ball; radius 0 gives a single point. It is an
// error if the centre is empty or not finite, or the radius negative or not
// finite.
func NewBall(center []float64, radius float64) (*Ball, error) {
	if err := checkBall("ball", center, radius); err != nil {
		return nil, err
	}
	return &Ball{slices.Clone(center), radius}, nil
}

// checkBall returns an error unless centre and radius are those of a ball of some norm.
func checkBall(what string, center []float64, radius float64) error {
	if err := vector(what+" center", center); err != nil {
		return err
	}
	if !(radius >= 0 && radius <= maxMagnitude) {
		return fmt.Errorf("geometry: %s radius %g: want ≥ 0 and finite", what, radius)
	}
	return nil
}

// Dim returns the dimension of the space.
func (b *Ball) Dim() int { return len(b.center) }

// Project moves x to the sphere along its ray from the centre.
func (b *Ball) Project(dst, x []float64) {
	check(len(b.center), dst, x)
	path := radial{center: b.center, toward: x, relative: true, radius: b.radius}
	path.write(dst, path.step(1))
}

// MaximizeLinear gives center + radius·dir/‖dir‖, the centre for a zero
// direction.
func (b *Ball) MaximizeLinear(dst, dir []float64) {
	check(len(b.center), dst, dir)
	length := floats.Norm(dir, 2)
	for i, c := range b.center {
		dst[i] = c
		if length > 0 {
			dst[i] += b.radius * (dir[i] / length)
		}
	}
}

// ProjectFace is MaximizeLinear for a direction that is not zero, and Project
// for zero.
func (b *Ball) ProjectFace(dst, dir, x []float64) {
	check(len(b.center), dst, dir, x)
	if isZero(dir) {
		b.Project(dst, x)
		return
	}
	b.MaximizeLinear(dst, dir)
}

// Bounds gives center ± radius.
func (b *Ball) Bounds(lower, upper []float64) {
	check(len(b.center), lower, upper)
	for i, c := range b.center {
		lower[i], upper[i] = c-b.radius, c+b.radius
	}
}

// InteriorPoint gives the centre and the radius.
func (b *Ball) InteriorPoint(dst []float64) float64 {
	check(len(b.center), dst)
	copy(dst, b.center)
	return b.radius
}
