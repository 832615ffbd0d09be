package markov

// LeadTo makes a policy inside an end lead to some target states of it, whose choices stay. States that lead
// there already keep their choice; others take any choice that may lead to one of these.
func (p *LeastMean) LeadTo(targets, states, choices []int32) {
	p.numberStates(states)
	met := p.marked(targets, states)
	if reachesExit(met, func(j int32, visit func(n int32) bool) { p.visitSuccessors(choices[j], visit) }) {
		return
	}
	p.leadBack(met, states, choices)
}

// marked marks the places of some states.
func (p *LeastMean) marked(some, states []int32) []bool {
	met := make([]bool, len(states))
	for _, s := range some {
		met[p.position[s]] = true
	}
	return met
}

// leadOn is LeadTo for a policy whose blocks are known, cut open at a state.
func (p *LeastMean) leadOn(targets, states, choices []int32) {
	met := p.marked(targets, states)
	p.passBackBlocks(met)
	if at := p.position[p.cut]; !met[at] && p.visitSuccessors(choices[at], func(n int32) bool { return met[n] }) {
		met[at] = true
		p.passBackBlocks(met)
	}
	p.leadBack(met, states, choices)
}

// leadBack makes a policy lead to states that are met, to which others lead that are met too, from those that are not.
func (p *LeastMean) leadBack(met []bool, states, choices []int32) {
	left := passBack(met, func(j int32, visit func(n int32) bool) {
		s := states[j]
		for c := p.kernel.First[s]; c < p.kernel.First[s+1]; c++ {
			if p.ends.Inside[c] && p.visitSuccessors(c, visit) {
				choices[j] = c
				return
			}
		}
	})
	if len(left) == 0 {
		return
	}
	var queue []int32
	for j, s := range states {
		if met[j] {
			queue = append(queue, s)
		}
	}
	for n := 0; n < len(queue); n++ {
		for _, c := range p.Predecessors.Choices(queue[n]) {
			s := p.Predecessors.Owner[c]
			at := p.position[s]
			if !met[at] {
				met[at], choices[at] = true, c
				queue = append(queue, s)
			}
		}
	}
	// Most of the states that are led come after all that they lead to here, which spares their evaluation a search.
	p.blocks.order, p.blocks.first = append(p.blocks.order[:0], queue...), append(p.blocks.first[:0], 0)
}

// visitSuccessors visits the successors of a choice inside an end, by their numbers, until it is told to stop, and
// reports whether it was.
func (p *LeastMean) visitSuccessors(c int32, visit func(n int32) bool) bool {
	next, prob := p.successors(c)
	for e, n := range next {
		if prob[e] > 0 && visit(p.position[n]) {
			return true
		}
	}
	return false
}
