package baseline

import "cmdpsolve/cmdp"

var _ = register(Algorithm{
	Name: "optcmdp-bonus", New: newOptCMDPBonus,
	Source: "Efroni, Mannor, Pirotta (2020), OptCMDP-bonus", Planner: "linear program (value iteration as pricing)",
	Guarantee: "strong regret and strong violation Õ(√(S N A H⁴ K)), larger lower-order term", Efficient: true,
	UsesSupport: true,
	Published:   "0.01·H·Σ(√(p̄(1−p̄)/n) + 1/n) (study notes that ran it)",
	Certainty:   "from the paper, checked against notes that transcribe it",
})

// newOptCMDPBonus returns OptCMDP-bonus of Efroni, Mannor and Pirotta (2020): each
// episode the linear program with H·S·A variables over the occupancies of the
// empirical kernel, with the costs lowered by b = β_c + H·Σ_{s'} β(s'), the radii
// being those of optcmdp (from the paper). The costs are not truncated, because
// truncated values are not linear in the occupancies; practice mode caps b at the
// number of steps to go, which keeps optimism (derived here). A choice never visited
// leads everywhere with the same probability. Guarantee: as optcmdp, with the
// worse lower-order term S²H⁴A(NH+S). It can be saved.
func newOptCMDPBonus(c Config) (cmdp.Learner, error) {
	core, err := newCore("optcmdp-bonus", &c)
	if err != nil {
		return nil, err
	}
	l := &lpLearner{core: core, lazy: c.Lazy}
	bonus := core.efroniBonus(core.efroniRadii(plainRadii(0.01 * core.scale.Multiplier())))
	capped := l.scale.Mode == cmdp.Practice || l.scale.Mode == cmdp.Off
	l.ready(newSweep(l.estimate, kernelUniform, nil), func(dst []float64, h int, r *row, mean []float64) {
		b := bonus(r)
		if capped {
			b = min(b, float64(l.horizon-h))
		}
		for j, x := range mean {
			dst[j] = x - b
		}
	})
	return l, nil
}

// efroniBonus returns b = β_c + H·Σ_{s'} β(s') of the empirical kernel.
func (c *core) efroniBonus(radius transitionRadius, means meanRadius) func(r *row) float64 {
	return func(r *row) float64 {
		b := float64(c.horizon) * totalRadius(r, c.states, radius)
		if c.returns == nil {
			b += means(r.visits)
		}
		return b
	}
}
