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
	if s.Offset != nil && s.inOrder() {
		return
	}
	s.loosen(states)
	s.join(s.gatherParts())
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
func part(column []int32, lo, hi int) []int32 {
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

// A loose table is divided by ranges of states into parts. A part has blocks of the columns,
// which it gets one by one, so that a row is written to its part as it comes and the caches of
// processors can hold the places that are written to. Sorting a part then needs little memory.
const (
	partBits = 8
	block    = 64
)

// parts is what a loose table has besides.
type parts struct {
	shift int     // the part of a state is its number without so many bits
	free  []int   // where the next row of each part goes; a multiple of block if it needs a block
	owner []uint8 // the part of each block
	added []int32 // the number that each row had when it was added
	count int     // rows of all parts
	// places are where the rows go that are being added.
	places []int
}

// loosen makes the table loose. A row without successors gets one of probability 0.
func (t *rowTable) loosen(states int) {
	if t.Offset == nil {
		return
	}
	shift := max(0, bits.Len(uint(states-1))-partBits)
	loose := rowTable{dim: t.dim, parts: &parts{shift: shift, free: make([]int, (states-1)>>shift+1)}}
	loose.grow(0, max(cap(t.Next), len(t.Next)+1)+len(loose.free)*block)
	var outcomes []float64
	var row Transitions
	for i := range t.state {
		loose.begun = append(loose.begun, loose.count)
		outcomes = t.appendOutcomes(outcomes[:0], i)
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
	loose.begun = append(loose.begun, loose.count)
	*t = loose
}

// add adds transitions from number from on to a loose table, each a row. It writes one column
// after the other: the places of one are as many as the nearest cache of a processor holds.
func (t *rowTable) add(c *Transitions, from int) {
	if t.step == nil && slices.ContainsFunc(part(c.Step, from, len(c.State)),
		func(h int32) bool { return h != EveryStep }) {
		t.step = make([]int32, len(t.Next), cap(t.Next))
	}
	if t.opponent == nil && slices.ContainsFunc(part(c.Opponent, from, len(c.State)),
		func(o int32) bool { return o != 0 }) {
		t.opponent = make([]int32, len(t.Next), cap(t.Next))
	}
	t.places = t.places[:0]
	for _, state := range c.State[from:] {
		of := state >> t.shift
		i := t.free[of]
		if i%block == 0 {
			i = len(t.owner) * block
			t.owner = append(t.owner, uint8(of))
		}
		t.free[of] = i + 1
		t.places = append(t.places, i)
	}
	n := len(t.owner) * block
	t.state, t.action = scatter(t.state, n, t.places, c.State[from:]), scatter(t.action, n, t.places, c.Action[from:])
	t.Next, t.Prob = scatter(t.Next, n, t.places, c.Next[from:]), scatter(t.Prob, n, t.places, c.Probability[from:])
	if t.step != nil {
		t.step = scatter(t.step, n, t.places, part(c.Step, from, len(c.State)))
	}
	if t.opponent != nil {
		t.opponent = scatter(t.opponent, n, t.places, part(c.Opponent, from, len(c.State)))
	}
	t.Returns, t.added = longer(t.Returns, n*t.dim-len(t.Returns)), longer(t.added, n-len(t.added))
	for k, i := range t.places {
		copy(t.Returns[i*t.dim:(i+1)*t.dim], c.Returns[(from+k)*t.dim:])
		t.added[i] = int32(t.count + k)
	}
	t.count += len(t.places)
}

// scatter writes values to their places in a column, which it makes n entries long; zeros
// without values.
func scatter[T any](column []T, n int, places []int, values []T) []T {
	column = longer(column, n-len(column))
	if values == nil {
		for _, i := range places {
			var zero T
			column[i] = zero
		}
		return column
	}
	for k, i := range places {
		column[i] = values[k]
	}
	return column
}

func longer[T any](column []T, n int) []T {
	return slices.Grow(column, n)[:len(column)+n]
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

// gatherParts brings the blocks of each part together, in the order of the parts, and returns
// where the rows of each part begin and end.
func (t *rowTable) gatherParts() [][2]int {
	ranges, blocks := make([][2]int, len(t.free)), make([]int32, len(t.owner))
	at := make([]int, len(t.free)+1)
	for _, of := range t.owner {
		at[int(of)+1]++
	}
	for of, free := range t.free {
		at[of+1] += at[of]
		ranges[of] = [2]int{at[of] * block, at[of+1]*block - (block-free%block)%block}
	}
	for b, of := range t.owner {
		blocks[at[of]] = int32(b)
		at[of]++
	}
	for _, column := range []*[]int32{&t.state, &t.action, &t.Next, &t.added, &t.step, &t.opponent} {
		permute(*column, block, blocks)
	}
	permute(t.Prob, block, blocks)
	permute(t.Returns, block*t.dim, blocks)
	return ranges
}

// permute moves blocks of so many entries in place: from[b] comes to b.
func permute[T any](column []T, size int, from []int32) {
	done, held := make([]bool, len(from)), make([]T, size)
	for first := range from {
		if column == nil || done[first] {
			continue
		}
		copy(held, column[first*size:])
		b := first
		for ; int(from[b]) != first; b = int(from[b]) {
			copy(column[b*size:(b+1)*size], column[int(from[b])*size:])
			done[b] = true
		}
		copy(column[b*size:], held)
		done[b] = true
	}
}

// join sorts the rows of each part and joins those of the same step, state and actions, in
// place.
func (s *rowSorter) join(ranges [][2]int) {
	t := s.rowTable
	out := &rowTable{dim: t.dim, state: t.state[:0], action: t.action[:0], step: t.step[:0], opponent: t.opponent[:0],
		Kernel: NewKernel()}
	out.Offset, out.Next, out.Prob, out.Returns = room(out.Offset, t.count), t.Next[:0], t.Prob[:0], t.Returns[:0]
	sorter := partSorter{rowTable: t, s: s, states: make([]int32, 1<<t.shift)}
	var outcomes []float64
	for _, r := range ranges {
		sorter.sort(r[0], r[1])
		for lo := r[0]; lo < r[1]; {
			key, number := t.key(lo), t.numberOf(t.added[lo])
			last, hi := number, lo+1
			for ; hi < r[1] && t.key(hi) == key; hi++ {
				again := t.numberOf(t.added[hi])
				if !s.lines && again != last {
					s.fault(&RowError{Fault: RowTwice, Step: int(key.step), State: int(key.state),
						Action: int(key.action), Opponent: int(key.opponent),
						Row: int(again), First: int(last)})
				}
				last = again
			}
			s.origin = append(t.added[:len(out.state)], number)
			outcomes = append(outcomes[:0], t.Returns[lo*t.dim:hi*t.dim]...) // out begins where t does
			out.begin(key)
			out.Next, out.Prob = append(out.Next, t.Next[lo:hi]...), append(out.Prob, t.Prob[lo:hi]...)
			out.end(nil, outcomes)
			lo = hi
		}
	}
	*t = *out
}

// A partSorter sorts the rows of parts.
type partSorter struct {
	*rowTable
	s             *rowSorter
	places, spare []int32   // which row comes first, second, …, counted from the first of the part
	keys          []int32   // of the places
	states, few   []int32   // how many rows have each key
	agents, opps  []int32   // the actions of rows
	wide          []float64 // room for a column
}

// sort sorts rows lo to hi by state, actions and step. Those that have the same stay in the order
// in which they were added.
func (p *partSorter) sort(lo, hi int) {
	if lo == hi {
		return
	}
	p.places, p.keys = p.places[:0], p.keys[:0]
	base := p.state[lo] >> p.shift << p.shift
	for i, state := range p.state[lo:hi] {
		p.places, p.keys = append(p.places, int32(i)), append(p.keys, state-base)
	}
	p.byKey(p.places, p.states)
	from := 0
	for _, end := range p.states {
		if to := int(end); to > from {
			p.byActions(lo, p.places[from:to])
			from = to
		}
	}
	for _, column := range [][]int32{p.state, p.action, p.Next, p.added, p.step, p.opponent} {
		p.spare = reorder(part(column, lo, hi), 1, p.places, p.spare)
	}
	p.wide = reorder(p.Prob[lo:hi], 1, p.places, p.wide)
	p.wide = reorder(p.Returns[lo*p.dim:hi*p.dim], p.dim, p.places, p.wide)
}

// byActions sorts rows of one state by the ranks of their actions and by their steps.
func (p *partSorter) byActions(lo int, places []int32) {
	if len(places) == 1 {
		return
	}
	action, opponent := p.action[lo:], part(p.opponent, lo, len(p.state))
	p.agents, p.opps = pickInto(p.agents, action, places), pickInto(p.opps, opponent, places)
	p.s.rank(p.agents, p.opps)
	if p.step != nil {
		slices.SortStableFunc(places, func(i, j int32) int { return cmp.Compare(p.step[lo+int(i)], p.step[lo+int(j)]) })
	}
	p.byRank(places, opponent, &p.s.opp)
	p.byRank(places, action, &p.s.agent)
}

// byRank sorts places by the ranks of the names that a column has there.
func (p *partSorter) byRank(places, column []int32, r *dictionary) {
	if len(r.names) == 1 {
		return
	}
	p.keys = p.keys[:0]
	for _, i := range places {
		p.keys = append(p.keys, r.rank(column[i]))
	}
	p.few = longer(p.few[:0], len(r.names))
	p.byKey(places, p.few)
}

// byKey sorts places by their keys, which are less than len(ends), and leaves those with the same
// key as they are. It sets ends to where those with each key end.
func (p *partSorter) byKey(places, ends []int32) {
	clear(ends)
	for _, key := range p.keys {
		ends[key]++
	}
	sum := int32(0)
	for key, n := range ends {
		ends[key], sum = sum, sum+n
	}
	p.spare = longer(p.spare[:0], len(places))
	for i, key := range p.keys {
		p.spare[ends[key]] = places[i]
		ends[key]++
	}
	copy(places, p.spare)
}

// reorder moves the entries of a column, of so many numbers each, to their places. It returns
// the room that it took.
func reorder[T any](column []T, width int, places []int32, room []T) []T {
	if column == nil {
		return room
	}
	room = longer(room[:0], len(column))
	for i, place := range places {
		if width == 1 {
			room[i] = column[place]
			continue
		}
		for k := range width {
			room[i*width+k] = column[int(place)*width+k]
		}
	}
	copy(column, room)
	return room
}

// pickInto returns the entries of a column at the given places, nothing of nil.
func pickInto(dst, column, places []int32) []int32 {
	if column == nil {
		return nil
	}
	dst = dst[:0]
	for _, i := range places {
		dst = append(dst, column[i])
	}
	return dst
}
