package baseline

import (
	"math"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "dope", New: newDOPE,
	Source: "Bura et al. (2022), DOPE", Planner: "linear program (extended value iteration as pricing)",
	Guarantee: "no violation in any episode; regret Õ((H³/γ) S√(A K)), γ the room of the safe policy", Efficient: false,
	Needs:       []string{"safe policy"},
	UsesSupport: true,
	Published: "logarithm ln(6S²HK/p), S²AH³/γ² episodes of the safe policy, radii summed over all states (its " +
		"code for media streaming)",
	Certainty: "from the paper, checked against its code; unknown means from memory of the paper",
})

// newDOPE returns DOPE of Bura, HasanzadeZonuzi, Kalathil, Shakkottai and
// Chamberland, "DOPE: doubly optimistic and pessimistic exploration for safe
// reinforcement learning" (2022). The first K₀ = S²AH⁴/γ² episodes play the safe
// policy, γ being its least room; then, with β̄ = Σ_{s'} min{1, β} the sum of the Bernstein
// radii with L = ln(2SAHK/p), cut at 1 as in its code, which gives nothing away, the
// best policy in the best kernel of the box for
//
//	objective lowered by (H²/γ)·β̄,   constraints raised by H·β̄,
//
// and the safe policy where there is none. Unknown means add β_l = √(2 ln(6SAHK/p)/n)
// to the constraints and subtract (1+H/γ)·β_l from the objective. Tuning.ObjectiveBonus
// multiplies what is taken off the objective. A bonus scale f
// multiplies K₀ by f², the order in which radii enter it (derived here). With several
// constraints γ is the least room (our extension). Guarantee: no episode
// violates, with high probability. It can be saved.
func newDOPE(c Config) (cmdp.Learner, error) {
	l, safe, err := newSafeLearner("dope", &c)
	if err != nil {
		return nil, err
	}
	s, h, f := float64(l.states), float64(l.horizon), c.Bonus.Multiplier()
	first := f * f * s * float64(l.slots()) * h * h * h / (safe.room * safe.room)
	logTerm, total := l.logTerm(2), totalRadius
	if l.scale.Mode == cmdp.Published {
		total = wholeRadius
		logTerm = math.Log(6 * s * s * h * l.k / l.p)
		first = f * f * s * float64(l.slots()) * h * h / (safe.room * safe.room)
	}
	bernstein := bernsteinRadius(f, logTerm)
	radius := func(prob, visits float64) float64 { return min(1, bernstein(prob, visits)) }
	means := hoeffdingRadius(f, l.logTerm(6))
	explore := 1.0
	if c.Tuning.ObjectiveBonus != nil {
		explore = *c.Tuning.ObjectiveBonus
	}
	l.ready(newSweep(l.estimate, kernelBox, radius), func(dst []float64, _ int, r *row, mean []float64) {
		b, m := total(r, l.states, radius), 0.0
		if c.Returns == nil {
			m = means(r.visits)
		}
		dst[0] = mean[0] - explore*(h*h/safe.room*b+(1+h/safe.room)*m)
		for i := 1; i < len(dst); i++ {
			dst[i] = mean[i] + h*b + m
		}
	})
	if len(l.limit) > 0 {
		l.gate = func() bool { return float64(l.state.Episodes) < first }
	}
	return l, nil
}
