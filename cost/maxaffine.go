package cost

import (
	"fmt"

	"cmdpsolve/geometry"
)

// NewMaxAffine returns max_j gradients_j·x + offsets_j, for at least one affine
// function; a single one gives an [Affine] cost. The Lipschitz constant is the
// largest norm of a gradient. The conjugate subgradient is a vertex of a linear
// program, solved anew each time so that answers do not depend on what was asked
// before; it allocates, and ties go to any vertex.
func NewMaxAffine(gradients [][]float64, offsets []float64, domain *geometry.Box) (Cost, error) {
	x, err := newDomain("max", domain)
	if err != nil {
		return nil, err
	}
	if len(gradients) == 0 {
		return nil, fmt.Errorf("cost: max of no affine functions: want at least one")
	}
	if err := checkVector("max: offsets", offsets, len(gradients)); err != nil {
		return nil, err
	}
	pieces, costs, steepest := make([]*Linear, len(gradients)), make(maximum, len(gradients)), 0.0
	for j, gradient := range gradients {
		pieces[j], err = newAffine(gradient, offsets[j], x)
		if err != nil {
			return nil, fmt.Errorf("cost: max: piece %d: %w", j, err)
		}
		costs[j] = pieces[j]
		steepest = max(steepest, pieces[j].lipschitz)
	}
	if len(pieces) == 1 {
		return pieces[0], nil
	}
	x, err = x.withLipschitz("max", steepest)
	if err != nil {
		return nil, err
	}
	fallback, err := newGeneric("max", costs, x)
	if err != nil {
		return nil, err
	}
	return &maxAffine{fallback, newEpigraph(x, pieces)}, nil
}

// maxAffine is a maximum of affine functions, with a better conjugate than other maxima.
type maxAffine struct {
	*generic
	program *epigraph
}

// ConjugateSubgradient minimises s − dual·y over the y of the domain and s ≥ every
// piece. Should the simplex method fail for numerical reasons, a level method
// answers.
func (c *maxAffine) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	if !c.program.solve(dst, dual) {
		c.generic.ConjugateSubgradient(dst, dual, near)
	}
}
