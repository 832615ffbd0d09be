package baseline

import (
	"cmp"
	"slices"
)

// An interval is a box of transition probabilities around the frequencies of a
// row: successors that were seen lie between lower and lower + span, all others
// between 0 and unseen. Without a visit it holds every distribution over the possible
// successors.
type interval struct {
	lower, span []float64
	free        float64 // 1 − Σ lower
	unseen      float64
}

// set makes iv the box of the given radius around the frequencies of r.
func (iv *interval) set(r *row, radius transitionRadius) {
	iv.lower, iv.span, iv.free = iv.lower[:0], iv.span[:0], 1
	for _, p := range r.prob[:len(r.next)] {
		low, high := 0.0, 1.0
		if r.visits > 0 {
			b := radius(p, r.visits)
			low, high = max(0, p-b), min(1, p+b)
		}
		iv.lower, iv.span = append(iv.lower, low), append(iv.span, high-low)
		iv.free -= low
	}
	switch {
	case r.closed:
		iv.unseen = 0
	case r.visits == 0:
		iv.unseen = 1
	default:
		iv.unseen = min(1, radius(0, r.visits))
	}
}

// A filler finds the distribution of a box that makes the mean of given values
// least: extended value iteration's inner problem, solved by giving the free mass to
// the successors in the order of their values.
type filler struct {
	values []float64
	order  []int32 // states by value
	mark   []int32 // position of a state among the successors of a row, plus one
}

// leftOver is the mass that rounding may leave.
const leftOver = 1e-15

func newFiller(states int) *filler {
	return &filler{order: make([]int32, states), mark: make([]int32, states)}
}

// sort prepares for the given values of the successors. Ties go to the state of
// the lower number.
func (f *filler) sort(values []float64) {
	f.values = values
	for i := range f.order {
		f.order[i] = int32(i)
	}
	slices.SortFunc(f.order, func(a, b int32) int {
		if c := cmp.Compare(values[a], values[b]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
}

// least returns the least mean of the values over the box of a row.
func (f *filler) least(r *row, iv *interval) float64 {
	if r.unknown() {
		return f.values[f.order[0]]
	}
	sum, left := 0.0, iv.free
	for i, n := range r.next {
		sum += iv.lower[i] * f.values[n]
		f.mark[n] = int32(i + 1)
	}
	for _, s := range f.order {
		if left <= leftOver {
			break
		}
		room := iv.unseen
		if i := f.mark[s]; i > 0 {
			room = iv.span[i-1]
		}
		x := min(room, left)
		sum += x * f.values[s]
		left -= x
	}
	for _, n := range r.next {
		f.mark[n] = 0
	}
	return sum
}

// distribution appends the distribution that attains least.
func (f *filler) distribution(next []int32, prob []float64, r *row, iv *interval) ([]int32, []float64) {
	if r.unknown() {
		return append(next, f.order[0]), append(prob, 1)
	}
	left := iv.free
	for i, n := range r.next {
		next, prob = append(next, n), append(prob, iv.lower[i])
		f.mark[n] = int32(i + 1)
	}
	for _, s := range f.order {
		if left <= leftOver {
			break
		}
		if i := f.mark[s]; i > 0 {
			x := min(iv.span[i-1], left)
			prob[i-1] += x
			left -= x
			continue
		}
		if x := min(iv.unseen, left); x > 0 {
			next, prob = append(next, s), append(prob, x)
			left -= x
		}
	}
	for _, n := range r.next {
		f.mark[n] = 0
	}
	return next, prob
}
