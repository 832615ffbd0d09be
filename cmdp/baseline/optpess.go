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
	core, err := newCore("optpess-lp", &c)
	if err != nil {
		return nil, err
	}
	safe, err := newSafePolicy("optpess-lp", &c, core.scaledTask)
	if err != nil {
		return nil, err
	}
	l := &lpLearner{core: core, lazy: c.Lazy, fallback: c.Knowledge.Safe}
	s, h := float64(l.states), float64(l.horizon)
	z := l.logTerm(16 * s)
	pessimism := 1 + s*h
	optimism := pessimism + 4*h*pessimism/safe.room
	factor := c.Bonus.Multiplier()
	l.ready(kernelUniform, nil, func(dst []float64, _ int, r *row, mean []float64) {
		b := factor * math.Sqrt(z/max(1, r.visits))
		dst[0] = mean[0] - optimism*b
		if c.Returns == nil && r.visits == 0 {
			dst[0]++ // the mean reward of no visits is 0
		}
		for i := 1; i < len(dst); i++ {
			dst[i] = mean[i] + pessimism*b
		}
	})
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
