package monitor

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"

	"cmdpsolve/cmdp"
)

// A counter counts a return in whole units.
type counter struct {
	coordinate int
	unit       *big.Rat
	size       float64   // the unit
	values     []float64 // of the return, in ascending order
	amounts    []int     // of each value, in units
	signs      [2]bool   // there are negative and positive returns
}

// findUnit finds the unit, and how many units each return has. Values lists the returns; nil stands for all that the
// model has of a coordinate of its own.
func (k *counter) findUnit(m *cmdp.Model, coordinate int, values []float64, how Rounding, resolution float64) error {
	if coordinate < m.Dim() && values == nil {
		values = Amounts(m, coordinate)
	}
	k.coordinate, k.unit, k.amounts = coordinate, Unit(values), nil
	k.values = slices.Compact(slices.Sorted(slices.Values(values)))
	if how != Exact {
		if !(resolution > 0) || math.IsInf(resolution, 1) {
			return fmt.Errorf("resolution %g: want above 0", resolution)
		}
		k.unit = Decimal(resolution)
	}
	k.size, _ = k.unit.Float64()
	for _, x := range k.values {
		n, whole := floorUnits(x, k.unit)
		if !whole && how == Up {
			n++
		}
		if n <= -mostUnits || n >= mostUnits || max(1, m.Horizon()) > mostUnits/max(1, n, -n) {
			return fmt.Errorf("returns such as %g are multiples of no unit but %g, in which totals are too large to "+
				"be counted: want a resolution to round them to (--resolution)", x, k.size)
		}
		k.amounts = append(k.amounts, n)
		k.signs[0], k.signs[1] = k.signs[0] || n < 0, k.signs[1] || n > 0
	}
	return nil
}

// Unit returns the unit of the totals.
func (k *counter) Unit() float64 { return k.size }

// units returns the return of a transition in units.
func (k *counter) units(t Transition) int {
	x := t.Returns[k.coordinate]
	n, ok := k.amount(x)
	if !ok && x != 0 { // where the process rests, 0 comes in all models
		panic("monitor: a return came up that the model does not have, or that Amounts leaves out")
	}
	return n
}

// amount returns a value of the return in units, 0 and false if it is none.
func (k *counter) amount(x float64) (n int, ok bool) {
	i, ok := slices.BinarySearch(k.values, x)
	if !ok {
		return 0, false
	}
	return k.amounts[i], true
}

// Amounts lists what a return of a model may be in a step, in ascending order, where an episode may come. It allocates.
// It panics if the model has no such coordinate.
func Amounts(m *cmdp.Model, coordinate int) []float64 {
	if m == nil || coordinate < 0 || coordinate >= m.Dim() {
		panic("monitor: want a model, and the number of one of its returns")
	}
	seen, comes := make(map[float64]bool), visitable(m)
	for h := range m.Kernels() {
		rows := m.Rows(h)
		for s := range m.States() {
			if !comes[s] {
				continue
			}
			for c, end := rows.Choices(s); c < end; c++ {
				if !rows.Random() {
					seen[rows.Returns(c)[coordinate]] = true
					continue
				}
				next, _ := rows.Row(c)
				for e := range next {
					seen[rows.Outcome(c, e)[coordinate]] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// visitable reports which states an episode may come to at some step.
func visitable(m *cmdp.Model) []bool {
	comes := make([]bool, m.States())
	var waiting []int32
	come := func(s int32) {
		if !comes[s] {
			comes[s], waiting = true, append(waiting, s)
		}
	}
	for _, st := range m.StartStates() {
		come(int32(st.State))
	}
	kernels := make([]*cmdp.Rows, m.Kernels())
	for h := range kernels {
		kernels[h] = m.Rows(h)
	}
	for len(waiting) > 0 {
		s := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		for _, rows := range kernels {
			for c, end := rows.Choices(int(s)); c < end; c++ {
				next, prob := rows.Row(c)
				for e, to := range next {
					if prob[e] > 0 {
						come(to)
					}
				}
			}
		}
	}
	return comes
}
