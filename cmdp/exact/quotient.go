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
	state     []int32  // of each state of the model, its number, or over
	over      int32    // the number of states, and of what is over
	first     []int32  // of each state, where its choices begin in choice, and the end
	choice    []int32  // of the model, or stay
	to        []int32  // of each transition of the model
	component []int32  // of each strongly connected component, its first state, and the end
	collapsed []merged // in the order of their states
	inside    []bool   // of each choice of the model, whether it is within a collapsed component, nil without any
	lifter    *lifter  // for the choices inside, nil to make one when a policy is lifted
}

// A merged state is a state of a quotient with its states in the model. If it can
// stay, some of these are the end component where it stays.
type merged struct {
	state   int32
	members []int32
	place   []int32
	keeps   []bool // of each choice of the model, whether it stays in place
}

// stay is the choice to stay in an end component for ever.
const stay = -1

// quotient collapses the end components of ends for which collapse is true; those for
// which stays is true have the choice stay besides, as their first. Components are the
// strongly connected ones of g. A component without a choice that leaves it and without stay has no
// choice at all.
func (g *graph) quotient(components *partition, ends *endComponents, collapse, stays func(i int) bool) *quotient {
	q := &quotient{k: g.k, state: make([]int32, g.states())}
	if ends != nil {
		q.inside = make([]bool, len(g.k.Offset)-1)
	}
	q.first, q.choice = make([]int32, 0, g.states()+1), make([]int32, 0, len(g.k.Offset)-1)
	one := make([]int32, 1)
	for s := range q.state {
		q.state[s] = unnumbered
	}
	for i := range components.parts() {
		q.component = append(q.component, int32(len(q.first)))
		for _, s := range components.part(i) {
			if q.state[s] != unnumbered || !g.has(s) || g.k.First[s] == g.k.First[s+1] {
				continue
			}
			end, of := -1, append(one[:0], s)
			if ends != nil && ends.of[s] >= 0 && collapse(int(ends.of[s])) {
				end = int(ends.of[s])
				of = ends.part(end)
				q.collapsed = append(q.collapsed, merged{int32(len(q.first)), of, of, ends.inside})
			}
			q.number(g, of, ends, end >= 0, end >= 0 && stays(end))
		}
		if int(q.component[len(q.component)-1]) == len(q.first) {
			q.component = q.component[:len(q.component)-1]
		}
	}
	q.over = int32(len(q.first))
	q.component, q.first = append(q.component, q.over), append(q.first, int32(len(q.choice)))
	q.lead()
	return q
}

const unnumbered = -1

// number makes states the next state of the quotient.
func (q *quotient) number(g *graph, states []int32, ends *endComponents, collapsed, stays bool) {
	n := int32(len(q.first))
	q.first = append(q.first, int32(len(q.choice)))
	if stays {
		q.choice = append(q.choice, stay)
	}
	for _, s := range states {
		q.state[s] = n
		for c := g.k.First[s]; c < g.k.First[s+1]; c++ {
			if collapsed && ends.inside[c] {
				q.inside[c] = true
			} else if g.allows(c) {
				q.choice = append(q.choice, c)
			}
		}
	}
}

// lead sets what the transitions lead to.
func (q *quotient) lead() {
	q.to = make([]int32, len(q.k.Next))
	for s, n := range q.state {
		if n == unnumbered {
			q.state[s] = q.over
		}
	}
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
	if len(q.collapsed) == 0 {
		return
	}
	l := q.lifter
	if l == nil {
		l = newLifter(q.k, q.inside)
	}
	clear(l.met)
	for _, end := range q.collapsed {
		i := pick[end.state]
		if i >= 0 && q.choice[i] != stay {
			l.lead([]int32{l.owner[q.choice[i]]}, set)
			continue
		}
		for _, s := range end.place {
			c := q.k.First[s]
			for !end.keeps[c] {
				c++
			}
			set(s, c)
		}
		l.lead(end.place, set)
	}
}

// owner returns the state of a choice of the model.
func (q *quotient) owner(c int32) int32 {
	return int32(sort.Search(len(q.state), func(s int) bool { return q.k.First[s+1] > c }))
}

// A lifter finds policies inside end components.
type lifter struct {
	owner []int32 // state of each choice
	into  lists
	met   []bool
}

func newLifter(k *cmdp.Kernel, inside []bool) *lifter {
	return &lifter{owner: owners(k), into: (&graph{k: k, allowed: inside}).choicesInto(), met: make([]bool, len(k.First)-1)}
}

// lead sets choices inside the component of the states in to that go there: backwards
// from them, each state takes a choice that may lead to one met before, so that from
// everywhere in the component there is a way; and nothing leaves the component, so that
// it is surely found.
func (l *lifter) lead(to []int32, set func(s, c int32)) {
	for _, s := range to {
		l.met[s] = true
	}
	for queue := append([]int32(nil), to...); len(queue) > 0; {
		s := queue[0]
		queue = queue[1:]
		for _, c := range l.into.of(s) {
			if by := l.owner[c]; !l.met[by] {
				l.met[by] = true
				set(by, c)
				queue = append(queue, by)
			}
		}
	}
}
