package costtest

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// point draws a point of the domain: mostly inside, sometimes with coordinates on
// the sides, sometimes a corner.
func (t *trial) point() []float64 {
	x := make([]float64, t.dim)
	onSide := []float64{0, 0, 0.3, 1}[t.rng.IntN(4)]
	for i := range x {
		x[i] = t.lower[i] + t.rng.Float64()*(t.upper[i]-t.lower[i])
		if t.rng.Float64() < onSide {
			x[i] = t.lower[i]
			if t.rng.IntN(2) == 0 {
				x[i] = t.upper[i]
			}
		}
	}
	return x
}

// inside draws a point of the interior of the domain.
func (t *trial) inside() []float64 {
	x := make([]float64, t.dim)
	for i := range x {
		x[i] = t.lower[i] + (0.001+0.998*t.rng.Float64())*(t.upper[i]-t.lower[i])
	}
	return x
}

// beside draws any point of the domain, or one at a random small step from x.
func (t *trial) beside(x []float64) []float64 {
	y := t.point()
	step := math.Pow(10, math.Min(0, 6-12*t.rng.Float64()))
	for i := range y {
		y[i] = math.Min(math.Max(x[i]+step*(y[i]-x[i]), t.lower[i]), t.upper[i])
	}
	return y
}

// near draws a point to resolve ties towards, not always in the domain.
func (t *trial) near() []float64 {
	x := t.point()
	if t.rng.IntN(3) == 0 {
		for i := range x {
			x[i] += (t.upper[i] - t.lower[i] + 1) * t.rng.NormFloat64()
		}
	}
	return x
}

// dual draws a dual vector of norm at most DualRadius: random ones, axes,
// subgradients (where ties are), zero, and vectors of full length.
func (t *trial) dual() []float64 {
	dual := make([]float64, t.dim)
	switch t.rng.IntN(8) {
	case 0:
		return dual
	case 1, 2, 3:
		t.Cost.Subgradient(dual, t.inside())
	case 4:
		dual[t.rng.IntN(t.dim)] = t.DualRadius * float64(1-2*t.rng.IntN(2))
	default:
		for i := range dual {
			dual[i] = t.rng.NormFloat64()
		}
		length := floats.Norm(dual, 2)
		radius := t.DualRadius
		if t.rng.IntN(2) == 0 {
			radius *= t.rng.Float64()
		}
		floats.Scale(radius/length, dual)
	}
	if length := floats.Norm(dual, 2); length > t.DualRadius {
		floats.Scale(t.DualRadius/length, dual)
	}
	return dual
}

// conjugate calls the conjugate subgradient with a fresh destination.
func (t *trial) conjugate(dual, near []float64) []float64 {
	dst := make([]float64, t.dim)
	t.Cost.ConjugateSubgradient(dst, dual, near)
	return dst
}

// subgradient calls the subgradient with a fresh destination.
func (t *trial) subgradient(x []float64) []float64 {
	dst := make([]float64, t.dim)
	t.Cost.Subgradient(dst, x)
	return dst
}

// within reports whether a ≤ b up to the tolerance, relative to the scale; it is
// false for NaN.
func (t *trial) within(a, b, scale float64) bool {
	return a <= b+t.Tolerance*(1+math.Abs(scale))
}

// size is the size of the numbers that make up dual·x − f(x), a sum of which can
// be no more exact.
func (t *trial) size(dual, x []float64) float64 {
	return math.Abs(t.Cost.Value(x)) + (floats.Norm(dual, 2)+t.Cost.Lipschitz())*floats.Norm(x, 2)
}
