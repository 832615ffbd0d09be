package cmdptest

import (
	"context"
	"sync/atomic"
)

// An Ending is a context that ends after some looks at its error, for tests that long work ends with its context at
// any of them. Its channel, which is that of the context that it is made of, stays open. It may be used concurrently.
type Ending struct {
	context.Context
	left atomic.Int64
}

// EndAfter returns a context that is canceled once it was looked at so many times.
func EndAfter(ctx context.Context, looks int64) *Ending {
	out := &Ending{Context: ctx}
	out.left.Store(looks)
	return out
}

// Err is [context.Canceled] after the last look, and nil before.
func (e *Ending) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Ended reports whether some look found the context over.
func (e *Ending) Ended() bool { return e.left.Load() < 0 }
