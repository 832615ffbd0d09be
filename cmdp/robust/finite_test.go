package robust_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/cmdp/robust"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
)

var finiteShapes = []shape{
	{states: 3, actions: 2, successors: 3, horizon: 3, width: 0.3},
	{states: 3, actions: 3, successors: 2, horizon: 4, width: 0.1, steps: true},
	{states: 4, actions: 2, successors: 4, horizon: 2, width: 1},
	{states: 3, actions: 2, successors: 3, horizon: 3, width: 0.2, outcomes: true},
	{states: 2, actions: 2, successors: 2, horizon: 1, width: 0.5},
	{states: 3, actions: 2, successors: 3, horizon: 2, width: 0.3, outcomes: true, steps: true},
}

// wideShape has more successors than are sorted at a time.
var wideShape = shape{states: 20, actions: 2, successors: 18, horizon: 2, width: 0.2, steps: true}

// longShape has more successors in a step than wait at a time.
var longShape = shape{states: 300, actions: 2, successors: 5, horizon: 2, width: 0.2}

// TestEvaluateAgainstBruteForce compares bounds of returns with nature trying every corner after every history.
func TestEvaluateAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i, sh := range append(slices.Repeat(finiteShapes, 10), slices.Repeat([]shape{wideShape, longShape}, 6)...) {
		c := newCase(t, rng, sh, false)
		policy := randomPolicy(t, rng, c.model, c.model.Horizon())
		b, err := c.set.Evaluate(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		for j := range 2 {
			dir := []float64{0, 0}
			dir[j] = 1
			want := c.worst(policy, dir)
			if got := b.Greatest[j]; got < want-1e-15 || got > want+1e-12 {
				t.Errorf("case %d: greatest return %d is %.17g: want %.17g", i, j, got, want)
			}
			dir[j] = -1
			want = -c.worst(policy, dir)
			if got := b.Least[j]; got > want+1e-15 || got < want-1e-12 {
				t.Errorf("case %d: least return %d is %.17g: want %.17g", i, j, got, want)
			}
		}
	}
}

// TestSolve plans for random sets. The plan keeps its limit in every model that is drawn, its objective is reached in
// none, and no policy that keeps the limit in all models beats the bound.
func TestSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	counts := make(map[robust.Status]int)
	for i := range 80 {
		fixed := i%3 == 2
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], fixed)
		lower, upper := make([]float64, 2), make([]float64, 2)
		c.model.Shape().ReturnToGo(lower, upper, 0)
		c.wanted(t, 0, lower, upper)
		policy := randomPolicy(t, rng, c.model, c.model.Horizon())
		b, err := c.set.Evaluate(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		limit := b.Greatest[1] + 0.2*rng.NormFloat64()
		c.wanted(t, limit, lower, upper)
		if i%2 == 0 {
			c.second(t, rng, b)
		}
		restore := func() {}
		if i%4 >= 2 {
			restore = noModels()
		}
		r, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{})
		restore()
		if err != nil {
			t.Fatal(err)
		}
		counts[r.Status]++
		c.checkWithoutCost(t, i, r)
		if fixed && r.Proof == nil && r.Bound > math.Inf(-1) {
			t.Errorf("case %d: no model proves the bound %g, where nature may not change it", i, r.Bound)
		}
		if r.Status == robust.Infeasible {
			c.checkInfeasible(t, i, r)
			if c.keeps(b) {
				t.Errorf("case %d: infeasible, but a policy keeps the limit", i)
			}
			continue
		}
		if r.Status == robust.Undecided {
			c.checkMissed(t, i, r)
			continue
		}
		c.checkPlan(t, rng, i, r, limit)
		if c.keeps(b) && b.Greatest[0]+constant < r.Bound-1e-12 {
			t.Errorf("case %d: a policy that keeps the limit has a cost of at most %g: below the bound %g", i,
				b.Greatest[0]+constant, r.Bound)
		}
	}
	t.Log(counts)
	if counts[robust.Optimal] < 30 || counts[robust.Feasible] < 5 || counts[robust.Infeasible] < 5 {
		t.Errorf("verdicts %v: want plans and proofs that there is none", counts)
	}
}

// checkWithoutCost plans for the limits alone: what keeps them is the best plan, and there is one where there is one of
// least cost.
func (c *randomCase) checkWithoutCost(t *testing.T, i int, priced *robust.Result) {
	t.Helper()
	task := c.task
	task.Cost = nil
	r, err := robust.Solve(t.Context(), c.set, task, robust.SolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if none := r.Objective == 0 && r.Bound == 0 && r.Gap == 0; r.Status == robust.Feasible ||
		r.Status == robust.Optimal && !none {
		t.Errorf("case %d, without a cost: %v, objective %g, bound %g, gap %g", i, r.Status, r.Objective, r.Bound, r.Gap)
	}
	if kept := priced.Status <= robust.Feasible; kept && r.Status != robust.Optimal ||
		priced.Status == robust.Infeasible && r.Status <= robust.Feasible {
		t.Errorf("case %d: %v without a cost, and %v with one", i, r.Status, priced.Status)
	}
	if err := robust.Verify(t.Context(), c.set, task, r); err != nil {
		t.Errorf("case %d: %v", i, err)
	}
	if r.Status != robust.Optimal {
		return
	}
	for _, l := range r.Limits {
		if l.Slack() < -r.Tolerance || l.Slack() != l.Offset-l.Greatest {
			t.Errorf("case %d, without a cost: slack %g of %g below %g", i, l.Slack(), l.Greatest, l.Offset)
		}
	}
	rng := rand.New(rand.NewPCG(27, uint64(i)))
	for range 10 {
		m, v := c.sample(t, rng, true), make([]float64, 2)
		for _, part := range r.Plan() {
			u := make([]float64, 2)
			cmdp.NewEvaluator(m).Returns(u, part.Policy)
			floats.AddScaled(v, part.Weight, u)
		}
		if c.task.Violation(v) > 1e-9 {
			t.Errorf("case %d, without a cost: a model of the set gives %v, which misses a limit", i, v)
		}
	}
}

// TestRefused: what is asked in vain is named.
func TestRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 21))
	c := newCase(t, rng, finiteShapes[1], false)
	c.wanted(t, 1, []float64{-9, -9}, []float64{9, 9})
	solve := func(opts robust.SolveOptions, edit func(task *cmdp.Task)) error {
		task := c.task
		if edit != nil {
			edit(&task)
		}
		_, err := robust.Solve(t.Context(), c.set, task, opts)
		return err
	}
	round, err := geometry.NewBall([]float64{0, 0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	curved, err := cost.NewSquared([]float64{0, 0}, []float64{1, 1}, c.task.Box)
	if err != nil {
		t.Fatal(err)
	}
	counts := drawCounts(t, rng, c.model, 10)
	fromCounts := func(m *cmdp.Model, counts *cmdp.Counts, pooled bool, level float64) error {
		_, _, _, err := robust.FromCounts(m, counts, pooled, level)
		return err
	}
	worst := func(parts []exact.WeightedPolicy, dir []float64) error {
		_, _, err := c.set.Worst(t.Context(), parts, dir)
		return err
	}
	of := func(spec robust.Spec) error { _, err := robust.New(spec); return err }
	_, noSet := robust.Solve(t.Context(), nil, c.task, robust.SolveOptions{})
	one := []exact.WeightedPolicy{{Weight: 1, Policy: exactPolicy(rng, c.model)}}
	endless := endlessCase(t, rng, 0.9, false, false).model
	plan, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	verify := func(edit func(task *cmdp.Task)) error {
		task := c.task
		edit(&task)
		return robust.Verify(t.Context(), c.set, task, plan)
	}
	k := cmdp.NewKernel()
	k.Append([]int32{0}, []float64{1}, []float64{1})
	k.Append([]int32{0}, []float64{1}, []float64{2})
	k.EndState()
	game, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: 1, Dim: 1, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}, Opponents: [][]int32{{2}}})
	if err != nil {
		t.Fatal(err)
	}
	mixed, err := robust.New(robust.Spec{Model: c.model, Intervals: c.iv, Fixed: true,
		Same: func(_, _ int) int { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	_, _, unequal := mixed.Worst(t.Context(), one, []float64{1, 0})
	for want, errs := range map[string][]error{
		"no set of models": {noSet, robust.Verify(t.Context(), nil, c.task, &robust.Result{}),
			robust.Verify(t.Context(), c.set, c.task, nil)},
		"no model":                 {of(robust.Spec{})},
		"robust: a game":           {of(robust.Spec{Model: game})},
		"choices of group 0 have":  {unequal},
		"robust: -1 worker":        {of(robust.Spec{Model: c.model, Workers: -1})},
		"budget -1ns":              {solve(robust.SolveOptions{Budget: -1}, nil)},
		"gap 1, 0 rounds, 0 nodes": {solve(robust.SolveOptions{Gap: 1}, nil)},
		"gap NaN":                  {solve(robust.SolveOptions{Gap: math.NaN()}, nil)},
		"gap -0.5":                 {solve(robust.SolveOptions{Gap: -0.5}, nil)},
		"-2 rounds":                {solve(robust.SolveOptions{Rounds: -2}, nil)},
		"-3 nodes":                 {solve(robust.SolveOptions{Nodes: -3}, nil)},
		robust.ErrCurved.Error(): {
			solve(robust.SolveOptions{}, func(task *cmdp.Task) { task.Cost = curved }),
			solve(robust.SolveOptions{}, func(task *cmdp.Task) { task.Target = round; task.Constraints = nil }),
			verify(func(task *cmdp.Task) { task.Target = round; task.Constraints = nil }),
		},
		"want a plan, and a direction": {worst(nil, []float64{1, 0}), worst(one, []float64{1}), worst(one, nil)},
		"want a model and counts":      {fromCounts(nil, counts, false, 0.9), fromCounts(c.model, nil, false, 0.9)},
		"without a horizon":            {fromCounts(endless, counts, false, 0.9), fromCounts(game, counts, false, 0.9)},
		"confidence 0":                 {fromCounts(c.model, counts, false, 0)},
		"confidence 1":                 {fromCounts(c.model, counts, false, 1)},
		"confidence NaN":               {fromCounts(c.model, counts, false, math.NaN())},
		"steps differ":                 {fromCounts(c.model, counts, true, 0.9)},
	} {
		for i, err := range errs {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q, number %d: the error is %v", want, i, err)
			}
		}
	}
	for status, want := range map[robust.Status]string{robust.Optimal: "optimal", robust.Feasible: "feasible",
		robust.Infeasible: "infeasible", robust.Undecided: "undecided", 7: "Status(7)"} {
		if status.String() != want {
			t.Errorf("status %d is called %v", int(status), status)
		}
	}
}

// checkInfeasible checks the certificate of the model in which no policy keeps the limits, which must be one of the
// set.
func (c *randomCase) checkInfeasible(t *testing.T, i int, r *robust.Result) {
	t.Helper()
	m := c.model
	if r.Model != nil {
		var err error
		m, err = r.Model.Model()
		if err != nil {
			t.Fatal(err)
		}
		c.checkMember(t, i, m)
		of := *r
		of.Model = nil // in the nominal one some policy keeps the limits
		if err := robust.Verify(t.Context(), c.set, c.task, &of); err == nil {
			t.Errorf("case %d: the certificate of another model holds in the nominal one", i)
		}
	}
	if err := exact.Verify(t.Context(), m, c.task, r.Certificate); err != nil {
		t.Errorf("case %d: %v", i, err)
	}
	if err := robust.Verify(t.Context(), c.set, c.task, r); err != nil {
		t.Errorf("case %d: %v", i, err)
	}
}

// replaceIntervals makes the set anew, of the same model between other bounds.
func (c *randomCase) replaceIntervals(t *testing.T, bounds func(step, choice int) (lower, upper []float64)) {
	t.Helper()
	iv, err := cmdp.NewIntervals(c.model, bounds)
	if err != nil {
		t.Fatal(err)
	}
	c.iv = iv
	c.set, err = robust.New(robust.Spec{Model: c.model, Intervals: iv})
	if err != nil {
		t.Fatal(err)
	}
}

// worstModel returns nature's answer in a set of the case, which has to be one of its models, and what it is said to
// give.
func (c *randomCase) worstModel(t *testing.T, i int, set *robust.Set, parts []exact.WeightedPolicy,
	dir []float64) (m *cmdp.Model, v []float64) {
	t.Helper()
	answer, v, err := set.Worst(t.Context(), parts, dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err = answer.Model()
	if err != nil {
		t.Fatal(err)
	}
	c.checkMember(t, i, m)
	return m, v
}

// checkMember checks that a model is one of the set.
func (c *randomCase) checkMember(t *testing.T, i int, m *cmdp.Model) {
	t.Helper()
	for h := range m.Kernels() {
		k := m.Kernel(h)
		of := min(h, c.model.Kernels()-1)
		for choice := range len(k.Offset) - 1 {
			lower, upper := c.iv.Row(of, choice)
			_, nominal := c.model.Rows(h).Row(choice)
			sum := 0.0
			_, prob := k.Row(choice)
			for e, p := range prob {
				sum += p
				if lower == nil && p != nominal[e] || lower != nil && (p < lower[e] || p > upper[e]) {
					t.Fatalf("case %d: a probability %g of the worst model is not between its bounds", i, p)
				}
			}
			if lower != nil && math.Abs(sum-1) > 1e-12 {
				t.Fatalf("case %d: probabilities of the worst model sum to %g", i, sum)
			}
		}
	}
}

// checkPlan draws models of the set and compares the returns of the plan with what is promised.
func (c *randomCase) checkPlan(t *testing.T, rng *rand.Rand, i int, r *robust.Result, limit float64) {
	t.Helper()
	c.checkVerdict(t, i, r)
	if r.Bounds.Greatest[1] > limit+r.Tolerance {
		t.Errorf("case %d: the limit %g is missed by %g, greatest %g", i, limit, r.Violation, r.Bounds.Greatest[1])
	}
	if r.Bound > r.Objective+1e-9 {
		t.Errorf("case %d: objective %g below the bound %g", i, r.Objective, r.Bound)
	}
	for range 30 {
		m := c.sample(t, rng, true)
		v := make([]float64, 2)
		for _, part := range r.Plan() {
			u := make([]float64, 2)
			cmdp.NewEvaluator(m).Returns(u, part.Policy)
			v[0] += part.Weight * u[0]
			v[1] += part.Weight * u[1]
		}
		if v[1] > limit+1e-9 || v[0]+constant > r.Objective+1e-9 || c.task.Violation(v) > 1e-9 {
			t.Errorf("case %d: a model of the set gives %v: limit %g, objective at most %g", i, v, limit, r.Objective)
		}
		for j := range v {
			if v[j] > r.Bounds.Greatest[j]+1e-12 || v[j] < r.Bounds.Least[j]-1e-12 {
				t.Errorf("case %d: return %d is %g, not between %g and %g", i, j, v[j], r.Bounds.Least[j],
					r.Bounds.Greatest[j])
			}
		}
	}
}

// TestWorkers: values are the same to the last bit whatever the number of workers, and so are plans.
func TestWorkers(t *testing.T) {
	t.Cleanup(threshold.Lower())
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 20 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		lower, upper := make([]float64, 2), make([]float64, 2)
		c.model.Shape().ReturnToGo(lower, upper, 0)
		c.wanted(t, upper[1]/2, lower, upper)
		var results [2]*robust.Result
		for k, workers := range []int{1, 2} {
			set, err := robust.New(robust.Spec{Model: c.model, Intervals: c.iv, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			results[k], err = robust.Solve(t.Context(), set, c.task, robust.SolveOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
		a, b := results[0], results[1]
		if a.Status != b.Status || a.Objective != b.Objective || a.Bound != b.Bound ||
			!slices.Equal(a.Bounds.Greatest, b.Bounds.Greatest) {
			t.Errorf("case %d: one worker finds %v %v %v, two find %v %v %v", i, a.Status, a.Objective, a.Bound,
				b.Status, b.Objective, b.Bound)
		}
	}
}

// TestWorking: who waits is told of each part of a search by another name, and of a large value iteration step by step
// how much of it is over, of a small one nothing. What is told changes nothing.
func TestWorking(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for i := range 8 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		large := i%4 == 3
		if large {
			c = newCase(t, rng, shape{states: 300, actions: 2, successors: 5, horizon: 100}, false)
		}
		c.wanted(t, 0.1, []float64{-1e3, -1e3}, []float64{1e3, 1e3})
		var names []string
		var parts []float64
		ctx := progress.With(t.Context(),
			func(what string, part float64) { names, parts = append(names, what), append(parts, part) })
		told, err := robust.New(robust.Spec{Model: c.model, Intervals: c.iv, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if large {
			if _, err := told.Evaluate(ctx, exactPolicy(rng, c.model)); err != nil {
				t.Fatal(err)
			}
			for step, x := range parts {
				if len(parts) != 100 || x != float64(step)/100 || names[step] != names[0] {
					t.Errorf("case %d: %q, %v: want the parts of 100 steps that are over", i, names, parts)
				}
			}
			continue
		}
		want, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := robust.Solve(ctx, told, c.task, robust.SolveOptions{})
		if err != nil || r.Status != want.Status || r.Objective != want.Objective || r.Bound != want.Bound {
			t.Errorf("case %d: %v, error %v: want %v where nobody is told", i, r.Status, err, want.Status)
		}
		if (r.Status != robust.Infeasible) != (len(names) == 8) || len(slices.Compact(names)) != len(parts) ||
			slices.ContainsFunc(parts, func(x float64) bool { return !math.IsNaN(x) }) {
			t.Errorf("case %d: %v: told %q, %v: want 8 parts of a search, of no known length", i, r.Status, names, parts)
		}
	}
}
