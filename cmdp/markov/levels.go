package markov

import (
	"cmdpsolve/cmdp/internal/parallel"
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

// levels returns as few levels as there can be of each block of some thousand states one after the other: the level of
// a component is how many transitions between components of the block lead on from it at most. Within a block, rows
// stay in a cache.
func (q *Quotient) levels() *levels {
	parts := int32(len(q.Component) - 1)
	z := &levels{order: make([]int32, 0, parts), begin: make([]int32, 1, parts+1), first: []int32{0}}
	level := make([]int32, q.Rest) // of each state
	var at [][]int32               // the components of each level
	for i := int32(0); i < parts; {
		start := q.Component[i]
		for ; i < parts && q.Component[i] < start+int32(threshold.Sorted); i++ {
			l := q.levelAfter(i, start, level)
			if int(l) == len(at) {
				at = append(at, nil)
			}
			at[l] = append(at[l], i)
		}
		for l, of := range at {
			for _, c := range of {
				z.order = append(z.order, c)
				z.begin = append(z.begin, z.begin[len(z.begin)-1]+q.Component[c+1]-q.Component[c])
			}
			if len(of) > 0 {
				z.first = append(z.first, int32(len(z.order)))
			}
			at[l] = of[:0]
		}
	}
	return z
}

// levelAfter sets the level of the states of component i, one more than those of the states from start on that it leads
// to, and returns it.
func (q *Quotient) levelAfter(i, start int32, level []int32) (l int32) {
	lo, hi := q.Component[i], q.Component[i+1]
	for j := q.First[lo]; j < q.First[hi]; j++ {
		to, _ := q.Row(j)
		for _, n := range to {
			if n >= start && n < lo {
				l = max(l, level[n]+1)
			}
		}
	}
	for s := lo; s < hi; s++ {
		level[s] = l
	}
	return l
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

// A stage has the components [first, end) in the order of levels, for one worker or, where they are shared, for all.
type stage struct {
	first, end int32
	shared     bool
}

// part returns the components that are solved in one of several parts.
func (at stage) part(i, parts int) (first, end int32) {
	n := int(at.end - at.first)
	switch {
	case at.shared:
		return at.first + int32(n*i/parts), at.first + int32(n*(i+1)/parts)
	case i == 0:
		return at.first, at.end
	}
	return at.end, at.end
}

// relay returns the work of solving components in stages, by solve in the order of levels.
func relay(workers int, stages []stage, solve func(first, end int32)) *parallel.Relay {
	const each = 3 // parts of a worker, which may be held up
	r := &parallel.Relay{Workers: workers, Stages: len(stages), Parts: each*(workers-1) + 1}
	r.Do = func(i, part int) {
		if first, end := stages[i].part(part, r.Parts); first < end {
			solve(first, end)
		}
	}
	return r
}

// stages returns each wide level, cut where it has more states than most, and what is between two of these.
func (z *levels) stages(most int) (stages []stage) {
	for l, end := range z.first[1:] {
		i := z.first[l]
		if !z.wide(l) {
			if last := len(stages) - 1; last >= 0 && !stages[last].shared {
				stages[last].end = end
			} else {
				stages = append(stages, stage{first: i, end: end})
			}
			continue
		}
		for i < end {
			at := stage{first: i, shared: true}
			for i++; i < end && int(z.begin[i]-z.begin[at.first]) < most; {
				i++
			}
			at.end = i
			stages = append(stages, at)
		}
	}
	return stages
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
