package exact_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"
)

// TestDiscounted compares with the discounted occupancy program, and the total
// return of the model that ends with probability 1 − γ at every step with both.
func TestDiscounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	feasible, infeasible := 0, 0
	for trial := range 200 {
		sh := shapeOf{states: 1 + rng.IntN(6), actions: 3, dim: 1 + rng.IntN(3), successors: 3,
			discount: []float64{0.3, 0.9, 0.99}[trial%3], rests: trial%4 == 0, integer: trial%5 == 0}
		m := randomModel(t, rng, sh)
		c := make([]float64, sh.dim)
		for i := range c {
			c[i] = rng.NormFloat64()
		}
		task, rows := randomStationaryTask(t, rng, m, c)
		want := Occupancy(t, m, c, rows)
		for _, model := range []*cmdp.Model{m, ending(t, m)} {
			r, err := exact.Solve(context.Background(), model, task, exact.Options{})
			if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			exact.Fits(t, model, task, r)
			if (want.Status == lp.Infeasible) != (r.Status == exact.Infeasible) {
				t.Fatalf("trial %d: %v, want %v: %+v", trial, r.Status, want.Status, r)
			}
			if r.Status == exact.Infeasible {
				infeasible++
				continue
			}
			feasible++
			checkOptimal(t, trial, model, task, r, want.Objective, 1e-9)
			if r.Randomized > len(rows) {
				t.Errorf("trial %d: %d randomised pairs with %d rows", trial, r.Randomized, len(rows))
			}
			checkStationary(t, trial, model, r)
		}
	}
	if feasible < 100 || infeasible < 50 {
		t.Errorf("%d feasible and %d infeasible: want many of both", feasible, infeasible)
	}
	t.Logf("%d feasible and %d infeasible", feasible, infeasible)
}

// TestCoarseMixturesOfManyStates: with a coarse gap, or without a goal, mixed policies differ in dozens of states. The
// policy that is made of them draws in as few states as there are limits all the same, keeps these, and its cost is
// within the gap of the optimum, which is found to the last digits.
func TestCoarseMixturesOfManyStates(t *testing.T) {
	drawing := 0
	for trial := range 24 {
		rng := rand.New(rand.NewPCG(uint64(trial), 99))
		m := randomModel(t, rng, shapeOf{states: 150 + rng.IntN(100), actions: 4, dim: 2 + trial%3, successors: 3,
			discount: 0.9})
		c := make([]float64, m.Dim())
		for i := range c {
			c[i] = rng.NormFloat64()
		}
		task, rows := randomStationaryTask(t, rng, m, c)
		if trial%4 == 3 {
			m = ending(t, m)
		}
		best, err := exact.Solve(t.Context(), m, task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		opts := exact.Options{Gap: []float64{0.02, 0.1, 0.3}[trial%3]}
		for _, goal := range []bool{true, false} {
			if !goal {
				task.Cost = nil
			}
			r, err := exact.Solve(t.Context(), m, task, opts)
			if err != nil || r.Status != best.Status {
				t.Fatalf("trial %d: %v, %v: want %v", trial, r.Status, err, best.Status)
			}
			if r.Status != exact.Optimal {
				continue
			}
			if r.Randomized > len(rows) || r.Randomized != drawnPairs(m, r.Policy) || r.Violation > r.Tolerance {
				t.Errorf("trial %d: %d randomised pairs with %d rows, violation %g", trial, r.Randomized, len(rows),
					r.Violation)
			}
			drawing += r.Randomized
			if goal && (r.Objective < best.Bound-1e-9 || r.Bound > best.Objective+1e-9) {
				t.Errorf("trial %d: from %g to %g: the optimum is %g", trial, r.Bound, r.Objective, best.Objective)
			}
			if trial%4 > 1 {
				checkStationary(t, trial, m, r)
			}
		}
	}
	if drawing < 20 {
		t.Errorf("policies draw in %d states: want more", drawing)
	}
}

// randomStationaryTask bounds returns near those of the best policy in a random
// direction.
func randomStationaryTask(t *testing.T, rng *rand.Rand, m *cmdp.Model, c []float64) (cmdp.Task, []cmdp.Constraint) {
	t.Helper()
	x := box(t, m)
	dir := make([]float64, m.Dim())
	for i := range dir {
		dir[i] = rng.NormFloat64()
	}
	r, err := exact.Solve(context.Background(), m, cmdp.Task{Cost: linear(t, x, dir)}, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bounds := make([]float64, m.Dim())
	var rows []cmdp.Constraint
	for i := range bounds {
		bounds[i] = math.Inf(1)
		if rng.IntN(3) > 0 {
			bounds[i] = r.Returns[i] + (0.3*rng.Float64()-0.1)*math.Abs(r.Returns[i])
			n := make([]float64, len(bounds))
			n[i] = 1
			rows = append(rows, cmdp.Constraint{Normal: n, Offset: bounds[i]})
		}
	}
	return cmdp.Task{Cost: linear(t, x, c), Target: atMost(t, x, bounds)}, rows
}

// ending turns a discounted model into one that goes to an absorbing state with
// probability 1 − γ at every step.
func ending(t *testing.T, m *cmdp.Model) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: m.Dim(), Start: m.StartStates()}, m.States()+1)
	k, g := m.Kernel(0).Plain(m.Dim()), m.Discount()
	for s := range m.States() {
		for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: c - int(k.First[s]),
				Returns: k.Returns[c*m.Dim() : (c+1)*m.Dim()],
				Next:    []cmdp.Transition{{Next: m.States(), Probability: 1 - g}}}
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				row.Next = append(row.Next, cmdp.Transition{Next: int(k.Next[e]), Probability: g * k.Prob[e]})
			}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkStationary evaluates the policy by brute force: many steps of the process.
func checkStationary(t *testing.T, trial int, m *cmdp.Model, r *exact.Result) {
	t.Helper()
	mass, v, factor := make([]float64, m.States()), make([]float64, m.Dim()), 1.0
	for _, st := range m.StartStates() {
		mass[st.State] = st.Probability
	}
	k := m.Kernel(0).Plain(m.Dim())
	probs := make([]float64, 8)
	for range 2500 {
		next := make([]float64, len(mass))
		for s, x := range mass {
			if k.First[s] == k.First[s+1] {
				next[s] += x
				continue
			}
			probs := probs[:k.First[s+1]-k.First[s]]
			r.Policy.Distribution(probs, 0, s)
			for a, p := range probs {
				c := int(k.First[s]) + a
				for i := range v {
					v[i] += factor * x * p * k.Returns[c*m.Dim()+i]
				}
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					next[k.Next[e]] += x * p * k.Prob[e]
				}
			}
		}
		mass, factor = next, factor*m.Discount()
	}
	for i := range v {
		if math.Abs(v[i]-r.Returns[i]) > 1e-9*(1+math.Abs(v[i])) {
			t.Errorf("trial %d: returns %v, played %v", trial, r.Returns, v)
		}
	}
}

// TestTotalLoops minimises the total of models with loops. One that cannot be left at a
// positive return is refused; others are left at once or stayed in, whatever is
// cheaper, and those that nobody can reach do not matter.
func TestTotalLoops(t *testing.T) {
	step := func(s, a, next int, r float64) cmdp.Row {
		return cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{r},
			Next: []cmdp.Transition{{Next: next, Probability: 1}}}
	}
	rare := cmdp.Row{Step: cmdp.EveryStep, State: 0, Returns: []float64{1},
		Next: []cmdp.Transition{{Next: 0, Probability: 1}, {Next: 2, Probability: 1e-300}}}
	for name, test := range map[string]struct {
		rows []cmdp.Row
		want float64
	}{
		"a loop that costs":               {[]cmdp.Row{step(0, 0, 0, 1), step(0, 1, 2, 4)}, 4},
		"a loop that costs for ever":      {[]cmdp.Row{step(0, 0, 1, 0), step(1, 0, 1, 1)}, math.Inf(1)},
		"a ring that costs for ever":      {[]cmdp.Row{step(0, 0, 1, 1), step(1, 0, 0, -1)}, math.Inf(1)},
		"a loop that costs nothing":       {[]cmdp.Row{step(0, 0, 1, 0), step(1, 0, 0, 0), step(1, 1, 2, 5)}, 0},
		"a loop beside a better exit":     {[]cmdp.Row{step(0, 0, 1, 0), step(1, 0, 0, 0), step(1, 1, 2, -5)}, -5},
		"a ring that costs, with a prize": {[]cmdp.Row{step(0, 0, 1, 3), step(1, 0, 0, 4), step(1, 1, 2, -5)}, -2},
		"a ring that is free in sum":      {[]cmdp.Row{step(0, 0, 1, 3), step(1, 0, 0, -3), step(1, 1, 2, -5)}, -2},
		"a closed loop without costs":     {[]cmdp.Row{step(0, 0, 1, 3), step(1, 0, 1, 0)}, 3},
		"a loop out of reach":             {[]cmdp.Row{step(0, 0, 2, 3), step(1, 0, 1, 7)}, 3},
		"absorption once in 1e300":        {[]cmdp.Row{rare}, 1e300},
	} {
		b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
			3)
		for _, row := range test.rows {
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(context.Background(), m, cmdp.Task{Cost: linear(t, box(t, m), []float64{1})},
			exact.Options{})
		switch refused := math.IsInf(test.want, 1); {
		case refused && !errors.Is(err, exact.ErrNoTotal):
			t.Errorf("%s: error %v, result %+v: want it refused", name, err, r)
		case !refused && (err != nil || r.Status != exact.Optimal):
			t.Errorf("%s: %v, %+v", name, err, r)
		case !refused && !(math.Abs(r.Objective-test.want) <= 1e-12*math.Abs(test.want) && r.Bound <= test.want &&
			r.Bound >= test.want-1e-9*math.Abs(test.want)):
			t.Errorf("%s: %g, at least %g: want %g", name, r.Objective, r.Bound, test.want)
		}
	}
}

// TestLargeStationary goes through the iterative solver of linear systems.
func TestLargeStationary(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 4))
	m := randomModel(t, rng, shapeOf{states: 300, actions: 3, dim: 3, successors: 4, discount: 0.98})
	for _, model := range []*cmdp.Model{m, ending(t, m)} {
		lower, upper, err := exact.PlannerOf(t, model).Ranges(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		bounds := []float64{math.Inf(1), (3*lower[1] + upper[1]) / 4, (3*lower[2] + upper[2]) / 4}
		task := cmdp.Task{Cost: linear(t, box(t, model), []float64{1, 0, 0}), Target: atMost(t, box(t, model), bounds)}
		r, err := exact.Solve(context.Background(), model, task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		exact.Fits(t, model, task, r)
		checkOptimal(t, 0, model, task, r, r.Objective, 1e-9)
		checkStationary(t, 0, model, r)
		if r.Randomized > 2 {
			t.Errorf("%d randomised states with 2 constraints", r.Randomized)
		}
	}
}

// TestDiscountNearOne: rewards are made from values that are chosen beforehand, of size 1/(1−γ), by taking
// something from the backups of some choices. Objective and bound have to be those values to 1e-12 of their
// size, in models above all thresholds for elimination too.
func TestDiscountNearOne(t *testing.T) {
	for seed, gap := range []float64{1e-6, 1e-7, 1e-8, 1e-9} {
		for _, states := range []int{3, 300} {
			rng := rand.New(rand.NewPCG(uint64(seed), uint64(states)))
			gamma := 1 - gap
			u := make([]float64, states)
			for s := range u {
				u[s] = rng.Float64()
			}
			k := cmdp.NewKernel()
			for s := range states {
				for a := range 3 {
					next, prob := []int32{int32(rng.IntN(states)), int32((s + 1) % states)}, []float64{0.25, 0.75}
					cost := u[s] + 1 - gamma*(0.25*u[next[0]]+0.75*u[next[1]]) // of values 1/(1−γ) + u
					if a != s%3 {
						cost += rng.Float64()
					}
					k.Append(next, prob, []float64{cost})
				}
				k.EndState()
			}
			m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: gamma, Dim: 1,
				Start: []cmdp.StartState{{State: 0, Probability: 1}}, Kernels: []cmdp.Kernel{k}})
			if err != nil {
				t.Fatal(err)
			}
			box, err := geometry.NewBox([]float64{0}, []float64{4 / gap})
			if err != nil {
				t.Fatal(err)
			}
			r, err := exact.Solve(t.Context(), m, cmdp.Task{Cost: linear(t, box, []float64{1})}, exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := 1/(1-gamma) + u[0]
			off := 1e-12 * want
			if r.Status != exact.Optimal || !(math.Abs(r.Objective-want) <= off) ||
				!(r.Bound <= want+off && r.Bound >= want-off) {
				t.Errorf("%d states, γ = 1 − %g: %v, objective %.17g, bound %.17g: want %.17g", states, gap, r.Status,
					r.Objective, r.Bound, want)
			}
		}
	}
}

// TestRewardFarAway proves what a walk to a far reward is worth, on which the largest error of all states is far more
// than what a discount leaves of it. A walk to and fro is one component, in which no bound takes a pass for each state.
func TestRewardFarAway(t *testing.T) {
	const states, start, gamma = 12_000, 10_800, 0.9999
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: gamma, Dim: 1,
		Start: []cmdp.StartState{{State: start, Probability: 1}}}, states)
	for s := range states {
		for a, up := range []float64{0.4, 0.6} {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{0}, Next: []cmdp.Transition{
				{Next: max(s-1, 0), Probability: 1 - up}, {Next: min(s+1, states-1), Probability: up}}}
			if s == 0 {
				row.Returns[0] = -1
			}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	// A step down is discounted by the root of 0.4·γ·x² − x + 0.6·γ, and the last one is taken again and again.
	down := (1 - math.Sqrt(1-4*gamma*gamma*0.4*0.6)) / (2 * gamma * 0.4)
	want := -math.Pow(down, start) / (1 - gamma*(0.6+0.4*down))
	r, err := exact.Solve(t.Context(), m, cmdp.Task{Cost: linear(t, box(t, m), []float64{1})}, exact.Options{})
	switch {
	case err != nil:
		t.Fatal(err)
	case r.Status != exact.Optimal || math.Abs(r.Objective-want) > 1e-9*math.Abs(want) || r.Bound > want*(1-1e-9):
		t.Errorf("%v, %.12g, bound %.12g: want %.12g", r.Status, r.Objective, r.Bound, want)
	}
}
