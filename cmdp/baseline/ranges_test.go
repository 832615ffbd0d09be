package baseline

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// TestRanges has returns of two steps in [0, 6] × [−2, 2] × [0, 4]. The goal 2x − z varies by
// 12 + 4; of the limits y ≤ 1 and z ≤ 1 a return may be 1 and 3 away.
func TestRanges(t *testing.T) {
	sh, err := cmdp.NewShape(cmdp.ShapeSpec{Horizon: 2, Dim: 3, Start: []cmdp.StartState{{State: 0, Probability: 1}},
		First:   [][]int32{{0, 1}},
		Returns: []cmdp.Interval{{Lower: []float64{0, -1, 0}, Upper: []float64{3, 1, 2}}}})
	if err != nil {
		t.Fatal(err)
	}
	box := newBox(t, []float64{0, -2, 0}, []float64{6, 2, 4})
	goal := linearCost(t, []float64{2, 0, -1}, box)
	target := boundedBox(t, []float64{0, -2, 0}, []float64{6, 1, 1})
	regret, violation, err := Ranges(sh, cmdp.Task{Cost: goal, Target: target})
	if err != nil || math.Abs(regret-16) > 1e-12 || math.Abs(violation-math.Sqrt(10)) > 1e-12 {
		t.Errorf("ranges %v, %v, %v: want 16, √10", regret, violation, err)
	}
}

// TestCurvedRanges has the goal (x−1)² + y² on [0, 3] × [−2, 1], which is 0 at (1, 0) and 8 in the corner (3,
// −2), and as target the disc of radius 1 about (0, 1), from which that corner is √18 − 1 away.
func TestCurvedRanges(t *testing.T) {
	sh, err := cmdp.NewShape(cmdp.ShapeSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}},
		First:   [][]int32{{0, 1}},
		Returns: []cmdp.Interval{{Lower: []float64{0, -2}, Upper: []float64{3, 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	box := newBox(t, []float64{0, -2}, []float64{3, 1})
	goal, err := cost.NewSquared([]float64{1, 0}, []float64{1, 1}, box)
	if err != nil {
		t.Fatal(err)
	}
	disc, err := geometry.NewBall([]float64{0, 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	regret, violation, err := Ranges(sh, cmdp.Task{Cost: goal, Target: disc})
	if err != nil || math.Abs(regret-8) > 1e-9 || math.Abs(violation-(math.Sqrt(18)-1)) > 1e-9 {
		t.Errorf("ranges %v, %v, %v: want 8 and √18 − 1", regret, violation, err)
	}
}

// TestRangesByCorners compares the ranges of drawn linear goals and of one drawn limit, whose normals have any length,
// with their values in all corners of the box.
func TestRangesByCorners(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 71))
	for trial := range 40 {
		d := 1 + rng.IntN(4)
		lower, upper, goal, normal := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
		for i := range d {
			lower[i], goal[i], normal[i] = rng.NormFloat64(), rng.NormFloat64(), 3*rng.NormFloat64()
			upper[i] = lower[i] + 2*rng.Float64()
		}
		sh, err := cmdp.NewShape(cmdp.ShapeSpec{Horizon: 1, Dim: d, First: [][]int32{{0, 1}},
			Start:   []cmdp.StartState{{State: 0, Probability: 1}},
			Returns: []cmdp.Interval{{Lower: lower, Upper: upper}}})
		if err != nil {
			t.Fatal(err)
		}
		box := newBox(t, lower, upper)
		row := cmdp.Constraint{Normal: normal, Offset: floats.Dot(normal, randomPoint(rng, lower, upper))}
		target, err := boxWithin([]cmdp.Constraint{row}, box)
		if err != nil {
			t.Fatal(err)
		}
		least, most, away := math.Inf(1), math.Inf(-1), 0.0
		for n := range 1 << d {
			v := make([]float64, d)
			for i := range v {
				v[i] = lower[i] + float64(n>>i&1)*(upper[i]-lower[i])
			}
			x := floats.Dot(goal, v)
			least, most = min(least, x), max(most, x)
			away = max(away, (floats.Dot(normal, v)-row.Offset)/floats.Norm(normal, 2))
		}
		regret, violation, err := Ranges(sh, cmdp.Task{Cost: linearCost(t, goal, box), Target: target,
			Constraints: []cmdp.Constraint{row}})
		if err != nil || math.Abs(regret-(most-least)) > 1e-9 || math.Abs(violation-away) > 1e-9 {
			t.Errorf("trial %d: ranges %v and %v, %v: want %v and %v", trial, regret, violation, err, most-least, away)
		}
	}
}
