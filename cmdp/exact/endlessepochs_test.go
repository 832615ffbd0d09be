package exact

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/internal/threshold"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// drawEndlessEpochs draws a model of three epochs in which policies may go on for ever at returns, and the same one
// with stored rows. The first return is never negative there, the second of any sign in some models, and the third is
// that of a few states. In some a policy may go to and fro between two states, where what it gains one way it loses the
// other way, or half of that, or twice as much. Of some the last epoch must not come.
func drawEndlessEpochs(t *testing.T, rng *rand.Rand) (m, stored *cmdp.Model) {
	t.Helper()
	const dim = 3
	states := 2 + rng.IntN(5)
	start := []cmdp.StartState{{State: 0, Probability: 0.75}, {State: states - 1, Probability: 0.25}}
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: dim, Start: start}, states+1)
	signs, closed, rare := rng.IntN(3), rng.IntN(4), 0.25
	if rng.IntN(4) == 0 {
		rare = 1e-4
	}
	actions, onward := make([]int, states), rng.IntN(3) == 0
	for s := range states {
		actions[s] = 1 + rng.IntN(3)
		for a := range actions[s] {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: make([]float64, dim)}
			goesOn := rng.IntN(2) == 0 || s == closed
			if rng.IntN(3) > 0 {
				row.Returns[0] = float64(rng.IntN(3)) / 4
				row.Returns[1] = float64(rng.IntN(4)-signs) / 2
			}
			if s == closed || !goesOn {
				row.Returns[2] = float64(rng.IntN(3)-1) / 4
			}
			for _, x := range []float64{0.75 - rare, 0.25, rare} {
				next := rng.IntN(states)
				if onward {
					next = s + rng.IntN(states-s)
				}
				if !goesOn && x == rare && rng.IntN(3) > 0 {
					next = states
				}
				if j := slices.IndexFunc(row.Next, func(e cmdp.Transition) bool { return e.Next == next }); j >= 0 {
					row.Next[j].Probability += x
					continue
				}
				row.Next = append(row.Next, cmdp.Transition{Next: next, Probability: x})
			}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rng.IntN(2) == 0 {
		back := []float64{-1, -0.5, -2, 0.5}[rng.IntN(4)]
		returns := []float64{float64(rng.IntN(3)) / 4, float64(rng.IntN(3)-1) / 2, float64(rng.IntN(3)-1) / 4}
		for s, x := range []float64{1, back} {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: actions[s],
				Next: []cmdp.Transition{{Next: 1 - s, Probability: 1}}}
			for _, r := range returns {
				row.Returns = append(row.Returns, x*r)
			}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	base, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	m = threeEpochs(t, rng, base, []int32{0, 0})
	return m, storedRows(t, m)
}

// TestEndlessEpochs: tasks about totals that may go on for ever in an epoch have the answers that they have with stored
// rows, and so have ranges of returns and policies. Where a policy has to remember which loops it is done with rows are
// stored while it is solved, if they fit.
func TestEndlessEpochs(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 14))
	counts := make(map[string]int)
	for i := range 600 {
		m, stored := drawEndlessEpochs(t, rng)
		p, q := PlannerOf(t, m), PlannerOf(t, stored)
		sameRanges(t, i, p, q)
		for range 2 {
			task := drawTotalsTask(t, rng, q)
			solves, err := p.SolvesEpochs(t.Context(), task)
			if err != nil {
				t.Fatal(err)
			}
			if !solves {
				counts["refused"]++
				continue
			}
			got, failed := p.Solve(t.Context(), task, Options{})
			want, wrong := q.Solve(t.Context(), task, Options{})
			var one, other *NoTotalError
			if errors.As(failed, &one) != errors.As(wrong, &other) || one != nil && one.Kept != other.Kept {
				t.Fatalf("model %d: %v, want %v", i, failed, wrong)
			}
			if failed != nil || wrong != nil {
				if one == nil {
					t.Fatalf("model %d: %v, want %v", i, failed, wrong)
				}
				counts["no total"]++
				continue
			}
			counts[got.Status.String()]++
			if got.Status == Infeasible && got.Certificate.Finite != want.Certificate.Finite {
				counts["finite"]++ // a loop that is not reached may be seen
				if want.Certificate.Finite {
					t.Errorf("model %d: a proof about policies with finite totals is said to be about all", i)
				}
			}
			if i%5 == 0 {
				verifyEpochs(t, i, m, task, got)
			}
			if got.Status == Infeasible {
				compareDistance(t, i, q, task, counts)
			}
			switch {
			case p.rows.Load() != nil:
				counts["stored"]++
				wantsRows(t, m, task, got)
			case slices.ContainsFunc(p.columns, func(c column) bool { return c.ray != nil }):
				counts["ray"]++
			case p.epochs.endless:
				counts["endless"]++
			}
			compareEndless(t, i, stored, m, got, want)
		}
	}
	if counts["finite"] > 3 {
		t.Errorf("%d proofs are said to be about policies with finite totals, and are about all: want less",
			counts["finite"])
	}
	for what, least := range map[string]int{"refused": 50, "no total": 30, "optimal": 600, "infeasible": 100,
		"unbounded": 100, "endless": 200, "ray": 120, "stored": 20, "finite distance": 10} {
		if counts[what] < least {
			t.Errorf("%d are %s: want %d and more of %v", counts[what], what, least, counts)
		}
	}
}

// wantsRows asks once more where rows are too large to be stored: it is an error, unless an answer is undecided without
// them, or a task before had asked for them.
func wantsRows(t *testing.T, m *cmdp.Model, task cmdp.Task, got *Result) {
	t.Helper()
	m.Epochs().Bytes = 1
	defer func() { m.Epochs().Bytes = 0 }()
	r, err := PlannerOf(t, m).Solve(t.Context(), task, Options{})
	if errors.As(err, new(*cmdp.MemoryError)) {
		return
	}
	if err != nil || r.Status != Undecided && got.Status != Undecided && r.Status != got.Status {
		t.Errorf("%v: want rows that are too large to be stored, or %v", err, got.Status)
	}
}

// compareDistance compares the distance of a target that is missed with the certificate of the target alone, and counts
// those that are about policies with finite totals.
func compareDistance(t *testing.T, i int, p *Planner, task cmdp.Task, counts map[string]int) {
	t.Helper()
	d, failed := p.Distance(t.Context(), task, Options{})
	r, err := p.Solve(t.Context(), cmdp.Task{Target: task.Target, Whole: task.Whole, Box: task.Box}, Options{})
	if failed != nil || err != nil || r.Status != Infeasible {
		t.Errorf("model %d: %v, %v and %v: want a distance", i, r, failed, err)
		return
	}
	c, support := r.Certificate, oracle.Support(task.Target, d.Direction)
	near := 1e-6 * (1 + r.Violation)
	if d.Finite != c.Finite || d.Whole != c.Whole || math.Abs(d.Upper-r.Violation) > near || !(d.Lower <= d.Upper) ||
		!c.Whole && math.Abs(d.Support-support) > 1e-9*(1+math.Abs(support)) {
		t.Errorf("model %d: a distance of %+v beside %+v: want the support %g", i, d, c, support)
	}
	if d.Finite {
		counts["finite distance"]++
	}
}

// TestEarlyWithRows: an early answer is told once, also where rows are stored after that.
func TestEarlyWithRows(t *testing.T) {
	m, _ := drawEndlessEpochs(t, rand.New(rand.NewPCG(26, 19)))
	for rng := rand.New(rand.NewPCG(26, 20)); m.Epochs().Restricted(); {
		m, _ = drawEndlessEpochs(t, rng)
	}
	told, asked := 0, 0
	opts := Options{Early: func(*Result) { told++ }}
	_, err := orWithRows(t.Context(), PlannerOf(t, m), opts, func(p *Planner, opts Options) (none struct{}, err error) {
		asked++
		opts.Early(nil)
		if p.m.Epochs() != nil {
			err = errWantsRows
		}
		return none, err
	})
	if err != nil || asked != 2 || told != 1 {
		t.Errorf("%v, %d early answers of %d planners: want one of two", err, told, asked)
	}
}

// TestInTime: what epochs left undecided is the answer if the time is over before stored rows have a better one.
func TestInTime(t *testing.T) {
	policy, inf := new(Policy), math.Inf(1)
	for _, rows := range []*Result{{Status: Optimal, Policy: policy}, {Status: Undecided, Policy: policy, Gap: 2},
		{Status: Infeasible}, {Status: Stopped, Policy: policy, Gap: 1}, {Status: Stopped, Gap: inf},
		{Status: Stopped, Policy: policy, Gap: 2}} {
		before := &Result{Status: Undecided, Policy: policy, Gap: 1}
		want := rows
		if rows.Status == Stopped && (rows.Policy == nil || rows.Gap > 1) {
			want = before
		}
		if got := inTime(before, rows); got != want || got == before && got.Status != Stopped {
			t.Errorf("%v with a gap of %g after 1: got %v with %g", rows.Status, rows.Gap, got.Status, got.Gap)
		}
	}
}

// TestEndlessPrices: a direction has the value that it has with stored rows, or none where these have a ray, and its
// policy returns what is said of it, with what it returns for ever.
func TestEndlessPrices(t *testing.T) {
	ctx, rng := t.Context(), rand.New(rand.NewPCG(26, 15))
	asked, endless, gains := 0, 0, 0
	for i := range 600 {
		m, stored := drawEndlessEpochs(t, rng)
		dir := make([]float64, m.Dim())
		for range 2 { // of which one may be the other's
			dir[rng.IntN(len(dir))] = rng.NormFloat64()
		}
		c := relevanceOf(m.Dim(), cmdp.Task{}, dir)
		p, err := newPricer(ctx, m, 1, c, nil)
		if errors.Is(err, ErrNoTotal) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		q, err := newPricer(ctx, stored, 1, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		x, err := p.price(ctx, dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		if x.ray != nil {
			gains++
			if !gainsAlong(m, x.ray, x.returns, dir) {
				t.Errorf("model %d: %v are gained for ever in direction %v in states %v", i, x.returns, dir, x.ray.states)
			}
			if y, err := q.price(ctx, dir, 0); err != nil || y.ray == nil {
				t.Errorf("model %d: nothing is gained for ever, but %g: %v", i, y.value, err)
			}
			continue
		}
		value, _, err := q.recheck(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		if !near(x.value, value) || !near(floats.Dot(dir, x.returns), value) {
			t.Errorf("model %d: %g, by a policy that returns %v: want %g", i, x.value, x.returns, value)
		}
		if asked++; m.Epochs().Restricted() {
			continue
		}
		got := x.returns
		if x.withInfinite != nil {
			got = x.withInfinite
		}
		policy, err := p.recoverPolicy(ctx, []column{{dir: dir}}, []float64{1}, face{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Evaluate(ctx, stored, policy)
		if err != nil {
			t.Fatal(err)
		}
		for j, x := range want.Returns {
			if math.IsInf(x, 0) {
				endless++
			}
			if !near(got[j], x) {
				t.Errorf("model %d: a policy returns %v: %v by rows", i, got, want.Returns)
			}
		}
	}
	if asked < 200 || endless < 15 || gains < 100 {
		t.Errorf("%d directions, with %d returns that do not end, and %d in which policies gain for ever: want more",
			asked, endless, gains)
	}
}

// gainsAlong reports whether the shares of a ray are those of time that its policy spends in states that come up, and
// that does not leave them, and its gain is what this returns in a step, which is less than nothing in the direction.
func gainsAlong(m *cmdp.Model, r *ray, gain, dir []float64) bool {
	e, rows := m.Epochs(), m.Rows(0)
	share, sum := make(map[int32]float64), make([]float64, m.Dim())
	for j, s := range r.states {
		first, end := rows.Choices(int(s))
		probs := make([]float64, end-first)
		NewPolicy([]markov.Rule{*r.policy}).Distribution(probs, 0, int(s))
		for a, x := range probs {
			next, prob := rows.Row(first + a)
			if x > 0 && (!e.ComesUp(int(s)) || len(next) == 0) {
				return false
			}
			for k, to := range next {
				if x > 0 {
					share[to] += r.share[j] * x * prob[k]
				}
			}
			floats.AddScaled(sum, r.share[j]*x, rows.Returns(first+a))
		}
	}
	for j, s := range r.states {
		if !near(share[s], r.share[j]) {
			return false
		}
	}
	return slices.EqualFunc(sum, gain, near) && near(floats.Sum(r.share), 1) && len(share) == len(r.states) &&
		dot(dir, gain) < 0
}

func sameRanges(t *testing.T, i int, p, q *Planner) {
	t.Helper()
	lower, upper, err := p.Ranges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	least, most, err := q.Ranges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for j := range lower {
		if !near(lower[j], least[j]) || !near(upper[j], most[j]) {
			t.Errorf("model %d: return %d goes from %g to %g: want %g to %g", i, j, lower[j], upper[j], least[j],
				most[j])
		}
	}
}

// drawTotalsTask draws a goal, or none, and limits.
func drawTotalsTask(t *testing.T, rng *rand.Rand, q *Planner) cmdp.Task {
	t.Helper()
	d := q.m.Dim()
	lower, upper, err := q.Ranges(t.Context())
	for j := range lower {
		lower[j], upper[j] = math.Max(lower[j], -Boundless), math.Min(upper[j], Boundless)
	}
	if err != nil {
		t.Fatal(err)
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Box: box}
	if rng.IntN(4) > 0 {
		slope := make([]float64, d)
		slope[rng.IntN(d)] = 1
		if rng.IntN(2) == 0 {
			slope[rng.IntN(d)] = float64(rng.IntN(3) - 1)
		}
		task.Cost, err = cost.NewLinear(slope, box)
		if err != nil {
			t.Fatal(err)
		}
	}
	least, most := slices.Repeat([]float64{math.Inf(-1)}, d), slices.Repeat([]float64{math.Inf(1)}, d)
	for range rng.IntN(3) {
		if j, x := rng.IntN(d), 2*rng.Float64(); rng.IntN(3) > 0 {
			most[j] = math.Max(x, least[j])
		} else {
			least[j] = math.Min(x/2, most[j])
		}
	}
	asked, err := geometry.NewBox(least, most)
	if err == nil {
		err = task.Within(asked, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// verifyEpochs verifies what is proved in an answer, of limits that are out of reach in rational arithmetic too.
func verifyEpochs(t *testing.T, i int, m *cmdp.Model, task cmdp.Task, got *Result) {
	t.Helper()
	var err error
	switch {
	case got.Certificate != nil:
		err = errors.Join(Verify(t.Context(), m, task, got.Certificate),
			VerifyRational(t.Context(), m, task, got.Certificate))
	case got.Proof != nil && got.Status == Optimal:
		_, err = VerifyBound(t.Context(), m, task, got.Proof)
	}
	if err != nil {
		t.Errorf("model %d: %v", i, err)
	}
}

// compareEndless compares answers, and what policies return with what is said of them. Returns are at least as near to
// a target that is out of reach.
func compareEndless(t *testing.T, i int, stored, m *cmdp.Model, got, want *Result) {
	t.Helper()
	room := want.Violation + got.Tolerance + 1e-6
	if got.Status != want.Status && want.Status != Undecided || got.Violation > room || got.Status == Infeasible &&
		!(got.Certificate.proves() && got.Violation >= got.Certificate.Value-got.Certificate.Support-1e-6) {
		t.Errorf("model %d: %v, %g from the target: want %v, %g", i, got.Status, got.Violation, want.Status,
			want.Violation)
	}
	if got.Status == Optimal && math.Abs(got.Objective-want.Objective) > got.Gap+want.Gap+1e-9 {
		t.Errorf("model %d: %g: want %g", i, got.Objective, want.Objective)
	}
	policies := got.mixture()
	if m.Epochs().Restricted() || len(policies) == 0 { // choices have other numbers, or no policy is made
		return
	}
	if got.Product != nil {
		stored = got.Product.Model
	}
	sum := make([]float64, m.Dim())
	for _, c := range policies {
		e, err := Evaluate(t.Context(), stored, c.Policy)
		if err != nil {
			t.Fatal(err)
		}
		for j, x := range e.Returns {
			sum[j] += c.Weight * x
		}
	}
	for j, x := range sum {
		if !near(got.Returns[j], x) {
			t.Errorf("model %d: a policy returns %v: %v by rows", i, got.Returns, sum)
		}
	}
}

// TestEpochCurves: a curve over epochs is that of stored rows, with the same digits for one worker and two, also where
// rays are met on the way.
func TestEpochCurves(t *testing.T) {
	defer func(before int) { threshold.Simultaneous = before }(threshold.Simultaneous)
	threshold.Simultaneous = 1
	rng := rand.New(rand.NewPCG(26, 16))
	curves, gains := 0, 0
	for i := range 200 {
		m, stored := drawEndlessEpochs(t, rng)
		opts := FrontOptions{Error: 1e-6}
		for range 2 {
			over := make([]float64, m.Dim())
			over[rng.IntN(len(over))] = float64(1 - 2*rng.IntN(2))
			opts.Over = append(opts.Over, over)
		}
		var found []*FrontResult
		var said []string
		for _, workers := range []int{1, 2, 0} {
			of := m
			if workers == 0 {
				of = stored
			}
			opts.Workers = max(workers, 1)
			p := PlannerOf(t, of)
			r, err := p.Front(t.Context(), cmdp.Task{}, opts)
			if slices.ContainsFunc(p.columns, func(c column) bool { return c.ray != nil }) && workers > 0 {
				gains++
			}
			if err != nil {
				r = &FrontResult{Status: Undecided}
				if !errors.Is(err, ErrNoTotal) && !m.Epochs().Restricted() {
					t.Fatalf("model %d: %v", i, err)
				}
			}
			text := fmt.Sprint(r.Status, r.Outer, r.Error)
			for _, at := range r.Points {
				text += fmt.Sprint(at.Returns, at.Weights)
			}
			found, said = append(found, r), append(said, text)
		}
		if said[0] != said[1] {
			t.Errorf("model %d: %s\nwith one worker %s", i, said[1], said[0])
		}
		if m.Epochs().Restricted() && found[0].Status == Undecided { // rows are to be stored for that
			continue
		}
		if found[0].Status != found[2].Status {
			t.Errorf("model %d: %v: want %v", i, found[0].Status, found[2].Status)
		}
		if found[2].Status != Optimal {
			continue
		}
		curves++
		for _, w := range [][]float64{{1, 0}, {0, 1}, {1, 1}, {rng.Float64(), rng.Float64()}} {
			least := [2]float64{math.Inf(1), math.Inf(1)}
			for j, r := range []*FrontResult{found[0], found[2]} {
				for _, at := range r.Points {
					least[j] = math.Min(least[j], dot(w, at.Objectives))
				}
			}
			room := 2*(found[0].Error+found[2].Error) + 1e-9*(1+math.Abs(least[1]))
			if math.Abs(least[0]-least[1]) >= room {
				t.Errorf("model %d: %g with weights %v: want %g", i, least[0], w, least[1])
			}
		}
	}
	if curves < 60 || gains < 40 {
		t.Errorf("%d curves, %d times with rays on the way: want more", curves, gains)
	}
}

// TestEndlessReturnsInTasks: returns that do not end count in tasks as defined. What is infinite where that is wanted,
// or matters to nothing, is just large enough for all limits, and no more than the target has. All else stays. A linear
// goal is the sum of what it looks at, a curved one is infinite.
func TestEndlessReturnsInTasks(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 18))
	several, moved := 0, 0
	for trial := range 6000 {
		d := 2 + rng.IntN(3)
		draw := func() []float64 {
			out := make([]float64, d)
			for i := range out {
				out[i] = float64(rng.IntN(5)-2) * float64(rng.IntN(2))
			}
			return out
		}
		box, err := geometry.NewBox(slices.Repeat([]float64{-3}, d), slices.Repeat([]float64{3}, d))
		if err != nil {
			t.Fatal(err)
		}
		var task cmdp.Task
		for range rng.IntN(5) {
			task.Constraints = append(task.Constraints, cmdp.Constraint{Normal: draw(), Offset: rng.NormFloat64()})
		}
		slope, curved := draw(), rng.IntN(8) == 0
		task.Cost, err = cost.NewAffine(slope, 1.5, box)
		if curved && err == nil {
			task.Cost, err = cost.NewSquared(draw(), slices.Repeat([]float64{1}, d), box)
		}
		if err != nil {
			t.Fatal(err)
		}
		c := relevanceOf(d, task)
		a := newExtendedValues(task, c)
		within := rng.IntN(3) == 0
		if within {
			a.task.Target, err = box.Bounded()
			if err != nil {
				t.Fatal(err)
			}
		}
		v, endless := draw(), 0
		harmless, open := make([]bool, d), false
		for i := range v {
			switch {
			case rng.IntN(3) > 0:
				continue
			case rng.IntN(8) == 0:
				v[i] = math.NaN()
			default:
				v[i] = math.Inf(1 - 2*rng.IntN(2))
			}
			endless++
			harmless[i] = !(c.up[i] && !(v[i] < 0)) && !(c.down[i] && !(v[i] > 0))
			open = open || !harmless[i]
		}
		out := a.finiteReturns(v)
		for i, x := range out {
			if !harmless[i] && x != v[i] && !math.IsNaN(v[i]) || harmless[i] && !open && (!isFinite(x) || x*v[i] < 0 ||
				within && math.Abs(x) > 3) {
				t.Errorf("trial %d: %v counts as %v with %+v", trial, v, out, task.Constraints)
			}
		}
		tight := make([]int, d) // limits that leave no room
		for _, r := range task.Constraints {
			room := r.Offset - dot(r.Normal, out)
			for i, x := range r.Normal {
				if harmless[i] && x != 0 && !open && room < -1e-9 && !within {
					t.Errorf("trial %d: %v counts as %v, which breaks %+v", trial, v, out, r)
				}
				if x != 0 && math.Abs(room) < 1e-9 {
					tight[i]++
				}
			}
		}
		for i, x := range out {
			if endless == 1 && harmless[i] && x != 0 {
				moved++
				if tight[i] == 0 && math.Abs(x) != 3 {
					t.Errorf("trial %d: %v counts as %v, which is more than %+v ask for", trial, v, out, task.Constraints)
				}
			}
		}
		if endless > 1 {
			several++
		}
		want := dot(slope, v) + 1.5
		if curved {
			want = math.Inf(1)
			if endless == 0 {
				want = task.Cost.Value(v)
			}
		}
		if got := a.costOf(v); !near(got, want) {
			t.Errorf("trial %d: %v costs %g: want %g", trial, v, got, want)
		}
	}
	if several < 1000 || moved < 100 {
		t.Errorf("several do not end in %d trials, and limits move %d: want more", several, moved)
	}
}
