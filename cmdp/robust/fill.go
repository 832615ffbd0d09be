package robust

import (
	"cmp"
	"slices"
)

// An entry is a successor as nature sees it: its value, and how much its probability may grow above the lower bound.
type entry struct {
	value, room float64
	at          int32
}

// A filler finds the distribution between bounds that makes an expectation greatest: every successor gets its lower bound, and what
// is left goes to the best ones, up to their upper bounds (Givan, Leach, Dean 2000). Where the bounds allow no sum of 1 by rounding,
// the sum is the nearest one. It must not be used concurrently.
type filler struct {
	entries []entry
}

// few is up to how many entries are sorted by insertion.
const few = 32

// sort sorts the entries, the greatest value first.
func (f *filler) sort() {
	es := f.entries
	if len(es) > few {
		slices.SortFunc(es, func(a, b entry) int { return cmp.Compare(b.value, a.value) })
		return
	}
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
	f.entries = f.entries[:0]
	sum, free := 0.0, 1.0
	for i, v := range values {
		l := lower[i]
		sum += l * v
		free -= l
		if room := upper[i] - l; room > 0 {
			f.entries = append(f.entries, entry{value: v, room: room})
		}
	}
	f.sort()
	for i := 0; i < len(f.entries) && free > 0; i++ {
		x := min(free, f.entries[i].room)
		sum += x * f.entries[i].value
		free -= x
	}
	return sum
}

// answer sets prob to a distribution between bounds whose expectation of values is the greatest.
func (f *filler) answer(prob, lower, upper, values []float64) {
	f.entries = f.entries[:0]
	free := 1.0
	for i, v := range values {
		prob[i] = lower[i]
		free -= lower[i]
		if room := upper[i] - lower[i]; room > 0 {
			f.entries = append(f.entries, entry{value: v, room: room, at: int32(i)})
		}
	}
	f.sort()
	for _, e := range f.entries {
		if free <= 0 {
			return
		}
		x := min(free, e.room)
		prob[e.at] = min(upper[e.at], prob[e.at]+x)
		free -= x
	}
}
