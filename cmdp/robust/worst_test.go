package robust_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/robust"

	"gonum.org/v1/gonum/floats"
)

// TestFirstAnswerIsWorst: without limits nature's first answer, at all choices, is the worst model: its optimum is the
// bound from the first round on.
func TestFirstAnswerIsWorst(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 2))
	for i := range 30 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		lower, upper := make([]float64, 2), make([]float64, 2)
		c.model.Shape().ReturnToGo(lower, upper, 0)
		task := cmdp.Task{Cost: linear(t, []float64{1, -0.5}, lower, upper)}
		var bounds []float64
		r, err := robust.Solve(t.Context(), c.set, task, robust.SolveOptions{
			Progress: func(_ int, bound, _ float64) { bounds = append(bounds, bound) }})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != robust.Optimal || len(bounds) == 0 || bounds[0] < r.Bound-1e-12 {
			t.Errorf("case %d: %v, bounds %v: want an optimum, whose bound is the first one", i, r.Status, bounds)
		}
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
			m, v := c.worstModel(t, i, c.set, parts, dir)
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
			if len(parts) == 2 { // of two answers the worse one does not depend on which comes first
				_, u, err := c.set.Worst(t.Context(), []exact.WeightedPolicy{parts[1], parts[0]}, dir)
				if err != nil || math.Abs(floats.Dot(dir, u)-most) > 1e-12 {
					t.Errorf("case %d: %g in direction %v, and %g in the other order, error %v", i, most, dir,
						floats.Dot(dir, u), err)
				}
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
	rules := make([]markov.Rule, max(1, m.Horizon()))
	for h := range rules {
		rules[h].Actions = markov.NewActions(m.States(), m.Choices())
		for s := range m.States() {
			first, end := m.Rows(h).Choices(s)
			if end > first {
				rules[h].Actions.Set(s, rng.IntN(end-first))
			}
		}
	}
	return exact.NewPolicy(rules)
}

// TestVisitsMakeUpReturns: under nature's answer in a direction, what choices return in it, each as often as it is
// taken, is the greatest return, and at each step the process is somewhere, in a state at rest too.
func TestVisitsMakeUpReturns(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 1))
	dirs := [][]float64{{1, 0}, {-1, 0.5}, {0, 1}}
	for i := range 30 {
		c := newCase(t, rng, finiteShapes[i%3], false)
		policy := randomPolicy(t, rng, c.model, c.model.Horizon())
		visits, err := c.set.Visits(t.Context(), policy, dirs)
		if err != nil {
			t.Fatal(err)
		}
		for j, dir := range dirs {
			sum := 0.0
			for h, x := range visits {
				all, rows := 0.0, c.model.Rows(h)
				for s := range c.model.States() {
					all += x[s*len(dirs)+j]
				}
				if math.Abs(all-1) > 1e-12 {
					t.Errorf("case %d: visits of step %d sum to %g in direction %v: want 1", i, h+1, all, dir)
				}
				for s := range c.model.States() {
					first, end := rows.Choices(s)
					probs := make([]float64, end-first)
					if end > first {
						policy.Distribution(probs, h, s)
					}
					for a, p := range probs {
						sum += x[s*len(dirs)+j] * p * floats.Dot(dir, rows.Returns(first+a))
					}
				}
			}
			if want := c.worst(policy, dir); math.Abs(sum-want) > 1e-12 {
				t.Errorf("case %d: visits make up %g in direction %v: want %g", i, sum, dir, want)
			}
		}
	}
}

// TestImprove: where a policy is made better to first order, no action has a less sum of its greatest values in each
// direction, weighted and times the visits under nature's answer, than the one that is taken; with a horizon by what is
// done at later steps, else by what the policy did. Visits without a horizon make up the greatest returns, too.
func TestImprove(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 2))
	dirs, weights := [][]float64{{1, 0}, {-1, 0.5}, {0, 1}}, []float64{1, 0.4, 2}
	for i := range 60 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		if discount := []float64{0, 0.9, 1}[i%3]; discount > 0 {
			c = endlessCase(t, rng, discount, false, false)
		}
		policy := randomPolicy(t, rng, c.model, max(1, c.model.Horizon()))
		visits, err := c.set.Visits(t.Context(), policy, dirs)
		if err != nil {
			t.Fatal(err)
		}
		if c.model.Horizon() > 0 && i%2 == 0 {
			policy = nil // all states count alike
		}
		better, err := c.set.Improve(t.Context(), policy, dirs, weights)
		if err != nil {
			t.Fatal(err)
		}
		var old [][]float64
		for j, dir := range dirs {
			if c.model.Horizon() == 0 {
				old = append(old, c.values(policy, dir))
				c.checkVisits(t, i, visits[0], j, len(dirs), policy, dir, old[j])
			}
		}
		for h, x := range visits {
			for s := range c.model.States() {
				first, end := c.model.Rows(h).Choices(s)
				share := slices.Clone(x[s*len(dirs) : (s+1)*len(dirs)])
				seldom := floats.Max(share) == 0
				if end-first < 2 || seldom && c.model.Horizon() == 0 {
					continue
				}
				if floats.Mul(share, weights); policy == nil || seldom {
					copy(share, weights)
				}
				sums, probs := make([]float64, end-first), make([]float64, end-first)
				for a := range sums {
					for j, dir := range dirs {
						sums[a] += share[j] * c.greatestOf(dir, h, first+a, func(to int) float64 {
							if old != nil {
								return c.model.Discount() * old[j][to]
							}
							return c.bruteForce(better, dir, h+1, to)
						})
					}
				}
				better.Distribution(probs, h, s)
				room := 1e-6 * floats.Norm(share, 1)
				if took := slices.Index(probs, 1); took < 0 || sums[took] > floats.Min(sums)+room {
					t.Errorf("case %d: step %d, state %d: %v is done where actions count %v", i, h+1, s, probs, sums)
				}
			}
		}
	}
}

// checkVisits checks that visits of states in direction j of n make up the greatest return, whose values are given.
func (c *randomCase) checkVisits(
	t *testing.T, i int, visits []float64, j, n int, policy cmdp.Policy, dir, values []float64,
) {
	t.Helper()
	sum, want, rows := 0.0, 0.0, c.model.Rows(0)
	for s := range c.model.States() {
		first, end := rows.Choices(s)
		probs := make([]float64, end-first)
		if first < end {
			policy.Distribution(probs, 0, s)
		}
		for a, x := range probs {
			sum += visits[s*n+j] * x * floats.Dot(dir, rows.Returns(first+a))
		}
	}
	for _, st := range c.model.StartStates() {
		want += st.Probability * values[st.State]
	}
	if math.Abs(sum-want) > 1e-6 {
		t.Errorf("case %d: visits make up %g in direction %v: want %g", i, sum, dir, want)
	}
}

// TestWorstEndless: without a horizon the worst model for one policy is one of the set that gives the greatest return,
// whether nature chooses anew or one fixed model is the true one, and the returns that are said are those of the plan.
func TestWorstEndless(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 4))
	for i := range 40 {
		x := criteria[i%len(criteria)]
		c := endlessCase(t, rng, x.discount, x.average, i%2 == 0)
		set, err := robust.New(robust.Spec{Model: c.model, Intervals: c.iv, Fixed: i%3 == 0})
		if err != nil {
			t.Fatal(err)
		}
		parts := []exact.WeightedPolicy{{Weight: 1, Policy: exactPolicy(rng, c.model)}}
		b, err := set.Evaluate(t.Context(), parts[0].Policy)
		if err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			parts[0].Weight = 0.25
			parts = append(parts, exact.WeightedPolicy{Weight: 0.75, Policy: exactPolicy(rng, c.model)})
		}
		for j, greatest := range b.Greatest {
			dir := make([]float64, 2)
			dir[j] = 1
			m, v := c.worstModel(t, i, set, parts, dir)
			want := make([]float64, 2)
			for _, p := range parts {
				floats.AddScaled(want, p.Weight, returnsOf(t, m, p.Policy))
			}
			if !floats.EqualApprox(v, want, 1e-9) || len(parts) == 1 && math.Abs(v[j]-greatest) > 1e-7 {
				t.Errorf("case %d, %s: %v in direction %v: the model gives %v, the greatest is %g", i, x.name, v, dir, want,
					greatest)
			}
		}
	}
}

// TestWorstEverywhere: without a horizon nature answers every choice of all states, whether it is taken or not, also
// where a policy does not come, with the probabilities that are worst for what the policy returns afterwards.
func TestWorstEverywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 1))
	others := 0
	for i := range 40 {
		x := criteria[i%3]
		c := endlessCase(t, rng, x.discount, false, i%2 == 0)
		if i%4 == 3 { // most states are left out
			sparse := shape{states: 12, actions: 2, successors: 2, discount: x.discount, width: 0.6}
			sparse.home = x.discount == 1
			c = newCase(t, rng, sparse, false)
		}
		table := make([]int32, c.model.States())
		for s := range table {
			if first, end := c.model.Rows(0).Choices(s); first < end {
				table[s] = int32(rng.IntN(end - first))
			}
		}
		rule := markov.Rule{Actions: markov.NewActions(len(table), 2)}
		for s, a := range table {
			rule.Actions.Set(s, int(a))
		}
		policy, dir := exact.NewPolicy([]markov.Rule{rule}), []float64{1, -0.5}
		answer, _, err := c.set.Worst(t.Context(), []exact.WeightedPolicy{{Weight: 1, Policy: policy}}, dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := answer.Model()
		if err != nil {
			t.Fatal(err)
		}
		c.checkMember(t, i, m)
		v, size := make([]float64, len(table)), 1.0
		for s := range v {
			one, err := cmdp.NewModel(cmdp.ModelSpec{Discount: x.discount, Dim: 2, Kernels: []cmdp.Kernel{*m.Kernel(0)},
				Start: []cmdp.StartState{{State: s, Probability: 1}}})
			if err != nil {
				t.Fatal(err)
			}
			v[s] = floats.Dot(dir, returnsOf(t, one, policy))
			size = math.Max(size, math.Abs(v[s]))
		}
		rows := m.Rows(0)
		for s, a := range table {
			first, end := rows.Choices(s)
			for choice := first; choice < end; choice++ {
				lower, upper := c.iv.Row(0, choice)
				if lower == nil {
					continue
				}
				next, prob := rows.Row(choice)
				values := make([]float64, len(next))
				for e, to := range next {
					values[e] = x.discount*v[to] + floats.Dot(dir, rows.Outcome(choice, e))
				}
				if got, want := floats.Dot(prob, values), best(lower, upper, values); math.Abs(got-want) > 1e-9*size {
					t.Errorf("case %d, %s: choice %d of state %d, taken %v: %g: want %g", i, x.name, choice-first, s,
						choice-first == int(a), got, want)
				}
				if choice-first != int(a) {
					others++
				}
			}
		}
	}
	if others < 20 {
		t.Errorf("%d choices that are not taken", others)
	}
}

// TestOneFixedModel: where choices are the same at even and odd visits, or at all steps, and one fixed model is the
// true one, worst models are such models. A model that is not one proves nothing.
func TestOneFixedModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 2))
	refused := 0
	for i := range 60 {
		var c *randomCase
		if i%3 == 0 {
			c = newCase(t, rng, finiteShapes[i/3%len(finiteShapes)], false)
		} else {
			c = endlessCase(t, rng, []float64{0.9, 1}[i%3-1], false, i%2 == 0)
		}
		c, same := c.doubled(t)
		fixed, err := robust.New(robust.Spec{Model: c.model, Intervals: c.iv, Fixed: true, Same: same})
		if err != nil {
			t.Fatal(err)
		}
		b, err := fixed.Evaluate(t.Context(), randomPolicy(t, rng, c.model, max(1, c.model.Horizon())))
		if err != nil {
			t.Fatal(err)
		}
		c.wanted(t, b.Greatest[1]+0.1*rng.NormFloat64(), []float64{-1e3, -1e3}, []float64{1e3, 1e3})
		r, err := robust.Solve(t.Context(), fixed, c.task, robust.SolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := robust.Verify(t.Context(), fixed, c.task, r); err != nil {
			t.Errorf("case %d: %v", i, err)
		}
		if len(r.Plan()) > 0 {
			answer, _, err := fixed.Worst(t.Context(), r.Plan(), []float64{1, -0.5})
			if err != nil {
				t.Fatal(err)
			}
			if m, err := answer.Model(); err != nil || !c.fixedModel(m, same) {
				t.Errorf("case %d: the worst model is not the same at all visits, error %v", i, err)
			}
		}
		anew, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if anew.Model == nil {
			continue
		}
		m, err := anew.Model.Model()
		if err != nil {
			t.Fatal(err)
		}
		if c.fixedModel(m, same) {
			continue
		}
		refused++
		if err := robust.Verify(t.Context(), fixed, c.task, anew); !errors.Is(err, robust.ErrNotProved) {
			t.Errorf("case %d: a model that changes between visits: error %v", i, err)
		}
	}
	if refused < 10 {
		t.Errorf("%d models change between visits: want more", refused)
	}
}

// doubled returns a set whose states remember whether the number of steps so far is even, with twice the returns at odd
// steps, and numbers of choices whose probabilities are the same.
func (c *randomCase) doubled(t *testing.T) (of *randomCase, same func(h, choice int) int) {
	t.Helper()
	m := c.model
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Discount: m.Discount(), Dim: m.Dim(), Start: m.StartStates()}
	if m.Horizon() > 0 {
		spec.Discount = 0
	}
	for h := range m.Kernels() {
		rows, k := m.Rows(h), cmdp.NewKernel()
		for odd := range 2 {
			for s := range m.States() {
				first, end := rows.Choices(s)
				for choice := first; choice < end; choice++ {
					next, prob := rows.Row(choice)
					to, outcomes := slices.Clone(next), []float64(nil)
					for e := range to {
						to[e] += int32((1 - odd) * m.States())
						outcomes = append(outcomes, rows.Outcome(choice, e)...)
					}
					floats.Scale(1+float64(odd), outcomes)
					returns := slices.Clone(rows.Returns(choice))
					floats.Scale(1+float64(odd), returns)
					if !rows.Random() {
						outcomes = nil
					}
					k.AppendRandom(to, prob, returns, outcomes)
				}
				k.EndState()
			}
		}
		spec.Kernels = append(spec.Kernels, k)
	}
	double, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	number := func(h, choice int) (int, int) { return h, choice % m.Kernel(h).Choices() }
	iv, err := cmdp.NewIntervals(double,
		func(h, choice int) ([]float64, []float64) { return c.iv.Row(number(h, choice)) })
	if err != nil {
		t.Fatal(err)
	}
	set, err := robust.New(robust.Spec{Model: double, Intervals: iv})
	if err != nil {
		t.Fatal(err)
	}
	return &randomCase{model: double, iv: iv, set: set}, func(h, choice int) int {
		h, choice = number(h, choice)
		return 1000*h + choice
	}
}

// fixedModel reports whether choices of the same number have the same probabilities in a model.
func (c *randomCase) fixedModel(m *cmdp.Model, same func(h, choice int) int) bool {
	known := make(map[int][]float64)
	for h := range m.Kernels() {
		for choice := range m.Kernel(h).Choices() {
			_, prob := m.Rows(h).Row(choice)
			number := same(min(h, c.model.Kernels()-1), choice)
			if known[number] != nil && !slices.Equal(known[number], prob) {
				return false
			}
			known[number] = prob
		}
	}
	return true
}
