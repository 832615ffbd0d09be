package geometry

import (
	"fmt"
	"math"
	"slices"
)

// Simplex is {x ≥ 0 : Σ x_i = total}. Closed forms, no allocation, exact ties.
type Simplex struct {
	dim   int
	total float64
}

// NewSimplex returns the simplex of non-negative vectors with the given sum; total
// 1 gives the probability vectors. It is an error if dim < 1 or if total is
// negative or not finite.
func NewSimplex(dim int, total float64) (*Simplex, error) {
	if dim < 1 || dim > maxDim || !(total >= 0 && total <= maxMagnitude) {
		return nil, fmt.Errorf("geometry: simplex of dimension %d and total %g: want dimension 1 to %d and a finite "+
			"total ≥ 0", dim, total, maxDim)
	}
	return &Simplex{dim, total}, nil
}

// Dim returns the dimension of the space.
func (s *Simplex) Dim() int { return s.dim }

// Project finds the threshold τ of max(x − τ, 0) by Michelot's finite method.
func (s *Simplex) Project(dst, x []float64) {
	check(s.dim, dst, x)
	soft := threshold{x: x}
	base, tau := soft.find(s.total)
	for i, v := range x {
		dst[i] = math.Max(v-base-tau, 0)
	}
}

// MaximizeLinear gives the first vertex with the largest entry.
func (s *Simplex) MaximizeLinear(dst, dir []float64) {
	check(s.dim, dst, dir)
	best := 0
	for i, v := range dir {
		if v > dir[best] {
			best = i
		}
	}
	clear(dst)
	dst[best] = s.total
}

// ProjectFace projects on the simplex of the coordinates with the largest entry.
func (s *Simplex) ProjectFace(dst, dir, x []float64) {
	check(s.dim, dst, dir, x)
	most := slices.Max(dir)
	soft := threshold{x: x, mask: dir, keep: most}
	base, tau := soft.find(s.total)
	for i, v := range x {
		dst[i] = 0
		if dir[i] == most {
			dst[i] = math.Max(v-base-tau, 0)
		}
	}
}

// Bounds gives [0, total] in every coordinate.
func (s *Simplex) Bounds(lower, upper []float64) {
	check(s.dim, lower, upper)
	for i := range lower {
		lower[i], upper[i] = 0, s.total
		if s.dim == 1 {
			lower[i] = s.total
		}
	}
}

// InteriorPoint gives the middle; a simplex has no interior, so the radius is 0.
func (s *Simplex) InteriorPoint(dst []float64) float64 {
	check(s.dim, dst)
	for i := range dst {
		dst[i] = s.total / float64(s.dim)
	}
	return 0
}

// Rows gives the sum and the signs.
func (s *Simplex) Rows() (Rows, bool) {
	r := Rows{A: [][]float64{make([]float64, s.dim)}, B: []float64{s.total}, Equalities: 1}
	for i := range s.dim {
		r.A[0][i] = 1
		a := make([]float64, s.dim)
		a[i] = -1
		r.A, r.B = append(r.A, a), append(r.B, 0)
	}
	return r, true
}

// threshold looks for the τ at which Σ max(v_i − τ, 0) is a given total, over the
// coordinates where mask equals keep, v being x or |x|.
type threshold struct {
	x, mask  []float64
	keep     float64
	absolute bool
}

func (t *threshold) value(i int) (v float64, ok bool) {
	v = t.x[i]
	if t.absolute {
		v = math.Abs(v)
	}
	return v, t.mask == nil || t.mask[i] == t.keep
}

// find begins below the answer with all coordinates, and leaves out those below τ
// until none is: at most one round per coordinate. It returns τ as base + tau, where
// base is the largest value: differences to that keep far points exact.
func (t *threshold) find(total float64) (base, tau float64) {
	base, tau = math.Inf(-1), math.Inf(-1)
	for i := range t.x {
		if v, ok := t.value(i); ok {
			base = math.Max(base, v)
		}
	}
	for {
		sum, n := 0.0, 0
		for i := range t.x {
			if v, ok := t.value(i); ok && v-base > tau {
				sum += v - base
				n++
			}
		}
		next := (sum - total) / float64(n)
		if n == 0 || next <= tau {
			return base, tau
		}
		tau = next
	}
}
