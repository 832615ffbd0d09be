package markov

import "slices"

// LeadTo makes a policy inside an end lead to some target states of it, whose choices stay. It changes few states: one
// that may come next to where the policy leads there takes a choice that does, and then all states that lead to it do.
func (p *LeastMean) LeadTo(targets, states, choices []int32) {
	p.numberStates(states)
	w := leadingPolicy{p: p, states: states, choices: choices, met: make([]bool, len(states))}
	for _, s := range targets {
		w.met[p.position[s]] = true
	}
	left := passBack(w.met, func(j int32, visit func(n int32) bool) { p.visitSuccessors(choices[j], visit) })
	if len(left) == 0 {
		return
	}
	w.noted = slices.Clone(w.met)
	isMet := func(n int32) bool { return w.met[n] }
	for _, j := range left {
		if !w.met[j] && p.visitSuccessors(choices[j], isMet) {
			w.meet(j)
		}
	}
	for _, j := range slices.DeleteFunc(left, isMet) {
		for c := p.kernel.First[states[j]]; c < p.kernel.First[states[j]+1] && !w.noted[j]; c++ {
			if p.ends.Inside[c] && p.visitSuccessors(c, isMet) {
				w.note(j, c)
			}
		}
	}
	for n := 0; n < len(w.exits); n++ {
		c := w.exits[n]
		if j := p.position[p.Predecessors.Owner[c]]; !w.met[j] {
			choices[j] = c
			w.meet(j)
		}
	}
}

// A leadingPolicy is one that is made to lead to some targets. States have their numbers.
type leadingPolicy struct {
	p               *LeastMean
	states, choices []int32
	met             []bool  // of each state, whether it leads there
	noted           []bool  // of each state, whether it has an exit
	exits           []int32 // choices that may lead to states that are met
	queue           []int32
}

func (w *leadingPolicy) note(j, c int32) {
	w.noted[j] = true
	w.exits = append(w.exits, c)
}

// meet marks a state and all that lead to it, and notes an exit of each other one that may.
func (w *leadingPolicy) meet(j int32) {
	w.met[j] = true
	w.queue = append(w.queue, j)
	for len(w.queue) > 0 {
		n := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		for _, c := range w.p.Predecessors.Choices(w.states[n]) {
			at := w.p.position[w.p.Predecessors.Owner[c]]
			switch {
			case w.met[at]:
			case w.choices[at] == c:
				w.met[at] = true
				w.queue = append(w.queue, at)
			case !w.noted[at]:
				w.note(at, c)
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
