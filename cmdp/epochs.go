package cmdp

import (
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

	reached []uint64 // a bit for each pair: it comes up
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
func (e *Epochs) ComesUp(pair int) bool { return e.reached[pair/64]>>(pair%64)&1 == 1 }

// Model returns the epochs as a model of totals, whose rows are generated: those of a pair are made when they are asked
// for. Pairs that do not come up are states without choices. The kernels of Classes are kept.
func (e *Epochs) Model() (*Model, error) {
	m := e.Base
	switch {
	case m == nil:
		return nil, errors.New(noModel)
	case m.horizon > 0 || m.discount < 1 || m.Means() || m.epochs != nil:
		return nil, errors.New("cmdp: epochs: want a model of totals with stored rows")
	case len(e.Classes) == 0 || len(e.Letter) != len(e.Classes[0].Next) || len(e.Next) != e.Len()*e.Letters ||
		len(e.Start) != len(m.start):
		return nil, errors.New("cmdp: epochs: want a letter for each transition, an epoch after each letter, and one " +
			"for each start")
	}
	out := &Model{discount: 1, dim: e.Dim, states: e.Len() * m.states, rows: make([]*Rows, 1), epochs: e}
	if n := max(out.states, out.Choices()); n > math.MaxInt32 {
		return nil, fmt.Errorf("cmdp: epochs: %d pairs, with %d choices: more than can be numbered", out.states,
			out.Choices())
	}
	for epoch, class := range e.Class {
		for _, next := range e.Next[epoch*e.Letters:][:e.Letters] {
			if int(next) < epoch || int(next) >= e.Len() || int(class) >= len(e.Classes) {
				return nil, fmt.Errorf("cmdp: epochs: epoch %d leads to %d: want a later one", epoch, next)
			}
		}
	}
	for i := range e.Classes {
		k := &e.Classes[i]
		if !slices.Equal(k.Offset, e.Classes[0].Offset) || !slices.Equal(k.First, m.Kernel(0).First) {
			return nil, errors.New("cmdp: epochs: want classes with the rows of the base")
		}
		k.endRows(e.Dim)
		out.random = out.random || k.Outcomes != nil
	}
	for i, st := range m.start {
		out.start = append(out.start, StartState{e.Pair(int(e.Start[i]), st.State), st.Probability})
	}
	e.reach(out.start)
	return out, nil
}

// reach finds the pairs that come up.
func (e *Epochs) reach(start []StartState) {
	e.reached = make([]uint64, (e.Len()*e.Base.states+63)/64)
	met := make([][]int32, e.Len()) // states of each epoch, in the order in which they come up
	meet := func(pair int) {
		if !e.ComesUp(pair) {
			e.reached[pair/64] |= 1 << (pair % 64)
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
				letters := e.Letter[k.Offset[c]:k.Offset[c+1]]
				for j, to := range next {
					meet(e.Pair(e.After(epoch, letters[j]), int(to)))
				}
			}
		}
		met[epoch] = nil
	}
}

// rows returns the rows of the model.
func (e *Epochs) rows() *Rows {
	return &Rows{first: make([]int32, 2), dim: e.Dim, kernel: e.Classes[0], epochs: e,
		next: make([]int32, len(e.Letter))}
}

// generateEpoch makes the rows of a pair.
func (r *Rows) generateEpoch(pair int) {
	e := r.epochs
	epoch, s := e.Split(pair)
	k := &e.Classes[e.Class[epoch]]
	r.kernel, r.from = *k, epoch*k.Choices()
	r.kernel.Next = r.next
	r.first[0], r.first[1] = int32(r.from)+k.First[s], int32(r.from)+k.First[s+1]
	if !e.ComesUp(pair) {
		r.first[1] = r.first[0]
		return
	}
	begin, end := k.Offset[k.First[s]], k.Offset[k.First[s+1]]
	for at := begin; at < end; at++ {
		r.next[at] = int32(e.Pair(e.After(epoch, e.Letter[at]), int(k.Next[at])))
	}
}
