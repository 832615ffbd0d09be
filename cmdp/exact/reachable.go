package exact

import (
	"slices"

	"cmdpsolve/cmdp"
)

// A stateRange is the states [lo, hi).
type stateRange struct{ lo, hi int }

// reachableRanges returns for each step the states that some policy reaches then, in order. It is nil where
// these are more than half of all (step, state) pairs: to look at all is as good.
func reachableRanges(m *cmdp.Model) [][]stateRange {
	steps, now := m.Horizon(), make([]bool, m.States())
	for _, st := range m.StartStates() {
		now[st.State] = now[st.State] || st.Probability > 0
	}
	out, left := make([][]stateRange, 0, steps), steps*len(now)/2
	for h := range steps {
		spans, count := rangesOf(now)
		left -= count
		if left < 0 {
			return nil
		}
		out = append(out, spans)
		then := make([]bool, len(now))
		rows := m.Rows(h)
		for _, r := range spans {
			r.markSuccessors(rows, then)
		}
		if m.Stationary() && slices.Equal(now, then) { // and so on
			if left < count*(steps-h-1) {
				return nil
			}
			for len(out) < steps {
				out = append(out, spans)
			}
			break
		}
		now = then
	}
	return out
}

// rangesOf returns the states that are marked, and their number.
func rangesOf(marked []bool) (spans []stateRange, count int) {
	for s, in := range marked {
		switch {
		case !in:
			continue
		case s > 0 && marked[s-1]:
			spans[len(spans)-1].hi++
		default:
			spans = append(spans, stateRange{s, s + 1})
		}
		count++
	}
	return spans, count
}

// markSuccessors marks the states that follow on those of a span.
func (r stateRange) markSuccessors(rows *cmdp.Rows, marked []bool) {
	for s := r.lo; s < r.hi; s++ {
		first, end := rows.Choices(s)
		marked[s] = marked[s] || first == end // the process rests
		for c := first; c < end; c++ {
			next, prob := rows.Row(c)
			for e, n := range next {
				if prob[e] > 0 {
					marked[n] = true
				}
			}
		}
	}
}

// maxOverRanges calls f with the parts of [lo, hi) that are in ranges, which are in order, or with all of it
// if they are nil, and returns the largest result.
func maxOverRanges(spans []stateRange, lo, hi int, f func(lo, hi int) float64) float64 {
	if spans == nil {
		return f(lo, hi)
	}
	most := 0.0
	at, _ := slices.BinarySearchFunc(spans, lo, func(r stateRange, lo int) int { return r.hi - lo - 1 })
	for ; at < len(spans) && spans[at].lo < hi; at++ {
		most = max(most, f(max(lo, spans[at].lo), min(hi, spans[at].hi)))
	}
	return most
}
