package cost_test

import (
	"math"
	"testing"

	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// TestAffineStaysAffine: a learner keeps φ constant only for costs that it can
// recognise (erratum E-10).
func TestAffineStaysAffine(t *testing.T) {
	box := newBox(t, []float64{0, 0}, []float64{1, 1})
	a, err := cost.NewAffine([]float64{1, 2}, 3, box)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := cost.NewSum([]float64{1, 1}, []cost.Cost{a, a}, box)
	if err != nil {
		t.Fatal(err)
	}
	single, err := cost.NewMaximum([]cost.Cost{sum}, box)
	if err != nil {
		t.Fatal(err)
	}
	scaled, err := cost.NewScaled(0.5, single, box)
	if err != nil {
		t.Fatal(err)
	}
	small := newBox(t, []float64{0}, []float64{0.5})
	inner, err := cost.NewPrecomposed(scaled, [][]float64{{1}, {2}}, []float64{0, 0}, small)
	if err != nil {
		t.Fatal(err)
	}
	affine, ok := inner.(cost.Affine)
	if !ok {
		t.Fatalf("%T is not Affine", inner)
	}
	if g := affine.Gradient(); len(g) != 1 || g[0] != 5 || affine.Offset() != 3 {
		t.Errorf("gradient %v and offset %v, want [5] and 3", g, affine.Offset())
	}
	affine.Gradient()[0] = 99
	if affine.Gradient()[0] != 5 {
		t.Error("Gradient hands out the cost's own slice")
	}
}

// TestLipschitzAtTheSides: neither a coordinate that cannot vary nor a slope beyond the domain makes a cost steep.
func TestLipschitzAtTheSides(t *testing.T) {
	box, fixed := newBox(t, []float64{0, 0}, []float64{2, 2}), newBox(t, []float64{0, 1, 1}, []float64{2, 3, 1})
	made := func(c cost.Cost, err error) cost.Cost {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, c := range map[string]struct {
		cost cost.Cost
		want float64
	}{
		"sum norm of two that vary": {made(cost.NewNorm(1, []float64{1, 2, 5}, fixed)), math.Sqrt2},
		"squared, one is fixed":     {made(cost.NewSquared([]float64{1, 2, 5}, []float64{0, 1, 9}, fixed)), 2},
		"broken above the domain":   {made(cost.NewHinge([]float64{3, 0}, 6, box)), 0},
		"broken in the domain":      {made(cost.NewHinge([]float64{3, 0}, 5, box)), 3},
		"broken below the domain":   {made(cost.NewHinge([]float64{0, -3}, 0, box)), 0},
		"broken from the side on":   {made(cost.NewHinge([]float64{0, 3}, 0, box)), 3},
	} {
		if got := c.cost.Lipschitz(); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("%s: Lipschitz constant %g, want %g", name, got, c.want)
		}
	}
}

// TestNormNearItsCenter: numbers of one digit have a direction all the same.
func TestNormNearItsCenter(t *testing.T) {
	c, err := cost.NewNorm(2, []float64{0, 0}, newBox(t, []float64{0, 0}, []float64{1, 1}))
	if err != nil {
		t.Fatal(err)
	}
	g := make([]float64, 2)
	for _, x := range [][]float64{{5e-324, 5e-324}, {5e-324, 1e-323}, {1e-310, 1e-320}, {1e-270, 1e-271}, {0.3, 0.4}} {
		c.Subgradient(g, x)
		if length := math.Hypot(g[0], g[1]); math.Abs(length-1) > 1e-15 {
			t.Errorf("at %v: subgradient %v of length %g, want 1", x, g, length)
		}
		if math.Abs(g[1]/g[0]*x[0]/x[1]-1) > 1e-14 {
			t.Errorf("at %v: subgradient %v points elsewhere", x, g)
		}
	}
}

// TestTemperatureWithoutSides: sides that stand for none do not make a temperature cold, on one side or on both.
func TestTemperatureWithoutSides(t *testing.T) {
	for _, upper := range []float64{1e99, 4} {
		box, err := geometry.NewBox([]float64{0, -1e99}, []float64{upper, 3})
		if err != nil {
			t.Fatal(err)
		}
		c, err := cost.NewLogSumExp(0.5, box)
		if err != nil {
			t.Fatal(err)
		}
		want := 0.5 * math.Log(math.Exp(2)+math.Exp(4))
		if got := c.Value([]float64{1, 2}); math.Abs(got-want) > 1e-12 {
			t.Errorf("value %v, want %v", got, want)
		}
		if _, err := cost.NewLogSumExp(1e-10, box); err == nil {
			t.Error("a temperature of 1e-10 beside a side of 3 is accepted")
		}
	}
}
