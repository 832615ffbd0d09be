package baseline

import (
	"context"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// An lpLearner plans each episode by a program over occupancies: the method says what the signals
// are, which kernels are possible, and what to play without a solution.
type lpLearner struct {
	*core
	sweep   *sweep
	program *exact.Mixer
	lazy    bool
	// anew says that signals depend on the episode and have to be set for all slots.
	anew bool
	// prepare, if not nil, is called before signals are set.
	prepare func()
	// gate, if not nil, says before planning whether to play the fallback instead.
	gate func() bool
	// fallback is played where the program has no solution or the gate says so; nil
	// stands for the policy of the episode before.
	fallback cmdp.Policy
	retreats bool // the policy of the next episode is the fallback
}

// ready makes the linear program of the least signal 0 with the others within their limits.
// signals sets the signals of a slot, as in [signalTable].
func (l *lpLearner) ready(rule kernelRule, radius transitionRadius,
	signals setSignals) {
	n := l.signals
	var rows []cmdp.Constraint
	for i, b := range l.limit {
		rows = append(rows, cmdp.Constraint{Normal: unitVector(n, i+1), Offset: b})
	}
	l.sweep = newSweep(l.estimate, rule, radius)
	l.readyFor(exact.NewLinearMixer(l.sweep, unitVector(n, 0), rows), signals)
}

// readyFor is ready for another program over the points of the sweep.
func (l *lpLearner) readyFor(program *exact.Mixer, signals setSignals) {
	l.program, l.sweep.set, l.replan = program, signals, l.plan
	l.refresh()
	l.Keep(&l.program.Warm, &l.retreats)
	l.Then(func() error { l.refresh(); return nil })
}

// refresh sets the signals, and boxes, of all slots.
func (l *lpLearner) refresh() {
	if l.prepare != nil {
		l.prepare()
	}
	l.sweep.rebuild()
}

// Policy plans, and returns the policy of the next episode.
func (l *lpLearner) Policy() cmdp.Policy {
	policy := l.core.Policy()
	if l.retreats {
		return l.fallback
	}
	return policy
}

func (l *lpLearner) plan() {
	l.settle()
	if l.gate != nil && l.gate() {
		l.retreats = true
		return
	}
	if l.anew {
		l.refresh()
	}
	before := l.sweep.calls
	feasible, err := l.program.Solve(context.Background())
	l.state.Work.Planner += l.sweep.calls - before
	l.state.Work.Programs++
	if err != nil || !feasible {
		// Numerical trouble of a tiny master counts as no solution.
		l.state.Work.Infeasible++
		l.retreats = l.fallback != nil
		return
	}
	l.retreats = false
	l.sweep.blend(l.policy, l.program)
}

// Observe takes an episode.
func (l *lpLearner) Observe(tr *cmdp.Trajectory) {
	if touched := l.observe(tr); !l.anew {
		l.sweep.update(touched)
	}
	if l.lazy && !l.fresh {
		l.state.Planned = true
	}
}
