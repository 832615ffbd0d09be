package baseline

import (
	"math"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "rpg-pd", New: newRPGPD,
	Source:    "Müller et al. (2024), regularised primal–dual; RPG-PD of Ding et al. (2023)",
	Planner:   "1 evaluation of I+2 signals",
	Guarantee: "strong regret and violation Õ(K^0.93); last iterate", Efficient: true,
	Needs:       []string{"Slater constant"},
	UsesSupport: true,
	Certainty: "updates and exponents of η and τ from memory of the paper; the promised 0.93 = 13/14, which they " +
		"give, from texts that cite it",
})

var _ = register(Algorithm{
	Name: "uopt-rpgpd", New: newUOptRPGPD,
	Source: "Kitamura et al. (2024), UOpt-RPGPD", Planner: "1 evaluation of I+2 signals",
	Guarantee: "uniform-PAC last iterate", Efficient: true,
	UsesSupport: true,
	Published:   "0.001·(Σ√p̄·φ + 5φ²) (its code)",
	Certainty:   "from the paper's code",
})

// A regularized is a primal–dual method with an entropy bonus of weight τ on the
// policy and a quadratic one on the multipliers, which makes the last iterate
// converge:
//
//	π ∝ π^{1−ητ}·exp(η Q),   λ_i ← clip((1−ητ)λ_i + η(V_i − α_i), 0, λ_max),
//
// Q being the value to go of rewards 1 − x weighted with (1, λ), each truncated by
// itself, and τ times the entropy of the later steps.
type regularized struct {
	*policyOptimizer
	entropy []float64 // slots: entropy of later steps
	v, next []float64 // S
	steps   func(k float64) (eta, tau float64)
	most    float64 // λ_max
}

// newRPGPD returns the regularised primal–dual method: the updates of RPG-PD (Ding,
// Wei, Zhang, Ribeiro 2023, known model) on optimistic estimates, as in Müller,
// Alatur, Cevher, Ramponi and He, "Truly no-regret learning in constrained MDPs"
// (2024), from memory. The bonus is that of optcmdp-bonus, λ_max = 2H/γ for the Slater constant
// γ. In theory mode τ = K^{−1/7} and η = K^{−5/7}, exponents that we could not verify; they
// are consistent with the promise: K·√(1/(ητK)) = K^{13/14}, and 13/14 = 0.93. In
// the others η = τ = 0.05 (derived here). Guarantee: the sums of positive parts
// grow like K^0.93, and the last iterate converges to the solution of the
// regularised problem. It can be saved.
func newRPGPD(c Config) (cmdp.Learner, error) {
	core, room, err := newSlaterCore("rpg-pd", &c)
	if err != nil {
		return nil, err
	}
	l := newRegularized(core, core.efroniBonus(core.efroniRadii(nil, nil)))
	l.most = 2 * float64(l.horizon) / room
	tau, eta := math.Pow(l.k, -1./7), math.Pow(l.k, -5./7)
	if !atTheory(l.scale) {
		tau, eta = 0.05, 0.05
	}
	l.steps = func(float64) (float64, float64) { return eta, tau }
	return l, nil
}

// newUOptRPGPD returns UOpt-RPGPD of Kitamura et al., "A policy gradient
// primal-dual algorithm for constrained MDPs with uniform PAC guarantees" (2024):
// the same updates with η_k = (k+3)^{−0.53}, τ_k = (k+3)^{−0.40}, multipliers clipped
// below only, and the anytime bonus Σ_{s'}√p̄·φ + 5φ²,
// φ² = (2 ln ln max(e, 2n) + 2 ln(48S²AH/p))/n, p̄ = 1/S where not visited (all from
// the paper's code, repository matsuolab/Uniform-PAC-Primal-Dual-CMDP, whose runs multiply the
// bonus by 0.001; it has no factor H at the bonus, and we could not check whether
// the paper has one). The value of the reward with its entropy is cut at (1 + τ ln A)
// times the steps to go, here as the two parts, one and τ ln A times. Guarantee: the last iterate is
// near optimal in all but finitely many episodes. It can be saved.
func newUOptRPGPD(c Config) (cmdp.Learner, error) {
	core, err := newCore("uopt-rpgpd", &c)
	if err != nil {
		return nil, err
	}
	f := c.Bonus.Multiplier()
	if core.scale.Mode == cmdp.Published {
		f *= 0.001
	}
	states := float64(core.states)
	union := 2 * math.Log(48*states*float64(max(1, core.slots()))/core.p)
	l := newRegularized(core, func(r *row) float64 {
		n := max(1, r.visits)
		phi2 := (2*math.Log(math.Log(max(math.E, 2*n))) + union) / n
		roots := math.Sqrt(states) // Σ √(1/S) where not visited
		if !r.unknown() {
			roots = 0
			for _, p := range r.prob[:len(r.next)] {
				roots += math.Sqrt(p)
			}
		}
		return f * (roots*math.Sqrt(phi2) + 5*phi2)
	})
	l.most = math.Inf(1)
	l.steps = func(k float64) (eta, tau float64) { return math.Pow(k+3, -0.53), math.Pow(k+3, -0.40) }
	return l, nil
}

// newRegularized returns a regularized with a bonus, without steps.
func newRegularized(core *core, bonus func(r *row) float64) *regularized {
	l := &regularized{entropy: make([]float64, core.slots()), v: make([]float64, core.states),
		next: make([]float64, core.states)}
	l.policyOptimizer = newPolicyOptimizer(core, true, func(dst []float64, _ int, r *row, mean []float64) {
		b := bonus(r)
		for j, x := range mean {
			dst[j] = 1 - x + b
		}
	})
	h := float64(l.horizon)
	l.move = func() {
		eta, tau := l.steps(float64(l.state.Episodes))
		l.evaluate()
		l.entropyToGo(tau)
		l.softmax.step(1-eta*tau, func(slot int) float64 { return eta * (l.lagrangian(slot) + l.entropy[slot]) })
		for i, b := range l.limit {
			// The reward's excess is h − b less its value: the constraint's V − α.
			gap := h - b - l.value[i+1]
			l.lambda[i] = clamp((1-eta*tau)*l.lambda[i]+eta*gap, 0, l.most)
		}
	}
	return l
}

// entropyToGo sets entropy to τ times the expected entropy of the steps after
// each choice.
func (l *regularized) entropyToGo(tau float64) {
	clear(l.next)
	longest := math.Log(float64(max(2, l.policy.most)))
	for h := l.horizon - 1; h >= 0; h-- {
		f, rows := l.offsets(h), l.layer(h)
		mean := 0.0
		for _, x := range l.next {
			mean += x / float64(l.states)
		}
		for s := range l.states {
			first, end := int(f[s]), int(f[s+1])
			l.v[s] = 0
			if first == end {
				l.v[s] = l.next[s]
			}
			for k := first; k < end; k++ {
				i := l.base[h] + k
				r, sum := &rows[k], mean
				if !r.unknown() {
					sum = 0
					for e, n := range r.next {
						sum += r.prob[e] * l.next[n]
					}
				}
				l.entropy[i] = min(sum, tau*longest*float64(l.horizon-h-1))
				l.v[s] += l.policy.probs[i] * (l.entropy[i] - tau*l.softmax.logit[i])
			}
		}
		l.v, l.next = l.next, l.v
	}
}
