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
	// The rows, as those of choices. In a loose table Offset is nil and row i has the one successor Next[i], with the
	// probability Prob[i] and the returns number i.
	Kernel
	// begun holds the first transition of each row that was added before the table became
	// loose, and the first transition that was added since, each a row of its own.
	begun []int
}

// A rowKey says which choice a row is of.
type rowKey struct{ step, state, action, opponent int32 }

func (t *rowTable) key(i int) rowKey {
	return rowKey{int32(t.stepOf(i)), t.state[i], t.action[i], int32(t.opponentOf(i))}
}

// grow makes room for so many more rows, which have so many transitions together. In a loose table each is a row.
func (t *rowTable) grow(rows, transitions int) {
	if t.Offset == nil {
		rows = transitions
	} else {
		t.Offset = room(t.Offset, rows)
		if p := t.pools; p != nil && p.distributions != nil { // nil once each row has its own
			t.Distribution = room(t.Distribution, rows)
		}
		if p := t.pools; p != nil && p.returns != nil {
			t.Vector = room(t.Vector, rows)
		}
	}
	t.state, t.action, t.Returns = room(t.state, rows), room(t.action, rows), room(t.Returns, rows*t.dim)
	t.Next, t.Prob = room(t.Next, transitions), room(t.Prob, transitions)
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
	if t.Offset == nil {
		return 1
	}
	end := len(t.Next)
	if i+1 < len(t.Offset) {
		end = t.Offset[i+1]
	}
	return end - t.Offset[i]
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
	d, first := t.dim, t.Offset[len(t.Offset)-1]
	next := t.Next[first:]
	prob := t.Prob[len(t.Prob)-len(next):]
	if returns == nil && len(next) == 1 {
		returns = outcomes // of the only successor
	}
	if returns != nil {
		outcomes = nil
		if len(next) == 1 && prob[0] != 0 && t.Random == nil {
			t.Returns = append(t.Returns, returns...)
			t.endRow(len(t.Next), d)
			return
		}
	}
	t.addUp(next, prob, outcomes)
	kept := 0
	for j, p := range prob {
		if p == 0 {
			continue
		}
		next[kept], prob[kept] = next[j], p
		if outcomes != nil {
			copy(outcomes[kept*d:(kept+1)*d], outcomes[j*d:(j+1)*d])
		}
		kept++
	}
	t.Next, t.Prob = t.Next[:first+kept], t.Prob[:len(t.Prob)-len(next)+kept]
	prob = prob[:kept]
	random := -1
	if outcomes != nil {
		outcomes = outcomes[:kept*d]
	}
	switch {
	case returns != nil:
		t.Returns = append(t.Returns, returns...)
	case len(outcomes) > 0 && allSame(outcomes, d):
		t.Returns = append(t.Returns, outcomes[:d]...)
	default:
		if t.Outcomes == nil {
			t.Outcomes = room(t.Outcomes, cap(t.Next)*d) // as much as Grow was asked for
		}
		random = len(t.Outcomes)
		t.Outcomes = append(t.Outcomes, outcomes...)
		t.Returns = append(t.Returns, make([]float64, d)...)
		mean := t.Returns[len(t.Returns)-d:]
		for j, p := range prob {
			for i, r := range outcomes[j*d : (j+1)*d] {
				mean[i] += float64(p * r)
			}
		}
	}
	if t.Random == nil && random >= 0 {
		t.Random = append(make([]int, 0, cap(t.state)), slices.Repeat([]int{-1}, len(t.state)-1)...)
	}
	if t.Random != nil {
		t.Random = append(t.Random, random)
	}
	t.endRow(len(t.Next), d)
}

// addUp gives the first of several successors that are the same and have the same
// returns the sum of their probabilities, and 0 to the others.
func (t *rowTable) addUp(next []int32, prob, outcomes []float64) {
	if !hasRepeated(next) {
		return
	}
	before := make(map[int32][]int)
	same := func(e, f int) bool {
		if outcomes == nil {
			return true
		}
		return sameBits(outcomes[e*t.dim:(e+1)*t.dim], outcomes[f*t.dim:])
	}
	for e, n := range next {
		if prob[e] == 0 {
			continue
		}
		twin := slices.IndexFunc(before[n], func(f int) bool { return same(e, f) })
		if twin < 0 {
			before[n] = append(before[n], e)
			continue
		}
		f := before[n][twin]
		prob[f], prob[e] = prob[f]+prob[e], 0
	}
}

func hasRepeated(next []int32) bool {
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

// allSame reports whether all vectors of length d in outcomes are the same.
func allSame(outcomes []float64, d int) bool {
	for at := d; at < len(outcomes); at += d {
		if !sameBits(outcomes[:d], outcomes[at:]) {
			return false
		}
	}
	return true
}

// kernel makes a kernel of the given rows, in order; of nil, of all rows, whose columns it
// then takes over. It is for rows that are sorted and of one step.
func (t *rowTable) kernel(rows []int32, states int) Kernel {
	k := t.Kernel
	k.First = make([]int32, states+1)
	if rows == nil {
		for _, s := range t.state {
			k.First[s+1]++
		}
		if len(k.Outcomes) == len(k.Next)*t.dim { // of all rows, in their order
			k.Random = nil
		}
	} else {
		some := NewKernel()
		some.First = k.First
		for _, r := range rows {
			i := int(r)
			some.First[t.state[i]+1]++
			next, prob := t.Row(i)
			some.AppendRandom(next, prob, t.ReturnsOf(i, t.dim), t.OutcomesOf(i, t.dim))
		}
		k = some
	}
	for s := range states {
		k.First[s+1] += k.First[s]
	}
	return k
}
