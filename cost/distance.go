package cost

import (
	"errors"
	"math"

	"cmdpsolve/geometry"
	"cmdpsolve/internal/scratch"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// Distance is the Euclidean distance to a compact convex set, the form in which
// a target set enters a learner. Its Lipschitz constant is 1, and its conjugate
// at a dual of norm at most 1 is the support function of the set. Longer duals
// are not answered for: their conjugate is larger than the support function and
// depends on the domain (erratum E-29).
type Distance struct {
	set   geometry.Compact
	faces oracle.FaceProjector // nil where the set does not resolve ties
	box   bool                 // projections move each coordinate by itself
	size  float64              // of the numbers of the set, at most 1
}

// NewDistance returns the distance to a set. Where the set is an
// [oracle.FaceProjector], ties of the conjugate are resolved towards the given
// point. A target without bounds must first be intersected with the box of
// possible returns (erratum E-05). Methods do not allocate once warm, as far as
// those of the set do not.
func NewDistance(set geometry.Compact) (*Distance, error) {
	if set == nil {
		return nil, errors.New("cost: distance: no set")
	}
	if set.Dim() < 1 {
		return nil, errors.New("cost: distance: set of dimension 0: want ≥ 1")
	}
	faces, _ := set.(oracle.FaceProjector)
	_, box := set.(*geometry.BoundedBox)
	c := &Distance{set: set, faces: faces, box: box, size: 1}
	if b, ok := set.(geometry.Bounder); ok {
		lower, upper := make([]float64, set.Dim()), make([]float64, set.Dim())
		b.Bounds(lower, upper)
		c.size = min(1, max(floats.Norm(lower, math.Inf(1)), floats.Norm(upper, math.Inf(1))))
	}
	return c, nil
}

// Dim returns the dimension of the set.
func (c *Distance) Dim() int { return c.set.Dim() }

// Lipschitz returns 1.
func (c *Distance) Lipschitz() float64 { return 1 }

// Set returns the set.
func (c *Distance) Set() geometry.Compact { return c.set }

// Value returns the distance of x to the set.
func (c *Distance) Value(x []float64) float64 {
	checkDim(c.Dim(), len(x))
	buffer := scratch.Get(c.Dim())
	defer scratch.Put(buffer)
	projection := *buffer
	c.set.Project(projection, x)
	floats.Sub(projection, x)
	return floats.Norm(projection, 2)
}

// Subgradient sets dst to the unit vector from the set to x, and to zero at
// points of the set.
func (c *Distance) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	buffer := scratch.Get(c.Dim())
	defer scratch.Put(buffer)
	projection := *buffer
	c.set.Project(projection, x)
	floats.SubTo(projection, x, projection)
	// A projection is only as exact as rounding allows: a difference below that
	// has no meaningful direction. In a box no coordinate is rounded to the size of another.
	size := floats.Norm(projection, 2)
	if size == 0 || !c.box && size <= 1e-12*(c.size+floats.Norm(x, 2)) {
		clear(dst)
		return
	}
	for i := range dst {
		dst[i] = projection[i] / size
	}
}

// ConjugateSubgradient sets dst to a support point of the set in direction dual,
// the one nearest to near where the set resolves ties.
func (c *Distance) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	if c.faces != nil {
		c.faces.ProjectFace(dst, dual, near)
		return
	}
	c.set.MaximizeLinear(dst, dual)
}
