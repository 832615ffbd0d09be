package markov

import (
	"slices"

	"cmdpsolve/internal/threshold"
)

// levels cut the components of a quotient, in some order in which each leads to those before it alone, into levels:
// components of one level do not lead to each other.
type levels struct {
	order []int32 // the components, nil for the order that they have
	begin []int32 // of each component in this order, how many states are before it, and of all of them
	first []int32 // of each level, where its components begin, and the end
}

// runs returns levels of components that stand one after the other, each as long as it can be.
func (q *Quotient) runs() *levels {
	first := []int32{0}
	for i, lo := range q.Component[:len(q.Component)-1] {
		begin := q.Component[first[len(first)-1]]
		for j := q.First[lo]; j < q.First[q.Component[i+1]] && begin < lo; j++ {
			to, _ := q.Row(j)
			for _, n := range to {
				if n >= begin && n < lo {
					first, begin = append(first, int32(i)), lo
				}
			}
		}
	}
	return &levels{begin: q.Component, first: append(first, int32(len(q.Component)-1))}
}

// levels returns as few levels as there can be. The level of a component is how many transitions between components
// lead to it at most, and the highest is the first. What a component leads to then stands close before it where models
// count forwards.
func (q *Quotient) levels() *levels {
	parts := len(q.Component) - 1
	depth, level := make([]int32, q.Rest), make([]int32, parts) // of each state, and of each component
	highest := int32(0)
	for i := parts - 1; i >= 0; i-- {
		lo, hi := q.Component[i], q.Component[i+1]
		level[i] = slices.Max(depth[lo:hi])
		highest = max(highest, level[i])
		for j := q.First[lo]; j < q.First[hi]; j++ {
			to, _ := q.Row(j)
			for _, n := range to {
				if n < lo {
					depth[n] = max(depth[n], level[i]+1)
				}
			}
		}
	}
	z := &levels{order: make([]int32, parts), begin: make([]int32, 1, parts+1), first: make([]int32, highest+2)}
	for _, l := range level {
		z.first[highest-l+1]++
	}
	for l := range highest + 1 {
		z.first[l+1] += z.first[l]
	}
	next := slices.Clone(z.first)
	for i, l := range level {
		z.order[next[highest-l]] = int32(i)
		next[highest-l]++
	}
	for at, i := range z.order {
		z.begin = append(z.begin, z.begin[at]+q.Component[i+1]-q.Component[i])
	}
	return z
}

// wide reports whether it is worth while to share level l.
func (z *levels) wide(l int) bool {
	first, end := z.first[l], z.first[l+1]
	return end > first+1 && int(z.begin[end]-z.begin[first]) >= threshold.Level
}

// mostlyWide reports whether half of the states or more are in levels that are worth sharing.
func (z *levels) mostlyWide() bool {
	states := int32(0)
	for l := range len(z.first) - 1 {
		if z.wide(l) {
			states += z.begin[z.first[l+1]] - z.begin[z.first[l]]
		}
	}
	return 2*states >= z.begin[len(z.begin)-1]
}

// inOrder returns a quotient in which nothing is merged with its components in the order of its levels, and of each
// state the number that it has in q.
func (q *Quotient) inOrder(z *levels) (out *Quotient, before []int32) {
	out, before = new(Quotient), make([]int32, 0, q.Rest)
	*out = *q
	out.Component = z.begin
	out.First, out.Choice = make([]int32, 1, len(q.First)), make([]int32, 0, len(q.Choice))
	number := make([]int32, q.Rest+1)
	for _, i := range z.order {
		for s := q.Component[i]; s < q.Component[i+1]; s++ {
			number[s] = int32(len(before))
			before = append(before, s)
			out.Choice = append(out.Choice, q.Choice[q.First[s]:q.First[s+1]]...)
			out.First = append(out.First, int32(len(out.Choice)))
		}
	}
	number[q.Rest] = q.Rest
	renumbered := func(of []int32) []int32 {
		x := make([]int32, len(of))
		for i, s := range of {
			x[i] = number[s]
		}
		return x
	}
	out.Number, out.To = renumbered(q.Number), renumbered(q.To)
	out.Origin = make([]int32, len(q.Origin))
	for n, s := range before {
		out.Origin[n] = q.Origin[s]
	}
	return out, before
}
