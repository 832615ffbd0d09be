package geometry_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// TestSeparate separates random points from random sets: the half-space contains
// points of the set and not what misses it.
func TestSeparate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 41))
	apart := 0
	for trial := range 300 {
		d := 1 + rng.IntN(4)
		s, err := randomSet(rng, d, rng.IntN(3))
		if err != nil {
			continue
		}
		if other, err := randomSet(rng, d, 0); err == nil && trial%3 == 0 {
			if s, err = geometry.NewIntersection(s, other); err != nil {
				continue
			}
		}
		x, normal, near := normals(rng, d), make([]float64, d), make([]float64, d)
		for i := range x {
			x[i] *= 4
		}
		offset, missed := geometry.Separate(s, normal, x)
		gap := oracle.Distance(s, x)
		if missed > gap+1e-7*(1+gap) {
			t.Errorf("trial %d: %T: missed by %g, more than the distance %g", trial, s, missed, gap)
		}
		if gap > 1e-6 {
			apart++
			if beyond := inner(normal, x) - offset; !(beyond >= 0.99*missed && missed > 0) {
				t.Errorf("trial %d: %T: at a distance of %g: missed by %g, half-space by %g", trial, s, gap, missed,
					beyond)
			}
		}
		if math.IsInf(offset, 1) {
			continue
		}
		for range 10 {
			s.Project(near, normals(rng, d))
			if over := inner(normal, near) - offset; over > 1e-6*(1+math.Abs(offset)) {
				t.Errorf("trial %d: %T: the half-space leaves out a point by %g", trial, s, over)
			}
		}
	}
	if apart < 100 {
		t.Errorf("%d points outside: want many", apart)
	}
}

// TestSeparateBeside separates points just outside of sets that are known by their maximisers alone: farther out than
// the direction of their own projection would tell.
func TestSeparateBeside(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 42))
	for trial := range 60 {
		d, size := 2+rng.IntN(3), math.Pow(10, float64(rng.IntN(9)-4))
		shape := make([][]float64, d)
		for i := range shape {
			shape[i] = make([]float64, d)
			shape[i][i] = math.Pow(100, rng.Float64()) / (size * size)
		}
		center, dir, normal := normals(rng, d), normals(rng, d), make([]float64, d)
		floats.Scale(size, center)
		floats.Scale(1/floats.Norm(dir, 2), dir)
		round := set[*geometry.Ellipsoid](t)(geometry.NewEllipsoid(center, shape))
		s := set[geometry.Compact](t)(geometry.FromMaximizer(maximizerOnly{round}))
		x, out := make([]float64, d), size*math.Pow(10, -4-7*rng.Float64())
		round.MaximizeLinear(x, dir)
		floats.AddScaled(x, out, dir)
		offset, missed := geometry.Separate(s, normal, x)
		if beyond := inner(normal, x) - offset; !(beyond >= 0.8*out && missed >= 0.8*out && missed <= 1.01*out) {
			t.Errorf("trial %d: at a distance of %g: missed by %g, half-space by %g", trial, out, missed, beyond)
		}
		if over := oracle.Support(round, normal) - offset; over > 1e-12*size {
			t.Errorf("trial %d: the half-space leaves out a point by %g", trial, over)
		}
	}
}

func inner(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
