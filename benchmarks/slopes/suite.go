package main

import (
	"context"
	"fmt"
	"slices"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// A suite is an instance with the settings under which it is measured.
type suite struct {
	harness.Name
	spec     string // of the instance
	episodes int
	bonus    string
	pooled   bool
}

// The bonus scales come from trials: with them the burn-in is over before the last
// two decades begin. With larger ones it is not, with much smaller ones some runs
// give up an action after a few unlucky visits and keep a constant regret. The
// scale practice is the default of the command.
var suites = harness.Choices[*suite]{
	{Name: "inventory", spec: "inventory", episodes: 1000000, bonus: "0.1"},
	{Name: "inventory-practice", spec: "inventory", episodes: 1000000, bonus: "practice"},
	{Name: "frozenlake8", spec: "frozenlake8:H=100", episodes: 20000, bonus: "0.002", pooled: true},
	{Name: "garnet", spec: "garnet:S=50,A=4,H=10,d=3,seed=1", episodes: 200000, bonus: "0.02"},
}

// An update is a dual update with its rule for ρ.
type update struct {
	harness.Name
	dual  string // as in contest.Settings
	rho   string // the rule, as there; "" where there is no rho
	title string
}

var updates = harness.Choices[*update]{
	{"double-doubling", "double", "auto", "double, ρ by doubling"},
	{"double-model", "double", "model", "double, ρ from the model"},
	{"free", "free", "", "projection-free"},
	{"projection", "projection", "", "projection-based"},
}

// A question is an instance, its exact answer, and the two tasks made of it.
type question struct {
	problem *problem.Problem
	best    *exact.Result
	// own is the task as it stands: minimise the cost within the target.
	own cmdp.Task
	// asked asks for the same by a target alone, bounded: the constraints, and the goal
	// bounded by its exact optimum.
	asked   *problem.Problem
	bounded cmdp.Task
}

// objective returns the optimum in the sense of the goal.
func (q *question) objective() float64 {
	value := q.own.Cost.Value(q.best.Returns)
	if q.problem.Goal.Maximize != "" {
		return -value
	}
	return value
}

func (s *suite) pose(ctx context.Context) (*question, error) {
	p, err := instance.New(s.spec)
	if err != nil {
		return nil, err
	}
	q := &question{problem: p}
	if q.own, err = query.TaskOf(ctx, p); err != nil {
		return nil, err
	}
	if q.best, err = exact.Solve(ctx, p.Model, q.own, exact.Options{Workers: 1}); err != nil {
		return nil, err
	}
	if q.best.Status != exact.Optimal {
		return nil, fmt.Errorf("slopes: %s: no optimum to compare with: %v", s.spec, q.best.Status)
	}
	optimum := q.objective()
	goal := problem.Constraint{Return: p.Goal.Maximize + p.Goal.Minimize, AtLeast: &optimum}
	if p.Goal.Minimize != "" {
		goal.AtLeast, goal.AtMost = nil, &optimum
	}
	asked := *p
	asked.Goal = problem.Goal{}
	asked.Constraints = append(slices.Clone(p.Constraints), goal)
	q.asked = &asked
	q.bounded, err = query.TaskOf(ctx, &asked)
	return q, err
}
