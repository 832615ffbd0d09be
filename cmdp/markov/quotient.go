package markov

import (
	"sort"

	"cmdpsolve/cmdp"
)

// A Quotient is a model with each chosen end component merged into one state. The
// choices of that state are those that may leave the component and, if wanted, to stay
// in it for ever. Its states are numbered in topological order, last first, so that
// those of a strongly connected component follow one another. States without choices,
// states that take no part, and staying have the value 0 and no number.
//
// Transitions and probabilities are those of the kernel: a choice of the quotient is a
// choice of the kernel, and To lists the state of the quotient that each transition
// leads to.
type Quotient struct {
	Kernel    *cmdp.Kernel
	Number    []int32 // of each state of the kernel, that of its state of the quotient, or Rest
	Rest      int32   // the number of states, and the number of what has the value 0
	Origin    []int32 // of each state, that of the kernel, nil where some are merged
	First     []int32 // of each state, where its choices begin in Choice, and the end
	Choice    []int32 // of the kernel, or Stay
	To        []int32 // of each transition of the kernel
	Component []int32 // of each strongly connected component, its first state, and the end
	Ends      *EndComponents
	Merged    []MergedState // in the order of their states
	Inside    []bool        // of each choice of the kernel, whether it is inside a merged component, nil without any

	// How a policy is lifted:
	Predecessors *Predecessors       // by the choices inside, nil to make them when it is needed
	StayChoices  []bool              // of each choice of the kernel, whether it stays in the place of a merged state
	StayStates   func(j int) []int32 // the states among those of merged state j where it stays, nil if it cannot
	ZeroStates   [][2]int32          // states of the value 0 that take no part, each with its choice
}

// A MergedState is a state of a quotient that stands for an end component.
type MergedState struct{ State, End int32 }

// Members returns the states of the kernel that merged state j stands for.
func (q *Quotient) Members(j int) []int32 { return q.Ends.Part(int(q.Merged[j].End)) }

// Stay is the choice of a merged state to stay in its end component for ever.
const Stay = -1

// Quotient collapses the end components of ends; those for which stays is true have the choice stay besides, as
// their first. Components are the strongly connected ones of g. A component without a choice that leaves it and
// without stay has no choice at all.
func (g *Graph) Quotient(components *Partition, ends *EndComponents, stays func(i int32) bool) *Quotient {
	q := g.Number(components, ends)
	q.Inside, q.StayChoices, q.StayStates = ends.Inside, ends.Inside, q.Members
	q.Fill(g, components.Order, stays)
	return q
}

const unnumbered = -1

// Number returns a quotient without its choices, which Fill adds, in which some end components are merged; nil
// for none. Components are the strongly connected ones.
func (g *Graph) Number(components *Partition, ends *EndComponents) *Quotient {
	q := &Quotient{Kernel: g.Kernel, Ends: ends, Number: make([]int32, g.States())}
	q.Component = make([]int32, 0, components.Len()+1)
	if ends != nil {
		q.Merged = make([]MergedState, 0, ends.Len())
	}
	one := make([]int32, 1)
	for s := range q.Number {
		q.Number[s] = unnumbered
	}
	for i := range components.Len() {
		before := q.Rest
		for _, s := range components.Part(i) {
			if q.Number[s] != unnumbered || !g.Has(s) || g.Kernel.First[s] == g.Kernel.First[s+1] {
				continue
			}
			of := append(one[:0], s)
			if ends != nil && ends.Of[s] >= 0 {
				of = ends.Part(int(ends.Of[s]))
				q.Merged = append(q.Merged, MergedState{q.Rest, ends.Of[s]})
			}
			for _, s := range of {
				q.Number[s] = q.Rest
			}
			q.Rest++
		}
		if q.Rest > before {
			q.Component = append(q.Component, before)
		}
	}
	q.Component = append(q.Component, q.Rest)
	if ends == nil {
		q.Origin = make([]int32, q.Rest)
	}
	for s, n := range q.Number {
		switch {
		case n == unnumbered:
			q.Number[s] = q.Rest
		case ends == nil:
			q.Origin[n] = int32(s)
		}
	}
	return q
}

// Fill sets the choices, and what the transitions lead to. order holds the states of the model, one of each of
// the quotient in the order of their numbers and any others.
func (q *Quotient) Fill(g *Graph, order []int32, stays func(i int32) bool) {
	q.First, q.Choice = make([]int32, 0, q.Rest+1), make([]int32, 0, g.Kernel.Choices())
	j := 0 // the next merged state
	one := make([]int32, 1)
	for _, s := range order {
		n := q.Number[s]
		if n == q.Rest || int(n) != len(q.First) {
			continue
		}
		q.First = append(q.First, int32(len(q.Choice)))
		of := append(one[:0], s)
		if j < len(q.Merged) && q.Merged[j].State == n {
			of = q.Members(j)
			if stays(q.Merged[j].End) {
				q.Choice = append(q.Choice, Stay)
			}
			j++
		}
		for _, s := range of {
			for c := g.Kernel.First[s]; c < g.Kernel.First[s+1]; c++ {
				if g.Allows(c) && (q.Inside == nil || !q.Inside[c]) {
					q.Choice = append(q.Choice, c)
				}
			}
		}
	}
	q.First = append(q.First, int32(len(q.Choice)))
	q.To = make([]int32, len(q.Kernel.Next))
	for c := range q.Kernel.Choices() {
		next, prob := q.Kernel.Row(c)
		first, end := q.Kernel.Entries(c)
		to := q.To[first:end]
		for j, n := range next {
			to[j] = q.Rest
			if prob[j] > 0 {
				to[j] = q.Number[n]
			}
		}
	}
}

// Lift turns a policy of the quotient into one of the kernel and calls set for each state. The policy is an
// index into choice for each state, negative where there is none. Inside a merged component it surely goes to
// the state where the policy leaves, or it stays, by the first choices that stay.
func (q *Quotient) Lift(pick []int32, set func(s, c int32)) {
	for s := range int32(len(q.Number)) {
		if n := q.Number[s]; n != q.Rest {
			if i := pick[n]; i >= 0 && q.Choice[i] >= q.Kernel.First[s] && q.Choice[i] < q.Kernel.First[s+1] {
				set(s, q.Choice[i])
			}
		}
	}
	for _, f := range q.ZeroStates {
		set(f[0], f[1])
	}
	var to []int32 // what policies inside merged components come to
	lead := func(members, targets []int32) {
		if len(targets) < len(members) { // there is a way to find
			to = append(to, targets...)
		}
	}
	for j, end := range q.Merged {
		i := pick[end.State]
		if i >= 0 && q.Choice[i] != Stay {
			lead(q.Members(j), []int32{q.Owner(q.Choice[i])})
			continue
		}
		place := q.StayStates(j)
		for _, s := range place {
			c := q.Kernel.First[s]
			for !q.StayChoices[c] {
				c++
			}
			set(s, c)
		}
		lead(q.Members(j), place)
	}
	if len(to) == 0 {
		return
	}
	into := q.Predecessors
	if into == nil {
		into = (&Graph{Kernel: q.Kernel, Allowed: q.Inside}).Predecessors()
	}
	into.Attract(to, set)
}

// Row returns the successors of a choice of the quotient and their probabilities.
func (q *Quotient) Row(i int32) ([]int32, []float64) {
	if q.Choice[i] == Stay {
		return nil, nil
	}
	return q.row(q.Choice[i])
}

// row is Row of a choice of the kernel.
func (q *Quotient) row(c int32) ([]int32, []float64) {
	k := q.Kernel
	at := k.Offset[c]
	to := q.To[at:k.Offset[c+1]]
	if k.Distribution != nil {
		at = int(k.Distribution[c])
	}
	return to, k.Prob[at:][:len(to)]
}

// Owner returns the state of a choice of the kernel.
func (q *Quotient) Owner(c int32) int32 {
	return int32(sort.Search(len(q.Number), func(s int) bool { return q.Kernel.First[s+1] > c }))
}
