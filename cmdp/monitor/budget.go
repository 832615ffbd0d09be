package monitor

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"cmdpsolve/cmdp"
)

// A LimitKind says what a [Budget] returns for a limit x of a total.
type LimitKind int

const (
	// Above is 1 if the total is above x, its probability.
	Above LimitKind = iota
	// AtLeast is 1 if the total is at least x.
	AtLeast
	// Excess is by how much the total is above x, (total − x)⁺.
	Excess
	// Shortfall is by how much it is below, (x − total)⁺.
	Shortfall
)

// A Threshold is a limit for a total.
type Threshold struct {
	Kind LimitKind
	At   float64
	// Enforced makes the budget broken where a total is above the limit in the end, for Above and Excess,
	// or below it, for AtLeast and Shortfall.
	Enforced bool
}

// A Rounding says what to do with a return that is no multiple of the unit.
type Rounding int

const (
	// Exact finds the unit: no return is rounded.
	Exact Rounding = iota
	// Down and Up round each return to a multiple of the resolution. Totals are then
	// bounds of the true ones, from below and above.
	Down
	Up
)

// BudgetSpec describes a Budget.
type BudgetSpec struct {
	Title string
	// Model is the base, and Coordinate the number of the return whose total counts. It may be one of an earlier
	// monitor. Amounts lists all that the return may be in a step; for one of the model it may be left out.
	Model      *cmdp.Model
	Coordinate int
	Amounts    []float64
	Limits     []Threshold
	Rounding   Rounding
	Resolution float64
}

// A Budget remembers the total of a return as a multiple of a unit, for as long as it
// matters. Once the total can no longer cross any limit, the budget remembers only on
// which side of each limit it is. There is a reward for each limit, in their order. The
// rewards of an episode add up to what the limit asks for at its end: each step adds the
// change.
type Budget struct {
	counter
	title  string
	model  *cmdp.Model
	limits []unitThreshold
	order  []int // limits by where they cut
	// lower and upper bound, from each state, what is still to come, in units.
	lower, upper []int
	// least and most bound, for each state, the total of an episode that starts there, in units.
	least, most []int
	starts      []int
}

// A unitThreshold is a limit in units: a total of n units lies on its high side if n > cut.
type unitThreshold struct {
	Threshold
	cut int
}

// NewBudget returns a budget. Returns are taken as the decimals that they are written as. A budget
// needs a horizon, or totals until absorption; then all returns have one sign.
func NewBudget(spec BudgetSpec) (*Budget, error) {
	m := spec.Model
	bad := func(format string, args ...any) error {
		return fmt.Errorf("monitor: %s: %s", spec.Title, fmt.Sprintf(format, args...))
	}
	if spec.Coordinate < m.Dim() && m.Mean(spec.Coordinate) || m.Horizon() == 0 && m.Discount() < 1 {
		return nil, bad("a budget is for the total of an episode: want a horizon, or totals until absorption " +
			"(discount: 1)")
	}
	if len(spec.Limits) == 0 {
		return nil, bad("no limit")
	}
	b := &Budget{title: spec.Title, model: m}
	for _, st := range m.StartStates() {
		b.starts = append(b.starts, st.State)
	}
	if err := b.findUnit(m, spec.Coordinate, spec.Amounts, spec.Rounding, spec.Resolution); err != nil {
		return nil, bad("%v", err)
	}
	if m.Horizon() == 0 && b.signs[0] && b.signs[1] {
		return nil, bad("returns of both signs without a horizon: the total may go up and down for ever: want a " +
			"horizon, or returns of one sign")
	}
	for i, l := range spec.Limits {
		if math.IsNaN(l.At) || math.IsInf(l.At, 0) {
			return nil, bad("limit %g: want a finite number", l.At)
		}
		cut, whole := floorUnits(l.At, b.unit)
		if whole && (l.Kind == AtLeast || l.Kind == Shortfall) {
			cut--
		}
		b.limits, b.order = append(b.limits, unitThreshold{l, cut}), append(b.order, i)
	}
	slices.SortStableFunc(b.order, func(i, j int) int { return cmp.Compare(b.limits[i].cut, b.limits[j].cut) })
	b.boundTotals(m)
	return b, nil
}

// Certain reports whether it is settled in a start state on which side of a limit the total ends, and
// whether the total passes the limit. To pass it is to be above, or for AtLeast and Shortfall not
// below.
func (b *Budget) Certain(limit, state int) (passed, certain bool) {
	cut, at := b.limits[limit].cut, min(state, len(b.least)-1)
	return b.least[at] > cut, b.least[at] > cut || b.most[at] <= cut
}

// Nearest returns the total next to a limit that means the same, and whether it is the limit.
func (b *Budget) Nearest(limit int) (total float64, same bool) {
	l := &b.limits[limit]
	n := l.cut
	if l.Kind == AtLeast || l.Kind == Shortfall {
		n++
	}
	total, _ = new(big.Rat).Mul(big.NewRat(int64(n), 1), b.unit).Float64()
	return total, total == l.At
}

// Totals lists the totals up to a bound, or from it on, that an episode may have, in ascending order, cut after
// 100,000. Where it would take too long to find out which they are, these are all multiples of the unit between
// the extremes of the model.
func (b *Budget) Totals(bound float64, upTo bool) []float64 {
	least, most := b.extremes()
	n, whole := floorUnits(bound, b.unit)
	if upTo {
		most = min(most, n)
	} else {
		if !whole {
			n++
		}
		least = max(least, n)
	}
	possible, first := b.reachableTotals(most)
	var out []float64
	for i := least; i <= most && len(out) < 100_000; i++ {
		if possible != nil {
			at := nextIn(possible, max(0, i-first))
			i = first + at
			if at < 0 || i > most {
				break
			}
		}
		x, _ := new(big.Rat).Mul(big.NewRat(int64(i), 1), b.unit).Float64()
		out = append(out, x)
	}
	return out
}

// remaining bounds what is still to come from a state, in units.
func (b *Budget) remaining(state int) (lower, upper int) {
	at := min(state, len(b.lower)-1)
	return b.lower[at], b.upper[at]
}

// extremes bounds the total of an episode, in units.
func (b *Budget) extremes() (least, most int) {
	least, most = unbounded, -unbounded
	for _, state := range b.starts {
		lower, upper := b.remaining(state)
		least, most = min(least, lower), max(most, upper)
	}
	return least, most
}

// Name returns the title.
func (b *Budget) Name() string { return b.title }

// Rewards returns the number of limits.
func (b *Budget) Rewards() int { return len(b.limits) }

// Range is [0, 1] for a probability, and [−1, 1] where returns may be negative: a limit that is passed is
// then not passed for good.
func (b *Budget) Range(lower, upper []float64) {
	for i, l := range b.limits {
		switch {
		case l.Kind == Above || l.Kind == AtLeast:
			lower[i], upper[i] = -1, 1
		default:
			lower[i], upper[i] = math.Inf(-1), math.Inf(1)
		}
		if l.Kind != Shortfall && !b.signs[0] {
			lower[i] = 0
		}
	}
}

// Memory is the total in units, or from settledFrom on, once the total cannot cross a limit any more, the
// number of limits that it passes.
const settledFrom = min(1<<60, math.MaxInt/4)

func decided(passed int) int { return settledFrom + passed }

func decode(memory int) (n int, isSettled bool) {
	if memory >= settledFrom {
		return memory - settledFrom, true
	}
	return memory, false
}

// memoryOf returns the memory for a total in a state.
func (b *Budget) memoryOf(total, state int) int {
	lower, upper := b.remaining(state)
	passed := 0
	for _, i := range b.order {
		switch cut := b.limits[i].cut; {
		case saturatingAdd(total, lower) > cut:
			passed++
		case saturatingAdd(total, upper) > cut:
			return total
		}
	}
	return decided(passed)
}

// left is the total, turned round, for returns that are not negative.
func (b *Budget) left(memory int) int {
	total, isSettled := decode(memory)
	if isSettled {
		total = mostUnits
	}
	return -total
}

// isAbove reports whether a limit is passed for good, among so many that are.
func (b *Budget) isAbove(limit, passed int) bool { return slices.Index(b.order, limit) < passed }

// rewardAt is what a limit asks for at a total. Where it is settled on which side the total ends, high tells
// which, and the worth is linear.
func (b *Budget) rewardAt(l *unitThreshold, total int, high bool) float64 {
	switch {
	case (l.Kind == Above || l.Kind == AtLeast) && high:
		return 1
	case l.Kind == Excess && high:
		return float64(total)*b.size - l.At
	case l.Kind == Shortfall && !high:
		return l.At - float64(total)*b.size
	}
	return 0
}

// Start begins with nothing, or with what an earlier monitor returned.
func (b *Budget) Start(dst []float64, t Transition) int {
	return b.move(dst, nil, b.units(t), t.Next)
}

// Step adds the return.
func (b *Budget) Step(dst []float64, memory int, t Transition) int {
	n := b.units(t)
	before, isSettled := decode(memory)
	if !isSettled {
		return b.move(dst, &before, before+n, t.Next)
	}
	for i := range b.limits {
		l := &b.limits[i]
		switch high := b.isAbove(i, before); {
		case l.Kind == Excess && high:
			dst[i] = float64(n) * b.size
		case l.Kind == Shortfall && !high:
			dst[i] = -float64(n) * b.size
		default:
			dst[i] = 0
		}
	}
	return memory
}

// move returns the memory for a total, and the change of what limits ask for since the total
// was another, or since there was none.
func (b *Budget) move(dst []float64, before *int, total, state int) int {
	memory := b.memoryOf(total, state)
	passed, isSettled := decode(memory)
	for i := range b.limits {
		l := &b.limits[i]
		high := total > l.cut
		if isSettled {
			high = b.isAbove(i, passed)
		}
		dst[i] = b.rewardAt(l, total, high)
		if before != nil {
			dst[i] -= b.rewardAt(l, *before, *before > l.cut)
		}
	}
	return memory
}

// Value writes the total, or between which limits it ends.
func (b *Budget) Value(memory int) string {
	n, isSettled := decode(memory)
	if !isSettled {
		return formatUnits(n, b.unit)
	}
	low, high := "", ""
	if n > 0 {
		low = "above " + formatUnits(b.limits[b.order[n-1]].cut, b.unit)
	}
	if n < len(b.order) {
		high = "at most " + formatUnits(b.limits[b.order[n]].cut, b.unit)
	}
	if low != "" && high != "" {
		return low + ", " + high
	}
	return low + high
}

// Broken reports whether an enforced limit is not kept.
func (b *Budget) Broken(memory int) bool {
	n, isSettled := decode(memory)
	for i := range b.limits {
		l := &b.limits[i]
		high := n > l.cut
		if isSettled {
			high = b.isAbove(i, n)
		}
		if l.Enforced && high == (l.Kind == Above || l.Kind == Excess) {
			return true
		}
	}
	return false
}
