package cost

import (
	"fmt"

	"cmdpsolve/geometry"
	"cmdpsolve/internal/scratch"

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
	total, err := newSum([]float64{weight}, []Cost{cost}, x)
	if err != nil {
		return nil, err
	}
	return finiteValue("scaled", total, x)
}

// scale returns weight·c for a positive weight.
func scale(weight float64, c Cost) (Cost, error) {
	if weight == 1 {
		return c, nil
	}
	l := weight * c.Lipschitz()
	if !(l <= maxLipschitz) {
		return nil, fmt.Errorf("cost: weight %g times the Lipschitz constant %g is too large", weight, c.Lipschitz())
	}
	if s, ok := c.(separated); ok {
		terms := make([]scalar, c.Dim())
		for i, term := range s.scalars() {
			terms[i] = scaledScalar{weight, term}
		}
		return newSeparable("scaled", s.box(), terms)
	}
	return newTilted(c, weight, nil, l), nil
}

// tilted is weight·cost plus an affine cost, or none if line is nil. Its conjugate is that of
// the cost at the dual, less the gradient, divided by the weight.
type tilted struct {
	cost      Cost
	weight    float64
	line      *Linear
	lipschitz float64
}

// tiltedBoxed is a tilted cost that is boxed.
type tiltedBoxed struct {
	*tilted
	over domain
}

func (c *tiltedBoxed) box() domain { return c.over }

// newTilted returns a boxed cost if c is one.
func newTilted(c Cost, weight float64, line *Linear, lipschitz float64) Cost {
	t := &tilted{c, weight, line, lipschitz}
	if b, ok := c.(boxed); ok {
		return &tiltedBoxed{t, b.box()}
	}
	return t
}

// Dim returns the dimension of the cost.
func (c *tilted) Dim() int { return c.cost.Dim() }

// Lipschitz returns the weight times the constant of the cost, plus that of the affine cost.
func (c *tilted) Lipschitz() float64 { return c.lipschitz }

// Value returns the weight times the value of the cost, plus that of the affine cost.
func (c *tilted) Value(x []float64) float64 {
	value := c.weight * c.cost.Value(x)
	if c.line != nil {
		value += c.line.Value(x)
	}
	return value
}

// Subgradient sets dst to the weight times a subgradient of the cost, plus the gradient.
func (c *tilted) Subgradient(dst, x []float64) {
	c.cost.Subgradient(dst, x)
	floats.Scale(c.weight, dst)
	if c.line != nil {
		floats.Add(dst, c.line.gradient)
	}
}

// ConjugateSubgradient asks the cost.
func (c *tilted) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	buffer := scratch.Get(c.Dim())
	defer scratch.Put(buffer)
	copy(*buffer, dual)
	if c.line != nil {
		floats.Sub(*buffer, c.line.gradient)
	}
	for i := range *buffer {
		(*buffer)[i] /= c.weight
	}
	c.cost.ConjugateSubgradient(dst, *buffer, near)
}
