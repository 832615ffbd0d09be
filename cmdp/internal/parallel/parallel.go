// Package parallel shares the states of a model between goroutines, so that results do not depend on how many
// there are.
package parallel

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"cmdpsolve/internal/threshold"
)

// A Relay is work in stages, of parts that do not depend on each other; a stage begins
// when all parts of those before it are done. Workers take one part after the other,
// across stages. So none is started or woken between two stages, and a worker that the
// system puts aside holds up the others by one part at most. Where that takes long, the
// others leave the work to the first one for some time.
type Relay struct {
	Workers, Stages, Parts int
	Do                     func(stage, part int)

	taken, done atomic.Int64
	stopped     atomic.Bool
	alone       atomic.Int64 // until when the first worker is left alone, in nanoseconds from the beginning
	began       time.Time
}

// Run does the work, or a part of it if ctx ends, and returns the error of ctx then.
// What a part does must depend on its numbers alone: the result is then the same for
// any number of workers. A Relay is run once.
func (r *Relay) Run(ctx context.Context) error {
	workers := min(r.Workers, r.Parts, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for stage := range r.Stages {
			if err := ctx.Err(); err != nil {
				return err
			}
			for part := range r.Parts {
				r.Do(stage, part)
			}
		}
		return nil
	}
	r.began = time.Now()
	for range workers - 1 {
		go r.work(ctx, false)
	}
	r.work(ctx, true)
	// Nothing else is begun. Nobody waits for those who have no part.
	begun := min(r.taken.Swap(math.MaxInt64), int64(r.Stages*r.Parts))
	for n := 0; r.done.Load() < begun; n++ {
		pause(n)
	}
	if r.stopped.Load() {
		return ctx.Err()
	}
	return nil
}

func (r *Relay) work(ctx context.Context, first bool) {
	last, all := -1, int64(r.Stages*r.Parts)
	for {
		n := r.taken.Load()
		if n >= all || r.stopped.Load() {
			return
		}
		stage, part := int(n)/r.Parts, int(n)%r.Parts
		switch until := r.alone.Load(); {
		case !first && until > 0 && int64(time.Since(r.began)) < until:
			time.Sleep(long)
		case stage > last:
			if ctx.Err() != nil {
				r.stopped.Store(true)
				return
			}
			r.await(int64(stage * r.Parts))
			last = stage
		case r.taken.CompareAndSwap(n, n+1):
			r.Do(stage, part)
			r.done.Add(1)
		}
	}
}

// await waits until so many parts are done, or the work is stopped. The wait is short as a rule, shorter than it takes
// to wake a thread. If it is long, the system has other things to do, and the first worker is left alone for a time.
func (r *Relay) await(parts int64) {
	const times = 4
	var since time.Time
	for n := 0; r.done.Load() < parts && !r.stopped.Load(); n++ {
		if n == spinning {
			since = time.Now()
		}
		pause(n)
	}
	if since.IsZero() {
		return
	}
	if waited := time.Since(since); waited > long {
		r.alone.Store(int64(time.Since(r.began) + times*waited))
	}
}

const (
	spinning = 1000                   // how many times a wait goes on before the thread is given up
	long     = 200 * time.Microsecond // a wait that is far longer than it takes to do a part
)

// pause is called for the n-th time in a wait.
func pause(n int) {
	switch {
	case n >= spinning: // the others are not running
		time.Sleep(50 * time.Microsecond)
	case n >= 100:
		runtime.Gosched()
	}
}

// Follow does two jobs of so many parts at the same time, each part after part: the second one begins a part when the
// first is done with so many parts from that one on, or with all. The first waits for nobody, so that it is done as
// soon as alone if the system puts the other aside.
func Follow(parts, ahead int, first, second func(part int)) {
	var done atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range parts {
			for n := 0; done.Load() < int64(min(i+ahead, parts)); n++ {
				pause(n)
			}
			second(i)
		}
	})
	for i := range parts {
		first(i)
		done.Add(1)
	}
	wg.Wait()
}

// A Division cuts the states [0, n) into parts of equal size, the last may be smaller.
type Division struct{ N, Size, Parts int }

// Divide returns parts for so many workers, one part if work, the number of
// transitions, is small.
func Divide(workers, n, work int) Division {
	size := max(1, n)
	if workers > 1 && work >= threshold.Shared {
		size = max(1, min(threshold.Chunk, (n+4*workers-1)/(4*workers)))
	}
	return Division{n, size, (n + size - 1) / size}
}

// Part returns the states [lo, hi) of a part.
func (d Division) Part(i int) (lo, hi int) { return i * d.Size, min(d.N, (i+1)*d.Size) }

// ForStates calls f on ranges that cover the states [0, n), at the same time where
// work, the number of transitions, is large, and returns the largest of its results,
// which are at least 0.
func ForStates(workers, n, work int, f func(lo, hi int) float64) float64 {
	d := Divide(workers, n, work)
	var most Maximum
	r := Relay{Workers: workers, Stages: 1, Parts: d.Parts, Do: func(_, part int) { most.Add(f(d.Part(part))) }}
	_ = r.Run(context.Background()) // which never ends
	return most.Get()
}

// A Maximum is the largest of some numbers that are at least 0, 0 of none.
type Maximum struct{ bits atomic.Uint64 }

// Add takes in a number. It may be called concurrently.
func (l *Maximum) Add(x float64) {
	// Floating-point numbers of one sign are ordered as their bits are.
	for b := math.Float64bits(x); ; {
		old := l.bits.Load()
		if b <= old || l.bits.CompareAndSwap(old, b) {
			return
		}
	}
}

// Get returns the largest number so far.
func (l *Maximum) Get() float64 { return math.Float64frombits(l.bits.Load()) }
