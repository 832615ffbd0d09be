package cost

import (
	"fmt"
	"math"
	"slices"

	"cmdpsolve/geometry"
	"cmdpsolve/internal/scratch"
)

// NewLogSumExp returns temperature·log Σ_i exp(x_i/temperature), a smooth
// maximum: it exceeds the largest coordinate by at most temperature·log d. The
// temperature must be positive and within 1e-9 and 1e6 times the largest magnitude
// below [geometry.NoSide] of a side of the domain: colder is the maximum and warmer the mean, but for rounding.
func NewLogSumExp(temperature float64, domain *geometry.Box) (Cost, error) {
	x, err := newDomain("logsumexp", domain)
	if err != nil {
		return nil, err
	}
	return newLogSumExp("logsumexp", make([]float64, x.Dim()), temperature, x)
}

// newLogSumExp bounds the Lipschitz constant by the gradients on the domain,
// which are probability vectors whose entry i is largest where x_i is at its upper
// and all others are at their lower side. For two coordinates that is tight.
func newLogSumExp(what string, logWeight []float64, temperature float64, x domain) (Cost, error) {
	if !finite(temperature) || temperature <= 0 {
		return nil, fmt.Errorf("cost: %s: temperature %g: want positive and finite", what, temperature)
	}
	far := 0.0
	for _, side := range slices.Concat(x.lower, x.upper) {
		if a := math.Abs(side); a < geometry.NoSide {
			far = math.Max(far, a)
		}
	}
	// Outside these bounds exponentials and logarithms lose their digits.
	if far > 0 && !(temperature >= 1e-9*far && temperature <= 1e6*far) {
		return nil, fmt.Errorf("cost: %s: temperature %g: want within 1e-9 and 1e6 times %g, the largest magnitude "+
			"in the domain",
			what, temperature, far)
	}
	c := &logSumExp{domain: x, logWeight: logWeight, temperature: temperature}
	largest := make([]float64, x.Dim())
	corner := append([]float64(nil), x.lower...)
	for i := range corner {
		corner[i] = x.upper[i]
		largest[i] = c.share(i, x.upper[i], c.level(corner))
		corner[i] = x.lower[i]
	}
	c.lipschitz = longestDistribution(largest)
	return c, nil
}

// logSumExp is temperature·log Σ_i exp(logWeight_i + x_i/temperature).
type logSumExp struct {
	domain
	logWeight   []float64
	temperature float64
}

// level returns the logarithm of the sum.
func (c *logSumExp) level(x []float64) float64 {
	most := math.Inf(-1)
	for i, w := range c.logWeight {
		most = math.Max(most, w+x[i]/c.temperature)
	}
	sum := 0.0
	for i, w := range c.logWeight {
		sum += math.Exp(w + x[i]/c.temperature - most)
	}
	return most + math.Log(sum)
}

// share returns coordinate i of the gradient.
func (c *logSumExp) share(i int, x, level float64) float64 {
	return math.Exp(c.logWeight[i] + x/c.temperature - level)
}

// Value returns the smooth maximum.
func (c *logSumExp) Value(x []float64) float64 {
	checkDim(c.Dim(), len(x))
	return c.temperature * c.level(x)
}

// Subgradient sets dst to the gradient, a probability vector.
func (c *logSumExp) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	level := c.level(x)
	for i, v := range x {
		dst[i] = c.share(i, v, level)
	}
}

// ConjugateSubgradient solves for the logarithm of the sum: given that, each
// coordinate has the gradient equal to its dual or rests on a side.
func (c *logSumExp) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	buffer := scratch.Get(c.Dim())
	defer scratch.Put(buffer)
	// At level s, coordinate i has the gradient dual_i at temperature·(s + shift_i).
	shift, excess := *buffer, -1.0
	for i, d := range dual {
		excess += math.Max(d, 0)
		shift[i] = math.Inf(-1)
		if d > 0 {
			shift[i] = math.Log(d) - c.logWeight[i]
		}
	}
	// Sides add what differs from the dual, so that the slope is exactly zero where
	// no side is met and the dual is a probability vector.
	excess = snap(excess)
	level := nearestLevel(c.level(c.lower), c.level(c.upper), 0,
		func(level float64) float64 {
			slope := excess
			for i, d := range dual {
				d = math.Max(d, 0)
				switch free := c.temperature * (level + shift[i]); {
				case free > c.upper[i]:
					slope += math.Min(0, c.share(i, c.upper[i], level)-d)
				case free < c.lower[i]:
					slope += math.Max(0, c.share(i, c.lower[i], level)-d)
				}
			}
			return slope
		},
		func(level float64) float64 {
			pull := 0.0
			for i := range dual {
				if free := c.temperature * (level + shift[i]); c.lower[i] <= free && free < c.upper[i] {
					pull += free - near[i]
				}
			}
			return pull
		})
	for i, d := range dual {
		if d == 0 && math.IsInf(c.logWeight[i], -1) {
			dst[i] = clamp(near[i], c.lower[i], c.upper[i])
			continue
		}
		dst[i] = clamp(c.temperature*(level+shift[i]), c.lower[i], c.upper[i])
	}
}
