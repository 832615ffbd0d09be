package cost

import "gonum.org/v1/gonum/floats"

// shifted is a cost plus an affine one, whose conjugate is that of the cost,
// moved by the gradient.
type shifted struct {
	domain
	boxed   boxed
	line    *Linear
	scratch *pool
}

// Value returns the sum of both values.
func (c *shifted) Value(x []float64) float64 {
	checkDim(c.Dim(), len(x))
	return c.boxed.Value(x) + c.line.Value(x)
}

// Subgradient sets dst to the sum of both subgradients.
func (c *shifted) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	c.boxed.Subgradient(dst, x)
	floats.Add(dst, c.line.gradient)
}

// ConjugateSubgradient asks the cost at the dual less the gradient.
func (c *shifted) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	buffer := c.scratch.get()
	defer c.scratch.put(buffer)
	moved := *buffer
	floats.SubTo(moved, dual, c.line.gradient)
	c.boxed.ConjugateSubgradient(dst, moved, near)
}
