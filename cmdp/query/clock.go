package query

import (
	"context"
	"errors"
	"time"
)

// A clock tells how much is left of the time of a question that builds several models. nil stands for any time.
type clock struct {
	now func() time.Time
	end time.Time
}

// errLate says that the time was over before a model was built.
var errLate = errors.New("query: the time is over")

// newClock returns a clock for some time from now on, 0 for any.
func newClock(budget time.Duration) *clock {
	if budget <= 0 {
		return nil
	}
	return &clock{time.Now, time.Now().Add(budget)}
}

// over reports whether the time is.
func (c *clock) over() bool { return c != nil && !c.now().Before(c.end) }

// left is the budget of what comes next, at least a nanosecond, since 0 stands for any time.
func (c *clock) left() time.Duration {
	if c == nil {
		return 0
	}
	return max(1, c.end.Sub(c.now()))
}

// share is all that is left for what is alone, and else half of it.
func (c *clock) share(alone bool) time.Duration {
	if c == nil || alone {
		return c.left()
	}
	return max(1, c.left()/2)
}

// part is one of so many parts of what is left.
func (c *clock) part(n int) time.Duration { return max(1, c.left()/time.Duration(n)) }

// within returns a context that ends when the time is over.
func (c *clock) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if c == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.left())
}

// orLate is errLate in the place of an error that came since the time was over.
func (c *clock) orLate(ctx context.Context, err error) error {
	if c != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return errLate
	}
	return err
}
