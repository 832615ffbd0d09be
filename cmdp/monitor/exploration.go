package monitor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
)

// An exploration goes through the pairs of a state and a tuple of memory values that can come
// up, numbers them and makes their rows.
type exploration struct {
	base     *cmdp.Model
	monitors []Monitor
	columns  []int
	offset   []int // of each monitor's rewards in all returns

	state, memory  []int32            // of each pair: its state, and the number of its tuple
	tuples         []int              // one memory value for each monitor
	startRewardDue []bool             // of each tuple: returns of the start are still to be paid
	pairs          [][]*page          // of each state, a page for every so many tuples; nil where none comes up
	tupleNumbers   []map[[2]int]int32 // number of a tuple, by that of its first part and the last value
	starts         []int32            // the pairs of the start states
	// layers holds the pairs that have rows in each kernel, in ascending order. A stationary base has one
	// layer, of all pairs that come up before the last step.
	layers  [][]int32
	kernels []cmdp.Kernel
	// epochs, if not nil, are those of which pairs are made, numbered epoch by epoch. An epoch is then a tuple.
	epochs *cmdp.Epochs
	most   int // if not 0, no rows are made, and explore gives up beyond so many pairs
	told   func(pairs int) error

	row              row
	returns, atStart []float64 // of the transition that is looked at, of the start
	memories         []int     // after it
	last             lastTuple
}

// A row is of the choice that is looked at.
type row struct {
	next                 []int32
	prob, mean, outcomes []float64
}

// A lastTuple is the tuple that was met last, and its number.
type lastTuple struct {
	memories []int
	unpaid   bool
	number   int32
}

func newExploration(spec Spec) exploration {
	m, monitors, columns := spec.Model, spec.Monitors, spec.Columns
	w := exploration{base: m, monitors: monitors, columns: columns, pairs: make([][]*page, m.States()),
		tupleNumbers: make([]map[[2]int]int32, len(monitors)), memories: make([]int, len(monitors)), told: spec.Told}
	width := m.Dim()
	for i, mon := range monitors {
		w.tupleNumbers[i] = make(map[[2]int]int32)
		w.offset = append(w.offset, width)
		width += mon.Rewards()
	}
	w.returns, w.atStart = make([]float64, width), make([]float64, width)
	if columns == nil {
		for i := range width {
			w.columns = append(w.columns, i)
		}
	}
	w.row.mean = make([]float64, len(w.columns))
	return w
}

// startMemories sets memories and atStart to those of a start state and reports whether anything is
// returned.
func (w *exploration) startMemories(state int) (pays bool) {
	clear(w.atStart)
	for i, m := range w.monitors {
		from := w.offset[i]
		dst := w.atStart[from : from+m.Rewards()]
		w.memories[i] = m.Start(dst, Transition{-1, -1, state, w.atStart[:from]})
		pays = pays || slices.ContainsFunc(dst, func(x float64) bool { return x != 0 })
	}
	return pays
}

// number returns the number of the tuple that memories holds.
func (w *exploration) number(unpaid bool) int32 {
	if w.last.unpaid == unpaid && slices.Equal(w.last.memories, w.memories) && w.last.memories != nil {
		return w.last.number // as a rule
	}
	prefix := 0
	if unpaid {
		prefix = -1
	}
	for i, v := range w.memories {
		id, ok := w.tupleNumbers[i][[2]int{prefix, v}]
		if !ok {
			id = int32(len(w.tupleNumbers[i]))
			if i == len(w.memories)-1 {
				w.tuples, w.startRewardDue = append(w.tuples, w.memories...), append(w.startRewardDue, unpaid)
			}
			w.tupleNumbers[i][[2]int{prefix, v}] = id
		}
		prefix = int(id)
	}
	w.last = lastTuple{append(w.last.memories[:0], w.memories...), unpaid, int32(prefix)}
	return int32(prefix)
}

// pairNumber returns the number of a pair, and whether it is new.
func (w *exploration) pairNumber(state, tuple int32) (pair int32, isNew bool) {
	at := int(tuple) / len(page{})
	for len(w.pairs[state]) <= at {
		w.pairs[state] = append(w.pairs[state], nil)
	}
	if w.pairs[state][at] == nil {
		w.pairs[state][at] = new(page)
	}
	number := &w.pairs[state][at][int(tuple)%len(page{})]
	isNew = *number == 0
	if isNew {
		w.state, w.memory = append(w.state, state), append(w.memory, tuple)
		*number = int32(len(w.state))
	}
	return *number - 1, isNew
}

// A page holds the numbers of pairs, plus one, of a state and of tuples with consecutive numbers; 0 stands for
// pairs that do not come up.
type page [4]int32

// errMany says that there are more pairs than most.
var errMany = errors.New("monitor: many pairs")

// explore numbers all pairs that can come up and makes their rows. Pairs of a step are met in the order of their
// numbers.
func (w *exploration) explore(bytes int) error {
	if w.base.Horizon() == 0 {
		return w.exploreEpochs(bytes)
	}
	w.start()
	now := slices.Sorted(slices.Values(w.starts))
	stationary := w.base.Stationary()
	if stationary {
		w.addLayer()
	}
	marked := []bool(nil)
	for h := 0; len(now) > 0 && h < w.base.Horizon(); h++ {
		if !stationary {
			w.addLayer()
		}
		var next []int32
		at := len(w.layers) - 1
		w.layers[at] = append(w.layers[at], now...)
		for i, pair := range now {
			come := func(to int32, isNew bool) {
				if !stationary {
					for int(to) >= len(marked) {
						marked = append(marked, false)
					}
					isNew, marked[to] = !marked[to], true
				}
				if isNew {
					next = append(next, to)
				}
			}
			if !w.visit(h, pair, w.rowsOf(at, pair), come) {
				come(pair, false)
			}
			switch {
			case w.most > 0 && len(w.state) > w.most:
				return errMany
			case i%often == 0:
				if err := w.goesOn(len(w.state), bytes); err != nil {
					return err
				}
			}
		}
		for _, pair := range next {
			if !stationary {
				marked[pair] = false
			}
		}
		slices.Sort(next)
		now = next
	}
	for !stationary && len(w.layers) < w.base.Horizon() {
		w.addLayer()
	}
	for h := range w.kernels {
		w.rowsOf(h, int32(len(w.state)))
	}
	if w.bytes() > bytes {
		return w.tooLarge(bytes)
	}
	return nil
}

// start finds the pairs of the start states.
func (w *exploration) start() {
	for _, st := range w.base.StartStates() {
		unpaid := w.startMemories(st.State)
		pair, _ := w.pairNumber(int32(st.State), w.number(unpaid))
		w.starts = append(w.starts, pair)
	}
}

func (w *exploration) addLayer() {
	w.layers = append(w.layers, nil)
	if w.most == 0 {
		w.kernels = append(w.kernels, cmdp.NewKernel())
	}
}

// rowsOf returns the kernel of a layer, to which the rows of a pair are to be appended; nil where none are made.
func (w *exploration) rowsOf(layer int, pair int32) *cmdp.Kernel {
	if w.kernels == nil {
		return nil
	}
	k := &w.kernels[layer]
	for len(k.First) <= int(pair) {
		k.EndState()
	}
	return k
}

// bytes estimates the memory of the product. A pair has its two numbers and a place in the table of pairs, beside the
// one in each kernel.
func (w *exploration) bytes() int {
	n := len(w.state) * 32
	for h := range w.kernels {
		n += w.kernels[h].Bytes()
	}
	return n
}

// often is after how many pairs or epochs it is looked whether to go on.
const often = 1 << 10

// goesOn tells how many pairs or epochs have been found. It is an error if what has been made takes more memory than
// bytes, or if whoever is told wants no more.
func (w *exploration) goesOn(found, bytes int) error {
	if w.bytes() > bytes {
		return w.tooLarge(bytes)
	}
	if w.told == nil {
		return nil
	}
	return w.told(found)
}

func (w *exploration) tooLarge(bytes int) error {
	var parts []string
	for i, m := range w.monitors {
		if n := len(w.values(i)); n > 1 {
			parts = append(parts, fmt.Sprintf("%s has %d values", m.Name(), n))
		}
	}
	return &cmdp.MemoryError{Err: fmt.Errorf("%d states and what is to be remembered make more than %d pairs, for "+
		"which %.3g GB do not suffice: %s; want a coarser resolution, narrower limits or fewer states",
		w.base.States(), len(w.state), float64(bytes)/1e9, strings.Join(parts, ", "))}
}

// visit goes through the rows of a pair at step h and appends them to k, unless that is nil. It calls come for each
// transition, and reports whether there are rows.
func (w *exploration) visit(h int, pair int32, k *cmdp.Kernel, come func(to int32, isNew bool)) bool {
	rows, d := w.base.Rows(h), w.base.Dim()
	s, tuple := int(w.state[pair]), w.memory[pair]
	unpaid := w.startRewardDue[tuple]
	if unpaid {
		w.startMemories(s)
	}
	first, end := rows.Choices(s)
	if first == end {
		clear(w.returns[:d])
		after := w.step(tuple, Transition{s, -1, s, nil}, unpaid)
		if after == tuple && !w.hasReturns() {
			return false
		}
		come(w.enter(int32(s), after, 1))
		w.endRow(k)
		return true
	}
	for c := first; c < end; c++ {
		next, prob := rows.Row(c)
		for e, to := range next {
			if prob[e] > 0 {
				copy(w.returns, rows.Outcome(c, e))
				come(w.enter(to, w.step(tuple, Transition{s, c, int(to), nil}, unpaid), prob[e]))
			}
		}
		w.endRow(k)
	}
	return true
}

// enter adds a transition to the row, with the returns in w.returns, and returns the pair that it leads to.
func (w *exploration) enter(state, tuple int32, probability float64) (pair int32, isNew bool) {
	pair, isNew = w.pairNumber(state, tuple)
	w.addOutcome(pair, probability)
	return pair, isNew
}

// addOutcome adds a transition to the row, with the returns in w.returns.
func (w *exploration) addOutcome(next int32, probability float64) {
	r := &w.row
	r.next, r.prob = append(r.next, next), append(r.prob, probability)
	for i, c := range w.columns {
		r.outcomes = append(r.outcomes, w.returns[c])
		r.mean[i] += probability * w.returns[c]
	}
}

// endRow appends the row to k, unless that is nil, and empties it.
func (w *exploration) endRow(k *cmdp.Kernel) {
	r := &w.row
	if k != nil {
		k.AppendRandom(r.next, r.prob, r.mean, r.outcomes)
	}
	r.next, r.prob, r.outcomes = r.next[:0], r.prob[:0], r.outcomes[:0]
	clear(r.mean)
}

// step sets w.returns to those of a transition, those of the model being there, and returns the tuple
// after it. With unpaid, atStart is added.
func (w *exploration) step(tuple int32, t Transition, unpaid bool) int32 {
	w.pay(tuple, t, unpaid)
	return w.number(false)
}

// pay is step without the number of the tuple, which w.memories holds.
func (w *exploration) pay(tuple int32, t Transition, unpaid bool) {
	n := len(w.monitors)
	for i, m := range w.monitors {
		from := w.offset[i]
		t.Returns = w.returns[:from]
		w.memories[i] = m.Step(w.returns[from:from+m.Rewards()], w.tuples[int(tuple)*n+i], t)
	}
	for i := w.base.Dim(); unpaid && i < len(w.returns); i++ {
		w.returns[i] += w.atStart[i]
	}
}

func (w *exploration) hasReturns() bool {
	return slices.ContainsFunc(w.returns, func(x float64) bool { return x != 0 })
}
