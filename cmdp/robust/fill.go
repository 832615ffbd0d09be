package robust

import (
	"cmp"
	"slices"
)

// An entry is a successor as nature sees it: its value, and how much its probability may grow above the lower bound.
type entry struct{ value, room float64 }

// A filler finds the distribution between bounds that makes an expectation greatest: every successor gets its lower
// bound, and what is left goes to the best ones, up to their upper bounds (Givan, Leach, Dean 2000). Where the bounds
// allow no sum of 1 by rounding, the sum is the nearest one. It must not be used concurrently.
type filler struct {
	entries []entry
	order   []int32
}

func newFiller(longest int) filler {
	return filler{entries: make([]entry, longest), order: make([]int32, longest)}
}

// few is up to how many entries are sorted.
const few = 6

// fill returns what is gained by giving away what is free, to the entries of the greatest values first. As in
// quickselect the entries are divided at a pivot, and only those on the side where the last of what is free goes are
// divided again.
func fill(es []entry, free float64) float64 {
	sum := 0.0
	for len(es) > few && free > 0 {
		a, b, c := es[0].value, es[len(es)/2].value, es[len(es)-1].value
		pivot := max(min(a, b), min(max(a, b), c)) // their median
		n := above(es, pivot)
		if n == 0 { // it is the greatest value
			n = atLeast(es, pivot)
		}
		room, gain := 0.0, 0.0
		for _, e := range es[:n] {
			room += e.room
			gain += e.room * e.value
		}
		switch {
		case room <= free:
			sum += gain
			free -= room
			es = es[n:]
		case es[n-1].value == pivot: // all of these are alike
			return sum + free*pivot
		default:
			es = es[:n]
		}
	}
	sort(es)
	for i := 0; i < len(es) && free > 0; i++ {
		x := min(free, es[i].room)
		sum += x * es[i].value
		free -= x
	}
	return sum
}

// above puts entries of values above a pivot before the others, and returns how many they are. Every entry is swapped,
// whatever its value is, so that there is no branch that nobody can predict.
func above(es []entry, pivot float64) int {
	n := 0
	for i, x := range es {
		es[i] = es[n]
		es[n] = x
		if x.value > pivot {
			n++
		}
	}
	return n
}

// atLeast is above for values that are at least the pivot.
func atLeast(es []entry, pivot float64) int {
	n := 0
	for i, x := range es {
		es[i] = es[n]
		es[n] = x
		if x.value >= pivot {
			n++
		}
	}
	return n
}

// sort sorts a few entries by insertion, the greatest value first.
func sort(es []entry) {
	for i := 1; i < len(es); i++ {
		x := es[i]
		j := i
		for ; j > 0 && es[j-1].value < x.value; j-- {
			es[j] = es[j-1]
		}
		es[j] = x
	}
}

// greatest returns the greatest expectation of values between bounds.
func (f *filler) greatest(lower, upper, values []float64) float64 {
	es := f.entries[:len(values)]
	sum, free := 0.0, 1.0
	for i, v := range values {
		l := lower[i]
		sum += l * v
		free -= l
		es[i] = entry{v, upper[i] - l}
	}
	return sum + fill(es, free)
}

// answer sets prob to a distribution between bounds whose expectation of values is the greatest.
func (f *filler) answer(prob, lower, upper, values []float64) {
	order := f.order[:len(values)]
	free := 1.0
	for i := range values {
		prob[i] = lower[i]
		free -= lower[i]
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(values[b], values[a]) })
	for _, i := range order {
		if free <= 0 {
			return
		}
		x := min(free, upper[i]-lower[i])
		prob[i] = min(upper[i], prob[i]+x)
		free -= x
	}
}
