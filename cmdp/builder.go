package cmdp

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Transition is one possible successor of a choice.
type Transition struct {
	Next        int
	Probability float64
	// Returns is the return vector of this outcome if returns are random, else nil.
	Returns []float64
}

// A Row describes one choice: what action Action of state State does at a step,
// in a game against the opponent's action Opponent, which is 0 without one.
type Row struct {
	// Step is EveryStep, the zero value, or the number of a step, from 1 as in problem
	// files. A row for one step replaces the row for every step there.
	Step                    int
	State, Action, Opponent int
	// Next lists the successors. Where the same one appears twice with the same
	// returns, its probabilities add up.
	Next []Transition
	// Returns is the expected return vector. It is nil if the outcomes have their
	// own; then all of them have. Outcomes whose returns are all the same are not
	// random.
	Returns []float64
}

// EveryStep is the Step of a row that holds at every step.
const EveryStep = 0

// A Builder collects rows in any order and builds a Model from them. Memory is
// proportional to the number of transitions; rows that are added state by state and
// action by action become the model without being copied. The zero value is not
// useful; use [NewBuilder].
type Builder struct {
	spec   ModelSpec
	states int
	rows   rowTable
	lines  bool   // transitions were added, not rows
	open   bool   // the last row may get more of them
	here   rowKey // of the last row, if so
	// pending holds the returns of the transitions of the row that is being added.
	pending []float64
}

// NewBuilder returns a builder of models with the given number of states. Of
// spec everything but Kernels and Opponents is used.
func NewBuilder(spec ModelSpec, states int) *Builder {
	return &Builder{spec: spec, states: states, rows: rowTable{dim: spec.Dim, Kernel: NewKernel()}}
}

// Grow makes room for so many rows, which have so many transitions together. Room that is not used takes addresses, not
// memory.
func (b *Builder) Grow(rows, transitions int) { b.rows.grow(rows, transitions) }

// room does what slices.Grow does without writing to the memory that it
// reserves.
func room[T any](s []T, n int) []T {
	if n <= cap(s)-len(s) {
		return s
	}
	return append(make([]T, 0, len(s)+n), s...)
}

// Rows returns how many rows were begun. A transition that is added by itself begins a
// row, unless the one before belongs to the same row. Once one comes after another of a later
// state, each begins a row.
func (b *Builder) Rows() int {
	if b.rows.Offset == nil && len(b.rows.state) > 0 {
		return int(b.rows.numberOf(int32(len(b.rows.state)-1))) + 1
	}
	return len(b.rows.state)
}

// Transitions returns how many transitions were added. Those that Add left out do not
// count.
func (b *Builder) Transitions() int {
	return len(b.rows.Next)
}

// Stored returns how many kernels the model has, and a bound of the states and
// successors of all kernels that have to be stored. Kernels that are the same are
// stored once.
func (b *Builder) Stored() (kernels, entries int) {
	t := &b.rows
	if t.step == nil {
		return 1, b.states + b.Transitions()
	}
	single, own := 0, make(map[int32]bool)
	for i, h := range t.step {
		if h != EveryStep {
			own[h] = true
			single += t.successors(i)
		}
	}
	return b.spec.Horizon, single + (1+len(own))*(b.states+b.Transitions()-single)
}

// Add adds a row. Transitions of probability 0 are left out. The slices of the
// row are copied. Add reports mistakes within the row. Build finds mistakes
// between rows.
func (b *Builder) Add(row Row) error {
	if b.lines {
		return errors.New("cmdp: a row after single transitions: want one or the other")
	}
	if err := b.checkRow(&row); err != nil {
		return err
	}
	t := &b.rows
	t.begin(rowKey{int32(row.Step), int32(row.State), int32(row.Action), int32(row.Opponent)})
	b.pending = b.pending[:0]
	for _, n := range row.Next {
		t.Next, t.Prob = append(t.Next, int32(n.Next)), append(t.Prob, n.Probability)
		b.pending = append(b.pending, n.Returns...)
	}
	t.end(row.Returns, b.pending)
	return nil
}

// AddTransition adds one transition of the row of the given step, EveryStep or from 1, state
// and actions, with its own returns. Transitions of a row need not come one after the other. If
// all of them have the same returns, these are the expected returns of the row.
// Returns are copied. Build checks that the probabilities of each row sum to 1.
func (b *Builder) AddTransition(step, state, action, opponent int, n Transition) error {
	if err := b.checkKey(step, state, action, opponent); err != nil {
		return err
	}
	if err := b.checkTransition(&n); err != nil {
		return err
	}
	if len(n.Returns) != b.spec.Dim {
		return fmt.Errorf("successor %d: %d returns: want %d", n.Next, len(n.Returns), b.spec.Dim)
	}
	b.addColumns(&Transitions{[]int32{int32(step)}, []int32{int32(opponent)}, []int32{int32(state)},
		[]int32{int32(action)},
		[]int32{int32(n.Next)}, []float64{n.Probability}, n.Returns})
	return nil
}

// Transitions are transitions by columns: entry i of each column is of transition i. Steps are
// EveryStep or from 1.
type Transitions struct {
	// Step is nil for EveryStep throughout, Opponent for 0.
	Step, Opponent, State, Action, Next []int32
	Probability                         []float64
	Returns                             []float64 // those of each transition, one after the other
}

func (c *Transitions) key(i int) rowKey {
	k := rowKey{state: c.State[i], action: c.Action[i]}
	if c.Step != nil {
		k.step = c.Step[i]
	}
	if c.Opponent != nil {
		k.opponent = c.Opponent[i]
	}
	return k
}

// end returns where the transitions end that come after number i and are of the same row.
func (c *Transitions) end(i int) int {
	state, action, j := c.State[i], c.Action[i], i+1
	for j < len(c.State) && c.State[j] == state && c.Action[j] == action &&
		(c.Step == nil || c.Step[j] == c.Step[i]) && (c.Opponent == nil || c.Opponent[j] == c.Opponent[i]) {
		j++
	}
	return j
}

func (c *Transitions) clear() {
	c.Step, c.Opponent, c.State, c.Action, c.Next = c.Step[:0], c.Opponent[:0], c.State[:0], c.Action[:0], c.Next[:0]
	c.Probability, c.Returns = c.Probability[:0], c.Returns[:0]
}

func (c *Transitions) add(key rowKey, next int32, prob float64, returns []float64) {
	c.Step, c.State, c.Action, c.Opponent = append(c.Step, key.step), append(c.State, key.state),
		append(c.Action, key.action), append(c.Opponent, key.opponent)
	c.Next, c.Probability, c.Returns = append(c.Next, next), append(c.Probability, prob), append(c.Returns, returns...)
}

// AddTransitions is [Builder.AddTransition] for many transitions, which costs less for each.
// The columns are copied. Nothing is added if there is an error, which names the entry.
func (b *Builder) AddTransitions(c *Transitions) error {
	n, d := len(c.State), b.spec.Dim
	if len(c.Action) != n || len(c.Next) != n || len(c.Probability) != n || len(c.Returns) != n*d ||
		c.Step != nil && len(c.Step) != n || c.Opponent != nil && len(c.Opponent) != n {
		return fmt.Errorf("columns of different lengths: want %d entries in each, and %d returns", n, n*d)
	}
	if n > math.MaxInt32-len(b.rows.state) {
		return fmt.Errorf("more than %d rows", math.MaxInt32)
	}
	valid := b.valid(c)
	for i := 0; i < n && !valid; i++ { // look for what to say
		key := c.key(i)
		if err := b.checkKey(int(key.step), int(key.state), int(key.action), int(key.opponent)); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		t := Transition{int(c.Next[i]), c.Probability[i], c.Returns[i*d : (i+1)*d]}
		if err := b.checkTransition(&t); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
	b.addColumns(c)
	return nil
}

// valid reports whether checkKey and checkTransition have nothing to say of any transition.
func (b *Builder) valid(c *Transitions) bool {
	for _, p := range c.Probability {
		if !(p >= 0 && p <= math.MaxFloat64) {
			return false
		}
	}
	return within(c.State, b.states-1) && within(c.Action, math.MaxInt32) && within(c.Opponent, math.MaxInt32) &&
		within(c.Step, b.spec.Horizon) && within(c.Next, b.states-1) &&
		!slices.ContainsFunc(c.Returns, func(r float64) bool { return !finite(r) })
}

func within(numbers []int32, most int) bool {
	for _, n := range numbers {
		if n < 0 || int(n) > most {
			return false
		}
	}
	return true
}

// addColumns adds transitions that are known to be valid.
func (b *Builder) addColumns(c *Transitions) {
	t, d := &b.rows, b.spec.Dim
	b.lines = true
	for i := 0; i < len(c.State); {
		key, j := c.key(i), c.end(i)
		if !b.open || key != b.here {
			before := b.open && key.state < b.here.state
			b.close()
			if before {
				t.loosen()
			}
			if t.Offset == nil {
				t.add(c, i)
				return
			}
			t.begin(key)
			b.open, b.here = true, key
		}
		t.Next, t.Prob = append(t.Next, c.Next[i:j]...), append(t.Prob, c.Probability[i:j]...)
		b.pending = append(b.pending, c.Returns[i*d:j*d]...)
		i = j
	}
}

// close ends a row whose transitions were added one by one.
func (b *Builder) close() {
	if b.open {
		b.rows.end(nil, b.pending)
		b.open = false
	}
	b.pending = b.pending[:0]
}

func (b *Builder) checkKey(step, state, action, opponent int) error {
	switch {
	case step != EveryStep && (step < 1 || step > b.spec.Horizon):
		return fmt.Errorf("step %d: want 1 to %d, or 0 for every step", step, b.spec.Horizon)
	case state < 0 || state >= b.states:
		return fmt.Errorf("state %d: want 0 to %d", state, b.states-1)
	case action < 0 || action > math.MaxInt32:
		return fmt.Errorf("action %d: want 0 or more", action)
	case opponent < 0 || opponent > math.MaxInt32:
		return fmt.Errorf("opponent's action %d: want 0 or more", opponent)
	case len(b.rows.state) >= math.MaxInt32:
		return fmt.Errorf("more than %d rows", math.MaxInt32)
	}
	return nil
}

func (b *Builder) checkTransition(n *Transition) error {
	if n.Next < 0 || n.Next >= b.states {
		return fmt.Errorf("successor %d: want 0 to %d", n.Next, b.states-1)
	}
	if !(n.Probability >= 0) || math.IsInf(n.Probability, 1) {
		return fmt.Errorf("successor %d: %g is not a probability", n.Next, n.Probability)
	}
	for _, r := range n.Returns {
		if !finite(r) {
			return fmt.Errorf("successor %d: return %g: want a finite number", n.Next, r)
		}
	}
	return nil
}

func (b *Builder) checkRow(row *Row) error {
	if err := b.checkKey(row.Step, row.State, row.Action, row.Opponent); err != nil {
		return err
	}
	if row.Returns != nil && len(row.Returns) != b.spec.Dim {
		return fmt.Errorf("%d returns: want %d", len(row.Returns), b.spec.Dim)
	}
	for i, r := range row.Returns {
		if !finite(r) {
			return fmt.Errorf("return coordinate %d is %g: want a finite number", i, r)
		}
	}
	if len(row.Next) == 0 {
		return errors.New("no successor")
	}
	random, sum := row.Returns == nil, 0.0
	for i := range row.Next {
		n := &row.Next[i]
		if random != (n.Returns != nil) {
			return fmt.Errorf("successor %d: returns must be given for the row or for each of its outcomes, not both",
				n.Next)
		}
		if random && len(n.Returns) != b.spec.Dim {
			return fmt.Errorf("successor %d: %d returns: want %d", n.Next, len(n.Returns), b.spec.Dim)
		}
		if err := b.checkTransition(n); err != nil {
			return err
		}
		sum += n.Probability
	}
	if math.Abs(sum-1) > ProbabilityTolerance {
		return fmt.Errorf("probabilities sum to %.12g: want 1", sum)
	}
	return nil
}

// A RowError says what is wrong with a row of a [Builder], together with the
// other rows.
type RowError struct {
	Fault RowFault
	// Step counts from 1. It is EveryStep for a row that holds at every step.
	Step, State, Action, Opponent int
	// Row is the number of the row. Rows count from 0 in the order in which they were
	// begun. For a missing row it is the number of another row of the state.
	Row int
	// First is the row that is repeated (RowTwice). Sum is the sum of the
	// probabilities (RowSum).
	First int
	Sum   float64
}

// A RowFault is a way in which a row can be wrong.
type RowFault int

const (
	// RowTwice: another row has the same step, state and actions.
	RowTwice RowFault = iota
	// RowSum: the probabilities do not sum to 1.
	RowSum
	// RowGap: an action with a smaller number has no row. Action and Opponent are the
	// missing one.
	RowGap
	// RowPair: the players' actions make no rectangle: the pair of Action and Opponent is
	// missing.
	RowPair
)

// Error says what is wrong, with states and actions by number.
func (e *RowError) Error() string {
	name := fmt.Sprintf("state %d, action %d", e.State, e.Action)
	if e.Opponent > 0 || e.Fault == RowPair {
		name += fmt.Sprintf(" against the opponent's action %d", e.Opponent)
	}
	if e.Step != EveryStep {
		name += fmt.Sprintf(", step %d", e.Step)
	}
	switch e.Fault {
	case RowTwice:
		return name + " is given twice"
	case RowSum:
		return fmt.Sprintf("%s: probabilities sum to %.12g: want 1", name, e.Sum)
	case RowGap:
		return name + " has no row, but one of a greater number has"
	}
	return name + " has no row: want one for every pair of the players' actions"
}

// RowErrors is what [Builder.Build] finds wrong with rows. A long list is cut.
type RowErrors []*RowError

// Error is the first error and the number of the others.
func (es RowErrors) Error() string {
	text := "cmdp: " + es[0].Error()
	if n := len(es) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}
