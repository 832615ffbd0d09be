package cmdp

import (
	"testing"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// TestLinearConstraints: the half-spaces of a target are the target, as far as the box goes, and come after those with
// names, of which none is said twice.
func TestLinearConstraints(t *testing.T) {
	rng := generator(12)
	for trial := range 60 {
		lower, upper := make([]float64, 2), make([]float64, 2)
		for i := range lower {
			lower[i], upper[i] = -1-rng.Float64(), 1+rng.Float64()
		}
		limits := []float64{rng.Float64() * 1.5, rng.Float64() * 1.5}
		set := geometry.Set(try(geometry.NewBox([]float64{-limits[0], -limits[1]}, limits))(t))
		task := Task{Box: try(geometry.NewBox(lower, upper))(t)}
		for i, x := range limits {
			if c := (Constraint{Normal: make([]float64, 2), Offset: 3 * x, Name: "named"}); rng.IntN(2) == 0 {
				c.Normal[i] = 3
				task.Constraints = append(task.Constraints, c)
			}
		}
		if trial%3 == 0 {
			task.Constraints = nil
			set = try(geometry.NewAffine([][]float64{{rng.NormFloat64(), rng.NormFloat64()}},
				[]float64{rng.Float64() * 0.1}))(t)
		}
		task.Target = try(geometry.Restrict(set, task.Box))(t)
		list, complete := task.LinearConstraints(lower, upper)
		if !complete {
			t.Fatalf("trial %d: half-spaces are missing", trial)
		}
		for k, c := range list {
			if named := k < len(task.Constraints); named != (c.Name != "") {
				t.Errorf("trial %d: half-space %d of %v", trial, k, list)
			}
			for _, other := range list[:k] {
				if c.same(other) {
					t.Errorf("trial %d: half-space %v is there twice", trial, c)
				}
			}
		}
		for range 50 {
			x := make([]float64, 2)
			for i := range x {
				x[i] = lower[i] + rng.Float64()*(upper[i]-lower[i])
			}
			if rng.IntN(2) == 0 {
				task.Target.Project(x, x)
			}
			most := 0.0
			for _, c := range list {
				most = max(most, (floats.Dot(c.Normal, x)-c.Offset)/floats.Norm(c.Normal, 2))
			}
			if far := task.Violation(x); (far > 1e-6) != (most > 1e-7) {
				t.Errorf("trial %d: %v is %g from the target, and misses its half-spaces by %g", trial, x, far, most)
			}
		}
	}
}

// try returns what a constructor made.
func try[T any](x T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}
