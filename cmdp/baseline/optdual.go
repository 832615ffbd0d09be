package baseline

import (
	"math"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "optdual", New: newOptDual,
	Source: "Efroni, Mannor, Pirotta (2020), OptDual-CMDP", Planner: "1 extended value iteration",
	Guarantee: "weak regret Õ(√(S N A H⁴ K) + ρ√(H² I K)) and weak violation", Efficient: true,
	Needs:       []string{"Slater constant"},
	UsesSupport: true,
	Certainty:   "from the paper, checked against notes that transcribe its algorithm",
})

// newOptDual returns OptDual-CMDP of Efroni, Mannor and Pirotta (2020): each episode
// the deterministic policy and the kernel of the confidence box that minimise the
// optimistic costs weighted with the multipliers, by extended value iteration with
// the radii of optcmdp; then λ ← [λ + (v − α)/t_λ]₊ with t_λ = √(H²IK/ρ²), λ₁ = 0 and
// no upper clip, v being the optimistic constraint values of that pair (all from the
// paper). ρ = H/γ with γ the Slater constant. Guarantee: weak (signed) regret and
// violation. The policy of a single episode is in general neither feasible nor
// optimal; the mixture is. It can be saved.
func newOptDual(c Config) (cmdp.Learner, error) {
	core, room, err := newSlaterCore("optdual", &c)
	if err != nil {
		return nil, err
	}
	radius, means := core.efroniRadii(nil, nil)
	l := newLagrangian(core, newSweep(core.estimate, kernelBox, radius), core.lowered(means))
	if n := float64(len(l.limit)); n > 0 {
		h := float64(l.horizon)
		l.rate = h / room / (h * math.Sqrt(n*l.k))
	}
	l.sweep.rebuild()
	return l, nil
}
