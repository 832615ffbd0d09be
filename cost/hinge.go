package cost

import (
	"fmt"
	"math"
	"slices"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// NewHinge returns max(0, normal·x − offset): by how much x breaks the
// constraint normal·x ≤ offset, in units of the normal. Its Lipschitz constant is
// ‖normal‖₂. The normal must be finite and not zero; it is copied.
func NewHinge(normal []float64, offset float64, domain *geometry.Box) (Cost, error) {
	x, err := newDomain("hinge", domain)
	if err != nil {
		return nil, err
	}
	if err := checkVector("hinge: normal", normal, x.Dim()); err != nil {
		return nil, err
	}
	if !finite(offset) {
		return nil, fmt.Errorf("cost: hinge: offset %g: want finite", offset)
	}
	size, single := floats.Norm(normal, 2), -1
	if size == 0 {
		return nil, fmt.Errorf("cost: hinge: normal is zero")
	}
	for i, a := range normal {
		if math.Abs(a) == size {
			single = i
		}
	}
	// A hinge of one coordinate stays separable, so that sums of hinges do too.
	if single >= 0 && finite(offset/normal[single]) {
		a := normal[single]
		terms := slices.Repeat([]scalar{kink{}}, x.Dim())
		terms[single] = kink{at: offset / a, left: math.Min(a, 0), right: math.Max(a, 0)}
		return newSeparable("hinge", x, terms)
	}
	x, err = x.withLipschitz("hinge", size)
	if err != nil {
		return nil, err
	}
	return &hinge{x, append([]float64(nil), normal...), offset}, nil
}

// hinge is max(0, normal·x − offset) for a normal with several entries.
type hinge struct {
	domain
	normal []float64
	offset float64
}

// Value returns max(0, normal·x − offset).
func (c *hinge) Value(x []float64) float64 {
	checkDim(c.Dim(), len(x))
	return math.Max(0, floats.Dot(c.normal, x)-c.offset)
}

// Subgradient sets dst to the normal where the constraint is broken, else to zero.
func (c *hinge) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	if floats.Dot(c.normal, x) > c.offset {
		copy(dst, c.normal)
		return
	}
	clear(dst)
}

// ConjugateSubgradient writes the hinge as max over λ in [0, 1] of
// λ(normal·x − offset). For a given λ the maximiser is a vertex of the domain in
// direction dual − λ normal, and λ is found among the values where a coordinate of
// that direction vanishes. Coordinates with a zero there are free; they are set by
// moving near along the normal until the constraint holds as λ demands.
func (c *hinge) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	lambda := c.multiplier(dual)
	excess, reach := -c.offset, 0.0
	for i, a := range c.normal {
		if side := c.side(i, dual[i], lambda); side != 0 {
			excess += a * c.vertex(i, side)
		} else if a != 0 {
			l, u := math.Abs(near[i]-c.lower[i]), math.Abs(near[i]-c.upper[i])
			reach = math.Max(reach, math.Max(l, u)/math.Abs(a))
		}
	}
	slope := func(step float64) float64 {
		sum := excess
		for i, a := range c.normal {
			if c.side(i, dual[i], lambda) == 0 {
				sum += a * clamp(near[i]-step*a, c.lower[i], c.upper[i])
			}
		}
		return sum
	}
	step := 0.0
	if excess := slope(0); (excess > 0 && lambda < 1) || (excess < 0 && lambda > 0) {
		step = bisect(-reach, reach, func(step float64) bool { return slope(step) <= 0 })
	}
	for i, a := range c.normal {
		if side := c.side(i, dual[i], lambda); side != 0 {
			dst[i] = c.vertex(i, side)
		} else {
			dst[i] = clamp(near[i]-step*a, c.lower[i], c.upper[i])
		}
	}
}

// multiplier returns the smallest optimal λ: the first of 0, 1 and the zeros of
// the coordinates of dual − λ normal beyond which the vertex satisfies the constraint.
func (c *hinge) multiplier(dual []float64) float64 {
	best := 1.0
	for j := -1; j < len(dual); j++ {
		lambda := 0.0
		if j >= 0 {
			lambda = dual[j] / c.normal[j]
		}
		if !(lambda >= 0 && lambda < best) {
			continue
		}
		excess := -c.offset
		for i, a := range c.normal {
			side := c.side(i, dual[i], lambda)
			if side == 0 {
				side = -a // where the coordinate goes when λ grows
			}
			excess += a * c.vertex(i, side)
		}
		if excess <= 0 {
			best = lambda
		}
	}
	return best
}

// side returns the sign of coordinate i of dual − λ normal, zero up to rounding.
func (c *hinge) side(i int, dual, lambda float64) float64 {
	gap := dual - lambda*c.normal[i]
	if math.Abs(gap) <= slack*math.Max(math.Abs(dual), math.Abs(c.normal[i])) {
		return 0
	}
	return gap
}

// vertex returns the side of the domain that a coordinate of this sign prefers.
func (c *hinge) vertex(i int, sign float64) float64 {
	if sign > 0 {
		return c.upper[i]
	}
	return c.lower[i]
}
