package exact_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// every calls try with the returns of every Markov policy of m that never draws.
func every(m *cmdp.Model, try func(v []float64)) {
	v, e := make([]float64, m.Dim()), cmdp.NewEvaluator(m)
	everyMarkov(m, func(p cmdp.Deterministic) {
		e.Returns(v, p)
		try(v)
	})
}

// everyMarkov calls try with every Markov policy of m that never draws.
func everyMarkov(m *cmdp.Model, try func(p cmdp.Deterministic)) {
	p := make(cmdp.Deterministic, m.Horizon())
	for h := range p {
		p[h] = make([]int32, m.States())
	}
	var from func(i int)
	from = func(i int) {
		if i == m.Horizon()*m.States() {
			try(p)
			return
		}
		h, s := i/m.States(), i%m.States()
		first, end := m.Rows(h).Choices(s)
		for a := range max(1, end-first) {
			p[h][s] = int32(a)
			from(i + 1)
		}
	}
	from(0)
}

// TestDeterministicAgainstAll compares optima and verdicts with those of trying every policy. In some models all
// successors are certain, and the cost may be curved.
func TestDeterministicAgainstAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 6))
	drawn, none := 0, 0
	for trial := range 240 {
		shape := shapeOf{states: 2 + trial%2, actions: 2 + trial%2, horizon: 2, dim: 2, successors: 2,
			stepwise: trial%2 == 0, rests: trial%3 == 0, integer: trial%4 == 0}
		if trial >= 120 {
			shape.successors, shape.horizon, shape.states = 1, 3, 2
		}
		shape.unit = 1
		if trial%10 < 5 && trial < 160 {
			shape.unit = 1e-10
		}
		m := randomModel(t, rng, shape)
		x := box(t, m)
		task, rows := randomTask(t, rng, m, x, []float64{rng.NormFloat64(), rng.NormFloat64()})
		task.Box, task.Constraints = x, rows
		if trial >= 160 {
			task.Cost = randomCost(t, rng, x)
		}
		opts := exact.DeterministicOptions{Options: exact.Options{Early: func(*exact.Result) {
			t.Error("an answer of a mixture is told")
		}}}
		r, err := exact.SolveDeterministic(context.Background(), m, task, opts)
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		every(m, func(v []float64) {
			if task.Target == nil || task.Violation(v) <= r.Tolerance {
				best = min(best, task.Cost.Value(v))
			}
		})
		switch {
		case math.IsInf(best, 1):
			none++
			if r.Status != exact.Infeasible {
				t.Errorf("trial %d: %v, but no policy keeps the target", trial, r.Status)
			}
			continue
		case r.Status != exact.Optimal || math.Abs(r.Objective-best) > 1e-8*max(shape.unit, math.Abs(best)) ||
			r.Bound > best+1e-9*shape.unit:
			t.Errorf("trial %d: %v %g ≥ %g, want %g", trial, r.Status, r.Objective, r.Bound, best)
			continue
		}
		size := math.Abs(r.Objective)
		if g, affine := task.Cost.(cost.Affine); affine { // what the cost varies by, if that is less than 1
			varies := 0.0
			for i, c := range g.Gradient() {
				varies += math.Abs(c) * (x.Upper()[i] - x.Lower()[i])
			}
			size = max(size, min(1, varies))
		}
		if r.Gap != r.Objective-r.Bound || r.Gap > 1.001e-9*max(size, shape.unit) {
			t.Errorf("trial %d: a gap of %g between %g and %g, relative to %g", trial, r.Gap, r.Bound, r.Objective, size)
		}
		v := make([]float64, m.Dim())
		cmdp.NewEvaluator(m).Returns(v, r.Policy)
		if math.Abs(task.Cost.Value(v)-best) > 1e-8*shape.unit {
			t.Errorf("trial %d: the policy has %g, %g is promised", trial, task.Cost.Value(v), best)
		}
		few := exact.DeterministicOptions{Nodes: 1 + rng.IntN(r.Nodes)}
		few.Iterations = rng.IntN(3) // 0 for enough
		cut, err := exact.SolveDeterministic(context.Background(), m, task, few)
		if err != nil {
			t.Fatal(err)
		}
		right := cut.Objective >= best-1e-9*shape.unit &&
			cut.Objective <= best+1e-8*max(shape.unit, math.Abs(best))
		if cut.Bound > best+1e-9*shape.unit || cut.Status == exact.Infeasible ||
			cut.Status == exact.Optimal && !right ||
			cut.Nodes > few.Nodes {
			t.Errorf("trial %d: %d nodes: %v %g ≥ %g, want %g", trial, cut.Nodes, cut.Status, cut.Objective, cut.Bound,
				best)
		}
		wide, err := exact.SolveDeterministic(context.Background(), m, task,
			exact.DeterministicOptions{Options: exact.Options{Gap: 0.3}})
		if err != nil {
			t.Fatal(err)
		}
		if wide.Bound > best+1e-9*shape.unit || wide.Objective < best-1e-9*shape.unit ||
			wide.Status == exact.Infeasible {
			t.Errorf("trial %d, gap 0.3: %v %g ≥ %g, want %g", trial, wide.Status, wide.Objective, wide.Bound, best)
		}
		if r.Relaxed.Objective < best-1e-6*shape.unit {
			drawn++
		}
	}
	if drawn < 10 || none < 3 {
		t.Errorf("policies that draw are better in %d trials, and none keeps the target in %d: want some of both",
			drawn, none)
	}
}

// TestDeterministicFrontAgainstAll compares curves with what no policy of all improves on, of objectives whose units
// differ by far, with limits and without.
func TestDeterministicFrontAgainstAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 8))
	most, none := 0, 0
	for trial := range 60 {
		m := randomModel(t, rng, shapeOf{states: 2, actions: 2 + trial%2, horizon: 2, dim: 3,
			successors: 1 + rng.IntN(2), stepwise: trial%2 == 0, rests: trial%3 == 0, integer: trial%4 == 0})
		x := box(t, m)
		task := cmdp.Task{Box: x}
		if trial%3 > 0 {
			task, task.Constraints = randomTask(t, rng, m, x, []float64{1, 0, 0})
			task.Box = x
		}
		over := [2][]float64{{0, 0, 0}, {0, 0, 0}}
		for k := range over {
			over[k][k] = float64(1-2*rng.IntN(2)) * math.Pow(10, float64(rng.IntN(9)-4))
			over[k][2] = over[k][k] * float64(rng.IntN(2))
		}
		want := undominatedReturns(m, task, over)
		points, status, err := exact.DeterministicFront(t.Context(), m, task, over, exact.DeterministicOptions{})
		wanted := exact.Optimal
		if len(want) == 0 {
			wanted = exact.Infeasible
			none++
		}
		if err != nil || status != wanted || len(points) != len(want) {
			t.Errorf("trial %d: %v with %d points, %v: want %v with %d", trial, status, len(points), err, wanted, len(want))
			continue
		}
		cut, status, err := exact.DeterministicFront(t.Context(), m, task, over,
			exact.DeterministicOptions{Nodes: 1 + rng.IntN(4)})
		if err != nil || status != exact.Undecided && (status != wanted || !samePoints(cut, points, over)) {
			t.Errorf("trial %d: %v with other points after few nodes, %v", trial, status, err)
		}
		most = max(most, len(want))
		for i, p := range points {
			v := make([]float64, m.Dim())
			cmdp.NewEvaluator(m).Returns(v, p.Policy)
			for k, c := range over {
				y, size := product(c, v), math.Abs(over[k][k])
				if math.Abs(y-want[i][k]) > 1e-5*size || math.Abs(y-p.Objectives[k]) > 1e-9*size {
					t.Errorf("trial %d: point %d: %v, and its policy has %g of objective %d: want %v", trial, i,
						p.Objectives, y, k, want[i])
				}
			}
		}
	}
	if most < 5 || none < 2 {
		t.Errorf("%d points at most, and %d tasks that no policy keeps: want more", most, none)
	}
}

// samePoints reports whether two curves have the same objectives, up to what a curve tells apart.
func samePoints(a, b []exact.DeterministicPoint, over [2][]float64) bool {
	return slices.EqualFunc(a, b, func(p, q exact.DeterministicPoint) bool {
		return math.Abs(p.Objectives[0]-q.Objectives[0]) <= 1e-5*math.Abs(over[0][0]) &&
			math.Abs(p.Objectives[1]-q.Objectives[1]) <= 1e-5*math.Abs(over[1][1])
	})
}

// undominatedReturns returns the objectives of the policies that keep a task and that none of these improves on, in
// ascending order of the first one. What differs by less than a curve tells apart counts once.
func undominatedReturns(m *cmdp.Model, task cmdp.Task, over [2][]float64) (out [][2]float64) {
	var all [][2]float64
	every(m, func(v []float64) {
		if task.Violation(v) <= 1e-9 {
			all = append(all, [2]float64{product(over[0], v), product(over[1], v)})
		}
	})
	near := [2]float64{1e-5 * math.Abs(over[0][0]), 1e-5 * math.Abs(over[1][1])}
	slices.SortFunc(all, func(a, b [2]float64) int {
		if math.Abs(a[0]-b[0]) <= near[0] {
			return cmp.Compare(a[1], b[1])
		}
		return cmp.Compare(a[0], b[0])
	})
	for _, y := range all {
		if n := len(out); n == 0 || y[1] < out[n-1][1]-near[1] {
			out = append(out, y)
		}
	}
	return out
}

// TestDeterministicIsAnytime: with one relaxed problem the bound is that of policies that draw. With a few more it is
// the same search cut short: bounds only rise, objectives only fall, and nothing is proved before the last problem.
func TestDeterministicIsAnytime(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 7))
	long := 0
	for trial := range 40 {
		m := randomModel(t, rng, shapeOf{states: 3, actions: 3, horizon: 3, dim: 2, successors: 2})
		task, _ := randomTask(t, rng, m, box(t, m), []float64{1, -1})
		solve := func(nodes int) *exact.DeterministicResult {
			r, err := exact.SolveDeterministic(context.Background(), m, task, exact.DeterministicOptions{Nodes: nodes})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		const most = 61
		whole, bound, objective := solve(most), math.Inf(-1), math.Inf(1)
		for nodes := 1; nodes < min(whole.Nodes, 20); nodes += 2 {
			r := solve(nodes)
			if r.Nodes != nodes || r.Status != exact.Undecided || nodes == 1 && r.Bound != r.Relaxed.Bound ||
				r.Bound < bound || r.Objective > objective || r.Bound > whole.Objective || r.Bound > whole.Bound {
				t.Errorf("trial %d: %d nodes of %d, %v, %g ≥ %g after %g ≥ %g, relaxed %g, in the end %g ≥ %g", trial,
					r.Nodes, whole.Nodes, r.Status, r.Objective, r.Bound, objective, bound, r.Relaxed.Bound,
					whole.Objective, whole.Bound)
			}
			bound, objective = r.Bound, r.Objective
		}
		if whole.Nodes > 5 {
			long++
		}
	}
	if long < 5 {
		t.Errorf("%d searches with more than five problems: want more", long)
	}
}

// seaDepths are the depths of the treasures of MO-Gymnasium's deep sea, one for each column.
var seaDepths = []int{1, 2, 3, 4, 4, 4, 7, 7, 9, 10}

// sea is a deep sea with these treasures: each step costs time 1, and a treasure ends the episode. Moves are
// down and right.
func sea(t *testing.T, treasures []float64) *cmdp.Model {
	t.Helper()
	const rows = 11
	columns := len(seaDepths)
	end := rows * columns
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: rows + columns, Dim: 2,
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, end+1)
	for column := range columns {
		for row := range seaDepths[column] {
			for a, to := range [][2]int{{row + 1, column}, {row, column + 1}} {
				next, r := to[0]*columns+to[1], []float64{0, 1}
				if to[1] == columns {
					next = row*columns + column
				} else if to[0] == seaDepths[to[1]] {
					next, r[0] = end, treasures[to[1]]
				}
				if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: row*columns + column, Action: a,
					Next: []cmdp.Transition{{Next: next, Probability: 1}}, Returns: r}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDeepSeaTreasure: without draws ten points, one for each treasure. Policies that draw reach the hull of
// these. The concave map (Vamplew et al. 2011) leaves two of them: from (1, 1), in (time, treasure), the line
// to (19, 124) rises by 123/18 = 6.8 a step, those to the others by at most 73/16 = 4.6. The convex map (Yang
// et al. 2019) leaves nine: the slopes between neighbours fall from 3.75 to 0.65, except before and after (14,
// 20.3), where both are 0.7.
func TestDeepSeaTreasure(t *testing.T) {
	for _, c := range []struct {
		name      string
		treasures []float64
		hull      []int // columns of the extreme points
		edge      []int // columns of points between two of them
	}{
		{"concave", []float64{1, 2, 3, 5, 8, 16, 24, 50, 74, 124}, []int{0, 9}, nil},
		{"convex", []float64{0.7, 8.2, 11.5, 14.0, 15.1, 16.1, 19.6, 20.3, 22.4, 23.7},
			[]int{0, 1, 2, 3, 4, 5, 6, 8, 9}, []int{7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := sea(t, c.treasures)
			over := [2][]float64{{-1, 0}, {0, 1}}
			points, status, err := exact.DeterministicFront(context.Background(), m, cmdp.Task{Box: box(t, m)}, over,
				exact.DeterministicOptions{})
			if err != nil || status != exact.Optimal {
				t.Fatalf("%v, %v", status, err)
			}
			if len(points) != len(c.treasures) {
				t.Fatalf("%d points, want %d", len(points), len(c.treasures))
			}
			at := func(v []float64, column int) bool {
				return math.Abs(v[0]-c.treasures[column]) <= 1e-9 &&
					math.Abs(v[1]-float64(seaDepths[column]+column)) <= 1e-9
			}
			for i, p := range points {
				if column := len(points) - 1 - i; !at(p.Returns, column) {
					t.Errorf("point %d: %v, want the treasure of column %d", i, p.Returns, column)
				}
			}

			f, err := exact.Front(context.Background(), m, cmdp.Task{}, exact.FrontOptions{Over: over[:], Error: 1e-9})
			if err != nil || f.Status != exact.Optimal {
				t.Fatalf("front: %v, %v", f.Status, err)
			}
			found := map[int]bool{}
			for _, p := range f.Points {
				column := slices.IndexFunc(c.treasures,
					func(v float64) bool { return math.Abs(p.Returns[0]-v) <= 1e-9 })
				if column < 0 || !at(p.Returns, column) ||
					!slices.Contains(c.hull, column) && !slices.Contains(c.edge, column) {
					t.Errorf("policies that draw: %v is no extreme point", p.Returns)
				}
				found[column] = true
			}
			for _, column := range c.hull {
				if !found[column] {
					t.Errorf("policies that draw: the treasure of column %d is missing", column)
				}
			}
		})
	}
}

// stairs is Storm's example with N = 3: at each of 3 stairs, one may stop for the first goal or for the second,
// or go on with probability 1/2.
func TestStairs(t *testing.T) {
	const n = 3
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: n, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, n+1)
	for s := range n {
		for a := range 2 {
			r := []float64{0, 0}
			r[a] = 0.5
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a,
				Next:    []cmdp.Transition{{Next: s + 1, Probability: 0.5}, {Next: n, Probability: 0.5}},
				Returns: r}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	x, err := geometry.NewBox([]float64{0, 0}, []float64{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	points, status, err := exact.DeterministicFront(context.Background(), m, cmdp.Task{Box: x},
		[2][]float64{{-1, 0}, {0, -1}}, exact.DeterministicOptions{})
	if err != nil || status != exact.Optimal {
		t.Fatalf("%v, %v", status, err)
	}
	var got []float64
	for _, p := range points {
		got = append(got, p.Returns[0])
		if math.Abs(p.Returns[0]+p.Returns[1]-0.875) > 1e-9 {
			t.Errorf("%v: want a sum of 7/8", p.Returns)
		}
	}
	slices.Sort(got)
	for i, y := range got {
		if math.Abs(y-float64(i)/8) > 1e-9 {
			t.Errorf("%v: want the eighths from 0 to 7/8", got)
			break
		}
	}
	if len(got) != 8 {
		t.Errorf("%d points, want 8", len(got))
	}

	// What is known when the search is interrupted is the first part of it.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opts := exact.DeterministicOptions{}
	opts.Each = func(exact.DeterministicPoint) { cancel() }
	first, status, err := exact.DeterministicFront(ctx, m, cmdp.Task{Box: x}, [2][]float64{{-1, 0}, {0, -1}}, opts)
	if err != nil || status != exact.Stopped || len(first) != 1 || first[0].Returns[0] != points[0].Returns[0] {
		t.Errorf("%v, %v with %v: want the first point %v", status, err, first, points[0])
	}
	opts = exact.DeterministicOptions{}
	opts.Budget = 1
	none, status, err := exact.DeterministicFront(t.Context(), m, cmdp.Task{Box: x},
		[2][]float64{{-1, 0}, {0, -1}}, opts)
	if err != nil || status != exact.Stopped || len(none) > 0 {
		t.Errorf("%v, %v with %v: want none in no time", status, err, none)
	}
	f, err := exact.Front(t.Context(), m, cmdp.Task{Box: x},
		exact.FrontOptions{Options: opts.Options, Over: [][]float64{{-1, 0}, {0, -1}}})
	if err != nil || f.Status != exact.Stopped || !math.IsInf(f.Error, 1) {
		t.Errorf("%v, %v with error %v: want none in no time", f.Status, err, f.Error)
	}
}
