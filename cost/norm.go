package cost

import (
	"fmt"
	"math"

	"cmdpsolve/geometry"
)

// NewNorm returns the norm ‖x − center‖_p for p = 1, 2 or math.Inf(1). The
// Lipschitz constant is 1 for p = 2 and ∞; for p = 1 it is the root of the number
// of coordinates that the domain lets vary. The center is copied and may lie
// outside the domain. The conjugate is in closed form for each p.
func NewNorm(p float64, center []float64, domain *geometry.Box) (Cost, error) {
	x, err := newDomain("norm", domain)
	if err != nil {
		return nil, err
	}
	if err := checkVector("norm: center", center, x.Dim()); err != nil {
		return nil, err
	}
	if p == 1 {
		terms := make([]scalar, x.Dim())
		for i, c := range center {
			terms[i] = kink{at: c, left: -1, right: 1}
		}
		return newSeparable("norm", x, terms)
	}
	x.lipschitz = 1
	from := centered{x, append([]float64(nil), center...)}
	switch {
	case p == 2:
		return &euclidean{from}, nil
	case math.IsInf(p, 1):
		return &maximumNorm{from}, nil
	}
	return nil, fmt.Errorf("cost: norm: p = %g: want 1, 2 or infinity", p)
}

// centered is a domain seen from a center.
type centered struct {
	domain
	center []float64
}

// sides returns the ends of coordinate i of the domain, relative to the center.
func (c *centered) sides(i int) (lower, upper float64) {
	return c.lower[i] - c.center[i], c.upper[i] - c.center[i]
}

// pointAt returns coordinate i of the point of the domain at offset z from the
// center. The clamp undoes rounding.
func (c *centered) pointAt(i int, z float64) float64 {
	return clamp(c.center[i]+z, c.lower[i], c.upper[i])
}
