package query

import (
	"context"
	"errors"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
)

// SolveFleetSafely plans for a query about a fleet so that each limit holds with a probability in an episode,
// see [fleet.Planner.SolveSafely]. Margins and probabilities are in the order of Rows. It is an error if the
// problem has a target set.
func (q *Query) SolveFleetSafely(ctx context.Context, probability float64, seed uint64,
	opts exact.Options) (*fleet.Safe, error) {
	f := q.Fleet()
	if q.Problem.Target != nil {
		return nil, errors.New("query: a target set has no margins: want constraints alone")
	}
	var limits []fleet.Limit
	for _, l := range q.Rows() {
		ret, step := f.At(l.expected.coordinate)
		limits = append(limits, fleet.Limit{Return: ret, Step: step, AtLeast: l.AtLeast, Bound: l.Bound})
	}
	task := func(limits []fleet.Limit) (cmdp.Task, error) { return f.planner.Task(ctx, q.Task.Cost, limits) }
	safe, err := f.planner.SolveSafely(ctx, limits, task, probability, seed, opts)
	if err == nil && q.Rounded() {
		safe.Plan.Result, safe.Without.Result = q.Unproved(safe.Plan.Result), q.Unproved(safe.Without.Result)
	}
	return safe, err
}

// ReadShares returns what a file says that the agents of type number k play. The weights of its policies are
// shares of the agents.
func (f *Fleet) ReadShares(ctx context.Context, k int, path string) ([]fleet.Drawn, error) {
	_, policies, err := f.Members[k].ReadPolicy(ctx, path)
	if err != nil {
		return nil, err
	}
	shares := make([]fleet.Drawn, len(policies))
	for j, p := range policies {
		shares[j] = fleet.Drawn{Share: p.Weight, Policy: p.Policy}
	}
	return shares, nil
}
