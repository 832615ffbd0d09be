package exact

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// An outerPolyhedron is the polyhedron {y : w_k·y ≥ b_k}, w_k ≥ 0, that holds all attainable
// objectives, as the cone of (y, 1): generators with a positive last entry are its
// corners, the others its directions of recession. It is kept by the double
// description method (Motzkin et al. 1953).
type outerPolyhedron struct {
	dim        int // of y
	rows       [][]float64
	generators []*generator
}

// A generator is an extreme ray, with the set of rows that it lies on.
type generator struct {
	ray       []float64
	active    []bool
	distance  float64 // of a corner from the points, relative to the scale, an upper bound
	euclidean float64 // the same as a Euclidean distance
}

// newOuterPolyhedron returns the cone of all y whatever: it becomes pointed, and has corners,
// with the first cuts along each axis.
func newOuterPolyhedron(dim int) *outerPolyhedron { return &outerPolyhedron{dim: dim} }

// cut intersects the polyhedron with {y : w·y ≥ b}.
func (c *outerPolyhedron) cut(w []float64, b float64) {
	row := append(append([]float64(nil), w...), -b)
	if c.generators == nil {
		c.initialize(row)
		return
	}
	at := len(c.rows)
	c.rows = append(c.rows, row)
	value := make([]float64, len(c.generators))
	var keep []*generator
	for i, g := range c.generators {
		value[i] = floats.Dot(row, g.ray)
		if math.Abs(value[i]) <= 1e-12*c.magnitude(row, g) {
			value[i] = 0
		}
		if value[i] >= 0 {
			keep = append(keep, g)
		}
	}
	for i, p := range c.generators {
		for j, n := range c.generators {
			if value[i] > 0 && value[j] < 0 && c.adjacent(p, n) {
				keep = append(keep, c.combine(p, n, value[i], -value[j]))
			}
		}
	}
	for i, g := range c.generators {
		g.active = append(g.active, value[i] == 0)
	}
	for _, g := range keep {
		for len(g.active) <= at {
			g.active = append(g.active, true) // a new one lies on the new row
		}
	}
	c.generators = keep
}

// initialize collects the first dim rows, which must be along the axes, and starts from
// the corner that they make.
func (c *outerPolyhedron) initialize(row []float64) {
	c.rows = append(c.rows, row)
	if len(c.rows) < c.dim {
		return
	}
	// The last row says that the last entry is not negative.
	c.rows = append(c.rows, axis(c.dim+1, c.dim, 1))
	corner := make([]float64, c.dim+1)
	corner[c.dim] = 1
	for k := range c.dim {
		corner[k] = -c.rows[k][c.dim] / c.rows[k][k]
		g := &generator{ray: axis(c.dim+1, k, 1), active: make([]bool, c.dim+1)}
		for i := range g.active {
			g.active[i] = i != k
		}
		c.generators = append(c.generators, g)
	}
	g := &generator{ray: corner, active: make([]bool, c.dim+1), distance: math.Inf(1), euclidean: math.Inf(1)}
	for i := range c.dim {
		g.active[i] = true
	}
	c.generators = append(c.generators, g)
}

// magnitude is the magnitude against which rounding in row·g is measured.
func (c *outerPolyhedron) magnitude(row []float64, g *generator) float64 {
	sum := 0.0
	for i, v := range row {
		sum += math.Abs(v * g.ray[i])
	}
	return sum
}

// adjacent reports whether two extreme rays span a face: no third one lies on all the
// rows that they share.
func (c *outerPolyhedron) adjacent(p, n *generator) bool {
	shared := 0
	for i, on := range p.active {
		if on && n.active[i] {
			shared++
		}
	}
	if shared < c.dim-1 {
		return false
	}
	for _, g := range c.generators {
		if g == p || g == n {
			continue
		}
		all := true
		for i, on := range p.active {
			if on && n.active[i] && !g.active[i] {
				all = false
				break
			}
		}
		if all {
			return false
		}
	}
	return true
}

// combine returns the ray between p and n on the new row, where they have the values
// above > 0 and −below < 0.
func (c *outerPolyhedron) combine(p, n *generator, above, below float64) *generator {
	g := &generator{ray: make([]float64, c.dim+1), active: make([]bool, len(p.active)), distance: math.Inf(1),
		euclidean: math.Inf(1)}
	floats.AddScaled(g.ray, below, p.ray)
	floats.AddScaled(g.ray, above, n.ray)
	size := g.ray[c.dim]
	if size <= 0 {
		g.ray[c.dim] = 0
		size = floats.Norm(g.ray, math.Inf(1))
	}
	for i := range g.ray {
		g.ray[i] /= size
	}
	for i, on := range p.active {
		g.active[i] = on && n.active[i]
	}
	return g
}

// beside returns the weights of the two rows between which a corner lies, of two objectives; nil of more.
func (c *outerPolyhedron) beside(g *generator) (weights [2][]float64) {
	if c.dim != 2 {
		return weights
	}
	for i, on := range g.active {
		if w := c.rows[i][:c.dim]; on && i != c.dim {
			if weights[0] == nil || w[0] < weights[0][0] {
				weights[0] = w
			}
			if weights[1] == nil || w[0] > weights[1][0] {
				weights[1] = w
			}
		}
	}
	return weights
}

// corners returns the corners.
func (c *outerPolyhedron) corners() [][]float64 {
	var out [][]float64
	for _, g := range c.generators {
		if g.ray[c.dim] > 0 {
			out = append(out, g.ray[:c.dim])
		}
	}
	return out
}

// farthest returns the corner with the largest distance of those that are not taken, or nil.
func (c *outerPolyhedron) farthest(taken map[*generator]bool) *generator {
	var best *generator
	for _, g := range c.generators {
		if g.ray[c.dim] > 0 && !taken[g] && (best == nil || g.distance > best.distance) {
			best = g
		}
	}
	return best
}

// euclideanError returns the largest Euclidean distance of a corner from the points, as far as
// it has been measured, 0 without corners.
func (c *outerPolyhedron) euclideanError() float64 {
	most := 0.0
	for _, g := range c.generators {
		if g.ray[c.dim] > 0 {
			most = max(most, g.euclidean)
		}
	}
	return most
}

// resetDistances makes all distances unknown.
func (c *outerPolyhedron) resetDistances() {
	for _, g := range c.generators {
		g.distance = math.Inf(1)
	}
}
