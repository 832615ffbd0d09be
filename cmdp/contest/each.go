package contest

import (
	"context"
	"runtime"
	"sync"
)

// each calls play with the numbers from 0 to n−1, at most parallel of them at a time, where 0
// stands for one for each processor. When a call fails, the context of the others is
// cancelled. each returns the first error, or that of ctx.
func each(ctx context.Context, parallel, n int, play func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if parallel == 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	queue := make(chan int, n)
	for i := range n {
		queue <- i
	}
	close(queue)
	var wg sync.WaitGroup
	for range min(parallel, n) {
		wg.Go(func() {
			for i := range queue {
				if err := play(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
