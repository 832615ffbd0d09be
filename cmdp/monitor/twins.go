package monitor

import "slices"

// twins says which transitions of a product are one of the base. It is known to those who learn the base.
type twins struct {
	*Product
	of [][]int32 // of each state of the base, its pairs
}

func newTwins(p *Product) *twins {
	t := &twins{p, make([][]int32, p.base.States())}
	for pair, s := range p.state {
		t.of[s] = append(t.of[s], int32(pair))
	}
	return t
}

// Unknown returns the sizes of the base.
func (t *twins) Unknown() (states, slots int) { return t.base.States(), t.base.Shape().Slots() }

// Of returns the state of the base.
func (t *twins) Of(state int) int { return int(t.state[state]) }

// Each finds the entry of a transition, and visits the entries at the same place in the rows of pairs of the same state. Of
// outcomes that lead to the same pair, those who were not told the returns take the first.
func (t *twins) Each(h, state, action, next int, returns []float64, visit func(state, action, next int, returns []float64)) {
	k, d, of := t.Model.Kernel(h), t.Model.Dim(), []int32(nil)
	if t.actions != nil {
		of = t.actions[&k.First[0]]
	}
	choice := int(k.First[state]) + action
	first, at := k.Offset[choice], -1
	for e := first; e < k.Offset[choice+1]; e++ {
		told := k.Outcomes != nil && slices.Equal(k.Outcomes[e*d:(e+1)*d], returns)
		if int(k.Next[e]) == next && (at < 0 || told) {
			if at = e - first; told {
				break
			}
		}
	}
	for _, s := range t.of[t.state[state]] {
		a, n := action, int(k.First[s+1]-k.First[s])
		if of != nil { // other actions may be left out here
			a = slices.Index(of[k.First[s]:k.First[s+1]], of[choice])
		}
		if a < 0 || a >= n {
			continue
		}
		c := int(k.First[s]) + a
		if at < 0 { // the model has no such transition
			visit(int(s), a, t.after(h, s, a, next), returns)
			continue
		}
		e := k.Offset[c] + at
		r := k.Returns[c*d : (c+1)*d]
		if k.Outcomes != nil {
			r = k.Outcomes[e*d : (e+1)*d]
		}
		visit(int(s), a, int(k.Next[e]), r)
	}
}

// after returns the pair of the state that next is about and of what is remembered after an action of a pair has led there, with the
// first returns that the action may have. Where this pair does not come up it returns next.
func (t *twins) after(h int, pair int32, action, next int) int {
	k, d := t.base.Kernel(h), t.base.Dim()
	s, n := int(t.state[pair]), len(t.monitors)
	tr := Transition{s, -1, int(t.state[next]), nil}
	returns := make([]float64, len(t.returns))
	if a := t.Action(h, int(pair), action); a >= 0 {
		tr.Choice = int(k.First[s]) + a
		all := k.Returns[tr.Choice*d:]
		if k.Outcomes != nil {
			all = k.Outcomes[k.Offset[tr.Choice]*d:]
		}
		copy(returns[:d], all)
	}
	tuple := int32(0)
	for i, m := range t.monitors {
		from := t.offset[i]
		tr.Returns = returns[:from]
		memory := m.Step(returns[from:from+m.Rewards()], t.tuples[int(t.memory[pair])*n+i], tr)
		var ok bool
		if tuple, ok = t.tuple[i][[2]int{int(tuple), memory}]; !ok {
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
