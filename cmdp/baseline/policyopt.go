package baseline

import "cmdpsolve/cmdp"

// A policyOptimizer is a primal–dual learner without a planning problem: it
// evaluates its policy on an estimate made optimistic by a bonus, takes a mirror
// descent step on the policy and a gradient step on the multipliers.
type policyOptimizer struct {
	*core
	softmax *softmax
	eval    *evaluation
	table   *signalTable // means with the bonus
	value   []float64    // of the last evaluation
	lambda  []float64
	// move is called after an episode, with the evaluation that its kind wants.
	move func()
}

// newPolicyOptimizer returns a policyOptimizer whose values are at least 0. signals sets the signals of a
// slot, as in [signalTable]. With rewards they are rewards 1 − x in place of costs x, and values are at
// most the number of steps to go.
func newPolicyOptimizer(core *core, rewards bool,
	signals setSignals) *policyOptimizer {
	l := &policyOptimizer{core: core, softmax: newSoftmax(core.policy), eval: newEvaluation(core.estimate),
		table: newSignalTable(core.estimate), value: make([]float64, core.signals),
		lambda: make([]float64, len(core.limit))}
	l.eval.cut, l.eval.rewards = true, rewards
	if rewards {
		for i, x := range l.table.rested {
			l.table.rested[i] = 1 - x
		}
	}
	l.table.set = signals
	l.table.rebuild()
	// The values of the last evaluation are what the next step of some needs.
	l.Keep(&l.lambda, &l.softmax.logit, &l.value, &l.eval.q)
	l.Then(func() error { l.table.rebuild(); return nil })
	return l
}

// evaluate evaluates the present policy.
func (l *policyOptimizer) evaluate() {
	l.state.Work.Planner++
	l.eval.run(l.value, l.policy, l.table)
}

// lagrangian returns Q_0 + Σ λ_i Q_i of a slot.
func (l *policyOptimizer) lagrangian(slot int) float64 {
	q := l.eval.q[slot*l.signals : (slot+1)*l.signals]
	sum := q[0]
	for i, x := range l.lambda {
		sum += x * q[i+1]
	}
	return sum
}

// Observe takes an episode.
func (l *policyOptimizer) Observe(tr *cmdp.Trajectory) {
	l.move() // on the counts from before the episode
	l.table.update(l.observe(tr))
}

// clamp returns x cut to [low, high].
func clamp(x, low, high float64) float64 { return min(max(x, low), high) }
