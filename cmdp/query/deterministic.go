package query

import (
	"context"

	"cmdpsolve/cmdp/exact"
)

// SolveDeterministic finds the best policy that never draws for a query with one player, see
// [exact.SolveDeterministic]. With limits on the mean of the worst episodes it searches at every choice of their
// thresholds that may have a better one, each with as many nodes as the options allow: the best thresholds for policies
// that draw need not be the best for these. It returns the query with the thresholds of the answer. When ctx ends after
// the first choice, what was found so far is returned.
func (q *Query) SolveDeterministic(ctx context.Context, opts exact.DeterministicOptions) (*Query,
	*exact.DeterministicResult, error) {
	if len(q.Of(WorstEpisodes)) == 0 {
		found, err := exact.SolveDeterministic(ctx, q.Model, q.Task, opts)
		return q, found, err
	}
	s := &deterministicThresholds{Query: q, ctx: ctx, opts: opts, clock: newClock(opts.Budget),
		answers: make(map[*Query]*exact.DeterministicResult)}
	best, r, err := q.BestOf(s.plan)
	if err != nil {
		return nil, nil, err
	}
	if s.answers[best].Policy == nil {
		best = s.relaxed // the nearest answer is one for policies that draw
	}
	found := *s.answers[best]
	found.Status, found.Bound, found.Gap = r.Status, r.Bound, r.Gap
	found.Nodes, found.Iterations, found.Relaxed = s.nodes, s.iterations, s.answers[s.relaxed].Relaxed
	return best, &found, nil
}

// deterministicThresholds search for policies that never draw at the thresholds of the worst episodes.
type deterministicThresholds struct {
	*Query
	ctx               context.Context
	opts              exact.DeterministicOptions
	clock             *clock
	answers           map[*Query]*exact.DeterministicResult
	relaxed           *Query // with the best answer for policies that may draw
	nodes, iterations int
}

// plan makes the query with thresholds and searches in the time that is left.
func (s *deterministicThresholds) plan(thresholds []float64) (*Query, *exact.Result, error) {
	if s.ctx.Err() != nil && s.relaxed != nil {
		return nil, nil, errLate // what was found stands
	}
	of, err := s.At(s.ctx, thresholds)
	if err != nil {
		return nil, nil, err
	}
	opts := s.opts
	opts.Budget = s.clock.left()
	found, err := exact.SolveDeterministic(s.ctx, of.Model, of.Task, opts)
	if err != nil {
		return nil, nil, err
	}
	s.answers[of] = found
	s.nodes, s.iterations = s.nodes+found.Nodes, s.iterations+found.Iterations
	if s.relaxed == nil || better(found.Relaxed, s.answers[s.relaxed].Relaxed) {
		s.relaxed = of
	}
	r := &exact.Result{Status: found.Status, Objective: found.Objective, Bound: found.Bound, Gap: found.Gap,
		Violation: found.Violation, Policy: found.Policy, Certificate: found.Relaxed.Certificate,
		Proof: found.Relaxed.Proof} // these are about policies that may draw, and so about all
	if found.Policy == nil {
		r.Violation = found.Relaxed.Violation
	}
	return of, r, nil
}
