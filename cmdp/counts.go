package cmdp

import (
	"fmt"
	"math"
	"slices"
)

// Counts are what a learner has seen of an environment: how often each choice
// was taken at each step and which successors followed. They are sparse: memory
// and the time to plan on them grow with the (step, choice, successor) entries
// seen so far, not with the size of the environment. With pooling, all steps
// share one set of counts, which is right only where the kernel does not depend
// on the step.
//
// Counts must not be used concurrently.
type Counts struct {
	shape    *Shape
	layers   []layer           // one if pooled, else H
	learned  *ReturnConfidence // nil if returns are known
	entries  int
	episodes int
}

// A layer holds the counts of one step, or of all.
type layer struct {
	at      []int32     // position of each state in seen, plus one; 0 if not seen
	seen    []seenState // in the order of discovery
	choices []choice    // those of each seen state together
	arena   []entry     // successors of each choice together, with room to grow
	waste   int         // entries of arena that no choice owns
	returns []returnStat
}

type seenState struct {
	state      int32
	first, end int32 // its choices are choices[first:end]
	number     int32 // the shape's number of the first of them
	opponents  int32 // actions of the opponent
}

type choice struct {
	rates
	first, end int32 // its successors are arena[first:end]
	room       int32 // it owns arena[first:room]
}

// rates are functions of the number of visits t alone, kept so that planning
// takes neither their roots nor their quotients.
type rates struct {
	visits   float64 // t
	inverse  float64 // 1/t
	root     float64 // 1/√t
	inverse1 float64 // 1/(t−1), +Inf at t = 1
	root1    float64 // 1/√(t−1)
}

func newRates(visits float64) rates {
	return rates{visits, 1 / visits, math.Sqrt(1 / visits), 1 / (visits - 1), math.Sqrt(1 / (visits - 1))}
}

type entry struct {
	next  int32
	count uint32
}

// NewCounts returns empty counts for an environment of the given shape. If
// returns have to be learned too, confidence says how; else it is nil. Pooling
// needs a shape with the same choices at every step.
func NewCounts(shape *Shape, pooled bool, confidence *ReturnConfidence) (*Counts, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	if pooled && !shape.SameEveryStep() {
		return nil, fmt.Errorf("cmdp: counts cannot be pooled over steps that offer different choices")
	}
	c := &Counts{shape: shape, learned: confidence, layers: make([]layer, shape.horizon)}
	if pooled {
		c.layers = c.layers[:1]
	}
	for h := range c.layers {
		c.layers[h].at = make([]int32, shape.states)
	}
	return c, nil
}

// Pooled reports whether all steps share their counts.
func (c *Counts) Pooled() bool { return len(c.layers) == 1 && c.shape.horizon > 1 }

// Entries returns the number of (step, choice, successor) entries seen.
func (c *Counts) Entries() int { return c.entries }

// Visits returns how often an action, in a game a joint one, was taken in a state
// at step h (with pooling: at any step).
func (c *Counts) Visits(h, state, action int) int {
	l := c.layer(h)
	if i, ok := l.find(state, action); ok {
		return int(l.choices[i].visits)
	}
	return 0
}

// find returns the number of an action's choice in the layer, and whether its state was seen.
func (l *layer) find(state, action int) (choice int, ok bool) {
	if i := l.at[state]; i > 0 {
		return int(l.seen[i-1].first) + action, true
	}
	return 0, false
}

// Seen returns how many different states were seen at step h.
func (c *Counts) Seen(h int) int { return len(c.layer(h).seen) }

func (c *Counts) layer(h int) *layer { return &c.layers[min(h, len(c.layers)-1)] }

// Observe adds an episode.
func (c *Counts) Observe(tr *Trajectory) {
	c.episodes++
	for h := range tr.Steps {
		l := c.layer(h)
		l.meet(c.shape, h, tr.States[h])
		if tr.Actions[h] < 0 {
			continue // the process rested
		}
		if c.shape.factor == nil { // allocates nothing
			c.observe(h, tr.States[h], tr.Actions[h], tr.States[h+1], tr.Return(h))
			continue
		}
		c.shape.EachEquivalent(h, tr.States[h], tr.Actions[h], tr.States[h+1], tr.Return(h),
			func(state, action, next int, returns []float64) {
				c.observe(h, state, action, next, returns)
			})
	}
}

// observe counts a transition.
func (c *Counts) observe(h, state, action, next int, returns []float64) {
	i := c.add(h, state, action, next, 1)
	if c.learned != nil {
		c.layer(h).addReturn(c.learned, i, returns)
	}
}

// add counts visits of an action that led to next, and returns the number of the choice in its layer.
func (c *Counts) add(h, state, action, next int, times uint32) int {
	l := c.layer(h)
	s := l.meet(c.shape, h, state)
	i := int(s.first) + action
	if l.add(i, int32(next), times) {
		c.entries++
	}
	if len(c.layers) == 1 {
		// A successor of the last step is planned for as well.
		l.meet(c.shape, h, next)
	}
	return i
}

// meet returns the record of a state, which it makes if there is none.
func (l *layer) meet(sh *Shape, h, state int) seenState {
	if i := l.at[state]; i > 0 {
		return l.seen[i-1]
	}
	number, end := sh.Choices(h, state)
	n := end - number
	s := seenState{int32(state), int32(len(l.choices)), int32(len(l.choices) + n), int32(number),
		int32(sh.OpponentActions(h, state))}
	l.choices = append(l.choices, make([]choice, n)...)
	l.seen = append(l.seen, s)
	l.at[state] = int32(len(l.seen))
	return s
}

// add counts visits of choice i that led to next and reports whether this
// successor is new.
func (l *layer) add(i int, next int32, times uint32) bool {
	ch := &l.choices[i]
	ch.rates = newRates(ch.visits + float64(times))
	for e := ch.first; e < ch.end; e++ {
		if l.arena[e].next == next {
			l.arena[e].count += times
			return false
		}
	}
	if ch.end == ch.room {
		l.grow(i)
	}
	l.arena[ch.end] = entry{next, times}
	ch.end++
	return true
}

// grow moves the successors of choice i to the end of the arena with twice the
// room, and lays the arena out anew once half of it is waste.
func (l *layer) grow(i int) {
	ch := &l.choices[i]
	n := ch.end - ch.first
	if l.waste > 64 && 2*l.waste > len(l.arena) {
		l.compact()
	}
	l.waste += int(ch.room - ch.first)
	first := int32(len(l.arena))
	l.arena = append(l.arena, l.arena[ch.first:ch.end]...)
	l.arena = append(l.arena, make([]entry, max(2, 2*n)-n)...)
	ch.first, ch.end, ch.room = first, first+n, int32(len(l.arena))
}

// compact lays out the successors in the order in which planning reads them.
func (l *layer) compact() {
	old := slices.Clone(l.arena)
	l.arena, l.waste = l.arena[:0], 0
	for i := range l.choices {
		ch := &l.choices[i]
		first := int32(len(l.arena))
		l.arena = append(l.arena, old[ch.first:ch.room]...)
		ch.end += first - ch.first
		ch.room += first - ch.first
		ch.first = first
	}
}
