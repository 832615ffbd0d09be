package cost

import (
	"fmt"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// Linear is the affine cost gradient·x + offset. Its Lipschitz constant is
// ‖gradient‖₂. It is an [Affine] cost.
type Linear struct {
	domain
	gradient []float64
	offset   float64
}

// NewLinear returns the cost gradient·x over a bounded box. It copies the
// gradient, and rejects one that is not finite or of another dimension.
func NewLinear(gradient []float64, domain *geometry.Box) (*Linear, error) {
	return NewAffine(gradient, 0, domain)
}

// NewAffine returns the cost gradient·x + offset over a bounded box.
func NewAffine(gradient []float64, offset float64, domain *geometry.Box) (*Linear, error) {
	x, err := newDomain("linear", domain)
	if err != nil {
		return nil, err
	}
	if !finite(offset) {
		return nil, fmt.Errorf("cost: linear: offset %g: want finite", offset)
	}
	return newAffine(gradient, offset, x)
}

func newAffine(gradient []float64, offset float64, x domain) (*Linear, error) {
	if err := checkVector("linear: gradient", gradient, x.Dim()); err != nil {
		return nil, err
	}
	x, err := x.withLipschitz("linear", floats.Norm(gradient, 2))
	if err != nil {
		return nil, err
	}
	return &Linear{domain: x, gradient: append([]float64(nil), gradient...), offset: offset}, nil
}

// Gradient returns a copy of the constant gradient.
func (c *Linear) Gradient() []float64 { return append([]float64(nil), c.gradient...) }

// Offset returns the value at the origin.
func (c *Linear) Offset() float64 { return c.offset }

// Value returns gradient·x + offset.
func (c *Linear) Value(x []float64) float64 {
	checkDim(c.Dim(), len(x))
	value := 0.0 // of few terms: a call of floats.Dot would take longer
	for i, g := range c.gradient {
		value += g * x[i]
	}
	return value + c.offset
}

// Subgradient sets dst to the gradient.
func (c *Linear) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	copy(dst, c.gradient)
}

// ConjugateSubgradient sets each coordinate to its upper side where the dual
// exceeds the gradient, to its lower side where it falls short, and to the point
// nearest to near where they are equal (erratum E-22).
func (c *Linear) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	for i, g := range c.gradient {
		switch {
		case dual[i] > g:
			dst[i] = c.upper[i]
		case dual[i] < g:
			dst[i] = c.lower[i]
		default:
			dst[i] = clamp(near[i], c.lower[i], c.upper[i])
		}
	}
}

// scalars presents the cost as a sum of functions of one coordinate each.
func (c *Linear) scalars() []scalar {
	s := make([]scalar, c.Dim())
	for i, g := range c.gradient {
		s[i] = kink{left: g, right: g}
	}
	s[0] = kink{left: c.gradient[0], right: c.gradient[0], base: c.offset}
	return s
}
