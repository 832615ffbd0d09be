package exact

import (
	"sort"

	"cmdpsolve/cmdp"
)

// A quotient is a model with each chosen end component merged into one state. The
// choices of that state are those that may leave the component and, if wanted, to stay
// in it for ever. Its states are numbered in topological order, last first, so that
// those of a strongly connected component follow one another. States without choices,
// states that take no part, and staying have the value 0 and no number.
//
// Transitions and probabilities are those of the model: a choice of the quotient is a
// choice of the model, and to lists the state of the quotient that each transition
// leads to.
type quotient struct {
	k         *cmdp.Kernel
	state     []int32 // of each state of the model, its number, or over
	over      int32   // the number of states, and of what is over
	origin    []int32 // of each state, that of the model, nil where some are merged
	first     []int32 // of each state, where its choices begin in choice, and the end
	choice    []int32 // of the model, or stay
	to        []int32 // of each transition of the model
	component []int32 // of each strongly connected component, its first state, and the end
	ends      *endComponents
	collapsed []merged            // in the order of their states
	inside    []bool              // of each choice of the model, whether it is within a collapsed component, nil without any
	into      *predecessors       // by the choices inside, nil to make them when a policy is lifted
	keeps     []bool              // of each choice of the model, whether it stays in the place of a merged state
	place     func(j int) []int32 // the states among those of the merged state j where it stays, if it can
	free      [][2]int32          // states of the value 0 that take no part, each with its choice
}

// A merged state is a state of a quotient that stands for an end component.
type merged struct{ state, end int32 }

// members returns the states in the model of the merged state j.
func (q *quotient) members(j int) []int32 { return q.ends.part(int(q.collapsed[j].end)) }

// stay is the choice to stay in an end component for ever.
const stay = -1

// quotient collapses the end components of ends; those for which stays is true have the choice stay besides, as their
// first. Components are the strongly connected ones of g. A component without a choice that leaves it and without stay has no
// choice at all.
func (g *graph) quotient(components *partition, ends *endComponents, stays func(i int32) bool) *quotient {
	q := g.numbering(components, ends)
	q.inside, q.keeps, q.place = ends.inside, ends.inside, q.members
	q.fill(g, components.order, stays)
	return q
}

const unnumbered = -1

// numbering returns a quotient without its choices.
func (g *graph) numbering(components *partition, ends *endComponents) *quotient {
	q := &quotient{k: g.k, ends: ends, state: make([]int32, g.states()), component: make([]int32, 0, components.parts()+1)}
	if ends != nil {
		q.collapsed = make([]merged, 0, ends.parts())
	}
	one := make([]int32, 1)
	for s := range q.state {
		q.state[s] = unnumbered
	}
	for i := range components.parts() {
		before := q.over
		for _, s := range components.part(i) {
			if q.state[s] != unnumbered || !g.has(s) || g.k.First[s] == g.k.First[s+1] {
				continue
			}
			of := append(one[:0], s)
			if ends != nil && ends.of[s] >= 0 {
				of = ends.part(int(ends.of[s]))
				q.collapsed = append(q.collapsed, merged{q.over, ends.of[s]})
			}
			for _, s := range of {
				q.state[s] = q.over
			}
			q.over++
		}
		if q.over > before {
			q.component = append(q.component, before)
		}
	}
	q.component = append(q.component, q.over)
	if ends == nil {
		q.origin = make([]int32, q.over)
	}
	for s, n := range q.state {
		switch {
		case n == unnumbered:
			q.state[s] = q.over
		case ends == nil:
			q.origin[n] = int32(s)
		}
	}
	return q
}

// fill sets the choices, and what the transitions lead to. order holds the states of the model, one of each of the quotient
// in the order of their numbers and any others.
func (q *quotient) fill(g *graph, order []int32, stays func(i int32) bool) {
	q.first, q.choice = make([]int32, 0, q.over+1), make([]int32, 0, len(g.k.Offset)-1)
	j := 0 // the next merged state
	one := make([]int32, 1)
	for _, s := range order {
		n := q.state[s]
		if n == q.over || int(n) != len(q.first) {
			continue
		}
		q.first = append(q.first, int32(len(q.choice)))
		of := append(one[:0], s)
		if j < len(q.collapsed) && q.collapsed[j].state == n {
			if of = q.members(j); stays(q.collapsed[j].end) {
				q.choice = append(q.choice, stay)
			}
			j++
		}
		for _, s := range of {
			for c := g.k.First[s]; c < g.k.First[s+1]; c++ {
				if g.allows(c) && (q.inside == nil || !q.inside[c]) {
					q.choice = append(q.choice, c)
				}
			}
		}
	}
	q.first = append(q.first, int32(len(q.choice)))
	q.to = make([]int32, len(q.k.Next))
	for e, n := range q.k.Next {
		q.to[e] = q.over
		if q.k.Prob[e] > 0 {
			q.to[e] = q.state[n]
		}
	}
}

// lift turns a policy of the quotient into one of the model and calls set for each state. The policy is an index into
// choice for each state, negative where there is none. Inside a merged component it surely goes to the state where
// the policy leaves, or it stays, by the first choices that stay.
func (q *quotient) lift(pick []int32, set func(s, c int32)) {
	for s := range int32(len(q.state)) {
		if n := q.state[s]; n != q.over {
			if i := pick[n]; i >= 0 && q.choice[i] >= q.k.First[s] && q.choice[i] < q.k.First[s+1] {
				set(s, q.choice[i])
			}
		}
	}
	for _, f := range q.free {
		set(f[0], f[1])
	}
	into := q.into
	lead := func(members, to []int32) {
		if len(to) == len(members) { // there is no way to find
			return
		}
		if into == nil {
			into = (&graph{k: q.k, allowed: q.inside}).predecessors()
		}
		into.attract(to, set)
	}
	for j, end := range q.collapsed {
		i := pick[end.state]
		if i >= 0 && q.choice[i] != stay {
			lead(q.members(j), []int32{q.owner(q.choice[i])})
			continue
		}
		place := q.place(j)
		for _, s := range place {
			c := q.k.First[s]
			for !q.keeps[c] {
				c++
			}
			set(s, c)
		}
		lead(q.members(j), place)
	}
}

// owner returns the state of a choice of the model.
func (q *quotient) owner(c int32) int32 {
	return int32(sort.Search(len(q.state), func(s int) bool { return q.k.First[s+1] > c }))
}
