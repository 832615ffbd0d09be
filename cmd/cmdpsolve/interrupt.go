package main

import (
	"bufio"
	"context"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// patience is how long a command may take to end by itself once it was interrupted.
var patience = 600 * time.Millisecond

// interruptible returns what work returns, or errInterrupted if that takes longer than patience once ctx has ended.
// Work that looks at no context, such as reading and building, then goes on until the process ends. It must change
// nothing that others look at.
func interruptible[T any](ctx context.Context, patience time.Duration, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := work()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(patience):
		var none T
		return none, failed(errInterrupted)
	}
}

// lasting returns a context that ends a while after ctx.
func lasting(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(while, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// leavable has a command end soon after it was interrupted, whatever it is about. Commands that play stop by
// themselves, for they save what they have played, and so does a server; only what they do before is interruptible.
func leavable(cmd *cobra.Command) {
	run := cmd.RunE
	switch cmd.Name() {
	case "learn", "compare", "explore":
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, err := interruptible(cmd.Context(), patience, func() (struct{}, error) { return struct{}{}, run(cmd, args) })
		return err
	}
}

// An output is standard output. Its methods may be called concurrently, since a command that was left may still
// write.
type output struct {
	mu  sync.Mutex
	to  *bufio.Writer
	any bool // something was written
	end bool // nothing is to come
}

func newOutput(w io.Writer) *output { return &output{to: bufio.NewWriter(w)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.end {
		return 0, errInterrupted
	}
	o.any = o.any || len(p) > 0
	return o.to.Write(p)
}

// Flush writes what is held back.
func (o *output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Flush()
}

// finish ends the output after a command with the given error, whose status is kept in JSON where nothing else was
// written. After an interruption it does not wait for somebody who does not read.
func (o *output) finish(ctx context.Context, err error, json bool) error {
	if ctx.Err() == nil {
		o.mu.Lock()
	} else if !o.mu.TryLock() {
		return err
	}
	defer o.mu.Unlock()
	o.end = true
	if err != nil && json && !o.any {
		_ = writeFailure(o.to, err) // a standard output that is gone is no reason to say nothing
	}
	werr := o.to.Flush()
	if err == nil {
		return failed(werr)
	}
	return err
}
