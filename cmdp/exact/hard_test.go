package exact_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/internal/threshold"
)

// TestWorkers checks that the answer does not depend on the number of goroutines, to
// the last bit, on a model large enough for several.
func TestWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	m := randomModel(t, rng, shapeOf{states: 7000, actions: 4, horizon: 2, dim: 3, successors: 3})
	bounds := randomReturns(m, rng)
	bounds[0] = math.Inf(1)
	task := cmdp.Task{Cost: linear(t, box(t, m), []float64{1, 0, 0}), Target: atMost(t, box(t, m), bounds)}
	var first *exact.Result
	for _, workers := range []int{1, 2, 5} {
		r, err := exact.Solve(context.Background(), m, task, exact.Options{Workers: workers})
		if err != nil || r.Status != exact.Optimal {
			t.Fatalf("%d workers: %v %+v", workers, err, r)
		}
		if first == nil {
			first = r
		}
		same := r.Objective == first.Objective && r.Bound == first.Bound && r.Iterations == first.Iterations
		for i := range r.Returns {
			same = same && r.Returns[i] == first.Returns[i]
		}
		if !same {
			t.Errorf("%d workers: %+v, with one %+v", workers, r, first)
		}
	}
}

// bandit is a model of one state, one step and the given returns of its actions.
func bandit(t *testing.T, returns ...[]float64) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: len(returns[0]),
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a, r := range returns {
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, Action: a, Returns: r,
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func bounded(t *testing.T, lower, upper []float64) geometry.Compact {
	t.Helper()
	b, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHardCases has the answers of small problems of every awkward kind.
func TestHardCases(t *testing.T) {
	two := [][]float64{{0, 1}, {1, 0}}
	point := func(at ...float64) geometry.Compact {
		p, err := geometry.NewPoint(at)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ball := func(radius float64, at ...float64) geometry.Compact {
		b, err := geometry.NewBall(at, radius)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, test := range map[string]hardCase{
		"one policy": {[][]float64{{2, 3}}, []float64{1, 1},
			bounded(t, []float64{0, 0}, []float64{2, 3}), exact.Optimal, 5, 0},
		"one policy, out of bounds": {[][]float64{{2, 3}}, []float64{1, 1},
			bounded(t, []float64{0, 0}, []float64{2, 2.9}), exact.Infeasible, 0, 0},
		"all policies equal": {[][]float64{{2, 3}, {2, 3}, {2, 3}}, []float64{1, 0},
			bounded(t, []float64{2, 3}, []float64{2, 3}), exact.Optimal, 2, 0},
		"a point on the edge":     {two, []float64{1, 0}, point(0.25, 0.75), exact.Optimal, 0.25, 1},
		"a point at a corner":     {two, []float64{1, 0}, point(1, 0), exact.Optimal, 1, 0},
		"a point beside the edge": {two, []float64{1, 0}, point(0.25, 0.7500001), exact.Infeasible, 0, 0},
		"a ball that touches":     {two, []float64{1, 0}, ball(math.Sqrt2/2, 0, 0), exact.Optimal, 0.5, 1},
		"a ball that misses":      {two, []float64{1, 0}, ball(0.707, 0, 0), exact.Infeasible, 0, 0},
		"never binding": {two, []float64{1, 0}, bounded(t, []float64{-9, -9}, []float64{9, 9}),
			exact.Optimal, 0, 0},
		"always binding": {[][]float64{{0, 1}, {1, 1}}, []float64{1, 0},
			bounded(t, []float64{-1, 1}, []float64{2, 1}), exact.Optimal, 0, 0},
		"a bound at the least value": {two, []float64{0, 1}, bounded(t, []float64{0, 0}, []float64{0, 1}),
			exact.Optimal, 1, 0},
		"a bound a hair too low": {two, []float64{0, 1}, bounded(t, []float64{-1, 0}, []float64{-1e-13, 1}),
			exact.Infeasible, 0, 0},
		"huge beside tiny returns": {[][]float64{{1e12, 0}, {0, 1e-6}}, []float64{0, 1},
			bounded(t, []float64{0, 0}, []float64{5e11, 1}), exact.Optimal, 5e-7, 1},
		"huge beside tiny, out of bounds": {[][]float64{{1e12, 0}, {0, 1e-6}}, []float64{0, 1},
			bounded(t, []float64{0, 0}, []float64{4.9e11, 5e-7}), exact.Infeasible, 0, 0},
		"only a target": {two, nil, bounded(t, []float64{0, 0}, []float64{0.6, 0.6}), exact.Optimal,
			0, 1},
		"only a target, out of reach": {two, nil, bounded(t, []float64{0, 0}, []float64{0.4, 0.4}),
			exact.Infeasible, 0, 0},
		"neither cost nor target": {two, nil, nil, exact.Optimal, 0, 0},
		"a constant cost": {two, []float64{0, 0}, bounded(t, []float64{0, 0}, []float64{0.6, 0.6}),
			exact.Optimal, 0, 1},
		"returns of 0 beyond their bounds": {[][]float64{{0, 0}}, []float64{1, 1},
			bounded(t, []float64{1, 1}, []float64{2, 2}), exact.Infeasible, 0, 0},
	} {
		test.check(t, name)
	}
}

// A hardCase is a bandit, a task and its answer.
type hardCase struct {
	returns [][]float64
	cost    []float64
	target  geometry.Compact
	status  exact.Verdict
	want    float64
	pairs   int
}

func (test hardCase) check(t *testing.T, name string) {
	t.Helper()
	m := bandit(t, test.returns...)
	task := cmdp.Task{Target: test.target}
	if test.cost != nil {
		task.Cost = linear(t, box(t, m), test.cost)
	}
	r, err := exact.Solve(context.Background(), m, task, exact.Options{})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	exact.Fits(t, m, task, r)
	if r.Status != test.status {
		t.Errorf("%s: %v, want %v: %+v", name, r.Status, test.status, r)
		return
	}
	tol := 1e-7 * math.Abs(test.want)
	if name == "a ball that touches" {
		tol = 1e-4 // an error of 1e-10 across the ball is one of 1e-5 along it
	}
	if r.Status == exact.Optimal && (math.Abs(r.Objective-test.want) > tol || r.Randomized > test.pairs) {
		t.Errorf("%s: objective %g with %d random pairs, want %g with %d", name, r.Objective, r.Randomized, test.want,
			test.pairs)
	}
	if r.Status == exact.Infeasible && exact.Verify(context.Background(), m, task, r.Certificate) != nil {
		t.Errorf("%s: certificate %+v", name, r.Certificate)
	}
}

// TestTinyProbabilities has a start and a transition of probability 1e-300, whose
// return of 1e300 matters all the same.
func TestTinyProbabilities(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 2, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 2)
	for _, row := range []cmdp.Row{
		{Step: cmdp.EveryStep, State: 0, Action: 0, Returns: []float64{0},
			Next: []cmdp.Transition{{Next: 0, Probability: 1}, {Next: 1, Probability: 1e-300}}},
		{Step: cmdp.EveryStep, State: 0, Action: 1, Returns: []float64{0.25},
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
		{Step: cmdp.EveryStep, State: 1, Action: 0, Returns: []float64{1e90},
			Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
	} {
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	r, err := exact.Solve(context.Background(), m, cmdp.Task{Cost: linear(t, box(t, m), []float64{-1})},
		exact.Options{})
	if err != nil || r.Objective > -0.5 || r.Objective < -0.5-1e-9 {
		t.Errorf("%+v, %v: want 0.5", r, err)
	}
}

// TestParallelRows gives the same bound many times, once for a multiple of itself.
func TestParallelRows(t *testing.T) {
	m := bandit(t, []float64{0, 1}, []float64{1, 0})
	a := [][]float64{{1, 0}, {2, 0}, {1, 0}, {1 + 1e-15, 0}, {-1, 0}, {0, 1}, {0, -1}}
	p, err := geometry.NewPolytope(a, []float64{0.5, 1, 0.5, 0.5, 1, 2, 2})
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: linear(t, box(t, m), []float64{0, 1}), Target: p,
		Constraints: []cmdp.Constraint{{Normal: []float64{3, 0}, Offset: 1.5}}}
	r, err := exact.Solve(context.Background(), m, task, exact.Options{})
	if err != nil || r.Status != exact.Optimal || math.Abs(r.Objective-0.5) > 1e-12 {
		t.Fatalf("%+v, %v", r, err)
	}
	total := 0.0
	for _, price := range r.Prices {
		total += price.Multiplier * price.Normal[0]
	}
	if math.Abs(total-1) > 1e-9 {
		t.Errorf("prices %+v: want 1 in all", r.Prices)
	}
}

// TestRefusals checks errors about tasks, options and interruption.
func TestRefusals(t *testing.T) {
	m := bandit(t, []float64{0, 1}, []float64{1, 0})
	ctx := context.Background()
	other, err := cost.NewLinear([]float64{1}, mustBox(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	target := bounded(t, []float64{0, 0}, []float64{0.6, 0.6})
	for name, f := range map[string]func() error{
		"no model":             func() error { _, err := exact.Solve(ctx, nil, cmdp.Task{}, exact.Options{}); return err },
		"cost of another size": func() error { _, err := exact.Solve(ctx, m, cmdp.Task{Cost: other}, exact.Options{}); return err },
		"target of another size": func() error {
			_, err := exact.Solve(ctx, m, cmdp.Task{Target: bounded(t, []float64{0}, []float64{1})}, exact.Options{})
			return err
		},
		"negative gap":            func() error { _, err := exact.Solve(ctx, m, cmdp.Task{}, exact.Options{Gap: -1}); return err },
		"a gap that is no number": func() error { _, err := exact.Solve(ctx, m, cmdp.Task{}, exact.Options{Gap: math.NaN()}); return err },
		"constraint of another size": func() error {
			_, err := exact.Solve(ctx, m, cmdp.Task{Target: target,
				Constraints: []cmdp.Constraint{{Normal: []float64{1}, Offset: 1}}}, exact.Options{})
			return err
		},
		"constraint that cuts the target": func() error {
			_, err := exact.Solve(ctx, m, cmdp.Task{Target: target,
				Constraints: []cmdp.Constraint{{Normal: []float64{1, 0}, Offset: 0.5}}}, exact.Options{})
			return err
		},
		"no objectives":     func() error { _, err := exact.Front(ctx, m, cmdp.Task{}, exact.FrontOptions{}); return err },
		"distance from nil": func() error { _, err := exact.PlannerOf(t, m).Distance(ctx, cmdp.Task{}, exact.Options{}); return err },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := exact.Solve(ended, m, cmdp.Task{Target: target}, exact.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	r, err := exact.Solve(ctx, m, cmdp.Task{Cost: linear(t, mustBox(t, 2), []float64{1, 0}), Target: target},
		exact.Options{Iterations: 1})
	if err != nil || r.Status != exact.Undecided {
		t.Errorf("one iteration: %+v, %v: want undecided", r, err)
	}
}

func mustBox(t *testing.T, dim int) *geometry.Box {
	t.Helper()
	upper := make([]float64, dim)
	for i := range upper {
		upper[i] = 1
	}
	b, err := geometry.NewBox(make([]float64, dim), upper)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRareEnds: each step costs 1, or 1.5 on other ways, and is the last with a small probability. The optimum is the
// mean number of steps, which is known to rounding in spite of all the steps that it is the sum of. Beside it stands a
// long-run mean, or that stands alone.
func TestRareEnds(t *testing.T) {
	for _, ends := range [][]float64{{1e-4, 1e-6, 0x1p-23}, {1e-6, 0x1p-23}} {
		for _, states := range []int{3, 70, 300} {
			for _, rare := range ends {
				for _, means := range [][]bool{nil, {false, true}, {true}} {
					rareEnds(t, states, rare, means)
				}
			}
		}
		t.Cleanup(threshold.Lower()) // and as large models
	}
}

func rareEnds(t *testing.T, states int, rare float64, means []bool) {
	t.Helper()
	rng, spec := rand.New(rand.NewPCG(uint64(states), 8)), cmdp.ModelSpec{Discount: 1, Dim: max(1, len(means)),
		Means: means, Start: []cmdp.StartState{{State: 0, Probability: 1}}}
	direction, returns := []float64{1}, func(total, _ float64) []float64 { return []float64{total} }
	want := 1 / rare
	switch len(means) { // one of two long runs
	case 1:
		returns = func(_, mean float64) []float64 { return []float64{mean} }
		want = 0.5
	case 2:
		direction, returns = []float64{1, 1}, func(total, mean float64) []float64 { return []float64{total, mean} }
		want += 0.5
	}
	b := cmdp.NewBuilder(spec, states+1)
	add := func(s, a int, r []float64, next ...cmdp.Transition) {
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: r, Next: next}); err != nil {
			t.Fatal(err)
		}
	}
	for s := range states {
		for a := range 2 {
			to := rng.Perm(states)[:2]
			add(s, a, returns(1+0.5*float64(a), 9), cmdp.Transition{Next: to[0], Probability: 0.25},
				cmdp.Transition{Next: to[1], Probability: 0.75 - rare},
				cmdp.Transition{Next: states, Probability: rare})
		}
	}
	if means != nil {
		add(states, 0, returns(0, 0.5), cmdp.Transition{Next: states, Probability: 1})
		add(states, 1, returns(0, 0.75), cmdp.Transition{Next: states, Probability: 1})
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: linear(t, box(t, m), direction)}
	r, err := exact.Solve(t.Context(), m, task, exact.Options{})
	if err != nil || r.Status != exact.Optimal || !(math.Abs(r.Objective/want-1) <= 1e-9) ||
		!(r.Gap <= 1e-9*r.Objective) {
		t.Errorf("%d states, means %v: %+v, %v: want %g", states, means, r, err, want)
		return
	}
	if _, err := exact.VerifyBound(t.Context(), m, task, r.Proof); err != nil {
		t.Errorf("%d states, means %v, ends %g: %v", states, means, rare, err)
	}
}
