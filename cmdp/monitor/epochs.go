package monitor

import (
	"cmp"
	"container/heap"
)

// A countdown is a monitor whose memory goes down, as a rule, from one step to the next.
type countdown interface {
	// left is a number that does so.
	left(memory int) int
}

// epochs are the tuples with pairs whose rows are still to be made. That with the most left is the next one, so that
// pairs come to it no more after its turn.
type epochs struct {
	waiting [][]int32 // of each tuple, its pairs
	queue   []epoch   // a heap
}

type epoch struct {
	left  int
	tuple int32
}

func (e *epochs) Len() int { return len(e.queue) }
func (e *epochs) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e.queue[j].left, e.queue[i].left), cmp.Compare(e.queue[i].tuple, e.queue[j].tuple)) < 0
}
func (e *epochs) Swap(i, j int) { e.queue[i], e.queue[j] = e.queue[j], e.queue[i] }
func (e *epochs) Push(x any)    { e.queue = append(e.queue, x.(epoch)) }
func (e *epochs) Pop() any {
	last := e.queue[len(e.queue)-1]
	e.queue = e.queue[:len(e.queue)-1]
	return last
}

// add lets a pair wait.
func (e *epochs) add(w *exploration, pair int32) {
	tuple := w.memory[pair]
	for len(e.waiting) <= int(tuple) {
		e.waiting = append(e.waiting, nil)
	}
	if e.waiting[tuple] == nil {
		heap.Push(e, epoch{w.left(int(tuple)), tuple})
	}
	e.waiting[tuple] = append(e.waiting[tuple], pair)
}

// left adds up what is left in the monitors of a tuple.
func (w *exploration) left(tuple int) int {
	sum, n := 0, len(w.monitors)
	for i, m := range w.monitors {
		if c, ok := m.(countdown); ok {
			sum += c.left(w.tuples[tuple*n+i])
		}
	}
	return sum
}

// exploreEpochs is explore without a horizon. It goes on with the pairs of one tuple for as long as there are any, and
// numbers pairs as it does: those with the same amount of a cost left, which are an epoch of Hartmanns, Junges, Katoen
// and Quatmann (2018), then follow one another, as do their rows, and are solved one after the other.
func (w *exploration) exploreEpochs(bytes int) error {
	w.addLayer()
	var order []int32 // the pairs in the order of their rows
	var e epochs
	come := func(pair int32, isNew bool) {
		if isNew {
			e.add(w, pair)
		}
	}
	w.start()
	for _, pair := range w.starts {
		come(pair, true)
	}
	for len(e.queue) > 0 {
		tuple := heap.Pop(&e).(epoch).tuple
		for i := 0; i < len(e.waiting[tuple]); i++ {
			pair := e.waiting[tuple][i]
			w.visit(0, pair, w.rowsOf(0, int32(len(order))), come)
			order = append(order, pair)
			if i%often != 0 {
				continue
			}
			if err := w.goesOn(len(w.state), bytes); err != nil {
				return err
			}
		}
		e.waiting[tuple] = nil
	}
	w.rowsOf(0, int32(len(order)))
	if w.bytes() > bytes {
		return w.tooLarge(bytes)
	}
	w.renumber(order)
	return nil
}

// renumber gives the pairs, whose rows have been made in an order, the numbers of that order.
func (w *exploration) renumber(order []int32) {
	number, state, memory := make([]int32, len(order)), make([]int32, len(order)), make([]int32, len(order))
	for i, pair := range order {
		number[pair], state[i], memory[i] = int32(i), w.state[pair], w.memory[pair]
	}
	w.state, w.memory = state, memory
	for i, pair := range w.starts {
		w.starts[i] = number[pair]
	}
	next := w.kernels[0].Next
	for i, pair := range next {
		next[i] = number[pair]
	}
}
