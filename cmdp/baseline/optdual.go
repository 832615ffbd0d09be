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

// An optDual is the state of OptDual-CMDP.
type optDual struct {
	*core
	sweep  *sweep
	column *column
	weight []float64
	lambda []float64
	rate   float64 // 1/t_λ
	known  bool
	means  func(visits float64) float64
}

// newOptDual returns OptDual-CMDP of Efroni, Mannor and Pirotta (2020): each episode
// the deterministic policy and the kernel of the confidence box that minimise the
// optimistic costs weighted with the multipliers, by extended value iteration with
// the radii of optcmdp; then λ ← [λ + (v − α)/t_λ]₊ with t_λ = √(H²IK/ρ²), λ₁ = 0 and
// no upper clip, v being the optimistic constraint values of that pair (all from the
// paper). ρ = H/γ with γ the Slater constant. Guarantee: weak (signed) regret and
// violation. The policy of a single episode is in general neither feasible nor
// optimal; the mixture is. It can be saved.
func newOptDual(c Config) (cmdp.Learner, error) {
	core, err := newCore("optdual", &c)
	if err != nil {
		return nil, err
	}
	room, err := slaterRoom("optdual", &c, core.scaledTask)
	if err != nil {
		return nil, err
	}
	l := &optDual{core: core, known: c.Returns != nil,
		means: hoeffdingRadius(c.Bonus.Multiplier(), core.logTerm(6*float64(core.signals))),
		sweep: newSweep(core.estimate, kernelBox, bernsteinRadius(c.Bonus.Multiplier(), core.logTerm(6)))}
	l.column = l.sweep.newColumn()
	l.weight, l.lambda = make([]float64, l.signals), make([]float64, len(l.limit))
	if n := float64(len(l.limit)); n > 0 {
		h := float64(l.horizon)
		l.rate = h / room / (h * math.Sqrt(n*l.k))
	}
	l.refreshSweep()
	return l, nil
}

func (l *optDual) refreshSweep() {
	for h := range l.horizon {
		for c := range l.shape.StepChoices(h) {
			if h < len(l.layers) {
				l.sweep.refreshBox(h, c)
			}
			l.refreshSignal(h, c)
		}
	}
}

func (l *optDual) refreshSignal(h, c int) {
	b := 0.0
	if !l.known {
		b = l.means(l.layer(h)[c].visits)
	}
	i := (l.base[h] + c) * l.signals
	for j := i; j < i+l.signals; j++ {
		l.sweep.signal[j] = max(0, l.mean[j]-b)
	}
}

// Policy plans, moves the multipliers, and returns the policy of the next episode.
func (l *optDual) Policy() cmdp.Policy {
	if l.state.Planned {
		return l.policy
	}
	l.weight[0] = 1
	copy(l.weight[1:], l.lambda)
	l.sweep.price(l.column, l.weight)
	l.state.Work.Planner++
	for i, b := range l.limit {
		l.lambda[i] = max(0, l.lambda[i]+l.rate*(l.column.value[i+1]-b))
	}
	l.policy.follow(l.column)
	l.state.Planned = true
	return l.policy
}

// Observe takes an episode.
func (l *optDual) Observe(tr *cmdp.Trajectory) {
	for _, x := range l.observe(tr) {
		c := int(l.offsets(x.h)[x.s]) + x.a
		l.sweep.refreshBox(x.h, c)
		for h := x.h; h < l.horizon; h++ {
			l.refreshSignal(h, c)
			if !l.pooled() {
				break
			}
		}
	}
}

// MarshalBinary returns the state of the learner, from which UnmarshalBinary
// continues bit for bit.
func (l *optDual) MarshalBinary() ([]byte, error) { return l.save(&l.lambda) }

// UnmarshalBinary restores a state that MarshalBinary returned, into a learner
// of the same Config.
func (l *optDual) UnmarshalBinary(data []byte) error {
	var lambda []float64
	if err := l.load(data, &lambda); err != nil {
		return err
	}
	copy(l.lambda, lambda)
	l.refreshSweep()
	return nil
}
