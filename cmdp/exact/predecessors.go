package exact

// Predecessors lists, for every state of a graph, the choices that may lead there.
type predecessors struct {
	owner []int32 // of each choice of the model, its state
	into  lists
	met   []bool // of each state, false between calls
}

// predecessors lists the choices of the graph. One that has several entries for a state is listed as often.
func (g *graph) predecessors() *predecessors {
	states := int32(g.states())
	out := &predecessors{owner: make([]int32, len(g.k.Offset)-1), met: make([]bool, states)}
	for s := range states {
		for c := g.k.First[s]; c < g.k.First[s+1]; c++ {
			out.owner[c] = s
		}
	}
	out.into = newLists(g.states(), func(add func(at, item int32)) {
		for s := range states {
			for c := g.k.First[s]; g.has(s) && c < g.k.First[s+1]; c++ {
				for e := g.k.Offset[c]; g.allows(c) && e < g.k.Offset[c+1]; e++ {
					if g.k.Prob[e] > 0 && g.has(g.k.Next[e]) {
						add(g.k.Next[e], c)
					}
				}
			}
		}
	})
	return out
}

// choices returns the choices that may lead to a state.
func (p *predecessors) choices(s int32) []int32 { return p.into.of(s) }

// attract calls set with a choice for each state from which some of the targets can be reached, other than these: one that may
// lead nearer. It goes backwards from the targets, so that each state takes the first choice that may lead to a state met before.
// Inside an end component these choices surely come to a target.
func (p *predecessors) attract(targets []int32, set func(s, c int32)) {
	queue := append([]int32(nil), targets...)
	for _, s := range targets {
		p.met[s] = true
	}
	for n := 0; n < len(queue); n++ {
		for _, c := range p.choices(queue[n]) {
			if by := p.owner[c]; !p.met[by] {
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
