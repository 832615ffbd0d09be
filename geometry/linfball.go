package geometry

import "fmt"

// NewLInfBall returns the ball of the maximum norm, {x : |x_i − center_i| ≤ radius},
// which is a box. It is an error if the centre is empty or not finite, or the
// radius negative or not finite.
func NewLInfBall(center []float64, radius float64) (*BoundedBox, error) {
	if err := vector("l∞ ball center", center); err != nil {
		return nil, err
	}
	if !(radius >= 0 && radius <= maxMagnitude) {
		return nil, fmt.Errorf("geometry: l∞ ball radius %g: want ≥ 0 and finite", radius)
	}
	b := &Box{make([]float64, len(center)), make([]float64, len(center))}
	for i, c := range center {
		b.lower[i], b.upper[i] = c-radius, c+radius
	}
	return b.Bounded()
}
