package markov

import (
	"maps"
	"slices"

	"cmdpsolve/cmdp"
)

// A Rule is a decision rule (Puterman 1994, section 2.1.4): what a policy does in one step, or in every step if
// it is stationary.
type Rule struct {
	Actions Actions
	Mixed   map[int32][]float64 // of each state that randomises, the probabilities of its actions
}

// A WeightedChoice is one that a rule takes with a probability.
type WeightedChoice struct {
	Choice int // of the kernel
	Prob   float64
}

// Choose appends to dst the choices that the rule takes in state s of a kernel, which offers some.
func (st *Rule) Choose(dst []WeightedChoice, k *cmdp.Kernel, s int32) []WeightedChoice {
	first := int(k.First[s])
	probs, ok := st.Mixed[s]
	if !ok {
		return append(dst, WeightedChoice{first + st.Actions.At(int(s)), 1})
	}
	for a, x := range probs {
		if x > 0 {
			dst = append(dst, WeightedChoice{first + a, x})
		}
	}
	return dst
}

// Mix makes the rule draw the action of a state with the given probabilities, which are kept.
func (st *Rule) Mix(s int32, probs []float64) {
	if st.Mixed == nil {
		st.Mixed = make(map[int32][]float64)
	}
	st.Mixed[s] = probs
}

// Clone returns a copy that shares nothing with the rule.
func (st *Rule) Clone() *Rule {
	out := &Rule{Actions: st.Actions.Clone()}
	for s, probs := range st.Mixed {
		out.Mix(s, slices.Clone(probs))
	}
	return out
}

// Equal reports whether another rule does the same.
func (st *Rule) Equal(o *Rule) bool {
	return maps.EqualFunc(st.Mixed, o.Mixed, slices.Equal) && st.Actions.Equal(&o.Actions)
}

// Assign makes the rule divide the mass total of state s between its actions as given; without mass it stays as
// it is. What is rounding of the total is left out.
func (st *Rule) Assign(s int, mass []float64, total float64) {
	if total == 0 {
		return
	}
	delete(st.Mixed, int32(s))
	best := 0
	for a, x := range mass {
		if x > mass[best] {
			best = a
		}
	}
	st.Actions.Set(s, best)
	probs := make([]float64, len(mass))
	for a, x := range mass {
		if x > roundingOfTotal*min(total, 1) { // one that is taken once in a while stays, however seldom that is
			probs[a] = x
		} else {
			total -= x
		}
	}
	if probs[best] >= total {
		return
	}
	for a := range probs {
		probs[a] /= total
	}
	if st.Mixed == nil {
		st.Mixed = make(map[int32][]float64)
	}
	st.Mixed[int32(s)] = probs
}

// roundingOfTotal is the share of a total that adding a few masses up may cost.
const roundingOfTotal = 0x4p-53

// Actions hold one action for each state, in bytes or bits where that suffices.
type Actions struct {
	narrow []uint8
	bits   []uint8 // of eight states each
	wide   []int32
}

// NewActions returns room for actions below most, which may be set for several states at the same time.
func NewActions(states, most int) Actions {
	if most <= 256 {
		return Actions{narrow: make([]uint8, states)}
	}
	return Actions{wide: make([]int32, states)}
}

// NewPackedActions is NewActions for those that are set one after the other.
func NewPackedActions(states, most int) Actions {
	if most <= 2 {
		return Actions{bits: make([]uint8, states/8+1)}
	}
	return NewActions(states, most)
}

// Packed returns actions below most as NewPackedActions holds them, in the memory of a if that is the same.
func (a *Actions) Packed(most int) Actions {
	if a.narrow == nil || most > 2 {
		return *a
	}
	out := NewPackedActions(len(a.narrow), most)
	for s, x := range a.narrow {
		out.bits[s/8] |= x << (s % 8)
	}
	return out
}

// Set sets the action of a state.
func (a *Actions) Set(s, action int) {
	switch {
	case a.narrow != nil:
		a.narrow[s] = uint8(action)
	case a.bits != nil:
		a.bits[s/8] = a.bits[s/8]&^(1<<(s%8)) | uint8(action)<<(s%8)
	default:
		a.wide[s] = int32(action)
	}
}

// At returns the action of a state.
func (a *Actions) At(s int) int {
	switch {
	case a.narrow != nil:
		return int(a.narrow[s])
	case a.bits != nil:
		return int(a.bits[s/8] >> (s % 8) & 1)
	}
	return int(a.wide[s])
}

// Equal reports whether two of the same kind and length are the same.
func (a *Actions) Equal(b *Actions) bool {
	return slices.Equal(a.narrow, b.narrow) && slices.Equal(a.bits, b.bits) && slices.Equal(a.wide, b.wide)
}

// Bytes returns how much memory the actions take.
func (a *Actions) Bytes() int { return len(a.narrow) + len(a.bits) + 4*len(a.wide) }

// Clone returns a copy.
func (a *Actions) Clone() Actions {
	return Actions{slices.Clone(a.narrow), slices.Clone(a.bits), slices.Clone(a.wide)}
}
