package markov

// LeadTo makes a policy inside an end lead to some target states of it, whose choices stay. States that lead
// there already keep their choice; others take any choice that may lead to one of these.
func (p *LeastMean) LeadTo(targets, states, choices []int32) {
	p.numberStates(states)
	met := make([]bool, len(states))
	for _, s := range targets {
		met[p.position[s]] = true
	}
	if reachesExit(met, func(j int32, visit func(n int32) bool) { p.visitSuccessors(choices[j], visit) }) {
		return
	}
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
