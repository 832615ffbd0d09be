package harness

import (
	"context"
	"errors"

	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// Contest prepares the runs of one learner, with settings that differ from the defaults as set
// says. It is an error if the learner cannot play the problem.
func Contest(ctx context.Context, p *problem.Problem, algorithm string, set func(*contest.Settings),
	opts contest.Options) (*contest.Contest, error) {
	settings := contest.Defaults()
	settings.Algorithms = []string{algorithm}
	set(&settings)
	q, err := query.New(ctx, p, query.Options{})
	if err != nil {
		return nil, err
	}
	c, err := contest.New(ctx, q, settings, opts)
	if err != nil {
		return nil, err
	}
	if refusals := c.Refusals(); len(refusals) > 0 {
		return nil, errors.New(refusals[0])
	}
	return c, nil
}
