package robust

import (
	"context"
	"time"
)

// A budget is the context of a search for some time. It ends so early that the plan can be described in the rest.
type budget struct {
	context.Context
	end      context.CancelFunc
	timer    *time.Timer
	deadline time.Time
	each     time.Duration // that it takes to describe one policy of a plan; 0 before that is known
}

func newBudget(ctx context.Context, total time.Duration) *budget {
	deadline := time.Now().Add(total)
	within, end := context.WithDeadline(ctx, deadline)
	return &budget{Context: within, end: end, timer: time.AfterFunc(total, end), deadline: deadline}
}

// reserve keeps the time that it takes to describe a plan of so many policies.
func (b *budget) reserve(policies int) {
	if b != nil {
		b.timer.Reset(time.Until(b.deadline) - time.Duration(policies)*b.each)
	}
}

// half is half of the time that is left, 0 for any.
func (b *budget) half() time.Duration {
	if b == nil {
		return 0
	}
	return max(1, time.Until(b.deadline)/2)
}

// timeDescription finds how long it takes to describe a policy: it does so with the first one.
func (s *search) timeDescription() {
	if s.budget == nil || len(s.columns) == 0 {
		return
	}
	one, begin := s.columns[0].alone().parts, time.Now()
	_, err := s.set.Evaluate(s.ctx, one[0].Policy)
	if err == nil {
		_, err = s.set.returnsIn(s.ctx, s.set.m, one)
	}
	if err == nil && s.set.entries <= mostRechecked {
		_, err = s.set.above(s.ctx, one[0].Policy, s.dirs)
	}
	if err == nil { // another policy may be the plan: whether that can be described is known then
		s.budget.each = time.Since(begin)
		s.budget.reserve(1)
	}
}
