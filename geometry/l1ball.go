package geometry

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// L1Ball is {x : Σ|x_i − center_i| ≤ radius}. Closed forms, no allocation, exact
// ties.
type L1Ball struct {
	center []float64
	radius float64
}

// NewL1Ball returns the ball of the sum norm. It is an error if the centre is empty
// or not finite, or the radius negative or not finite.
func NewL1Ball(center []float64, radius float64) (*L1Ball, error) {
	if err := checkBall("l1 ball", center, radius); err != nil {
		return nil, err
	}
	return &L1Ball{slices.Clone(center), radius}, nil
}

// Dim returns the dimension of the space.
func (b *L1Ball) Dim() int { return len(b.center) }

// Project shrinks the differences to the centre by a threshold.
func (b *L1Ball) Project(dst, x []float64) {
	check(len(b.center), dst, x)
	sum := 0.0
	for i, c := range b.center {
		dst[i] = x[i] - c
		sum += math.Abs(dst[i])
	}
	base, tau := 0.0, 0.0
	if sum > b.radius {
		soft := threshold{x: dst, absolute: true}
		base, tau = soft.find(b.radius)
	}
	for i, c := range b.center {
		dst[i] = c + math.Copysign(math.Max(math.Abs(dst[i])-base-tau, 0), dst[i])
	}
}

// MaximizeLinear gives the vertex on the axis of the first largest entry, the centre
// for a zero direction.
func (b *L1Ball) MaximizeLinear(dst, dir []float64) {
	check(len(b.center), dst, dir)
	best := 0
	for i, v := range dir {
		if math.Abs(v) > math.Abs(dir[best]) {
			best = i
		}
	}
	copy(dst, b.center)
	if dir[best] != 0 {
		dst[best] += math.Copysign(b.radius, dir[best])
	}
}

// ProjectFace projects on the simplex of the vertices on the axes of largest entry.
func (b *L1Ball) ProjectFace(dst, dir, x []float64) {
	check(len(b.center), dst, dir, x)
	most := floats.Norm(dir, math.Inf(1))
	if most == 0 {
		b.Project(dst, x)
		return
	}
	for i, c := range b.center { // distances along the signs of dir; a mark elsewhere
		dst[i] = math.Copysign(1, dir[i]) * (x[i] - c)
		if math.Abs(dir[i]) != most {
			dst[i] = math.Inf(-1)
		}
	}
	soft := threshold{x: dst}
	base, tau := soft.find(b.radius)
	for i, c := range b.center {
		dst[i] = c + math.Copysign(1, dir[i])*math.Max(dst[i]-base-tau, 0)
	}
}

// Bounds gives center ± radius.
func (b *L1Ball) Bounds(lower, upper []float64) {
	check(len(b.center), lower, upper)
	for i, c := range b.center {
		lower[i], upper[i] = c-b.radius, c+b.radius
	}
}

// InteriorPoint gives the centre and radius/√d.
func (b *L1Ball) InteriorPoint(dst []float64) float64 {
	check(len(b.center), dst)
	copy(dst, b.center)
	return b.radius / math.Sqrt(float64(len(dst)))
}

// Rows gives the 2^d rows up to dimension 6, and none beyond.
func (b *L1Ball) Rows() (Rows, bool) {
	d := len(b.center)
	if d > 6 {
		return Rows{}, false
	}
	var r Rows
	for signs := range 1 << d {
		a := make([]float64, d)
		for i := range a {
			a[i] = 1
			if signs>>i&1 == 1 {
				a[i] = -1
			}
		}
		r.A, r.B = append(r.A, a), append(r.B, b.radius+floats.Dot(a, b.center))
	}
	return r, true
}
