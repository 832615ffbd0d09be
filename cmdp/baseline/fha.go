package baseline

import (
	"math"
	"math/rand/v2"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "fha", New: newFHA, Endless: true, NoEpisodes: true,
	Source:    "Chen, Jain, Luo (2022), finite-horizon approximation",
	Planner:   "linear program (extended value iteration as pricing), once in each interval",
	Guarantee: "regret and violation Õ(T^{2/3}) in weakly communicating models", Efficient: false, UsesSupport: true,
	Published: "radius 0.1/√n of a transition (code of Provodin and others)",
	Certainty: "from the abstract and code of others; radii are those of optcmdp, limits are not loosened by the " +
		"span of the relative values",
})

// An fha is the finite-horizon approximation of Chen, Jain and Luo, "Learning infinite-horizon average-reward
// Markov decision processes with constraints" (2022), Algorithm 3, as in the code of Provodin, Kaptein and
// Pechenizkiy. The run is cut into intervals of H steps. At the beginning of each it plays the best policy of H
// steps, from the state that the run is in, in the best kernel of the confidence box: OptCMDP with H times the
// limits of a step. Counts are those of all steps. If no policy and kernel keep the limits, actions are drawn
// evenly.
type fha struct {
	*lpLearner
	inner *cmdp.Trajectory
	x     fhaState
}

// fhaState is where the run is.
type fhaState struct {
	At int // state, −1 before the first step
	H  int // steps of the interval that were played
}

func newFHA(c Config) (cmdp.Learner, error) {
	linear, err := newScaledTask("fha", &c)
	if err != nil {
		return nil, err
	}
	inside := c
	inside.Shape, err = intervalShape(c.Shape, phaseSteps*c.Shape.States())
	if err != nil {
		return nil, err
	}
	hours := float64(inside.Shape.Horizon())
	inside.Linear = &Linear{Goal: linear.linear.Goal, Offset: linear.linear.Offset}
	for _, r := range linear.linear.Rows {
		r.Offset *= hours
		inside.Linear.Rows = append(inside.Linear.Rows, r)
	}
	inside.Pooled = true
	core, err := newCore("fha", &inside)
	if err != nil {
		return nil, err
	}
	l := &fha{lpLearner: &lpLearner{core: core, fallback: cmdp.Uniform{Shape: inside.Shape}},
		inner: cmdp.NewTrajectory(inside.Shape)}
	radius, means := core.efroniRadii(
		func(_, visits float64) float64 { return 0.1 * l.scale.Multiplier() / math.Sqrt(max(1, visits)) },
		func(float64) float64 { return 0 })
	l.ready(newSweep(l.estimate, kernelBox, radius), core.lowered(means))
	l.x = fhaState{At: -1}
	l.Keep(&l.x)
	l.Then(func() error { l.beginInterval(); return nil })
	return l, nil
}

func intervalShape(step *cmdp.Shape, steps int) (*cmdp.Shape, error) {
	lower, upper := step.StepReturns(0)
	return cmdp.NewShape(cmdp.ShapeSpec{Horizon: steps, Dim: step.Dim(), Start: step.StartStates(),
		First:   step.AgentOffsets(),
		Returns: []cmdp.Interval{{Lower: lower, Upper: upper}}})
}

// beginInterval makes the state that the run is in that in which the interval begins.
func (l *fha) beginInterval() {
	if l.x.At < 0 {
		return
	}
	l.start = []cmdp.StartState{{State: l.x.At, Probability: 1}}
	clear(l.sweep.begins)
	l.sweep.begins[l.x.At] = true
}

// Policy plans at the beginning of an interval, and returns the policy of the next step.
func (l *fha) Policy() cmdp.Policy {
	if l.x.H == 0 && !l.state.Planned {
		l.beginInterval()
	}
	return laterPolicy{l.lpLearner.Policy(), l.x.H}
}

// Observe counts a step.
func (l *fha) Observe(tr *cmdp.Trajectory) {
	in := l.inner
	in.Steps = tr.Steps
	copy(in.States, tr.States)
	copy(in.Actions, tr.Actions)
	if tr.Steps > 0 {
		copy(in.Return(0), tr.Return(0))
	}
	l.lpLearner.Observe(in)
	l.x.At = tr.States[tr.Steps]
	l.x.H = (l.x.H + 1) % l.horizon
	l.state.Planned = l.x.H > 0
}

// A laterPolicy is a policy from a later step on.
type laterPolicy struct {
	policy cmdp.Policy
	after  int
}

// Choose returns the action of the later step.
func (p laterPolicy) Choose(rng *rand.Rand, h, s int) int { return p.policy.Choose(rng, p.after+h, s) }

// Distribution is that of the later step.
func (p laterPolicy) Distribution(dst []float64, h, s int) { p.policy.Distribution(dst, p.after+h, s) }
