package exact

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A cell is a cone of directions, spanned by d unit vectors, with an upper bound
// of F on its unit vectors.
type cell struct {
	edges [][]float64
	bound float64
}

// orthants returns the 2^d cones of fixed signs, which cover all directions.
func orthants(d int) []*cell {
	cells := make([]*cell, 1<<d)
	for i := range cells {
		c := &cell{edges: make([][]float64, d)}
		for j := range d {
			c.edges[j] = make([]float64, d)
			c.edges[j][j] = float64(1 - 2*(i>>j&1))
		}
		cells[i] = c
	}
	return cells
}

// center returns the unit vector c along the mean of the edges, and their least
// inner product with c: the norm of a point of the simplex between the edges is
// at least that, and so is the inner product of c with a unit vector of the cone.
func (c *cell) center() (dir []float64, least float64) {
	dir = make([]float64, len(c.edges))
	for _, v := range c.edges {
		floats.Add(dir, v)
	}
	floats.Scale(1/floats.Norm(dir, 2), dir)
	least = 1
	for _, v := range c.edges {
		least = math.Min(least, floats.Dot(dir, v))
	}
	return dir, least
}

// halves splits the cone at the middle of its longest side.
func (c *cell) halves() (one, two *cell) {
	from, to, cosine := 0, 0, math.Inf(1)
	for i, v := range c.edges {
		for j, w := range c.edges[:i] {
			if x := floats.Dot(v, w); x < cosine {
				from, to, cosine = i, j, x
			}
		}
	}
	middle := make([]float64, len(c.edges))
	floats.AddTo(middle, c.edges[from], c.edges[to])
	floats.Scale(1/floats.Norm(middle, 2), middle)
	one, two = &cell{edges: append([][]float64(nil), c.edges...)}, &cell{edges: append([][]float64(nil), c.edges...)}
	one.edges[from], two.edges[to] = middle, middle
	return one, two
}

func (c *cell) rank() float64 { return c.bound }

// insert puts an item into a list by its rank, the largest last, and the newest last of those that are equal.
func insert[T interface{ rank() float64 }](list []T, item T) []T {
	i, _ := slices.BinarySearchFunc(list, item, func(o, item T) int {
		if o.rank() <= item.rank() {
			return -1
		}
		return 1
	})
	return slices.Insert(list, i, item)
}
