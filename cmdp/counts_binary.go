package cmdp

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
)

// countsBinary is the saved form of Counts. Records are kept in the order of
// discovery, because planning sums in the order in which it finds successors.
type countsBinary struct {
	Episodes int
	Layers   []layerBinary
}

type layerBinary struct {
	States []int32
	// For each choice of the states in order: number of successors; and these.
	Successors []int32
	Next       []int32
	Count      []uint32
	Returns    []float64 // mean, sum of squares of each coordinate of each choice
}

// MarshalBinary returns everything that was counted.
func (c *Counts) MarshalBinary() ([]byte, error) {
	b := countsBinary{Episodes: c.episodes, Layers: make([]layerBinary, len(c.layers))}
	for h := range c.layers {
		l, lb := &c.layers[h], &b.Layers[h]
		for _, s := range l.seen {
			lb.States = append(lb.States, s.state)
		}
		for _, ch := range l.choices {
			lb.Successors = append(lb.Successors, ch.end-ch.first)
			for _, e := range l.arena[ch.first:ch.end] {
				lb.Next, lb.Count = append(lb.Next, e.next), append(lb.Count, e.count)
			}
		}
		for _, r := range l.returns {
			lb.Returns = append(lb.Returns, r.mean, r.sumSquares)
		}
	}
	var out bytes.Buffer
	err := gob.NewEncoder(&out).Encode(&b)
	return out.Bytes(), err
}

var errCounts = errors.New("cmdp: saved counts do not fit the environment")

// UnmarshalBinary replaces the counts by saved ones. The counts must have been
// made for the same shape, with the same pooling and knowledge of returns.
func (c *Counts) UnmarshalBinary(data []byte) error {
	var b countsBinary
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&b); err != nil {
		return err
	}
	if len(b.Layers) != len(c.layers) {
		return fmt.Errorf("%w: %d layers, want %d", errCounts, len(b.Layers), len(c.layers))
	}
	fresh, err := NewCounts(c.shape, c.Pooled(), c.learned)
	if err != nil {
		return err
	}
	fresh.episodes = b.Episodes
	for h := range b.Layers {
		if err := fresh.restore(h, &b.Layers[h]); err != nil {
			return err
		}
	}
	*c = *fresh
	return nil
}

func (c *Counts) restore(h int, lb *layerBinary) error {
	l := &c.layers[h]
	for _, s := range lb.States {
		if s < 0 || int(s) >= c.shape.states || l.at[s] != 0 {
			return errCounts
		}
		l.meet(c.shape, h, int(s))
	}
	if len(lb.Successors) != len(l.choices) || len(lb.Next) != len(lb.Count) {
		return errCounts
	}
	at := 0
	for i, n := range lb.Successors {
		if n < 0 || at+int(n) > len(lb.Next) {
			return errCounts
		}
		for ; n > 0; n-- {
			s, times := lb.Next[at], lb.Count[at]
			if s < 0 || int(s) >= c.shape.states || times == 0 || !l.add(i, s, times) {
				return errCounts
			}
			at++
			c.entries++
		}
	}
	if at != len(lb.Next) {
		return errCounts
	}
	return l.restoreReturns(c, lb.Returns)
}

func (l *layer) restoreReturns(c *Counts, values []float64) error {
	if c.learned == nil {
		if len(values) > 0 {
			return errCounts
		}
		return nil
	}
	d := c.shape.dim
	if len(values)%(2*d) != 0 || len(values)/2 > len(l.choices)*d {
		return errCounts
	}
	for j := 0; j < len(values); j += 2 {
		i := j / 2
		st := returnStat{mean: values[j], sumSquares: values[j+1]}
		if n := l.choices[i/d].visits; n > 0 {
			st.radius = c.learned.radius(n, st.sumSquares, c.learned.width[i%d])
		}
		l.returns = append(l.returns, st)
	}
	return nil
}
