package monitor

import (
	"math"
	"strconv"
)

// Reach returns 1 when the process first comes to a state of the target, be it at the start: its
// total is the probability of the until formula "While U Target" of the logic PCTL, and with
// Within of its bounded form (Hansson, Jonsson 1994). What happens from the first state outside of
// both sets on, or after Within steps, does not count any more.
type Reach struct {
	Title string
	// Target says of each state whether it is in the target, While whether it may be passed
	// through on the way there. A nil While lets all states pass.
	Target, While []bool
	// Within is the largest number of steps, −1 for any number.
	Within int
	// Discount is that of the model, 0 for none. A step's returns count from its beginning on, and an arrival is at
	// its end: it counts by this factor less.
	Discount float64
}

// The memory of Reach is over, or the number of steps that are left, or waiting.
const (
	over    = 0
	waiting = math.MaxInt
)

// Name returns the title.
func (r *Reach) Name() string { return r.Title }

// Rewards returns 1.
func (r *Reach) Rewards() int { return 1 }

// Range is [0, 1].
func (r *Reach) Range(lower, upper []float64) { lower[0], upper[0] = 0, 1 }

// Start looks at the first state.
func (r *Reach) Start(dst []float64, t Transition) int {
	left := waiting
	if r.Within >= 0 {
		left = r.Within
	}
	return r.look(dst, left, t.Next)
}

// look returns the memory in a state, with so many steps left, before which it was not over.
func (r *Reach) look(dst []float64, left, state int) int {
	dst[0] = 0
	switch {
	case r.Target[state]:
		dst[0] = 1
		return over
	case r.While != nil && !r.While[state]:
		return over
	}
	return left
}

// Step looks at the next state.
func (r *Reach) Step(dst []float64, memory int, t Transition) int {
	left := memory
	switch memory {
	case over:
		dst[0] = 0
		return over
	case waiting:
	default:
		left--
	}
	left = r.look(dst, left, t.Next)
	if r.Discount > 0 {
		dst[0] *= r.Discount
	}
	return left
}

// Value says whether it is over, or else how many steps are left.
func (r *Reach) Value(memory int) string {
	switch memory {
	case over:
		return "over"
	case waiting:
		return "under way"
	}
	if memory == 1 {
		return "1 step left"
	}
	return strconv.Itoa(memory) + " steps left"
}

// Visits returns 1 for each step that begins in one of the States. It remembers nothing.
type Visits struct {
	Title  string
	States []bool
}

// Name returns the title.
func (v *Visits) Name() string { return v.Title }

// Rewards returns 1.
func (v *Visits) Rewards() int { return 1 }

// Range is from 0 to +Inf.
func (v *Visits) Range(lower, upper []float64) { lower[0], upper[0] = 0, math.Inf(1) }

// Start returns nothing, since no step has begun.
func (v *Visits) Start(dst []float64, _ Transition) int {
	dst[0] = 0
	return 0
}

// Step counts the step if it began in one of the states.
func (v *Visits) Step(dst []float64, _ int, t Transition) int {
	dst[0] = 0
	if v.States[t.State] {
		dst[0] = 1
	}
	return 0
}

// Value says nothing.
func (v *Visits) Value(int) string { return "" }
