package cost

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// separable is a sum of functions of one coordinate each. Its conjugate over a
// box falls apart into one-dimensional ones.
type separable struct {
	domain
	terms []scalar
}

// separated is what a cost offers when it is a sum over coordinates.
type separated interface {
	Cost
	scalars() []scalar
	box() domain
}

// newSeparable computes the Lipschitz constant, which is tight: a convex
// function of one variable is steepest at the ends of its interval.
func newSeparable(what string, x domain, terms []scalar) (Cost, error) {
	steepest := make([]float64, x.Dim())
	for i, term := range terms {
		if x.lower[i] == x.upper[i] {
			continue
		}
		_, right := term.slopes(x.lower[i])
		left, _ := term.slopes(x.upper[i])
		steepest[i] = math.Max(math.Abs(right), math.Abs(left))
	}
	x, err := x.withLipschitz(what, floats.Norm(steepest, 2))
	if err != nil {
		return nil, err
	}
	return &separable{domain: x, terms: terms}, nil
}

// Value returns the sum of the terms.
func (c *separable) Value(x []float64) float64 {
	checkDim(c.Dim(), len(x))
	sum := 0.0
	for i, term := range c.terms {
		sum += term.value(x[i])
	}
	return sum
}

// Subgradient sets dst to the subgradient of smallest norm.
func (c *separable) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	for i, term := range c.terms {
		left, right := term.slopes(x[i])
		dst[i] = clamp(0, left, right)
	}
}

// ConjugateSubgradient sets each coordinate to the point nearest to near among
// those whose subgradients contain the dual, or to the side of the domain where
// the dual points out of it.
func (c *separable) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	for i, term := range c.terms {
		first, last := term.inverse(dual[i])
		dst[i] = clamp(clamp(near[i], first, last), c.lower[i], c.upper[i])
	}
}

func (c *separable) scalars() []scalar { return c.terms }
