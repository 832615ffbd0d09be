package baseline

import (
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
	// gate, if not nil, says before planning whether to play the fallback instead.
	gate func() bool
	// fallback is played where the program has no solution or the gate says so; nil
	// stands for the policy of the episode before.
	fallback cmdp.Policy
	retreats bool // the policy of the next episode is the fallback
}

// ready makes the linear program of the least signal 0 with the others within their limits.
// signals sets the signals of a slot, as in [signalTable].
func (l *lpLearner) ready(sw *sweep, signals setSignals) {
	n := l.signals
	var rows []cmdp.Constraint
	for i, b := range l.limit {
		rows = append(rows, cmdp.Constraint{Normal: unitVector(n, i+1), Offset: b})
	}
	l.readyFor(sw, exact.NewLinearMixer(sw, unitVector(n, 0), rows), signals)
}

// readyFor is ready for another program over the points of the sweep.
func (l *lpLearner) readyFor(sw *sweep, program *exact.Mixer, signals setSignals) {
	sw.set = signals
	sw.rebuild()
	l.sweep, l.program, l.replan = sw, program, l.plan
	l.Keep(&l.program.Warm, &l.retreats)
	l.Then(func() error { sw.rebuild(); return nil })
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
	l.countDoubled()
	if l.gate != nil && l.gate() {
		l.retreats = true
		return
	}
	if l.anew {
		l.sweep.rebuild()
	}
	before := l.sweep.calls
	feasible, err := l.program.Solve(l.ctx)
	l.ended(err)
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
