package monitor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp"
)

// Reach returns 1 when the process first comes to a state of the target, be it at the start: its
// total is the probability of the until formula "While U Target" of the logic PCTL, with Within of
// its bounded form (Hansson, Jonsson 1994), and with [Reach.Spend] of its form with cost bounds
// (Andova, Hermanns, Katoen 2003). What happens from the first state outside of both sets on, after
// Within steps, or once too much was spent, does not count any more.
type Reach struct {
	Title string
	// Target says of each state whether it is in the target, While whether it may be passed
	// through on the way there. No state is in a nil Target, and a nil While lets all states pass.
	Target, While []bool
	// Within is the largest number of steps, −1 for any number.
	Within int
	// Discount is that of the model, 0 for none. A step's returns count from its beginning on, and an arrival is at
	// its end: it counts by this factor less.
	Discount float64

	costs []cost
}

// CostSpec says how much of a return may be spent on the way to a target: its total up to there is at most AtMost.
// Model, Coordinate, Amounts, Rounding and Resolution are as in [BudgetSpec]. No return may be negative.
type CostSpec struct {
	Name       string
	Model      *cmdp.Model
	Coordinate int
	Amounts    []float64
	AtMost     float64
	Rounding   Rounding
	Resolution float64
}

// A cost is bounded on the way.
type cost struct {
	counter
	name string
	most int // units
}

// Spend adds a bound on what is spent on the way, the step to the target included. All bounds hold together.
func (r *Reach) Spend(spec CostSpec) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("monitor: %s: %s", spec.Name, fmt.Sprintf(format, args...))
	}
	k := cost{name: spec.Name}
	m := spec.Model
	if m.Average() || m.Horizon() == 0 && m.Discount() < 1 {
		return bad("what is spent on a way is not discounted: want a horizon, or totals until absorption (discount: 1)")
	}
	if !(spec.AtMost >= 0) || math.IsInf(spec.AtMost, 1) {
		return bad("at most %g: want a finite number from 0 on", spec.AtMost)
	}
	err := k.findUnit(m, spec.Coordinate, spec.Amounts, spec.Rounding, spec.Resolution)
	if err != nil {
		return bad("%v", err)
	}
	if k.signs[0] {
		return bad("some returns are negative: want none where it is bounded what is spent on a way")
	}
	k.most, _ = floorUnits(spec.AtMost, k.unit)
	if memories := float64(r.memories()) * float64(k.most+1); memories >= mostUnits {
		return bad("at most %g is too much to be counted in units of %g: want a resolution to round returns to "+
			"(--resolution)", spec.AtMost, k.size)
	}
	r.costs = append(slices.Clip(r.costs), k)
	return nil
}

// Unit returns the smallest unit of what is spent, 0 if nothing is bounded.
func (r *Reach) Unit() float64 {
	unit := 0.0
	for i, k := range r.costs {
		if i == 0 || k.size < unit {
			unit = k.size
		}
	}
	return unit
}

// over is the memory once nothing counts any more. Else it is 1 more than a number of mixed radix, whose digits are
// what is left of each cost, in units, and as the highest one the steps that are left, plus 1, or 0 without a bound.
const over = 0

// memories bounds how many memory values there are.
func (r *Reach) memories() int { return (max(0, r.Within) + 2) * r.radix() }

// radix is what a step counts in the memory.
func (r *Reach) radix() int {
	n := 1
	for _, k := range r.costs {
		n *= k.most + 1
	}
	return n
}

// Name returns the title.
func (r *Reach) Name() string { return r.Title }

// Rewards returns 1.
func (r *Reach) Rewards() int { return 1 }

// Range is [0, 1].
func (r *Reach) Range(lower, upper []float64) { lower[0], upper[0] = 0, 1 }

// full is the memory before anything is spent.
func (r *Reach) full() int {
	memory := r.Within + 1 // the digit of steps is 0 where they have no bound
	for i := len(r.costs) - 1; i >= 0; i-- {
		memory = memory*(r.costs[i].most+1) + r.costs[i].most
	}
	return 1 + memory
}

// Start looks at the first state, and at what monitors before this one return there.
func (r *Reach) Start(dst []float64, t Transition) int {
	dst[0] = 0
	memory := r.afterCosts(r.full(), t)
	if memory == over {
		return over
	}
	return r.look(dst, memory, t)
}

// Step counts the step and what it costs, and looks at the next state.
func (r *Reach) Step(dst []float64, memory int, t Transition) int {
	dst[0] = 0
	if memory == over {
		return over
	}
	memory = r.afterCosts(memory, t)
	if memory == over {
		return over
	}
	if r.Within >= 0 {
		memory -= r.radix()
	}
	memory = r.look(dst, memory, t)
	if r.Discount > 0 {
		dst[0] *= r.Discount
	}
	return memory
}

// afterCosts returns the memory with what a transition costs taken off.
func (r *Reach) afterCosts(memory int, t Transition) int {
	left, radix := memory-1, 1
	for i := range r.costs {
		k := &r.costs[i]
		spent := k.units(t)
		if spent > left/radix%(k.most+1) {
			return over
		}
		memory -= spent * radix
		radix *= k.most + 1
	}
	return memory
}

// look returns the memory in a state before which it was not over.
func (r *Reach) look(dst []float64, memory int, t Transition) int {
	dst[0] = 0
	switch {
	case r.Target != nil && r.Target[t.Next]:
		dst[0] = 1
		return over
	case r.While != nil && !r.While[t.Next] || r.Within >= 0 && r.steps(memory) == 0:
		return over
	}
	return memory
}

// steps returns how many steps are left.
func (r *Reach) steps(memory int) int { return (memory-1)/r.radix() - 1 }

// left is the memory, which what is spent makes smaller.
func (r *Reach) left(memory int) int { return memory }

// Value says whether it is over, or else what is left.
func (r *Reach) Value(memory int) string {
	if memory == over {
		return "over"
	}
	var parts []string
	switch steps := r.steps(memory); {
	case r.Within < 0:
	case steps == 1:
		parts = append(parts, "1 step")
	default:
		parts = append(parts, strconv.Itoa(steps)+" steps")
	}
	left := memory - 1
	for _, k := range r.costs {
		parts = append(parts, formatUnits(left%(k.most+1), k.unit)+" of "+k.name)
		left /= k.most + 1
	}
	if parts == nil {
		return "under way"
	}
	return strings.Join(parts, " and ") + " left"
}

// VisitCount returns 1 for each step that begins in one of the States. It remembers nothing.
type VisitCount struct {
	Title  string
	States []bool
}

// Name returns the title.
func (v *VisitCount) Name() string { return v.Title }

// Rewards returns 1.
func (v *VisitCount) Rewards() int { return 1 }

// Range is from 0 to +Inf.
func (v *VisitCount) Range(lower, upper []float64) { lower[0], upper[0] = 0, math.Inf(1) }

// Start returns nothing, since no step has begun.
func (v *VisitCount) Start(dst []float64, _ Transition) int {
	dst[0] = 0
	return 0
}

// Step counts the step if it began in one of the states.
func (v *VisitCount) Step(dst []float64, _ int, t Transition) int {
	dst[0] = 0
	if v.States[t.State] {
		dst[0] = 1
	}
	return 0
}

// Value says nothing.
func (v *VisitCount) Value(int) string { return "" }
