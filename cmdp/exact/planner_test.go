package exact_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// TestPlannerAgainstOccupancyLP: a series of tasks of one model has the answers of the
// occupancy program, and later ones take fewer value iterations.
func TestPlannerAgainstOccupancyLP(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 14))
	cold, warm, infeasible := 0, 0, 0
	for trial := range 40 {
		sh := shapeOf{states: 2 + rng.IntN(6), actions: 3, horizon: 1 + rng.IntN(5), dim: 2 + rng.IntN(3),
			successors: 3, stepwise: trial%2 == 0, rests: trial%3 == 0}
		if trial%4 == 3 {
			sh.horizon, sh.discount, sh.stepwise = 0, 0.9, false
		}
		m := randomModel(t, rng, sh)
		p, err := exact.NewPlanner(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		x, c := box(t, m), make([]float64, sh.dim)
		for i := range c {
			c[i] = rng.NormFloat64()
		}
		for range 6 {
			var task cmdp.Task
			var rows []cmdp.Constraint
			if sh.horizon > 0 {
				task, rows = randomTask(t, rng, m, x, c)
			}
			offset := float64(rng.IntN(5) - 2)
			goal, err := cost.NewAffine(c, offset, x)
			if err != nil {
				t.Fatal(err)
			}
			task.Cost = goal
			var early []*exact.Result
			told := 0
			opts := exact.Options{Early: func(r *exact.Result) { early = append(early, r) },
				Progress: func(int, float64, float64) { told++ }}
			r, err := p.Solve(t.Context(), task, opts)
			if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			exact.Fits(t, m, task, r)
			alone, err := exact.Solve(t.Context(), m, task, exact.Options{})
			if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			checkSecondOpinion(t, trial, m, task, r)
			want := Occupancy(t, m, c, rows)
			if want.Status == lp.Infeasible {
				infeasible++
				if err := exact.Verify(t.Context(), m, task, r.Certificate); r.Status != exact.Infeasible ||
					err != nil {
					t.Errorf("trial %d: %v, %v: want infeasible with a certificate that holds", trial, r.Status, err)
				}
				continue
			}
			checkOptimal(t, trial, m, task, r, want.Objective+offset, 1e-9)
			checkEarly(t, trial, task, x, early, r.Objective)
			if told != r.Iterations {
				t.Errorf("trial %d: %d value iterations, and %d were told of", trial, r.Iterations, told)
			}
			cold, warm = cold+alone.Iterations, warm+r.Iterations
		}
	}
	if infeasible < 10 || warm > 240 || cold > 350 {
		t.Errorf("%d infeasible tasks; %d value iterations against %d one by one: want at most 240 and 350", infeasible,
			warm, cold)
	}
}

// checkSecondOpinion compares an answer with that of GLPK, where it is built in.
func checkSecondOpinion(t *testing.T, trial int, m *cmdp.Model, task cmdp.Task, r *exact.Result) {
	t.Helper()
	o, err := exact.SecondOpinion(t.Context(), m, task)
	switch {
	case errors.Is(err, lp.ErrNoGLPK):
	case err == nil && r.Status == exact.Infeasible && o.Status == exact.Undecided: // its own proof does not hold
	case err != nil || o.Status != r.Status:
		t.Errorf("trial %d: %v: a second opinion is %+v, %v", trial, r.Status, o, err)
	case r.Status == exact.Optimal && !(math.Abs(o.Objective-r.Objective) <= 1e-7*(1+math.Abs(r.Objective))):
		t.Errorf("trial %d: objective %g: a second opinion is %g", trial, r.Objective, o.Objective)
	}
}

// TestPlannerInterrupted: a call that is cancelled does no harm to the next.
func TestPlannerInterrupted(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	m := randomModel(t, rng, shapeOf{states: 5, actions: 3, horizon: 6, dim: 2, successors: 3})
	p, err := exact.NewPlanner(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: linear(t, box(t, m), []float64{1, -2})}
	want, err := p.Solve(t.Context(), task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, early := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		opts := exact.Options{}
		if early {
			opts.Early = func(*exact.Result) { cancel() }
		} else {
			cancel()
		}
		if _, err := p.Solve(ctx, task, opts); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v: want that of the context", err)
		}
		got, err := p.Solve(t.Context(), task, exact.Options{})
		if err != nil || got.Objective != want.Objective {
			t.Errorf("%v, objective %v: want %v", err, got.Objective, want.Objective)
		}
	}
}

// Before the first value iteration of a large model is done, each part of the work says so, as often as states
// are many and no more. Small models say nothing.
func TestWorking(t *testing.T) {
	const portion = progress.Many
	for _, test := range []struct {
		spec   cmdp.ModelSpec
		round  int32 // states from here on lead back
		states int32
		want   []string
	}{
		{cmdp.ModelSpec{Discount: 1}, 0, 3*portion + 5,
			[]string{"finding states that are reached", "finding components", "numbering states",
				"finding a policy that comes to rest", "finding values of states",
				"finding visits of states"}},
		{cmdp.ModelSpec{Discount: 0.5}, 3*portion + 5, 3*portion + 5,
			[]string{"finding states that are reached", "finding components", "numbering states",
				"finding a policy that comes to rest", "finding values of states",
				"finding visits of states"}},
		{cmdp.ModelSpec{Average: true}, 3*portion + 5, 3*portion + 5,
			[]string{"finding states that are reached", "finding components", "numbering states", "finding end components",
				"finding long-run means"}},
		{cmdp.ModelSpec{Horizon: 7}, 0, portion, []string{"finding values of states"}},
		{cmdp.ModelSpec{Discount: 1}, 0, portion - 1, nil},
		{cmdp.ModelSpec{Discount: 0.5}, portion - 1, portion - 1, nil},
		{cmdp.ModelSpec{Average: true}, portion - 1, portion - 1, nil},
		{cmdp.ModelSpec{Horizon: 7}, 0, portion / 8, nil},
	} {
		k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
		for s := range test.states {
			if next := (s + 1) % test.states; next > 0 || test.round > 0 {
				k.Next, k.Prob, k.Returns = append(k.Next, next), append(k.Prob, 1), append(k.Returns, 1)
				k.Offset = append(k.Offset, len(k.Next))
			}
			k.First = append(k.First, int32(len(k.Next)))
		}
		test.spec.Dim, test.spec.Kernels, test.spec.Start = 1, []cmdp.Kernel{k},
			[]cmdp.StartState{{State: 0, Probability: 1}}
		m, err := cmdp.NewModel(test.spec)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		calls, iterations := 0, 0
		opts := exact.Options{Progress: func(n int, _, _ float64) { iterations = n }}
		ctx := progress.With(t.Context(), func(what string, part float64) {
			if calls++; !(part >= 0 && part <= 1 || math.IsNaN(part)) {
				t.Errorf("%s: part %g", what, part)
			}
			if iterations == 0 && !slices.Contains(told, what) {
				told = append(told, what)
			}
		})
		box, err := geometry.NewBox([]float64{0}, []float64{1e6})
		if err != nil {
			t.Fatal(err)
		}
		goal, err := cost.NewLinear([]float64{1}, box)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := exact.Solve(ctx, m, cmdp.Task{Cost: goal, Box: box}, opts); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(told, test.want) {
			t.Errorf("discount %g, horizon %d, %d states: told %q: want %q", test.spec.Discount, test.spec.Horizon,
				test.states, told, test.want)
		}
		if most := (iterations + 2) * (10*len(test.want) + 200); calls > most {
			t.Errorf("discount %g, horizon %d, %d states: told %d times: want at most %d", test.spec.Discount,
				test.spec.Horizon, test.states, calls, most)
		}
	}
}

// checkEarly checks that there was one early answer, which bounds the optimum from both sides, the gap being
// small by the box of returns, with returns that keep the target and cost what it says.
func checkEarly(t *testing.T, trial int, task cmdp.Task, box *geometry.Box, early []*exact.Result, optimum float64) {
	t.Helper()
	if len(early) != 1 {
		t.Errorf("trial %d: %d early answers, want one", trial, len(early))
		return
	}
	e, room := early[0], 0.0
	gradient := make([]float64, len(e.Returns))
	task.Cost.Subgradient(gradient, e.Returns)
	for i, x := range box.Upper() {
		room += math.Abs(gradient[i]) * (x - box.Lower()[i])
	}
	if slack := 1e-9 * (1 + room); e.Bound > optimum+slack || e.Objective < optimum-slack {
		t.Errorf("trial %d: the early answer lies between %g and %g: the optimum is %g", trial, e.Bound, e.Objective,
			optimum)
	}
	if e.Gap > exact.EarlyGap*(room+math.Abs(optimum))+1e-9 ||
		math.Abs(task.Cost.Value(e.Returns)-e.Objective) > 1e-9*(1+room) {
		t.Errorf("trial %d: early objective %g with a gap of %g, returns that cost %g", trial, e.Objective, e.Gap,
			task.Cost.Value(e.Returns))
	}
	if e.Violation > 1e-7*(1+room) || e.Policy != nil {
		t.Errorf("trial %d: the early answer misses the target by %g, and has the policy %v", trial, e.Violation,
			e.Policy)
	}
}

// TestConflictIsSmallest: where leaving limits out one by one ends with three that are in conflict, the pair that is
// in conflict too is found.
func TestConflictIsSmallest(t *testing.T) {
	// One of five returns is had, or none: the shares of all five sum to 1 at most.
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: 5, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a := range 6 {
		row := cmdp.Row{Action: a, Next: []cmdp.Transition{{Next: 0, Probability: 1}}, Returns: make([]float64, 5)}
		if a > 0 {
			row.Returns[a-1] = 1
		}
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	p, err := exact.NewPlanner(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(2, 5))
	order := []int{0, 1, 2, 3, 4}
	for range 8 {
		var rows []cmdp.Constraint
		for _, i := range order {
			least := []float64{0.6, 0.6, 0.35, 0.35, 0.35}[i] // the first two are too much, and so are the last three
			row := cmdp.Constraint{Normal: make([]float64, 5), Offset: -least}
			row.Normal[i] = -1
			rows = append(rows, row)
		}
		got, err := p.Conflict(t.Context(), cmdp.Task{Constraints: rows, Box: box(t, m)}, nil, exact.Options{})
		if err != nil || got == nil || len(got.Rows) != 2 || order[got.Rows[0]]+order[got.Rows[1]] != 1 {
			t.Errorf("limits in the order %v: conflict %+v, %v: want that of the limits 0 and 1", order, got, err)
		}
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
}

// TestConflictByBruteForce compares conflicts with the occupancy program of every subset of
// the limits, and what each limit has to give with that program's least value of its form.
func TestConflictByBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 21))
	sizes := map[int]int{}
	endless := 0
	for trial := range 150 {
		sh := shapeOf{states: 2 + rng.IntN(4), actions: 3, horizon: 1 + rng.IntN(4), dim: 2 + rng.IntN(2),
			successors: 3, integer: trial%3 == 0}
		m := randomModel(t, rng, sh)
		var rows []cmdp.Constraint
		for range 2 + rng.IntN(4) {
			n, at := make([]float64, sh.dim), randomReturns(m, rng)
			if rng.IntN(2) == 0 {
				n[rng.IntN(sh.dim)] = float64(1 - 2*rng.IntN(2))
			} else {
				for i := range n {
					n[i] = rng.NormFloat64()
				}
			}
			rows = append(rows, cmdp.Constraint{Normal: n, Offset: floats.Dot(n, at) - 0.15*rng.Float64()})
		}
		p, err := exact.NewPlanner(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Conflict(t.Context(), cmdp.Task{Constraints: rows, Box: box(t, m)}, nil, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		least := math.MaxInt // size of the smallest conflict
		for set := range 1 << len(rows) {
			if chosen := pick(rows, set); Occupancy(t, m, make([]float64, sh.dim), chosen).Status == lp.Infeasible {
				least = min(least, len(chosen))
			}
		}
		if got == nil {
			if least < math.MaxInt {
				t.Errorf("trial %d: no conflict: want one of %d limits", trial, least)
			}
			continue
		}
		if len(got.Rows) != least { // no more than three in two or three dimensions, or four
			t.Errorf("trial %d: conflict %v: want one of %d limits", trial, got.Rows, least)
		}
		sizes[len(got.Rows)]++
		for j, k := range got.Rows {
			others := append(append([]cmdp.Constraint(nil), rows[:k]...), rows[k+1:]...)
			sol := Occupancy(t, m, rows[k].Normal, others)
			want := math.Inf(1)
			if sol.Status == lp.Optimal {
				want = sol.Objective - rows[k].Offset
			} else {
				endless++
			}
			if !(math.Abs(got.Relax[j]-want) < 1e-7*(1+math.Abs(want))) && got.Relax[j] != want {
				t.Errorf("trial %d: limit %d has to give %v: want %v", trial, k, got.Relax[j], want)
			}
		}
	}
	if sizes[1] < 5 || sizes[2] < 5 || endless < 5 {
		t.Errorf("conflicts by size %v, %d limits that cannot help alone: the test says little", sizes, endless)
	}
	t.Log(sizes, endless)
}

// TestConflictWithASet: a ball is one limit as a whole, beside others. Conflicts and what each limit has to give, the
// ball by its radius, are those of the mixtures of all policies.
func TestConflictWithASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 22))
	named, alone, beside := 0, 0, 0
	for trial := range 100 {
		dim := 2 + rng.IntN(2)
		m := randomModel(t, rng, shapeOf{states: 2, actions: 2, horizon: 2, dim: dim, successors: 2})
		vertices := everyPolicy(m)
		var rows []cmdp.Constraint
		for range 1 + rng.IntN(3) {
			n := make([]float64, dim)
			for i := range n {
				n[i] = float64(rng.IntN(5) - 2)
			}
			if floats.Norm(n, 1) > 0 {
				offset := floats.Dot(n, vertices[rng.IntN(len(vertices))]) - 0.4*rng.Float64()
				rows = append(rows, cmdp.Constraint{Normal: n, Offset: offset})
			}
		}
		center, radius := slices.Clone(vertices[rng.IntN(len(vertices))]), 0.05+0.3*rng.Float64()
		for i := range center {
			center[i] += 0.25 * rng.NormFloat64()
		}
		ball, err := geometry.NewBall(center, radius)
		if err != nil {
			t.Fatal(err)
		}
		got, err := exact.PlannerOf(t, m).Conflict(t.Context(), cmdp.Task{Constraints: rows, Box: box(t, m)}, ball,
			exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		least := math.MaxInt
		for set := range 2 << len(rows) {
			chosen, size := pick(rows, set), 0
			far := math.Inf(1)
			if set>>len(rows) == 1 {
				far, size = radius, 1
			}
			if d := nearest(t, vertices, chosen, center); d > far+1e-7 || math.IsInf(d, 1) {
				least = min(least, len(chosen)+size)
			}
		}
		if got == nil || least == math.MaxInt {
			if (got == nil) != (least == math.MaxInt) {
				t.Errorf("trial %d: conflict %+v: want one of %d limits", trial, got, least)
			}
			continue
		}
		size := len(got.Rows)
		if got.Set {
			size++
			named++
			want := nearest(t, vertices, rows, center) - radius
			if !(math.Abs(got.RelaxSet-want) <= 1e-6) && got.RelaxSet != want {
				t.Errorf("trial %d: the ball has to give %g: want %g", trial, got.RelaxSet, want)
			}
		}
		if size != least {
			t.Errorf("trial %d: conflict %v, %v: want one of %d limits", trial, got.Rows, got.Set, least)
		}
		for j, k := range got.Rows {
			others := slices.Delete(slices.Clone(rows), k, k+1)
			want := leastInBall(t, vertices, others, rows[k].Normal, center, radius) - rows[k].Offset
			if math.IsInf(want, 1) {
				alone++
			} else {
				beside++
			}
			if !(math.Abs(got.Relax[j]-want) < 1e-6*(1+math.Abs(want))) && got.Relax[j] != want {
				t.Errorf("trial %d: limit %d has to give %v: want %v", trial, k, got.Relax[j], want)
			}
		}
	}
	if named < 15 || alone < 5 || beside < 5 {
		t.Errorf("%d conflicts with the ball, %d limits that cannot help alone, %d that can: want more", named, alone,
			beside)
	}
}

// nearest returns the least distance of the mixtures that keep limits from a point, +Inf if there are none.
func nearest(t *testing.T, vertices [][]float64, rows []cmdp.Constraint, center []float64) float64 {
	t.Helper()
	return withinTangents(t, vertices, rows, center, make([]float64, len(center)), 1, 0)
}

// leastInBall returns the least form·v of the mixtures v that keep limits and lie in a ball, +Inf if there are none.
func leastInBall(t *testing.T, vertices [][]float64, rows []cmdp.Constraint, form, center []float64,
	radius float64) float64 {
	t.Helper()
	return withinTangents(t, vertices, rows, center, form, 0, radius)
}

// withinTangents minimises form·v + share·s over the mixtures v that keep limits, |v − center| being at most s, or at
// most a radius where s has no share: by the tangents of the ball at one answer after the other.
func withinTangents(t *testing.T, vertices [][]float64, rows []cmdp.Constraint, center, form []float64, share,
	radius float64) float64 {
	t.Helper()
	n := len(vertices)
	p := &lp.Problem{Minimize: make([]float64, n+1), Rows: []lp.Constraint{lp.Equal(make([]float64, n+1), 1)}}
	p.Minimize[n] = share
	limit := func(normal []float64, offset, s float64) {
		row := lp.AtMost(make([]float64, n+1), offset)
		for j, v := range vertices {
			row.Coef[j] = product(normal, v)
		}
		row.Coef[n] = s
		p.Rows = append(p.Rows, row)
	}
	for j, v := range vertices {
		p.Minimize[j], p.Rows[0].Coef[j] = product(form, v), 1
	}
	for _, r := range rows {
		limit(r.Normal, r.Offset, 0)
	}
	for range 200 {
		sol, err := lp.Solve(p)
		if err != nil {
			t.Fatal(err)
		}
		if sol.Status == lp.Infeasible {
			return math.Inf(1)
		}
		away := make([]float64, len(center))
		for j, v := range vertices {
			floats.AddScaled(away, sol.X[j], v)
		}
		floats.Sub(away, center)
		far := floats.Norm(away, 2)
		if far <= radius+share*sol.X[n]+1e-9 {
			return sol.Objective
		}
		floats.Scale(1/far, away)
		limit(away, radius+product(away, center), -share)
	}
	t.Fatal("tangents do not end")
	return 0
}

func pick(rows []cmdp.Constraint, set int) (out []cmdp.Constraint) {
	for k, r := range rows {
		if set>>k&1 == 1 {
			out = append(out, r)
		}
	}
	return out
}

// TestVisits: visits times the returns of a step there add up to the returns.
func TestVisits(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 4))
	for trial := range 30 {
		sh := shapeOf{states: 2 + rng.IntN(5), actions: 3, dim: 2, successors: 3, rests: trial%3 == 0, discount: 0.8}
		m := randomModel(t, rng, sh)
		task := cmdp.Task{Cost: linear(t, box(t, m), []float64{rng.NormFloat64(), rng.NormFloat64()})}
		r, err := exact.Solve(t.Context(), m, task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		mass, err := exact.Visits(t.Context(), m, r.Policy, r.Mixture)
		if err != nil {
			t.Fatal(err)
		}
		total := make([]float64, sh.dim)
		if addUp(total, m, 0, r.Policy, mass); !floats.EqualApprox(total, r.Returns, 1e-9) {
			t.Errorf("trial %d: visits return %v: want %v", trial, total, r.Returns)
		}
	}
}

// TestVisitsOfDraws: visits of a draw between policies are those of the policies, by their weights, whatever they are
// visits of.
func TestVisitsOfDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 31))
	draws := 0
	for trial := range 60 {
		p := drawEndless(t, rng, trial%2 == 0)
		if p == nil {
			continue
		}
		m := p.Model
		if trial%3 == 0 {
			m = randomModel(t, rng, shapeOf{states: 4, actions: 3, dim: 2, successors: 3, discount: 0.8})
		}
		var components []exact.WeightedPolicy
		left := 1.0
		for k := range 3 {
			rule := markov.Rule{Actions: markov.NewActions(m.States(), 4)}
			for s := range m.States() {
				if first, end := m.Rows(0).Choices(s); end > first {
					rule.Actions.Set(s, rng.IntN(end-first))
				}
			}
			weight := left * rng.Float64()
			if k == 2 {
				weight = left
			}
			left -= weight
			policy := exact.NewPolicy([]markov.Rule{rule})
			components = append(components, exact.WeightedPolicy{Weight: weight, Policy: policy})
		}
		got, err := exact.Visits(t.Context(), m, nil, components)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, m.States())
		for _, c := range components {
			one, err := exact.Visits(t.Context(), m, c.Policy, nil)
			if err != nil {
				t.Fatal(err)
			}
			floats.AddScaled(want, c.Weight, one)
		}
		if draws++; !floats.EqualApprox(got, want, 1e-9*(1+floats.Norm(want, math.Inf(1)))) {
			t.Errorf("trial %d: visits %v: want %v", trial, got, want)
		}
	}
	if draws < 40 {
		t.Errorf("%d draws: want more", draws)
	}
}

// TestMirroredRanges: what returns can be is mirrored in a model whose returns are negated, where they have no end too.
func TestMirroredRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 32))
	endless := 0
	for trial := range 80 {
		p := drawEndless(t, rng, trial%3 == 0)
		if p == nil {
			continue
		}
		m := p.Model
		spec := cmdp.ModelSpec{Discount: 1, Dim: m.Dim(), Start: m.StartStates()}
		k := *m.Kernel(0).Plain(m.Dim())
		k.Returns = slices.Clone(k.Returns)
		floats.Scale(-1, k.Returns)
		spec.Kernels = []cmdp.Kernel{k}
		for i := range m.Dim() {
			spec.Means = append(spec.Means, m.Mean(i))
		}
		mirror, err := cmdp.NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		lower, upper, err := exact.PlannerOf(t, m).Ranges(t.Context())
		low, high, failed := exact.PlannerOf(t, mirror).Ranges(t.Context())
		if (err == nil) != (failed == nil) {
			t.Errorf("trial %d: %v, and in the mirror %v", trial, err, failed)
		}
		for i := range lower {
			same := func(x, y float64) bool { return x == -y || math.Abs(x+y) < 1e-8*(1+math.Abs(x)) }
			if !same(lower[i], high[i]) || !same(upper[i], low[i]) {
				t.Errorf("trial %d: return %d is from %g to %g, and in the mirror from %g to %g", trial, i, lower[i], upper[i],
					low[i], high[i])
			}
			if math.IsInf(upper[i], 1) {
				endless++
			}
		}
	}
	if endless < 10 {
		t.Errorf("%d returns have no end: want more", endless)
	}
}

// addUp adds the returns of a step that is begun in each state with its mass.
func addUp(total []float64, m *cmdp.Model, h int, p cmdp.Policy, mass []float64) {
	k, d := m.Kernel(h).Plain(m.Dim()), len(total)
	for s, x := range mass {
		n := int(k.First[s+1] - k.First[s])
		if n == 0 {
			continue
		}
		probs := make([]float64, n)
		p.Distribution(probs, h, s)
		for a, y := range probs {
			c := int(k.First[s]) + a
			floats.AddScaled(total, x*y, k.Returns[c*d:(c+1)*d])
		}
	}
}
