package problem

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp"
)

// A FilePolicy is a policy read from a file. It is a cmdp.Policy for the states
// that it reaches. It is safe for concurrent use.
type FilePolicy struct {
	file   *policyFile
	name   string // of the component, for messages
	of     *Process
	steps  []*stepTable // steps that do not differ share one
	always []namedRow   // rows without a step
	// doubtful are states with rows that are wrong: sums say nothing about them.
	doubtful map[int32]bool
	wrong    map[int]bool // lines whose action is not offered
}

// A stepTable is what the policy does at a step.
type stepTable struct {
	probs []float64 // of each choice; NaN where the file says nothing
	line  []int32   // of the first row of each state, 0 if there is none
	// barred are rows, by state, with actions that the problem offers and its product with monitors does not.
	barred map[int32][]namedRow
}

// A namedRow is a row without a step, whose action may have another number at each.
type namedRow struct {
	line        int
	state       int32
	action      string
	probability float64
}

var _ cmdp.Policy = (*FilePolicy)(nil)

// Choose draws an action.
func (f *FilePolicy) Choose(rng *rand.Rand, h, s int) int {
	return cmdp.Draw(rng, f.Probabilities(h, s))
}

// Distribution copies the probabilities of the actions of a state.
func (f *FilePolicy) Distribution(dst []float64, h, s int) { copy(dst, f.Probabilities(h, s)) }

// Known reports whether the file says what the policy does in state s at step h. It does
// for all states that the policy reaches.
func (f *FilePolicy) Known(h, s int) bool { return f.steps[min(h, len(f.steps)-1)].line[s] != 0 }

// Probabilities returns the probabilities of the actions of a state. They must not be changed.
func (f *FilePolicy) Probabilities(h, s int) []float64 {
	if len(f.steps) == 1 {
		h = 0
	}
	first, end := f.of.span(h, s)
	return f.steps[h].probs[first:end]
}

func (f *FilePolicy) bad(line int, format string, args ...any) {
	f.file.bad(line, f.name+format, args...)
}

func (f *FilePolicy) newTable(h int) *stepTable {
	states := f.of.played().states()
	_, choices := f.of.span(h, states-1)
	t := &stepTable{make([]float64, choices), make([]int32, states), make(map[int32][]namedRow)}
	for c := range t.probs {
		t.probs[c] = math.NaN()
	}
	return t
}

// row judges a row of the file and keeps it.
func (f *FilePolicy) row(r policyLine) {
	before, step, horizon := len(f.file.errs), 0, f.of.horizon()
	if text := r.cells[0]; text != "" {
		var err error
		step, err = strconv.Atoi(text)
		switch {
		case horizon == 0:
			f.bad(r.line, "step %s: the problem has no horizon: want a policy without steps", text)
		case err != nil || step < 1 || step > horizon:
			f.bad(r.line, "step %q: want 1 to %d, or nothing for every step", text, horizon)
		}
	}
	var states []int32
	if s, ok := stateNamed(r.cells[1], f.file.states, f.of.of.played().states()); ok {
		states = f.remembering(&r, s)
	} else {
		f.bad(r.line, "unknown state %q%s", r.cells[1], f.file.nearest(r.cells[1], f.of.of.States))
	}
	x, err := strconv.ParseFloat(r.cells[3], 64)
	if err != nil || !(x >= 0 && x <= 1+cmdp.ProbabilityTolerance) {
		f.bad(r.line, "probability %q: want a number from 0 to 1", r.cells[3])
	}
	if len(f.file.errs) > before {
		for _, s := range states {
			f.doubtful[s] = true
		}
		return
	}
	action := strings.Clone(r.cells[2]) // the reader reuses its memory
	for _, s := range states {
		named := namedRow{r.line, s, action, x}
		if step == 0 {
			f.always = append(f.always, named)
			continue
		}
		if f.steps[step-1] == nil {
			f.steps[step-1] = f.newTable(step - 1)
		}
		f.put(f.steps[step-1], step-1, named, true)
	}
}

// remembering returns the states of the model that a row is about. With memory these are the
// states with the named state and the memory of the row; without a memory in the row, all states
// with the named state.
func (f *FilePolicy) remembering(r *policyLine, s int) []int32 {
	text, of := r.cells[memoryCell], f.of
	switch {
	case !of.Remembers() && text != "":
		f.bad(r.line, "memory %q: the problem needs no memory: want none", text)
		return nil
	case !of.Remembers():
		return []int32{int32(s)}
	case text == "":
		return slices.Sorted(maps.Values(of.pairs()[s]))
	}
	if pair, ok := of.pairs()[s][text]; ok {
		return []int32{pair}
	}
	if !of.comesUp(text) {
		_, other := of.place(0)
		f.bad(r.line, "memory %q: policies of this problem remember other things, such as %q: want the limits and the "+
			"resolution that the policy was made for", text, other)
	}
	return nil // a state in which that cannot be remembered is not reached with it
}

// put enters a row in the table of a step. Where it comes from a row of that step,
// errors name the step.
func (f *FilePolicy) put(t *stepTable, h int, r namedRow, named bool) {
	s := int(r.state)
	first, end := f.of.span(h, s)
	a, twice := f.of.find(h, s, r.action), false
	declared := a >= 0 || f.of.Remembers() && f.of.of.Process().find(h, f.of.Declared(s), r.action) >= 0
	switch {
	case a >= 0:
		twice = !math.IsNaN(t.probs[first+a])
		t.probs[first+a] = r.probability
	case declared && first == end:
		return // nothing leads there: what is remembered is of another step, or all is lost
	case declared && f.of.memory.Restricted():
		twice = slices.ContainsFunc(t.barred[r.state], func(b namedRow) bool { return b.action == r.action })
		t.barred[r.state] = append(t.barred[r.state], r)
	default:
		f.doubtful[r.state] = true
		if !f.wrong[r.line] { // said once, not at every step and for all that may be remembered
			f.wrong[r.line] = true
			f.notOffered(h, r, named, "")
		}
		return
	}
	if twice {
		f.bad(r.line, "state %s, action %s%s is given twice", f.of.StateName(s), r.action, atStep(h, named))
		f.doubtful[r.state] = true
	}
	if t.line[s] == 0 {
		t.line[s] = int32(r.line)
	}
}

// notOffered says that the state of a row does not offer its action at step h, and why.
func (f *FilePolicy) notOffered(h int, r namedRow, named bool, why string) {
	s := int(r.state)
	of, at := f.of, s
	first, end := of.span(h, at)
	if first == end { // the problem may offer actions where nothing leads
		of, at = f.of.of.Process(), f.of.Declared(s)
		first, end = of.span(h, at)
	}
	var offers []string
	for a := range end - first {
		if of.offers(h, at, a) {
			offers = append(offers, of.ActionName(h, at, a))
		}
	}
	want := ": it rests"
	if len(offers) > 0 {
		want = orWant(r.action, offers)
	}
	f.bad(r.line, "state %s offers no action %q%s%s%s", f.of.StateName(s), r.action, atStep(h, named), why, want)
}

// atStep names a step in a message, if it is to be named.
func atStep(h int, named bool) string {
	if !named {
		return ""
	}
	return fmt.Sprintf(" at step %d", h+1)
}

// fill enters the rows without a step, and checks that probabilities sum to 1.
func (f *FilePolicy) fill() {
	var shared *stepTable
	stationary := f.of.stationary()
	for h, own := range f.steps {
		if own != nil {
			f.checkSums(own, h, true)
		}
		if shared == nil || !stationary {
			shared = f.newTable(h)
			for _, r := range f.always {
				if own == nil || own.line[r.state] == 0 || stationary {
					f.put(shared, h, r, !stationary)
				}
			}
			f.checkSums(shared, h, !stationary)
		}
		if own == nil {
			f.steps[h] = shared
			continue
		}
		for s, line := range own.line {
			if line == 0 {
				own.line[s] = shared.line[s]
				first, end := f.of.span(h, s)
				copy(own.probs[first:end], shared.probs[first:end])
				if barred := shared.barred[int32(s)]; barred != nil {
					own.barred[int32(s)] = barred
				}
			}
		}
	}
}

// checkSums takes actions that are not named to have probability 0.
func (f *FilePolicy) checkSums(t *stepTable, h int, named bool) {
	for s, line := range t.line {
		if line == 0 {
			continue
		}
		sum := 0.0
		first, end := f.of.span(h, s)
		for c := first; c < end; c++ {
			if math.IsNaN(t.probs[c]) {
				t.probs[c] = 0
			}
			sum += t.probs[c]
		}
		for _, r := range t.barred[int32(s)] {
			sum += r.probability
		}
		if math.Abs(sum-1) > cmdp.ProbabilityTolerance && !f.doubtful[int32(s)] {
			f.bad(int(line), "state %s%s: the probabilities sum to %.12g: want 1", f.of.StateName(s), atStep(h, named),
				sum)
		}
	}
}

// reach looks for states that the policy reaches without rows, or with rows that are barred there. Where barred
// rows are not reached, what the policy does does not matter: the first action that is offered takes their place.
func (f *FilePolicy) reach() {
	m := f.of.Model
	now := make([]bool, m.States())
	var queue []int32
	for _, st := range m.StartStates() {
		if st.Probability > 0 {
			now[st.State] = true
			queue = append(queue, int32(st.State))
		}
	}
	for h := 0; len(queue) > 0 && (m.Horizon() == 0 || h < m.Horizon()); h++ {
		next := now // without a horizon a state is looked at once
		if m.Horizon() > 0 {
			next = make([]bool, m.States())
		}
		var then []int32
		rows := m.Rows(h)
		for _, s := range queue {
			f.successors(rows, h, s, func(to int32) {
				if !next[to] {
					next[to] = true
					then = append(then, to)
				}
			})
		}
		now, queue = next, then
	}
	for h, t := range f.steps {
		for s, barred := range t.barred {
			first, _ := f.of.span(h, int(s))
			for _, r := range barred {
				t.probs[first] += r.probability
			}
		}
		t.barred = nil // steps may share the table
	}
}

// unsaid is the line of a state that needs no row, or whose row is missing.
const unsaid = -1

// successors calls visit with the states that the policy reaches from s.
func (f *FilePolicy) successors(rows *cmdp.Rows, h int, s int32, visit func(int32)) {
	t := f.steps[min(h, len(f.steps)-1)]
	first, end := rows.Choices(int(s))
	if first == end {
		visit(s)
		return
	}
	if t.line[s] == 0 && end-first == 1 && f.of.memory.Action(h, int(s), 0) < 0 { // there is nothing to say of rest
		t.line[s], t.probs[first] = unsaid, 1
	}
	if t.line[s] == 0 {
		t.line[s] = unsaid // once
		f.bad(0, "no row for state %s%s, which the policy reaches", f.of.StateName(int(s)),
			atStep(h, f.of.Model.Horizon() > 0))
		return
	}
	for _, r := range t.barred[s] {
		if r.probability > 0 {
			f.notOffered(h, r, f.of.Model.Horizon() > 0, ": a limit with always may be broken after it")
		}
	}
	delete(t.barred, s) // said once
	for c := first; c < end; c++ {
		if !(t.probs[c] > 0) {
			continue
		}
		next, prob := rows.Row(c)
		for e, to := range next {
			if prob[e] > 0 {
				visit(to)
			}
		}
	}
}
