package exact

import (
	"context"
	"slices"

	"cmdpsolve/cmdp"
)

// A Planner solves one task after the other of a model, see [Solve]. It keeps the policies
// that it finds: the returns of a policy do not change with limits and goal, so a task that
// differs a little from one before takes a few value iterations. Which policies it has
// seen may change the last digits of an answer, never what the answer certifies.
//
// It may be used concurrently; calls wait for each other.
type Planner struct {
	m       *cmdp.Model
	workers int
	turn    chan struct{}
	pricer  pricer // nil before the first task
	columns []column
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
	return &Planner{m: m, workers: opts.Workers, turn: make(chan struct{}, 1)}, nil
}

// Solve is the function [Solve], which it returns the errors of.
func (p *Planner) Solve(ctx context.Context, task cmdp.Task, opts Options) (*Result, error) {
	var r *Result
	err := p.use(ctx, task, opts, func(s *solver) (err error) {
		r, err = s.run()
		return err
	})
	return r, err
}

// use calls work with a solver that starts from what is kept, and keeps what it found.
func (p *Planner) use(ctx context.Context, task cmdp.Task, opts Options, work func(*solver) error) error {
	if err := checkTask(p.m, task); err != nil {
		return err
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return err
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// What was interrupted may have left the pricer between two states.
	defer func() {
		if ctx.Err() != nil {
			p.pricer, p.columns = nil, nil
		}
	}()
	pricer, seed, err := p.pricerOf(ctx, concernOf(p.m.Dim(), task))
	if err != nil {
		return err
	}
	if q, ok := pricer.(*stationary); ok {
		q.enough = 0
		if opts.Gap >= coarse {
			q.enough = 0.01 * opts.Gap
		}
	}
	s, err := newSolver(ctx, pricer, task, opts)
	if err != nil {
		return err
	}
	s.seed, s.warm = seed, len(seed) > 0
	if err := work(s); err != nil {
		return err
	}
	p.keep(pricer, s.master.columns)
	return nil
}

// pricerOf returns the pricer for a task with the policies known to it. A total return
// that may go on for ever has one for each concern.
func (p *Planner) pricerOf(ctx context.Context, c concern) (pricer, []column, error) {
	if p.pricer == nil {
		q, err := newPricer(ctx, p.m, p.workers, c)
		if err == nil && !lasting(q) {
			p.pricer = q
		}
		return q, nil, err
	}
	return p.pricer, p.columns, nil
}

// lasting reports whether a pricer depends on what matters to the task.
func lasting(q pricer) bool {
	switch s := q.(type) {
	case *stationary:
		return s.restless
	case *average:
		return s.restless
	}
	return false
}

// keep keeps columns, the newest where there are too many.
func (p *Planner) keep(of pricer, columns []column) {
	if of != p.pricer {
		return
	}
	each := p.m.States()
	if columns[0].policy != nil && columns[0].policy.wide != nil {
		each *= 4
	}
	most := max(1, min(keptColumns, keptBytes/max(1, each)))
	p.columns = slices.Clone(columns[max(0, len(columns)-most):])
}
