package cost

import (
	"fmt"

	"cmdpsolve/oracle"
)

// generic is a convex function over a box whose conjugate has no closed form: a
// level method answers for it, with a relative gap of oracle.ConjugateTolerance.
type generic struct {
	domain
	f         oracle.FirstOrder
	conjugate *oracle.BundleConjugate
}

// newGeneric fails where f is not finite on the domain. The domain must hold its
// Lipschitz constant already.
func newGeneric(what string, f oracle.FirstOrder, x domain) (*generic, error) {
	conjugate, err := oracle.NewBoxConjugate(f, x.lower, x.upper)
	if err != nil {
		return nil, fmt.Errorf("cost: %s: %w", what, err)
	}
	return &generic{domain: x, f: f, conjugate: conjugate}, nil
}

// Value returns f(x).
func (c *generic) Value(x []float64) float64 {
	checkDim(c.Dim(), len(x))
	return c.f.Value(x)
}

// Subgradient sets dst to a subgradient of f at x.
func (c *generic) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	c.f.Subgradient(dst, x)
}

// ConjugateSubgradient sets dst to a maximiser of dual·y − f(y) over the domain. It
// starts at near, and makes no promise about ties.
func (c *generic) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	c.conjugate.ConjugateSubgradient(dst, dual, near)
}
