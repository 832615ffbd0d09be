package baseline

import (
	"fmt"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "posterior-safe", New: newPosteriorSafe,
	Source: "this project: posterior sampling that is held to the limits in most drawn models; the idea of " +
		"pessimism is that of Kalagarla, Jain, Nuzzo (2023)",
	Planner: "a plan whose limits hold in 95% of 60 drawn models, at most when k has grown by 5% or counts have doubled",
	Guarantee: "Bayesian, for the prior: each plan keeps its limits in expectation with probability 0.95, once " +
		"there is one that does; none for a fixed kernel",
	// Without half-spaces there is nothing to tighten.
	NonlinearCost: true, Efficient: true, UsesSupport: true, Slow: true,
	Published: "no bonus: the scale changes nothing", Certainty: posteriorCertainty,
})

const (
	// safeLevel is the share of the models in which the limits of a plan of posterior-safe have to hold.
	safeLevel = 0.95
	// safeModels are drawn to choose a plan, and again to judge it.
	safeModels = 60
)

// A posteriorSafe plans in blocks as posterior does, but never for what the past owes, and for limits that hold
// in a share of 0.95 of the models that the counts leave possible, see [PlanCredibly]: the best policy of the
// mean model among those. While there is none it plays the safe policy that it was told, or else the policy
// whose limits hold in the largest share of the models that was found. What it was told in a prior counts, so
// that it starts safe from a log that says enough.
type posteriorSafe struct {
	*posterior
	cfg      Config
	blocks   uint64
	retreats bool // the block plays the safe policy
}

func newPosteriorSafe(c Config) (cmdp.Learner, error) {
	l, err := newPosterior("posterior-safe", false, c)
	if err != nil {
		return nil, err
	}
	lower, upper := c.Shape.Totals()
	if _, complete := c.Task.LinearConstraints(lower, upper); !complete {
		return nil, unsupported("posterior-safe", "the target is not a polyhedron")
	}
	s := &posteriorSafe{posterior: l.(*posterior), cfg: c}
	s.replan = s.beginSafe
	s.Keep(&s.blocks, &s.retreats)
	return s, nil
}

// Policy returns the policy of the block, and plans it if the block is new.
func (l *posteriorSafe) Policy() cmdp.Policy {
	policy := l.posterior.Policy()
	if l.retreats {
		return l.cfg.Knowledge.Safe
	}
	return policy
}

// beginSafe plans a block. If planning fails, which numerical trouble alone can cause, the policy stays as it is.
func (l *posteriorSafe) beginSafe() {
	l.startBlock()
	c := l.cfg
	c.Prior = l.counts
	c.Seed = cmdp.Stream(l.cfg.Seed, fmt.Sprintf("posterior-safe, block %d", l.blocks)).Uint64()
	l.blocks++
	l.state.Work.Programs++
	plan, err := PlanCredibly(l.ctx, c, safeLevel, safeModels)
	l.ended(err)
	if err != nil || !plan.Promised {
		l.state.Work.Infeasible++
		l.retreats = l.cfg.Knowledge.Safe != nil
	}
	if err != nil {
		return
	}
	l.state.Work.Planner += plan.Iterations
	if !plan.Promised && l.retreats {
		return
	}
	l.retreats = false
	l.policy.take(plan.Policy)
}
