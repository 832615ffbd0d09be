package markov

import (
	"context"
	"math"

	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/internal/threshold"
)

// An octetWindow says how long windows are, in how far a transition leads back, and how many sweeps each state is in. A
// window may follow the one before it as soon as that is so many times as far ahead as a transition leads: once where
// sweeps change the state that they are at, twice where they change those that it leads to. Windows are so long that
// two workers need not wait for each other. Short windows in small steps leave more digits behind them than long ones
// in large steps, and more of what they sweep is in a cache.
type octetWindow struct{ reaches, sweeps, apart int }

var (
	iterationWindow = octetWindow{reaches: 3, sweeps: 42, apart: 1}
	raisingWindow   = octetWindow{reaches: 3, sweeps: 28, apart: 1}
	visitsWindow    = octetWindow{reaches: 5, sweeps: 60, apart: 2}
)

// windows calls sweep with one window of the states after the other, see moveWindow, by parts of the windows and with
// rows of which each worker has its own. Before that it calls fresh with states, as far as a transition leads back,
// that no window has come near to. Workers take windows in turn, each of which follows the one before at a distance,
// see pipeline, so that digits do not depend on how many there are.
func (z *OctetTotals) windows(ctx context.Context, w octetWindow, fresh func(from, to int32),
	sweep func(r *octetRows, from, to int32)) {
	var at [][2]int32
	length := w.reaches * max(int(z.reach), threshold.Part) // windows of fewer states would be too many
	moveWindow(ctx, int(z.Quotient.Rest), length, max(1, length/w.sweeps), func(from, to int32) {
		at = append(at, [2]int32{from, to})
	})
	workers, ahead, size := max(1, z.Workers), w.apart*int(z.span), max(z.span/4, int32(threshold.Part))
	if 2*(ahead+int(size)) > length { // they would wait for each other
		workers = 1
	}
	rows := make([]octetRows, workers)
	for w := range rows {
		rows[w] = z.rows
	}
	parallel.Pursue(workers, len(at), func(worker, job int, await, reached func(at int64)) {
		known := int32(0)
		if job > 0 {
			known = min(z.Quotient.Rest, at[job-1][1]+z.reach)
		}
		for from := at[job][0]; from < at[job][1] && ctx.Err() == nil; from += size {
			to := min(from+size, at[job][1])
			end := min(z.Quotient.Rest, to+z.reach)
			if end > known {
				await(math.MaxInt64)
				fresh(known, end)
				known = end
			}
			await(int64(to) + int64(ahead))
			sweep(&rows[worker], from, to)
			reached(int64(to))
		}
	})
}
