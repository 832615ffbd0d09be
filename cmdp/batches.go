package cmdp

import "slices"

// batches are the counts of monotonic value propagation (Zhang, Chen, Lee, Du 2023,
// Algorithm 1). A batch of a choice ends when its visits reach a power of two, and planning
// sees of each choice the last batch that has ended alone: the first sample, the second, the
// third and fourth, the fifth to eighth, and so on.
type batches struct {
	shown   *Counts // of each choice, the last batch that has ended
	filling *Counts // the samples since
}

// begin takes what was counted before as one batch.
func (b *batches) begin(total *Counts) {
	*b.shown, *b.filling = *total.clone(), *total.clone()
	for h := range b.filling.layers {
		l := &b.filling.layers[h]
		for i := range l.choices {
			l.empty(i)
		}
		clear(l.returns)
	}
}

// observe adds an episode to the batches and to the total.
func (b *batches) observe(total *Counts, tr *Trajectory) {
	total.episodes++
	for h := range tr.Steps {
		if tr.Actions[h] < 0 { // the process rests
			for _, c := range []*Counts{total, b.filling, b.shown} {
				c.layer(h).meet(c.shape, h, tr.States[h])
			}
			continue
		}
		total.shape.EachEquivalent(h, tr.States[h], tr.Actions[h], tr.States[h+1], tr.Return(h),
			func(state, action, next int, returns []float64) {
				total.observe(h, state, action, next, returns)
				b.filling.observe(h, state, action, next, returns)
				i := int(b.shown.layer(h).meet(total.shape, h, state).first) + action
				if total.Pooled() {
					b.shown.layer(h).meet(total.shape, h, next)
				}
				if n := total.Visits(h, state, action); n&(n-1) == 0 {
					b.end(h, i)
				}
			})
	}
}

// end shows the batch of choice i of step h, and begins another.
func (b *batches) end(h, i int) {
	from, to := b.filling.layer(h), b.shown.layer(h)
	batch := &from.choices[i]
	to.replace(i, from.arena[batch.first:batch.end])
	to.choices[i].rates = batch.rates
	if b.shown.learned != nil {
		d := b.shown.shape.dim
		to.makeReturns(d)
		copy(to.returns[i*d:(i+1)*d], from.returns[i*d:])
		clear(from.returns[i*d : (i+1)*d])
	}
	from.empty(i)
}

// clone returns a copy.
func (c *Counts) clone() *Counts {
	d := *c
	d.layers = make([]layer, len(c.layers))
	for h, l := range c.layers {
		d.layers[h] = layer{at: slices.Clone(l.at), seen: slices.Clone(l.seen), choices: slices.Clone(l.choices),
			arena: slices.Clone(l.arena),
			waste: l.waste, returns: slices.Clone(l.returns)}
	}
	return &d
}

// empty forgets what was seen of choice i.
func (l *layer) empty(i int) {
	ch := &l.choices[i]
	ch.rates, ch.end = rates{}, ch.first
}

// replace gives choice i other successors.
func (l *layer) replace(i int, successors []entry) {
	ch := &l.choices[i]
	if len(successors) > int(ch.room-ch.first) {
		ch.end = ch.first
		l.waste += int(ch.room - ch.first)
		ch.first = int32(len(l.arena))
		l.arena = append(l.arena, successors...)
		ch.room = int32(len(l.arena))
	}
	copy(l.arena[ch.first:], successors)
	ch.end = ch.first + int32(len(successors))
}
