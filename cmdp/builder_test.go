package cmdp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// A drawnRow is a row that was handed to a builder.
type drawnRow struct {
	Row
	came   []Transition // its successors, in the order in which they were added
	number int          // of the row, or of its first transition, in the order in which rows were begun
	before int          // of the same row, where it was given again, else −1
}

// A drawnBuilder is what a builder was given, and what has to become of it by definition.
type drawnBuilder struct {
	*Builder
	given       map[rowKey]*drawnRow
	begun       int
	order       int // of names, 1 or −1
	steps, game bool
}

// drawBuilder draws rows and hands them to a builder, as rows or as single transitions. Names of actions have gaps if
// they may. If anything may be wrong, a row is missing, or given again, or its sum is wrong, one of twenty times each.
func drawBuilder(t *testing.T, rng *rand.Rand, gaps, wrong bool) *drawnBuilder {
	t.Helper()
	spec := ModelSpec{Horizon: rng.IntN(4), Dim: 1 + rng.IntN(2), Start: []StartState{{0, 1}}}
	if spec.Horizon == 0 {
		spec.Discount = 0.5
	}
	x := &drawnBuilder{Builder: NewBuilder(spec, 1+rng.IntN(5)), given: make(map[rowKey]*drawnRow), order: 1}
	name := func(i int) int32 {
		if gaps {
			return int32(7 * i * i)
		}
		return int32(i)
	}
	amiss := func() bool { return wrong && rng.IntN(20) == 0 }
	lines, game, sparse := rng.IntN(2) == 0, spec.Horizon > 0 && rng.IntN(2) == 0, rng.IntN(3)
	var rows []*drawnRow
	for s := range x.states {
		opponents := 1
		if game {
			opponents = []int{1, 2, 2, 3, 20}[rng.IntN(5)]
		}
		for step := range spec.Horizon + 1 {
			if rng.IntN(3) < sparse || step > 0 && rng.IntN(2) == 0 {
				continue
			}
			for pair := range (1 + rng.IntN(3)) * opponents {
				key := rowKey{int32(step), int32(s), name(pair / opponents), name(pair % opponents)}
				if amiss() {
					continue
				}
				row := drawRow(rng, key, x.states, spec.Dim, lines)
				if amiss() && lines {
					row.Next[0].Probability++
				}
				x.given[key], x.steps, x.game = row, x.steps || step > 0, x.game || key.opponent > 0
				if rows = append(rows, row); amiss() && !lines {
					rows = append(rows, row)
				}
			}
		}
	}
	if rng.IntN(2) == 0 {
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	if lines {
		x.addLines(t, rng, rows)
		return x
	}
	for i, row := range rows {
		row.before, row.number, row.came = row.number, i, row.Next
		if err := x.Add(row.Row); err != nil {
			t.Fatal(err)
		}
	}
	x.begun = len(rows)
	return x
}

// drawRow draws a row. Its successors and their returns are often the same, and some successors never come up.
func drawRow(rng *rand.Rand, key rowKey, states, dim int, lines bool) *drawnRow {
	row := &drawnRow{number: -1, before: -1, Row: Row{Step: int(key.step), State: int(key.state),
		Action: int(key.action), Opponent: int(key.opponent)}}
	kinds, left := 1+rng.IntN(2), 64
	vector := func() []float64 {
		v := make([]float64, dim)
		for i := range v {
			v[i] = float64(1 + rng.IntN(kinds))
		}
		return v
	}
	random := lines || rng.IntN(2) == 0
	if !random {
		row.Returns = vector()
	}
	for n := []int{1, 1, 3, 30}[rng.IntN(4)]; n > 0; n-- {
		p := rng.IntN(3)
		if n == 1 {
			p = left
		}
		left -= p
		next := Transition{Next: rng.IntN(states), Probability: float64(p) / 64}
		if random {
			next.Returns = vector()
		}
		row.Next = append(row.Next, next)
	}
	return row
}

// addLines adds the transitions of rows, some before the one that they come after, and counts the rows that are begun.
func (x *drawnBuilder) addLines(t *testing.T, rng *rand.Rand, rows []*drawnRow) {
	t.Helper()
	type line struct {
		row *drawnRow
		of  int
	}
	var lines []line
	for _, row := range rows {
		for j := range row.Next {
			lines = append(lines, line{row, j})
		}
	}
	for i, often := 1, rng.IntN(2)*3; i < len(lines); i++ {
		if rng.IntN(10) < often {
			lines[i-1], lines[i] = lines[i], lines[i-1]
		}
	}
	loose := false
	for i, l := range lines {
		if i > 0 && l.row.State < lines[i-1].row.State {
			loose = true
		}
		if i == 0 || loose || l.row != lines[i-1].row {
			x.begun++
		}
		if l.row.number < 0 {
			l.row.number = x.begun - 1
		}
		l.row.came = append(l.row.came, l.row.Next[l.of])
		if err := x.AddTransition(l.row.Step, l.row.State, l.row.Action, l.row.Opponent, l.row.Next[l.of]); err != nil {
			t.Fatal(err)
		}
	}
}

// faults lists the rows that are given twice or whose probabilities do not sum to 1, in order.
func (x *drawnBuilder) faults() (list []RowError) {
	for _, row := range x.given {
		e := RowError{Step: row.Step, State: row.State, Action: row.Action, Opponent: row.Opponent, Row: row.number}
		sum := 0.0
		for _, next := range row.came {
			sum += next.Probability
		}
		switch {
		case row.before >= 0:
			e.First = row.before
			list = append(list, e)
		case sum != 1:
			e.Fault, e.Sum = RowSum, sum
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(e, f RowError) int {
		return cmp.Or(e.State-f.State, x.order*(e.Action-f.Action), x.order*(e.Opponent-f.Opponent), e.Step-f.Step)
	})
	return list
}

// choices returns the rows of a state at a step, from 0, as they become choices, and the names of both players'
// actions.
func (x *drawnBuilder) choices(h, s int) (rows []*drawnRow, agent, opponent []int) {
	for key := range x.given {
		if int(key.state) == s && (key.step == EveryStep || int(key.step) == h+1) {
			agent, opponent = append(agent, int(key.action)), append(opponent, int(key.opponent))
		}
	}
	for _, names := range []*[]int{&agent, &opponent} {
		slices.SortFunc(*names, func(a, b int) int { return x.order * (a - b) })
		*names = slices.Compact(*names)
	}
	for _, a := range agent {
		for _, b := range opponent {
			row := x.given[rowKey{int32(h + 1), int32(s), int32(a), int32(b)}]
			rows = append(rows, cmp.Or(row, x.given[rowKey{EveryStep, int32(s), int32(a), int32(b)}]))
		}
	}
	return rows, agent, opponent
}

// missing reports whether an error is about an action that a state does not have, of those that it should.
func (x *drawnBuilder) missing(e *RowError, h int, strict bool) bool {
	rows, agent, opponent := x.choices(h, e.State)
	of := slices.IndexFunc(slices.Collect(maps.Values(x.given)), func(r *drawnRow) bool {
		return r.number == e.Row && r.State == e.State && (r.Step == EveryStep || r.Step == h+1)
	})
	if of < 0 || x.steps != (e.Step == h+1) {
		return false
	}
	a, b := slices.Index(agent, e.Action), slices.Index(opponent, e.Opponent)
	if e.Fault == RowPair {
		return a >= 0 && b >= 0 && rows[a*len(opponent)+b] == nil
	}
	return e.Fault == RowGap && strict && !slices.Contains(rows, nil) && (a < 0 && e.Action < slices.Max(agent) ||
		a >= 0 && b < 0 && e.Opponent < slices.Max(opponent))
}

// checkErrors wants an error of rows that are wrong in themselves, or else of each state the first that is missing. It
// reports whether there is any.
func (x *drawnBuilder) checkErrors(t *testing.T, err error, strict bool) bool {
	t.Helper()
	var got RowErrors
	errors.As(err, &got)
	if faults := x.faults(); len(faults) > 0 {
		same := len(got) == len(faults)
		for i := 0; same && i < len(got); i++ {
			same = *got[i] == faults[i]
		}
		if !same {
			t.Fatalf("got error %v: want %v", err, faults)
		}
		return true
	}
	found, told := 0, make(map[int]bool)
	for h := range max(1, x.spec.Horizon) {
		for s := range x.states {
			rows, agent, opponent := x.choices(h, s)
			gap := func(names []int) bool { return len(names) > 0 && slices.Max(names) >= len(names) }
			if told[s] || !slices.Contains(rows, nil) && !(strict && (gap(agent) || gap(opponent))) {
				continue
			}
			told[s] = true
			if found >= len(got) || got[found].State != s || !x.missing(got[found], h, strict) {
				t.Fatalf("got error %v: want that of state %d at step %d as number %d", err, s, h+1, found)
			}
			found++
		}
	}
	if found != len(got) || (err == nil) != (found == 0) {
		t.Fatalf("got error %v: want %d", err, found)
	}
	return found > 0
}

// checkRow wants the successors that come up, each with its returns once, in the order in which they were added.
func (row *drawnRow) checkRow(t *testing.T, rows *Rows, c int) (successors int) {
	t.Helper()
	var want []Transition
	var mean []float64
	for _, tr := range row.came {
		if tr.Returns == nil {
			tr.Returns = row.Returns
		}
		if tr.Probability == 0 {
			continue
		}
		mean = append(mean, make([]float64, len(tr.Returns)-len(mean))...)
		floats.AddScaled(mean, tr.Probability, tr.Returns)
		i := slices.IndexFunc(want, func(w Transition) bool {
			return w.Next == tr.Next && slices.Equal(w.Returns, tr.Returns)
		})
		if i < 0 {
			i, want = len(want), append(want, Transition{tr.Next, 0, tr.Returns})
		}
		want[i].Probability += tr.Probability
	}
	next, prob := rows.Row(c)
	same := len(next) == len(want) && slices.Equal(rows.Returns(c), mean)
	for i := 0; same && i < len(want); i++ {
		same = int(next[i]) == want[i].Next && prob[i] == want[i].Probability &&
			slices.Equal(rows.Outcome(c, i), want[i].Returns)
	}
	if !same {
		t.Fatalf("choice %d: successors %v with %v and returns %v: want %v", c, next, prob, rows.Returns(c), want)
	}
	return len(want)
}

// TestBuilderByDefinition hands rows over in any order, whole and in parts, of every step and of single ones, with one
// player and two, and wants the model that they are by definition, or else what is wrong with them, by name.
func TestBuilderByDefinition(t *testing.T) {
	refused := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(31, seed))
		x := drawBuilder(t, rng, seed%2 == 0, seed%5 == 0)
		if x.Rows() != x.begun {
			t.Fatalf("seed %d: %d rows were begun: want %d", seed, x.Rows(), x.begun)
		}
		stored, entries := x.Stored()
		var m *Model
		var names *Names
		var err error
		strict := seed%3 == 0
		if strict {
			m, err = x.Build()
		} else {
			x.order = 1 - 2*int(seed%2)
			sort := func(names []int32) {
				slices.SortFunc(names, func(a, b int32) int { return x.order * int(a-b) })
			}
			m, names, err = x.BuildNamed(sort, sort)
		}
		if x.checkErrors(t, err, strict) {
			refused++
			continue
		}
		own, successors := map[int]bool{}, 0 // of all kernels that have to be stored
		for h := range max(1, x.spec.Horizon) {
			single := false
			for s := range x.states {
				rows, _, _ := x.choices(h, s)
				single = single || slices.ContainsFunc(rows, func(r *drawnRow) bool { return r.Step > 0 })
			}
			kernel := h + 1
			if !single {
				kernel = 0
			}
			n := x.checkStep(t, m, names, h)
			if !own[kernel] {
				own[kernel] = true
				successors += n + x.states
			}
		}
		if stored != m.Kernels() || entries < successors {
			t.Errorf("seed %d: %d kernels with %d entries: want %d with %d", seed, stored, entries, m.Kernels(), successors)
		}
	}
	if refused < 50 || refused > 200 {
		t.Errorf("%d builders of 400 were refused", refused)
	}
}

// checkStep compares the choices of a step with the rows that hold there, and returns their successors.
func (x *drawnBuilder) checkStep(t *testing.T, m *Model, names *Names, h int) (successors int) {
	t.Helper()
	rows, kernel := m.Rows(h), min(h, m.Kernels()-1)
	for s := range x.states {
		want, agent, opponent := x.choices(h, s)
		first, end := rows.Choices(s)
		if end-first != len(want) || len(want) > 0 && m.Shape() != nil && m.Shape().Actions(h, s) != len(agent) {
			t.Fatalf("step %d, state %d: %d choices: want %d times %d", h+1, s, end-first, len(agent), len(opponent))
		}
		for i, row := range want {
			successors += row.checkRow(t, rows, first+i)
			if names == nil {
				continue
			}
			if names.Agent[kernel][first+i] != int32(row.Action) || x.game != (names.Opponent != nil) ||
				x.game && names.Opponent[kernel][first+i] != int32(row.Opponent) {
				t.Fatalf("step %d, state %d, choice %d has the names %v: want those of %+v", h+1, s, i, names, row.Row)
			}
		}
	}
	return successors
}

// TestBuilderKeepsTheOrderOfSuccessors adds many transitions of two rows in turn.
func TestBuilderKeepsTheOrderOfSuccessors(t *testing.T) {
	const n = 64
	b := NewBuilder(ModelSpec{Horizon: 1, Dim: 1, Start: []StartState{{0, 1}}}, n)
	for i := range 2 * n {
		if err := b.AddTransition(EveryStep, 0, 1-i%2, 0, Transition{i / 2, 1. / n, []float64{0}}); err != nil {
			t.Fatal(err)
		}
	}
	m := built(t, b)
	for e, next := range m.Kernel(0).Next {
		if int(next) != e%n {
			t.Fatalf("successor %d is %d: want them as they were added", e, next)
		}
	}
}

// TestRowsOfZeroStep: the zero value of Step is every step, the first step is 1, as in
// problem files, and there is none after the last.
func TestRowsOfZeroStep(t *testing.T) {
	b := NewBuilder(ModelSpec{Horizon: 3, Dim: 1, Start: []StartState{{0, 1}}}, 1)
	stay := []Transition{{Next: 0, Probability: 1}}
	for _, r := range []Row{{Next: stay, Returns: []float64{1}}, {Step: 1, Next: stay, Returns: []float64{10}},
		{Step: 3, Next: stay, Returns: []float64{100}}} {
		addRow(t, b, r)
	}
	for _, step := range []int{-1, 4} {
		if err := b.Add(Row{Step: step, Next: stay, Returns: []float64{0}}); err == nil {
			t.Errorf("step %d of 3 is taken", step)
		}
	}
	m := built(t, b)
	for h, want := range []float64{10, 1, 100} {
		if got := m.Kernel(h).Plain(m.Dim()).Returns[0]; got != want {
			t.Errorf("step %d returns %g: want %g", h+1, got, want)
		}
	}
}

// TestBuilderSortsInPlace adds the transitions of rows of many states in random order, and
// wants the model that the same rows in order give, with successors as they came.
func TestBuilderSortsInPlace(t *testing.T) {
	const states, horizon = 1000, 2
	type transition struct {
		step, state, action, opponent int
		Transition
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var all []transition
	for s := range states {
		for pair := range 4 {
			for h := range 1 + rng.IntN(1+horizon) {
				n := 1 + rng.IntN(4)
				for range n {
					all = append(all, transition{h, s, pair / 2, pair % 2,
						Transition{rng.IntN(states), 1 / float64(n), []float64{float64(rng.IntN(2)), rng.Float64()}}})
				}
			}
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	spec := ModelSpec{Horizon: horizon, Dim: 2, Start: []StartState{{0, 1}}}
	build := func(most int) string {
		b := NewBuilder(spec, states)
		for left := all; len(left) > 0; {
			n := 1 + rng.IntN(min(most, len(left)))
			var c Transitions
			for _, x := range left[:n] {
				c.add(rowKey{int32(x.step), int32(x.state), int32(x.action), int32(x.opponent)}, int32(x.Next),
					x.Probability, x.Returns)
			}
			x, err := left[0], error(nil)
			if left = left[n:]; most == 1 {
				err = b.AddTransition(x.step, x.state, x.action, x.opponent, x.Transition)
			} else {
				err = b.AddTransitions(&c)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		m, err := b.Build()
		if err != nil {
			return err.Error()
		}
		text := ""
		for h := range horizon {
			k := m.Kernel(h).Plain(m.Dim())
			text += fmt.Sprint(k.First, k.Offset, k.Next, k.Prob, k.Returns, k.Outcomes, "\n")
		}
		return text
	}
	got, many := build(1), build(200)
	slices.SortStableFunc(all, func(x, y transition) int {
		return cmp.Or(x.state-y.state, x.action-y.action, x.opponent-y.opponent, x.step-y.step)
	})
	if want := build(1); got != want || many != want || build(50) != want || len(got) < states {
		t.Errorf("transitions in disorder, or many at once, make another model, or none: %.300s", got)
	}
}

// TestBuilderChecksColumns changes one entry of valid columns.
func TestBuilderChecksColumns(t *testing.T) {
	for _, test := range []struct {
		spoil func(c *Transitions)
		want  string
	}{
		{func(c *Transitions) { c.Step[1] = 4 }, "entry 1: step 4: want 1 to 3, or 0 for every step"},
		{func(c *Transitions) { c.State[0] = 2 }, "entry 0: state 2: want 0 to 1"},
		{func(c *Transitions) { c.Action[1] = -1 }, "entry 1: action -1: want 0 or more"},
		{func(c *Transitions) { c.Opponent[1] = -2 }, "entry 1: opponent's action -2: want 0 or more"},
		{func(c *Transitions) { c.Next[1] = 2 }, "entry 1: successor 2: want 0 to 1"},
		{func(c *Transitions) { c.Next[1] = -1 }, "entry 1: successor -1: want 0 to 1"},
		{func(c *Transitions) { c.Probability[0] = math.NaN() }, "entry 0: successor 0: NaN is not a probability"},
		{func(c *Transitions) { c.Probability[0] = math.Inf(1) }, "entry 0: successor 0: +Inf is not a probability"},
		{func(c *Transitions) { c.Returns[1] = math.Inf(-1) },
			"entry 1: successor 1: return -Inf: want a finite number"},
		{func(c *Transitions) { c.Returns = c.Returns[:1] },
			"columns of different lengths: want 2 entries in each, and 2 returns"},
		{func(c *Transitions) { c.Step = c.Step[:1] },
			"columns of different lengths: want 2 entries in each, and 2 returns"},
	} {
		b := NewBuilder(ModelSpec{Horizon: 3, Dim: 1, Start: []StartState{{0, 1}}}, 2)
		var c Transitions
		c.add(rowKey{0, 0, 0, 0}, 0, 0.5, []float64{1})
		c.add(rowKey{0, 0, 0, 0}, 1, 0.5, []float64{1})
		test.spoil(&c)
		if err := b.AddTransitions(&c); err == nil || err.Error() != test.want || b.Transitions() != 0 {
			t.Errorf("got error %v and %d transitions: want %q and none", err, b.Transitions(), test.want)
		}
	}
}

// Room that is asked for once rows share nothing any more changes nothing.
func TestGrowAfterRowsShareNothing(t *testing.T) {
	const states = 1 << 16
	b := NewBuilder(ModelSpec{Horizon: 1, Dim: 1,
		Start: []StartState{{State: 0, Probability: 1}}}, states)
	for s := range states {
		if s%(states/4) == 0 {
			b.Grow(states, 2*states)
		}
		p := float64(1+s) / (2 + states)
		err := b.Add(Row{State: s, Next: []Transition{{Next: 0, Probability: p}, {Next: 1, Probability: 1 - p}},
			Returns: []float64{float64(s)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for s := range states {
		if got := m.Kernel(0).ReturnsOf(s, 1)[0]; got != float64(s) {
			t.Fatalf("state %d returns %g", s, got)
		}
	}
}
