package exact_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// rollingModels draws the models of the steps from each one on, all with the same rows; those of steps differ.
func rollingModels(t *testing.T, rng *rand.Rand, horizon, states int) []*cmdp.Model {
	t.Helper()
	var rows []cmdp.Row
	for h := range horizon {
		for s := range states {
			for a := range 1 + rng.IntN(3) {
				r := cmdp.Row{Step: h + 1, State: s, Action: a, Returns: []float64{rng.Float64() - 0.3, 0}}
				if a > 0 {
					r.Returns = []float64{rng.Float64() + 0.5, 0.5 + rng.Float64()}
				}
				p := rng.Float64()
				next := rng.IntN(states)
				r.Next = []cmdp.Transition{{Next: next, Probability: p},
					{Next: (next + 1) % states, Probability: 1 - p}}
				rows = append(rows, r)
			}
		}
	}
	models := make([]*cmdp.Model, horizon)
	for first := range models {
		start := []cmdp.StartState{{State: 0, Probability: 1}}
		if first > 0 {
			start = []cmdp.StartState{{State: 0, Probability: 0.25}, {State: states - 1, Probability: 0.75}}
		}
		b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: horizon - first, Dim: 2, Start: start}, states)
		for _, r := range rows {
			r.Step -= first
			if r.Step < 1 {
				continue
			}
			if err := b.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		models[first] = m
	}
	return models
}

// TestRollingIsThePlanOfTheRest: a plan from a step on, with columns from earlier steps, has the optimum of the sum of
// the models of the steps that are left, within what is left of the limits. Where a limit is out of reach it is
// broken by the least that any policy does, and where it is cheap by as much as pays. Many parts share blocks.
func TestRollingIsThePlanOfTheRest(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for trial := range 14 {
		const horizon = 4
		n := 1 + rng.IntN(4)
		if trial == 0 {
			n = 90
		}
		var parts []exact.Part
		var rest [][]*cmdp.Model // of each part and first step
		for range n {
			models := rollingModels(t, rng, horizon, 3)
			rest = append(rest, models)
			parts = append(parts, exact.Part{Model: models[0], Weight: float64(1 + rng.IntN(4)), Returns: []int{0, 1}})
		}
		agents := 0.0
		for _, p := range parts {
			agents += p.Weight
		}
		// Coordinates: value, use, and use at each step.
		const width = 2 + horizon
		unit := func(i int) []float64 {
			v := make([]float64, width)
			v[i] = 1
			return v
		}
		limits := []cmdp.Constraint{{Normal: unit(1), Offset: (0.5 + rng.Float64()) * agents}}
		for h := range horizon {
			limits = append(limits, cmdp.Constraint{Normal: unit(2 + h), Offset: (0.2 + 0.5*rng.Float64()) * agents})
		}
		if trial%2 == 1 { // about the episode and a step of it
			both := unit(1)
			both[2+rng.IntN(horizon-1)] = 1
			limits = append(limits, cmdp.Constraint{Normal: both, Offset: (0.5 + rng.Float64()) * agents})
		}
		box := boxOf(t, -100*agents, 100*agents, width)
		goal := goalOf(t, trial, agents, box)
		penalties := make([]float64, len(limits))
		dear := trial%3 > 0 // limits are broken only where they are out of reach
		for k := range penalties {
			penalties[k] = 100
			if !dear {
				penalties[k] = 2 * rng.Float64()
			}
		}
		p, err := exact.NewRollingPlanner(t.Context(), parts, 2, []int{1}, exact.Rolling{Cost: goal, Limits: limits,
			Penalties: penalties, Gap: 1e-8, Known: knownPolicies(rng, parts)})
		if err != nil {
			t.Fatal(err)
		}
		past := make([]float64, width)
		for h := range horizon {
			if trial%5 == 4 && h == 2 { // as if far too much had been used
				past[1] = limits[0].Offset + 1
			}
			name := fmt.Sprintf("trial %d, step %d of %d parts", trial, h+1, n)
			starts := make([][]cmdp.StartState, n)
			for k := range starts {
				starts[k] = rest[k][h].StartStates()
			}
			other := p.Clone() // one of the two plans from elsewhere, and what it finds is nothing to the other
			if rng.IntN(2) == 0 {
				p, other = other, p
			}
			elsewhere := make([][]cmdp.StartState, n)
			for k := range elsewhere {
				elsewhere[k] = []cmdp.StartState{{State: 1, Probability: 1}}
			}
			early := rng.IntN(2) == 0
			for _, first := range []bool{early, !early} {
				q, from, before := p, starts, past
				if !first {
					q, from, before = other, elsewhere, make([]float64, width)
				}
				if err := q.Plan(t.Context(), h, from, before); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if dear {
				checkRolling(t, name, p, parts, rest, h, goal, limits, past)
			}
			if n < 5 {
				checkRollingCost(t, name, p, parts, rest, h, goal, limits, penalties, past)
			}
			checkRollingDual(t, name, p, parts, rest, h, goal, limits, penalties, past)
			past = append([]float64(nil), p.Returns()...)
			clear(past[2+h+1:])
			past[0] *= 0.3
			past[1] = floats.Sum(past[2:])
		}
	}
}

// knownPolicies draws policies of each part, for some nil.
func knownPolicies(rng *rand.Rand, parts []exact.Part) (known [][]*exact.Policy) {
	if rng.IntN(3) == 0 {
		return nil
	}
	for _, x := range parts {
		var of []*exact.Policy
		for range 1 + rng.IntN(3) {
			rules := make([]markov.Rule, x.Model.Horizon())
			for h := range rules {
				rules[h].Actions = markov.NewActions(x.Model.States(), 3)
				for s := range x.Model.States() {
					rules[h].Actions.Set(s, rng.IntN(x.Model.Shape().Actions(h, s)))
				}
			}
			of = append(of, exact.NewPolicy(rules))
		}
		known = append(known, of)
	}
	return known
}

func boxOf(t *testing.T, lower, upper float64, d int) *geometry.Box {
	t.Helper()
	low, up := make([]float64, d), make([]float64, d)
	for i := range low {
		low[i], up[i] = lower, upper
	}
	box, err := geometry.NewBox(low, up)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// goalOf is the negative value, in some trials with squares of the use at the last steps.
func goalOf(t *testing.T, trial int, agents float64, box *geometry.Box) cost.Cost {
	t.Helper()
	gradient := make([]float64, box.Dim())
	gradient[0] = -1
	linear, err := cost.NewLinear(gradient, box)
	if err != nil {
		t.Fatal(err)
	}
	if trial%3 != 2 {
		return linear
	}
	weights := make([]float64, box.Dim())
	weights[len(weights)-1], weights[len(weights)-2] = 1/agents, 1/agents
	squared, err := cost.NewSquared(make([]float64, box.Dim()), weights, box)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := cost.NewSum([]float64{1, 1}, []cost.Cost{linear, squared}, box)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// checkRolling compares a plan with one of the shorter models, whose coordinates are moved by what is past: the
// sum has one part more, of a single state, that returns it.
func checkRolling(t *testing.T, name string, p *exact.RollingPlanner, parts []exact.Part, rest [][]*cmdp.Model, h int,
	goal cost.Cost, limits []cmdp.Constraint, past []float64) {
	t.Helper()
	steps := parts[0].Model.Horizon()
	width := len(past)
	var of []exact.Part
	for k, x := range parts {
		m := withCoordinates(t, rest[k][h], h, steps)
		of = append(of, exact.Part{Model: m, Weight: x.Weight, Returns: identity(width)})
	}
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: steps - h, Dim: width,
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	if err := b.Add(cmdp.Row{Step: 1, State: 0, Action: 0, Returns: past, Next: []cmdp.Transition{{Next: 0,
		Probability: 1}}}); err != nil {
		t.Fatal(err)
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	of = append(of, exact.Part{Model: m, Weight: 1, Returns: identity(width)})
	planner, err := exact.NewSumPlanner(of, width, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	lower, upper, err := planner.Extent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: goal}
	low, up := make([]float64, width), make([]float64, width)
	copy(low, lower)
	copy(up, upper)
	kept := slices.DeleteFunc(slices.Clone(limits), func(l cmdp.Constraint) bool { // what is out of reach by now
		return past[1] > limits[0].Offset && l.Normal[1] != 0
	})
	sides, offsets := [][]float64(nil), []float64(nil)
	for _, l := range kept {
		if floats.Norm(l.Normal, 1) > 1 {
			sides, offsets = append(sides, l.Normal), append(offsets, l.Offset)
			continue
		}
		i := slices.Index(l.Normal, 1)
		up[i] = math.Max(low[i], math.Min(up[i], l.Offset))
	}
	within, err := geometry.NewBox(low, up)
	if err != nil {
		t.Fatal(err)
	}
	task.Target, err = within.Bounded()
	if sides != nil {
		var set *geometry.Polyhedron
		set, err = geometry.NewPolyhedron(sides, offsets)
		if err == nil {
			task.Target, err = geometry.Restrict(set, within)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	task.Box, err = geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	v := p.Returns()
	for _, l := range kept {
		if x := floats.Dot(l.Normal, v) - l.Offset; x > 1e-6*(1+math.Abs(l.Offset)) {
			t.Errorf("%s: a limit is broken by %g", name, x)
		}
	}
	if len(kept) < len(limits) { // no unit more is used than need be
		gradient := make([]float64, width)
		gradient[1] = 1
		task.Cost, err = cost.NewLinear(gradient, task.Box)
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := planner.Solve(t.Context(), task, exact.Options{Gap: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != exact.Optimal {
		t.Fatalf("%s: %v", name, r.Status)
	}
	if got := task.Cost.Value(v); math.Abs(got-r.Objective) > 1e-5*(1+math.Abs(r.Objective)) {
		t.Errorf("%s: the plan of the rest costs %.9g: want %.9g", name, got, r.Objective)
	}
	for k, x := range parts {
		share := 0.0
		for _, c := range p.Mixture(k) {
			share += c.Weight
		}
		if math.Abs(share-1) > 1e-9 {
			t.Errorf("%s: shares of part %d of weight %g sum to %g", name, k, x.Weight, share)
		}
	}
}

// checkRollingCost compares what a plan costs, with what it pays for the limits that it breaks, with an explicit
// program of the shorter models.
func checkRollingCost(t *testing.T, name string, p *exact.RollingPlanner, parts []exact.Part, rest [][]*cmdp.Model,
	h int, goal cost.Cost, limits []cmdp.Constraint, penalties, past []float64) {
	t.Helper()
	g, linear := goal.(cost.Affine)
	if !linear {
		return
	}
	steps, width := parts[0].Model.Horizon(), len(past)
	var of []exact.Part
	for k, x := range parts {
		of = append(of, exact.Part{Model: withCoordinates(t, rest[k][h], h, steps), Weight: x.Weight,
			Returns: identity(width)})
	}
	moved := slices.Clone(limits)
	for k := range moved {
		moved[k].Offset -= floats.Dot(moved[k].Normal, past)
	}
	program, err := exact.SumLP(of, width, nil, g.Gradient(), moved)
	if err != nil {
		t.Fatal(err)
	}
	for k, row := range program.Rows[len(program.Rows)-len(limits):] {
		at := len(program.Rows) - len(limits) + k
		program.Rows[at].Index = append(row.Index, len(program.Minimize))
		program.Rows[at].Coef = append(row.Coef, -1)
		program.Minimize = append(program.Minimize, penalties[k])
	}
	sol, err := lp.Solve(program)
	if err != nil || sol.Status != lp.Optimal {
		t.Fatalf("%s: %v %v", name, sol, err)
	}
	got, want := goal.Value(p.Returns()), sol.Objective+goal.Value(past)
	for k, l := range limits {
		got += penalties[k] * math.Max(0, floats.Dot(l.Normal, p.Returns())-l.Offset)
	}
	if math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
		t.Errorf("%s: the plan costs %.9g with what it pays for limits: want %.9g", name, got, want)
	}
}

// checkRollingDual: prices, the costs of the coordinates at these and what each state costs by them are those of one
// dual bound, which is what the plan costs where the goal is linear.
func checkRollingDual(t *testing.T, name string, p *exact.RollingPlanner, parts []exact.Part, rest [][]*cmdp.Model,
	h int, goal cost.Cost, limits []cmdp.Constraint, penalties, past []float64) {
	t.Helper()
	g, linear := goal.(cost.Affine)
	if !linear {
		return
	}
	theta, bound, want := slices.Clone(g.Gradient()), g.Offset(), goal.Value(p.Returns())
	for k, y := range p.Prices() {
		if y < 0 {
			t.Errorf("%s: limit %d has the price %g", name, k, y)
		}
		floats.AddScaled(theta, y, limits[k].Normal)
		bound -= y * limits[k].Offset
		if excess := floats.Dot(limits[k].Normal, p.Returns()) - limits[k].Offset; excess > 0 {
			want += penalties[k] * excess
		}
	}
	if !floats.EqualApprox(theta, p.Direction(), 1e-9*(1+floats.Norm(theta, 1))) {
		t.Errorf("%s: coordinates cost %v: want %v", name, p.Direction(), theta)
	}
	bound += floats.Dot(theta, past)
	for k, x := range parts {
		values := p.Values(k, h)
		for _, st := range rest[k][h].StartStates() {
			bound += x.Weight * st.Probability * values[st.State]
		}
	}
	if math.Abs(bound-want) > 1e-5*(1+math.Abs(want)) {
		t.Errorf("%s: the prices come to %.9g: the plan costs %.9g", name, bound, want)
	}
}

func identity(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// withCoordinates returns a model of the steps from one on that returns value, use, and the use of each step.
func withCoordinates(t *testing.T, m *cmdp.Model, first, steps int) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: m.Horizon(), Dim: 2 + steps, Start: m.StartStates()}, m.States())
	for h := range m.Horizon() {
		rows := m.Rows(h)
		for s := range m.States() {
			from, end := rows.Choices(s)
			for c := from; c < end; c++ {
				r := cmdp.Row{Step: h + 1, State: s, Action: c - from, Returns: make([]float64, 2+steps)}
				copy(r.Returns, rows.Returns(c))
				r.Returns[2+first+h] = r.Returns[1]
				next, prob := rows.Row(c)
				for i, n := range next {
					r.Next = append(r.Next, cmdp.Transition{Next: int(n), Probability: prob[i]})
				}
				if err := b.Add(r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
