package robust_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp/robust"
)

// TestRationalGreatest: bounds in floating point enclose the rational number, closely.
func TestRationalGreatest(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for i := range 50 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		policy := randomPolicy(t, rng, c.model, c.model.Horizon())
		b, err := c.set.Evaluate(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		for j := range 2 {
			dir := make([]float64, 2)
			for _, side := range []struct {
				sign, stated float64
			}{{1, b.Greatest[j]}, {-1, -b.Least[j]}} {
				dir[j] = side.sign
				x, err := c.set.RationalGreatest(policy, dir)
				if err != nil {
					t.Fatal(err)
				}
				if new(big.Rat).SetFloat64(side.stated).Cmp(x) < 0 {
					t.Errorf("case %d: the bound %g is below the greatest return", i, side.stated)
				}
				if near, _ := x.Float64(); side.stated-near > 1e-12 {
					t.Errorf("case %d: the bound %g is far from the greatest return %g", i, side.stated, near)
				}
			}
		}
	}
}

// TestVerify checks results, and refuses those that claim more than holds.
func TestVerify(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	checked := 0
	for i := range 40 {
		var c *randomCase
		if i%2 == 0 {
			c = newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		} else {
			x := criteria[(i/2)%len(criteria)]
			c = endlessCase(t, rng, x.discount, x.average, false)
		}
		steps := max(1, c.model.Horizon())
		b, err := c.set.Evaluate(t.Context(), randomPolicy(t, rng, c.model, steps))
		if err != nil {
			t.Fatal(err)
		}
		c.wanted(t, b.Greatest[1]+0.1*rng.NormFloat64(), []float64{-1e6, -1e6}, []float64{1e6, 1e6})
		r, err := robust.Solve(t.Context(), c.set, c.task, robust.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := robust.Verify(t.Context(), c.set, c.task, r); err != nil {
			t.Errorf("case %d, %v: %v", i, r.Status, err)
		}
		if r.Status != robust.Optimal && r.Status != robust.Feasible {
			continue
		}
		checked++
		for name, claim := range map[string]func(r *robust.Result){
			"a better objective":  func(r *robust.Result) { r.Objective -= 1e-4 * math.Max(1, math.Abs(r.Objective)) },
			"a better bound":      func(r *robust.Result) { r.Bound += 1e-4 * math.Max(1, math.Abs(r.Bound)) },
			"a smaller limit":     func(r *robust.Result) { r.Limits[0].Greatest -= 1e-4 * math.Max(1, math.Abs(r.Limits[0].Greatest)) },
			"a limit that is not": func(r *robust.Result) { r.Limits[0].Offset = r.Limits[0].Greatest - 1 },
		} {
			of := *r
			of.Limits = append([]robust.Limit(nil), r.Limits...)
			claim(&of)
			if err := robust.Verify(t.Context(), c.set, c.task, &of); !errors.Is(err, robust.ErrNotProved) {
				t.Errorf("case %d: %s: error %v", i, name, err)
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d plans were checked: want at least 10", checked)
	}
}
