package monitor_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
)

// leakyModel draws a model of totals that comes to rest in the last state from wherever it is. Some steps cost nothing,
// so that it may come back with as much left. In the states before the last it may go on for nothing.
func leakyModel(t *testing.T, rng *rand.Rand, states int, random bool) *cmdp.Model {
	t.Helper()
	second := 1 + (states-2)*(rng.IntN(8)/7) // which rests now and then
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 3, Start: []cmdp.StartState{{State: 0, Probability: 0.25},
		{State: second, Probability: 0.75}}}, states)
	leaves, idle := rng.IntN(4) > 0, states-2-rng.IntN(2)
	for s := range states - 1 {
		for a := range 1 + rng.IntN(3) {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a}
			goesOn := s >= idle && (a == 0 || !leaves) || s >= idle-1 && leaves && rng.IntN(4) == 0
			for _, x := range []float64{0.5, 0.375, 0.125} {
				r := []float64{float64(rng.IntN(3)) / 4, float64(rng.IntN(2)), rng.Float64() - 0.5}
				next := cmdp.Transition{Next: rng.IntN(states), Probability: x}
				switch {
				case goesOn:
					next.Next, r = idle+rng.IntN(states-1-idle), make([]float64, 3)
				case x == 0.125:
					next.Next = states - 1
				}
				if row.Returns == nil {
					row.Returns = r
				}
				if random {
					next.Returns = r
				}
				row.Next = append(row.Next, next)
			}
			if random {
				row.Returns = nil
			}
			addRow(t, b, row)
		}
	}
	m := built(t, b)
	return withImpossible(t, rng, m)
}

// TestGeneratedEpochs: a product without a horizon whose rows are generated, epoch by epoch, has the rows, the ranges
// of returns and the optimum of the stored one, for arrivals and totals within costs and for limits of totals.
func TestGeneratedEpochs(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 8))
	generated, solved, kept := 0, 0, 0
	for i := range 60 {
		m := leakyModel(t, rng, 4+rng.IntN(5), i%2 == 0)
		part := func(title string, target []bool) *monitor.Reach {
			r := &monitor.Reach{Title: title, Target: target, Within: -1}
			if rng.IntN(3) == 0 {
				r.Within = 1 + rng.IntN(5)
			}
			if rng.IntN(3) == 0 {
				r.While = randomSet(rng, m.States())
			}
			for of := range 1 + rng.IntN(2) {
				most := float64(1+rng.IntN(12)) / 4
				err := r.Spend(monitor.CostSpec{Name: "cost", Model: m, Coordinate: of, AtMost: most})
				if err != nil {
					t.Fatal(err)
				}
			}
			return r
		}
		target := randomSet(rng, m.States())
		target[0] = target[0] && i%2 == 0 // which pays at the start
		spec := monitor.Spec{Model: m, Monitors: []monitor.Monitor{part("there", target)}, Generate: 1}
		if i%3 > 0 {
			spec.Monitors = append(spec.Monitors, &monitor.PartialTotal{Reach: *part("first", nil), Coordinate: 1 + i%2})
		}
		if i%4 == 0 {
			spec.Monitors = append(spec.Monitors, budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Coordinate: 1,
				Limits: []monitor.Threshold{{Kind: monitor.LimitKind(rng.IntN(4)), At: float64(2 - rng.IntN(2)*3)}}}))
		}
		if i%5 == 0 {
			visited := randomSet(rng, m.States())
			visited[m.States()-1], visited[m.States()-2] = false, false
			spec.Monitors = append(spec.Monitors, &monitor.VisitCount{Title: "visits", States: visited})
		}
		spec.Bytes = 1
		if _, err := monitor.New(spec); err == nil {
			t.Errorf("model %d: a product of one byte", i)
		}
		spec.Bytes = 0
		rests := spec // what is counted at rest is without end
		rests.Monitors = append(slices.Clone(spec.Monitors), &monitor.VisitCount{Title: "rests",
			States: slices.Concat(make([]bool, m.States()-1), []bool{true})})
		if product(t, rests).Model.Epochs() != nil {
			t.Errorf("model %d: visits at rest are left out", i)
		}
		asked := spec
		asked.Means = make([]bool, product(t, spec).Model.Dim())
		asked.Means[i%len(asked.Means)] = true
		of := product(t, asked).Model
		for j, mean := range asked.Means {
			if of.Mean(j) != mean {
				t.Errorf("model %d: return %d is a mean: %v, want %v", i, j, of.Mean(j), mean)
			}
		}
		for _, limited := range []bool{false, true} {
			if limited {
				spec.Enforced = []int{len(spec.Monitors)}
				spec.Monitors = append(slices.Clone(spec.Monitors), budget(t, monitor.BudgetSpec{Title: "kept", Model: m,
					Coordinate: i % 2, Limits: []monitor.Threshold{{At: float64(1 + rng.IntN(5)), Enforced: true}}}))
			}
			g, s, k := compareEpochs(t, rng, i, spec)
			generated, solved, kept = generated+g, solved+s, kept+k
		}
	}
	if generated < 100 || solved < 90 || kept < 20 {
		t.Errorf("%d products were generated, %d of them solved, %d with a limit that is always kept: want more",
			generated, solved, kept)
	}
}

// TestMemoryOfEpochs: a limit that is always kept may rule out that something is ever seen. It is remembered still, as
// in the stored product, so that each reads the policies of the other.
func TestMemoryOfEpochs(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 4)
	for _, row := range []cmdp.Row{
		{State: 0, Returns: []float64{1},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.5}, {Next: 3, Probability: 0.5}}},
		{State: 1, Returns: []float64{0}, Next: []cmdp.Transition{{Next: 3, Probability: 1}}},
		{State: 1, Action: 1, Returns: []float64{1}, Next: []cmdp.Transition{{Next: 2, Probability: 1}}},
		{State: 2, Returns: []float64{1},
			Next: []cmdp.Transition{{Next: 2, Probability: 0.5}, {Next: 3, Probability: 0.5}}},
		{State: 0, Action: 1, Returns: []float64{1}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
	} {
		row.Step = cmdp.EveryStep
		addRow(t, b, row)
	}
	m := built(t, b)
	there := &monitor.Reach{Title: "there", Target: []bool{false, false, true, false}, Within: -1}
	kept := budget(t, monitor.BudgetSpec{Title: "kept", Model: m, Limits: []monitor.Threshold{{At: 3, Enforced: true}}})
	spec := monitor.Spec{Model: m, Monitors: []monitor.Monitor{there, kept}, Enforced: []int{1}, Generate: 1}
	if p := product(t, spec); p.Model.Epochs() == nil || !p.Restricted() || p.Losing != nil {
		t.Fatalf("generated: %v, restricted: %v, losing: %v", p.Model.Epochs() != nil, p.Restricted(), p.Losing)
	}
	compareEpochs(t, rand.New(rand.NewPCG(26, 13)), 0, spec)
}

// compareEpochs compares a product with the stored one, and counts it if it was generated, if it is solved, and if
// choices are left out then.
func compareEpochs(t *testing.T, rng *rand.Rand, i int, spec monitor.Spec) (generated, solved, kept int) {
	t.Helper()
	p := product(t, spec)
	spec.Generate = 0
	stored := product(t, spec)
	if p.Model.Epochs() == nil {
		return 0, 0, 0
	}
	if p.Restricted() != stored.Restricted() || (p.Losing == nil) != (stored.Losing == nil) ||
		p.Losing != nil && *p.Losing != *stored.Losing {
		t.Errorf("model %d: restricted: %v, losing: %v: want %v, %v", i, p.Restricted(), p.Losing, stored.Restricted(),
			stored.Losing)
	}
	if p.Restricted() {
		kept = 1
	}
	compareMemory(t, stored, p)
	compareRows(t, stored, p)
	_, upper, err := rangesOf(t, stored.Model)
	if err != nil {
		t.Fatal(err)
	}
	var directions [][]float64 // all matters on both sides
	for i := range upper {
		for _, sign := range []float64{1, -1} {
			dir := make([]float64, len(upper))
			dir[i] = sign
			directions = append(directions, dir)
		}
	}
	planner, err := exact.NewPlanner(p.Model, 1)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := planner.SolvesEpochs(t.Context(), cmdp.Task{}, directions...)
	endless := slices.Contains(upper, math.Inf(1))
	if err != nil || ends == (p.Restricted() && endless) {
		t.Errorf("model %d: solved: %v, %v; returns are up to %g", i, ends, err, upper)
	}
	if endless {
		return 1, 0, 0
	}
	comparePlans(t, rng, i, stored.Model, p.Model)
	return 1, 1, kept
}

// compareMemory compares what is remembered: of what comes up where the process does not rest, no more and no less.
func compareMemory(t *testing.T, stored, other *monitor.ProductModel) {
	t.Helper()
	come := func(p *monitor.ProductModel) (texts []string) {
		rows, met := p.Model.Rows(0), make(map[int]bool)
		var visit func(s int)
		visit = func(s int) {
			c, end := rows.Choices(s)
			if met[s] || c == end || p.Action(0, s, 0) < 0 {
				return
			}
			met[s] = true
			texts = append(texts, fmt.Sprint(p.State(s), " ", p.Recall(s)))
			var all []int32
			for ; c < end; c++ {
				next, _ := rows.Row(c)
				all = append(all, next...)
			}
			for _, to := range all {
				visit(int(to))
			}
		}
		for _, st := range p.Model.StartStates() {
			visit(st.State)
		}
		slices.Sort(texts)
		return texts
	}
	if got, want := come(other), come(stored); !slices.Equal(got, want) {
		t.Fatalf("%q is remembered: want %q", got, want)
	}
	for i, r := range other.Remembered() {
		for _, x := range r.Values {
			if all := stored.Remembered(); len(all) <= i || !slices.Contains(all[i].Values, x) {
				t.Fatalf("%s remembers %q, which does not come up: want one of %v", r.Name, x, all)
			}
		}
	}
}

// compareRows compares the rows of all pairs of a product with those of another one that may have more pairs.
func compareRows(t *testing.T, stored, other *monitor.ProductModel) {
	t.Helper()
	type pair struct {
		state  int
		memory string
	}
	number := make(map[pair]int)
	for s := range other.Model.States() {
		at := pair{other.State(s), other.Memory(s)}
		if _, told := number[at]; !told || other.Model.Epochs().ComesUp(s) {
			number[at] = s
		}
	}
	rows, others := stored.Model.Rows(0), other.Model.Rows(0)
	for s := range stored.Model.States() {
		c, end := rows.Choices(s)
		if c == end || stored.Action(0, s, 0) < 0 {
			continue // at rest, where memory goes on in the stored product alone
		}
		at, ok := number[pair{stored.State(s), stored.Memory(s)}]
		if !ok || !other.Model.Epochs().ComesUp(at) {
			continue // see compareMemory
		}
		first, last := others.Choices(at)
		offered := 0
		for other := first; other < last; other++ {
			if next, _ := others.Row(other); len(next) > 0 {
				offered++
			}
		}
		if offered != end-c {
			t.Fatalf("%d choices, want %d", offered, end-c)
		}
		for a := range end - c {
			c, other := c+a, first+stored.Action(0, s, a)
			type outcome struct {
				to      int
				returns [9]float64
			}
			collect := func(rows *cmdp.Rows, c int, pairOf func(s int) int) map[outcome]float64 {
				sum := make(map[outcome]float64)
				next, prob := rows.Row(c)
				for e, to := range next {
					x := outcome{to: pairOf(int(to))}
					copy(x.returns[:], rows.Outcome(c, e))
					if prob[e] > 0 {
						sum[x] += prob[e]
					}
				}
				return sum
			}
			want := collect(rows, c, func(s int) int { return number[pair{stored.State(s), stored.Memory(s)}] })
			got := collect(others, other, func(s int) int { return s })
			for x, p := range want {
				if got[x] != p {
					t.Fatalf("%v with %v, want %v", x, got[x], p)
				}
			}
			if len(got) != len(want) || !slices.Equal(rows.Returns(c), others.Returns(other)) {
				t.Fatalf("%v: %v, want %v: %v", got, others.Returns(other), want, rows.Returns(c))
			}
		}
	}
}

// TestLargeBase: a product of many states is generated where what is remembered has many values.
func TestLargeBase(t *testing.T) {
	const states = 1<<14 + 1
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		states)
	for s := range states - 1 {
		err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Returns: []float64{1},
			Next: []cmdp.Transition{{Next: s + 1, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	m := built(t, b)
	for within, want := range map[int]bool{-1: false, 10: false, 20: true} {
		reach := &monitor.Reach{Title: "there", Target: make([]bool, states), Within: within}
		reach.Target[30] = true
		p := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{reach}, Generate: 1})
		if (p.Model.Epochs() != nil) != want {
			t.Errorf("within %d: generated: %v, want %v", within, !want, want)
		}
		if !want {
			continue
		}
		planner, err := exact.NewPlanner(p.Model, 1)
		if err != nil {
			t.Fatal(err)
		}
		if solved, err := planner.SolvesEpochs(t.Context(), cmdp.Task{}); !solved || err != nil {
			t.Errorf("a chain is solved: %v, %v", solved, err)
		}
	}
}

// TestOutOfReach: what is returned where no episode comes neither makes the unit smaller nor adds epochs, and the
// search stops where whoever is told of it wants no more.
func TestOutOfReach(t *testing.T) {
	const states = 4 // the last is at rest, and no episode comes to the one before
	of := func(amounts ...float64) monitor.Spec {
		b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
			states)
		for s := range 2 {
			addRow(t, b, cmdp.Row{Step: cmdp.EveryStep, State: s, Returns: []float64{1, 1}, Next: []cmdp.Transition{
				{Next: 0, Probability: 0.25}, {Next: 1, Probability: 0.5}, {Next: 3, Probability: 0.25}}})
		}
		for a, x := range amounts {
			addRow(t, b, cmdp.Row{Step: cmdp.EveryStep, State: 2, Action: a, Returns: []float64{1, x},
				Next: []cmdp.Transition{{Next: a % states, Probability: 1}}})
		}
		m := built(t, b)
		return monitor.Spec{Model: m, Generate: 1, Monitors: []monitor.Monitor{budget(t, monitor.BudgetSpec{
			Title: "spent", Model: m, Coordinate: 1, Limits: []monitor.Threshold{{At: 5000}}})}}
	}
	plain := of()
	want := product(t, plain).Model
	for _, amounts := range [][]float64{{1e-6}, {1e-6, 0, 1e3}, {-1, 1.0 / 3}, {0.5, 0, 1e15, 7}} {
		spec := of(amounts...)
		b := spec.Monitors[0].(*monitor.Budget)
		got := product(t, spec).Model
		if b.Unit() != 1 || got.Epochs().Len() != want.Epochs().Len() || got.Epochs().Letters != want.Epochs().Letters {
			t.Errorf("%v out of reach: unit %v, %d epochs, %d letters: want 1, %d, %d", amounts, b.Unit(),
				got.Epochs().Len(), got.Epochs().Letters, want.Epochs().Len(), want.Epochs().Letters)
		}
	}
	for generate := range 2 {
		told, enough := 0, errors.New("enough")
		plain.Generate, plain.Told = generate, func(pairs int) error {
			told = max(told, pairs)
			if pairs > 2000 {
				return enough
			}
			return nil
		}
		if _, err := monitor.New(plain); !errors.Is(err, enough) || told <= 2000 {
			t.Errorf("generate %d: stopped at %d: %v", generate, told, err)
		}
	}
}
