package markov

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// factors solve the system of a chain.
type factors interface {
	// solve sets x to the solution for a right-hand side, which may be x.
	solve(x, right []float64, transposed bool)
}

// triangularFactors are factors found by state elimination (Grassmann, Taksar, Heyman 1985): a state is left out and
// its predecessors lead on to its successors. Nothing is subtracted, so that every number has nearly the full
// precision, however long the chain may stay in the component.
type triangularFactors struct {
	order []int32   // states as they were eliminated, chain after chain
	out   []float64 // of each state, in the order of their numbers, what leaves it at that time
	lower sparse    // of each in turn, the later predecessors, with their share of it
	upper sparse    // of each in turn, the later successors, with the probability
}

// sparse holds lists of numbered entries, one after the other.
type sparse struct {
	first []int32
	at    []int32
	x     []float64
}

func (p *sparse) list(i int) ([]int32, []float64) {
	return p.at[p.first[i]:p.first[i+1]], p.x[p.first[i]:p.first[i+1]]
}

func (p *sparse) add(at int32, x float64) { p.at, p.x = append(p.at, at), append(p.x, x) }

func (p *sparse) end() { p.first = append(p.first, int32(len(p.at))) }

// reset forgets all factors.
func (f *triangularFactors) reset() {
	f.order, f.out = f.order[:0], f.out[:0]
	f.lower.reset()
	f.upper.reset()
}

// solve replaces the right-hand side y of a chain, whose factors begin at from, by the solution. It goes through the
// states as they were eliminated, and back. Transposed, lower and upper factors change places.
func (f *triangularFactors) solve(from int, y []float64, transposed bool) {
	first, second, out := &f.lower, &f.upper, f.out[from:]
	if transposed {
		first, second = second, first
	}
	order := f.order[from:][:len(y)]
	for i, s := range order {
		if transposed {
			y[s] /= out[s]
		}
		at, factor := first.list(from + i)
		for j, n := range at {
			y[n] += float64(factor[j] * y[s])
		}
	}
	for i, s := range slices.Backward(order) {
		at, factor := second.list(from + i)
		for j, n := range at {
			y[s] += float64(factor[j] * y[n])
		}
		if !transposed {
			y[s] /= out[s]
		}
	}
}

// An elimination is under way, or done: its memory serves the next one.
type elimination struct {
	rows     growingLists // of each state, its successors with the probabilities
	into     growingLists // of each state, the states whose rows have it, or had it
	leak     []float64
	gone     []bool
	position []int32 // of each state, its entry in the row at hand, from 1
	queue    degreeQueue
	out      []float64 // of the chain at hand, see triangularFactors
	f        triangularFactors
}

// growingLists holds lists that grow: one that has no room left moves to the end.
type growingLists struct {
	part []segment
	at   []int32
	x    []float64 // beside at, unless the lists are plain
}

type segment struct {
	from    int
	n, room int32
}

func (l *growingLists) of(s int32) []int32 {
	p := l.part[s]
	return l.at[p.from : p.from+int(p.n)]
}

func (l *growingLists) values(s int32) []float64 {
	p := l.part[s]
	return l.x[p.from : p.from+int(p.n)]
}

// add makes n the last entry of a list.
func (l *growingLists) add(s, n int32) *segment {
	p := &l.part[s]
	if p.n == p.room {
		from := len(l.at)
		p.room = 2*p.n + 4
		l.at = append(slices.Grow(l.at, int(p.room)), l.of(s)...)[:from+int(p.room)]
		if l.x != nil {
			l.x = append(slices.Grow(l.x, int(p.room)), l.values(s)...)[:from+int(p.room)]
		}
		p.from = from
	}
	l.at[p.from+int(p.n)] = n
	p.n++
	return p
}

// addValue is add with a value beside the entry.
func (l *growingLists) addValue(s, n int32, x float64) {
	p := l.add(s, n)
	l.x[p.from+int(p.n)-1] = x
}

// resized returns a slice of length n, all 0, in the memory of x if that suffices.
func resized[T any](x []T, n int) []T {
	x = grown(x, n)
	clear(x)
	return x
}

// grown returns a slice of length n, whatever it holds, in the memory of x if that suffices.
func grown[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// start makes room for n states.
func (e *elimination) start(n int) {
	e.rows.part, e.into.part = resized(e.rows.part, n), resized(e.into.part, n)
	e.gone, e.position = resized(e.gone, n), resized(e.position, n)
	from := len(e.f.out)
	e.f.out = slices.Grow(e.f.out, n)[:from+n]
	e.out = e.f.out[from:]
}

func (p *sparse) reset() { p.first, p.at, p.x = append(p.first[:0], 0), p.at[:0], p.x[:0] }

// factorize adds the factors of a chain, and reports false if there would be more than most entries in all, if
// the chain has a part that it does not leave, or if ctx ends.
func (e *elimination) factorize(ctx context.Context, y *Chain, most float64) bool {
	n := y.States()
	e.start(n)
	e.leak = append(e.leak[:0], y.leak...)
	e.load(y)
	e.queue.start(n, e.degree)
	for i := range int32(n) {
		s := e.queue.pop()
		// The others have at least as many neighbours, and as a rule more and more.
		filled := float64(len(e.f.upper.at) + len(e.f.lower.at))
		ahead := 2 * math.Sqrt(float64(e.queue.key[s])) * float64(int32(n)-i)
		if filled+ahead > most || !e.eliminate(s) {
			return false
		}
		if i%checkEvery == checkEvery-1 {
			if ctx.Err() != nil {
				return false
			}
			y.progress.At(eliminating, float64(i)/float64(n), n)
		}
	}
	return true
}

// eliminating is what those who wait are told.
const eliminating = "eliminating states"

// checkEvery is after how many states an elimination looks whether it is to go on. The last ones may
// have thousands of neighbours.
const checkEvery = 64

// load copies the rows, entries for the same successor added up, with some room to grow.
func (e *elimination) load(y *Chain) {
	const room = 2
	for s := range e.rows.part {
		e.rows.part[s].room = y.first[s+1] - y.first[s] + room
		e.into.part[s].room = room
	}
	for _, n := range y.next {
		e.into.part[n].room++
	}
	size := 0
	for _, l := range []*growingLists{&e.rows, &e.into} {
		size = 0
		for s := range l.part {
			l.part[s].from = size
			size += int(l.part[s].room)
		}
		l.at = grown(l.at, size)
	}
	e.rows.x = grown(e.rows.x, size)
	for s := range int32(y.States()) {
		for j := y.first[s]; j < y.first[s+1]; j++ {
			e.addEntry(s, y.next[j], y.prob[j])
		}
		e.clearPositions(s)
	}
}

// addEntry adds p to the entry of state s for n, with position telling which that is.
func (e *elimination) addEntry(s, n int32, p float64) {
	if i := e.position[n]; i > 0 {
		e.rows.values(s)[i-1] += p
		return
	}
	e.rows.addValue(s, n, p)
	e.into.add(n, s)
	e.position[n] = e.rows.part[s].n
}

// clearPositions clears the places of a row.
func (e *elimination) clearPositions(s int32) {
	for _, n := range e.rows.of(s) {
		e.position[n] = 0
	}
}

func (e *elimination) degree(s int32) int64 { return int64(e.into.part[s].n) * int64(e.rows.part[s].n) }

// eliminate leaves out a state, and reports whether anything leaves it.
func (e *elimination) eliminate(s int32) bool {
	at, x := e.rows.of(s), e.rows.values(s)
	out := e.leak[s] + floats.Sum(x)
	if !(out > 0) {
		return false
	}
	e.gone[s], e.out[s] = true, out
	e.f.order = append(e.f.order, s)
	e.f.upper.at, e.f.upper.x = append(e.f.upper.at, at...), append(e.f.upper.x, x...)
	e.f.upper.end()
	for _, t := range e.into.of(s) {
		if !e.gone[t] {
			if share, ok := e.redirect(t, s, out); ok {
				e.f.lower.add(t, share)
				e.changed(t)
			}
		}
	}
	e.f.lower.end()
	for _, n := range e.rows.of(s) {
		// Those that are gone do not count any more.
		into, kept := e.into.of(n), int32(0)
		for _, t := range into {
			if !e.gone[t] {
				into[kept] = t
				kept++
			}
		}
		e.into.part[n].n = kept
		e.changed(n)
	}
	return true
}

func (e *elimination) changed(s int32) { e.queue.change(s, e.degree(s)) }

// redirect lets state t lead to where s leads, in place of s, and returns its share.
func (e *elimination) redirect(t, s int32, out float64) (share float64, ok bool) {
	for j, n := range e.rows.of(t) {
		e.position[n] = int32(j + 1)
	}
	at := e.position[s] - 1
	if at >= 0 {
		share = e.rows.values(t)[at] / out
		e.leak[t] += float64(share * e.leak[s])
		own := e.rows.part[s]
		for j := own.from; j < own.from+int(own.n); j++ {
			if n := e.rows.at[j]; n != t { // not to itself
				e.addEntry(t, n, float64(share*e.rows.x[j]))
			}
		}
	}
	e.clearPositions(t)
	if at >= 0 {
		last := e.rows.part[t].n - 1
		to, x := e.rows.of(t), e.rows.values(t)
		to[at], x[at] = to[last], x[last]
		e.rows.part[t].n = last
	}
	return share, at >= 0
}

// A degreeQueue gives a state of the least degree, up to a sixteenth where that is large. It holds a list of states
// for each degree or, from 32 on, for degrees that share their first five bits.
type degreeQueue struct {
	key        []int64 // of each state, its degree
	head       []int32 // of each list, its first state, or none
	next, last []int32 // of each state, its neighbours in the list
	least      int     // no list before is in use
}

const none = -1

// start makes a queue of states with the given degrees; among equals the first ones come first.
func (q *degreeQueue) start(states int, degree func(s int32) int64) {
	q.key, q.next, q.last = grown(q.key, states), grown(q.next, states), grown(q.last, states)
	q.head = grown(q.head, listOf(int64(states)*int64(states))+1)
	for i := range q.head {
		q.head[i] = none
	}
	for s := int32(states) - 1; s >= 0; s-- {
		q.key[s] = degree(s)
		q.push(s)
	}
	q.least = 0
}

// listOf returns the number of the list for a degree.
func listOf(degree int64) int {
	shift := max(0, bits.Len64(uint64(degree))-5)
	return 16*shift + int(degree>>shift)
}

func (q *degreeQueue) push(s int32) {
	at := listOf(q.key[s])
	q.least = min(q.least, at)
	q.last[s], q.next[s] = none, q.head[at]
	if n := q.head[at]; n != none {
		q.last[n] = s
	}
	q.head[at] = s
}

func (q *degreeQueue) remove(s int32) {
	before, after := q.last[s], q.next[s]
	if before != none {
		q.next[before] = after
	} else {
		q.head[listOf(q.key[s])] = after
	}
	if after != none {
		q.last[after] = before
	}
}

func (q *degreeQueue) pop() int32 {
	for q.head[q.least] == none {
		q.least++
	}
	s := q.head[q.least]
	q.remove(s)
	return s
}

// change gives a state in the queue another degree.
func (q *degreeQueue) change(s int32, degree int64) {
	if listOf(degree) == listOf(q.key[s]) {
		q.key[s] = degree
		return
	}
	q.remove(s)
	q.key[s] = degree
	q.push(s)
}
