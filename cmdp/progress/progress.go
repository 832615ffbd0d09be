// Package progress says how far long work is. Whoever waits for a call puts a [Func] into its context, and what takes
// long tells it. It is for those who look on: results never depend on it.
package progress

import (
	"context"
	"sync"
)

// A Func is told what is being done and which part of it is done, from 0 to 1, NaN if that is not known. nil tells
// nobody.
type Func func(what string, part float64)

type key struct{}

// With returns a context whose work tells f and nobody else. Goroutines tell it one after the other.
func With(ctx context.Context, f Func) context.Context {
	if f == nil {
		return context.WithValue(ctx, key{}, f)
	}
	var mu sync.Mutex
	return context.WithValue(ctx, key{}, Func(func(what string, part float64) {
		mu.Lock()
		defer mu.Unlock()
		f(what, part)
	}))
}

// Of returns who is told in a context.
func Of(ctx context.Context) Func {
	f, _ := ctx.Value(key{}).(Func)
	return f
}

// Within returns a context for a part of some work that has a name of its own, which then stands before whatever is
// done in it.
func Within(ctx context.Context, name string) context.Context {
	f := Of(ctx)
	if f == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, Func(func(what string, part float64) { f(name+", "+what, part) }))
}

// Tell tells f, if it is not nil.
func (f Func) Tell(what string, part float64) {
	if f != nil {
		f(what, part)
	}
}

// Many is how many states, or how much like them, are worth telling of.
const Many = 1 << 10

// At tells that a part is done of something with so many states, from 0 to 1 whatever an estimate of it says. Small
// models are not worth telling of.
func (f Func) At(what string, part float64, states int) {
	if states >= Many {
		f.Tell(what, max(0, min(part, 1)))
	}
}

// AtStep tells that a step is done of several, each of which goes through so many states, if as many were gone through
// since the last time as are worth telling of.
func (f Func) AtStep(what string, step, steps, states int) {
	if (step+1)*states/Many > step*states/Many {
		f.Tell(what, float64(step)/float64(steps))
	}
}
