package cmdp

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// TestWithin: of points of the box those within the limits that lie in the set are the target, and the violation of
// limits alone is the distance from them, also where the box lies outside of them. Whole knows nothing of the box.
func TestWithin(t *testing.T) {
	rng := generator(13)
	outside, empty := 0, 0
	for trial := range 200 {
		interval := func() (low, up float64) {
			low = 4*rng.Float64() - 2
			return low, low + rng.Float64()
		}
		var box, limits [2][]float64
		normal, offset := []float64{rng.NormFloat64(), rng.NormFloat64()}, rng.NormFloat64()
		inside, most := true, 0.0 // some point of the box keeps the limits; −normal·x of the best of these
		for range 2 {
			low, up := interval()
			box[0], box[1] = append(box[0], low-0.5), append(box[1], up+0.5)
			least, greatest := interval()
			switch rng.IntN(3) {
			case 0:
				least = math.Inf(-1)
			case 1:
				greatest = math.Inf(1)
			}
			limits[0], limits[1] = append(limits[0], least), append(limits[1], greatest)
		}
		for i, n := range normal {
			low, up := max(box[0][i], limits[0][i]), min(box[1][i], limits[1][i])
			inside = inside && low <= up
			most += min(n*low, n*up)
		}
		task := Task{Box: try(geometry.NewBox(box[0], box[1]))(t)}
		within := try(geometry.NewBox(limits[0], limits[1]))(t)
		var set geometry.Set
		if inside && trial%2 == 0 {
			set = try(geometry.NewHalfspace(normal, offset))(t)
		}
		err := task.Within(within, set)
		if none := set != nil && most > offset; none != (err != nil) || none && !errors.Is(err, geometry.ErrEmpty) {
			t.Fatalf("trial %d: empty %v, but %v", trial, none, err)
		}
		if err != nil {
			empty++
			continue
		}
		if !inside {
			outside++
		}
		for range 20 {
			x, near := make([]float64, 2), make([]float64, 2)
			for i := range x {
				x[i] = box[0][i] + rng.Float64()*(box[1][i]-box[0][i])
				near[i] = min(max(x[i], limits[0][i]), limits[1][i])
			}
			violation, off := task.Violation(x), floats.Distance(x, near, 2)
			whole := make([]float64, 2)
			if task.Whole.Project(whole, x); set == nil && math.Abs(floats.Distance(x, whole, 2)-off) > 1e-9 {
				t.Errorf("trial %d: %v is %g from the limits: want %g", trial, x, floats.Distance(x, whole, 2), off)
			}
			if is := off == 0 && (set == nil || floats.Dot(normal, x) <= offset); is != (floats.Distance(x, whole,
				2) < 1e-9) {
				t.Errorf("trial %d: %v is in the whole target: %v, and %g from it", trial, x, is, floats.Distance(x, whole, 2))
			}
			if set == nil && math.Abs(violation-off) > 1e-9 || set != nil && (violation < 1e-9) != (off == 0 &&
				floats.Dot(normal, x) <= offset) {
				t.Errorf("trial %d: %v violates %v by %g, and is %g from the limits", trial, x, limits, violation, off)
			}
		}
	}
	if outside < 10 || empty < 10 {
		t.Errorf("%d boxes outside of limits, %d empty targets", outside, empty)
	}
}

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
				c.Offset *= 1 + float64(rng.IntN(2))*rng.Float64() // some say less than the box
				task.Constraints = append(task.Constraints, c)
			}
		}
		if trial%3 == 0 {
			task.Constraints = nil
			set = try(geometry.NewAffine([][]float64{{rng.NormFloat64(), rng.NormFloat64()}},
				[]float64{rng.Float64() * 0.1}))(t)
		}
		task.Target = try(geometry.Restrict(set, task.Box))(t)
		ball := geometry.Set(try(geometry.NewBall([]float64{0.1, 0}, 0.5))(t))
		if trial%2 == 0 {
			ball = try(geometry.NewIntersection(ball, try(geometry.NewHalfspace([]float64{1, 2}, 0.3))(t)))(t)
		}
		curved := Task{Constraints: task.Constraints, Target: try(geometry.Restrict(ball, task.Box))(t)}
		if list, complete := curved.LinearConstraints(lower, upper); complete || len(list) != len(task.Constraints) {
			t.Errorf("trial %d: a ball has the half-spaces %v, all of them: %v", trial, list, complete)
		}
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
		c := Constraint{Normal: []float64{rng.NormFloat64(), rng.NormFloat64()}, Offset: rng.NormFloat64()}
		most := math.Inf(-1)
		above, unlimited := slices.Clone(upper), rng.IntN(2)
		if rng.IntN(2) == 0 { // what has no coefficient does not matter, however far it goes
			c.Normal[unlimited], above[unlimited] = 0, math.Inf(1)
		}
		for corner := range 4 {
			x := []float64{[]float64{lower[0], upper[0]}[corner/2], []float64{lower[1], upper[1]}[corner%2]}
			most = max(most, floats.Dot(c.Normal, x)-c.Offset)
		}
		if got := c.Excess(lower, above); !(math.Abs(got-most) <= 1e-12) {
			t.Errorf("trial %d: %v is missed by %g in %v to %v: want %g", trial, c, got, lower, upper, most)
		}
		for range 50 {
			x := make([]float64, 2)
			for i := range x {
				x[i] = lower[i] + rng.Float64()*(upper[i]-lower[i])
			}
			if free := (Task{}).Violation(x); free != 0 {
				t.Fatalf("%v violates nothing by %g", x, free)
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
