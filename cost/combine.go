package cost

import (
	"fmt"
	"math"

	"cmdpsolve/geometry"
)

// boxed is a cost whose conjugate is the one over a box, for duals of any length.
// Distances and users' costs are not: they answer only within their Lipschitz
// constant.
type boxed interface {
	Cost
	box() domain
}

// newOperands checks the costs that a combination is built from, and that those
// over a box are over the same one.
func newOperands(what string, costs []Cost, box *geometry.Box) (domain, error) {
	x, err := newDomain(what, box)
	if err != nil {
		return domain{}, err
	}
	if len(costs) == 0 {
		return domain{}, fmt.Errorf("cost: %s of no costs: want at least one", what)
	}
	for k, c := range costs {
		if c == nil {
			return domain{}, fmt.Errorf("cost: %s: cost %d is nil", what, k)
		}
		if c.Dim() != x.Dim() {
			return domain{}, fmt.Errorf("cost: %s: cost %d has dimension %d: want %d", what, k, c.Dim(), x.Dim())
		}
		if b, ok := c.(boxed); ok && !b.box().equal(x) {
			return domain{}, fmt.Errorf("cost: %s: cost %d is built over another domain", what, k)
		}
		if err := checkLipschitz(fmt.Sprintf("%s: cost %d", what, k), c); err != nil {
			return domain{}, err
		}
	}
	return x, nil
}

// checkLipschitz returns an error unless a cost, which may be a user's, has a usable Lipschitz constant.
func checkLipschitz(what string, c Cost) error {
	if l := c.Lipschitz(); !(l >= 0 && l <= maxLipschitz) {
		return fmt.Errorf("cost: %s has the Lipschitz constant %g: want finite and ≥ 0", what, l)
	}
	return nil
}

// finiteValue returns a combination, and rejects one whose values overflow. One point is enough: the
// Lipschitz constant and the sides of the domain are bounded, so that values
// elsewhere differ from this one by less than the largest number.
func finiteValue(what string, c Cost, x domain) (Cost, error) {
	if v := c.Value(x.lower); math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, fmt.Errorf("cost: %s: value %g at the corner %v of the domain: coefficients are too large", what, v,
			x.lower)
	}
	return c, nil
}
