package main

import (
	"context"
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"

	"gonum.org/v1/gonum/floats"
)

// enterPreferences prepares a run in which every episode has a preference of its own, and
// records the regret to these. A player without an algorithm has the best policy
// for the mean preference.
func enterPreferences(ctx context.Context, res *result, pl *player, r *record) (*contest.Contest, func(*contest.Run), error) {
	p, err := tastes(pl.rewards, r.Seed)
	if err != nil {
		return nil, nil, err
	}
	m := p.Model
	c, err := res.contest(ctx, p, "mo-ucbvi", r, contest.Options{Unmeasured: true, Unsolved: true,
		Configure: func(c *baseline.Config) {
			c.Confidence, c.Bonus, c.Preferences = res.confidence(), pl.bonus, "random"
		},
		Learner: func(cfg baseline.Config) (cmdp.Learner, error) {
			made, err := baseline.New("mo-ucbvi", cfg)
			if err != nil {
				return nil, err
			}
			learner, ok := made.(*baseline.MOMA)
			if !ok {
				return nil, fmt.Errorf("mo-ucbvi is a %T", made)
			}
			w := &watch{MOMA: learner, model: m, evaluator: cmdp.NewEvaluator(m), value: make([]float64, m.Dim())}
			if pl.algorithm == "" {
				mean := make([]float64, m.Dim())
				floats.AddConst(-1/float64(m.Dim()), mean)
				w.fixed, _ = cmdp.BestPolicy(m, mean)
			}
			return w, nil
		}})
	return c, func(run *contest.Run) {
		w := run.Learner.(*watch)
		r.add(w.regret, 0, w.gap, 0)
	}, err
}

// A watch is a learner of preferences with its regret.
type watch struct {
	*baseline.MOMA
	model       *cmdp.Model
	evaluator   *cmdp.Evaluator
	value       []float64
	fixed       cmdp.Policy // played in place of the learner's, if not nil
	gap, regret float64
}

// Policy adds what the policy of the next episode loses.
func (w *watch) Policy() cmdp.Policy {
	policy := w.fixed
	if policy == nil {
		policy = w.MOMA.Policy()
	}
	dir := w.Direction()
	w.evaluator.Returns(w.value, policy)
	_, optimum := cmdp.BestPolicy(w.model, dir)
	w.gap = floats.Dot(dir, w.value) - optimum
	w.regret += w.gap
	return policy
}
