package cmdp

import (
	"cmp"
	"slices"
	"sort"
)

// sort sorts the rows by state and by the ranks of their actions, and joins those that are parts of one. Rows that are
// in order stay as they are. The others become loose and are sorted: a counting sort by state, then one of each state
// by step, opponent and action. Columns are moved one after the other, since a large file does not fit in memory twice.
func (s *rowSorter) sort(states int) {
	if s.Offset != nil && s.inOrder() {
		return
	}
	s.loosen()
	sorter := stateSorter{rowSorter: s}
	added := sorter.sort(states)
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
			s.rank(s.action[lo:hi], part(s.opponent, lo, hi))
		}
		for i := lo + 1; i < hi; i++ {
			if s.compare(i-1, i) >= 0 {
				return false
			}
		}
		lo = hi
	}
	return true
}

// rank ranks the actions of a state, given for each of its rows.
func (s *rowSorter) rank(agent, opponent []int32) {
	s.agent.clear()
	s.opp.clear()
	for _, name := range agent {
		s.agent.add(name)
	}
	s.order[0](s.agent.names)
	if opponent == nil {
		s.opp.add(0)
		return
	}
	for _, name := range opponent {
		s.opp.add(name)
	}
	s.order[1](s.opp.names)
}

// part returns entries lo to hi of a column, nil for nil.
func part[N int | int32](column []int32, lo, hi N) []int32 {
	if column == nil {
		return nil
	}
	return column[lo:hi]
}

// compare compares two rows of the state whose actions were ranked.
func (s *rowSorter) compare(i, j int) int {
	k, l := s.key(i), s.key(j)
	return cmp.Or(cmp.Compare(s.agent.rank(k.action), s.agent.rank(l.action)),
		cmp.Compare(s.opp.rank(k.opponent), s.opp.rank(l.opponent)),
		cmp.Compare(k.step, l.step))
}

// loosen makes the table loose: each transition is a row. A row without successors gets one of probability 0.
func (t *rowTable) loosen() {
	if t.Offset == nil {
		return
	}
	loose := rowTable{dim: t.dim}
	loose.grow(0, max(cap(t.Next), len(t.Next)+1))
	var outcomes []float64
	var row Transitions
	for i := range t.state {
		loose.begun = append(loose.begun, len(loose.state))
		outcomes = t.appendOutcomes(outcomes[:0], i, t.dim)
		row.clear()
		_, prob := t.Row(i)
		for k, e := 0, t.Offset[i]; e < t.Offset[i+1]; k, e = k+1, e+1 {
			row.add(t.key(i), t.Next[e], prob[k], outcomes[k*t.dim:(k+1)*t.dim])
		}
		if t.Offset[i] == t.Offset[i+1] {
			row.add(t.key(i), 0, 0, t.ReturnsOf(i, t.dim))
		}
		loose.add(&row, 0)
	}
	loose.begun = append(loose.begun, len(loose.state))
	*t = loose
}

// add adds transitions from number from on to a loose table, each a row.
func (t *rowTable) add(c *Transitions, from int) {
	rows := len(t.state)
	t.state, t.action = append(t.state, c.State[from:]...), append(t.action, c.Action[from:]...)
	t.Next, t.Prob = append(t.Next, c.Next[from:]...), append(t.Prob, c.Probability[from:]...)
	t.Returns = append(t.Returns, c.Returns[from*t.dim:]...)
	t.step = appendSparse(t.step, c.Step, from, rows, len(t.state))
	t.opponent = appendSparse(t.opponent, c.Opponent, from, rows, len(t.state))
}

// appendSparse appends the entries from number from on of a column, nil if all are 0, to one with so many rows, which
// is nil as long as all are 0. It comes to have n rows.
func appendSparse(column, values []int32, from, rows, n int) []int32 {
	values = part(values, from, len(values))
	if column == nil && !slices.ContainsFunc(values, func(x int32) bool { return x != 0 }) {
		return nil
	}
	if column == nil {
		column = make([]int32, rows, n)
	}
	return append(append(column, values...), make([]int32, n-rows-len(values))...)
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

// join joins rows of the same step, state and actions, which follow one another, in place. added has the number that
// each had when it was added.
func (s *rowSorter) join(added []int32) {
	t := s.rowTable
	out := &rowTable{dim: t.dim, state: t.state[:0], action: t.action[:0], step: t.step[:0], opponent: t.opponent[:0],
		Kernel: NewKernel()}
	out.Offset, out.Next, out.Prob, out.Returns = room(out.Offset, len(t.state)), t.Next[:0], t.Prob[:0], t.Returns[:0]
	var outcomes []float64
	for lo := 0; lo < len(t.state); {
		key, number := t.key(lo), t.numberOf(added[lo])
		last, hi := number, lo+1
		for ; hi < len(t.state) && t.key(hi) == key; hi++ {
			again := t.numberOf(added[hi])
			if !s.lines && again != last {
				s.fault(&RowError{Fault: RowTwice, Step: int(key.step), State: int(key.state),
					Action: int(key.action), Opponent: int(key.opponent), Row: int(again), First: int(last)})
			}
			last = again
		}
		s.origin = append(added[:len(out.state)], number)
		outcomes = append(outcomes[:0], t.Returns[lo*t.dim:hi*t.dim]...) // out begins where t does
		out.begin(key)
		out.Next, out.Prob = append(out.Next, t.Next[lo:hi]...), append(out.Prob, t.Prob[lo:hi]...)
		out.end(nil, outcomes)
		lo = hi
	}
	*t = *out
}

// A stateSorter sorts the rows of a loose table. Those that have the same key stay in the order in which they were
// added. It moves a column as a whole, so that a processor fetches many entries at a time from all over memory.
type stateSorter struct {
	*rowSorter
	places, keys, ends []int32
	spare              []int32 // room for a column
}

// sort sorts the rows by state, action, opponent and step, and returns the numbers that they had.
func (p *stateSorter) sort(states int) (added []int32) {
	added = make([]int32, len(p.state))
	for i := range added {
		added[i] = int32(i)
	}
	ends := make([]int32, states)
	p.byKey(added, p.state, ends)
	for _, column := range []*[]int32{&p.state, &p.action, &p.step, &p.opponent} {
		p.spare = gather(column, 1, added, p.spare)
	}
	from := int32(0)
	for _, end := range ends {
		p.byActions(from, end, added)
		from = end
	}
	p.spare = gather(&p.Next, 1, added, p.spare)
	room := gather(&p.Prob, 1, added, nil)
	gather(&p.Returns, p.dim, added, room)
	return added
}

// byActions sorts rows [lo, hi), of one state, by the ranks of their actions and by their steps.
func (p *stateSorter) byActions(lo, hi int32, added []int32) {
	if hi < lo+2 {
		return
	}
	action, opponent, step := p.action[lo:hi], part(p.opponent, lo, hi), part(p.step, lo, hi)
	p.rank(action, opponent)
	p.places = p.places[:0]
	for i := range hi - lo {
		p.places = append(p.places, i)
	}
	if step != nil {
		slices.SortStableFunc(p.places, func(i, j int32) int { return cmp.Compare(step[i], step[j]) })
	}
	p.byRank(opponent, &p.opp)
	p.byRank(action, &p.agent)
	for _, column := range [][]int32{added[lo:hi], action, opponent, step} {
		moved := column
		gather(&moved, 1, p.places, p.spare)
		copy(column, moved)
	}
}

// byRank sorts places by the ranks of the names that a column has there.
func (p *stateSorter) byRank(column []int32, r *dictionary) {
	if len(r.names) == 1 {
		return
	}
	p.keys = p.keys[:0]
	for _, i := range p.places {
		p.keys = append(p.keys, r.rank(column[i]))
	}
	p.ends = longer(p.ends[:0], len(r.names))
	p.byKey(p.places, p.keys, p.ends)
}

// byKey sorts places by their keys, which are less than len(ends), and leaves those with the same
// key as they are. It sets ends to where those with each key end.
func (p *stateSorter) byKey(places, keys, ends []int32) {
	clear(ends)
	for _, key := range keys {
		ends[key]++
	}
	sum := int32(0)
	for key, n := range ends {
		ends[key], sum = sum, sum+n
	}
	p.spare = longer(p.spare[:0], len(places))
	for i, key := range keys {
		p.spare[ends[key]] = places[i]
		ends[key]++
	}
	copy(places, p.spare)
}

// gather makes entry i of a column, of so many numbers, the one at places[i], in other memory: that of room if it
// suffices. It returns the memory of the column. nil stays nil.
func gather[T any](column *[]T, width int, places []int32, room []T) []T {
	old := *column
	if old == nil {
		return room
	}
	out := longer(room[:0], len(old))
	for i, place := range places {
		if width == 1 {
			out[i] = old[place]
			continue
		}
		copy(out[i*width:(i+1)*width], old[int(place)*width:])
	}
	*column = out
	return old
}
