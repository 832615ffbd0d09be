package baseline

import (
	"math"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "optpess-lp", New: newOptPess,
	Source: "Liu et al. (2021), OptPess-LP", Planner: "linear program (value iteration as pricing) and an evaluation",
	Guarantee: "no violation in any episode; regret Õ((H³/γ)√(S³ A K)), γ the room of the safe policy", Efficient: true,
	Needs:       []string{"safe policy"},
	UsesSupport: true,
	Published:   "as `theory` (code of DOPE for media streaming, which runs it)",
	Certainty:   "radii, bonuses and switch from the paper, checked against two codes; theorem from notes that state it",
})

var _ = register(Algorithm{
	Name: "optpess-pd", New: newOptPessPrimalDual,
	Source: "Liu et al. (2021), OptPess-PrimalDual", Planner: "1 value iteration",
	Guarantee:   "cumulative violation bounded whatever K; regret Õ((H³/γ)√(S³ A K)), γ the room of a safe policy",
	Efficient:   true,
	Needs:       []string{"Slater constant"},
	UsesSupport: true,
	Certainty:   "from memory of the paper; updates checked against code of others, which has 20 for the 5 of ε_k",
})

// newOptPess returns OptPess-LP of Liu, Zhou, Kalathil, Kumar and Tian, "Learning
// policies with zero or bounded constraint violation for constrained MDPs" (2021):
// optimistic in the objective, pessimistic in the constraints. With
// β = √(Z/(n∨1)), Z = ln(16S²AHK/p) and γ the room of the safe policy,
//
//	objective lowered by (1 + SH + 4H(1+SH)/γ)·β,   constraints raised by (1+SH)·β.
//
// While the safe policy, evaluated pessimistically, is not proved to have at least
// half of its room, it is played; then the occupancy program of the empirical kernel,
// and the safe policy where that has no solution. With several constraints γ is the
// least room, and the switch asks it of all (our extension; the paper has one
// constraint). Guarantee: no episode violates, with probability 1 − O(p). The radii
// have no constant to tune, and at practical K it mostly plays the safe policy:
// published runs have these radii in full, with ln(32S²HK/p) for two actions
// (repository archanabura/DOPE-DoublyOptimisticPessimisticExploration, MediaControl).
// It can be saved.
func newOptPess(c Config) (cmdp.Learner, error) {
	l, safe, err := newSafeLearner("optpess-lp", &c)
	if err != nil {
		return nil, err
	}
	h := float64(l.horizon)
	once := 1 + float64(l.states)*h
	l.ready(newSweep(l.estimate, kernelUniform, nil), optPessSignals(l.core, -once-4*h*once/safe.room, once))
	if len(l.limit) == 0 {
		return l, nil
	}
	value := make([]float64, l.estimate.signals)
	eval := newEvaluation(l.estimate)
	l.gate = func() bool {
		l.state.Work.Planner++
		eval.run(value, c.Knowledge.Safe, l.sweep.signalTable)
		for i, b := range l.limit {
			if value[i+1] >= (b+safe.value[i+1])/2 {
				return true
			}
		}
		return false
	}
	return l, nil
}

// optPessSignals adds multiples of the radius β to the mean signals.
func optPessSignals(core *core, objective, constraints float64) setSignals {
	z, factor := core.logTerm(16*float64(core.states)), core.scale.Multiplier()
	return func(dst []float64, _ int, r *row, mean []float64) {
		b := factor * math.Sqrt(z/max(1, r.visits))
		dst[0] = mean[0] + objective*b
		if core.returns == nil && r.visits == 0 {
			dst[0]++ // the mean reward of no visits is 0
		}
		for i := 1; i < len(dst); i++ {
			dst[i] = mean[i] + constraints*b
		}
	}
}

// newOptPessPrimalDual returns OptPess-PrimalDual of Liu et al. (2021), from memory: in episode k
// the deterministic policy that minimises the objective and the constraints, all lowered by
// (1+SH)·β with the β of OptPess-LP, weighted with 1 and λ/η_k, on the empirical kernel; then
//
//	λ ← [λ + [v]₊ + ε_k − α]₊,  η_k = γH√k,  ε_k = 5H²√(S³A)·(ln(k/δ') + 1)/√(k ln(k/δ')),  δ' = p/(16S²AH),
//
// v being the lowered constraint value of that policy, γ the room that some policy has, which
// is all that need be known of it. Each constraint has a multiplier of its own (our extension;
// the paper has one constraint). The factor of the bonus scale multiplies ε_k too, which
// stands for what the radii miss. Guarantee: the sum of signed violations stays bounded. ε_k is above
// H until k is of the order of H²S³A, and until then multipliers rise whatever is played: at
// practical K the method minimises the lowered constraints alone, which is to explore, unless the
// scale is small. It can be saved.
func newOptPessPrimalDual(c Config) (cmdp.Learner, error) {
	core, room, err := newSlaterCore("optpess-pd", &c)
	if err != nil {
		return nil, err
	}
	s, h, slots := float64(core.states), float64(core.horizon), float64(max(1, core.slots())) // SAH of them
	once := 1 + s*h
	l := newLagrangian(core, newSweep(core.estimate, kernelUniform, nil), optPessSignals(core, -once, -once))
	l.rate = 1
	l.share = func() float64 { return 1 / (room * h * math.Sqrt(float64(l.state.Episodes+1))) }
	l.excess = func(value, limit float64) float64 {
		k := float64(l.state.Episodes + 1)
		log := math.Log(k * 16 * s * slots / l.p)
		tightening := core.scale.Multiplier() * 5 * h * h * math.Sqrt(s*s*slots/h) * (log + 1) / math.Sqrt(k*log) // ε_k
		return max(0, value) + tightening - limit
	}
	l.sweep.rebuild()
	return l, nil
}
