package baseline

import (
	"math"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "opdop", New: newOPDOP,
	Source: "Ding, Wei, Yang, Wang, Jovanović (2020), OPDOP, tabular", Planner: "1 evaluation of I+1 signals",
	Guarantee: "weak regret and violation Õ(dim·H^2.5·√T), dim = S²A, T = HK", Efficient: true,
	Needs:     []string{"Slater constant"},
	Certainty: "from memory of the paper; dual step derived here; C₁ = 1, which the paper leaves open",
})

// newOPDOP returns the tabular case of OPDOP of Ding, Wei, Yang, Wang and Jovanović,
// "Provably efficient safe exploration via primal-dual policy optimization"
// (2020), which maximises rewards 1 − x. Before each episode
//
//	π ∝ ((1−θ)π + θ/A)·exp(α(Q_r + Σ Y_i Q_i)),   Y_i ← clip(Y_i + η(b_i − V_i), 0, χ),
//
// with the values of the episode before; after it the new policy is evaluated on
// P̂ = n(s')/(n+1), rows that sum to less than one, with the bonus 2Γ,
// Γ = C₁H√(S ln(SAT/p)/(n+1)), T = HK, cut to [0, steps to go]. α = √(ln A)/(H²√K), θ = 1/K, χ = 2H/γ (from
// memory of the paper); η = χ/(H√K) (derived here; the paper has order 1/√K); C₁ = 1 in
// theory mode, the paper leaves it open and 0.01 to 0.1 works in practice. The
// multipliers of several constraints are our extension. Guarantee: weak (signed)
// regret and violation. It can be saved.
func newOPDOP(c Config) (cmdp.Learner, error) {
	core, room, err := newSlaterCore("opdop", &c)
	if err != nil {
		return nil, err
	}
	h := float64(core.horizon)
	const ridge = 1
	beta := c.Bonus.Multiplier() * h * math.Sqrt(float64(core.states)*core.logTerm(1))
	known := c.Returns != nil
	l := newPolicyOptimizer(core, true, func(dst []float64, _ int, r *row, mean []float64) {
		bonus := 2 * beta / math.Sqrt(r.visits+ridge)
		for j, x := range mean {
			reward := 1 - x
			if !known {
				reward *= r.visits / (r.visits + ridge)
			}
			dst[j] = reward + bonus
		}
	})
	l.eval.ridge = ridge
	alpha := math.Sqrt(math.Log(float64(max(2, l.most)))) / (h * h * math.Sqrt(l.k))
	chi := 2 * h / room
	eta := chi / (h * math.Sqrt(l.k))
	l.replan = func() {
		l.softmax.mix(1 / l.k)
		l.softmax.step(1, func(slot int) float64 { return alpha * l.lagrangian(slot) })
		if l.state.Episodes > 0 {
			for i, b := range l.limit {
				l.lambda[i] = clamp(l.lambda[i]+eta*(h-b-l.value[i+1]), 0, chi)
			}
		}
	}
	l.move = l.evaluate
	return l, nil
}
