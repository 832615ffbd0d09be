package query

import (
	"context"
	"math"

	"cmdpsolve/cmdp/exact"
)

// SolveDeterministic finds the best policy that never draws for a query with one player, see
// [exact.SolveDeterministic]. With limits on the mean of the worst episodes it searches at every choice of their
// thresholds that may have a better one, each with as many nodes as the options allow: the best thresholds for policies
// that draw need not be the best for these. It returns the query with the thresholds of the answer, and with the error
// that a total does not end the one that it is about. When ctx or the budget ends after the first choice, what was
// found so far is returned.
func (q *Query) SolveDeterministic(ctx context.Context, opts exact.DeterministicOptions) (*Query,
	*exact.DeterministicResult, error) {
	if len(q.Of(WorstEpisodes)) == 0 {
		found, err := exact.SolveDeterministic(ctx, q.Model, q.Task, opts)
		return q, found, err
	}
	s := &deterministicThresholds{Query: q, ctx: ctx, opts: opts, clock: newClock(opts.Budget)}
	best, r, err := q.BestOf(s.plan)
	if err != nil {
		return s.refused, nil, err
	}
	found := &exact.DeterministicResult{Status: r.Status, Objective: r.Objective, Bound: r.Bound, Gap: r.Gap,
		Returns: r.Returns, Violation: r.Violation, Tolerance: r.Tolerance, Policy: r.Policy,
		Nodes: s.nodes, Iterations: s.iterations, Relaxed: s.relaxed}
	if r.Policy == nil {
		best = s.at // the nearest answer is one for policies that draw
	}
	switch wide := max(opts.Gap, usualGap) * max(1, math.Abs(r.Objective)); {
	case s.stopped && found.Status == exact.Undecided:
		found.Status = exact.Stopped
	case !s.stopped && found.Status == exact.Stopped, found.Status == exact.Optimal && !(found.Gap <= 1.01*wide):
		found.Status = exact.Undecided
	}
	return best, found, nil
}

// usualGap is that of a search for policies that never draw, see [exact.DeterministicResult].
const usualGap = 1e-9

// deterministicThresholds search for policies that never draw at the thresholds of the worst episodes.
type deterministicThresholds struct {
	*Query
	ctx               context.Context
	opts              exact.DeterministicOptions
	clock             *clock
	relaxed           *exact.Result // the best answer for policies that may draw
	at                *Query        // with its thresholds
	refused           *Query        // where the search says that a total has no end
	stopped           bool          // the time was over at some thresholds
	nodes, iterations int
}

// plan makes the query with thresholds and searches in the time that is left.
func (s *deterministicThresholds) plan(thresholds []float64) (*Query, *exact.Result, error) {
	if s.relaxed != nil && (s.ctx.Err() != nil || s.clock.over()) {
		s.stopped = s.stopped || s.clock.over()
		return nil, nil, errLate // what was found stands
	}
	of, err := s.At(s.ctx, thresholds)
	if err != nil {
		return nil, nil, err
	}
	opts := s.opts
	opts.Budget = s.clock.left()
	found, err := exact.SolveDeterministic(s.ctx, of.Model, of.Task, opts)
	if endless(err) && (s.refused == nil || keptWithoutEnd(err)) {
		s.refused = of
	}
	if err != nil {
		return nil, nil, err
	}
	s.nodes, s.iterations = s.nodes+found.Nodes, s.iterations+found.Iterations
	s.stopped = s.stopped || found.Status == exact.Stopped
	if s.relaxed == nil || better(found.Relaxed, s.relaxed) {
		s.relaxed, s.at = found.Relaxed, of
	}
	r := &exact.Result{Status: found.Status, Objective: found.Objective, Bound: found.Bound, Gap: found.Gap,
		Returns: found.Returns, Violation: found.Violation, Tolerance: found.Tolerance, Policy: found.Policy,
		Certificate: found.Relaxed.Certificate, Proof: found.Relaxed.Proof} // of policies that may draw, and so of all
	switch {
	case found.Policy == nil:
		r.Violation = found.Relaxed.Violation
	case found.Status == exact.Undecided: // its policy keeps the limits
		r.Status = exact.Stopped
	}
	return of, r, nil
}
