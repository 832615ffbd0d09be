package exact

import (
	"container/heap"
	"math"
)

// classPaths finds cheap ways between the classes of a long-run mixture inside an end, by the algorithm of Dijkstra. A
// class is one node: whoever is in it comes to all its states. To take a choice costs as much as it does until
// it succeeds.
type classPaths struct {
	t         *longRunMixture
	states    []int32
	classes   int
	cost      map[int32]float64 // of choices
	distance  []float64         // of each node
	viaChoice []int32           // of each node, the choice that it takes
	next      []int32           // of each node, the state that the choice is to lead to
	goal      []bool
}

// newClassPaths returns the ways of an end. A choice costs by how much it is worse than the best one, where the least
// means of ends are known, and a little for the step.
func (t *longRunMixture) newClassPaths(end int32, least []float64) *classPaths {
	p := t.p
	w := &classPaths{t: t, states: p.ends.Part(int(end)), classes: len(t.classes[end]), cost: make(map[int32]float64)}
	largest := 0.0
	for _, s := range w.states {
		for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
			if !p.ends.Inside[c] {
				continue
			}
			w.cost[c] = 0
			if least == nil {
				continue
			}
			worse := p.least.Reward[c] - least[end]
			next, prob := p.k.Row(int(c))
			for j, n := range next {
				worse += prob[j] * (p.least.Bias[n] - p.least.Bias[s])
			}
			w.cost[c] = math.Max(0, worse)
			largest = math.Max(largest, worse)
		}
	}
	step := 1e-3 * largest
	if !(step > 0) {
		step = 1
	}
	for c := range w.cost {
		w.cost[c] += step
	}
	p.numberStates(w.states)
	n := w.classes + len(w.states)
	w.distance, w.viaChoice, w.next, w.goal = make([]float64, n), make([]int32, n), make([]int32, n), make([]bool, n)
	return w
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

// dijkstra finds the cheapest way from every node to one of the goals.
func (w *classPaths) dijkstra(goals []int32) {
	p := w.t.p
	end := p.ends.Of[w.states[0]]
	for n := range w.distance {
		w.distance[n], w.viaChoice[n], w.goal[n] = math.Inf(1), -1, false
	}
	var queue distanceQueue
	for _, n := range goals {
		w.distance[n], w.goal[n] = 0, true
		heap.Push(&queue, queuedNode{0, n})
	}
	for len(queue) > 0 {
		at := heap.Pop(&queue).(queuedNode)
		if at.dist > w.distance[at.n] {
			continue
		}
		for _, to := range w.members(at.n, end) {
			for _, c := range p.least.Predecessors.Choices(to) {
				from := w.nodeOf(p.least.Predecessors.Owner[c])
				if from == at.n || w.goal[from] {
					continue
				}
				there := 0.0
				next, prob := p.k.Row(int(c))
				for j, n := range next {
					if prob[j] > 0 && w.nodeOf(n) == at.n {
						there += prob[j]
					}
				}
				if dist := at.dist + w.cost[c]/there; dist < w.distance[from] {
					w.distance[from], w.viaChoice[from], w.next[from] = dist, c, to
					heap.Push(&queue, queuedNode{dist, from})
				}
			}
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

// distanceQueue is a heap, the nearest first.
type distanceQueue []queuedNode

func (q distanceQueue) Len() int { return len(q) }
func (q distanceQueue) Less(i, j int) bool {
	return q[i].dist < q[j].dist || q[i].dist == q[j].dist && q[i].n < q[j].n
}
func (q distanceQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *distanceQueue) Push(x any)   { *q = append(*q, x.(queuedNode)) }
func (q *distanceQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}
