package cost

import (
	"fmt"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// NewScaled returns weight·cost over a bounded box, with weight ≥ 0. Affine costs
// stay [Affine]; weight 0 gives the linear cost 0. The conjugate is that of the
// cost, so it is as exact and as fast.
func NewScaled(weight float64, cost Cost, domain *geometry.Box) (Cost, error) {
	x, err := newOperands("scaled", []Cost{cost}, domain)
	if err != nil {
		return nil, err
	}
	if !finite(weight) || weight < 0 {
		return nil, fmt.Errorf("cost: scaled: weight %g: want finite and ≥ 0", weight)
	}
	line, curved, err := split([]float64{weight}, []Cost{cost}, x)
	if err != nil {
		return nil, err
	}
	if len(curved) == 0 {
		return line, nil
	}
	if err := finiteValue("scaled", curved[0], x); err != nil {
		return nil, err
	}
	return curved[0], nil
}

// scale returns weight·c for a positive weight.
func scale(weight float64, c Cost) (Cost, error) {
	if weight == 1 {
		return c, nil
	}
	l := weight * c.Lipschitz()
	if !finite(l) {
		return nil, fmt.Errorf("cost: weight %g times the Lipschitz constant %g is too large", weight, c.Lipschitz())
	}
	if s, ok := c.(separated); ok {
		terms := make([]scalar, c.Dim())
		for i, term := range s.scalars() {
			terms[i] = scaledScalar{weight, term}
		}
		return newSeparable("scaled", s.box(), terms)
	}
	multiple := &scaled{cost: c, weight: weight, lipschitz: l, scratch: newPool(c.Dim())}
	if b, ok := c.(boxed); ok {
		return &scaledBoxed{multiple, b.box()}, nil
	}
	return multiple, nil
}

// scaled is weight·cost.
type scaled struct {
	cost      Cost
	weight    float64
	lipschitz float64
	scratch   *pool
}

// scaledBoxed is a multiple of a boxed cost, which is boxed too.
type scaledBoxed struct {
	*scaled
	over domain
}

func (c *scaledBoxed) box() domain { return c.over }

// Dim returns the dimension of the cost.
func (c *scaled) Dim() int { return c.cost.Dim() }

// Lipschitz returns the weight times the constant of the cost.
func (c *scaled) Lipschitz() float64 { return c.lipschitz }

// Value returns the weight times the value of the cost.
func (c *scaled) Value(x []float64) float64 { return c.weight * c.cost.Value(x) }

// Subgradient sets dst to the weight times a subgradient of the cost.
func (c *scaled) Subgradient(dst, x []float64) {
	c.cost.Subgradient(dst, x)
	floats.Scale(c.weight, dst)
}

// ConjugateSubgradient asks the cost at the dual divided by the weight.
func (c *scaled) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	buffer := c.scratch.get()
	defer c.scratch.put(buffer)
	for i, d := range dual {
		(*buffer)[i] = d / c.weight
	}
	c.cost.ConjugateSubgradient(dst, *buffer, near)
}
