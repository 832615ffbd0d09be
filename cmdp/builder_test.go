package cmdp

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestBuilderJoinsTransitions adds the transitions of two rows in turn, in the wrong order
// of states, and looks at every number of the kernel.
func TestBuilderJoinsTransitions(t *testing.T) {
	b := NewBuilder(ModelSpec{Horizon: 2, Dim: 2, Start: []StartState{{0, 1}}}, 3)
	add := func(state, action, next int, p float64, returns ...float64) {
		t.Helper()
		if err := b.AddTransition(EveryStep, state, action, 0, Transition{next, p, returns}); err != nil {
			t.Fatal(err)
		}
	}
	add(2, 0, 0, 0.5, 1, 2)
	add(0, 1, 1, 0.25, 3, 3)
	add(0, 1, 1, 0.25, 3, 3) // adds up
	add(2, 0, 1, 0.5, 1, 2)  // the same returns: they are expected
	add(0, 0, 2, 1, 0, 7)
	add(0, 1, 1, 0.5, -1, 3) // the same successor with other returns
	add(0, 0, 0, 0, 9, 9)    // cannot happen
	if b.Rows() != 7 {
		t.Errorf("%d rows were begun: want 7", b.Rows())
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	k := m.Kernel(0).Plain(m.Dim())
	got := fmt.Sprint(k.First, k.Offset, k.Next, k.Prob, k.Returns, k.Outcomes)
	want := "[0 2 2 3] [0 1 3 5] [2 1 1 0 1] [1 0.5 0.5 0.5 0.5] [0 7 1 3 1 2] [0 7 3 3 -1 3 1 2 1 2]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
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
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for e, next := range m.Kernel(0).Next {
		if int(next) != e%n {
			t.Fatalf("successor %d is %d: want them as they were added", e, next)
		}
	}
}

func TestBuilderSaysWhichSumsAreWrong(t *testing.T) {
	b := NewBuilder(ModelSpec{Discount: 0.5, Dim: 1, Start: []StartState{{0, 1}}}, 2)
	for _, s := range []int{1, 0, 1} {
		if err := b.AddTransition(EveryStep, s, 0, 0, Transition{0, 0.5 - 0.25*float64(s), []float64{1}}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Build()
	var wrong RowErrors
	if !errors.As(err, &wrong) || len(wrong) != 2 || !strings.HasSuffix(err.Error(), " (and 1 more)") ||
		*wrong[0] != (RowError{Fault: RowSum, Step: EveryStep, Row: 1, Sum: 0.5}) ||
		*wrong[1] != (RowError{Fault: RowSum, Step: EveryStep, State: 1, Row: 0, Sum: 0.5}) {
		t.Errorf("got error %v", err)
	}
}

// TestBuilderKeepsNames gives actions numbers with gaps, and asks for them in descending
// order.
func TestBuilderKeepsNames(t *testing.T) {
	b := NewBuilder(ModelSpec{Horizon: 3, Dim: 1, Start: []StartState{{0, 1}}}, 2)
	for i, r := range []Row{{Step: EveryStep, State: 1, Action: 40}, {Step: EveryStep, State: 0, Action: 7},
		{Step: 2, State: 1, Action: 900}, {Step: 2, State: 1, Action: 40}} {
		r.Next, r.Returns = []Transition{{Next: 0, Probability: 1}}, []float64{float64(i)}
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if kernels, entries := b.Stored(); kernels != 3 || entries < 10 {
		t.Errorf("%d kernels with %d entries", kernels, entries)
	}
	m, names, err := b.BuildNamed(func(names []int32) { slices.Sort(names); slices.Reverse(names) }, func([]int32) {})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(names.Agent, names.Opponent, m.Kernel(0).Returns, m.Kernel(1).Returns, m.Kernel(2).First)
	if want := "[[7 40] [7 900 40] [7 40]] [] [1 0] [1 2 3] [0 1 2]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRowsOfZeroStep: the zero value of Step is every step, the first step is 1, as in
// problem files, and there is none after the last.
func TestRowsOfZeroStep(t *testing.T) {
	b := NewBuilder(ModelSpec{Horizon: 3, Dim: 1, Start: []StartState{{0, 1}}}, 1)
	stay := []Transition{{Next: 0, Probability: 1}}
	for _, r := range []Row{{Next: stay, Returns: []float64{1}}, {Step: 1, Next: stay, Returns: []float64{10}},
		{Step: 3, Next: stay, Returns: []float64{100}}} {
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []int{-1, 4} {
		if err := b.Add(Row{Step: step, Next: stay, Returns: []float64{0}}); err == nil {
			t.Errorf("step %d of 3 is taken", step)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
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

// TestBuilderNumbersRowsInDisorder gives a row twice among rows in disorder, and transitions
// that do not sum to 1 before and after the first that is out of order.
func TestBuilderNumbersRowsInDisorder(t *testing.T) {
	spec := ModelSpec{Horizon: 1, Dim: 1, Start: []StartState{{0, 1}}}
	b := NewBuilder(spec, 4)
	for _, s := range []int{3, 1, 2, 0, 1} {
		next := []Transition{{Next: 0, Probability: 0.5}, {Next: 1, Probability: 0.5}}
		if err := b.Add(Row{State: s, Next: next, Returns: []float64{0}}); err != nil {
			t.Fatal(err)
		}
	}
	var wrong RowErrors
	if _, err := b.Build(); !errors.As(err, &wrong) || len(wrong) != 1 ||
		*wrong[0] != (RowError{Fault: RowTwice, State: 1, Row: 4, First: 1}) {
		t.Errorf("got error %v", err)
	}
	b = NewBuilder(spec, 4)
	for i, s := range []int{0, 0, 1, 2, 2, 3, 1, 3, 0} {
		p := []float64{0.25, 0.25, 0, 0.5, 0.5, 0.5, 0.25, 0.5, 0.25}[i]
		if err := b.AddTransition(EveryStep, s, 0, 0, Transition{i % 3, p, []float64{1}}); err != nil {
			t.Fatal(err)
		}
	}
	if b.Rows() != 7 {
		t.Errorf("%d rows were begun: want 4 in order and 3 after", b.Rows())
	}
	_, err := b.Build()
	if !errors.As(err, &wrong) || len(wrong) != 2 || *wrong[0] != (RowError{Fault: RowSum, Row: 0, Sum: 0.75}) ||
		*wrong[1] != (RowError{Fault: RowSum, State: 1, Row: 1, Sum: 0.25}) {
		t.Errorf("got error %v", err)
	}
}

// TestBuilderNumbersRowsOfColumns wants the numbers of faulty rows that came in one batch, after a row of a
// later state.
func TestBuilderNumbersRowsOfColumns(t *testing.T) {
	b := NewBuilder(ModelSpec{Horizon: 1, Dim: 1, Start: []StartState{{0, 1}}}, 3)
	var c Transitions
	c.add(rowKey{state: 1}, 0, 1, []float64{1})
	for _, s := range []int32{0, 0, 2} {
		c.add(rowKey{state: s}, s, 0.25, []float64{1})
	}
	if err := b.AddTransitions(&c); err != nil {
		t.Fatal(err)
	}
	_, err := b.Build()
	var wrong RowErrors
	if !errors.As(err, &wrong) || len(wrong) != 2 || *wrong[0] != (RowError{Fault: RowSum, Row: 1, Sum: 0.5}) ||
		*wrong[1] != (RowError{Fault: RowSum, State: 2, Row: 3, Sum: 0.25}) {
		t.Errorf("got error %v", err)
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
