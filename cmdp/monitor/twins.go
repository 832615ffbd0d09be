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
	if at < 0 {
		visit(state, action, next, returns) // the model has no such transition
		return
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
		e := k.Offset[c] + at
		r := k.Returns[c*d : (c+1)*d]
		if k.Outcomes != nil {
			r = k.Outcomes[e*d : (e+1)*d]
		}
		visit(int(s), a, int(k.Next[e]), r)
	}
}
