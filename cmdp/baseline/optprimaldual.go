package baseline

import (
	"math"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "optprimaldual", New: newOptPrimalDual,
	Source: "Efroni, Mannor, Pirotta (2020), OptPrimalDual-CMDP", Planner: "1 evaluation of I+1 signals",
	Guarantee: "weak regret Õ(√(S N A H⁴ K) + √(H⁴(1+Iρ)²K)) and weak violation", Efficient: true,
	Needs:       []string{"Slater constant"},
	UsesSupport: true,
	Published:   "0.001·H·Σ(√(p̄(1−p̄)L/n) + 14L/(3n)) (code of UOpt-RPGPD, which runs it)",
	Certainty:   "from the paper, checked against notes and code; the factor of the violation from memory",
})

// newOptPrimalDual returns OptPrimalDual-CMDP of Efroni, Mannor and Pirotta (2020),
// a policy optimisation without planning: the policy played is evaluated on the
// empirical kernel with costs lowered by the bonus of optcmdp-bonus, each signal
// truncated at 0 by itself, and
//
//	π ∝ π·exp(−t_K (Q_0 + Σ λ_i Q_i)),   λ_i ← clip(λ_i + (V_i − α_i)/t_λ, 0, ρ),
//
// with t_K = √(2 ln A/(H²(1+Iρ)²K)), t_λ = √(H²IK/ρ²), ρ = H/γ for the Slater constant γ
// (from the paper; that the dual step uses the truncated value is derived here).
// The published scale is that of the experiments of UOpt-RPGPD (repository
// matsuolab/Uniform-PAC-Primal-Dual-CMDP), which run this algorithm, but for the upper clip,
// which they leave out. Guarantee: weak (signed) regret and violation. It can be saved.
func newOptPrimalDual(c Config) (cmdp.Learner, error) {
	core, room, err := newSlaterCore("optprimaldual", &c)
	if err != nil {
		return nil, err
	}
	f, log := 0.001*core.scale.Multiplier(), core.logTerm(6)
	published := func(prob, visits float64) float64 { // with half the leading term
		n := max(1, visits)
		return f * (math.Sqrt(prob*(1-prob)*log/n) + 14./3*log/n)
	}
	bonus := core.efroniBonus(core.efroniRadii(published, hoeffdingRadius(f, core.logTerm(6*float64(core.signals)))))
	l := newPolicyOptimizer(core, false, func(dst []float64, _ int, r *row, mean []float64) {
		b := bonus(r)
		for j, x := range mean {
			dst[j] = x - b
		}
	})
	h, n := float64(l.horizon), float64(len(l.limit))
	rho, rate := 0.0, 0.0
	if n > 0 {
		rho = h / room
		rate = rho / (h * math.Sqrt(n*l.k))
	}
	step := math.Sqrt(2 * math.Log(float64(max(2, l.most))) / (h * h * (1 + n*rho) * (1 + n*rho) * l.k))
	l.move = func() {
		l.evaluate()
		l.softmax.step(1, func(slot int) float64 { return -step * l.lagrangian(slot) })
		for i, b := range l.limit {
			l.lambda[i] = clamp(l.lambda[i]+rate*(l.value[i+1]-b), 0, rho)
		}
	}
	return l, nil
}
