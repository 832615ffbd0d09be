package markov

import "slices"

// Predecessors lists, for every state of a graph, the choices that may lead there.
type Predecessors struct {
	Owner []int32 // of each choice of the kernel, its state
	into  lists[int32]
}

// Predecessors lists the choices of the graph. One that has several entries for a state is listed as often.
func (g *Graph) Predecessors() *Predecessors {
	states := int32(g.States())
	out := &Predecessors{Owner: make([]int32, g.Kernel.Choices())}
	for s := range states {
		for c := g.Kernel.First[s]; c < g.Kernel.First[s+1]; c++ {
			out.Owner[c] = s
		}
	}
	out.into = newLists(g.States(), func(add func(at, item int32)) {
		for s := range states {
			for c := g.Kernel.First[s]; g.Has(s) && c < g.Kernel.First[s+1]; c++ {
				if !g.Allows(c) {
					continue
				}
				next, prob := g.Kernel.Row(int(c))
				for j, n := range next {
					if prob[j] > 0 && g.Has(n) {
						add(n, c)
					}
				}
			}
		}
	})
	return out
}

// Choices returns the choices that may lead to a state.
func (p *Predecessors) Choices(s int32) []int32 { return p.into.of(s) }

// Attract calls set with a choice for each state from which some of the targets can be reached, other than
// these: one that may lead nearer. It goes backwards from the targets, so that each state takes the first
// choice that may lead to a state met before. Inside an end component these choices surely come to a target. It may
// be used concurrently.
func (p *Predecessors) Attract(targets []int32, set func(s, c int32)) {
	queue, met := slices.Clone(targets), make([]bool, len(p.into.first)-2)
	for _, s := range targets {
		met[s] = true
	}
	for n := 0; n < len(queue); n++ {
		for _, c := range p.Choices(queue[n]) {
			if by := p.Owner[c]; !met[by] {
				met[by] = true
				set(by, c)
				queue = append(queue, by)
			}
		}
	}
}
