package exact

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"

	"gonum.org/v1/gonum/floats"
)

// near reports whether two numbers are the same but for rounding.
func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) ||
		!math.IsInf(a-b, 0) && math.Abs(a-b) <= 1e-6*(1+math.Abs(a)+math.Abs(b))
}

// Fits fails the test where the parts of an answer contradict one another: returns have to be those of the policy,
// objective and violation those of the returns, and gap, prices, branches and what is counted what they are said to be.
func Fits(t *testing.T, m *cmdp.Model, task cmdp.Task, r *Result) {
	t.Helper()
	want := func(ok bool, format string, args ...any) {
		t.Helper()
		if !ok {
			t.Errorf("%v: %s: %+v", r.Status, fmt.Sprintf(format, args...), r)
		}
	}
	finite := !slices.ContainsFunc(r.Returns, func(x float64) bool { return !isFinite(x) })
	if r.HasPolicy() {
		v := returnsOf(t, m, r)
		want(slices.EqualFunc(v, r.Returns, near), "the policy returns %v", v)
		randomized := 0
		for _, c := range r.mixture() {
			randomized += c.Policy.Randomized()
		}
		want(r.Randomized == randomized, "the policy draws in %d pairs", randomized)
		want(r.Policy == nil || r.Mixture == nil, "a policy and a mixture")
	}
	switch answered := r.Status == Optimal || r.Status == Undecided; {
	case r.Status == Unbounded:
		want(math.IsInf(r.Objective, -1) && math.IsInf(r.Bound, -1), "the objective has no bound")
	case task.Cost == nil:
		want(r.Objective == 0, "there is no cost")
	case r.HasPolicy() && (finite || isFinite(r.Objective)):
		if g, affine := task.Cost.(cost.Affine); affine {
			c := dot(g.Gradient(), r.Returns) + g.Offset()
			want(near(r.Objective, c), "the cost is %g", c)
		} else if finite {
			want(near(r.Objective, task.Cost.Value(r.Returns)), "the cost is %g", task.Cost.Value(r.Returns))
		}
		want(!answered || near(r.Gap, math.Max(0, r.Objective-r.Bound)), "the gap is %g", r.Objective-r.Bound)
		if r.Proof != nil && answered {
			least := math.Min(r.Objective, r.Proof.Bound)
			want(near(r.Bound, least) || r.Status == Undecided && near(r.Bound, r.Proof.Bound), "%g is proved", least)
		}
	}
	distance := 0.0
	if task.Target != nil && finite {
		distance = task.Violation(r.Returns)
	}
	if c := r.Certificate; c != nil && !c.Whole {
		want(c.Margin >= supportError(task.Target, c.Direction), "the margin leaves out the error of the support")
	}
	if p := r.Proof; p != nil {
		want(p.Margin >= p.conjugateError(), "the margin leaves out the error of the tangents")
	}
	switch c := r.Certificate; {
	case r.Status == Infeasible:
		want(math.IsInf(r.Bound, 1) && r.Violation == c.Distance, "the bound is +Inf, and the distance %g", c.Distance)
		if whole := task.Whole; c.Whole && finite {
			distance = (&cmdp.Task{Target: projectedSet{whole, task.Target}}).Violation(r.Returns)
		}
		want(!finite || near(r.Violation, distance), "the target is %g away", distance)
	case r.Status == Optimal:
		size := 1e-12*floats.Norm(r.Returns, math.Inf(1)) + leastNormal // up to which limits are kept in any units
		want(r.Violation <= r.Tolerance+size || !finite, "the target is missed")
		want(!finite || r.Violation >= distance-1e-9*(1+distance), "the target is %g away", distance)
	}
	want(near(r.DualNorm, floats.Norm(r.Dual, 2)) && near(r.Rho, 2*r.DualNorm), "‖ψ‖ is %g", floats.Norm(r.Dual, 2))
	want(r.Proof == nil || slices.Equal(r.Dual, r.Proof.Psi), "the proof has another ψ")
	if r.targetTest.complete && r.Status == Optimal && len(r.Prices) > 0 {
		dual := make([]float64, len(r.Dual))
		for _, p := range r.Prices {
			floats.AddScaled(dual, p.Multiplier, p.Normal)
		}
		want(slices.EqualFunc(dual, r.Dual, near), "multipliers make ψ %v", dual)
	}
	for k, p := range r.Prices {
		want(p.Value >= 0 && p.Value <= p.Multiplier*(1+1e-9), "price %d", k)
		want(k >= len(task.Constraints) || slices.Equal(p.Normal, task.Constraints[k].Normal), "price %d of another limit", k)
		want(r.Status != Infeasible && r.Status != Unbounded || p.Value == 0, "price %d", k)
	}
	if len(r.Branches) > 0 {
		mean, sum := make([]float64, m.Dim()), 0.0
		for _, b := range r.Branches {
			floats.AddScaled(mean, b.Probability, b.Returns)
			sum += b.Probability
		}
		want(near(sum, 1), "branches of probability %g", sum)
		for i, x := range mean {
			want(!m.Mean(i) || near(x, r.Returns[i]), "branches have mean %g of return %d", x, i)
		}
	}
}

// returnsOf evaluates the policy of an answer, or those of which one is drawn.
func returnsOf(t *testing.T, m *cmdp.Model, r *Result) []float64 {
	t.Helper()
	if r.Product != nil {
		m = r.Product.Model
	}
	total, weights := make([]float64, len(r.Returns)), 0.0
	for _, c := range r.mixture() {
		v := make([]float64, m.Dim())
		if m.Horizon() > 0 {
			cmdp.NewEvaluator(m).Returns(v, c.Policy)
		} else {
			e, err := Evaluate(context.Background(), m, c.Policy)
			if err != nil {
				t.Fatal(err)
			}
			v = e.Returns
		}
		floats.AddScaled(total, c.Weight, v)
		weights += c.Weight
	}
	if !near(weights, 1) {
		t.Errorf("weights sum to %g", weights)
	}
	return total
}
