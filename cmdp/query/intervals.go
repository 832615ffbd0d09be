package query

import (
	"context"

	"cmdpsolve/cmdp"
)

// Uncertain reports whether some probability of the problem is known up to an interval.
func (q *Query) Uncertain() bool {
	return q.Problem.Intervals != nil && q.Problem.Intervals.Rows() > 0
}

// Intervals returns the intervals of the process, and a number for each choice of each kernel, the same for those
// whose probabilities are the same; both are nil where there is nothing to say, see [problem.Process.Lift].
func (q *Query) Intervals() (iv *cmdp.Intervals, same func(h, c int) int, err error) {
	if !q.Uncertain() {
		return nil, nil, nil
	}
	return q.Lift(q.Problem.Intervals)
}

// WithIntervals returns the query of the problem whose probabilities are known up to other intervals of the same
// model, nil for exact ones.
func (q *Query) WithIntervals(ctx context.Context, iv *cmdp.Intervals) (*Query, error) {
	return q.family.compile(ctx, q.Problem.WithIntervals(iv), q.options.Thresholds)
}
