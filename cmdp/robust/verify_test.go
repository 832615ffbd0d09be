package robust_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/robust"
)

// TestRationalGreatest: bounds in floating point enclose the rational number, closely.
func TestRationalGreatest(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for i := range 50 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		if i%4 < 2 {
			c.cut(t, i%4 == 1)
		}
		var drawn []robust.Drawn
		for _, weight := range [][]float64{{1}, {0.3, 0.7}, {0.125, 0.5, 0.375}}[i%3] {
			drawn = append(drawn, robust.Drawn{Weight: weight,
				Policy: randomPolicy(t, rng, c.model, c.model.Horizon())})
		}
		if i%25 == 3 { // as many policies as let rounding of their sum add up
			drawn = slices.Repeat([]robust.Drawn{{Weight: 1.0 / 2000, Policy: drawn[0].Policy}}, 2000)
		}
		b, err := c.set.EvaluateDrawn(t.Context(), drawn)
		if err != nil {
			t.Fatal(err)
		}
		for j := range 2 {
			dir := make([]float64, 2)
			for _, side := range []struct {
				sign, stated float64
			}{{1, b.Greatest[j]}, {-1, -b.Least[j]}} {
				dir[j] = side.sign
				x, one := new(big.Rat), new(big.Rat)
				for n, of := range drawn {
					if n == 0 || of.Policy != drawn[n-1].Policy {
						if one, err = c.set.RationalGreatest(of.Policy, dir); err != nil {
							t.Fatal(err)
						}
					}
					x.Add(x, new(big.Rat).Mul(one, new(big.Rat).SetFloat64(of.Weight)))
				}
				if new(big.Rat).SetFloat64(side.stated).Cmp(x) < 0 {
					t.Errorf("case %d: the bound %g is below the greatest return", i, side.stated)
				}
				if near, _ := x.Float64(); side.stated-near > 1e-12*float64(len(drawn)) {
					t.Errorf("case %d: the bound %g is far from the greatest return %g", i, side.stated, near)
				}
			}
		}
	}
}

// cut makes the set one with the digits of a file: the upper bounds of a choice sum to a little less than 1, or the
// lower ones to a little more.
func (c *randomCase) cut(t *testing.T, above bool) {
	t.Helper()
	c.replaceIntervals(t, func(h, choice int) (lower, upper []float64) {
		least, most := c.iv.Row(h, choice)
		_, prob := c.model.Rows(h).Row(choice)
		for e, p := range prob {
			switch {
			case least == nil:
			case above:
				lower = append(lower, math.Ceil(1e10*p)/1e10)
				upper = append(upper, math.Max(most[e], lower[e]))
			default:
				upper = append(upper, math.Floor(1e10*p)/1e10)
				lower = append(lower, math.Min(least[e], upper[e]))
			}
		}
		return lower, upper
	})
}

// TestVerify checks results, and refuses those that claim more than holds.
func TestVerify(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	checked := 0
	for i := range 40 {
		var c *randomCase
		if i%2 == 0 {
			c = newCase(t, rng, finiteShapes[i%len(finiteShapes)], i%8 == 0)
			if i%8 == 4 {
				c.cut(t, i%16 == 4)
			}
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
		restore := func() {}
		if i%4 < 2 {
			restore = noModels()
		}
		r, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{})
		restore()
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
			"a better objective": func(r *robust.Result) { r.Objective -= 1e-4 * math.Max(1, math.Abs(r.Objective)) },
			"a better bound":     func(r *robust.Result) { r.Bound += 1e-4 * math.Max(1, math.Abs(r.Bound)) },
			"a smaller limit": func(r *robust.Result) {
				r.Limits[0].Greatest -= 1e-4 * math.Max(1, math.Abs(r.Limits[0].Greatest))
			},
			"a limit that is not": func(r *robust.Result) { r.Limits[0].Offset = r.Limits[0].Greatest - 1 },
			"a wider limit":       func(r *robust.Result) { r.Limits[0].Offset++ },
			"no plan":             func(r *robust.Result) { r.Policy, r.Mixture = nil, nil },
			"half of a plan":      func(r *robust.Result) { r.Mixture, r.Policy = weighted(r, 0.5), nil },
			"a plan and its opposite": func(r *robust.Result) {
				r.Mixture, r.Policy = append(weighted(r, 3), weighted(r, -2)...), nil
			},
			"another direction": func(r *robust.Result) { r.Limits[0].Normal = []float64{0, 0.5} },
			"no limit":          func(r *robust.Result) { r.Limits = nil },
			"a limit that is missed": func(r *robust.Result) {
				r.Limits[0].Offset, r.Tolerance = r.Limits[0].Greatest-1, 0
				c.task.Constraints = []cmdp.Constraint{r.Limits[0].Constraint}
				c.task.Target = nil
			},
			"no policy at all": func(r *robust.Result) { r.Status = robust.Infeasible },
			"a negative price": func(r *robust.Result) { r.Proof, r.Limits[0].BoundPrice = nil, -1 },
		} {
			of := *r
			of.Limits = append([]robust.Limit(nil), r.Limits...)
			task := c.task
			claim(&of)
			err := robust.Verify(t.Context(), c.set, c.task, &of)
			if !errors.Is(err, robust.ErrNotProved) && !errors.Is(err, exact.ErrNotProved) {
				t.Errorf("case %d: %s: error %v", i, name, err)
			}
			c.task = task
		}
		c.refuseWithoutCost(t, i)
		if of := *r; i%8 == 0 {
			of.Proof = nil
			if err := robust.Verify(t.Context(), c.set, c.task, &of); !errors.Is(err, robust.ErrNotProved) {
				t.Errorf("case %d: a bound of one fixed model without a proof: error %v", i, err)
			}
		}
		c.refuseModel(t, i, r)
	}
	if checked < 10 {
		t.Errorf("%d plans were checked: want at least 10", checked)
	}
}

// refuseWithoutCost refuses what is claimed of a plan for the limits alone.
func (c *randomCase) refuseWithoutCost(t *testing.T, i int) {
	t.Helper()
	task := c.task
	task.Cost = nil
	r, err := robust.Solve(t.Context(), c.set, task, robust.SolveOptions{})
	if err == nil {
		err = robust.Verify(t.Context(), c.set, task, r)
	}
	if err != nil || r.Status != robust.Optimal {
		t.Errorf("case %d, without a cost: %v, %v", i, r.Status, err)
		return
	}
	for name, claim := range map[string]func(r *robust.Result){
		"a smaller limit": func(r *robust.Result) {
			r.Limits[0].Greatest -= 1e-4 * math.Max(1, math.Abs(r.Limits[0].Greatest))
		},
		"no plan":        func(r *robust.Result) { r.Policy, r.Mixture = nil, nil },
		"half of a plan": func(r *robust.Result) { r.Mixture, r.Policy = weighted(r, 0.5), nil },
		"no limit":       func(r *robust.Result) { r.Limits = nil },
	} {
		of := *r
		of.Limits = slices.Clone(r.Limits)
		claim(&of)
		if err := robust.Verify(t.Context(), c.set, task, &of); !errors.Is(err, robust.ErrNotProved) {
			t.Errorf("case %d, without a cost: %s: error %v", i, name, err)
		}
	}
}

// weighted returns the plan of a result with weights that are so many times as large.
func weighted(r *robust.Result, by float64) (parts []exact.WeightedPolicy) {
	for _, part := range r.Plan() {
		parts = append(parts, exact.WeightedPolicy{Weight: by * part.Weight, Policy: part.Policy})
	}
	return parts
}

// refuseModel: the model of a result is none of the sets in which a choice that it changes is exact, or has half the
// room on both sides or on one.
func (c *randomCase) refuseModel(t *testing.T, i int, r *robust.Result) {
	t.Helper()
	if r.Model == nil {
		return
	}
	worst, err := r.Model.Model()
	if err != nil {
		t.Fatal(err)
	}
	for h := range worst.Kernels() {
		of := min(h, c.model.Kernels()-1)
		k := worst.Kernel(h)
		for choice := range len(k.Offset) - 1 {
			_, prob := k.Row(choice)
			_, nominal := c.model.Rows(h).Row(choice)
			if distance(prob, nominal) < 1e-6 {
				continue
			}
			for _, kind := range []string{"exact", "both", "below", "above"} {
				iv, err := cmdp.NewIntervals(c.model, func(at, other int) ([]float64, []float64) {
					lower, upper := c.iv.Row(at, other)
					switch {
					case at != of || other != choice:
						return lower, upper
					case kind == "exact":
						return nil, nil
					}
					near := make([][]float64, 2) // half as far from the nominal probabilities as the model
					for e, p := range nominal {
						room := math.Abs(prob[e]-p) / 2
						least, most := math.Max(0, p-room), math.Min(1, p+room)
						if kind == "above" {
							least = lower[e]
						}
						if kind == "below" {
							most = upper[e]
						}
						near[0], near[1] = append(near[0], least), append(near[1], most)
					}
					return near[0], near[1]
				})
				if err != nil {
					t.Fatal(err)
				}
				set, err := robust.New(robust.Spec{Model: c.model, Intervals: iv})
				if err != nil {
					t.Fatal(err)
				}
				if err := robust.Verify(t.Context(), set, c.task, r); !errors.Is(err, robust.ErrNotProved) {
					t.Errorf("case %d, %s: a model that is none of the set: error %v", i, kind, err)
				}
			}
			return
		}
	}
}

// distance is the largest difference of two vectors in an entry.
func distance(x, y []float64) float64 {
	most := 0.0
	for i := range x {
		most = math.Max(most, math.Abs(x[i]-y[i]))
	}
	return most
}
