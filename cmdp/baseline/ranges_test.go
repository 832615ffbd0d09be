package baseline

import (
	"math"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
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
