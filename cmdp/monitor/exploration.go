package monitor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmdpsolve/cmdp"
)

// An exploration goes through the pairs of a state and a tuple of memory values that can come
// up, and numbers them.
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
	layers           [][]int32
	choices, entries []int // of each kernel
	most             int   // if not 0, count gives up beyond so many pairs
	random           bool  // returns of a choice depend on where it leads

	returns, before, atStart []float64 // of the transition that is looked at, of the first of its choice, of the start
	memories                 []int     // after it
}

func newExploration(m *cmdp.Model, monitors []Monitor, columns []int) exploration {
	w := exploration{base: m, monitors: monitors, columns: columns, pairs: make([][]*page, m.States()),
		tupleNumbers: make([]map[[2]int]int32, len(monitors)), memories: make([]int, len(monitors)),
		random: m.RandomReturns()}
	width := m.Dim()
	for i, mon := range monitors {
		w.tupleNumbers[i] = make(map[[2]int]int32)
		w.offset = append(w.offset, width)
		width += mon.Rewards()
	}
	w.returns, w.before, w.atStart = make([]float64, width), make([]float64, width), make([]float64, width)
	if columns == nil {
		for i := range width {
			w.columns = append(w.columns, i)
		}
	}
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

// count numbers all pairs that can come up and counts their rows.
func (w *exploration) count(bytes int) error {
	var now []int32
	for _, st := range w.base.StartStates() {
		unpaid := w.startMemories(st.State)
		pair, _ := w.pairNumber(int32(st.State), w.number(unpaid))
		w.starts = append(w.starts, pair)
		now = append(now, pair)
	}
	slices.Sort(now)
	stationary := w.base.Stationary()
	if stationary {
		w.addLayer()
	}
	marked := []bool(nil)
	for h := 0; len(now) > 0 && (w.base.Horizon() == 0 || h < w.base.Horizon()); h++ {
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
			if !w.visit(h, pair, func() { w.choices[at]++ }, func(to int32, isNew bool, _ float64) {
				w.entries[at]++
				come(to, isNew)
			}) {
				come(pair, false)
			}
			switch {
			case w.most > 0 && len(w.state) > w.most:
				return errMany
			case i%1024 == 0 && w.bytes() > bytes:
				return w.tooLarge(bytes)
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
	if w.bytes() > bytes {
		return w.tooLarge(bytes)
	}
	return nil
}

func (w *exploration) addLayer() {
	w.layers, w.choices, w.entries = append(w.layers, nil), append(w.choices, 0), append(w.entries, 0)
}

// bytes estimates the memory of the product. A pair has its two numbers, a place in the table of pairs
// and one in each kernel.
func (w *exploration) bytes() int {
	n := len(w.state) * (32 + 4*len(w.layers))
	perEntry, perChoice := 12, 8+8*len(w.columns)
	if w.random {
		perEntry += 8 * len(w.columns)
	}
	for h := range w.choices {
		n += w.choices[h]*perChoice + w.entries[h]*perEntry
	}
	return n
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

// visit goes through the rows of a pair at step h. It calls choice for each choice, then entry for
// each transition of it, with w.returns set, and reports whether there are rows.
func (w *exploration) visit(h int, pair int32, choice func(),
	entry func(to int32, isNew bool, probability float64)) bool {
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
		if after == tuple && !w.pays() {
			return false
		}
		choice()
		to, isNew := w.pairNumber(int32(s), after)
		entry(to, isNew, 1)
		return true
	}
	for c := first; c < end; c++ {
		choice()
		alone := true
		next, prob := rows.Row(c)
		for e, to := range next {
			if prob[e] == 0 {
				continue
			}
			copy(w.returns, rows.Outcome(c, e))
			after := w.step(tuple, Transition{s, c, int(to), nil}, unpaid)
			if !w.random {
				if alone {
					copy(w.before, w.returns)
				} else {
					w.random = !slices.Equal(w.before, w.returns)
				}
			}
			alone = false
			pair, isNew := w.pairNumber(to, after)
			entry(pair, isNew, prob[e])
		}
	}
	return true
}

// step sets w.returns to those of a transition, those of the model being there, and returns the tuple
// after it. With unpaid, atStart is added.
func (w *exploration) step(tuple int32, t Transition, unpaid bool) int32 {
	n := len(w.monitors)
	for i, m := range w.monitors {
		from := w.offset[i]
		t.Returns = w.returns[:from]
		w.memories[i] = m.Step(w.returns[from:from+m.Rewards()], w.tuples[int(tuple)*n+i], t)
	}
	if unpaid {
		for i := w.base.Dim(); i < len(w.returns); i++ {
			w.returns[i] += w.atStart[i]
		}
	}
	return w.number(false)
}

func (w *exploration) pays() bool {
	return slices.ContainsFunc(w.returns, func(x float64) bool { return x != 0 })
}

// kernel builds the kernel of a layer.
func (w *exploration) kernel(h int) cmdp.Kernel {
	d := len(w.columns)
	k := cmdp.NewKernel()
	k.First, k.Offset = append(make([]int32, 0, len(w.state)+1), 0), append(make([]int, 0, w.choices[h]+1), 0)
	k.Next = make([]int32, 0, w.entries[h])
	if w.random {
		k.Outcomes = make([]float64, 0, w.entries[h]*d)
	}
	var next []int32
	var prob []float64
	mean := make([]float64, d)
	end := func() {
		if len(next) > 0 {
			k.Append(next, prob, mean)
		}
		next, prob = next[:0], prob[:0]
		clear(mean)
	}
	layer := w.layers[h]
	for pair := range w.state {
		if len(layer) > 0 && int(layer[0]) == pair {
			layer = layer[1:]
			w.visit(h, int32(pair), end, func(to int32, _ bool, p float64) {
				next, prob = append(next, to), append(prob, p)
				w.addReturns(&k, mean, p)
			})
			end()
		}
		k.EndState()
	}
	return k
}

// addReturns adds the returns of a transition of the last choice, which are those in w.returns.
func (w *exploration) addReturns(k *cmdp.Kernel, mean []float64, p float64) {
	for i, c := range w.columns {
		x := w.returns[c]
		if w.random {
			k.Outcomes = append(k.Outcomes, x)
			mean[i] += p * x
		} else {
			mean[i] = x
		}
	}
}
