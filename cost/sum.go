package cost

import (
	"cmdpsolve/geometry"
	"cmdpsolve/internal/scratch"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// NewSum returns Σ_k weights_k costs_k over a bounded box, with weights ≥ 0. Costs
// that are sums over coordinates (linear, coordinate, norm with p = 1, squared,
// huber, hinges of one coordinate, and their sums and multiples) add up to one
// with an exact conjugate and a tight Lipschitz constant, affine costs to an
// [Affine] one, and affine costs and one other shift its conjugate; for all else
// a level method answers. Costs built over a box must be built over this one.
func NewSum(weights []float64, costs []Cost, domain *geometry.Box) (Cost, error) {
	x, err := newOperands("sum", costs, domain)
	if err != nil {
		return nil, err
	}
	if err := checkWeights("sum: weights", weights, len(costs)); err != nil {
		return nil, err
	}
	total, err := newSum(weights, costs, x)
	if err != nil {
		return nil, err
	}
	return finiteValue("sum", total, x)
}

func newSum(weights []float64, costs []Cost, x domain) (Cost, error) {
	line, curved, err := split(weights, costs, x)
	if err != nil {
		return nil, err
	}
	if len(curved) == 0 {
		return line, nil
	}
	if flat := line.lipschitz == 0 && line.offset == 0; flat && len(curved) == 1 {
		return curved[0], nil
	}
	if terms := coordinatewise(line, curved); terms != nil {
		return newSeparable("sum", x, terms)
	}
	lipschitz := line.lipschitz
	for _, c := range curved {
		lipschitz += c.Lipschitz()
	}
	x, err = x.withLipschitz("sum", lipschitz)
	if err != nil {
		return nil, err
	}
	if _, ok := curved[0].(boxed); ok && len(curved) == 1 {
		return newTilted(curved[0], 1, line, lipschitz), nil
	}
	return newGeneric("sum", &sum{line, curved}, x)
}

// split adds up the affine costs, and scales the others by their weights, leaving
// out those of weight 0.
func split(weights []float64, costs []Cost, x domain) (line *Linear, curved []Cost, err error) {
	gradient, offset := make([]float64, x.Dim()), 0.0
	for k, c := range costs {
		w := weights[k]
		if w == 0 {
			continue
		}
		if a, ok := c.(Affine); ok {
			floats.AddScaled(gradient, w, a.Gradient())
			offset += w * a.Offset()
			continue
		}
		s, err := scale(w, c)
		if err != nil {
			return nil, nil, err
		}
		curved = append(curved, s)
	}
	line, err = newAffine(gradient, offset, x)
	return line, curved, err
}

// coordinatewise returns the terms of a sum of separated costs, or nil if one of
// them is not.
func coordinatewise(line *Linear, curved []Cost) []scalar {
	terms := make([]scalar, line.Dim())
	for i, s := range line.scalars() {
		terms[i] = scalarSum{terms: []scalar{s}, lower: line.lower[i], upper: line.upper[i]}
	}
	for _, c := range curved {
		s, ok := c.(separated)
		if !ok {
			return nil
		}
		for i, term := range s.scalars() {
			total := terms[i].(scalarSum)
			total.terms = append(total.terms, term)
			terms[i] = total
		}
	}
	return terms
}

// sum is an affine cost plus others.
type sum struct {
	line   *Linear
	curved []Cost
}

var _ oracle.FirstOrder = (*sum)(nil)

// Value returns the sum of the values.
func (s *sum) Value(x []float64) float64 {
	total := s.line.Value(x)
	for _, c := range s.curved {
		total += c.Value(x)
	}
	return total
}

// Subgradient adds up subgradients.
func (s *sum) Subgradient(dst, x []float64) {
	term, total := scratch.Get(len(dst)), scratch.Get(len(dst))
	defer scratch.Put(term)
	defer scratch.Put(total)
	copy(*total, s.line.gradient)
	for _, c := range s.curved {
		c.Subgradient(*term, x)
		floats.Add(*total, *term)
	}
	copy(dst, *total)
}
