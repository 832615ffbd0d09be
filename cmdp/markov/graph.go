package markov

import (
	"context"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/progress"
)

// reportEvery is how many states an analysis goes through before it looks whether it is to end, and tells of itself.
const reportEvery = progress.Many

// A Graph is the support of a kernel that is the same at every step: a state leads to
// the successors, with positive probability, of its choices. Only the states of In take
// part, and of their choices those of Allowed; nil stands for all. An edge to a state
// that takes no part counts for nothing. An analysis that takes a context returns its error soon after it has
// ended.
type Graph struct {
	Kernel  *cmdp.Kernel
	In      []bool     // of each state
	Allowed []bool     // of each choice
	Cycles  *Partition // no cycle leaves a part of it, and every cycle is in one; nil if that is not known
	// Connected says that all states of a part of Cycles lead to one another within it, if all choices are allowed and
	// all of its states take part.
	Connected bool
	Progress  progress.Func
}

// Only returns the graph with the choices of a set alone.
func (g *Graph) Only(allowed []bool) *Graph {
	return &Graph{Kernel: g.Kernel, In: g.In, Allowed: allowed, Cycles: g.Cycles, Progress: g.Progress}
}

// States returns the number of states of the kernel.
func (g *Graph) States() int { return len(g.Kernel.First) - 1 }

// Has reports whether a state takes part.
func (g *Graph) Has(s int32) bool { return g.In == nil || g.In[s] }

// Allows reports whether a choice takes part, if its state does.
func (g *Graph) Allows(c int32) bool { return g.Allowed == nil || g.Allowed[c] }

// A Partition divides states into numbered parts.
type Partition struct {
	Of    []int32 // part of each state, −1 if it is in none
	First []int32 // of each part, where its states begin in order, and the end
	Order []int32 // the states of the first part, of the second, and so on
}

// newPartition returns a partition without parts.
func newPartition(states int) *Partition {
	p := &Partition{Of: make([]int32, states), First: []int32{0}}
	for s := range p.Of {
		p.Of[s] = -1
	}
	return p
}

// Len returns the number of parts.
func (p *Partition) Len() int { return len(p.First) - 1 }

// Part returns the states of part i.
func (p *Partition) Part(i int) []int32 { return p.Order[p.First[i]:p.First[i+1]] }

// add makes states the next part.
func (p *Partition) add(states []int32) {
	for _, s := range states {
		p.Of[s] = int32(p.Len())
	}
	p.Order = append(p.Order, states...)
	p.First = append(p.First, int32(len(p.Order)))
}

// Components returns the strongly connected components in topological order, last
// first: every edge leads into the same component or one with a smaller number. Within
// one the states stand from the last to the first, and components do as far as edges allow, since models
// count forwards as a rule: what a component leads to, and its rows, are then close in memory. It
// takes time linear in the transitions, but for sorting.
func (g *Graph) Components(ctx context.Context) (*Partition, error) {
	p := newPartition(g.States())
	p.Order = make([]int32, 0, g.States())
	last, err := g.addSingles(ctx, p)
	if last < 0 || err != nil {
		return p, err
	}
	if one, err := g.oneComponent(ctx, p, last); one || err != nil {
		return p, err
	}
	t := newTarjan(ctx, g, findingComponents)
	for _, s := range p.Order {
		t.index[s] = finished
	}
	for s := last; s >= 0; s-- {
		if !g.Has(s) {
			continue
		}
		err := t.from(s, func(states []int32) {
			if len(states) > 1 {
				slices.SortFunc(states, func(a, b int32) int { return int(b - a) })
			}
			p.add(states)
		})
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// addSingles makes components of the last states, as long as each leads to itself and to states after it alone: of all
// states, in a model without a cycle that counts forwards. It returns the last state that is left, −1 for none.
func (g *Graph) addSingles(ctx context.Context, p *Partition) (last int32, err error) {
	one, behind := make([]int32, 1), true
	for last = int32(g.States()) - 1; last >= 0; last-- {
		if len(p.Order)%reportEvery == 0 {
			g.Progress.At(findingComponents, float64(len(p.Order))/float64(g.States()), g.States())
			if ctx.Err() != nil {
				return last, ctx.Err()
			}
		}
		if !g.Has(last) {
			continue
		}
		g.each(last, func(n int32) { behind = behind && n > last })
		if !behind {
			break
		}
		one[0] = last
		p.add(one)
	}
	return last, nil
}

// findingComponents is what Progress is told.
const findingComponents = "finding components"

// tarjan finds strongly connected components (Tarjan 1972) without recursion.
type tarjan struct {
	ctx     context.Context
	err     error // of ctx
	g       *Graph
	what    string  // the search is for, to be told
	index   []int32 // when the state was first met, from 1; 0 before, done after its component
	lowlink []int32 // earliest state on the stack that is known to be reached
	clock   int32
	stack   []int32
	path    []visit
}

// A visit is a state on the way from the root, with the choice and the entry that are
// looked at next.
type visit struct {
	s, c int32
	e    int // of the choice's row
}

const finished = -1

func newTarjan(ctx context.Context, g *Graph, what string) *tarjan {
	t := new(tarjan)
	t.start(ctx, g, what)
	return t
}

// start makes all states be met anew, those of another graph perhaps. Memory serves the next search.
func (t *tarjan) start(ctx context.Context, g *Graph, what string) {
	n := g.States()
	*t = tarjan{ctx: ctx, g: g, what: what, index: resized(t.index, n), lowlink: grown(t.lowlink, n),
		stack: t.stack[:0], path: t.path[:0]}
}

// reset makes states be met anew.
func (t *tarjan) reset(states []int32) {
	for _, s := range states {
		t.index[s] = 0
	}
}

// from calls emit with the components that are reached from root and were not met
// before, last first. The slice is only lent.
func (t *tarjan) from(root int32, emit func(states []int32)) error {
	if t.index[root] != 0 {
		return nil
	}
	t.enter(root)
	for len(t.path) > 0 && t.err == nil {
		top := &t.path[len(t.path)-1]
		s := top.s
		n, ok := t.g.next(top)
		switch {
		case ok && t.index[n] == 0:
			t.enter(n)
		case ok && t.index[n] != finished:
			t.lowlink[s] = min(t.lowlink[s], t.index[n])
		case !ok:
			t.path = t.path[:len(t.path)-1]
			if len(t.path) > 0 {
				up := t.path[len(t.path)-1].s
				t.lowlink[up] = min(t.lowlink[up], t.lowlink[s])
			}
			if t.lowlink[s] == t.index[s] {
				t.pop(s, emit)
			}
		}
	}
	return t.err
}

func (t *tarjan) enter(s int32) {
	if t.clock%reportEvery == 0 {
		t.g.Progress.At(t.what, float64(t.clock)/float64(t.g.States()), t.g.States())
		t.err = t.ctx.Err()
	}
	t.clock++
	t.index[s], t.lowlink[s] = t.clock, t.clock
	t.stack = append(t.stack, s)
	t.path = append(t.path, visit{s, t.g.Kernel.First[s], 0})
}

// next returns the next successor of a visit.
func (g *Graph) next(v *visit) (n int32, ok bool) {
	k := g.Kernel
	for ; v.c < k.First[v.s+1]; v.c++ {
		if !g.Allows(v.c) {
			continue
		}
		next, prob := k.Row(int(v.c))
		for v.e < len(next) {
			e := v.e
			v.e++
			if prob[e] > 0 && g.Has(next[e]) {
				return next[e], true
			}
		}
		v.e = 0
	}
	return 0, false
}

// pop takes the component of root from the stack.
func (t *tarjan) pop(root int32, emit func(states []int32)) {
	at := len(t.stack) - 1
	for t.stack[at] != root {
		at--
	}
	for _, s := range t.stack[at:] {
		t.index[s] = finished
	}
	emit(t.stack[at:])
	t.stack = t.stack[:at]
}

// Reachable reports of each state whether it can be reached from one of the given states. One pass through memory in
// order finds most of them, since models count forwards as a rule.
func (g *Graph) Reachable(ctx context.Context, from []int32) ([]bool, error) {
	met := make([]bool, g.States())
	for _, s := range from {
		met[s] = true
	}
	at, back := int32(0), []int32(nil)
	visit := func(n int32) {
		if !met[n] {
			met[n] = true
			if n < at {
				back = append(back, n)
			}
		}
	}
	const finding = "finding states that are reached"
	for ; at < int32(len(met)); at++ {
		if at%reportEvery == 0 {
			g.Progress.At(finding, float64(at)/float64(len(met)), len(met))
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		if met[at] {
			g.each(at, visit)
		}
	}
	for n := 0; n < len(back); n++ {
		if n%reportEvery == reportEvery-1 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		g.each(back[n], visit)
	}
	return met, nil
}

// ReachedBy reports of each state whether a stationary policy comes to it. The policy is asked for these states alone.
func ReachedBy(m *cmdp.Model, policy cmdp.Policy) []bool {
	rows, met := m.Rows(0), make([]bool, m.States())
	var queue []int32
	visit := func(s int32, probability float64) {
		if probability > 0 && !met[s] {
			met[s] = true
			queue = append(queue, s)
		}
	}
	for _, st := range m.StartStates() {
		visit(int32(st.State), st.Probability)
	}
	var probs []float64
	for at := 0; at < len(queue); at++ {
		first, end := rows.Choices(int(queue[at]))
		if first == end {
			continue
		}
		probs = resized(probs, end-first)
		policy.Distribution(probs, 0, int(queue[at]))
		for a, share := range probs {
			next, prob := rows.Row(first + a)
			for j, n := range next {
				visit(n, min(share, prob[j]))
			}
		}
	}
	return met
}

// AlmostSurely leaves out of In the states from which no policy reaches a goal with probability one, and of
// Allowed the choices that may lead to a state which takes no part (Baier and Katoen 2008, section 10.6.1);
// neither may be nil. It reports whether all states stay. Of each state that does and is no goal it returns a
// choice that may lead nearer: taken everywhere, these reach a goal with probability one.
func (g *Graph) AlmostSurely(ctx context.Context, goal func(s int32) bool) (whole bool, nearer []int32, err error) {
	into := g.Predecessors()
	nearer, whole = make([]int32, g.States()), true
	for c := range g.Allowed {
		g.Allowed[c] = g.Allowed[c] && !g.leaves(int32(c))
	}
	met := make([]bool, g.States())
	var queue []int32
	for {
		clear(met)
		for s := range int32(g.States()) {
			if g.In[s] && goal(s) {
				met[s] = true
				queue = append(queue, s)
			}
		}
		for n := 0; n < len(queue); n++ {
			if n%reportEvery == 0 && ctx.Err() != nil {
				return false, nil, ctx.Err()
			}
			for _, c := range into.Choices(queue[n]) {
				if by := into.Owner[c]; g.Allowed[c] && g.In[by] && !met[by] {
					met[by], nearer[by] = true, c
					queue = append(queue, by)
				}
			}
		}
		queue = queue[:0]
		lost := false
		for s := range int32(g.States()) {
			if g.In[s] && !met[s] {
				lost, g.In[s] = true, false
				for _, c := range into.Choices(s) {
					g.Allowed[c] = false
				}
			}
		}
		if !lost {
			return whole, nearer, nil
		}
		whole = false
	}
}

// leaves reports whether a choice may lead to a state that takes no part.
func (g *Graph) leaves(c int32) bool {
	next, prob := g.Kernel.Row(int(c))
	for j, n := range next {
		if prob[j] > 0 && !g.Has(n) {
			return true
		}
	}
	return false
}

// LongestRow returns the most successors of a choice.
func LongestRow(k *cmdp.Kernel) int {
	most := 0
	for c := range k.Choices() {
		first, end := k.Entries(c)
		most = max(most, end-first)
	}
	return most
}

// lists holds a list of items for each state.
type lists[T any] struct {
	first []int
	items []T
}

// newLists makes lists of the items that each adds, in the same order every time.
func newLists[T any](states int, each func(add func(at int32, item T))) lists[T] {
	l := lists[T]{first: make([]int, states+2)}
	each(func(at int32, _ T) { l.first[at+2]++ })
	for i := 2; i < len(l.first); i++ {
		l.first[i] += l.first[i-1]
	}
	l.items = make([]T, l.first[len(l.first)-1])
	each(func(at int32, item T) {
		l.items[l.first[at+1]] = item
		l.first[at+1]++
	})
	return l
}

func (l lists[T]) of(s int32) []T { return l.items[l.first[s]:l.first[s+1]] }
