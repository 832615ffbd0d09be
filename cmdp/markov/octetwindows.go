package markov

import (
	"context"
	"math"

	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/internal/threshold"
)

// Windows are longer by octetReaches than those of one direction, and move on by windowReaches in octetSweeps: values
// and visits have most of their digits after two passes, where three take more sweeps.
const (
	octetReaches = 2
	octetSweeps  = 28
)

// windows calls sweep with one window of the states after the other in a pass, see slideWindow, by parts of the windows
// and with rows of which each worker has its own. Before that it calls fresh with states, as far as a transition leads
// back, that no window has come near to. Workers take windows in turn, each of which follows the one before at a
// distance, see pipeline, so that digits do not depend on how many there are.
func (z *OctetTotals) windows(ctx context.Context, pass int, fresh func(from, to int32),
	sweep func(r *octetRows, from, to int32)) {
	var at [][2]int32
	reach := max(z.reach, int32(threshold.Part)) // windows of fewer states would be too many
	slideWindow(ctx, z.Quotient.Rest, reach, pass+octetReaches, octetSweeps, func(from, to int32) {
		at = append(at, [2]int32{from, to})
	})
	workers, size := max(1, z.Workers), max(z.span, int32(threshold.Part))
	if 2*(2*z.span+size) > (windowReaches+octetReaches)*reach { // they would wait for each other
		workers = 1
	}
	rows := make([]octetRows, workers)
	for w := range rows {
		rows[w] = z.rows
	}
	parallel.Pursue(workers, len(at), func(worker, job int, await, reached func(at int64)) {
		ahead := int32(0)
		if job > 0 {
			ahead = min(z.Quotient.Rest, at[job-1][1]+z.reach)
		}
		for from := at[job][0]; from < at[job][1] && ctx.Err() == nil; from += size {
			to := min(from+size, at[job][1])
			end := min(z.Quotient.Rest, to+z.reach)
			if end > ahead {
				await(math.MaxInt64)
				fresh(ahead, end)
				ahead = end
			}
			await(int64(to + 2*z.span))
			sweep(&rows[worker], from, to)
			reached(int64(to))
		}
	})
}
