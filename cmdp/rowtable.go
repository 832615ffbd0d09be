package cmdp

import (
	"math"
	"slices"
)

// A rowTable holds rows by columns, as they become a kernel.
type rowTable struct {
	dim           int
	state, action []int32
	// step is nil while all rows are for EveryStep, opponent while it is 0 in all.
	step, opponent []int32
	// Row i has the successors next[offset[i]:offset[i+1]]. In a loose table offset is nil and
	// the row has the one successor i, with the returns of row i.
	offset  []int
	next    []int32
	prob    []float64
	returns []float64 // d for each row, the expectation
	// random says where the returns of a row's successors begin in outcomes, d for each.
	// It is −1 for a row whose returns are all the expectation, and nil while all rows
	// are like that.
	random   []int
	outcomes []float64
	// begun holds the first transition of each row that was added before the table became
	// loose, and the first transition that was added since, each a row of its own.
	begun  []int
	*parts // of a loose table
}

// A rowKey says which choice a row is of.
type rowKey struct{ step, state, action, opponent int32 }

func (t *rowTable) key(i int) rowKey {
	return rowKey{int32(t.stepOf(i)), t.state[i], t.action[i], int32(t.opponentOf(i))}
}

// grow makes room for so many more transitions, in rows of one or more.
func (t *rowTable) grow(n int) {
	t.state, t.action = room(t.state, n), room(t.action, n)
	t.next, t.prob, t.returns = room(t.next, n), room(t.prob, n), room(t.returns, n*t.dim)
	if t.offset != nil {
		t.offset = room(t.offset, n)
	} else {
		t.added = room(t.added, n)
	}
}

func (t *rowTable) stepOf(i int) int {
	if t.step == nil {
		return EveryStep
	}
	return int(t.step[i])
}

func (t *rowTable) opponentOf(i int) int {
	if t.opponent == nil {
		return 0
	}
	return int(t.opponent[i])
}

// successors returns how many successors row i has so far.
func (t *rowTable) successors(i int) int {
	if t.offset == nil {
		return 1
	}
	end := len(t.next)
	if i+1 < len(t.offset) {
		end = t.offset[i+1]
	}
	return end - t.offset[i]
}

// begin begins a row, whose successors are then appended.
func (t *rowTable) begin(key rowKey) {
	if t.step == nil && key.step != EveryStep {
		t.step = slices.Repeat([]int32{EveryStep}, len(t.state))
	}
	if t.opponent == nil && key.opponent != 0 {
		t.opponent = make([]int32, len(t.state))
	}
	t.state, t.action = append(t.state, key.state), append(t.action, key.action)
	if t.step != nil {
		t.step = append(t.step, key.step)
	}
	if t.opponent != nil {
		t.opponent = append(t.opponent, key.opponent)
	}
}

// end ends a row. The returns of its successors stand in outcomes, which is
// overwritten, unless its expected returns are given.
func (t *rowTable) end(returns, outcomes []float64) {
	d, first := t.dim, t.offset[len(t.offset)-1]
	if returns == nil && len(t.next) == first+1 {
		returns = outcomes // of the only successor
	}
	if returns != nil {
		outcomes = nil
		if len(t.next) == first+1 && t.prob[first] != 0 && t.random == nil {
			t.offset, t.returns = append(t.offset, first+1), append(t.returns, returns...)
			return
		}
	}
	t.addUp(first, outcomes)
	kept := len(t.next)
	if i := slices.Index(t.prob[first:], 0); i >= 0 {
		kept = first + i
		for e := kept + 1; e < len(t.next); e++ {
			if t.prob[e] == 0 {
				continue
			}
			t.next[kept], t.prob[kept] = t.next[e], t.prob[e]
			if outcomes != nil {
				copy(outcomes[(kept-first)*d:(kept-first+1)*d], outcomes[(e-first)*d:(e-first+1)*d])
			}
			kept++
		}
	}
	t.next, t.prob = t.next[:kept], t.prob[:kept]
	t.offset = append(t.offset, kept)
	random := -1
	if outcomes != nil {
		outcomes = outcomes[:(kept-first)*d]
	}
	switch {
	case returns != nil:
		t.returns = append(t.returns, returns...)
	case len(outcomes) > 0 && alike(outcomes, d):
		t.returns = append(t.returns, outcomes[:d]...)
	default:
		if t.outcomes == nil {
			t.outcomes = room(t.outcomes, cap(t.next)*d) // as much as Grow was asked for
		}
		random = len(t.outcomes)
		t.outcomes = append(t.outcomes, outcomes...)
		t.returns = append(t.returns, make([]float64, d)...)
		mean := t.returns[len(t.returns)-d:]
		for e := first; e < kept; e++ {
			for i, r := range outcomes[(e-first)*d : (e-first+1)*d] {
				mean[i] += float64(t.prob[e] * r)
			}
		}
	}
	if t.random == nil && random >= 0 {
		t.random = append(make([]int, 0, cap(t.state)), slices.Repeat([]int{-1}, len(t.state)-1)...)
	}
	if t.random != nil {
		t.random = append(t.random, random)
	}
}

// addUp gives the first of several successors that are the same and have the same
// returns the sum of their probabilities, and 0 to the others.
func (t *rowTable) addUp(first int, outcomes []float64) {
	if !hasTwins(t.next[first:]) {
		return
	}
	before := make(map[int32][]int)
	same := func(e, f int) bool {
		if outcomes == nil {
			return true
		}
		return sameBits(outcomes[(e-first)*t.dim:(e-first+1)*t.dim], outcomes[(f-first)*t.dim:])
	}
	for e := first; e < len(t.next); e++ {
		if t.prob[e] == 0 {
			continue
		}
		twin := slices.IndexFunc(before[t.next[e]], func(f int) bool { return same(e, f) })
		if twin < 0 {
			before[t.next[e]] = append(before[t.next[e]], e)
			continue
		}
		f := before[t.next[e]][twin]
		t.prob[f], t.prob[e] = t.prob[f]+t.prob[e], 0
	}
}

func hasTwins(next []int32) bool {
	const few = 16
	if len(next) <= few {
		for j := range next {
			for _, n := range next[:j] {
				if n == next[j] {
					return true
				}
			}
		}
		return false
	}
	seen := make(map[int32]bool, len(next))
	for _, n := range next {
		if seen[n] {
			return true
		}
		seen[n] = true
	}
	return false
}

// sameBits reports whether y begins with the numbers of x.
func sameBits(x, y []float64) bool {
	for i := range x {
		if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
			return false
		}
	}
	return true
}

// alike reports whether all vectors of length d in outcomes are the same.
func alike(outcomes []float64, d int) bool {
	for at := d; at < len(outcomes); at += d {
		if !sameBits(outcomes[:d], outcomes[at:]) {
			return false
		}
	}
	return true
}

// appendOutcomes appends the returns of each successor of row i.
func (t *rowTable) appendOutcomes(dst []float64, i int) []float64 {
	d, n := t.dim, t.offset[i+1]-t.offset[i]
	if t.random != nil && t.random[i] >= 0 {
		return append(dst, t.outcomes[t.random[i]:t.random[i]+n*d]...)
	}
	for range n {
		dst = append(dst, t.returns[i*d:(i+1)*d]...)
	}
	return dst
}

// kernel makes a kernel of the given rows, in order; of nil, of all rows, whose columns it
// then takes over. It is for rows that are sorted and of one step.
func (t *rowTable) kernel(rows []int32, states int) Kernel {
	k := Kernel{First: make([]int32, states+1)}
	if rows == nil {
		for _, s := range t.state {
			k.First[s+1]++
		}
		k.Offset, k.Next, k.Prob, k.Returns = t.offset, t.next, t.prob, t.returns
		switch {
		case t.random == nil:
		case len(t.outcomes) == len(t.next)*t.dim:
			k.Outcomes = t.outcomes
		default:
			k.Outcomes = make([]float64, 0, len(t.next)*t.dim)
			for i := range t.state {
				k.Outcomes = t.appendOutcomes(k.Outcomes, i)
			}
		}
	} else {
		part, random := rowTable{dim: t.dim}, false
		k.Offset = make([]int, 1, len(rows)+1)
		for _, r := range rows {
			i := int(r)
			random = random || t.random != nil && t.random[i] >= 0
			k.First[t.state[i]+1]++
			part.next, part.prob = append(part.next, t.next[t.offset[i]:t.offset[i+1]]...), append(part.prob, t.prob[t.offset[i]:t.offset[i+1]]...)
			part.returns = append(part.returns, t.returns[i*t.dim:(i+1)*t.dim]...)
			k.Offset = append(k.Offset, len(part.next))
		}
		k.Next, k.Prob, k.Returns = part.next, part.prob, part.returns
		for i := 0; random && i < len(rows); i++ {
			k.Outcomes = t.appendOutcomes(k.Outcomes, int(rows[i]))
		}
	}
	for s := range states {
		k.First[s+1] += k.First[s]
	}
	return k
}
