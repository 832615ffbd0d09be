package exact

import (
	"container/heap"
	"context"
	"slices"
)

// A change is what different arrivals at a few states change of the visits of a policy. It looks only at components that the
// change comes to, first ones first.
type change struct {
	*visitor
	occupancy           // of all states of the quotient, 0 where nothing changes
	waits     backwards // numbers of components that are to be visited
	number    []int32   // of each state, that of its component
	met       []int32   // components that the change came to
	in        []bool    // of each component, whether it is in met
}

// newChange returns a change without arrivals, in the memory of the last one, which has to be cleared before.
func (p *visitor) newChange() *change {
	if p.changed == nil {
		c := &change{visitor: p, occupancy: occupancy{of: make([]float64, p.q.over+1)}, in: make([]bool, len(p.q.component))}
		c.number = make([]int32, p.q.over)
		for i, hi := range p.q.component[1:] {
			for n := p.q.component[i]; n < hi; n++ {
				c.number[n] = int32(i)
			}
		}
		p.changed = c
	}
	return p.changed
}

// add adds arrivals at a state of the quotient.
func (c *change) add(n int32, x float64) {
	if n == c.q.over {
		return
	}
	c.of[n] += x
	c.mark(n)
}

// mark makes the component of a state be visited.
func (c *change) mark(n int32) {
	if n == c.q.over {
		return
	}
	i := c.number[n]
	if !c.in[i] {
		c.in[i] = true
		c.met = append(c.met, i)
		heap.Push(&c.waits, i)
	}
}

// flow replaces arrivals by the visits that they bring about, see visitor.flow.
func (c *change) flow(ctx context.Context, st *stepPolicy) error {
	room := make([]taken, 0, c.most)
	for n := 0; len(c.waits) > 0; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		i := heap.Pop(&c.waits).(int32)
		lo, hi := c.q.component[i], c.q.component[i+1]
		if zero(c.of[lo:hi]) {
			continue
		}
		if hi == lo+1 {
			c.visitOne(st, lo, &c.occupancy)
		} else if err := c.visitMany(ctx, st, lo, hi, false, false, &c.occupancy); err != nil {
			return err
		}
		for n := lo; n < hi; n++ {
			if c.of[n] == 0 {
				continue
			}
			for _, t := range c.choose(room[:0], st, n) {
				for _, to := range c.k.Next[c.k.Offset[t.c]:c.k.Offset[t.c+1]] {
					if to := c.q.state[to]; to < lo {
						c.mark(to)
					}
				}
			}
		}
	}
	return nil
}

// each calls f with the states of the model whose visits change, and by how much, except where the policy goes on for ever.
func (c *change) each(f func(s int32, x float64)) {
	slices.Sort(c.forever)
	for _, i := range c.met {
		for n := c.q.component[i]; n < c.q.component[i+1]; n++ {
			if c.of[n] == 0 {
				continue
			}
			s := c.q.origin[n]
			if _, skip := slices.BinarySearch(c.forever, s); !skip {
				f(s, c.of[n])
			}
		}
	}
}

// clear makes the change be without arrivals.
func (c *change) clear() {
	for _, i := range c.met {
		clear(c.of[c.q.component[i]:c.q.component[i+1]])
		c.in[i] = false
	}
	c.of[c.q.over] = 0
	c.met, c.waits, c.forever = c.met[:0], c.waits[:0], c.forever[:0]
}

// backwards is a heap of numbers, the largest first.
type backwards []int32

func (b backwards) Len() int           { return len(b) }
func (b backwards) Less(i, j int) bool { return b[i] > b[j] }
func (b backwards) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *backwards) Push(x any)        { *b = append(*b, x.(int32)) }

func (b *backwards) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}
