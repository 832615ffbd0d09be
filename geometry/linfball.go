package geometry

// NewLInfBall returns the ball of the maximum norm, {x : |x_i − center_i| ≤ radius},
// which is a box. It is an error if the centre is empty or not finite, or the
// radius negative or not finite.
func NewLInfBall(center []float64, radius float64) (*BoundedBox, error) {
	if err := checkBall("l∞ ball", center, radius); err != nil {
		return nil, err
	}
	b := &Box{make([]float64, len(center)), make([]float64, len(center))}
	for i, c := range center {
		b.lower[i], b.upper[i] = c-radius, c+radius
	}
	return b.Bounded()
}
