package baseline

import (
	"context"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// A lpLearner plans each episode by a linear program over occupancies: the method
// says what the signals are, which kernels are possible, and what to play
// without a solution.
type lpLearner struct {
	*core
	sweep   *sweep
	program *exact.Mixer // least signal 0, the others within rows
	rows    []cmdp.Constraint
	lazy    bool
	// signals sets dst to the signals of a slot: h, the number of the choice within
	// its step, its row and its scaled means.
	signals func(dst []float64, h int, r *row, mean []float64)
	// anew says that signals depend on the episode and have to be set for all slots.
	anew bool
	// prepare, if not nil, is called before signals are set.
	prepare func()
	// gate, if not nil, says before planning whether to play the fallback instead.
	gate func() bool
	// fallback is played where the program has no solution or the gate says so; nil
	// stands for the policy of the episode before.
	fallback cmdp.Policy
	extra    lpState
}

type lpState struct {
	Warm     exact.Warm
	Fallback bool // the policy of the next episode is the fallback
}

// ready makes the sweep and the program, once signals is set.
func (l *lpLearner) ready(rule kernelRule, radius func(prob, visits float64) float64) {
	l.sweep = newSweep(l.estimate, rule, radius)
	for i, b := range l.limit {
		l.rows = append(l.rows, cmdp.Constraint{Normal: unitVector(l.estimate.signals, i+1), Offset: b})
	}
	l.program = exact.NewLinearMixer(l.sweep, unitVector(l.estimate.signals, 0), l.rows)
	l.refreshSignals()
}

// refreshSignals sets the signals, and boxes, of all slots.
func (l *lpLearner) refreshSignals() {
	if l.prepare != nil {
		l.prepare()
	}
	for h := range l.horizon {
		for c := range l.shape.StepChoices(h) {
			if h < len(l.layers) {
				l.sweep.refreshBox(h, c)
			}
			l.refreshSignal(h, c)
		}
	}
}

func (l *lpLearner) refreshSignal(h, c int) {
	i := (l.base[h] + c) * l.estimate.signals
	j := i + l.estimate.signals
	l.signals(l.sweep.signal[i:j], h, &l.layer(h)[c], l.mean[i:j])
}

// Policy plans, and returns the policy of the next episode.
func (l *lpLearner) Policy() cmdp.Policy {
	if !l.state.Planned {
		l.plan()
		l.state.Planned = true
	}
	if l.extra.Fallback {
		return l.fallback
	}
	return l.policy
}

func (l *lpLearner) plan() {
	l.settle()
	if l.gate != nil && l.gate() {
		l.extra.Fallback = true
		return
	}
	if l.anew {
		l.refreshSignals()
	}
	before := l.sweep.calls
	feasible, err := l.program.Solve(context.Background())
	l.state.Work.Planner += l.sweep.calls - before
	l.state.Work.Programs++
	if err != nil || !feasible {
		// Numerical trouble of a tiny master counts as no solution.
		l.state.Work.Infeasible++
		l.extra.Fallback = l.fallback != nil
		return
	}
	l.extra.Fallback = false
	l.sweep.blend(l.policy, l.program)
}

// Observe takes an episode.
func (l *lpLearner) Observe(tr *cmdp.Trajectory) {
	touched := l.observe(tr)
	for _, x := range touched {
		c := int(l.offsets(x.h)[x.s]) + x.a
		l.sweep.refreshBox(x.h, c)
		if l.anew {
			continue
		}
		for h := x.h; h < l.horizon; h++ {
			l.refreshSignal(h, c)
			if !l.pooled() {
				break
			}
		}
	}
	if l.lazy && !l.fresh {
		l.state.Planned = true
	}
}

// MarshalBinary returns the state of the learner, from which UnmarshalBinary
// continues bit for bit.
func (l *lpLearner) MarshalBinary() ([]byte, error) {
	l.extra.Warm = l.program.Warm
	return l.save(&l.extra)
}

// UnmarshalBinary restores a state that MarshalBinary returned, into a learner
// of the same Config.
func (l *lpLearner) UnmarshalBinary(data []byte) error {
	var extra lpState
	if err := l.load(data, &extra); err != nil {
		return err
	}
	l.extra, l.program.Warm = extra, extra.Warm
	l.refreshSignals()
	return nil
}
