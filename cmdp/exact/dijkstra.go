package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp/internal/parallel"
)

// classPaths finds cheap ways between the classes of a long-run mixture inside an end, by the algorithm of Dijkstra. A
// class is one node: whoever is in it comes to all its states. To take a choice costs as much as it does until
// it succeeds.
type classPaths struct {
	t         *longRunMixture
	states    []int32
	classes   int
	least     []float64     // the least means of ends, nil if they are not known
	step      float64       // what a step costs
	distance  []float64     // of each node
	viaChoice []int32       // of each node, the choice that it takes
	next      []int32       // of each node, the state that the choice is to lead to
	settled   []bool        // of each node, whether these are final
	goal      []bool        // of each node
	queue     distanceQueue // of nodes that are not settled
}

// newClassPaths returns the ways of an end. A choice costs by how much it is worse than the best one, where the least
// means of ends are known, and a little for the step.
func (t *longRunMixture) newClassPaths(end int32, least []float64) *classPaths {
	p := t.p
	w := &classPaths{t: t, states: p.ends.Part(int(end)), classes: len(t.classes[end]), least: least}
	largest := 0.0
	for _, s := range w.states {
		for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
			if p.ends.Inside[c] {
				largest = math.Max(largest, w.cost(s, c))
			}
		}
	}
	w.step = 1e-3 * largest
	if !(w.step > 0) {
		w.step = 1
	}
	p.numberStates(w.states)
	w.makeRoom()
	return w
}

// makeRoom makes the room of a search.
func (w *classPaths) makeRoom() {
	n := w.classes + len(w.states)
	w.distance, w.viaChoice, w.next = make([]float64, n), make([]int32, n), make([]int32, n)
	w.settled, w.goal = make([]bool, n), make([]bool, n)
	w.queue = nil
}

// eachWay calls visit with the choices on the way from each class to the next one, and from the last to the first, and
// the states in which they are taken. So many workers search at the same time, each in room of its own.
func (w *classPaths) eachWay(ctx context.Context, workers int, visit func(s, c int32)) error {
	searches := []*classPaths{w}
	for range min(workers, w.classes) - 1 {
		beside := *w
		beside.makeRoom()
		searches = append(searches, &beside)
	}
	for from := 0; from < w.classes; from += len(searches) {
		parts := min(len(searches), w.classes-from)
		r := parallel.Relay{Workers: workers, Stages: 1, Parts: parts, Do: func(_, i int) {
			searches[i].start([]int32{int32((from + i + 1) % w.classes)})
			searches[i].find(int32(from + i))
		}}
		if err := r.Run(ctx); err != nil {
			return err
		}
		for i := range parts {
			searches[i].visitPath(int32(from+i), visit)
		}
	}
	return nil
}

// cost returns what a choice costs.
func (w *classPaths) cost(s, c int32) float64 {
	if w.least == nil {
		return w.step
	}
	p := w.t.p
	worse := p.least.Reward[c] - w.least[p.ends.Of[s]]
	next, prob := p.k.Row(int(c))
	for j, n := range next {
		worse += prob[j] * (p.least.Bias[n] - p.least.Bias[s])
	}
	return math.Max(0, worse) + w.step
}

// nodeOf returns the number of a state, which all states of a class share.
func (w *classPaths) nodeOf(s int32) int32 {
	if i := w.t.classNumber[s]; i >= 0 {
		return i
	}
	return int32(w.classes) + w.t.p.index[s]
}

// members returns the states of a node.
func (w *classPaths) members(n int32, end int32) []int32 {
	if int(n) < w.classes {
		return w.t.classes[end][n].states
	}
	return w.states[int(n)-w.classes:][:1]
}

// start begins the search for the cheapest ways to one of the goals.
func (w *classPaths) start(goals []int32) {
	for n := range w.distance {
		w.distance[n], w.viaChoice[n] = math.Inf(1), -1
	}
	clear(w.settled)
	clear(w.goal)
	w.queue = w.queue[:0]
	for _, n := range goals {
		w.distance[n], w.goal[n] = 0, true
		w.queue.push(queuedNode{0, n})
	}
}

// find goes on with the search until the way from a node is known.
func (w *classPaths) find(n int32) {
	end := w.t.p.ends.Of[w.states[0]]
	for !w.settled[n] && len(w.queue) > 0 {
		at := w.queue.pop()
		if at.dist > w.distance[at.n] {
			continue
		}
		w.settled[at.n] = true
		for _, to := range w.members(at.n, end) {
			w.lookBack(at, to)
		}
	}
}

// lookBack looks at the choices that may lead to a state of a node that is settled. Their states may be settled too, or
// known to be as near as a step can bring them.
func (w *classPaths) lookBack(at queuedNode, to int32) {
	p := w.t.p
	for _, c := range p.least.Predecessors.Choices(to) {
		s := p.least.Predecessors.Owner[c]
		from := w.nodeOf(s)
		if w.settled[from] || w.distance[from] <= at.dist+w.step || w.goal[from] {
			continue
		}
		there := 0.0
		next, prob := p.k.Row(int(c))
		for j, n := range next {
			if prob[j] > 0 && w.nodeOf(n) == at.n {
				there += prob[j]
			}
		}
		if dist := at.dist + w.cost(s, c)/there; dist < w.distance[from] {
			w.distance[from], w.viaChoice[from], w.next[from] = dist, c, to
			w.queue.push(queuedNode{dist, from})
		}
	}
}

// visitPath calls visit with the choices on the way from a node to its goal, and the states in which they are taken.
func (w *classPaths) visitPath(n int32, visit func(s, c int32)) {
	for !w.goal[n] {
		c := w.viaChoice[n]
		visit(w.t.p.least.Predecessors.Owner[c], c)
		n = w.nodeOf(w.next[n])
	}
}

// A queuedNode is one whose distance to a goal is at most dist.
type queuedNode struct {
	dist float64
	n    int32
}

func (a queuedNode) before(b queuedNode) bool {
	return a.dist < b.dist || a.dist == b.dist && a.n < b.n
}

// distanceQueue is a heap, the nearest first.
type distanceQueue []queuedNode

func (q *distanceQueue) push(x queuedNode) {
	h := append(*q, x)
	i := len(h) - 1
	for i > 0 && x.before(h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = x
	*q = h
}

func (q *distanceQueue) pop() queuedNode {
	h := *q
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	for i := 0; len(h) > 0; {
		below := 2*i + 1
		if below+1 < len(h) && h[below+1].before(h[below]) {
			below++
		}
		if below >= len(h) || !h[below].before(last) {
			h[i] = last
			break
		}
		h[i] = h[below]
		i = below
	}
	return first
}
