package monitor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"

	"gonum.org/v1/gonum/floats"
)

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// watched draws a monitor of each kind, some of them in several ways.
func watched(t *testing.T, rng *rand.Rand, m *cmdp.Model) []monitor.Monitor {
	t.Helper()
	target, while := randomSet(rng, m.States()), randomSet(rng, m.States())
	within := rng.IntN(4)
	x, y := float64(rng.IntN(8)-1)/10, float64(rng.IntN(8)-1)/20
	spent := budget(t, monitor.BudgetSpec{Title: "spent", Model: m, Limits: []monitor.Threshold{
		{Kind: monitor.Above, At: x}, {Kind: monitor.AtLeast, At: x}, {Kind: monitor.Excess, At: y},
		{Kind: monitor.Shortfall, At: y}}})
	// Two passed at least twice: an automaton that counts to 2 and returns 1 then.
	table, err := monitor.NewTable(monitor.TableSpec{Title: "twice", Memory: []string{"never", "once", "twice"},
		Symbol: symbols(target), Next: [][]int{{0, 1}, {1, 2}, {2, 2}}, Reward: [][]float64{{0, 0}, {0, 1}, {0, 0}}})
	if err != nil {
		t.Fatal(err)
	}
	costly := &monitor.Reach{Title: "costly", Target: target, While: while, Within: within - rng.IntN(2)*(within+1)}
	for of, most := range []float64{float64(rng.IntN(5)) / 5, float64(rng.IntN(5))} {
		if of == 1 || rng.IntN(2) == 0 {
			err := costly.Spend(monitor.CostSpec{Name: "cost", Model: m, Coordinate: of, AtMost: most})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	first := *costly
	first.Title, first.Target = "first", nil
	return []monitor.Monitor{&monitor.PartialTotal{Reach: first, Coordinate: rng.IntN(2)},
		&monitor.Reach{Title: "reach", Target: target, Within: -1},
		&monitor.Reach{Title: "until", Target: target, While: while, Within: -1},
		&monitor.Reach{Title: "within", Target: target, While: while, Within: within}, costly, spent, table}
}

func symbols(in []bool) []int {
	out := make([]int, len(in))
	for s, is := range in {
		out[s] = int(indicator(is))
	}
	return out
}

func product(t *testing.T, spec monitor.Spec) *monitor.ProductModel {
	t.Helper()
	p, err := monitor.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rangesOf returns the least and the greatest expected returns of a model.
func rangesOf(t *testing.T, m *cmdp.Model) (lower, upper []float64, err error) {
	t.Helper()
	p, err := exact.NewPlanner(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p.Ranges(t.Context())
}

// TestEndlessAsWithHorizon: where all episodes are over after a few steps, a product without a horizon has the returns
// of one with as many steps, whatever is watched and enforced, and its long-run means are those of its base.
func TestEndlessAsWithHorizon(t *testing.T) {
	enforced := 0
	for trial := range uint64(60) {
		var lower, upper [2][]float64
		for n, spec := range []cmdp.ModelSpec{{Horizon: 4}, {Discount: 1}, {Discount: 1, Means: []bool{false, true}}} {
			rng := rand.New(rand.NewPCG(trial, 23))
			const states = 5
			spec.Dim, spec.Start = 2, []cmdp.StartState{{State: 0, Probability: 0.5}, {State: 1, Probability: 0.5}}
			b := cmdp.NewBuilder(spec, states)
			for s := range states - 1 { // the last one rests
				for a := range 1 + rng.IntN(2) {
					row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a}
					for range 2 {
						next := s + 1 + rng.IntN(states-s-1)
						row.Next = append(row.Next, cmdp.Transition{Next: next, Probability: 0.5,
							Returns: []float64{float64(rng.IntN(6)) / 10, float64(rng.IntN(3))}})
					}
					addRow(t, b, row)
				}
			}
			m := built(t, b)
			of := monitor.Spec{Model: m, Monitors: watched(t, rng, m)}
			if trial%3 > 0 {
				limit := monitor.Threshold{Kind: monitor.Above, At: float64(2+rng.IntN(8)) / 10, Enforced: true}
				of.Monitors = append(of.Monitors, budget(t, monitor.BudgetSpec{Title: "kept", Model: m,
					Limits: []monitor.Threshold{limit}}))
				of.Enforced = []int{len(of.Monitors) - 1}
			}
			p := product(t, of)
			for i := range p.Model.Dim() {
				if n == 2 && p.Model.Mean(i) != (i < m.Dim() && m.Mean(i)) {
					t.Errorf("trial %d: return %d of the product is a mean: %v", trial, i, p.Model.Mean(i))
				}
			}
			if n == 2 || p.Losing != nil {
				break
			}
			pl, err := exact.NewPlanner(p.Model, 1)
			if err != nil {
				t.Fatal(err)
			}
			lower[n], upper[n], err = pl.Ranges(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n == 1 && of.Enforced != nil {
				enforced++
			}
		}
		if !floats.EqualApprox(lower[0], lower[1], 1e-7) || !floats.EqualApprox(upper[0], upper[1], 1e-7) {
			t.Errorf("trial %d: from %v to %v: want from %v to %v", trial, lower[1], upper[1], lower[0], upper[0])
		}
	}
	if enforced < 10 {
		t.Errorf("%d limits could be kept: want more", enforced)
	}
}

// TestBrokenForAWhile: without a horizon an episode need not end, so that what is broken for a while is broken: a table
// that mends leaves the same choices as one that never does.
func TestBrokenForAWhile(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 11))
	restricted := 0
	for trial := range 100 {
		m := randomModel(t, rng, shape{states: 5, certain: true, rests: true, outcomes: trial%2 == 0})
		symbol := make([]int, m.States()) // 1 is broken
		for s := 2; s < len(symbol); s++ {
			symbol[s] = max(0, rng.IntN(3)-1)
		}
		var offers [2]string
		for n := range offers {
			table, err := monitor.NewTable(monitor.TableSpec{Title: "table", Memory: []string{"fine", "broken"},
				Symbol: symbol, Next: [][]int{{0, 1}, {n, 1}}, Broken: []bool{false, true}})
			if err != nil {
				t.Fatal(err)
			}
			p := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{table}, Enforced: []int{0}})
			if p.Losing != nil {
				offers[n] = "none"
				continue
			}
			offers[n] = offered(p)
			restricted++
		}
		if offers[0] != offers[1] {
			t.Errorf("trial %d: offered are %s, and where nothing mends %s", trial, offers[0], offers[1])
		}
	}
	if restricted < 60 {
		t.Errorf("%d of 200 products keep what is enforced: want more", restricted)
	}
}

// offered lists the actions of the states of the base that a product without a horizon comes to.
func offered(p *monitor.ProductModel) string {
	rows, come := p.Model.Rows(0), make([]bool, p.Model.States())
	actions := make(map[int][]int)
	var from func(s int)
	from = func(s int) {
		if come[s] {
			return
		}
		come[s] = true
		first, end := rows.Choices(s)
		for c := first; c < end; c++ {
			actions[p.State(s)] = append(actions[p.State(s)], p.Action(0, s, c-first))
			next, prob := rows.Row(c)
			for e, to := range next {
				if prob[e] > 0 {
					from(int(to))
				}
			}
		}
	}
	for _, st := range p.Model.StartStates() {
		if st.Probability > 0 {
			from(st.State)
		}
	}
	return fmt.Sprint(actions)
}

// TestEnforced compares what can be had while limits are kept in every episode with the same over
// all policies that know the history.
func TestEnforced(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 2))
	possible, impossible := 0, 0
	for trial := range 120 {
		m := randomModel(t, rng, shape{states: 3, horizon: 4, stepwise: trial%2 == 0, rests: trial%3 == 0,
			outcomes: trial%5 == 0, negative: trial%7 < 3, certain: true})
		x, y := float64(rng.IntN(14))/10, float64(rng.IntN(5))
		// Of two limits on the same side the narrower counts; beside those that are enforced others stand.
		limits := func(kind [2]monitor.LimitKind, at, wider float64) []monitor.Threshold {
			all := []monitor.Threshold{{Kind: kind[rng.IntN(2)], At: at, Enforced: true}}
			for range rng.IntN(3) {
				all = append(all, monitor.Threshold{Kind: kind[rng.IntN(2)], At: wider, Enforced: true},
					monitor.Threshold{Kind: monitor.LimitKind(rng.IntN(4)), At: at})
			}
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			return all
		}
		above, below := [2]monitor.LimitKind{monitor.Above, monitor.Excess},
			[2]monitor.LimitKind{monitor.AtLeast, monitor.Shortfall}
		spent, err := monitor.NewBudget(monitor.BudgetSpec{Title: "spent", Model: m, Coordinate: 0,
			Limits: limits(above, x, x+float64(rng.IntN(3))/10)})
		if err != nil {
			t.Fatal(err)
		}
		earned, err := monitor.NewBudget(monitor.BudgetSpec{Title: "earned", Model: m, Coordinate: 1,
			Limits: limits(below, y, y-float64(rng.IntN(2)))})
		if err != nil {
			t.Fatal(err)
		}
		// In some trials an automaton must not end where state 2 was left for state 0.
		table, err := monitor.NewTable(monitor.TableSpec{Title: "left", Memory: []string{"elsewhere", "there", "left"},
			Symbol: []int{0, 1, 2}, Next: [][]int{{0, 0, 1}, {2, 0, 1}, {2, 2, 2}},
			Broken: []bool{false, false, trial%3 == 1}})
		if err != nil {
			t.Fatal(err)
		}
		p := product(t, monitor.Spec{Model: m, Monitors: []monitor.Monitor{spent, table, earned}, Columns: []int{0, 1},
			Enforced: []int{0, 1, 2}})
		keeps := func(h history) bool {
			for i := range h.states[1:] {
				if trial%3 == 1 && h.states[i] == 2 && h.states[i+1] == 0 {
					return false
				}
			}
			return h.total(0) <= x && h.total(1) >= y
		}
		for i := range m.Dim() {
			for _, sign := range []float64{1, -1} {
				want, ok := best(m, sign, func(h history) float64 { return h.total(i) }, keeps)
				if ok != (p.Losing == nil) {
					t.Fatalf("trial %d: doomed %v, but possible %v", trial, p.Losing, ok)
				}
				if p.Losing != nil {
					if _, kept := best(startingIn(t, m, p.Losing.State), 1, history.steps, keeps); kept {
						t.Fatalf("trial %d: %v is said to be a losing start", trial, p.Losing)
					}
				}
				if !ok {
					impossible++
					continue
				}
				possible++
				lower, upper, err := rangesOf(t, p.Model)
				if err != nil {
					t.Fatal(err)
				}
				got := upper[i]
				if sign < 0 {
					got = -lower[i]
				}
				if math.Abs(got-want) > 1e-6 {
					t.Errorf("trial %d, return %d, sign %g: %g, want %g", trial, i, sign, got, want)
				}
			}
		}
		if p.Losing == nil {
			checkActions(t, rng, p, keeps)
		}
	}
	if possible < 60 || impossible < 60 {
		t.Errorf("%d possible and %d impossible: want many of both", possible, impossible)
	}
}

// startingIn returns a model with one of its starts alone.
func startingIn(t *testing.T, m *cmdp.Model, state int) *cmdp.Model {
	t.Helper()
	if !slices.ContainsFunc(m.StartStates(), func(st cmdp.StartState) bool {
		return st.State == state && st.Probability > 0
	}) {
		t.Fatalf("%d is no start", state)
	}
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Dim: m.Dim(), Start: []cmdp.StartState{{State: state, Probability: 1}}}
	for h := range m.Kernels() {
		spec.Kernels = append(spec.Kernels, *m.Kernel(h))
	}
	out, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// steps is how many steps an episode has had.
func (h history) steps() float64 { return float64(len(h.returns)) }

// checkActions plays the product at random beside its base, by the actions that they have in common.
func checkActions(t *testing.T, rng *rand.Rand, p *monitor.ProductModel, keeps func(history) bool) {
	t.Helper()
	m, base := p.Model, p.Base()
	for range 20 {
		s := m.Start(rng)
		hist := history{states: []int{p.State(s)}}
		for h := range m.Horizon() {
			first := m.Kernel(h).First
			if first[s] == first[s+1] {
				hist = extend(hist, p.State(s), make([]float64, m.Dim()))
				continue
			}
			a := rng.IntN(int(first[s+1] - first[s]))
			c := int(first[s]) + a
			r := make([]float64, m.Dim())
			of := p.Action(h, s, a)
			was := s
			s = m.Step(r, rng, h, s, a)
			if of >= 0 {
				k := base.Kernel(h).Plain(base.Dim())
				b := int(k.First[p.State(was)]) + of
				if b >= int(k.First[p.State(was)+1]) {
					t.Fatalf("action %d of state %d is action %d of the base, which has fewer", a, was, of)
				}
				if got, want := m.Kernel(h).Plain(m.Dim()).Returns[c*m.Dim()],
					k.Returns[b*m.Dim()]; math.Abs(got-want) > 1e-12 {
					t.Fatalf("action %d returns %g in the product, %g in the base", a, got, want)
				}
			}
			hist = extend(hist, p.State(s), r)
		}
		if !keeps(hist) {
			t.Fatalf("an episode breaks what is enforced: %+v", hist)
		}
	}
}

// TestProductsOfGames: the opponent has as many actions as in the base, at each step.
func TestProductsOfGames(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 12))
	const states, horizon = 3, 4
	for range 10 {
		spec := cmdp.ModelSpec{Horizon: horizon, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}
		for range horizon {
			k, opponents := cmdp.NewKernel(), make([]int32, states)
			for s := range states {
				opponents[s] = 1 + rng.Int32N(3)
				for range (1 + rng.Int32N(2)) * opponents[s] {
					k.Append([]int32{rng.Int32N(states)}, []float64{1}, []float64{float64(rng.IntN(2))})
				}
				k.EndState()
			}
			spec.Kernels, spec.Opponents = append(spec.Kernels, k), append(spec.Opponents, opponents)
		}
		m, err := cmdp.NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		p := product(t, monitor.Spec{Model: m,
			Monitors: []monitor.Monitor{&monitor.VisitCount{Title: "visits", States: randomSet(rng, states)}}})
		spent := budget(t, monitor.BudgetSpec{Title: "spent", Model: m,
			Limits: []monitor.Threshold{{Kind: monitor.Above, At: 9, Enforced: true}}})
		enforced := monitor.Spec{Model: m, Monitors: []monitor.Monitor{spent}, Enforced: []int{0}}
		if _, err := monitor.New(enforced); err == nil {
			t.Error("a limit is enforced against an opponent")
		}
		sh := p.Model.Shape()
		for h := range horizon {
			for s := range p.Model.States() {
				got, want := sh.OpponentActions(h, s), m.Shape().OpponentActions(h, p.State(s))
				if sh.Actions(h, s) > 0 && got != want {
					t.Errorf("step %d, state %d: %d actions of the opponent, want %d", h, s, got, want)
				}
			}
		}
	}
}

// TestPairsOfCostsLeft goes through products of two arrivals with bounded costs beside the base, without a horizon:
// each pair stands for one state and what is left of both costs, as a plain count has it, and pairs with the same left
// follow one another.
func TestPairsOfCostsLeft(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 8))
	for range 200 {
		states := 2 + rng.IntN(5)
		k := cmdp.NewKernel()
		for s := range states {
			for range 1 + rng.IntN(3) {
				next, prob := []int32{rng.Int32N(int32(states)), rng.Int32N(int32(states))}, []float64{0.25, 0.75}
				cost := float64(rng.IntN(3))
				if s == 0 {
					cost = 1 // the unit
				}
				k.Append(next, prob, []float64{cost})
			}
			k.EndState()
		}
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1, Kernels: []cmdp.Kernel{k},
			Start: []cmdp.StartState{{State: 0, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		spec, start := monitor.Spec{Model: m}, leftOf{}
		var targets [2]int // of both monitors, none of them the first state
		for i := range targets {
			targets[i], start[1+i] = 1+rng.IntN(states-1), rng.IntN(6)
			r := &monitor.Reach{Title: "a", Target: make([]bool, states), Within: -1}
			r.Target[targets[i]] = true
			err := r.Spend(monitor.CostSpec{Name: "cost", Model: m, AtMost: float64(start[1+i])})
			if err != nil {
				t.Fatal(err)
			}
			spec.Monitors = append(spec.Monitors, r)
		}
		p, err := monitor.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		checkLeft(t, p, start, targets)
	}
}

// A leftOf is a state, and what is left of each cost, −1 once nothing counts any more.
type leftOf [3]int

// after returns what a transition makes of it, and what it returns for both targets.
func (x leftOf) after(to, cost int, targets [2]int) (y leftOf, returns [2]float64) {
	y = leftOf{to, x[1] - cost, x[2] - cost}
	for i, target := range targets {
		switch {
		case x[1+i] < 0 || y[1+i] < 0:
			y[1+i] = -1
		case to == target:
			y[1+i], returns[i] = -1, 1
		}
	}
	return y, returns
}

func checkLeft(t *testing.T, p *monitor.ProductModel, start leftOf, targets [2]int) {
	t.Helper()
	base, rows := p.Base().Rows(0), p.Model.Rows(0)
	of, pair := map[int]leftOf{p.Model.StartStates()[0].State: start}, map[leftOf]int{}
	queue := []int{p.Model.StartStates()[0].State}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		x := of[s]
		if other, ok := pair[x]; ok || p.State(s) != x[0] {
			t.Fatalf("pair %d of state %d is %v, as is pair %d", s, p.State(s), x, other)
		}
		pair[x] = s
		first, end := base.Choices(x[0])
		c, _ := rows.Choices(s)
		for b := first; b < end; b++ {
			next, prob := base.Row(b)
			to, got := rows.Row(c)
			if !slices.Equal(prob, got) {
				t.Fatalf("choice %d of %v has probabilities %v: want %v", b-first, x, got, prob)
			}
			for e := range next {
				y, returns := x.after(int(next[e]), int(base.Returns(b)[0]), targets)
				if !slices.Equal(rows.Outcome(c, e)[1:], returns[:]) {
					t.Fatalf("%v to %v returns %v: want %v", x, y, rows.Outcome(c, e)[1:], returns)
				}
				before, met := of[int(to[e])]
				if met && before != y {
					t.Fatalf("%v leads to %v: want %v", x, before, y)
				}
				if !met {
					of[int(to[e])] = y
					queue = append(queue, int(to[e]))
				}
			}
			c++
		}
	}
	if len(of) != p.Model.States() {
		t.Fatalf("%d pairs: want %d", p.Model.States(), len(of))
	}
	runs := map[[2]int]int{}
	for s := range p.Model.States() {
		left := [2]int{of[s][1], of[s][2]}
		if s == 0 || left != [2]int{of[s-1][1], of[s-1][2]} {
			runs[left]++
		}
		if runs[left] > 1 {
			t.Fatalf("pairs with %v left do not follow one another", left)
		}
	}
}

// TestStartsAreSteps: what an earlier monitor pays at the start counts as at a step that comes from a start where
// nothing is paid, one step more being allowed.
func TestStartsAreSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 11))
	m := randomModel(t, rng, shape{states: 3, horizon: 4})
	amounts := []float64{0, 1, 2, 3}
	for trial := range 200 {
		target, while := randomSet(rng, 3), randomSet(rng, 3)
		target[0], while[0] = false, true
		most := float64(rng.IntN(4))
		reach := func(within int) *monitor.Reach {
			r := &monitor.Reach{Target: target, While: while, Within: within}
			if err := r.Spend(monitor.CostSpec{Model: m, Coordinate: 2, Amounts: amounts, AtMost: most}); err != nil {
				t.Fatal(err)
			}
			return r
		}
		within, more := -1, -1
		if trial%2 == 0 {
			within, more = 1, 2
		}
		total := budget(t, monitor.BudgetSpec{Model: m, Coordinate: 2, Amounts: amounts,
			Limits: []monitor.Threshold{{Kind: monitor.LimitKind(rng.IntN(4)), At: most}}})
		for _, of := range [][2]monitor.Monitor{{reach(within), reach(more)}, {total, total},
			{&monitor.PartialTotal{Reach: *reach(within), Coordinate: 2},
				&monitor.PartialTotal{Reach: *reach(more), Coordinate: 2}}} {
			to, returns := rng.IntN(3), []float64{0, 0, amounts[rng.IntN(4)]}
			var got, before, step [1]float64
			memory := of[0].Start(got[:], monitor.Transition{State: -1, Choice: -1, Next: to, Returns: returns})
			after := of[1].Start(before[:], monitor.Transition{State: -1, Choice: -1, Returns: make([]float64, 3)})
			after = of[1].Step(step[:], after, monitor.Transition{Next: to, Returns: returns})
			if want := before[0] + step[0]; got[0] != want || of[0].Value(memory) != of[1].Value(after) {
				t.Errorf("trial %d: %T: %g paid, at most %g: a start returns %g, %s: want %g, %s", trial, of[0], returns[2],
					most, got[0], of[0].Value(memory), want, of[1].Value(after))
			}
		}
	}
}
