package main

import (
	"context"
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"

	"gonum.org/v1/gonum/floats"
)

// playPreferences plays a run in which every episode has a preference of its own, and
// records the regret to these. A player without an algorithm has the best policy
// for the mean preference.
func playPreferences(ctx context.Context, res *result, pl *player, r *record) error {
	p, err := tastes(pl.rewards, r.seed)
	if err != nil {
		return err
	}
	m := p.Model
	task, err := p.Task()
	if err != nil {
		return err
	}
	made, err := baseline.New("mo-ucbvi", baseline.Config{
		Shape: m.Shape(), Returns: m.KnownReturns(), Task: task, Confidence: res.study.confidence(),
		Bonus: pl.bonus, Pooled: res.study.pooled, Preferences: "random", Seed: r.seed,
	})
	if err != nil {
		return err
	}
	learner, ok := made.(*baseline.MOMA)
	if !ok {
		return fmt.Errorf("mo-ucbvi is a %T", made)
	}
	w := &watch{MOMA: learner, model: m, evaluator: cmdp.NewEvaluator(m), value: make([]float64, m.Dim())}
	if pl.algorithm == "" {
		mean := make([]float64, m.Dim())
		floats.AddConst(-1/float64(m.Dim()), mean)
		w.fixed, _ = cmdp.BestPolicy(m, mean)
	}
	runner := cmdp.NewRunner(m, w, r.seed, nil)
	for _, k := range res.episodes {
		if err := runner.Run(ctx, k); err != nil {
			return err
		}
		r.add(w.regret, 0, w.gap, 0)
	}
	return nil
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
