package exact

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"cmdpsolve/cmdp/internal/threshold"
)

// A relay is work in stages, of parts that do not depend on each other; a stage begins
// when all parts of those before it are done. Workers take one part after the other,
// across stages. So none is started or woken between two stages, and a worker that the
// system puts aside holds up the others by one part at most.
type relay struct {
	workers, stages, parts int
	do                     func(stage, part int)

	taken, done atomic.Int64
	stopped     atomic.Bool
}

// run does the work, or a part of it if ctx ends, and returns the error of ctx then.
// What a part does must depend on its numbers alone: the result is then the same for
// any number of workers.
func (r *relay) run(ctx context.Context) error {
	workers := min(r.workers, r.parts, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for stage := range r.stages {
			if err := ctx.Err(); err != nil {
				return err
			}
			for part := range r.parts {
				r.do(stage, part)
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(func() { r.work(ctx) })
	}
	r.work(ctx)
	wg.Wait()
	if r.stopped.Load() {
		return ctx.Err()
	}
	return nil
}

func (r *relay) work(ctx context.Context) {
	last := -1
	for {
		n := int(r.taken.Add(1)) - 1
		stage, part := n/r.parts, n%r.parts
		if stage >= r.stages {
			return
		}
		if stage > last {
			if ctx.Err() != nil {
				r.stopped.Store(true)
			}
			if !r.await(int64(stage * r.parts)) {
				return
			}
			last = stage
		}
		r.do(stage, part)
		r.done.Add(1)
	}
}

// await waits until so many parts are done and reports whether the work goes on. The
// wait is short as a rule, shorter than it takes to wake a thread.
func (r *relay) await(parts int64) bool {
	for n := 0; r.done.Load() < parts; n++ {
		switch {
		case r.stopped.Load():
			return false
		case n >= 1000: // the others are not running
			time.Sleep(50 * time.Microsecond)
		case n >= 100:
			runtime.Gosched()
		}
	}
	return !r.stopped.Load()
}

// A division cuts the states [0, n) into parts of equal size, the last may be smaller.
type division struct{ n, size, parts int }

// divide returns parts for so many workers, one part if work, the number of
// transitions, is small.
func divide(workers, n, work int) division {
	size := n
	if workers > 1 && work >= threshold.Shared {
		size = min(threshold.Chunk, (n+4*workers-1)/(4*workers))
	}
	return division{n, size, (n + size - 1) / size}
}

func (d division) part(i int) (lo, hi int) { return i * d.size, min(d.n, (i+1)*d.size) }

// forStates calls f on ranges that cover the states [0, n), at the same time where
// work, the number of transitions, is large, and returns the largest of its results,
// which are at least 0.
func forStates(workers, n, work int, f func(lo, hi int) float64) float64 {
	d := divide(workers, n, work)
	var most maximum
	r := relay{workers: workers, stages: 1, parts: d.parts, do: func(_, part int) { most.add(f(d.part(part))) }}
	_ = r.run(context.Background()) // which never ends
	return most.get()
}

// maximum is the largest of some numbers that are at least 0, 0 of none.
type maximum struct{ bits atomic.Uint64 }

func (l *maximum) add(x float64) {
	// Floating-point numbers of one sign are ordered as their bits are.
	for b := math.Float64bits(x); ; {
		old := l.bits.Load()
		if b <= old || l.bits.CompareAndSwap(old, b) {
			return
		}
	}
}

func (l *maximum) get() float64 { return math.Float64frombits(l.bits.Load()) }
