package exact

import (
	"slices"

	"cmdpsolve/cmdp"
)

// stepPolicy is the policy of one step.
type stepPolicy struct {
	actions actions
	mixed   map[int32][]float64 // probabilities of the states that randomise
}

// taken is a choice that a policy takes with a probability.
type taken struct {
	c int
	x float64
}

// choose appends the choices that the policy takes in state s of a model.
func (st *stepPolicy) choose(dst []taken, k *cmdp.Kernel, s int32) []taken {
	first := int(k.First[s])
	probs, ok := st.mixed[s]
	if !ok {
		return append(dst, taken{first + st.actions.at(int(s)), 1})
	}
	for a, x := range probs {
		if x > 0 {
			dst = append(dst, taken{first + a, x})
		}
	}
	return dst
}

func (st *stepPolicy) mix(s int32, probs []float64) {
	if st.mixed == nil {
		st.mixed = make(map[int32][]float64)
	}
	st.mixed[s] = probs
}

// assign makes the policy divide the mass total of state s as given; without mass it
// stays as it is.
func (st *stepPolicy) assign(s int, mass []float64, total float64) {
	if total == 0 {
		return
	}
	delete(st.mixed, int32(s))
	best := 0
	for a, x := range mass {
		if x > mass[best] {
			best = a
		}
	}
	st.actions.set(s, best)
	if mass[best] == total {
		return
	}
	probs := make([]float64, len(mass))
	for a, x := range mass {
		probs[a] = x / total
	}
	if probs[best] == 1 { // the rest is below rounding
		return
	}
	if st.mixed == nil {
		st.mixed = make(map[int32][]float64)
	}
	st.mixed[int32(s)] = probs
}

// actions holds one action for each state, in bytes or bits where that suffices.
type actions struct {
	narrow []uint8
	bits   []uint8 // of eight states each
	wide   []int32
}

// newActions returns room for actions below most, which may be set for several states at the same time.
func newActions(states, most int) actions {
	if most <= 256 {
		return actions{narrow: make([]uint8, states)}
	}
	return actions{wide: make([]int32, states)}
}

// packedActions is newActions for those that are set one after the other.
func packedActions(states, most int) actions {
	if most <= 2 {
		return actions{bits: make([]uint8, states/8+1)}
	}
	return newActions(states, most)
}

func (a *actions) set(s, action int) {
	switch {
	case a.narrow != nil:
		a.narrow[s] = uint8(action)
	case a.bits != nil:
		a.bits[s/8] = a.bits[s/8]&^(1<<(s%8)) | uint8(action)<<(s%8)
	default:
		a.wide[s] = int32(action)
	}
}

func (a *actions) at(s int) int {
	switch {
	case a.narrow != nil:
		return int(a.narrow[s])
	case a.bits != nil:
		return int(a.bits[s/8] >> (s % 8) & 1)
	}
	return int(a.wide[s])
}

// bytes returns how much memory the actions take.
func (a *actions) bytes() int { return len(a.narrow) + len(a.bits) + 4*len(a.wide) }

func (a *actions) clone() actions {
	return actions{slices.Clone(a.narrow), slices.Clone(a.bits), slices.Clone(a.wide)}
}
