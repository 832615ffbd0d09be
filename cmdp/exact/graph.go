package exact

import (
	"slices"

	"cmdpsolve/cmdp"
)

// A graph is the support of a kernel that is the same at every step: a state leads to
// the successors, with positive probability, of its choices. Only the states of in take
// part, and of their choices those of allowed; nil stands for all. An edge to a state
// that takes no part counts for nothing.
type graph struct {
	k       *cmdp.Kernel
	in      []bool // of each state
	allowed []bool // of each choice
	tell    teller
}

// only returns the graph with the choices of a set alone.
func (g *graph) only(allowed []bool) *graph {
	return &graph{k: g.k, in: g.in, allowed: allowed, tell: g.tell}
}

func (g *graph) states() int { return len(g.k.First) - 1 }

func (g *graph) has(s int32) bool { return g.in == nil || g.in[s] }

func (g *graph) allows(c int32) bool { return g.allowed == nil || g.allowed[c] }

// A partition divides states into numbered parts.
type partition struct {
	of    []int32 // part of each state, −1 if it is in none
	first []int32 // of each part, where its states begin in order, and the end
	order []int32
}

func newPartition(states int) *partition {
	p := &partition{of: make([]int32, states), first: []int32{0}}
	for s := range p.of {
		p.of[s] = -1
	}
	return p
}

// parts returns their number.
func (p *partition) parts() int { return len(p.first) - 1 }

// part returns the states of part i.
func (p *partition) part(i int) []int32 { return p.order[p.first[i]:p.first[i+1]] }

// add makes states the next part.
func (p *partition) add(states []int32) {
	for _, s := range states {
		p.of[s] = int32(p.parts())
	}
	p.order = append(p.order, states...)
	p.first = append(p.first, int32(len(p.order)))
}

// components returns the strongly connected components in topological order, last
// first: every edge leads into the same component or one with a smaller number. Within
// one the states stand from the last to the first, since models count forwards as a rule. It
// takes time linear in the transitions, but for sorting.
func (g *graph) components() *partition {
	p := newPartition(g.states())
	p.order = make([]int32, 0, g.states())
	t := newTarjan(g, "finding components")
	for s := range int32(g.states()) {
		if g.has(s) {
			t.from(s, func(states []int32) {
				if len(states) > 1 {
					slices.SortFunc(states, func(a, b int32) int { return int(b - a) })
				}
				p.add(states)
			})
		}
	}
	return p
}

// tarjan finds strongly connected components (Tarjan 1972) without recursion.
type tarjan struct {
	g     *graph
	what  string  // the search is for, to be told
	seen  []int32 // when the state was first met, from 1; 0 before, done after its component
	low   []int32 // earliest state on the stack that is known to be reached
	clock int32
	stack []int32
	path  []visit
}

// A visit is a state on the way from the root, with the choice and the entry that are
// looked at next.
type visit struct {
	s, c int32
	e    int
}

const done = -1

func newTarjan(g *graph, what string) *tarjan {
	return &tarjan{g: g, what: what, seen: make([]int32, g.states()), low: make([]int32, g.states())}
}

// forget makes states be met anew.
func (t *tarjan) forget(states []int32) {
	for _, s := range states {
		t.seen[s] = 0
	}
}

// from calls emit with the components that are reached from root and were not met
// before, last first. The slice is only lent.
func (t *tarjan) from(root int32, emit func(states []int32)) {
	if t.seen[root] != 0 {
		return
	}
	t.enter(root)
	for len(t.path) > 0 {
		top := &t.path[len(t.path)-1]
		s := top.s
		n, ok := t.next(top)
		switch {
		case ok && t.seen[n] == 0:
			t.enter(n)
		case ok && t.seen[n] != done:
			t.low[s] = min(t.low[s], t.seen[n])
		case !ok:
			t.path = t.path[:len(t.path)-1]
			if len(t.path) > 0 {
				up := t.path[len(t.path)-1].s
				t.low[up] = min(t.low[up], t.low[s])
			}
			if t.low[s] == t.seen[s] {
				t.pop(s, emit)
			}
		}
	}
}

func (t *tarjan) enter(s int32) {
	if t.clock%portion == 0 {
		t.g.tell.at(t.what, float64(t.clock)/float64(t.g.states()), t.g.states())
	}
	t.clock++
	t.seen[s], t.low[s] = t.clock, t.clock
	t.stack = append(t.stack, s)
	c := t.g.k.First[s]
	t.path = append(t.path, visit{s, c, t.g.k.Offset[c]})
}

// next returns the next successor of a visit.
func (t *tarjan) next(v *visit) (n int32, ok bool) {
	k := t.g.k
	for ; v.c < k.First[v.s+1]; v.c++ {
		if v.e = max(v.e, k.Offset[v.c]); !t.g.allows(v.c) {
			continue
		}
		for v.e < k.Offset[v.c+1] {
			e := v.e
			v.e++
			if k.Prob[e] > 0 && t.g.has(k.Next[e]) {
				return k.Next[e], true
			}
		}
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
		t.seen[s] = done
	}
	emit(t.stack[at:])
	t.stack = t.stack[:at]
}

// cyclic reports whether a path comes back to a state of it, given the strongly connected components.
func (g *graph) cyclic(components *partition) bool {
	for s := range int32(g.states()) {
		for c := g.k.First[s]; g.has(s) && c < g.k.First[s+1]; c++ {
			for e := g.k.Offset[c]; g.allows(c) && e < g.k.Offset[c+1]; e++ {
				if n := g.k.Next[e]; g.k.Prob[e] > 0 && components.of[n] == components.of[s] {
					return true
				}
			}
		}
	}
	return false
}

// reachable reports which states of a model can be reached from some.
func reachable(k *cmdp.Kernel, from []int32) []bool {
	met := make([]bool, len(k.First)-1)
	queue := append([]int32(nil), from...)
	for _, s := range from {
		met[s] = true
	}
	for len(queue) > 0 {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for e := k.Offset[k.First[s]]; e < k.Offset[k.First[s+1]]; e++ {
			if n := k.Next[e]; k.Prob[e] > 0 && !met[n] {
				met[n] = true
				queue = append(queue, n)
			}
		}
	}
	return met
}

// surely leaves out the states from which no policy surely comes to a goal, and the choices that may lead to such (Baier and
// Katoen 2008, section 10.6.1). The slices of the graph are changed. It reports whether all states stay, and returns of each
// state that does and is no goal a choice that may lead nearer: taken everywhere, these surely come to a goal.
func (g *graph) surely(goal func(s int32) bool) (whole bool, nearer []int32) {
	into := g.predecessors()
	nearer, whole = make([]int32, g.states()), true
	met := make([]bool, g.states())
	var queue []int32
	for {
		clear(met)
		for s := range int32(g.states()) {
			if g.in[s] && goal(s) {
				met[s] = true
				queue = append(queue, s)
			}
		}
		for n := 0; n < len(queue); n++ {
			for _, c := range into.choices(queue[n]) {
				if by := into.owner[c]; g.allowed[c] && g.in[by] && !met[by] {
					met[by], nearer[by] = true, c
					queue = append(queue, by)
				}
			}
		}
		queue = queue[:0]
		lost := false
		for s := range int32(g.states()) {
			if g.in[s] && !met[s] {
				lost, g.in[s] = true, false
				for _, c := range into.choices(s) {
					g.allowed[c] = false
				}
			}
		}
		if !lost {
			return whole, nearer
		}
		whole = false
	}
}

// lists holds a list of numbers for each state.
type lists struct {
	first []int
	items []int32
}

// newLists makes lists of the items that each adds, in the same order every time.
func newLists(states int, each func(add func(at, item int32))) lists {
	l := lists{first: make([]int, states+2)}
	each(func(at, _ int32) { l.first[at+2]++ })
	for i := 2; i < len(l.first); i++ {
		l.first[i] += l.first[i-1]
	}
	l.items = make([]int32, l.first[len(l.first)-1])
	each(func(at, item int32) {
		l.items[l.first[at+1]] = item
		l.first[at+1]++
	})
	return l
}

func (l lists) of(s int32) []int32 { return l.items[l.first[s]:l.first[s+1]] }
