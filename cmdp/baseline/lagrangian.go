package baseline

import (
	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// A lagrangian is a learner that plans by gradient steps on the multipliers of the constraints,
// value iteration answering each, and plays deterministic policies.
type lagrangian struct {
	*core
	sweep  *sweep
	column *column
	weight []float64
	lambda []float64 // ≥ 0, kept from episode to episode
	rate   float64
	// share and excess, if not nil, say by what multipliers are multiplied before they weigh constraints, and by
	// what a constraint of the given value exceeds its limit.
	share  func() float64
	excess func(value, limit float64) float64
	// turns is the number of steps in an episode, whose policy is best for the mean of their
	// multipliers. 0 stands for one step, whose own policy is played.
	turns int
}

// newLagrangian returns a lagrangian without a rate, whose multipliers are 0. signals sets the signals of a
// slot, as in [signalTable].
func newLagrangian(core *core, sw *sweep, signals setSignals) *lagrangian {
	l := &lagrangian{core: core, sweep: sw, column: sw.newColumn(),
		weight: make([]float64, core.signals), lambda: make([]float64, len(core.limit))}
	sw.set = signals
	l.replan = l.plan
	l.Keep(&l.lambda)
	l.Then(func() error { sw.rebuild(); return nil })
	return l
}

// plan plans, and moves the multipliers.
func (l *lagrangian) plan() {
	if l.sweep.episode != nil {
		l.sweep.rebuild()
	}
	mean := make([]float64, len(l.lambda))
	for range max(1, l.turns) {
		l.price(l.lambda)
		for i, b := range l.limit {
			over := l.column.value[i+1] - b
			if l.excess != nil {
				over = l.excess(l.column.value[i+1], b)
			}
			l.lambda[i] = max(0, l.lambda[i]+l.rate*over)
			mean[i] += l.lambda[i] / float64(max(1, l.turns))
		}
	}
	if l.turns > 0 {
		l.price(mean)
	}
	l.policy.follow(l.column)
}

func (l *lagrangian) price(lambda []float64) {
	l.weight[0] = 1
	copy(l.weight[1:], lambda)
	if l.share != nil {
		floats.Scale(l.share(), l.weight[1:])
	}
	l.sweep.price(l.column, l.weight)
	l.state.Work.Planner++
}

// Observe takes an episode.
func (l *lagrangian) Observe(tr *cmdp.Trajectory) {
	if touched := l.observe(tr); l.sweep.episode == nil {
		l.sweep.update(touched)
	}
}
