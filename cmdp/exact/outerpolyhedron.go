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

// A generator is an extreme ray, with the rows that it lies on.
type generator struct {
	ray      []float64
	active   []int32   // rows, ascending
	value    float64   // in the last row
	distance float64   // of a corner from the points, relative to the scale, an upper bound
	behind   []float64 // the same in each objective: how far a mixture of the points stays behind; nil before
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
	at := int32(len(c.rows))
	c.rows = append(c.rows, row)
	lost := make([]bool, len(c.rows)) // rows of generators beyond the new one
	var keep []*generator
	for _, g := range c.generators {
		g.value = floats.Dot(row, g.ray)
		if math.Abs(g.value) <= 1e-12*c.magnitude(row, g) {
			g.value = 0
		}
		if g.value >= 0 {
			keep = append(keep, g)
			continue
		}
		for _, i := range g.active {
			lost[i] = true
		}
	}
	near := c.sharing(lost)
	for _, p := range near {
		for _, n := range near {
			if p.value > 0 && n.value < 0 && adjacent(p, n, near, c.dim) {
				keep = append(keep, c.combine(p, n))
			}
		}
	}
	for _, g := range keep {
		if g.value == 0 { // new ones too
			g.active = append(g.active, at)
		}
	}
	c.generators = keep
}

// sharing returns the generators that may span a face with one whose rows are among those given, or lie on it.
func (c *outerPolyhedron) sharing(rows []bool) (near []*generator) {
	for _, g := range c.generators {
		n := 0
		for _, i := range g.active {
			if rows[i] {
				n++
			}
		}
		if n >= c.dim-1 {
			near = append(near, g)
		}
	}
	return near
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
		g := &generator{ray: axis(c.dim+1, k, 1)}
		for i := range c.dim + 1 {
			if i != k {
				g.active = append(g.active, int32(i))
			}
		}
		c.generators = append(c.generators, g)
	}
	g := &generator{ray: corner, distance: math.Inf(1)}
	for i := range c.dim {
		g.active = append(g.active, int32(i))
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

// adjacent reports whether two extreme rays of a cone in dim+1 dimensions span a face: no third one lies on all the
// rows that they share. Those that lie on dim-1 of them or more are among the others.
func adjacent(p, n *generator, others []*generator, dim int) bool {
	shared := common(p.active, n.active)
	if len(shared) < dim-1 {
		return false
	}
	for _, g := range others {
		if g != p && g != n && len(common(shared, g.active)) == len(shared) {
			return false
		}
	}
	return true
}

// common returns what two ascending lists have in common.
func common(a, b []int32) (both []int32) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			both = append(both, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return both
}

// combine returns the ray between p and n on the new row, in which p has a value above 0 and n one below.
func (c *outerPolyhedron) combine(p, n *generator) *generator {
	g := &generator{ray: make([]float64, c.dim+1), active: common(p.active, n.active), distance: math.Inf(1)}
	floats.AddScaled(g.ray, -n.value, p.ray)
	floats.AddScaled(g.ray, p.value, n.ray)
	size := g.ray[c.dim]
	if size <= 0 {
		g.ray[c.dim] = 0
		size = floats.Norm(g.ray, math.Inf(1))
	}
	for i := range g.ray {
		g.ray[i] /= size
	}
	return g
}

// beside returns the weights of the two rows between which a corner lies, of two objectives; nil of more.
func (c *outerPolyhedron) beside(g *generator) (weights [2][]float64) {
	if c.dim != 2 {
		return weights
	}
	for _, i := range g.active {
		if w := c.rows[i][:c.dim]; int(i) != c.dim {
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

// error returns the largest size of what the points stay behind a corner, +Inf if one has not been measured, 0 without
// corners.
func (c *outerPolyhedron) error(size func(behind []float64) float64) float64 {
	most := 0.0
	for _, g := range c.generators {
		switch {
		case g.ray[c.dim] <= 0:
		case g.behind == nil:
			return math.Inf(1)
		default:
			most = max(most, size(g.behind))
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
