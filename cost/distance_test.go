package cost_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cost"
	"cmdpsolve/cost/costtest"
	"cmdpsolve/geometry"
)

func newBall(t *testing.T, center []float64, radius float64) *geometry.Ball {
	t.Helper()
	ball, err := geometry.NewBall(center, radius)
	if err != nil {
		t.Fatal(err)
	}
	return ball
}

// TestDistanceConjugate is erratum E-29: in the unit ball f* is the support
// function; over a box, and for longer duals, f* is larger.
func TestDistanceConjugate(t *testing.T) {
	box := newBox(t, []float64{0, 0}, []float64{4, 4})
	distance, err := cost.NewDistance(newBall(t, []float64{2, 2}, 1))
	if err != nil {
		t.Fatal(err)
	}
	overBox, err := cost.New(distance, box, 1)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	for range 40 {
		angle, length := 2*math.Pi*rng.Float64(), 4*rng.Float64()
		dual := []float64{length * math.Cos(angle), length * math.Sin(angle)}
		support := 2*dual[0] + 2*dual[1] + length
		if got := cost.ConjugateValue(distance, dual); math.Abs(got-support) > 1e-12*(1+math.Abs(support)) {
			t.Errorf("dual %v: conjugate %v, support function %v", dual, got, support)
		}
		box := cost.ConjugateValue(overBox, dual)
		if length <= 1 && math.Abs(box-support) > 1e-8 {
			t.Errorf("dual %v in the unit ball: conjugate over the box %v, support function %v", dual, box, support)
		}
		if length > 1.1 && box < support+1e-4 {
			t.Errorf("dual %v outside the unit ball: conjugate over the box %v, support function %v", dual, box,
				support)
		}
	}
}

// maximizer hides that a set resolves ties.
type maximizer struct{ geometry.Compact }

// TestDistanceTies: on a flat face the answer is nearest to near if the set can
// tell, and some point of the face otherwise.
func TestDistanceTies(t *testing.T) {
	box, err := newBox(t, []float64{0, 0}, []float64{1, 1}).Bounded()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		set  geometry.Compact
		want float64
	}{"face projector": {box, 0.25}, "maximiser": {maximizer{box}, 0.5}} {
		d, err := cost.NewDistance(c.set)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, 2)
		d.ConjugateSubgradient(got, []float64{1, 0}, []float64{0.5, 0.25})
		if got[0] != 1 || got[1] != c.want {
			t.Errorf("%s: %v, want [1 %g]", name, got, c.want)
		}
		if d.Set() != c.set {
			t.Errorf("%s: Set returns another set", name)
		}
	}
}

// TestDistanceCombined: multiples keep the support point; sums go over the box,
// where the support function would be wrong for the duals that occur.
func TestDistanceCombined(t *testing.T) {
	box := newBox(t, []float64{0, 0}, []float64{4, 4})
	ball := newBall(t, []float64{1, 3}, 0.5)
	distance, err := cost.NewDistance(ball)
	if err != nil {
		t.Fatal(err)
	}
	multiple, err := cost.NewScaled(2.5, distance, box)
	if err != nil {
		t.Fatal(err)
	}
	if err := costtest.Check(costtest.Case{Cost: multiple, Domain: box, Range: ball, NearestTies: true,
		AllocationFree: true}); err != nil {
		t.Error(err)
	}
	line, err := cost.NewLinear([]float64{-2, 1}, box)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := cost.NewSum([]float64{1, 3}, []cost.Cost{line, distance}, box)
	if err != nil {
		t.Fatal(err)
	}
	largest, err := cost.NewMaximum([]cost.Cost{line, multiple}, box)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []cost.Cost{sum, largest} {
		if err := costtest.Check(costtest.Case{Cost: c, Domain: box, Tolerance: 1e-8, Rounds: 20}); err != nil {
			t.Errorf("%T: %v", c, err)
		}
	}
}

// TestDistanceBesideABox: coordinates of a box do not round each other, so that any distance has a direction.
func TestDistanceBesideABox(t *testing.T) {
	bounded, err := newBox(t, []float64{0, 0}, []float64{1, 1}).Bounded()
	if err != nil {
		t.Fatal(err)
	}
	c, err := cost.NewDistance(bounded)
	if err != nil {
		t.Fatal(err)
	}
	g := make([]float64, 2)
	for _, x := range [][]float64{{-1e-20, 0.5}, {-1e-300, 1}, {-3, 0.5}} {
		if c.Subgradient(g, x); g[0] != -1 || g[1] != 0 {
			t.Errorf("at %v: subgradient %v, want (-1, 0)", x, g)
		}
	}
}

// TestDistanceOfSmallSets: sets and points in other units have the same unit vectors between them.
func TestDistanceOfSmallSets(t *testing.T) {
	for _, size := range []float64{1e6, 1, 1e-6, 1e-12, 1e-18} {
		c, err := cost.NewDistance(newBall(t, []float64{0, 0}, size))
		if err != nil {
			t.Fatal(err)
		}
		g := make([]float64, 2)
		if c.Subgradient(g, []float64{3 * size, 4 * size}); math.Abs(g[0]-0.6) > 1e-9 || math.Abs(g[1]-0.8) > 1e-9 {
			t.Errorf("a ball of radius %g: subgradient %v, want (0.6, 0.8)", size, g)
		}
	}
}
