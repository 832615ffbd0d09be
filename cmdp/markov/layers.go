package markov

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/internal/threshold"
)

// LayeredComponents returns the strongly connected components as Components does, but for the order of states within
// them, see orderByHeads and orderByLayers.
func (g *Graph) LayeredComponents(ctx context.Context) (*Partition, error) {
	p, err := g.Components(ctx)
	if err == nil {
		err = g.orderByHeads(ctx, p)
	}
	if err == nil {
		err = g.orderByLayers(ctx, p)
	}
	return p, err
}

// orderByHeads orders the states of components of medium size so that each leads to states before it and to a few
// heads alone, which are on all cycles, where a depth-first search from the last state in their order, in which a
// protocol begins as a rule, shows such an order: that in which it leaves the states.
func (g *Graph) orderByHeads(ctx context.Context, p *Partition) error {
	var at []uint8
	var path []visit
	var left []int32
	const onPath, head, done = 1, 2, 3
	for i := range p.Len() {
		states := p.Part(i)
		if len(states) <= mostHeads || len(states) > threshold.Swept {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if at == nil {
			at = make([]uint8, g.States())
		}
		root, heads := states[len(states)-1], 0
		path, left, at[root] = append(path[:0], visit{root, g.Kernel.First[root], 0}), left[:0], onPath
		for len(path) > 0 && heads <= mostHeads {
			n, ok := g.next(&path[len(path)-1])
			switch {
			case !ok:
				s := path[len(path)-1].s
				path, left, at[s] = path[:len(path)-1], append(left, s), done
			case p.Of[n] != p.Of[root] || n == path[len(path)-1].s:
			case at[n] == 0:
				path, at[n] = append(path, visit{n, g.Kernel.First[n], 0}), onPath
			case at[n] == onPath:
				heads++
				at[n] = head
			}
		}
		if heads <= mostHeads {
			copy(states, left)
		}
	}
	return nil
}

// orderByLayers orders the states of large components by how many steps out of the component take at least, fewest
// first, where the order that they have does not keep successors close: where some transition leads back over more
// than half of the component. Sweeps in place then take most values from states that the same sweep has been at. States
// that are equally far keep their order.
func (g *Graph) orderByLayers(ctx context.Context, p *Partition) error {
	var place, far []int32
	for i := range p.Len() {
		states := p.Part(i)
		if len(states) <= threshold.Swept {
			continue
		}
		if place == nil {
			place, far = make([]int32, g.States()), make([]int32, g.States())
		}
		for j, s := range states {
			place[s] = int32(j)
		}
		if g.leadsBack(ctx, p, states, place) > len(states)/2 {
			if err := g.layers(ctx, p, states, place, far); err != nil {
				return err
			}
			slices.SortStableFunc(states, func(a, b int32) int { return int(far[a] - far[b]) })
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// eachState calls visit with the numbers of n states until ctx ends.
func eachState(ctx context.Context, n int, visit func(j int)) {
	const often = 1 << 14
	for lo := 0; lo < n && ctx.Err() == nil; lo += often {
		for j := lo; j < min(lo+often, n); j++ {
			visit(j)
		}
	}
}

// leadsBack returns over how many states of a component, in their order, a transition leads back at most.
func (g *Graph) leadsBack(ctx context.Context, p *Partition, states, place []int32) int {
	most := int32(0)
	eachState(ctx, len(states), func(j int) {
		s := states[j]
		g.each(s, func(n int32) {
			if p.Of[n] == p.Of[s] {
				most = max(most, place[n]-place[s])
			}
		})
	})
	return int(most)
}

// mostTries is the largest number of steps that a transition counts as.
const mostTries = 32

// tries returns how many steps are taken until a transition of some probability is, at least.
func tries(prob float64) int32 { return int32(math.Ceil(min(mostTries, 1/prob))) }

// layers sets far to the least number of steps in which each state of a component leads out of it, where a transition
// takes as many as until it happens, by the algorithm of Dijkstra with a list for each distance (Dial 1969).
func (g *Graph) layers(ctx context.Context, p *Partition, states, place, far []int32) error {
	type step struct{ from, tries int32 }
	part := p.Of[states[0]]
	var at [mostTries + 1][]int32 // the states at each distance from the present one on, in turn
	eachState(ctx, len(states), func(j int) {
		s := states[j]
		far[s] = math.MaxInt32
		g.eachTransition(s, func(n int32, prob float64) {
			if p.Of[n] != part {
				far[s] = min(far[s], tries(prob))
			}
		})
		if far[s] <= mostTries {
			at[far[s]] = append(at[far[s]], s)
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	into := newLists(len(states), func(add func(at int32, item step)) {
		eachState(ctx, len(states), func(j int) {
			s := states[j]
			g.eachTransition(s, func(n int32, prob float64) {
				if p.Of[n] == part {
					add(place[n], step{s, tries(prob)})
				}
			})
		})
	})
	for d, empty := int32(0), 0; empty <= mostTries && ctx.Err() == nil; d++ {
		now := at[d%(mostTries+1)]
		at[d%(mostTries+1)] = nil
		empty++
		for _, s := range now {
			empty = 0
			if far[s] < d { // it was nearer
				continue
			}
			for _, x := range into.of(place[s]) {
				if then := d + x.tries; then < far[x.from] {
					far[x.from] = then
					at[then%(mostTries+1)] = append(at[then%(mostTries+1)], x.from)
				}
			}
		}
	}
	return ctx.Err()
}

// each calls visit with the successors of a state.
func (g *Graph) each(s int32, visit func(n int32)) {
	g.eachTransition(s, func(n int32, _ float64) { visit(n) })
}

// eachTransition calls visit with the successors of a state and how probable each is.
func (g *Graph) eachTransition(s int32, visit func(n int32, prob float64)) {
	k := g.Kernel
	for c := k.First[s]; c < k.First[s+1]; c++ {
		if !g.Allows(c) {
			continue
		}
		next, prob := k.Row(int(c))
		for e, n := range next {
			if prob[e] > 0 && n != s && g.Has(n) {
				visit(n, prob[e])
			}
		}
	}
}
