package exact

import (
	"context"
	"errors"
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
)

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

// newPricer returns the pricer for the kind of return that the model has.
func newPricer(m *cmdp.Model, workers int, c relevance, tell markov.Progress) (pricer, error) {
	if err := refuseGame(m); err != nil {
		return nil, err
	}
	if m.Means() {
		return newAverageReward(m, workers, c, tell)
	}
	if m.Horizon() == 0 {
		return analyseReachable(m, workers, tell).pricer(c)
	}
	if m.Tally() != nil {
		return newTallied(m, workers), nil
	}
	return newFiniteHorizon(m, workers), nil
}

// A solver answers one task: it runs column generation, has a policy made of the mixture, and says what is proved.
type solver struct {
	recovery
	newPricer func() error // makes another pricer after an interruption, nil if nothing is interrupted
}

func newSolver(ctx context.Context, p pricer, task cmdp.Task, opts Options) (*solver, error) {
	g, err := newColumnGeneration(ctx, p, task, opts)
	if err != nil {
		return nil, err
	}
	s := &solver{recovery: recovery{columnGeneration: g, pricer: p}}
	g.early = s.reportEarly
	return s, nil
}

// run goes through the phases, as long as there is time.
func (s *solver) run() (*Result, error) {
	s.phases.enter("solution")
	var r *Result
	verdict, err := s.decide()
	if err == nil {
		r, err = s.answer(verdict)
	}
	if errors.Is(err, errBudget) {
		r, err = s.stoppedResult()
	}
	if err == nil {
		r.targetTest = s.targetTest()
	}
	s.phases.enter("")
	if err == nil && s.phases != nil {
		r.Phases = s.phases.phases
	}
	return r, err
}

// decide finds the verdict, and the mixture of policies that it is about.
func (s *solver) decide() (Verdict, error) {
	if err := s.initialize(); err != nil {
		return 0, err
	}
	verdict, err := s.solve()
	if err == nil && verdict == Optimal {
		err = s.joinClasses()
		if errors.Is(err, errBudget) {
			err = nil
		}
	}
	return verdict, err
}

// answer says all that goes with a verdict.
func (s *solver) answer(verdict Verdict) (*Result, error) {
	switch verdict {
	case Infeasible:
		return s.infeasibleResult()
	case Unbounded:
		return s.unboundedResult()
	}
	return s.finalResult()
}
