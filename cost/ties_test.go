package cost_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"cmdpsolve/cost"
)

// TestTiesByHand: of tied maximisers of dual·y − g(y) a cost takes the one nearest to the
// given point (erratum E-22). The sets of maximisers are worked out in the comments.
func TestTiesByHand(t *testing.T) {
	box := newBox(t, []float64{0, 0}, []float64{10, 10})
	around := newBox(t, []float64{-5, -5}, []float64{5, 5})
	must := func(c cost.Cost, err error) cost.Cost {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	inf, log3 := math.Inf(1), math.Log(3)
	type vec = []float64
	soft := must(cost.NewLogSumExp(2, box))
	weighed := must(cost.NewEntropic(vec{0.25, 0.75}, 2, box))
	length := must(cost.NewNorm(2, vec{1, 1}, box))
	largest := must(cost.NewNorm(inf, vec{0, 0}, around))
	tail := must(cost.NewCVaR(vec{0.5, 0.5}, 0.75, box))        // gradients have entries up to 2/3
	capped := must(cost.NewCVaR(vec{0.25, 0.75}, 0.5, box))     // up to 1/2 and 1
	extreme := must(cost.NewCVaR(vec{0.25, 0.75}, 5e-324, box)) // up to 1 and 1: the maximum
	cube := newBox(t, []float64{0, 0, 0}, []float64{10, 10, 10})
	softer := must(cost.NewLogSumExp(2, cube))
	without := must(cost.NewEntropic(vec{0.5, 0.5, 0}, 2, cube))         // of the third coordinate
	thirds := must(cost.NewCVaR(vec{1. / 3, 1. / 3, 1. / 3}, 0.5, cube)) // up to 2/3
	hinge := must(cost.NewHinge(vec{3, 4}, 25, box))
	sum := must(cost.NewNorm(1, vec{3, 3}, box))
	corner := must(cost.NewNorm(2, vec{0, 0}, box))
	straight := must(cost.NewHuber(vec{5, 5}, vec{4, 0.5}, 1, box)) // as steep as 4 and 0.5
	flat := must(cost.NewSquared(vec{5, 5}, vec{0, 1}, box))
	short := must(cost.NewHinge(vec{-2, 0}, -6, box)) // 6 − 2y₁ below 3
	bends := []cost.Cost{must(cost.NewHinge(vec{1, 0}, 2, box)), must(cost.NewHinge(vec{1, 0}, 3, box)),
		must(cost.NewHinge(vec{1, 0}, 4, box))}
	tenths := must(cost.NewSum(vec{0.1, 0.2, 0.3}, bends, box)) // slopes that round
	for _, c := range []struct {
		name             string
		cost             cost.Cost
		dual, near, want vec
	}{
		// The gradient of the smooth maximum is the dual on the line y + s·(1, 1) with
		// y₂ − y₁ = 2·log(dual₂/dual₁), less 2·log of the weights' quotient.
		{"logsumexp, equal", soft, vec{0.5, 0.5}, vec{1, 4}, vec{2.5, 2.5}},
		{"logsumexp, unequal", soft, vec{0.25, 0.75}, vec{5, 5}, vec{5 - log3, 5 + log3}},
		{"logsumexp, past the corner", soft, vec{0.5, 0.5}, vec{-7, 3}, vec{0, 0}},
		{"logsumexp, past the side", soft, vec{0.25, 0.75}, vec{20, 20}, vec{10 - 2*log3, 10}},
		{"entropic", weighed, vec{0.25, 0.75}, vec{1, 4}, vec{2.5, 2.5}},
		{"entropic, unequal", weighed, vec{0.5, 0.5}, vec{5, 5}, vec{5 + log3, 5 - log3}},
		{"entropic, a coordinate that does not count", without, vec{0.5, 0.5, 0}, vec{1, 4, 7}, vec{2.5, 2.5, 7}},
		{"logsumexp, thirds", softer, vec{1. / 3, 1. / 3, 1. / 3}, vec{1, 4, 7}, vec{4, 4, 4}}, // sums that round
		{"logsumexp, tenths", softer, vec{0.4, 0.3, 0.3}, vec{5 + 2*math.Log(4), 5 + 2*math.Log(3), 5 + 2*math.Log(3)},
			vec{5 + 2*math.Log(4), 5 + 2*math.Log(3), 5 + 2*math.Log(3)}},
		{"sum, on the last piece", tenths, vec{0.6, 0}, vec{7, 5}, vec{7, 5}},
		// On a straight piece all points have its slope, up to the kink.
		{"norm 1, outer pieces", sum, vec{1, -1}, vec{7, 1}, vec{7, 1}},
		{"norm 1, before the kinks", sum, vec{1, -1}, vec{1, 7}, vec{3, 3}},
		{"norm 1, a kink and a piece", sum, vec{0.5, 1}, vec{7, 7}, vec{3, 7}},
		{"huber, straight", straight, vec{4, -0.5}, vec{9, 1}, vec{9, 1}},
		{"huber, before it is straight", straight, vec{4, -0.5}, vec{1, 9}, vec{6, 4}},
		{"huber, within", straight, vec{2, -0.25}, vec{9, 1}, vec{5.5, 4.5}},
		{"squared, no weight", flat, vec{0, 2}, vec{1, 0}, vec{1, 6}},
		{"hinge of one coordinate, broken", short, vec{-2, 0}, vec{1, 4}, vec{1, 4}},
		{"hinge of one coordinate, brought there", short, vec{-2, 0}, vec{8, 4}, vec{3, 4}},
		{"hinge of one coordinate, kept", short, vec{0, 0}, vec{8, 4}, vec{8, 4}},
		{"hinge of one coordinate, brought to keep", short, vec{0, 0}, vec{1, 4}, vec{3, 4}},
		// Of a dual that points out of the box at the centre the rest leads along the side.
		{"norm 2, on a side", corner, vec{1, -0.5}, vec{0.5, 0.9}, vec{0.5, 0}},
		{"norm 2, on the other side", corner, vec{-0.75, 1}, vec{4, 6}, vec{0, 6}},
		// The norm grows along the dual, a unit vector, from the centre on.
		{"norm 2, on the ray", length, vec{0.6, 0.8}, vec{4, 5}, vec{4, 5}},
		{"norm 2, beside it", length, vec{0.6, 0.8}, vec{5, 3}, vec{3.4, 4.2}}, // 4·dual
		{"norm 2, behind it", length, vec{0.6, 0.8}, vec{0, 0}, vec{1, 1}},
		// The ray leaves the box at 9/0.8·dual, beyond which nothing is as good.
		{"norm 2, past the side", length, vec{0.6, 0.8}, vec{10, 13}, vec{7.75, 10}},
		// Both coordinates attain the maximum; or one does, and the other may be less.
		{"norm ∞, corner", largest, vec{0.5, 0.5}, vec{1, 3}, vec{2, 2}},
		{"norm ∞, other corner", largest, vec{-0.5, 0.5}, vec{-1, 3}, vec{-2, 2}},
		{"norm ∞, side", largest, vec{1, 0}, vec{1, 3}, vec{2, 2}},
		{"norm ∞, within the side", largest, vec{1, 0}, vec{3, 1}, vec{3, 1}},
		{"norm ∞, behind the side", largest, vec{1, 0}, vec{-2, 1}, vec{0, 0}},
		{"norm ∞, only the centre", largest, vec{0.25, 0.5}, vec{1, 3}, vec{0, 0}},
		// The dual is the gradient where y₁ ≥ y₂, or only where they are equal.
		{"cvar, ordered", tail, vec{2. / 3, 1. / 3}, vec{1, 3}, vec{2, 2}},
		{"cvar, in order", tail, vec{2. / 3, 1. / 3}, vec{7, 1}, vec{7, 1}},
		{"cvar, equal", tail, vec{0.5, 0.5}, vec{1, 3}, vec{2, 2}},
		{"cvar, equal, in order", tail, vec{0.5, 0.5}, vec{7, 1}, vec{4, 4}},
		{"cvar, at its cap", capped, vec{0.5, 0.5}, vec{1, 3}, vec{2, 2}},
		{"cvar, at its cap, in order", capped, vec{0.5, 0.5}, vec{7, 1}, vec{7, 1}},
		{"cvar, below its cap", capped, vec{0.25, 0.75}, vec{7, 1}, vec{4, 4}},
		{"cvar, capped at 1", capped, vec{0, 1}, vec{7, 1}, vec{4, 4}},
		{"cvar, beyond its cap", capped, vec{1, 0.5}, vec{7, 1}, vec{10, 1}}, // 10 + y₂/2 − (10 + y₂)/2
		{"cvar, a dual below 0", thirds, vec{-0.2, 0.5, 0.5}, vec{5, 4, 4}, vec{0, 4, 4}},
		{"cvar, maximum", extreme, vec{0.5, 0.5}, vec{1, 3}, vec{2, 2}},
		{"cvar, maximum, first", extreme, vec{1, 0}, vec{1, 3}, vec{2, 2}},
		// Half the normal leads to the line 3y₁ + 4y₂ = 25.
		{"hinge, line", hinge, vec{1.5, 2}, vec{6, 8}, vec{3, 4}},
		{"hinge, below the line", hinge, vec{1.5, 2}, vec{0, 0}, vec{3, 4}},
		{"hinge, nothing to pay", hinge, vec{0, 0}, vec{1, 2}, vec{1, 2}},
		{"hinge, beyond", hinge, vec{3, 4}, vec{6, 8}, vec{6, 8}},
		{"hinge, brought beyond", hinge, vec{3, 4}, vec{0, 0}, vec{3, 4}},
	} {
		y := make(vec, len(c.want))
		if c.cost.ConjugateSubgradient(y, c.dual, c.near); !(floats.Distance(y, c.want, 2) <= 1e-9) {
			t.Errorf("%s: dual %v gives %v near %v, want %v", c.name, c.dual, y, c.near, c.want)
		}
	}
}

// TestCVaRByHand: no outcome counts for more than its probability over the tail, nor for
// more than all.
func TestCVaRByHand(t *testing.T) {
	box := newBox(t, []float64{0, 0, 0}, []float64{10, 10, 10})
	for _, c := range []struct {
		probabilities    []float64
		tail             float64
		x, gradient      []float64
		value, lipschitz float64
	}{
		// The worst half is a quarter of 10 and a quarter of 2. The longest gradient has all on the second.
		{[]float64{0.25, 0.75, 0}, 0.5, []float64{10, 2, 0}, []float64{0.5, 0.5, 0}, 6, 1},
		// An outcome without probability does not count. No gradient is longer than (5, 1, 0)/6.
		{[]float64{0.5, 0.3, 0.2}, 0.6, []float64{1, 9, 4}, []float64{1. / 6, 1. / 2, 1. / 3}, 1./6 + 9./2 + 4./3,
			math.Sqrt(26) / 6},
		{[]float64{0.9, 0.1, 0}, 0.5, []float64{3, 8, 10}, []float64{0.8, 0.2, 0}, 4, 1},
		// Tails so short that 1/tail overflows: the largest outcome that is possible.
		{[]float64{0.5, 0.5, 0}, 5e-324, []float64{1, 3, 9}, []float64{0, 1, 0}, 3, 1},
		{[]float64{0.5, 0.5, 0}, 1e-310, []float64{7, 3, 9}, []float64{1, 0, 0}, 7, 1},
	} {
		g, err := cost.NewCVaR(c.probabilities, c.tail, box)
		if err != nil {
			t.Fatal(err)
		}
		if v := g.Value(c.x); !(math.Abs(v-c.value) <= 1e-12) {
			t.Errorf("p = %v, tail %g: value %g at %v, want %g", c.probabilities, c.tail, v, c.x, c.value)
		}
		if l := g.Lipschitz(); !(math.Abs(l-c.lipschitz) <= 1e-12) {
			t.Errorf("p = %v, tail %g: Lipschitz constant %g, want %g", c.probabilities, c.tail, l, c.lipschitz)
		}
		slope := make([]float64, 3)
		g.Subgradient(slope, c.x)
		for i, v := range slope {
			if !(math.Abs(v-c.gradient[i]) <= 1e-12) {
				t.Errorf("p = %v, tail %g: subgradient %v at %v, want %v", c.probabilities, c.tail, slope, c.x,
					c.gradient)
			}
		}
	}
}
