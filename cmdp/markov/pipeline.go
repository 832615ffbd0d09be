package markov

import (
	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/internal/threshold"
)

// pipeline does two sweeps in place over n states: do(false, a, b) is the first in the states [a, b), in the order of
// the sweep, do(true, a, b) the second. Where no transition leads farther than span, the second may follow the first
// through the states at a distance, so that two workers share them (Lamport 1974, the hyperplane method). What each
// finds is the same as if one came after the other, bit by bit, as long as it neither reads nor changes states farther
// away than span, nor anything else that the other one changes: when the second is at some states, the first is farther
// on than twice the span.
func pipeline(workers int, n, span int32, do func(second bool, a, b int32)) {
	const distance, few = 3, 8 // parts
	size := max(span, int32(threshold.Part))
	parts := int((n + size - 1) / size)
	if workers <= 1 || parts < few {
		do(false, 0, n)
		do(true, 0, n)
		return
	}
	part := func(second bool) func(i int) {
		return func(i int) { do(second, int32(i)*size, min(n, int32(i+1)*size)) }
	}
	parallel.Follow(parts, distance, part(false), part(true))
}
