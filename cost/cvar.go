package cost

import (
	"fmt"
	"math"

	"cmdpsolve/geometry"
)

// NewCVaR returns the conditional value at risk of a coordinate drawn with the
// given probabilities: the mean of its largest values, those of total probability
// tail. With tail = 1 that is the mean; as tail falls it grows to the maximum.
// It is min_t t + Σ_i p_i max(0, x_i − t)/tail (Rockafellar and Uryasev, 2000).
// Probabilities must be ≥ 0 and sum to 1 within 1e-9, tail must lie in (0, 1].
func NewCVaR(probabilities []float64, tail float64, domain *geometry.Box) (Cost, error) {
	x, err := newDomain("cvar", domain)
	if err != nil {
		return nil, err
	}
	if err := checkProbabilities("cvar: probabilities", probabilities, x.Dim()); err != nil {
		return nil, err
	}
	if !(tail > 0 && tail <= 1) {
		return nil, fmt.Errorf("cost: cvar: tail %g: want in (0, 1]", tail)
	}
	// A gradient is a probability vector with entries of at most caps.
	caps := make([]float64, x.Dim())
	for i, p := range probabilities {
		caps[i] = math.Min(1, p/tail)
	}
	x.lipschitz = longestDistribution(caps)
	return &cvar{x, caps}, nil
}

// cvar is max of q·x over the probability vectors q ≤ caps.
type cvar struct {
	domain
	caps []float64
}

// quantile returns the coordinate above which the caps add up to less than 1,
// and that sum.
func (c *cvar) quantile(x []float64) (at, above float64) {
	at = math.Inf(-1)
	for _, t := range x {
		mass, sum := 0.0, 0.0
		for i, v := range x {
			if v >= t {
				mass += c.caps[i]
			}
			if v > t {
				sum += c.caps[i]
			}
		}
		// The caps may add up to a rounding below 1.
		if t > at && mass >= 1-slack {
			at, above = t, sum
		}
	}
	return at, above
}

// Value returns the mean of the tail.
func (c *cvar) Value(x []float64) float64 {
	checkDim(c.Dim(), len(x))
	at, _ := c.quantile(x)
	sum := at
	for i, v := range x {
		sum += c.caps[i] * math.Max(0, v-at)
	}
	return sum
}

// Subgradient sets dst to the weights of the tail. Coordinates equal to the
// quantile share what is left in proportion to their caps.
func (c *cvar) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	at, above := c.quantile(x)
	tied := 0.0
	for i, v := range x {
		if v == at {
			tied += c.caps[i]
		}
	}
	for i, v := range x {
		switch {
		case v > at:
			dst[i] = c.caps[i]
		case v == at:
			dst[i] = c.caps[i] * math.Max(0, 1-above) / tied
		default:
			dst[i] = 0
		}
	}
}

// ConjugateSubgradient solves for the quantile t: given t, each coordinate is a
// problem of its own, with slope dual_i below t and dual_i − caps_i above.
func (c *cvar) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	least, most := math.Inf(1), math.Inf(-1)
	for i := range c.lower {
		least, most = math.Min(least, c.lower[i]), math.Max(most, c.upper[i])
	}
	t := nearestLevel(least, most, slack,
		func(t float64) float64 {
			slope := -1.0
			for i, d := range dual {
				if t < c.lower[i] {
					slope += c.caps[i]
				} else if t < c.upper[i] {
					slope += clamp(c.snapToCap(i, d), 0, c.caps[i])
				}
			}
			return slope
		},
		func(t float64) float64 {
			pull := 0.0
			for i, d := range dual {
				d = c.snapToCap(i, d)
				first, last := 0 < d && d <= c.caps[i], 0 <= d && d < c.caps[i]
				if c.lower[i] <= t && t < c.upper[i] && ((first && near[i] < t) || (last && near[i] > t)) {
					pull += t - near[i]
				}
			}
			return pull
		})
	for i, d := range dual {
		first, last := c.interval(i, c.snapToCap(i, d), t)
		dst[i] = clamp(near[i], first, last)
	}
}

// snapToCap returns the dual, or exactly 0 or the cap if the dual is that up to
// rounding.
func (c *cvar) snapToCap(i int, dual float64) float64 {
	if snap(dual-c.caps[i]) == 0 {
		return c.caps[i]
	}
	return snap(dual)
}

// interval returns the maximisers of dual·y − caps_i·max(0, y − t) over side i.
func (c *cvar) interval(i int, dual, t float64) (first, last float64) {
	first, last = c.lower[i], c.upper[i]
	middle := clamp(t, first, last)
	if dual > c.caps[i] {
		first = last
	} else if dual > 0 {
		first = middle
	}
	if dual < 0 {
		last = c.lower[i]
	} else if dual < c.caps[i] {
		last = middle
	}
	return first, last
}
