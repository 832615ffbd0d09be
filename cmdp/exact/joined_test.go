package exact

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// communicating draws a model of long-run means in which every state leads to every other one, and stays within
// some policy: few states, deterministic rows so that it is periodic now and then, a small part of the states
// that can be cheap to stay in, and dear ways between them.
func communicating(t testing.TB, rng *rand.Rand, dim int) *cmdp.Model {
	t.Helper()
	states := 2 + rng.IntN(5)
	b := cmdp.NewBuilder(cmdp.ModelSpec{Average: true, Dim: dim,
		Start: []cmdp.StartState{{State: rng.IntN(states), Probability: 1}}}, states)
	add := func(s, a int, r []float64, next ...cmdp.Transition) {
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: r, Next: next}); err != nil {
			t.Fatal(err)
		}
	}
	kind := rng.IntN(3)
	draw := func(size float64) []float64 {
		r := make([]float64, dim)
		for i := range r {
			r[i] = size + math.Round(8*rng.Float64())
		}
		return r
	}
	for s := range states {
		on := (s + 1) % states
		actions := 0
		next := func(r []float64, next ...cmdp.Transition) {
			add(s, actions, r, next...)
			actions++
		}
		switch kind {
		case 0: // islands: each state is cheap to stay in, and dear to leave
			next(draw(0), cmdp.Transition{Next: s, Probability: 1})
			next(draw(50), cmdp.Transition{Next: on, Probability: 1})
		case 1: // pairs of states that alternate, joined by a ring
			next(draw(0), cmdp.Transition{Next: min(s^1, states-1), Probability: 1})
			next(draw(20), cmdp.Transition{Next: on, Probability: 0.25}, cmdp.Transition{Next: s, Probability: 0.75})
		default: // anything, and a ring
			next(draw(0), cmdp.Transition{Next: on, Probability: 1})
		}
		for range rng.IntN(3) {
			one, other, x := rng.IntN(states), rng.IntN(states), 0.1+0.8*rng.Float64()
			if one == other {
				next(draw(0), cmdp.Transition{Next: one, Probability: 1})
			} else {
				next(draw(0), cmdp.Transition{Next: one, Probability: x},
					cmdp.Transition{Next: other, Probability: 1 - x})
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// meansTask is to make the first return small while the others have upper limits.
func meansTask(t testing.TB, gradient, high []float64) (cmdp.Task, []cmdp.Constraint) {
	t.Helper()
	low, all := slices.Repeat([]float64{-1000}, len(high)), slices.Repeat([]float64{1000}, len(high))
	box, err := geometry.NewBox(low, all)
	if err != nil {
		t.Fatal(err)
	}
	goal, err := cost.NewLinear(gradient, box)
	if err != nil {
		t.Fatal(err)
	}
	var rows []cmdp.Constraint
	for i, x := range high {
		if x < 1000 {
			rows = append(rows, cmdp.Constraint{Normal: axis(len(high), i, 1), Offset: x})
		}
	}
	within, err := geometry.NewBox(low, high)
	if err != nil {
		t.Fatal(err)
	}
	target, err := within.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	return cmdp.Task{Cost: goal, Target: target}, rows
}

// TestOnePolicyKeepsLimitsInEveryRun: where all states lead to one another the answer is one policy with one
// recurrent class, so that all its runs have the same means. These keep every limit, and its cost is within the
// gap of Kallenberg's program.
func TestOnePolicyKeepsLimitsInEveryRun(t *testing.T) {
	joined, merged, infeasible := 0, 0, 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 71))
		limits := 1 + rng.IntN(3)
		m := communicating(t, rng, 1+limits)
		high := []float64{1000}
		for range limits {
			high = append(high, 1+6*rng.Float64())
		}
		gradient := axis(1+limits, 0, 1)
		if rng.IntN(2) == 0 {
			gradient[1] = -1
		}
		task, rows := meansTask(t, gradient, high)
		gap := []float64{0, 1e-2, 1e-4, 1e-8}[rng.IntN(4)]
		want, feasible := kallenberg(t, m, gradient, rows)
		r, err := Solve(t.Context(), m, task, Options{Gap: gap})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		Fits(t, m, task, r)
		if !feasible {
			infeasible++
			if r.Status != Infeasible {
				t.Errorf("seed %d: %v: want infeasible", seed, r.Status)
			}
			continue
		}
		if r.Status != Optimal || r.Policy == nil || len(r.Branches) != 1 {
			t.Errorf("seed %d: %v with %d components, branches %+v: want one policy with one branch", seed, r.Status,
				len(r.Mixture), r.Branches)
			continue
		}
		classes := denseBranches(t, m, r.Policy)
		if len(classes) != 1 {
			t.Errorf("seed %d: the policy has the recurrent classes %+v: want one", seed, classes)
			continue
		}
		v := classes[0].Returns
		if !floats.EqualApprox(v, r.Returns, 1e-7) || !floats.EqualApprox(v, r.Branches[0].Returns, 1e-7) {
			t.Errorf("seed %d: the policy returns %v: said %v and %+v", seed, v, r.Returns, r.Branches)
		}
		for _, row := range rows {
			if excess := floats.Dot(row.Normal, r.Returns) - row.Offset; excess > 2e-10*60 {
				t.Errorf("seed %d: a limit is broken by %g", seed, excess)
			}
		}
		if gap == 0 {
			gap = defaultJoinGap
		}
		size := math.Max(math.Abs(want), 60)
		if r.Objective-want > gap*size || r.Bound > want+1e-9*size || math.Abs(r.Objective-r.Bound-r.Gap) > 1e-12*size {
			t.Errorf("seed %d: cost %v, bound %v, gap %v: want %v within %g", seed, r.Objective, r.Bound, r.Gap, want,
				gap*size)
		}
		if r.Joined == nil {
			if r.Gap > 1e-9*size && gap == defaultJoinGap {
				t.Errorf("seed %d: gap %g without classes that are joined", seed, r.Gap)
			}
			if r.Randomized > 0 {
				merged++
			}
			continue
		}
		joined++
		if j := r.Joined; j.Classes < 2 || !(j.Steps > 1) || math.IsInf(j.Steps, 0) ||
			!(j.Loss >= 0 && j.Loss <= r.Gap+1e-9*size) {
			t.Errorf("seed %d: %+v with gap %g: want two classes or more, and what it costs", seed, *j, r.Gap)
		}
	}
	if joined < 50 || merged < 50 || infeasible < 20 {
		t.Errorf("%d joined, %d merged, %d infeasible: the test says little", joined, merged, infeasible)
	}
}

// twoRooms is a model of two states in which one can stay, with ways between them over a third one. Its returns
// are given for staying in the first, staying in the second, and a step on the way.
func twoRooms(t testing.TB, first, second, way []float64) *cmdp.Model {
	t.Helper()
	spec := cmdp.ModelSpec{Average: true, Dim: len(first), Start: []cmdp.StartState{{State: 0, Probability: 1}}}
	return modelOf(t, spec, 3, []cmdp.Row{
		{State: 0, Action: 0, Returns: first, Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
		{State: 0, Action: 1, Returns: way, Next: []cmdp.Transition{{Next: 2, Probability: 1}}},
		{State: 1, Action: 0, Returns: second, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
		{State: 1, Action: 1, Returns: way, Next: []cmdp.Transition{{Next: 2, Probability: 1}}},
		{State: 2, Action: 0, Returns: way, Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
		{State: 2, Action: 1, Returns: way, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
	})
}

// modelOf is the model of rows that are the same at every step.
func modelOf(t testing.TB, spec cmdp.ModelSpec, states int, rows []cmdp.Row) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(spec, states)
	for _, row := range rows {
		row.Step = cmdp.EveryStep
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// totalsOf returns a model of totals that begins in state 0, with one kernel.
func totalsOf(t testing.TB, k cmdp.Kernel, dim int) *cmdp.Model {
	t.Helper()
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: dim, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLimitsWithoutRoom: only staying keeps the second return at its limit, and the third wants half of the
// time in either room. So the ways get no more of the time than the tolerance of limits allows, and the policy
// is one all the same.
func TestLimitsWithoutRoom(t *testing.T) {
	for _, way := range []float64{1, 1e-3, 1e6} {
		m := twoRooms(t, []float64{1, 0, 0}, []float64{3, 0, -1}, []float64{1, way, 0})
		task, rows := meansTask(t, []float64{1, 0, 0}, []float64{1000, 0, -0.5})
		r, err := Solve(t.Context(), m, task, Options{})
		if err != nil {
			t.Fatal(err)
		}
		Fits(t, m, task, r)
		if r.Status != Optimal || r.Policy == nil || math.Abs(r.Objective-2) > 1e-5 {
			t.Errorf("way %g: %v %v, %d components: want one policy of cost 2", way, r.Status, r.Objective,
				len(r.Mixture))
			continue
		}
		classes := denseBranches(t, m, r.Policy)
		if len(classes) != 1 || !floats.EqualApprox(classes[0].Returns, r.Returns, 1e-9*max(1, way)) {
			t.Errorf("way %g: classes %+v: want one with the means %v", way, classes, r.Returns)
		}
		for _, row := range rows {
			if excess := floats.Dot(row.Normal, r.Returns) - row.Offset; excess > 2e-10*max(1, way) {
				t.Errorf("way %g: a limit is broken by %g", way, excess)
			}
		}
	}
}

// TestCurvedMeansInEveryRun is TestOnePolicyKeepsLimitsInEveryRun for curved costs and targets, with the bound
// of a verifier.
func TestCurvedMeansInEveryRun(t *testing.T) {
	joined, curved := 0, 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 72))
		m := communicating(t, rng, 2)
		box, err := geometry.NewBox([]float64{0, 0}, []float64{60, 60})
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{}
		if task.Cost, err = cost.NewSquared([]float64{8 * rng.Float64(), 8 * rng.Float64()}, []float64{1, 1},
			box); err != nil {
			t.Fatal(err)
		}
		if seed%2 == 0 {
			if task.Target, err = geometry.NewBall([]float64{4 * rng.Float64(), 4 * rng.Float64()}, 3); err != nil {
				t.Fatal(err)
			}
			if task.Cost, err = cost.NewLinear([]float64{rng.NormFloat64(), rng.NormFloat64()}, box); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Solve(t.Context(), m, task, Options{Gap: 1e-5})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		Fits(t, m, task, r)
		if r.Status == Infeasible {
			continue
		}
		if r.Status != Optimal || r.Policy == nil {
			t.Errorf("seed %d: %v, %d components: want one policy", seed, r.Status, len(r.Mixture))
			continue
		}
		classes := denseBranches(t, m, r.Policy)
		if len(classes) != 1 {
			t.Errorf("seed %d: classes %+v: want one", seed, classes)
			continue
		}
		v := classes[0].Returns
		bound, err := VerifyBound(t.Context(), m, task, r.Proof)
		if gap := task.Cost.Value(v) - bound; err != nil || gap > 1e-5*7200 || seed%2 == 0 && gap > 1e-5*400 {
			t.Errorf("seed %d: cost %v, bound %v, %v: want a gap of 1e-5", seed, task.Cost.Value(v), bound, err)
		}
		if task.Target != nil && task.Violation(v) > r.Tolerance+1e-9 {
			t.Errorf("seed %d: violation %v: want %v at most", seed, task.Violation(v), r.Tolerance)
		}
		if r.Joined != nil {
			joined++
			if task.Target != nil {
				curved++
			}
		}
	}
	if joined < 20 || curved < 10 {
		t.Errorf("%d joined, %d of them with a curved target: the test says little", joined, curved)
	}
}

// TestEveryRunKeepsLimits plays endless runs: each of them, not only their mean, is near the limits after many steps.
func TestEveryRunKeepsLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	const runs, steps = 30, 400_000
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 74))
		m := twoRooms(t, []float64{-8, 4, 0}, []float64{-5, 1, float64(seed)}, []float64{0, 1, 1})
		task, _ := meansTask(t, []float64{1, 0, 0}, []float64{1000, 2, 1000})
		r, err := Solve(t.Context(), m, task, Options{Gap: 0.02})
		if err != nil || r.Status != Optimal || r.Joined == nil {
			t.Fatalf("%+v, %v: want rooms that are joined", r, err)
		}
		changes, per := 0, 0.0
		for range runs {
			state, room, total := m.Start(rng), 0, make([]float64, 3)
			at := make([]float64, 3)
			for h := range steps {
				clear(at)
				next := m.Step(at, rng, h, state, r.Policy.Choose(rng, h, state))
				floats.Add(total, at)
				if state = next; state == 2 {
					continue
				}
				if state != room {
					room = state
					changes++
				}
			}
			floats.Scale(1.0/steps, total)
			if math.Abs(total[0]-r.Returns[0]) > 0.4 || total[1] > 2.4 {
				t.Errorf("seed %d: a run with the means %v: want %v", seed, total, r.Returns)
			}
		}
		per = float64(runs*steps) / float64(changes)
		// A step on the way comes back half of the times.
		if per < 0.5*r.Joined.Steps || per > 3*r.Joined.Steps {
			t.Errorf("seed %d: a room is left once in %g steps: said to be tried once in %g", seed, per, r.Joined.Steps)
		}
	}
}

// TestJoinedBehindChance: chance leads to one of three ends, in two of which classes have to be joined; the
// third cannot be left. All runs of an end have the same means, and the mean over ends keeps the limit. Return 2 counts
// the choices that leave a class.
func TestJoinedBehindChance(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Average: true, Dim: 3, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 8)
	add := func(s, a int, r []float64, next ...cmdp.Transition) {
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: r, Next: next}); err != nil {
			t.Fatal(err)
		}
	}
	surely := func(s int) cmdp.Transition { return cmdp.Transition{Next: s, Probability: 1} }
	add(0, 0, []float64{0, 0, 0},
		cmdp.Transition{Next: 1, Probability: 0.3}, cmdp.Transition{Next: 4, Probability: 0.5},
		cmdp.Transition{Next: 7, Probability: 0.2})
	for _, first := range []int{1, 4} {
		size := float64(first)
		add(first, 0, []float64{-8 * size, 4 * size, 0}, surely(first))
		add(first, 1, []float64{0, 1, 1}, surely(first+2))
		add(first+1, 0, []float64{-5 * size, size, 0}, surely(first+1))
		add(first+1, 1, []float64{0, 1, 1}, surely(first+2))
		add(first+2, 0, []float64{0, 1, 0}, surely(first))
		add(first+2, 1, []float64{0, 1, 0}, surely(first+1))
	}
	add(7, 0, []float64{-1, 10, 0}, surely(7))
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []float64{6, 7, 9} {
		task, rows := meansTask(t, []float64{1, 0, 0}, []float64{1000, limit, 1000})
		want, _ := kallenberg(t, m, []float64{1, 0, 0}, rows)
		for _, gap := range []float64{0, 0.01} {
			r, err := Solve(t.Context(), m, task, Options{Gap: gap})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != Optimal || r.Policy == nil || r.Joined == nil || len(r.Branches) != 3 || r.Iterations > 100 {
				t.Fatalf("limit %g: %+v: want one policy with three branches", limit, r)
			}
			for i, p := range []float64{0.5, 0.3, 0.2} {
				if math.Abs(r.Branches[i].Probability-p) > 1e-12 {
					t.Errorf("limit %g: branches %+v: want the probabilities 0.5, 0.3 and 0.2", limit, r.Branches)
				}
			}
			total := make([]float64, 3)
			for _, b := range denseBranches(t, m, r.Policy) {
				floats.AddScaled(total, b.Probability, b.Returns)
			}
			if !floats.EqualApprox(total, r.Returns, 1e-9) || total[1] > limit+1e-8 ||
				total[0]-want > max(gap, 1e-6)*30 {
				t.Errorf("limit %g: means %v: said %v, want a cost of %v", limit, total, r.Returns, want)
			}
			if steps := 0.8 / total[2]; math.Abs(r.Joined.Steps-steps) > 1e-6*steps {
				t.Errorf("limit %g: %+v: want a choice that leaves in %g steps of the ends that are joined", limit,
					*r.Joined, steps)
			}
			if gap > 0 && r.Joined.Loss < 1e-3*gap {
				t.Errorf("limit %g: %+v: want a loss nearer to the gap %g, for more changes", limit, *r.Joined, gap)
			}
		}
	}
}

// TestWaysAreAveraged: from the start two roads lead to the same two ends, with other probabilities, tolls and
// times. The limit on a mean, or on a total beside means, asks for both roads; the answer draws the road, not a
// policy, and has two branches.
func TestWaysAreAveraged(t *testing.T) {
	for _, total := range []bool{false, true} {
		b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 2, Means: []bool{true, !total},
			Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 4)
		add := func(s, a int, r []float64, next ...cmdp.Transition) {
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: r, Next: next}); err != nil {
				t.Fatal(err)
			}
		}
		add(0, 0, []float64{0, 6}, cmdp.Transition{Next: 1, Probability: 0.9},
			cmdp.Transition{Next: 2, Probability: 0.1})
		add(0, 1, []float64{0, 0}, cmdp.Transition{Next: 3, Probability: 1})
		add(3, 0, []float64{0, 1}, cmdp.Transition{Next: 0, Probability: 0.5},
			cmdp.Transition{Next: 1, Probability: 0.1}, cmdp.Transition{Next: 2, Probability: 0.4})
		stay := 0.0
		if !total {
			stay = 5
		}
		add(1, 0, []float64{-3, stay}, cmdp.Transition{Next: 1, Probability: 1})
		add(2, 0, []float64{-1, 0}, cmdp.Transition{Next: 2, Probability: 1})
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		task, _ := meansTask(t, []float64{1, 0}, []float64{1000, 4})
		r, err := Solve(t.Context(), m, task, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != Optimal || r.Policy == nil || r.Randomized != 1 || len(r.Branches) != 2 || r.Gap > 1e-9 ||
			math.Abs(r.Returns[1]-4) > 1e-9 {
			t.Errorf("total %v: %+v: want an optimum at the limit, with one policy that draws in one state", total, r)
			continue
		}
		mean := 0.0
		for _, b := range denseBranches(t, m, r.Policy) {
			mean += b.Probability * b.Returns[0]
		}
		if math.Abs(mean-r.Returns[0]) > 1e-9 {
			t.Errorf("total %v: mean %v: said %v", total, mean, r.Returns[0])
		}
	}
}
