package markov

import "cmdpsolve/cmdp"

// EndComponents are the maximal end components of a graph (de Alfaro 1997). Each is a
// set of states that are connected by choices which surely stay in it. A state without
// choices is in none.
type EndComponents struct {
	Partition
	Inside []bool // of each choice, whether it stays in the component of its state
}

// Listed returns the components without Of, which takes memory.
func (e *EndComponents) Listed() *EndComponents {
	out := *e
	out.Of = nil
	return &out
}

// EndComponents splits the graph into strongly connected components. It takes away the
// choices that may leave their component and the states without a choice, and then
// splits the components again that lost something. A choice that may lead to a state
// which takes no part is not in an end component.
func (g *Graph) EndComponents() *EndComponents {
	f := &endComponentSearch{
		k:           g.Kernel,
		sub:         Graph{Kernel: g.Kernel, Progress: g.Progress},
		part:        make([]int32, g.States()),
		choicesLeft: make([]int32, g.States()),
	}
	f.sub.In = make([]bool, g.States())
	f.sub.Allowed = make([]bool, g.Kernel.Choices())
	var all []int32
	for s := range int32(g.States()) {
		f.part[s] = -1
		if !g.Has(s) {
			continue
		}
		f.part[s], f.sub.In[s] = 0, true
		all = append(all, s)
		for c := g.Kernel.First[s]; c < g.Kernel.First[s+1]; c++ {
			f.sub.Allowed[c] = g.Allows(c)
			if f.sub.Allowed[c] {
				f.choicesLeft[s]++
			}
		}
	}
	f.parts, f.found = 1, &EndComponents{Partition: *newPartition(g.States())}
	f.tarjan = newTarjan(&f.sub, "finding end components")
	f.into = f.sub.Predecessors()
	f.split(all)
	f.found.Inside = f.sub.Allowed
	for s, in := range f.sub.In {
		if !in { // its choices were taken away only as far as others needed to know
			for c := g.Kernel.First[s]; c < g.Kernel.First[s+1]; c++ {
				f.found.Inside[c] = false
			}
		}
	}
	return f.found
}

// A endComponentSearch is the state of the search for end components.
type endComponentSearch struct {
	k           *cmdp.Kernel
	sub         Graph   // what is left
	part        []int32 // component that a state is in at present
	parts       int32
	choicesLeft []int32       // of each state, the number of its allowed choices
	into        *Predecessors // by the choices of what is left at first
	tarjan      *tarjan
	found       *EndComponents
}

// split finds the end components within states, whose allowed choices do not leave them.
func (f *endComponentSearch) split(states []int32) {
	work := [][]int32{states}
	for len(work) > 0 {
		states = work[len(work)-1]
		work = work[:len(work)-1]
		states = f.removeLeaving(states)
		f.tarjan.reset(states)
		var pieces [][]int32
		for _, s := range states {
			f.tarjan.from(s, func(piece []int32) {
				if len(pieces) == 0 && len(piece) == len(states) {
					f.found.add(piece)
					return
				}
				pieces = append(pieces, append([]int32(nil), piece...))
			})
		}
		for _, piece := range pieces {
			for _, s := range piece {
				f.part[s] = f.parts
			}
			f.parts++
		}
		// What is found first comes first.
		for i := len(pieces) - 1; i >= 0; i-- {
			work = append(work, pieces[i])
		}
	}
}

// removeLeaving takes away the choices that may leave the part of their state, and the states
// that have none left, and returns the states that stay.
func (f *endComponentSearch) removeLeaving(states []int32) []int32 {
	var out []int32
	for _, s := range states {
		for c := f.k.First[s]; c < f.k.First[s+1]; c++ {
			if f.sub.Allowed[c] && f.leaves(s, c) {
				f.sub.Allowed[c] = false
				f.choicesLeft[s]--
			}
		}
		if f.choicesLeft[s] == 0 {
			out = append(out, s)
		}
	}
	for len(out) > 0 {
		s := out[len(out)-1]
		out = out[:len(out)-1]
		f.sub.In[s] = false
		for _, c := range f.into.Choices(s) {
			if by := f.into.Owner[c]; f.part[by] == f.part[s] && f.sub.Allowed[c] {
				f.sub.Allowed[c] = false
				f.choicesLeft[by]--
				if f.choicesLeft[by] == 0 {
					out = append(out, by)
				}
			}
		}
	}
	kept := states[:0]
	for _, s := range states {
		if f.sub.In[s] {
			kept = append(kept, s)
		}
	}
	return kept
}

// leaves reports whether a choice may lead out of the part of its state.
func (f *endComponentSearch) leaves(s, c int32) bool {
	next, prob := f.k.Row(int(c))
	for j, n := range next {
		if prob[j] > 0 && (f.part[n] != f.part[s] || !f.sub.In[n]) {
			return true
		}
	}
	return false
}
