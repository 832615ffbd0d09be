package cmdp

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
)

// sort sorts the rows by state and by the ranks of their actions, and joins those that are
// parts of one. Rows that are in order stay as they are. The others become loose and are
// sorted in place, because a large file does not fit in memory twice.
func (s *rowSorter) sort(states int) {
	if s.offset != nil && s.inOrder() {
		return
	}
	s.loosen()
	added := make([]int32, len(s.next))
	for i := range added {
		added[i] = int32(i)
	}
	width := bits.Len(uint(states - 1))
	passes := max(1, (width+maxDigit-1)/maxDigit)
	s.byState(added, 0, len(added), passes, (width+passes-1)/passes)
	s.join(added)
}

// inOrder reports whether each row comes after the one before it.
func (s *rowSorter) inOrder() bool {
	if !slices.IsSorted(s.state) {
		return false
	}
	for lo, n := 0, len(s.state); lo < n; {
		hi := lo + 1
		for hi < n && s.state[hi] == s.state[lo] {
			hi++
		}
		if hi > lo+1 {
			s.rank(s.rowTable, lo, hi)
		}
		for i := lo + 1; i < hi; i++ {
			if s.compare(s.rowTable, i-1, i) >= 0 {
				return false
			}
		}
		lo = hi
	}
	return true
}

// rank ranks the actions of a state, whose rows are those of t from lo to hi.
func (s *rowSorter) rank(t *rowTable, lo, hi int) {
	s.agent.clear()
	s.opp.clear()
	for _, name := range t.action[lo:hi] {
		s.agent.add(name)
	}
	s.order[0](s.agent.names)
	if t.opponent == nil {
		s.opp.add(0)
		return
	}
	for _, name := range t.opponent[lo:hi] {
		s.opp.add(name)
	}
	s.order[1](s.opp.names)
}

// compare compares two rows of the state whose actions were ranked.
func (s *rowSorter) compare(t *rowTable, i, j int) int {
	k, l := t.key(i), t.key(j)
	return cmp.Or(cmp.Compare(s.agent.of(k.action), s.agent.of(l.action)), cmp.Compare(s.opp.of(k.opponent), s.opp.of(l.opponent)),
		cmp.Compare(k.step, l.step))
}

// loosen makes the table loose. A row without successors gets one of probability 0.
func (t *rowTable) loosen() {
	if t.offset == nil {
		return
	}
	loose := rowTable{dim: t.dim}
	loose.grow(max(cap(t.next), len(t.next)+1))
	var outcomes []float64
	for i := range t.state {
		loose.begun = append(loose.begun, len(loose.next))
		outcomes = t.appendOutcomes(outcomes[:0], i)
		for k, e := 0, t.offset[i]; e < t.offset[i+1]; k, e = k+1, e+1 {
			loose.add(t.key(i), t.next[e], t.prob[e], outcomes[k*t.dim:(k+1)*t.dim])
		}
		if t.offset[i] == t.offset[i+1] {
			loose.add(t.key(i), 0, 0, t.returns[i*t.dim:(i+1)*t.dim])
		}
	}
	loose.begun = append(loose.begun, len(loose.next))
	*t = loose
}

// add adds a row to a loose table.
func (t *rowTable) add(key rowKey, next int32, prob float64, returns []float64) {
	t.begin(key)
	t.next, t.prob, t.returns = append(t.next, next), append(t.prob, prob), append(t.returns, returns...)
}

// numberOf returns the number of the row to which transition i of a loose table was added, both
// counted as they came.
func (t *rowTable) numberOf(i int32) int32 {
	last := len(t.begun) - 1
	if last < 0 {
		return i
	}
	if from := int32(t.begun[last]); i >= from {
		return int32(last) + i - from
	}
	return int32(sort.SearchInts(t.begun, int(i)+1)) - 1
}

// maxDigit is how many bits of a state are sorted by at a time, at most: as many parts as
// that are written to at once, which the caches of processors can hold.
const maxDigit = 8

// byState sorts part of a loose table, and added along with it, by as many digits of the state
// as there are passes, each of so many bits. It is the radix sort in place of P. McIlroy,
// K. Bostic and M. McIlroy, Engineering Radix Sort (1993).
func (t *rowTable) byState(added []int32, lo, hi, passes, width int) {
	if hi-lo < 2 || passes == 0 {
		return
	}
	var begin, end [1 << maxDigit]int
	parts, shift := int32(1)<<width, (passes-1)*width
	digit := func(i int) int32 { return t.state[i] >> shift & (parts - 1) }
	for i := lo; i < hi; i++ {
		end[digit(i)]++
	}
	for d, from := int32(0), lo; d < parts; d++ {
		begin[d], end[d] = from, from+end[d]
		from = end[d]
	}
	for d := range parts {
		for begin[d] < end[d] {
			i := begin[d]
			of := digit(i)
			j := begin[of]
			if begin[of]++; i != j {
				t.swap(i, j)
				added[i], added[j] = added[j], added[i]
			}
		}
	}
	for d, from := int32(0), lo; d < parts; d++ {
		t.byState(added, from, end[d], passes-1, width)
		from = end[d]
	}
}

func (t *rowTable) swap(i, j int) {
	t.state[i], t.state[j] = t.state[j], t.state[i]
	t.action[i], t.action[j] = t.action[j], t.action[i]
	t.next[i], t.next[j] = t.next[j], t.next[i]
	t.prob[i], t.prob[j] = t.prob[j], t.prob[i]
	x, y := t.returns[i*t.dim:(i+1)*t.dim], t.returns[j*t.dim:(j+1)*t.dim]
	for k := range x {
		x[k], y[k] = y[k], x[k]
	}
	if t.step != nil {
		t.step[i], t.step[j] = t.step[j], t.step[i]
	}
	if t.opponent != nil {
		t.opponent[i], t.opponent[j] = t.opponent[j], t.opponent[i]
	}
}

// join sorts the rows of each state of a loose table, which stand together, and joins those of
// the same step, state and actions in place. Added says when each was added.
func (s *rowSorter) join(added []int32) {
	t := s.rowTable
	out := &rowTable{dim: t.dim, state: t.state[:0], action: t.action[:0], step: t.step[:0], opponent: t.opponent[:0],
		offset: room([]int{0}, len(added)), next: t.next[:0], prob: t.prob[:0], returns: t.returns[:0]}
	group := &rowTable{dim: t.dim} // a copy of the rows of a state, as they came
	var came []uint64              // when a row was added, and its place
	var order []rankedRow
	var outcomes []float64
	for lo, hi := 0, 0; lo < len(added); lo = hi {
		came = came[:0]
		for hi = lo; hi < len(added) && t.state[hi] == t.state[lo]; hi++ {
			came = append(came, uint64(added[hi])<<32|uint64(hi))
		}
		slices.Sort(came)
		group.gather(t, came)
		order = s.ranked(group, order)
		var last rowKey
		for n, o := range order {
			i := o.row()
			key, number := group.key(i), t.numberOf(int32(came[i]>>32))
			if n == 0 || key != last {
				if n > 0 {
					out.end(nil, outcomes)
				}
				s.origin, outcomes = append(added[:len(out.state)], number), outcomes[:0]
				out.begin(key)
			} else if first := t.numberOf(int32(came[order[n-1].row()] >> 32)); !s.lines && first != number {
				s.fault(&RowError{Fault: RowTwice, Step: int(key.step), State: int(key.state), Action: int(key.action), Opponent: int(key.opponent),
					Row: int(number), First: int(first)})
			}
			last = key
			out.next, out.prob = append(out.next, group.next[i]), append(out.prob, group.prob[i])
			outcomes = append(outcomes, group.returns[i*t.dim:(i+1)*t.dim]...)
		}
		out.end(nil, outcomes)
	}
	*t = *out
}

// A rankedRow is a row of a group: the ranks of its actions, and its step and place in the group.
type rankedRow [2]uint64

func (r rankedRow) row() int { return int(uint32(r[1])) }

// ranked puts the rows of a group in order.
func (s *rowSorter) ranked(group *rowTable, order []rankedRow) []rankedRow {
	s.rank(group, 0, len(group.state))
	order = order[:0]
	for i := range group.state {
		agent, opponent := s.agent.of(group.action[i]), s.opp.of(int32(group.opponentOf(i)))
		order = append(order, rankedRow{uint64(agent)<<32 | uint64(opponent), uint64(group.stepOf(i))<<32 | uint64(i)})
	}
	slices.SortFunc(order, func(x, y rankedRow) int {
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		return cmp.Compare(x[1], y[1])
	})
	return order
}

// gather makes t of those rows of another loose table whose numbers are in the lower halves of
// places.
func (t *rowTable) gather(of *rowTable, places []uint64) {
	t.state, t.action = pickInto(t.state, of.state, places), pickInto(t.action, of.action, places)
	if of.step != nil {
		t.step = pickInto(t.step, of.step, places)
	}
	if of.opponent != nil {
		t.opponent = pickInto(t.opponent, of.opponent, places)
	}
	t.next, t.prob, t.returns = pickInto(t.next, of.next, places), pickInto(t.prob, of.prob, places), t.returns[:0]
	for _, p := range places {
		i := int(uint32(p))
		t.returns = append(t.returns, of.returns[i*t.dim:(i+1)*t.dim]...)
	}
}

func pickInto[T any](dst, column []T, places []uint64) []T {
	dst = dst[:0]
	for _, p := range places {
		dst = append(dst, column[uint32(p)])
	}
	return dst
}
