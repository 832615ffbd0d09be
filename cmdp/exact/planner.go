package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/progress"
)

// A Planner solves one task after the other of a model, see [Solve]. It keeps the policies
// that it finds: the returns of a policy do not change with limits and goal, so a task that
// differs a little from one before takes a few value iterations. Which policies it has
// seen may change the last digits of an answer, never what the answer certifies.
//
// It may be used concurrently; calls wait for each other.
type Planner struct {
	m        *cmdp.Model // nil for a sum
	workers  int
	width    int // dimension of a sum
	sum      func(ctx context.Context, tell progress.Func) (pricer, error)
	turn     chan struct{}
	known    modelAnalysis           // of a model of totals or discounted sums, for all its pricers
	analysed *infiniteHorizon        // of such a model, nil before the first task
	epochs   *epochModels            // of a model of epochs, nil before it is asked anything
	rows     atomic.Pointer[Planner] // of such a model with stored rows, nil before one is needed
	pricer   pricer                  // nil before the first task
	stale    bool                    // the pricer may have been left between two states
	columns  []column
	bounds   *supportBounds // of the policies that columns are of
}

// keptBytes bounds the memory of the policies that a Planner keeps, and keptColumns their
// number.
const (
	keptBytes   = 256 << 20
	keptColumns = 400
)

// NewPlanner returns a Planner. workers bounds the goroutines of a value iteration, 0
// stands for GOMAXPROCS; Options.Workers is not used.
func NewPlanner(m *cmdp.Model, workers int) (*Planner, error) {
	if err := checkTask(m, cmdp.Task{}); err != nil {
		return nil, err
	}
	opts, err := Options{Workers: workers}.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Planner{m: m, workers: opts.Workers, turn: make(chan struct{}, 1), bounds: new(supportBounds)}, nil
}

// dim returns the number of coordinates of returns.
func (p *Planner) dim() int {
	if p.m == nil {
		return p.width
	}
	return p.m.Dim()
}

// check refuses tasks that do not fit.
func (p *Planner) check(task cmdp.Task) error {
	if p.m == nil {
		return checkTaskOf(p.width, task)
	}
	return checkTask(p.m, task)
}

// Solve minimises task.Cost(V) over the returns V of all policies of m that lie in
// task.Target. It returns an error for tasks that do not fit the model, for models
// without a well-defined return, and when ctx ends; "infeasible" is an answer.
//
// With a finite horizon V is the expected return of an episode, with a discount γ
// < 1 the expected discounted sum Σ γ^t r_t, and with γ = 1 the expected total
// until absorption, for models that absorb surely. If the model asks for it, V is the
// long-run mean of the returns of a step, for all of them or return by return. Memory is proportional to the
// model and, with a finite horizon, to one byte for each (step, state) pair and, while
// the policy is put together, mixed policy.
//
// It may be called concurrently; an answer does not depend on Options.Workers.
func Solve(ctx context.Context, m *cmdp.Model, task cmdp.Task, opts Options) (*Result, error) {
	p, err := NewPlanner(m, opts.Workers)
	if err != nil {
		return nil, err
	}
	return p.Solve(ctx, task, opts)
}

// checkTask refuses what no planner for decision processes can work with.
func checkTask(m *cmdp.Model, task cmdp.Task) error {
	if err := checkDimensions(m, task); err != nil {
		return err
	}
	return refuseGame(m)
}

func checkDimensions(m *cmdp.Model, task cmdp.Task) error {
	if m == nil || m.States() == 0 {
		return errors.New("exact: no model")
	}
	return checkTaskOf(m.Dim(), task)
}

func checkTaskOf(dim int, task cmdp.Task) error {
	if err := task.Check(dim); err != nil {
		return fmt.Errorf("exact: %w", err)
	}
	for k, c := range task.Constraints {
		if err := checkContains(task.Target, c); err != nil {
			return fmt.Errorf("exact: constraint %d: %w", k, err)
		}
	}
	return nil
}

// Solve is the function [Solve] for this planner, with the same errors.
func (p *Planner) Solve(ctx context.Context, task cmdp.Task, opts Options) (*Result, error) {
	var undecided *Result // by epochs
	r, err := orWithRows(ctx, p, opts, func(p *Planner, opts Options) (*Result, error) {
		r, err := p.solve(ctx, task, opts)
		if err == nil && r.Status == Undecided && p.decidesByRows(ctx, r, opts) {
			undecided = r
			return nil, errWantsRows
		}
		return r, err
	})
	if errors.Is(err, errBudget) { // before rows were stored
		return p.unprepared(task), nil
	}
	if err != nil || undecided == nil {
		return r, err
	}
	return inTime(undecided, r), nil
}

func (p *Planner) solve(ctx context.Context, task cmdp.Task, opts Options) (*Result, error) {
	var r *Result
	budget := newBudget(opts)
	if budget != nil {
		opts.deadline = budget.deadline
		ctx = context.WithValue(ctx, rationalDeadline{}, budget.deadline)
	}
	err := p.withSolver(ctx, task, opts, func(s *solver) (err error) {
		s.budget = budget
		r, err = s.run()
		p.stale = p.stale || budget != nil && budget.interrupted
		return err
	})
	if errors.Is(err, errBudget) {
		return p.unprepared(task), nil
	}
	within, done := opts.whilePreparing(ctx)
	defer done()
	var found *NoTotalError
	if errors.As(err, &found) && found.Wanted {
		unbound, failed := p.unboundedByMeans(within, task, opts, found)
		if failed != nil {
			failed = orBudget(ctx, within, failed)
			if errors.Is(failed, errBudget) {
				return p.unprepared(task), nil
			}
			return nil, failed
		}
		if unbound != nil {
			return unbound, nil
		}
		if bounded, failed := p.boundedGrowth(ctx, task, opts, budget); bounded != nil || failed != nil {
			r, err = bounded, failed
		} else if budget.over() { // whether it grows for ever within the limits is open
			return p.unprepared(task), nil
		}
	}
	if err == nil && r.Status == Infeasible && task.Cost != nil {
		return p.withoutCost(ctx, task, relevanceOf(p.dim(), task), opts, r)
	}
	if err != nil || r.Status != Undecided {
		return r, err
	}
	return p.undecidedOrGrown(ctx, task, opts, r)
}

// undecidedOrGrown returns an undecided answer, or a better one to a task in which limits alone ask for a total that
// can grow for ever: what steps give may be too little to be counted.
func (p *Planner) undecidedOrGrown(ctx context.Context, task cmdp.Task, opts Options, r *Result) (*Result, error) {
	if p.m == nil || p.m.Horizon() > 0 || p.m.Discount() < 1 || p.m.Epochs() != nil {
		return r, nil
	}
	if opts.Iterations > 0 {
		opts.Iterations -= r.Iterations
		if opts.Iterations <= 0 {
			return r, nil
		}
	}
	within, done := opts.whilePreparing(ctx)
	defer done()
	for i := range p.m.Dim() {
		if p.m.Mean(i) {
			continue
		}
		free, err := p.satisfiedByGrowth(within, task, opts, i)
		err = orBudget(ctx, within, err)
		if errors.Is(err, errBudget) {
			r.stop(r.targetTest.satisfied(r.Returns, r.Violation))
			return r, nil
		}
		if free != nil || err != nil {
			return free, err
		}
	}
	return r, nil
}

// boundedGrowth answers a task in which totals beside means can grow, but not for ever within the limits: loops in
// which they do are rays. It is nil if that way neither an optimum is found nor that there is none.
func (p *Planner) boundedGrowth(ctx context.Context, task cmdp.Task, opts Options, budget *budget) (r *Result,
	err error) {
	err = p.withRays(ctx, task, opts, func(s *solver) error {
		s.budget = budget
		r, err = s.run()
		p.stale = p.stale || budget != nil && budget.interrupted
		return err
	})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err != nil || r != nil && !slices.Contains([]Verdict{Optimal, Infeasible, Stopped}, r.Status) {
		return nil, nil
	}
	return r, nil
}

// withSolverOrRays is withSolver and, where totals beside means can grow, withRays.
func (p *Planner) withSolverOrRays(ctx context.Context, task cmdp.Task, opts Options, work func(*solver) error) error {
	opts.Early = nil
	_, err := orWithRows(ctx, p, opts, func(p *Planner, opts Options) (none struct{}, err error) {
		err = p.withSolver(ctx, task, opts, work)
		var found *NoTotalError
		if errors.As(err, &found) && found.Wanted {
			if again := p.withRays(ctx, task, opts, work); again == nil || ctx.Err() != nil {
				return none, again
			}
		}
		return none, err
	})
	return err
}

// withRays is withSolver for totals beside means, of which loops that gain some are rays.
func (p *Planner) withRays(ctx context.Context, task cmdp.Task, opts Options, work func(*solver) error) error {
	return p.withSolver(ctx, task, opts, func(s *solver) error {
		if s.traits.classes == nil {
			return ErrNoTotal
		}
		s.traits.classes.collects = true
		s.bounds = nil // a direction may have one without rays alone
		err := work(s)
		s.traits.classes.collects = false
		// Another question may have no limit on them.
		s.master.columns = slices.DeleteFunc(s.master.columns, func(c column) bool { return c.ray != nil })
		return err
	})
}

// withoutCost judges a task whose limits are out of reach of the policies for which what c tells is finite: other
// policies may keep them. If some do, the answer is an error that names the return that does not end. If none do,
// the answer is about all policies.
func (p *Planner) withoutCost(ctx context.Context, task cmdp.Task, c relevance, opts Options,
	r *Result) (*Result, error) {
	limits := task
	limits.Cost = nil
	if p.m == nil || c.equal(relevanceOf(p.m.Dim(), limits)) {
		return r, nil
	}
	only, err := p.mayAnswerOnlyRelevance(ctx)
	if err != nil {
		return nil, err
	}
	if !only {
		return r, nil
	}
	kept, err := p.solve(ctx, limits, opts.ofAnotherTask())
	if errors.Is(err, ErrNoTotal) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	kept.Iterations += r.Iterations
	switch kept.Status {
	case Infeasible:
		if a := newExtendedValues(task, c); task.Cost != nil {
			kept.Objective = a.costOf(kept.Returns)
		}
		return kept, nil
	case Optimal:
		within, done := opts.whilePreparing(ctx)
		defer done()
		found, err := p.infiniteReturn(within, limits, c, kept)
		if found != nil {
			return nil, found
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && within.Err() == nil {
			return nil, err
		}
		if err != nil {
			kept.Status = Stopped
		}
	}
	r.Status, r.Certificate, r.Bound, r.Gap = Undecided, nil, math.Inf(-1), math.Inf(1)
	if kept.Status == Stopped {
		r.stop(false)
	}
	return r, nil
}

// mayAnswerOnlyRelevance waits until no other call works and reports whether answers of the pricer are good for nothing
// else than what matters, or it was forgotten, so that this is not known.
func (p *Planner) mayAnswerOnlyRelevance(ctx context.Context) (bool, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return p.pricer == nil || p.pricer.traits().relevanceOnly, nil
}

// infiniteReturn returns an error that names a return that is infinite where that is unwanted by c, and a state and an
// action that give it for ever; nil without one. r is the answer to a task without a cost.
func (p *Planner) infiniteReturn(ctx context.Context, task cmdp.Task, c relevance, r *Result) (found *NoTotalError,
	err error) {
	if p.m.Epochs() != nil {
		err = p.withPricer(ctx, relevanceOf(p.dim(), task), Options{}, func(q pricer) (err error) {
			if of, ok := q.(*epochTotals); ok {
				found, err = of.infiniteReturn(ctx, c, r.mixture())
			}
			return err
		})
		return found, err
	}
	m, state := p.m, func(s int32) int32 { return s }
	if r.Product != nil {
		m, state = r.Product.Model, func(s int32) int32 { return int32(r.Product.State(int(s))) }
	}
	s, err := analyseReachable(ctx, m, p.workers, nil)
	if err != nil {
		return nil, err
	}
	s.relevance = c
	for _, o := range r.mixture() {
		st := &o.Policy.steps[0]
		x, err := s.visits(ctx, st, 0)
		if err != nil {
			return nil, err
		}
		for _, at := range x.Recurrent {
			for _, t := range s.takenChoices(nil, st, s.quotient.Number[at]) {
				for i, y := range s.k.ReturnsOf(t.Choice, s.dim()) {
					if s.visitsTo(x, at) > 0 && (y > 0 && c.up[i] || y < 0 && c.down[i]) && !p.m.Mean(i) {
						return &NoTotalError{State: int(state(at)), Action: t.Choice - int(s.k.First[at]), Return: i,
							Kept: true}, nil
					}
				}
			}
		}
	}
	return nil, nil
}

// withSolver calls work with a solver that starts from what is kept, and keeps what it found.
func (p *Planner) withSolver(ctx context.Context, task cmdp.Task, opts Options, work func(*solver) error) error {
	if err := p.check(task); err != nil {
		return err
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return err
	}
	c := relevanceOf(p.dim(), task)
	watch := new(stopwatch)
	for {
		watch.enter("analysis")
		err := p.withPricer(ctx, c, opts, func(q pricer) error {
			within, done := opts.whilePreparing(ctx)
			defer done()
			measured, err := newProgram(within, q, task, opts)
			if err != nil {
				p.stale = p.stale || within.Err() != nil
				return orBudget(ctx, within, err)
			}
			if q.traits().purificationCost != nil {
				measured.leaveRoom()
			}
			s, err := newSolver(ctx, q, measured)
			if err != nil {
				return err
			}
			s.seed, s.seedSuffices = p.columns, len(p.columns) > 0
			s.bounds = p.bounds
			s.phases = watch
			s.newPricer = func() error { return p.renew(s.ctx, c, opts, s) }
			defer func() { p.keepColumns(s.master.columns) }() // also what was found before an interruption
			return work(s)
		})
		var lost *unreachableStatesError
		if !errors.As(err, &lost) {
			return err
		}
		c = c.leavingOut(lost.states)
	}
}

// renew has a solver go on with another pricer.
func (p *Planner) renew(ctx context.Context, c relevance, opts Options, s *solver) error {
	p.forget()
	if err := p.prepare(ctx, c, progress.Of(ctx)); err != nil {
		return err
	}
	p.pricer.configure(progress.Of(ctx), opts.pricingTolerance(), false)
	before := s.traits.classes
	s.pricer, s.pricing, s.traits = p.pricer, p.pricer, p.pricer.traits()
	if before != nil {
		s.traits.classes.collects = before.collects
	}
	s.budget.interrupted = false
	return nil
}

// withPricer waits until no other call works and calls work with the pricer for what matters.
func (p *Planner) withPricer(ctx context.Context, c relevance, opts Options, work func(pricer) error) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	within, done := opts.whilePreparing(ctx)
	err := p.prepare(within, c, progress.Of(ctx))
	done()
	if err != nil {
		return orBudget(ctx, within, err)
	}
	defer func() {
		if ctx.Err() != nil && p.pricer != nil && !p.pricer.traits().stateless { // it may be left between two states
			p.forget()
		}
	}()
	p.pricer.configure(progress.Of(ctx), opts.pricingTolerance(), false)
	return work(p.pricer)
}

// pricingTolerance returns the relative error of a bound that is no matter, 0 for rounding.
func (o *Options) pricingTolerance() float64 {
	if o.Gap >= coarseGap {
		return 0.01 * o.Gap
	}
	return 0
}

// prepare makes the pricer for what matters, unless there is one. Where totals may go on for ever, a pricer and
// its policies are of no use once something else matters. Any other pricer is told what matters now.
func (p *Planner) prepare(ctx context.Context, c relevance, tell progress.Func) error {
	if p.stale {
		p.forget()
	}
	if p.pricer != nil {
		now := p.pricer.traits()
		if !now.relevanceOnly && now.relevance != nil {
			*now.relevance = c
		}
		if !now.relevanceOnly || now.relevance.equal(c) {
			return nil
		}
	}
	q, err := p.newPricer(ctx, c, tell)
	if err != nil {
		return err
	}
	if q.traits().relevanceOnly {
		p.columns, p.bounds = nil, new(supportBounds)
	}
	p.pricer = q
	return nil
}

// newPricer returns the pricer for the kind of return that the model has.
func newPricer(ctx context.Context, m *cmdp.Model, workers int, c relevance, tell progress.Func) (pricer, error) {
	if err := refuseGame(m); err != nil {
		return nil, err
	}
	if m.Means() {
		return newAverageReward(ctx, m, workers, c, tell)
	}
	if m.Epochs() != nil {
		all, err := newEpochModels(ctx, m, workers)
		if err != nil {
			return nil, err
		}
		return all.withRelevance(ctx, c)
	}
	if m.Horizon() == 0 {
		p, err := analyseReachable(ctx, m, workers, tell)
		if err != nil {
			return nil, err
		}
		return p.pricer(ctx, c)
	}
	if m.Tally() != nil {
		return newTallied(m, workers), nil
	}
	return newFiniteHorizon(m, workers), nil
}

// newPricer is the function newPricer, with what is known of the model.
func (p *Planner) newPricer(ctx context.Context, c relevance, tell progress.Func) (pricer, error) {
	if p.m == nil {
		return p.sum(ctx, tell)
	}
	if p.m.Epochs() != nil {
		all, err := p.epochModels(ctx)
		if err != nil {
			return nil, err
		}
		return all.withRelevance(ctx, c)
	}
	if p.m.Horizon() > 0 || p.m.Means() {
		return newPricer(ctx, p.m, p.workers, c, tell)
	}
	if err := p.analyse(ctx, tell); err != nil {
		return nil, err
	}
	return p.analysed.pricer(ctx, c)
}

// analyse finds what is reached in a model of totals or discounted sums, unless that is known.
func (p *Planner) analyse(ctx context.Context, tell progress.Func) error {
	if p.analysed == nil {
		found, err := analyseReachable(ctx, p.m, p.workers, tell)
		if err != nil {
			return err
		}
		p.analysed = found
		p.analysed.known = &p.known
	}
	p.analysed.progress, p.analysed.graph.Progress = tell, tell
	return nil
}

// forget drops what an interruption may have left between two states. What was found of the model stays.
func (p *Planner) forget() { p.pricer, p.analysed, p.stale = nil, nil, false }

// coarseGap is the gap from which prices need not be found to rounding.
const coarseGap = 1e-8

// keepColumns keeps columns, the newest where there are too many. Fewer than before are those of an
// interruption at the start.
func (p *Planner) keepColumns(columns []column) {
	columns = policiesOf(columns)
	if len(columns) < len(p.columns) || len(columns) == 0 {
		return
	}
	if p.m == nil {
		p.columns = newestOfEach(columns)
		return
	}
	each := p.m.States()
	if policy := columns[0].policy; policy != nil && policy.known != nil {
		each = policy.known.Bytes()
	}
	most := max(1, min(keptColumns, keptBytes/max(1, each)))
	p.columns = slices.Clone(columns[max(0, len(columns)-most):])
}

// newestOfEach returns the newest columns of each part of a sum, as many of each as memory allows.
func newestOfEach(columns []column) []column {
	of := make(map[int]int)
	blocks := 1
	for _, c := range columns {
		blocks = max(blocks, c.block+1)
	}
	most := max(1, min(keptColumns, keptBytes/(8*max(1, len(columns[0].returns))*blocks)))
	var kept []column
	for _, c := range slices.Backward(columns) {
		if of[c.block] < most {
			kept = append(kept, c)
			of[c.block]++
		}
	}
	slices.Reverse(kept)
	return kept
}
