package robust_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/robust"

	"gonum.org/v1/gonum/floats"
)

// TestWidthZero: over a set of one model the answer is that of exact planning, and bounds of returns are the returns.
func TestWidthZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for i := range 30 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		iv, err := cmdp.Widen(c.model, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if iv.Rows() != 0 || iv.Width() != 0 {
			t.Fatalf("%d choices with intervals of width %g: want none", iv.Rows(), iv.Width())
		}
		set, err := robust.New(robust.Spec{Model: c.model, Intervals: iv})
		if err != nil {
			t.Fatal(err)
		}
		policy := randomPolicy(t, rng, c.model, c.model.Horizon())
		b, err := set.Evaluate(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float64, 2)
		cmdp.NewEvaluator(c.model).Returns(v, policy)
		for j := range v {
			if b.Least[j] > v[j]+1e-15 || b.Greatest[j] < v[j]-1e-15 || b.Greatest[j]-b.Least[j] > 1e-12 {
				t.Errorf("case %d: return %d is %.17g, between %.17g and %.17g", i, j, v[j], b.Least[j], b.Greatest[j])
			}
		}
		lower, upper := make([]float64, 2), make([]float64, 2)
		c.model.Shape().ReturnToGo(lower, upper, 0)
		c.wanted(t, v[1]+0.05*rng.NormFloat64(), lower, upper)
		r, err := robust.Solve(t.Context(), set, c.task, robust.SolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := exact.Solve(t.Context(), c.model, c.task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case (r.Status == robust.Infeasible) != (want.Status == exact.Infeasible):
			t.Errorf("case %d: %v: want %v", i, r.Status, want.Status)
		case want.Status == exact.Optimal && (r.Status != robust.Optimal ||
			math.Abs(r.Objective-want.Objective) > 1e-9):
			t.Errorf("case %d: %v, objective %.12g: want %.12g", i, r.Status, r.Objective, want.Objective)
		}
	}
}

// TestMonotone: bounds of the returns of a policy widen with the intervals.
func TestMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	for i := range 30 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		policy := randomPolicy(t, rng, c.model, c.model.Horizon())
		var before robust.Bounds
		for k, width := range []float64{0, 0.01, 0.1, 0.3, 1} {
			iv, err := cmdp.Widen(c.model, c.iv, width)
			if err != nil {
				t.Fatal(err)
			}
			set, err := robust.New(robust.Spec{Model: c.model, Intervals: iv})
			if err != nil {
				t.Fatal(err)
			}
			b, err := set.Evaluate(t.Context(), policy)
			if err != nil {
				t.Fatal(err)
			}
			for j := range 2 {
				if k > 0 && (b.Greatest[j] < before.Greatest[j]-1e-13 || b.Least[j] > before.Least[j]+1e-13) {
					t.Errorf("case %d: width %g: return %d between %g and %g, before %g and %g", i, width, j,
						b.Least[j], b.Greatest[j], before.Least[j], before.Greatest[j])
				}
			}
			before = b
		}
	}
}

// TestWeakDuality: for random prices of the limit no policy that keeps it in all models has a worst case below the
// bound of the prices, which is the worst case of the best policy in the weighted direction.
func TestWeakDuality(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	tried := 0
	for i := range 60 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		b, err := c.set.Evaluate(t.Context(), randomPolicy(t, rng, c.model, c.model.Horizon()))
		if err != nil {
			t.Fatal(err)
		}
		limit := b.Greatest[1]
		price := rng.ExpFloat64()
		lower, upper := []float64{-1e3, -1e3}, []float64{1e3, 1e3}
		c.wanted(t, limit, lower, upper)
		weighted := c.task
		weighted.Target, weighted.Constraints = nil, nil
		weighted.Cost = linear(t, []float64{1, price}, lower, upper)
		r, err := robust.Solve(t.Context(), c.set, weighted, robust.SolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != robust.Optimal {
			t.Errorf("case %d: %v: a single direction has no gap", i, r.Status)
		}
		if bound := r.Bound - price*limit; b.Greatest[0] < bound-1e-9 {
			t.Errorf("case %d: a policy that keeps the limit has a worst case of %g, below the bound %g of the price %g", i, b.Greatest[0], bound, price)
		}
		tried++
	}
	if tried == 0 {
		t.Error("nothing was tried")
	}
}

// TestRoundingAddsUp: over thousands of steps rounding errors add up, and bounds enclose the return in rational
// numbers.
func TestRoundingAddsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 1))
	for range 2 {
		k := cmdp.NewKernel()
		const states = 3
		for s := range states {
			k.Append([]int32{int32((s + 1) % states)}, []float64{1}, []float64{rng.Float64()})
			k.EndState()
		}
		m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: 3000, Dim: 1,
			Start: []cmdp.StartState{{State: 0, Probability: 1}}, Kernels: []cmdp.Kernel{k}})
		if err != nil {
			t.Fatal(err)
		}
		set, err := robust.New(robust.Spec{Model: m})
		if err != nil {
			t.Fatal(err)
		}
		policy := exactPolicy(rng, m)
		b, err := set.Evaluate(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		want, err := set.RationalGreatest(policy, []float64{1})
		if err != nil {
			t.Fatal(err)
		}
		if want.Cmp(new(big.Rat).SetFloat64(b.Least[0])) < 0 || want.Cmp(new(big.Rat).SetFloat64(b.Greatest[0])) > 0 {
			near, _ := want.Float64()
			t.Errorf("a return of %.17g is not between %.17g and %.17g", near, b.Least[0], b.Greatest[0])
		}
	}
}

// TestSearchGainsGround: from round to round the bound does not fall nor the objective rise, and the last ones are
// those of the result. A limit that is given twice has the price of both once.
func TestSearchGainsGround(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 1))
	priced := 0
	for i := range 40 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], i%4 == 3)
		lower, upper := make([]float64, 2), make([]float64, 2)
		c.model.Shape().ReturnToGo(lower, upper, 0)
		b, err := c.set.Evaluate(t.Context(), randomPolicy(t, rng, c.model, c.model.Horizon()))
		if err != nil {
			t.Fatal(err)
		}
		c.wanted(t, b.Greatest[1]-0.1*rng.Float64(), lower, upper)
		var results []*robust.Result
		for range 2 {
			bound, objective := math.Inf(-1), math.Inf(1)
			opts := robust.SolveOptions{Progress: func(_ int, b, o float64) {
				if b < bound || o > objective+1e-8 { // one policy may take the place of a draw that is as good
					t.Errorf("case %d: bound %g, objective %g, after %g and %g", i, b, o, bound, objective)
				}
				bound, objective = b, o
			}}
			r, err := robust.Solve(t.Context(), c.set, c.task, opts)
			if err != nil {
				t.Fatal(err)
			}
			if r.Bound < bound && r.Status != robust.Infeasible ||
				r.Objective > objective+1e-8 && r.Status <= robust.Feasible {
				t.Errorf("case %d: %v, bound %g, objective %g, after %g and %g", i, r.Status, r.Bound, r.Objective,
					bound, objective)
			}
			results = append(results, r)
			c.task.Constraints = append(c.task.Constraints, c.task.Constraints[0])
		}
		var prices [2]float64
		for k, r := range results {
			for _, l := range r.Limits {
				prices[k] += l.Price
			}
		}
		if math.Abs(prices[0]-prices[1]) > 1e-6*math.Max(1, prices[0]) {
			t.Errorf("case %d: a limit has the price %g, and if given twice %g", i, prices[0], prices[1])
		}
		if prices[0] > 0 {
			priced++
		}
	}
	if priced < 5 {
		t.Errorf("%d limits have a price: want some", priced)
	}
}

// TestWorst: the worst model for a plan is one of the set, gives the returns that are said, and for one policy
// the greatest where nature chooses anew. Where one fixed model is the true one, it comes near to that: choices
// are answered as where the policy takes them.
func TestWorst(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 1))
	reached, possible := 0.0, 0.0
	for i := range 60 {
		fixed := i%2 == 0
		c := newCase(t, rng, finiteShapes[i/2%len(finiteShapes)], fixed)
		parts := []exact.WeightedPolicy{{Weight: 1, Policy: exactPolicy(rng, c.model)}}
		if i%4 >= 2 {
			parts[0].Weight = 0.25
			parts = append(parts, exact.WeightedPolicy{Weight: 0.75, Policy: exactPolicy(rng, c.model)})
		}
		for _, dir := range [][]float64{{1, 0}, {-1, 0.5}} {
			answer, v, err := c.set.Worst(t.Context(), parts, dir)
			if err != nil {
				t.Fatal(err)
			}
			m, err := answer.Model()
			if err != nil {
				t.Fatal(err)
			}
			c.checkMember(t, i, m)
			nominal, most, greatest := 0.0, 0.0, 0.0
			for _, p := range parts {
				u := make([]float64, 2)
				cmdp.NewEvaluator(m).Returns(u, p.Policy)
				most += p.Weight * floats.Dot(dir, u)
				cmdp.NewEvaluator(c.model).Returns(u, p.Policy)
				nominal += p.Weight * floats.Dot(dir, u)
				greatest += p.Weight * c.worst(p.Policy, dir)
			}
			if math.Abs(floats.Dot(dir, v)-most) > 1e-12 {
				t.Errorf("case %d: %g in direction %v: the model gives %g", i, floats.Dot(dir, v), dir, most)
			}
			if len(parts) == 1 && !fixed && math.Abs(most-greatest) > 1e-12 || most > greatest+1e-12 {
				t.Errorf("case %d: %g in direction %v: want %g", i, most, dir, greatest)
			}
			if fixed {
				reached += most - nominal
				possible += greatest - nominal
			}
		}
	}
	if reached < 0.75*possible {
		t.Errorf("fixed models are worse than the nominal one by %g: nature that chooses anew by %g", reached, possible)
	}
}

// exactPolicy draws a policy without randomness.
func exactPolicy(rng *rand.Rand, m *cmdp.Model) *exact.Policy {
	rules := make([]markov.Rule, m.Horizon())
	for h := range rules {
		rules[h].Actions = markov.NewActions(m.States(), m.Shape().MaxActions())
		for s := range m.States() {
			first, end := m.Rows(h).Choices(s)
			if end > first {
				rules[h].Actions.Set(s, rng.IntN(end-first))
			}
		}
	}
	return exact.NewPolicy(rules)
}
