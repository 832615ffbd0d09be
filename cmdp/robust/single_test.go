package robust_test

import (
	"cmp"
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

// TestDeterministic compares plans with all policies of tiny models that never draw. Of plans that never draw none
// keeps the limit at less cost than the best of them, and most are as good. Nearly all others are as good as the best
// draw between two.
func TestDeterministic(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	found, best, none, worse, helped := 0, 0, 0, 0, 0
	for i := range 60 {
		c := newCase(t, rng, shape{states: 3, actions: 3, successors: 3, horizon: 3, width: 0.2}, false)
		lower, upper := make([]float64, 2), make([]float64, 2)
		c.model.Shape().ReturnToGo(lower, upper, 0)
		if i >= 40 { // stationary policies
			c = newCase(t, rng, shape{states: 5, actions: 3, successors: 3, discount: 0.9, width: 0.2}, false)
			lower, upper = []float64{-99, -99}, []float64{99, 99}
		}
		all := c.deterministicPolicies()
		var bounds []robust.Bounds
		for _, p := range all {
			b, err := c.set.Evaluate(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			bounds = append(bounds, b)
		}
		limit := bounds[rng.IntN(len(bounds))].Greatest[1] - 0.05*float64(i%2)
		if i%3 == 2 { // the best draw gives little weight to another policy
			price := 2 * rng.Float64()
			limit = 1e-4 + slices.MinFunc(bounds, func(a, b robust.Bounds) int {
				return cmp.Compare(a.Greatest[0]+price*a.Greatest[1], b.Greatest[0]+price*b.Greatest[1])
			}).Greatest[1]
		}
		c.wanted(t, limit, lower, upper)
		least, at := math.Inf(1), -1
		for k, b := range bounds {
			if x := b.Greatest[0] + constant; b.Greatest[1] <= limit && x < least {
				least, at = x, k
			}
		}
		mixed, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := bestMixture(bounds, limit) + constant
		if !math.IsInf(want, 1) && (mixed.Status > robust.Feasible || mixed.Objective > want+1e-9) {
			worse++
		}
		r, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{Deterministic: true})
		if err != nil {
			t.Fatal(err)
		}
		few := robust.SolveOptions{Deterministic: true, Nodes: 1, Rounds: 1}
		hasty, err := robust.Solve(t.Context(), c.set, c.task, few)
		if err != nil {
			t.Fatal(err)
		}
		if at >= 0 { // what is told beforehand is not lost
			few.Start, few.Least = []*exact.Policy{c.exactly(all[0]), c.exactly(all[at])}, &least
			told, err := robust.Solve(t.Context(), c.set, c.task, few)
			if err != nil || told.Status != robust.Optimal || math.Abs(told.Objective-least) > 1e-9 ||
				math.Abs(told.Bound-least) > 1e-9 {
				t.Errorf("case %d: error %v, %+v where a policy of %g was told", i, err, told, least)
			}
			if hasty.Status > robust.Feasible || hasty.Objective > least+1e-6 {
				helped++
			}
		}
		for k, p := range all { // no other action at one step and state makes a plan better, however few are looked at
			if b := bounds[k]; hasty.Status <= robust.Feasible && c.changes(hasty.Policy, p) == 1 &&
				b.Greatest[1] <= limit && b.Greatest[0]+constant < hasty.Objective-1e-8 {
				t.Errorf("case %d: objective %g, and %g with one other action", i, hasty.Objective, b.Greatest[0]+constant)
			}
		}
		if r.Status != robust.Optimal && r.Status != robust.Feasible {
			if !math.IsInf(least, 1) {
				none++
			}
			continue
		}
		found++
		if r.Policy == nil || r.Policy.Randomized() > 0 || len(r.Mixture) > 0 {
			t.Fatalf("case %d: the plan draws", i)
		}
		if r.Objective < least-1e-12 || r.Bound > least+1e-9 {
			t.Errorf("case %d: objective %.17g, bound %.17g: the best policy has %.17g", i, r.Objective, r.Bound, least)
		}
		if r.Objective <= least+1e-9 {
			best++
		}
		if err := robust.Verify(t.Context(), c.set, c.task, r); err != nil {
			t.Errorf("case %d: %v", i, err)
		}
	}
	t.Log(found, best, none, worse, helped)
	if helped < 3 {
		t.Errorf("%d plans were worse without what was told", helped)
	}
	if found < 25 || best < found*9/10 || none > 2 || worse > 1 {
		t.Errorf("%d plans, %d of them the best, %d missed, %d worse than a draw between two: want more", found, best, none,
			worse)
	}
}

// TestSwap: where actions of a policy were changed one at a time, no other action at one step and state misses limits
// by less, in units of their extent, or where none are missed costs less.
func TestSwap(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 2))
	missed := 0
	for i := range 40 {
		c := newCase(t, rng, shape{states: 3, actions: 2, successors: 3, horizon: 3, width: 0.2}, false)
		all := c.deterministicPolicies()
		c.wanted(t, 9, []float64{-9, -9}, []float64{9, 9})
		c.task.Target, c.task.Constraints = nil, nil
		excess := func(p cmdp.Policy, scales []float64) float64 {
			most := math.Inf(-1)
			for k, l := range c.task.Constraints {
				most = math.Max(most, (c.worst(p, l.Normal)-l.Offset)/scales[k])
			}
			return most
		}
		mean := make([]float64, 2)
		for _, k := range []int{rng.IntN(len(all)), rng.IntN(len(all))} {
			x, y := c.worst(all[k], []float64{0.2, 1}), c.worst(all[k], []float64{1, -0.3})
			floats.AddScaled(mean, 0.5, []float64{x, y})
		}
		c.task.Constraints = []cmdp.Constraint{{Normal: []float64{0.2, 1}, Offset: mean[0] - 0.2*float64(i%2)},
			{Normal: []float64{1, -0.3}, Offset: mean[1] - 0.2*float64(i%2)}}
		policy, scales, err := c.set.Swap(t.Context(), c.task, c.exactly(all[rng.IntN(len(all))]))
		if err != nil {
			t.Fatal(err)
		}
		least, cost := excess(policy, scales), c.worst(policy, []float64{1, 0})
		if least > 1e-9 {
			missed++
		}
		for _, p := range all {
			if c.changes(policy, p) != 1 {
				continue
			}
			x := excess(p, scales)
			if least > 1e-9 && x < least-1e-9 || x <= 0 && c.worst(p, []float64{1, 0}) < cost-1e-8 {
				t.Errorf("case %d: limits missed by %g at a cost of %g: with one other action by %g at %g", i, least,
					cost, x, c.worst(p, []float64{1, 0}))
			}
		}
	}
	if missed < 5 || missed > 35 {
		t.Errorf("limits were missed in %d cases: want some and not all", missed)
	}
}

// bestMixture returns the least cost of a draw between policies of the given bounds that keeps a limit: that of one or
// of two of them, as there is one limit. It is +Inf if none keeps it.
func bestMixture(of []robust.Bounds, limit float64) float64 {
	least := math.Inf(1)
	for _, a := range of {
		if a.Greatest[1] > limit {
			continue
		}
		least = math.Min(least, a.Greatest[0])
		for _, b := range of {
			if b.Greatest[1] > limit {
				share := (limit - a.Greatest[1]) / (b.Greatest[1] - a.Greatest[1])
				least = math.Min(least, a.Greatest[0]+share*(b.Greatest[0]-a.Greatest[0]))
			}
		}
	}
	return least
}

// deterministicPolicies lists the Markov policies that never draw, without a horizon the stationary ones.
func (c *randomCase) deterministicPolicies() []cmdp.Policy {
	states, steps := c.model.States(), max(1, c.model.Horizon())
	table := make(cmdp.Deterministic, steps)
	for h := range table {
		table[h] = make([]int32, states)
	}
	var out []cmdp.Policy
	var from func(at int)
	from = func(at int) {
		if at == states*steps {
			clone := make(cmdp.Deterministic, steps)
			for h := range table {
				clone[h] = append([]int32(nil), table[h]...)
			}
			out = append(out, clone)
			return
		}
		h, s := at/states, at%states
		first, end := c.model.Rows(h).Choices(s)
		for a := range max(1, end-first) {
			table[h][s] = int32(a)
			from(at + 1)
		}
	}
	from(0)
	return out
}

// exactly returns a policy that never draws as one of package exact.
func (c *randomCase) exactly(p cmdp.Policy) *exact.Policy {
	rules := make([]markov.Rule, max(1, c.model.Horizon()))
	for h := range rules {
		rules[h].Actions = markov.NewActions(c.model.States(), 3)
		for s := range c.model.States() {
			rules[h].Actions.Set(s, p.Choose(nil, h, s))
		}
	}
	return exact.NewPolicy(rules)
}

// changes counts the pairs of a step and a state in which two policies that never draw take different actions.
func (c *randomCase) changes(p, q cmdp.Policy) (n int) {
	for h := range max(1, c.model.Horizon()) {
		for s := range c.model.States() {
			first, end := c.model.Rows(h).Choices(s)
			x, y := make([]float64, end-first), make([]float64, end-first)
			if end > first {
				p.Distribution(x, h, s)
				q.Distribution(y, h, s)
			}
			if !slices.Equal(x, y) {
				n++
			}
		}
	}
	return n
}
