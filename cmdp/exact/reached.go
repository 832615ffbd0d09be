package exact

import (
	"slices"

	"cmdpsolve/cmdp"
)

// A span is the states [lo, hi).
type span struct{ lo, hi int }

// reachedSpans returns for each step the states that some policy reaches then, in order. It is nil where
// these are more than half of all (step, state) pairs: to look at all is as good.
func reachedSpans(m *cmdp.Model) [][]span {
	steps, now := m.Horizon(), make([]bool, m.States())
	for _, st := range m.StartStates() {
		now[st.State] = now[st.State] || st.Probability > 0
	}
	out, left := make([][]span, 0, steps), steps*len(now)/2
	for h := range steps {
		spans, count := spansOf(now)
		left -= count
		if left < 0 {
			return nil
		}
		out = append(out, spans)
		then := make([]bool, len(now))
		rows := m.Rows(h)
		for _, r := range spans {
			r.mark(rows, then)
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

// spansOf returns the states that are marked, and their number.
func spansOf(marked []bool) (spans []span, count int) {
	for s, in := range marked {
		switch {
		case !in:
			continue
		case s > 0 && marked[s-1]:
			spans[len(spans)-1].hi++
		default:
			spans = append(spans, span{s, s + 1})
		}
		count++
	}
	return spans, count
}

// mark marks the states that follow on those of a span.
func (r span) mark(rows *cmdp.Rows, marked []bool) {
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

// within calls f with the parts of [lo, hi) that are in spans, which are in order, or with all of it
// if they are nil, and returns the largest result.
func within(spans []span, lo, hi int, f func(lo, hi int) float64) float64 {
	if spans == nil {
		return f(lo, hi)
	}
	most := 0.0
	at, _ := slices.BinarySearchFunc(spans, lo, func(r span, lo int) int { return r.hi - lo - 1 })
	for ; at < len(spans) && spans[at].lo < hi; at++ {
		most = max(most, f(max(lo, spans[at].lo), min(hi, spans[at].hi)))
	}
	return most
}
