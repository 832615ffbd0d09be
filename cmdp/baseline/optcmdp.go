package baseline

import "cmdpsolve/cmdp"

var _ = register(Algorithm{
	Name: "optcmdp", New: newOptCMDP,
	Source: "Efroni, Mannor, Pirotta (2020), OptCMDP", Planner: "linear program (extended value iteration as pricing)",
	Guarantee: "strong regret and strong violation Õ(√(S N A H⁴ K))", Efficient: false,
	UsesSupport: true,
	Published:   "radius √(p̄(1−p̄)/n) + 1/n, costs 1/n, planning anew when a count doubles (code of AlwaysSafe)",
	Certainty:   "from the paper, checked against code and notes that transcribe it",
})

// newOptCMDP returns OptCMDP of Efroni, Mannor and Pirotta, "Exploration-
// exploitation in constrained MDPs" (2020): each episode the best policy in the
// best kernel of the confidence box, a linear program with H·S²·A variables,
//
//	min Σ z c̃   s.t.   Σ z d̃_i ≤ α_i,   flow,   (p̄−β)·Σ_y z(s,a,y) ≤ z(s,a,s') ≤ (p̄+β)·Σ_y z(s,a,y),
//
// here solved by column generation with extended value iteration. Radii:
// β = 2√(p̄(1−p̄)L/n) + (14/3)L/n with L = ln(6SAHK/p) (from the paper); unknown
// returns are lowered by √(2 ln(6SAH(I+1)K/p)/n) and clipped at 0 (the logarithm from
// memory of the paper). Feasibility is all that it assumes. Where the program has
// no solution the policy of the episode before is kept. Guarantee: the sums of the
// positive parts of suboptimality and violation are Õ(√(S N A H⁴ K)), N the largest
// number of successors. It can be saved.
func newOptCMDP(c Config) (cmdp.Learner, error) {
	core, err := newCore("optcmdp", &c)
	if err != nil {
		return nil, err
	}
	l := &lpLearner{core: core, lazy: c.Lazy || core.scale.Mode == cmdp.Published}
	radius, means := core.efroniRadii(plainRadii(core.scale.Multiplier()))
	l.ready(newSweep(l.estimate, kernelBox, radius), core.lowered(means))
	return l, nil
}

// efroniRadii returns the radii β of a transition and of a mean. Those of the published scale are given.
func (c *core) efroniRadii(published transitionRadius, publishedMeans meanRadius) (transitionRadius, meanRadius) {
	if c.scale.Mode == cmdp.Published {
		return published, publishedMeans
	}
	return bernsteinRadius(c.scale.Multiplier(), c.logTerm(6)),
		hoeffdingRadius(c.scale.Multiplier(), c.logTerm(6*float64(c.signals)))
}

// lowered returns the rule that lowers unknown means by a radius, but not below 0.
func (c *core) lowered(radius meanRadius) setSignals {
	return func(dst []float64, _ int, r *row, mean []float64) {
		b := 0.0
		if c.returns == nil {
			b = radius(r.visits)
		}
		for j, x := range mean {
			dst[j] = max(0, x-b)
		}
	}
}
