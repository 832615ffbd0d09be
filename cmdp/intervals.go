package cmdp

import (
	"errors"
	"fmt"
	"slices"

	"cmdpsolve/cmdp/internal/interval"
)

// Intervals say how far the probabilities of a model are known: those of each choice are a distribution p with lower ≤
// p ≤ upper for every successor. The model itself, the nominal one, is one of the set. Where the bounds of a choice
// are its probabilities, or where none are given, it is exact. Bounds of a choice whose sums miss 1 by no more than
// [ProbabilityTolerance] on the wrong side allow the one distribution that is nearest. Intervals are immutable and
// safe for concurrent use.
type Intervals struct {
	kernels []*intervalRows // as many as the model has
	rows    int
	width   float64
}

// intervalRows are the bounds of one kernel. Those of an exact choice are left out.
type intervalRows struct {
	offset       []int // length C+1
	lower, upper []float64
}

// NewIntervals returns intervals for a model. bounds returns those of the successors of choice c of kernel h, in the
// order of [Rows.Row], or nil where the choice is exact; they are copied. Errors name the choice by its number. Games
// are refused.
func NewIntervals(m *Model, bounds func(h, c int) (lower, upper []float64)) (*Intervals, error) {
	if bounds == nil {
		return nil, errors.New("cmdp: no bounds of probabilities")
	}
	if m.Shape() != nil && m.Shape().Game() {
		return nil, errors.New("cmdp: intervals in a game: want one player")
	}
	iv := &Intervals{}
	for h := range m.Kernels() {
		rows := m.Rows(h)
		k := &intervalRows{offset: make([]int, 1)}
		for s := range m.States() {
			first, end := rows.Choices(s)
			for c := first; c < end; c++ {
				_, prob := rows.Row(c)
				lower, upper := bounds(h, c)
				err := k.add(prob, lower, upper)
				if err != nil {
					return nil, fmt.Errorf("cmdp: kernel %d, state %d, choice %d: %w", h, s, c-first, err)
				}
			}
		}
		if h > 0 && k.equal(iv.kernels[h-1]) { // which saves memory
			k = iv.kernels[h-1]
		}
		iv.kernels = append(iv.kernels, k)
		iv.count(k)
	}
	return iv, nil
}

// equal reports whether two kernels have the same bounds.
func (k *intervalRows) equal(o *intervalRows) bool {
	return slices.Equal(k.offset, o.offset) && slices.Equal(k.lower, o.lower) && slices.Equal(k.upper, o.upper)
}

// add adds the bounds of the next choice.
func (k *intervalRows) add(prob, lower, upper []float64) error {
	if lower != nil || upper != nil {
		if len(lower) != len(prob) || len(upper) != len(prob) {
			return fmt.Errorf("%d lower and %d upper bounds of %d probabilities", len(lower), len(upper), len(prob))
		}
		err := CheckInterval(lower, upper)
		if err != nil {
			return err
		}
		exact := true
		for i, p := range prob {
			if !(p >= lower[i]-ProbabilityTolerance && p <= upper[i]+ProbabilityTolerance) {
				return fmt.Errorf("the probability %g of the model is not between %g and %g", p, lower[i], upper[i])
			}
			exact = exact && lower[i] == p && upper[i] == p
		}
		if !exact {
			k.lower = append(k.lower, lower...)
			k.upper = append(k.upper, upper...)
		}
	}
	k.offset = append(k.offset, len(k.lower))
	return nil
}

// count takes down how many rows of a kernel are uncertain, and how much.
func (iv *Intervals) count(k *intervalRows) {
	for c := range len(k.offset) - 1 {
		if k.offset[c] < k.offset[c+1] {
			iv.rows++
		}
	}
	for i, l := range k.lower {
		iv.width = max(iv.width, k.upper[i]-l)
	}
}

// CheckInterval returns an error unless there are distributions between the bounds: 0 ≤ lower ≤ upper ≤ 1 for each,
// lower bounds that sum to at most 1 and upper bounds that sum to at least 1, within [ProbabilityTolerance].
func CheckInterval(lower, upper []float64) error {
	return interval.Check(lower, upper, ProbabilityTolerance)
}

// Nominal sets dst, which has as many entries as there are bounds, to the distribution between the bounds that lies at
// the same share of each interval: the midpoints where these sum to 1. It is positive wherever some distribution is.
func Nominal(dst, lower, upper []float64) {
	if len(lower) != len(upper) || len(dst) != len(lower) {
		panic(badDim)
	}
	interval.Nominal(dst, lower, upper)
}

// Row returns the bounds of the successors of choice c at step h, in the order of [Rows.Row]. They are nil if the
// choice is exact. They must not be changed.
func (iv *Intervals) Row(h, c int) (lower, upper []float64) {
	k := iv.kernels[min(h, len(iv.kernels)-1)]
	lo, hi := k.offset[c], k.offset[c+1]
	if lo == hi {
		return nil, nil
	}
	return k.lower[lo:hi], k.upper[lo:hi]
}

// Rows returns how many choices, of all kernels, are not exact.
func (iv *Intervals) Rows() int { return iv.rows }

// Width returns the length of the longest interval.
func (iv *Intervals) Width() float64 { return iv.width }

// Widen returns the intervals of m that reach farther by width on each side of those of iv, or of the probabilities of
// m if iv is nil, and no farther than 0 and 1. A choice with one successor stays exact. It is an error if width is
// negative or not finite.
func Widen(m *Model, iv *Intervals, width float64) (*Intervals, error) {
	if !(width >= 0 && width <= 1) {
		return nil, fmt.Errorf("cmdp: intervals wider by %g: want 0 to 1", width)
	}
	var lower, upper []float64
	at, rows := -1, (*Rows)(nil)
	return NewIntervals(m, func(h, c int) ([]float64, []float64) {
		if at != h {
			at, rows = h, m.Rows(h)
		}
		_, prob := rows.Row(c)
		low, high := prob, prob
		if iv != nil {
			if l, u := iv.Row(h, c); l != nil {
				low, high = l, u
			}
		}
		if width == 0 || len(prob) == 1 {
			return low, high
		}
		lower, upper = lower[:0], upper[:0]
		for i := range prob {
			lower = append(lower, max(0, low[i]-width))
			upper = append(upper, max(high[i], min(1, high[i]+width)))
		}
		return lower, upper
	})
}
