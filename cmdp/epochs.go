package cmdp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Epochs describe a model without a horizon whose states are pairs of a state of another model and of an epoch, such
// as what is left of a bounded cost (Hartmanns, Junges, Katoen, Quatmann 2018). An episode goes from an epoch to later
// ones alone. The rows of a pair are those of its state, and need not be stored: transitions of the same letter lead
// from an epoch to the same one.
type Epochs struct {
	// Base is the model of the states. It has no horizon and discount 1.
	Base *Model
	// Start holds the epoch of each start state of Base.
	Start []int32
	// Letter holds the letter of each transition of Base that can happen, and Letters is how many there are.
	Letter  []int32
	Letters int
	// Next is the epoch after a transition, Next[epoch·Letters+letter], which is not before the epoch itself.
	Next []int32
	// Class is the class of each epoch. In the epochs of a class the same letters stay in the epoch, and choices have
	// the same returns: those of Classes, which else have the rows of Base without what never happens.
	Class   []int32
	Classes []Kernel
	// Dim is the number of coordinates of these returns.
	Dim int
	// Bytes bounds the memory that rows may take where they have to be stored, 0 for no bound.
	Bytes int

	reached bits // of each pair: it comes up
	offered bits // of each epoch and choice of Base; nil if all are
}

// bits are as many truth values as are needed, eight in a byte.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) has(i int) bool { return b[i/64]>>(i%64)&1 == 1 }

func (b bits) set(i int, x bool) {
	b[i/64] &^= 1 << (i % 64)
	if x {
		b[i/64] |= 1 << (i % 64)
	}
}

// Len returns the number of epochs.
func (e *Epochs) Len() int { return len(e.Class) }

// Pair returns the number of the pair of an epoch and a state.
func (e *Epochs) Pair(epoch, state int) int { return epoch*e.Base.states + state }

// Split returns epoch and state of a pair.
func (e *Epochs) Split(pair int) (epoch, state int) {
	return pair / e.Base.states, pair % e.Base.states
}

// After returns the epoch after a transition of a letter.
func (e *Epochs) After(epoch int, letter int32) int { return int(e.Next[epoch*e.Letters+int(letter)]) }

// ComesUp reports whether a pair comes up in the model that was made.
func (e *Epochs) ComesUp(pair int) bool { return e.reached.has(pair) }

// Offers reports whether a choice of Base is offered in an epoch.
func (e *Epochs) Offers(epoch int, c int32) bool {
	return e.offered == nil || e.offered.has(epoch*e.Base.Choices()+int(c))
}

// Restricted reports whether some choices are not offered.
func (e *Epochs) Restricted() bool { return e.offered != nil }

// Model returns the epochs as a model of totals, whose rows are generated: those of a pair are made when they are asked
// for. Pairs that do not come up are states without choices, and choices that are not offered have rows without
// successors. The kernels of Classes are kept.
func (e *Epochs) Model() (*Model, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	m := e.Base
	out := &Model{discount: 1, dim: e.Dim, states: e.Len() * m.states, rows: make([]*Rows, 1), epochs: e}
	if n := max(out.states, out.Choices()); n > math.MaxInt32 {
		return nil, fmt.Errorf("cmdp: epochs: %d pairs, with %d choices: more than can be numbered", out.states,
			out.Choices())
	}
	for i := range e.Classes {
		e.Classes[i].endRows(e.Dim)
		out.random = out.random || e.Classes[i].Outcomes != nil
	}
	out.start = e.startPairs()
	e.reach(out.start)
	return out, nil
}

// startPairs returns the distribution of the first pair.
func (e *Epochs) startPairs() (out []StartState) {
	for i, st := range e.Base.start {
		out = append(out, StartState{e.Pair(int(e.Start[i]), st.State), st.Probability})
	}
	return out
}

// Stored returns the model that was made with its rows stored. Pairs and choices have the same numbers, but for choices
// that are not offered, which are left out. A pair that does not come up stays where it is and returns nothing. It is a
// [MemoryError] if that takes more than Bytes, and that of ctx once it ends.
func (e *Epochs) Stored(ctx context.Context) (*Model, error) {
	k := &e.Classes[0]
	random := slices.ContainsFunc(e.Classes, func(k Kernel) bool { return k.Outcomes != nil })
	size := Size{States: e.Len() * e.Base.states, Kernels: 1, Dim: e.Dim, Random: random,
		Choices: float64(e.Len() * k.Choices()), Transitions: float64(e.Len() * len(e.Letter))}
	if err := size.Fits(e.Bytes); err != nil {
		return nil, err
	}
	out, nothing := NewKernel(), make([]float64, e.Dim)
	var next []int32
	const often = 1 << 12
	for pair := range size.States {
		if pair%often == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		epoch, s := e.Split(pair)
		k := &e.Classes[e.Class[epoch]]
		for c := k.First[s]; c < k.First[s+1]; c++ {
			switch {
			case !e.ComesUp(pair):
				out.Append([]int32{int32(pair)}, []float64{1}, nothing)
			case e.Offers(epoch, c):
				row, prob := k.Row(int(c))
				next = e.successors(append(next[:0], row...), epoch, c)
				out.AppendRandom(next, prob, k.ReturnsOf(int(c), e.Dim), k.OutcomesOf(int(c), e.Dim))
			}
		}
		out.EndState()
	}
	return NewModel(ModelSpec{Discount: 1, Dim: e.Dim, Start: e.startPairs(), Kernels: []Kernel{out}})
}

// successors turns the states that a choice of an epoch leads to into pairs.
func (e *Epochs) successors(next []int32, epoch int, c int32) []int32 {
	first, _ := e.Classes[0].Entries(int(c))
	for j, s := range next {
		next[j] = int32(e.Pair(e.After(epoch, e.Letter[first+j]), int(s)))
	}
	return next
}

func (e *Epochs) check() error {
	m := e.Base
	switch {
	case m == nil:
		return errors.New(noModel)
	case m.horizon > 0 || m.discount < 1 || m.Means() || m.epochs != nil:
		return errors.New("cmdp: epochs: want a model of totals with stored rows")
	case len(e.Classes) == 0 || len(e.Letter) != len(e.Classes[0].Next) || len(e.Next) != e.Len()*e.Letters ||
		len(e.Start) != len(m.start):
		return errors.New("cmdp: epochs: want a letter for each transition, an epoch after each letter, and one " +
			"for each start")
	}
	for epoch, class := range e.Class {
		for _, next := range e.Next[epoch*e.Letters:][:e.Letters] {
			if int(next) < epoch || int(next) >= e.Len() || int(class) >= len(e.Classes) {
				return fmt.Errorf("cmdp: epochs: epoch %d leads to %d: want a later one", epoch, next)
			}
		}
	}
	for i := range e.Classes {
		k := &e.Classes[i]
		if !slices.Equal(k.Offset, e.Classes[0].Offset) || !slices.Equal(k.First, m.Kernel(0).First) {
			return errors.New("cmdp: epochs: want classes with the rows of the base")
		}
	}
	return nil
}

// Enforce takes away choices after which chance alone may lead to an epoch that is broken. It returns the number of the
// first start from which no policy can be sure of that, −1 without one; if there is one, all choices are offered. It is
// to be called before Model, whose errors it has; a model that was made before is of no use then.
func (e *Epochs) Enforce(broken []bool) (losing int, err error) {
	if err := e.check(); err != nil {
		return -1, err
	}
	kept := newBits(e.Len() * e.Base.states) // pairs from which no broken epoch needs to come
	e.offered = newBits(e.Len() * e.Base.Choices())
	for epoch := e.Len() - 1; epoch >= 0; epoch-- {
		if broken[epoch] {
			continue
		}
		for s := range e.Base.states {
			kept.set(e.Pair(epoch, s), true)
		}
		for again := true; again; {
			again = e.drop(epoch, kept)
		}
	}
	for i, st := range e.Base.start {
		if !kept.has(e.Pair(int(e.Start[i]), st.State)) {
			e.offered = nil
			return i, nil
		}
	}
	return -1, nil
}

// drop finds the choices of an epoch that lead to pairs that are kept alone, and drops pairs without one. It reports
// whether any was.
func (e *Epochs) drop(epoch int, kept bits) (dropped bool) {
	k := &e.Classes[0]
	for s := range e.Base.states {
		pair := e.Pair(epoch, s)
		some := k.First[s] == k.First[s+1]
		for c := k.First[s]; c < k.First[s+1]; c++ {
			surely := kept.has(pair)
			next, _ := k.Row(int(c))
			for j, letter := range e.Letter[k.Offset[c]:k.Offset[c+1]] {
				surely = surely && kept.has(e.Pair(e.After(epoch, letter), int(next[j])))
			}
			e.offered.set(epoch*k.Choices()+int(c), surely)
			some = some || surely
		}
		if kept.has(pair) && !some {
			kept.set(pair, false)
			dropped = true
		}
	}
	return dropped
}

// reach finds the pairs that come up.
func (e *Epochs) reach(start []StartState) {
	e.reached = newBits(e.Len() * e.Base.states)
	met := make([][]int32, e.Len()) // states of each epoch, in the order in which they come up
	meet := func(pair int) {
		if !e.ComesUp(pair) {
			e.reached.set(pair, true)
			epoch, s := e.Split(pair)
			met[epoch] = append(met[epoch], int32(s))
		}
	}
	for _, st := range start {
		meet(st.State)
	}
	k := &e.Classes[0]
	for epoch := range met {
		for i := 0; i < len(met[epoch]); i++ {
			s := met[epoch][i]
			for c := k.First[s]; c < k.First[s+1]; c++ {
				next, _ := k.Row(int(c))
				for j, letter := range e.Letter[k.Offset[c]:k.Offset[c+1]] {
					if e.Offers(epoch, c) {
						meet(e.Pair(e.After(epoch, letter), int(next[j])))
					}
				}
			}
		}
		met[epoch] = nil
	}
}

// rows returns the rows of the model.
func (e *Epochs) rows(m *Model) *Rows {
	r := &Rows{first: make([]int32, 2), dim: e.Dim, epochs: e}
	if m.random {
		r.kernel.Outcomes, r.kernel.Random = []float64{}, []int{}
	}
	return r
}

// generateEpoch makes the rows of a pair.
func (r *Rows) generateEpoch(pair int) {
	e, own := r.epochs, &r.kernel
	epoch, s := e.Split(pair)
	k := &e.Classes[e.Class[epoch]]
	own.Offset, own.Next, own.Prob, own.Returns = append(own.Offset[:0], 0), own.Next[:0], own.Prob[:0], own.Returns[:0]
	own.Outcomes, own.Random = own.Outcomes[:0], own.Random[:0]
	r.from = epoch*k.Choices() + int(k.First[s])
	r.first[0], r.first[1] = int32(r.from), int32(r.from)
	if !e.ComesUp(pair) {
		return
	}
	for c := k.First[s]; c < k.First[s+1]; c++ {
		returns, outcomes := k.ReturnsOf(int(c), e.Dim), k.OutcomesOf(int(c), e.Dim)
		if !e.Offers(epoch, c) {
			own.Append(nil, nil, returns)
			continue
		}
		next, prob := k.Row(int(c))
		own.AppendRandom(next, prob, returns, outcomes)
		e.successors(own.Next[len(own.Next)-len(next):], epoch, c)
	}
	r.first[1] += int32(own.Choices())
}
