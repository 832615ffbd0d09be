package parallel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Pursue does jobs, of which each goes on through numbers that rise and may follow the one before at a distance:
// workers take one after the other in turn. A job calls await before it goes on, until the job before has told, by
// reached, that it is done with all below a number, or it and all before it have ended.
func Pursue(workers, jobs int, do func(worker, job int, await, reached func(at int64))) {
	done := make([]atomic.Int64, jobs+1)
	done[0].Store(math.MaxInt64)                        // of the one before the first
	workers = min(workers, jobs, runtime.GOMAXPROCS(0)) // others would wait without a processor
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for job := worker; job < jobs; job += workers {
				before, own := &done[job], &done[job+1]
				await := func(at int64) {
					for n := 0; before.Load() < at; n++ {
						pause(n)
					}
				}
				do(worker, job, await, own.Store)
				await(math.MaxInt64) // it may have ended early
				own.Store(math.MaxInt64)
			}
		})
	}
	wg.Wait()
}
