package markov

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmdp"
)

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

// EndComponents splits the graph into strongly connected components, or takes those of Cycles. It takes away the
// choices that may leave their component and the states without a choice, and then
// splits the components again that lost something. A choice that may lead to a state
// which takes no part is not in an end component.
func (g *Graph) EndComponents(ctx context.Context) (*EndComponents, error) {
	f := g.beginSearch()
	if err := f.splitAll(ctx); err != nil {
		return nil, err
	}
	f.found.Inside = f.sub.Allowed // states that are in no component have none left
	return f.found, nil
}

// HasEndComponent reports whether the graph has an end component: there is one in any set of states that each have a
// choice which surely stays in it.
func (g *Graph) HasEndComponent(ctx context.Context) (bool, error) {
	if g.Cycles != nil && g.Cycles.Len() == len(g.Cycles.Order) {
		return slices.ContainsFunc(g.Cycles.Order, g.mayStay), ctx.Err()
	}
	f := g.beginSearch()
	for i := range f.first.Len() {
		part := f.first.Part(i)
		if len(part) == 1 {
			if g.mayStay(part[0]) {
				return true, nil
			}
			continue
		}
		g.Progress.At(findingEndComponents, math.NaN(), len(part))
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if f.into == nil {
			f.into = f.sub.Predecessors()
		}
		if len(f.removeLeaving(part)) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// mayStay reports whether a choice of a state surely leads back to it.
func (g *Graph) mayStay(s int32) bool {
	for c := g.Kernel.First[s]; c < g.Kernel.First[s+1] && g.Has(s); c++ {
		next, prob := g.Kernel.Row(int(c))
		stays := g.Allows(c)
		for j, n := range next {
			stays = stays && (n == s || prob[j] == 0)
		}
		if stays {
			return true
		}
	}
	return false
}

// findingEndComponents is what Progress is told.
const findingEndComponents = "finding end components"

// An endComponentSearch is the state of the search for end components.
type endComponentSearch struct {
	k           *cmdp.Kernel
	sub         Graph     // what is left
	first       Partition // the parts at the beginning
	whole       []bool    // of each, whether it is a component that lost nothing, and so an end component
	part        []int32   // component that a state is in at present
	parts       int32
	choicesLeft []int32       // of each state, the number of its allowed choices
	into        *Predecessors // by the choices of what is left at first
	tarjan      *tarjan
	found       *EndComponents
	room        []int32 // for the components of a part
}

// beginSearch returns the search at its beginning, when the choices are gone that may leave a part.
func (g *Graph) beginSearch() *endComponentSearch {
	f := &endComponentSearch{k: g.Kernel, sub: Graph{Kernel: g.Kernel, Progress: g.Progress}}
	f.part, f.choicesLeft = make([]int32, g.States()), make([]int32, g.States())
	f.sub.In, f.sub.Allowed = make([]bool, g.States()), make([]bool, g.Kernel.Choices())
	f.found = &EndComponents{Partition: *newPartition(g.States())}
	known := g.Cycles
	if known == nil {
		known = &Partition{First: []int32{0, int32(g.States())}, Order: make([]int32, g.States())}
		for s := range known.Order {
			known.Order[s] = int32(s)
		}
	}
	f.first.First = append(f.first.First, 0)
	for i := range known.Len() {
		for _, s := range known.Part(i) {
			if g.Has(s) {
				f.part[s], f.sub.In[s] = f.parts, true
				f.first.Order = append(f.first.Order, s)
			}
		}
		f.whole = append(f.whole, g.Connected && len(f.first.Order)-int(f.first.First[i]) == len(known.Part(i)))
		f.first.First = append(f.first.First, int32(len(f.first.Order)))
		f.parts++
	}
	for _, s := range f.first.Order {
		for c := g.Kernel.First[s]; c < g.Kernel.First[s+1]; c++ {
			f.sub.Allowed[c] = g.Allows(c) && !f.leaves(s, c)
			if f.sub.Allowed[c] {
				f.choicesLeft[s]++
			} else {
				f.whole[f.part[s]] = false
			}
		}
		if g.Kernel.First[s] == g.Kernel.First[s+1] {
			f.whole[f.part[s]] = false
		}
	}
	return f
}

// splitAll finds end components, part by part.
func (f *endComponentSearch) splitAll(ctx context.Context) error {
	for i := range f.first.Len() {
		part := f.first.Part(i)
		if len(part) == 1 {
			f.single(part[0])
			continue
		}
		if f.whole[i] {
			f.sub.Progress.At(findingEndComponents, math.NaN(), len(part))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f.found.add(part)
			continue
		}
		if f.into == nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f.tarjan, f.into = newTarjan(ctx, &f.sub, findingEndComponents), f.sub.Predecessors()
		}
		if err := f.split(part); err != nil {
			return err
		}
	}
	return nil
}

// single looks for an end component of one state.
func (f *endComponentSearch) single(s int32) {
	for c := f.k.First[s]; c < f.k.First[s+1]; c++ {
		next, prob := f.k.Row(int(c))
		for j, n := range next {
			if prob[j] > 0 && n != s && f.sub.Allowed[c] {
				f.sub.Allowed[c] = false
				f.choicesLeft[s]--
			}
		}
	}
	f.sub.In[s] = f.choicesLeft[s] > 0
	if f.sub.In[s] {
		f.found.add([]int32{s})
	}
}

// split finds the end components within states, whose allowed choices do not leave them.
func (f *endComponentSearch) split(states []int32) error {
	work := [][]int32{states}
	for len(work) > 0 {
		states = f.removeLeaving(work[len(work)-1])
		work = work[:len(work)-1]
		one, err := f.sub.connected(f.tarjan.ctx, states, f.tarjan.what)
		if err != nil {
			return err
		}
		if one {
			f.found.add(states)
			continue
		}
		f.tarjan.reset(states)
		f.room = f.room[:0]
		var ends []int // of the components in room
		for _, s := range states {
			err := f.tarjan.from(s, func(piece []int32) {
				switch {
				case len(piece) == len(states):
					f.found.add(piece)
				case len(piece) == 1:
					f.single(piece[0])
				default:
					f.room = append(f.room, piece...)
					ends = append(ends, len(f.room))
				}
			})
			if err != nil {
				return err
			}
		}
		copy(states, f.room)
		from := 0
		for _, end := range ends {
			piece := states[from:end]
			for _, s := range piece {
				f.part[s] = f.parts
			}
			f.parts++
			work = append(work, piece)
			from = end
		}
	}
	return nil
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
