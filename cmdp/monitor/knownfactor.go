package monitor

import "slices"

// knownFactor says which transitions of a product are one of the base. It is known to those who learn the base.
type knownFactor struct {
	*ProductModel
	of [][]int32 // of each state of the base, its pairs
}

func newKnownFactor(p *ProductModel) *knownFactor {
	t := &knownFactor{p, make([][]int32, p.base.States())}
	for pair, s := range p.state {
		t.of[s] = append(t.of[s], int32(pair))
	}
	return t
}

// Unknown returns the sizes of the base.
func (t *knownFactor) Unknown() (states, slots int) { return t.base.States(), t.base.Shape().Slots() }

// Of returns the state of the base.
func (t *knownFactor) Of(state int) int { return int(t.state[state]) }

// Each finds the entry of a transition, and visits the entries at the same place in the rows of pairs of the
// same state. Of outcomes that lead to the same pair, those who were not told the returns take the first.
func (t *knownFactor) Each(h, state, action, next int, returns []float64,
	visit func(state, action, next int, returns []float64)) {
	rows, of := t.Model.Rows(h), t.baseActions(h)
	choice, _ := rows.Choices(state)
	choice += action
	at := -1
	successors, _ := rows.Row(choice)
	for e, s := range successors {
		told := rows.Random() && slices.Equal(rows.Outcome(choice, e), returns)
		if int(s) == next && (at < 0 || told) {
			at = e
			if told {
				break
			}
		}
	}
	for _, s := range t.of[t.state[state]] {
		first, end := rows.Choices(int(s))
		a := action
		if of != nil { // other actions may be left out here
			a = slices.Index(of[first:end], of[choice])
		}
		if a < 0 || a >= end-first {
			continue
		}
		c := first + a
		if at < 0 { // the model has no such transition
			visit(int(s), a, t.after(h, s, a, next), returns)
			continue
		}
		successors, _ := rows.Row(c)
		visit(int(s), a, int(successors[at]), rows.Outcome(c, at))
	}
}

// after returns the pair of the state that next is about and of what is remembered after an action of a pair
// has led there, with the first returns that the action may have. Where this pair does not come up it returns
// next.
func (t *knownFactor) after(h int, pair int32, action, next int) int {
	s, n := int(t.state[pair]), len(t.monitors)
	tr := Transition{s, -1, int(t.state[next]), nil}
	returns := make([]float64, len(t.returns))
	if a := t.Action(h, int(pair), action); a >= 0 {
		rows := t.base.Rows(h)
		first, _ := rows.Choices(s)
		tr.Choice = first + a
		copy(returns, rows.Outcome(tr.Choice, 0))
	}
	tuple := int32(0)
	for i, m := range t.monitors {
		from := t.offset[i]
		tr.Returns = returns[:from]
		memory := m.Step(returns[from:from+m.Rewards()], t.tuples[int(t.memory[pair])*n+i], tr)
		var ok bool
		tuple, ok = t.tupleNumbers[i][[2]int{int(tuple), memory}]
		if !ok {
			return next
		}
	}
	if pages, at := t.pairs[tr.Next], int(tuple)/len(page{}); at < len(pages) && pages[at] != nil {
		if number := pages[at][int(tuple)%len(page{})]; number > 0 {
			return int(number) - 1
		}
	}
	return next
}
