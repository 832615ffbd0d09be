package exact

import "math"

// factors are those of a chain, found by state elimination (Grassmann, Taksar, Heyman
// 1985): a state is left out and its predecessors lead on to its successors. Nothing is subtracted, so that every number has
// nearly the full precision, however long the chain may stay in the component.
type factors struct {
	order []int32   // states as they were eliminated
	out   []float64 // of each state, what leaves it at that time
	lower sparse    // of each in turn, the later predecessors, with their share of it
	upper sparse    // of each in turn, the later successors, with the probability
	y     []float64
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

// solve sets x to the solution for a right-hand side, which may be x.
func (f *factors) solve(x, right []float64, transposed bool) {
	y := f.y
	copy(y, right)
	if transposed {
		for i, s := range f.order {
			y[s] /= f.out[s]
			at, p := f.upper.list(i)
			for j, n := range at {
				y[n] += float64(p[j] * y[s])
			}
		}
		for i := len(f.order) - 1; i >= 0; i-- {
			s := f.order[i]
			at, share := f.lower.list(i)
			for j, t := range at {
				y[s] += float64(share[j] * y[t])
			}
		}
		copy(x, y)
		return
	}
	for i, s := range f.order {
		at, share := f.lower.list(i)
		for j, t := range at {
			y[t] += float64(share[j] * y[s])
		}
	}
	for i := len(f.order) - 1; i >= 0; i-- {
		s := f.order[i]
		at, p := f.upper.list(i)
		for j, n := range at {
			y[s] += float64(p[j] * y[n])
		}
		y[s] /= f.out[s]
	}
	copy(x, y)
}

// An elimination is under way, or done: its memory serves the next one.
type elimination struct {
	count []int32
	slab  struct {
		into, at []int32
		x        []float64
	}
	rows  []row
	into  [][]int32 // of each state, the states whose rows have it, or had it
	leak  []float64
	gone  []bool
	place []int32 // of each state, its entry in the row at hand, from 1
	queue queue
	f     factors
}

type row struct {
	at []int32
	x  []float64
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
	e.rows, e.into = resized(e.rows, n), resized(e.into, n)
	e.gone, e.place, e.count = resized(e.gone, n), resized(e.place, n), resized(e.count, n+1)
	f := &e.f
	f.order, f.out, f.y = f.order[:0], resized(f.out, n), resized(f.y, n)
	f.lower.reset()
	f.upper.reset()
	e.queue.key, e.queue.of, e.queue.place = e.queue.key[:0], e.queue.of[:0], e.queue.place[:0]
}

func (p *sparse) reset() { p.first, p.at, p.x = append(p.first[:0], 0), p.at[:0], p.x[:0] }

// factorize returns nil if there would be more than most entries, or if the chain has
// a part that it does not leave. The factors are good until the next elimination.
func (e *elimination) factorize(y *chain, most int) *factors {
	n := y.states()
	e.start(n)
	e.leak = append(e.leak[:0], y.leak...)
	e.load(y)
	const plain = 12 // states up to which the order does not matter
	if n > plain {
		e.queue.key, e.queue.place = resized(e.queue.key, n), resized(e.queue.place, n)
		for s := range int32(n) {
			e.queue.key[s], e.queue.place[s] = e.degree(s), s
			e.queue.of = append(e.queue.of, s)
		}
		e.queue.init()
	}
	for i := range int32(n) {
		s := i
		if n > plain {
			s = e.queue.pop()
			// The others have at least as many neighbours, and as a rule more and more.
			if filled := len(e.f.upper.at) + len(e.f.lower.at); float64(filled)+2*math.Sqrt(float64(e.queue.key[s]))*float64(int32(n)-i) > float64(most) {
				return nil
			}
		}
		if !e.eliminate(s) {
			return nil
		}
	}
	return &e.f
}

// load copies the rows, entries for the same successor added up, with some room to grow.
func (e *elimination) load(y *chain) {
	const room = 4
	count := e.count
	for _, n := range y.next {
		count[n+1]++
	}
	for s := 1; s < len(count); s++ {
		count[s] += count[s-1] + room
	}
	size := len(y.next) + room*len(e.rows)
	into, at, x := grown(e.slab.into, size), grown(e.slab.at, size), grown(e.slab.x, size)
	e.slab.into, e.slab.at, e.slab.x = into, at, x
	for s := range e.into {
		e.into[s] = into[count[s]:count[s]:count[s+1]]
	}
	for s := range int32(len(e.rows)) {
		begin, end := y.first[s]+room*s, y.first[s+1]+room*(s+1)
		r := row{at[begin:begin:end], x[begin:begin:end]}
		for j := y.first[s]; j < y.first[s+1]; j++ {
			n := y.next[j]
			if i := e.place[n]; i > 0 {
				r.x[i-1] += y.prob[j]
				continue
			}
			r.at, r.x = append(r.at, n), append(r.x, y.prob[j])
			e.place[n] = int32(len(r.at))
			e.into[n] = append(e.into[n], s)
		}
		e.rows[s] = r
		for _, n := range r.at {
			e.place[n] = 0
		}
	}
}

func (e *elimination) degree(s int32) int { return len(e.into[s]) * len(e.rows[s].at) }

// eliminate leaves out a state, and reports whether anything leaves it.
func (e *elimination) eliminate(s int32) bool {
	out := e.leak[s]
	own := e.rows[s]
	for _, p := range own.x {
		out += p
	}
	if !(out > 0) {
		return false
	}
	e.gone[s], e.f.out[s] = true, out
	e.f.order = append(e.f.order, s)
	for j, n := range own.at {
		e.f.upper.add(n, own.x[j])
	}
	e.f.upper.end()
	for _, t := range e.into[s] {
		if !e.gone[t] {
			if share, ok := e.replace(t, s, out); ok {
				e.f.lower.add(t, share)
				e.changed(t)
			}
		}
	}
	e.f.lower.end()
	for _, n := range own.at {
		// Those that are gone do not count any more.
		kept := e.into[n][:0]
		for _, t := range e.into[n] {
			if !e.gone[t] {
				kept = append(kept, t)
			}
		}
		e.into[n] = kept
		e.changed(n)
	}
	e.into[s], e.rows[s] = nil, row{}
	return true
}

func (e *elimination) changed(s int32) {
	if len(e.queue.key) > 0 {
		e.queue.key[s] = e.degree(s)
		e.queue.fix(e.queue.place[s])
	}
}

// replace lets state t lead to where s leads, in place of s, and returns its share.
func (e *elimination) replace(t, s int32, out float64) (share float64, ok bool) {
	r := &e.rows[t]
	at := -1
	for j, n := range r.at {
		e.place[n] = int32(j + 1)
		if n == s {
			at = j
		}
	}
	if at >= 0 {
		share = r.x[at] / out
		e.leak[t] += float64(share * e.leak[s])
		for j, n := range e.rows[s].at {
			if n == t {
				continue // and so to itself
			}
			p := float64(share * e.rows[s].x[j])
			if i := e.place[n]; i > 0 {
				r.x[i-1] += p
				continue
			}
			r.at, r.x = append(r.at, n), append(r.x, p)
			e.into[n] = append(e.into[n], t)
		}
	}
	for _, n := range r.at {
		e.place[n] = 0
	}
	if at >= 0 {
		last := len(r.at) - 1
		r.at[at], r.x[at] = r.at[last], r.x[last]
		r.at, r.x = r.at[:last], r.x[:last]
	}
	return share, at >= 0
}

// A queue is a heap that gives the state of the least degree, the one with the least
// number among several.
type queue struct {
	key   []int
	of    []int32
	place []int32 // of each state in of
}

func (q *queue) less(a, b int32) bool {
	return q.key[a] < q.key[b] || q.key[a] == q.key[b] && a < b
}

func (q *queue) init() {
	for i := int32(len(q.of)/2) - 1; i >= 0; i-- {
		q.down(i)
	}
}

func (q *queue) pop() int32 {
	s, last := q.of[0], len(q.of)-1
	q.put(q.of[last], 0)
	if q.of = q.of[:last]; last > 0 {
		q.down(0)
	}
	return s
}

// fix moves the state at place i to where its key belongs.
func (q *queue) fix(i int32) { q.down(q.up(i)) }

func (q *queue) put(s, i int32) { q.of[i], q.place[s] = s, i }

func (q *queue) up(i int32) int32 {
	s := q.of[i]
	for i > 0 && q.less(s, q.of[(i-1)/2]) {
		q.put(q.of[(i-1)/2], i)
		i = (i - 1) / 2
	}
	q.put(s, i)
	return i
}

func (q *queue) down(i int32) {
	s := q.of[i]
	for n := int32(len(q.of)); 2*i+1 < n; {
		child := 2*i + 1
		if child+1 < n && q.less(q.of[child+1], q.of[child]) {
			child++
		}
		if !q.less(q.of[child], s) {
			break
		}
		q.put(q.of[child], i)
		i = child
	}
	q.put(s, i)
}
