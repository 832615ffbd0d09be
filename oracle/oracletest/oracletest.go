// Package oracletest holds the laws that all methods of the interfaces of package oracle
// obey, whatever the mathematics: destinations are overwritten, inputs are not, slices of a
// wrong length panic, and methods may be called concurrently. The packages geometrytest and
// costtest, which hold the laws of sets and costs, try them on every set and cost.
//
//	call := oracletest.Call{Name: "Project", Inputs: [][]float64{x}, Size: 2, Alias: 0,
//		Do: func(dst []float64, in [][]float64) { set.Project(dst, in[0]) }}
//	if err := oracletest.Overwritten([]oracletest.Call{call}); err != nil {
//		t.Error(err)
//	}
package oracletest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
)

// A Call is a question to a method.
type Call struct {
	Name   string // of the method
	Inputs [][]float64
	// Do asks with the inputs given, which may be copies of Inputs, and writes the answer to
	// dst, which has length Size. Methods that return a number write it to dst[0].
	Do   func(dst []float64, in [][]float64)
	Size int
	// Number says that the answer is a number: the method has no destination.
	Number bool
	// Alias is the input that the destination may be, or -1.
	Alias int
	// Same reports whether two answers count as equal; nil asks for the same bits.
	Same func(a, b []float64) bool
}

func (c *Call) same(a, b []float64) bool {
	if c.Same != nil {
		return c.Same(a, b)
	}
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// answer asks with copies of the inputs and a destination full of fill.
func (c *Call) answer(fill float64) []float64 {
	dst := slices.Repeat([]float64{fill}, c.Size)
	c.Do(dst, copies(c.Inputs))
	return dst
}

func copies(vectors [][]float64) [][]float64 {
	out := make([][]float64, len(vectors))
	for i, v := range vectors {
		out[i] = slices.Clone(v)
	}
	return out
}

// each returns the first error of f, which names the call.
func each(calls []Call, f func(c *Call) error) error {
	for i := range calls {
		if err := f(&calls[i]); err != nil {
			return fmt.Errorf("%s of %v: %w", calls[i].Name, calls[i].Inputs, err)
		}
	}
	return nil
}

// Repeatable wants finite answers, and the same ones again.
func Repeatable(calls []Call) error {
	return each(calls, func(c *Call) error {
		first, second := c.answer(0), c.answer(0)
		for _, v := range first {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("answer %v: want finite numbers", first)
			}
		}
		if !c.same(first, second) {
			return fmt.Errorf("answers %v, then %v", first, second)
		}
		return nil
	})
}

// Overwritten fills destinations with NaN and with other values first.
func Overwritten(calls []Call) error {
	return each(calls, func(c *Call) error {
		clean := c.answer(0)
		for _, fill := range []float64{math.NaN(), math.Inf(1), 7} {
			if dirty := c.answer(fill); !c.same(clean, dirty) {
				return fmt.Errorf("answer %v with a destination full of %g, %v with zeros", dirty, fill, clean)
			}
		}
		return nil
	})
}

// Untouched wants inputs to stay as they are.
func Untouched(calls []Call) error {
	return each(calls, func(c *Call) error {
		in := copies(c.Inputs)
		c.Do(make([]float64, c.Size), in)
		for k, v := range in {
			if !slices.Equal(v, c.Inputs[k]) {
				return fmt.Errorf("input %v became %v", c.Inputs[k], v)
			}
		}
		return nil
	})
}

// Aliasing lets the destination be the input that it may be.
func Aliasing(calls []Call) error {
	return each(calls, func(c *Call) error {
		if c.Alias < 0 {
			return nil
		}
		apart, in := c.answer(math.NaN()), copies(c.Inputs)
		c.Do(in[c.Alias], in)
		if !c.same(apart, in[c.Alias]) {
			return fmt.Errorf("answer %v in place, %v apart", in[c.Alias], apart)
		}
		return nil
	})
}

// Lengths wants a panic for every slice of a wrong length.
func Lengths(calls []Call) error {
	return each(calls, func(c *Call) error {
		for _, by := range []int{1, -1} {
			resized := func(n int) []float64 { return make([]float64, n+by) }
			if !c.Number && !panics(func() { c.Do(resized(c.Size), copies(c.Inputs)) }) {
				return fmt.Errorf("no panic at a destination of length %d", c.Size+by)
			}
			for k, v := range c.Inputs {
				in := copies(c.Inputs)
				in[k] = resized(len(v))
				if !panics(func() { c.Do(make([]float64, c.Size), in) }) {
					return fmt.Errorf("no panic at input %d of length %d", k, len(in[k]))
				}
			}
		}
		return nil
	})
}

// Guard returns the error of f, or one for its panic.
func Guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

func panics(f func()) bool {
	return Guard(func() error { f(); return nil }) != nil
}

// Concurrent asks the calls once in order and then from several goroutines, each in another
// order. A panic of a call is an error.
func Concurrent(calls []Call) error {
	answers := make([][]float64, len(calls))
	for i := range calls {
		answers[i] = calls[i].answer(0)
	}
	failures := make([]error, 6)
	var group sync.WaitGroup
	for w := range failures {
		group.Go(func() {
			failures[w] = Guard(func() error {
				for k := range 2 * len(calls) {
					i := (k*(2*w+1) + w) % len(calls)
					c := &calls[i]
					if got := c.answer(math.NaN()); !c.same(answers[i], got) {
						return fmt.Errorf("%s of %v: answer %v, later %v", c.Name, c.Inputs, answers[i], got)
					}
				}
				return nil
			})
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// AllocationFree wants calls that do not allocate. It asks nothing under the race detector,
// which makes pools forget, and must not run beside other tests.
func AllocationFree(calls []Call) error {
	if raceEnabled {
		return nil
	}
	return each(calls, func(c *Call) error {
		dst, in := make([]float64, c.Size), copies(c.Inputs)
		if n := testing.AllocsPerRun(100, func() { c.Do(dst, in) }); n >= 1 {
			return fmt.Errorf("%g allocations per call", n)
		}
		return nil
	})
}
