package cost

import (
	"errors"
	"fmt"

	"cmdpsolve/geometry"
	"cmdpsolve/internal/scratch"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// A Conjugated function offers its values, its Lipschitz constant and its
// conjugate subgradient on some compact domain, but no subgradient.
type Conjugated interface {
	Dim() int
	Lipschitz() float64
	Value(x []float64) float64
	oracle.Conjugate
}

// NewConjugated makes a cost of a function that comes with its conjugate. That
// is all that a learner calls; the missing subgradient at x, the maximiser of
// dual·x − f*(dual) over duals of norm at most Lipschitz, is found by a level
// method. If f offers Subgradient too it is a [Cost] already, and is returned as it
// is. The cost is safe for concurrent use if f is.
func NewConjugated(f Conjugated) (Cost, error) {
	if f == nil || f.Dim() < 1 {
		return nil, errors.New("cost: conjugated: no function of dimension ≥ 1")
	}
	radius := f.Lipschitz()
	if !finite(radius) || radius < 0 {
		return nil, fmt.Errorf("cost: conjugated: Lipschitz constant %g: want finite and ≥ 0", radius)
	}
	if c, ok := f.(Cost); ok {
		return c, nil
	}
	ball, err := geometry.NewBall(make([]float64, f.Dim()), radius)
	if err != nil {
		return nil, fmt.Errorf("cost: conjugated: %w", err)
	}
	subgradients, err := oracle.NewConjugate(&conjugateFunction{f}, ball)
	if err != nil {
		return nil, fmt.Errorf("cost: conjugated: %w", err)
	}
	return &conjugated{f, subgradients}, nil
}

type conjugated struct {
	Conjugated
	subgradients *oracle.BundleConjugate
}

// Subgradient sets dst to a dual vector that attains f(x), up to
// oracle.ConjugateTolerance.
func (c *conjugated) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	buffer := scratch.Get(len(x))
	defer scratch.Put(buffer)
	copy(*buffer, x)
	clear(dst)
	c.subgradients.ConjugateSubgradient(dst, *buffer, dst)
}

// conjugateFunction is f* as a function of the dual.
type conjugateFunction struct{ f Conjugated }

// Value returns f*(dual).
func (c *conjugateFunction) Value(dual []float64) float64 {
	buffer := scratch.Get(len(dual))
	defer scratch.Put(buffer)
	c.Subgradient(*buffer, dual)
	return floats.Dot(dual, *buffer) - c.f.Value(*buffer)
}

// Subgradient sets dst to the point that attains f*(dual).
func (c *conjugateFunction) Subgradient(dst, dual []float64) {
	buffer := scratch.Get(len(dual))
	defer scratch.Put(buffer)
	clear(*buffer)
	c.f.ConjugateSubgradient(*buffer, dual, *buffer)
	copy(dst, *buffer)
}
