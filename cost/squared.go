package cost

import (
	"cmp"

	"cmdpsolve/geometry"
)

// NewSquared returns the squared deviation Σ_i weights_i (x_i − center_i)². Its
// Lipschitz constant on the domain is the norm of the largest slopes per
// coordinate, which is tight. Weights must be ≥ 0 and finite; both slices are
// copied.
func NewSquared(center, weights []float64, domain *geometry.Box) (Cost, error) {
	x, err := newDomain("squared", domain)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(checkVector("squared: center", center, x.Dim()),
		checkWeights("squared: weights", weights, x.Dim())); err != nil {
		return nil, err
	}
	terms := make([]scalar, x.Dim())
	for i := range terms {
		terms[i] = quadratic{center: center[i], weight: weights[i]}
	}
	return newSeparable("squared", x, terms)
}
