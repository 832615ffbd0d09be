package harness

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"gonum.org/v1/gonum/floats"
)

// Contest prepares the runs of one learner, with settings that differ from the defaults as set
// says. It is an error if the learner cannot play the problem.
func Contest(ctx context.Context, p *problem.Problem, algorithm string, set func(*contest.Settings), opts contest.Options) (*contest.Contest, error) {
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

// Ranges returns by how much the goal of a linear task varies over the box of possible
// returns, and how far from the limits a return in the box may be. Percentages of regret
// and violation are of these.
func Ranges(sh *cmdp.Shape, task cmdp.Task) (regret, violation float64, err error) {
	lower, upper := sh.Totals()
	linear, err := baseline.LinearForm(sh, task)
	if err != nil {
		return 0, 0, fmt.Errorf("harness: ranges: %w", err)
	}
	for i, x := range linear.Goal {
		regret += math.Abs(x) * (upper[i] - lower[i])
	}
	for _, c := range linear.Rows {
		excess := max(0, c.Excess(lower, upper)) / floats.Norm(c.Normal, 2)
		violation += excess * excess
	}
	return regret, math.Sqrt(violation), nil
}
