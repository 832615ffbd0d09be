package cmdp

import "fmt"

// SeenState returns the i-th state that was seen at step h, in the order of
// discovery, 0 ≤ i < Seen(h). With pooling all steps have the same.
func (c *Counts) SeenState(h, i int) int { return int(c.layer(h).seen[i].state) }

// AppendSuccessors appends to next the successors that an action was seen to have
// in a state at step h, in the order of discovery, and to times how often each
// followed; Visits is the sum of the latter. It allocates only to grow the slices.
func (c *Counts) AppendSuccessors(next []int32, times []float64, h, state, action int) ([]int32, []float64) {
	l := c.layer(h)
	i, ok := l.find(state, action)
	if !ok {
		return next, times
	}
	ch := &l.choices[i]
	for _, e := range l.arena[ch.first:ch.end] {
		next, times = append(next, e.next), append(times, float64(e.count))
	}
	return next, times
}

// MeanReturn sets mean, of length d, to the mean of the return vectors received
// for an action in a state at step h, and reports whether there is one: returns
// are learned and the choice was visited. Without one, mean is left as it is.
func (c *Counts) MeanReturn(mean []float64, h, state, action int) bool {
	d := c.shape.dim
	if len(mean) != d {
		panic(badDim)
	}
	l := c.layer(h)
	n, ok := l.find(state, action)
	if c.learned == nil || !ok || l.choices[n].visits == 0 || (n+1)*d > len(l.returns) {
		return false
	}
	for j, st := range l.returns[n*d : (n+1)*d] {
		mean[j] = st.mean
	}
	return true
}

// Add counts transitions that were seen before a run, for instance in logged
// data: an action was taken in a state at step h and led to next, times times.
// It is an error if there is no such step, state, action or successor. It is an
// error too if returns are learned, because Add is told none.
func (c *Counts) Add(h, state, action, next int, times uint32) error {
	sh := c.shape
	switch {
	case c.learned != nil:
		return fmt.Errorf("cmdp: transitions added to counts that learn returns")
	case h < 0 || h >= sh.horizon:
		return fmt.Errorf("cmdp: step %d: want 1 to %d", h+1, sh.horizon)
	case state < 0 || state >= sh.states || next < 0 || next >= sh.states:
		return fmt.Errorf("cmdp: transition from state %d to %d: want 0 to %d", state, next, sh.states-1)
	case action < 0 || action >= sh.Actions(h, state)*sh.OpponentActions(h, state):
		return fmt.Errorf("cmdp: state %d has no action %d at step %d", state, action, h+1)
	case times == 0:
		return nil
	}
	sh.EachEquivalent(h, state, action, next, nil, func(state, action, next int,
		_ []float64) {
		c.add(h, state, action, next, times)
	})
	return nil
}
