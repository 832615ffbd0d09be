package cost

import (
	"fmt"
	"math"
	"slices"

	"cmdpsolve/geometry"
)

// domain is a bounded box together with the Lipschitz constant that a cost has
// on it: the part that all costs over a box share.
type domain struct {
	lower, upper []float64
	lipschitz    float64
}

// newDomain copies the sides of a box and rejects what is not a bounded box.
func newDomain(what string, box *geometry.Box) (domain, error) {
	if box == nil {
		return domain{}, fmt.Errorf("cost: %s: no domain: want a bounded box", what)
	}
	if box.Dim() == 0 {
		return domain{}, fmt.Errorf("cost: %s: domain of dimension 0: want ≥ 1", what)
	}
	x := domain{lower: box.Lower(), upper: box.Upper()}
	for i := range x.lower {
		if !finite(x.lower[i]) || !finite(x.upper[i]) || !(x.lower[i] <= x.upper[i]) || !finite(x.upper[i]-x.lower[i]) {
			return domain{}, fmt.Errorf("cost: %s: domain side %d is [%g, %g]: want a bounded interval",
				what, i, x.lower[i], x.upper[i])
		}
	}
	return x, nil
}

// withLipschitz returns the domain with the Lipschitz constant set. A constant
// that overflows means that coefficients and domain do not go together.
func (x domain) withLipschitz(what string, l float64) (domain, error) {
	largest := maxMagnitude
	for i := range x.lower { // squared costs are as steep as their domain is wide
		largest = max(largest, min(maxLipschitz, maxMagnitude*max(-x.lower[i], x.upper[i])))
	}
	if !(l <= largest) {
		return domain{}, fmt.Errorf("cost: %s: Lipschitz constant %g on the domain: coefficients are too large", what,
			l)
	}
	x.lipschitz = l
	return x, nil
}

// Dim returns the number of coordinates.
func (x domain) Dim() int { return len(x.lower) }

// Lipschitz returns the Lipschitz constant on the domain.
func (x domain) Lipschitz() float64 { return x.lipschitz }

// box returns the domain itself; costs that have none do not have this method.
func (x domain) box() domain { return x }

// equal reports whether two domains have the same sides.
func (x domain) equal(y domain) bool {
	return slices.Equal(x.lower, y.lower) && slices.Equal(x.upper, y.upper)
}

// checkDim panics unless all lengths are d.
func checkDim(d int, lengths ...int) {
	for _, n := range lengths {
		if n != d {
			panic("cost: slice length does not match dimension")
		}
	}
}

// checkVector returns an error unless v has d finite entries of sane magnitude.
func checkVector(what string, v []float64, d int) error {
	if len(v) != d {
		return fmt.Errorf("cost: %s has length %d: want %d", what, len(v), d)
	}
	for i, c := range v {
		if !finite(c) {
			return fmt.Errorf("cost: %s entry %d is %g: want a number of magnitude at most %g", what, i, c,
				maxMagnitude)
		}
	}
	return nil
}

// checkWeights returns an error unless w has d finite entries ≥ 0.
func checkWeights(what string, w []float64, d int) error {
	if err := checkVector(what, w, d); err != nil {
		return err
	}
	for i, c := range w {
		if c < 0 {
			return fmt.Errorf("cost: %s entry %d is %g: want ≥ 0", what, i, c)
		}
	}
	return nil
}

// maxMagnitude is the largest magnitude of a number that constructors accept: squares
// of such numbers, summed, stay finite.
const maxMagnitude = 1e100

// maxLipschitz is the largest Lipschitz constant on domains whose sides are large, as those of totals without a bound.
const maxLipschitz = 1e120

// finite reports whether a number is one that constructors accept.
func finite(x float64) bool { return math.Abs(x) <= maxMagnitude }

func clamp(x, lo, hi float64) float64 { return math.Min(math.Max(x, lo), hi) }
