package markov

// Predecessors lists, for every state of a graph, the choices that may lead there.
type Predecessors struct {
	Owner []int32 // of each choice of the kernel, its state
	into  lists
	met   []bool // of each state, false between calls
}

// Predecessors lists the choices of the graph. One that has several entries for a state is listed as often.
func (g *Graph) Predecessors() *Predecessors {
	states := int32(g.States())
	out := &Predecessors{Owner: make([]int32, g.Kernel.Choices()), met: make([]bool, states)}
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
// choice that may lead to a state met before. Inside an end component these choices surely come to a target.
func (p *Predecessors) Attract(targets []int32, set func(s, c int32)) {
	queue := append([]int32(nil), targets...)
	for _, s := range targets {
		p.met[s] = true
	}
	for n := 0; n < len(queue); n++ {
		for _, c := range p.Choices(queue[n]) {
			if by := p.Owner[c]; !p.met[by] {
				p.met[by] = true
				set(by, c)
				queue = append(queue, by)
			}
		}
	}
	for _, s := range queue {
		p.met[s] = false
	}
}
