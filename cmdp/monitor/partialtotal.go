package monitor

import "math"

// PartialTotal returns what another return gives in the first part of an episode, which lasts as long as a [Reach] with
// its fields is under way: up to the target if there is one, in states of While alone, for Within steps, and as long as
// no more is spent than its costs allow, see [Reach.Spend]. A step belongs to it if it begins there and if all costs,
// its own included, are within their bounds; these are the rewards with cost bounds of Hartmanns, Junges, Katoen and
// Quatmann (2018).
type PartialTotal struct {
	Reach
	// Coordinate is the number of the return. It may be one of an earlier monitor.
	Coordinate int
}

// Range is infinite: the model knows what a step returns.
func (p *PartialTotal) Range(lower, upper []float64) { lower[0], upper[0] = math.Inf(-1), math.Inf(1) }

// Start counts what earlier monitors return at the start.
func (p *PartialTotal) Start(dst []float64, t Transition) int {
	memory := p.Reach.Start(dst, t)
	dst[0] = 0
	if p.afterCosts(p.full(), t) != over {
		dst[0] = t.Returns[p.Coordinate]
	}
	return memory
}

// Step counts what the step returns, if it belongs to the first part.
func (p *PartialTotal) Step(dst []float64, memory int, t Transition) int {
	after := p.Reach.Step(dst, memory, t)
	dst[0] = 0
	if memory != over && p.afterCosts(memory, t) != over {
		dst[0] = t.Returns[p.Coordinate]
	}
	return after
}
