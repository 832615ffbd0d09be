package markov

import (
	"container/heap"
	"context"
	"slices"
)

// A Change is what different arrivals at a few states change of the visits of a policy. It looks only at
// components that the change comes to, first ones first.
type Change struct {
	*Visits
	Occupancy          // of all states of the quotient, 0 where nothing changes
	pending    maxHeap // numbers of components that are to be visited
	number     []int32 // of each state, that of its component
	affected   []int32 // components that the change came to
	isAffected []bool  // of each component, whether it is in met
}

// Change returns a change without arrivals, in the memory of the last one, which has to be cleared before.
func (p *Visits) Change() *Change {
	if p.changed == nil {
		c := &Change{Visits: p, isAffected: make([]bool, len(p.quotient.Component))}
		c.Counts = make([]float64, p.quotient.Rest+1)
		c.number = make([]int32, p.quotient.Rest)
		for i, hi := range p.quotient.Component[1:] {
			for n := p.quotient.Component[i]; n < hi; n++ {
				c.number[n] = int32(i)
			}
		}
		p.changed = c
	}
	return p.changed
}

// Add adds arrivals at a state of the quotient.
func (c *Change) Add(n int32, x float64) {
	if n == c.quotient.Rest {
		return
	}
	c.Counts[n] += x
	c.mark(n)
}

// mark makes the component of a state be visited.
func (c *Change) mark(n int32) {
	if n == c.quotient.Rest {
		return
	}
	i := c.number[n]
	if !c.isAffected[i] {
		c.isAffected[i] = true
		c.affected = append(c.affected, i)
		heap.Push(&c.pending, i)
	}
}

// Solve replaces arrivals by the visits that they bring about, see Visits.Solve.
func (c *Change) Solve(ctx context.Context, st *Rule) error {
	room := make([]WeightedChoice, 0, c.most)
	for n := 0; len(c.pending) > 0; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		i := heap.Pop(&c.pending).(int32)
		lo, hi := c.quotient.Component[i], c.quotient.Component[i+1]
		if allZero(c.Counts[lo:hi]) {
			continue
		}
		if hi == lo+1 {
			c.solveState(st, lo, &c.Occupancy)
		} else if err := c.solveComponent(ctx, st, lo, hi, false, false, &c.Occupancy); err != nil {
			return err
		}
		for n := lo; n < hi; n++ {
			if c.Counts[n] == 0 {
				continue
			}
			for _, t := range c.choose(room[:0], st, n) {
				next, _ := c.kernel.Row(t.Choice)
				for _, to := range next {
					if to := c.quotient.Number[to]; to < lo {
						c.mark(to)
					}
				}
			}
		}
	}
	return nil
}

// Each calls f with the states of the model whose visits change, and by how much, except where the policy goes
// on for ever.
func (c *Change) Each(f func(s int32, x float64)) {
	slices.Sort(c.Recurrent)
	for _, i := range c.affected {
		for n := c.quotient.Component[i]; n < c.quotient.Component[i+1]; n++ {
			if c.Counts[n] == 0 {
				continue
			}
			s := c.quotient.Origin[n]
			if _, skip := slices.BinarySearch(c.Recurrent, s); !skip {
				f(s, c.Counts[n])
			}
		}
	}
}

// Clear makes the change be without arrivals.
func (c *Change) Clear() {
	for _, i := range c.affected {
		clear(c.Counts[c.quotient.Component[i]:c.quotient.Component[i+1]])
		c.isAffected[i] = false
	}
	c.Counts[c.quotient.Rest] = 0
	c.affected, c.pending, c.Recurrent = c.affected[:0], c.pending[:0], c.Recurrent[:0]
}

// maxHeap is a heap of numbers, the largest first.
type maxHeap []int32

func (b maxHeap) Len() int           { return len(b) }
func (b maxHeap) Less(i, j int) bool { return b[i] > b[j] }
func (b maxHeap) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *maxHeap) Push(x any)        { *b = append(*b, x.(int32)) }

func (b *maxHeap) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}
