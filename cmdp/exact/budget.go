package exact

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"cmdpsolve/cmdp"
)

// A Phase is a part of a solution and the time that it took.
type Phase struct {
	// Name is "analysis" for what is found of the graph of the model, "solution" for the verdict or the optimum
	// and, of what is infeasible, the nearest returns, "recovery" for making one policy of a mixture, and
	// "certification" for what is computed anew for the proof.
	Name string
	Time time.Duration
}

// A stopwatch measures phases. nil measures nothing.
type stopwatch struct {
	phase  string
	since  time.Time
	phases []Phase
}

// enter begins a phase and returns the one before.
func (w *stopwatch) enter(phase string) (before string) {
	if w == nil {
		return ""
	}
	now := time.Now()
	if w.phase != "" {
		i := slices.IndexFunc(w.phases, func(p Phase) bool { return p.Name == w.phase })
		if i < 0 {
			i = len(w.phases)
			w.phases = append(w.phases, Phase{Name: w.phase})
		}
		w.phases[i].Time += now.Sub(w.since)
	}
	before, w.phase, w.since = w.phase, phase, now
	return before
}

// A budget is the time that a solution may take. nil stands for any.
type budget struct {
	now      func() time.Time
	deadline time.Time
	total    time.Duration
	fake     bool          // the clock is not real
	longest  time.Duration // that a price took
	after    int           // about how many times as long what follows the last price takes, at least usuallyAfter
	answered time.Duration // that the last answer took, 0 before there is one
	// interrupted says that the last price was: the pricer may be left between two states.
	interrupted bool
	unreserved  bool // no time was kept for what follows the last price
}

// errBudget says that the time of a budget is over.
var errBudget = errors.New("exact: the time is over")

func newBudget(o Options) *budget {
	if o.Budget <= 0 {
		return nil
	}
	o = o.begun()
	return &budget{now: o.clock(), deadline: o.deadline, total: o.Budget, fake: o.now != nil}
}

// clock returns what tells the time.
func (o Options) clock() func() time.Time {
	if o.now != nil {
		return o.now
	}
	return time.Now
}

// begun returns o with the time at which the one of its budget is over, unless that is known.
func (o Options) begun() Options {
	if o.Budget > 0 && o.deadline.IsZero() {
		o.deadline = o.clock()().Add(o.Budget)
	}
	return o
}

// Of what is made of the answer a little may be done once the time is over: some share of the budget, and some time.
const (
	latenessShare = 0.05
	leastLateness = 100 * time.Millisecond
)

// soon returns a context that ends soon after the time of the budget, or with it where there is an answer already.
// Clocks that are not real end none.
func (b *budget) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	if b == nil || b.fake {
		return ctx, func() {}
	}
	late := leastLateness + time.Duration(latenessShare*float64(b.total))
	if b.answered > 0 {
		late = 0
	}
	return context.WithDeadline(ctx, b.deadline.Add(late))
}

// whilePreparing returns a context for what comes before the first price: it ends with the time of the budget. Clocks
// that are not real end none.
func (o Options) whilePreparing(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.deadline.IsZero() || o.now != nil {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, o.deadline)
}

// orBudget is errBudget in the place of an error that came because the time of a budget was over within a context.
func orBudget(ctx, within context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && within.Err() != nil && ctx.Err() == nil {
		return errBudget
	}
	return err
}

// unprepared is the answer where the time was over before there was anything to price.
func (p *Planner) unprepared(task cmdp.Task) *Result {
	r := &Result{Status: Stopped, Bound: math.Inf(-1), Gap: math.Inf(1), Objective: math.NaN(), Violation: math.NaN(),
		Returns: slices.Repeat([]float64{math.NaN()}, p.dim()), Dual: make([]float64, p.dim())}
	if task.Box != nil {
		rows, _ := task.LinearConstraints(task.Box.Lower(), task.Box.Upper())
		for _, row := range rows {
			r.Prices = append(r.Prices, Price{Constraint: row})
		}
	}
	return r
}

// usuallyAfter is how many times as long as a price the last one and what follows take: its bound is computed anew, and
// the policy evaluated.
const usuallyAfter = 2

// reserve is the time that is kept for what follows the last price: that of the last answer or, before there is one,
// about what it will take.
func (b *budget) reserve() time.Duration {
	if b.answered > 0 {
		return b.answered
	}
	return time.Duration(max(usuallyAfter, b.after)-1) * b.longest
}

// over reports whether no direction is to be priced any more.
func (b *budget) over() bool {
	return b != nil && !b.now().Add(b.longest+b.reserve()).Before(b.deadline)
}

// pricesAfter is about how many times as long as a price what follows the last one takes. A pricer without a state
// finds the policies that are mixed again, of each block, and where there are several makes one of them.
func (s *columnGeneration) pricesAfter() int {
	if !s.traits.stateless || s.mixtureSuffices {
		return usuallyAfter
	}
	mixed := 0
	for _, x := range s.master.lambda {
		if x > 0 {
			mixed++
		}
	}
	blocks := len(s.master.blocks)
	again := (mixed + blocks - 1) / blocks
	if again > 1 {
		again++
	}
	return usuallyAfter + again
}

// half is the budget with half of the time that is left.
func (b *budget) half() *budget {
	if b == nil {
		return nil
	}
	now := b.now()
	left := b.deadline.Sub(now) / 2
	return &budget{now: b.now, deadline: now.Add(left), total: left, fake: b.fake}
}

// priceInTime asks for the cheapest policy in a direction, as long as there is time. While policies miss the target
// there is nothing to make an answer of, so that all of it is for prices.
func (s *columnGeneration) priceInTime(dir []float64, aim float64) (pricedPolicy, error) {
	b := s.budget
	if b == nil {
		return s.pricing.price(s.ctx, dir, aim)
	}
	b.after = s.pricesAfter()
	missed := !s.meetsTarget && s.master.u > 0
	over := b.over()
	begin, kept := b.now(), b.reserve()
	if missed {
		kept = 0
	}
	if over && !(missed && begin.Before(b.deadline)) || s.meetsTarget && !s.mostRefined.IsZero() &&
		!begin.Before(s.mostRefined) {
		return pricedPolicy{}, errBudget
	}
	b.unreserved = over
	ctx, cancel := context.WithTimeout(s.ctx, max(b.deadline.Sub(begin)-kept, 0))
	defer cancel()
	p, err := s.pricing.price(ctx, dir, aim)
	b.longest = max(b.longest, b.now().Sub(begin))
	if err != nil && ctx.Err() != nil && s.ctx.Err() == nil {
		b.interrupted = !s.traits.stateless
		return p, errBudget
	}
	return p, err
}
