package exact

import (
	"fmt"
	"math"
	"runtime"
	"time"
)

// Options say how exact an answer has to be and how long it may take. The zero
// value is ready to use.
type Options struct {
	// Gap is the certified gap to reach, relative to the larger of the magnitude of
	// the optimum and the spread of the cost. 0 stands for 1e-10 if the solver
	// knows cost and target as polyhedra. Otherwise it aims at 5e-10, and accepts
	// 2e-8 as optimal where rounding allows no more.
	Gap float64
	// JoinGap is the gap that a policy of long-run means may have where recurrent classes have to be joined so
	// that all runs have the same means, relative like Gap and at least Gap. The smaller it is, the more seldom
	// they are left, see [Joined]. 0 stands for Gap or, where that is 0, for 1e-6.
	JoinGap float64
	// Feasibility is how far the returned policy may miss the target, relative to
	// the extent of the returns. 0 stands for 1e-10.
	Feasibility float64
	// NoNearest leaves out the policy of an infeasible answer: its returns are then those of a mixture of the
	// policies that were found. To put one policy together may take many times as long as the verdict.
	NoNearest bool
	// Budget is the time after which [Solve], [Front], [SolveDeterministic] and [DeterministicFront] give the best
	// answer so far, 0 for any time; others do not look at it. That is a policy with its certified gap or a curve with
	// its error, or a proof that there is none, or neither. Its status is Stopped unless the gap is reached. What is
	// found of the model before, and a value iteration, are interrupted in time; what is then made of what was found
	// takes about as long as two value iterations. Where one policy of a mixture would take longer, its policies are
	// drawn at the start, and along rays there is none.
	Budget time.Duration
	// Iterations bounds the number of value iterations. 0 stands for 2000.
	Iterations int
	// Workers bounds the number of goroutines of a value iteration. 0 stands for
	// GOMAXPROCS. Results do not depend on it.
	Workers int
	// Progress, if not nil, is called after every value iteration with the number of
	// them, the best bound and the best objective so far, ±Inf before there is one.
	Progress func(iterations int, bound, objective float64)
	// Early, if not nil, is called by [Solve] at most once, as soon as the gap is EarlyGap: with an answer without
	// a policy, whose returns are those of a mixture of policies. It is certified like others up to the rounding of the
	// bound, which is computed anew for the answer in the end. Others do not look at it.
	Early func(*Result)

	now        func() time.Time // of Budget, nil for the clock
	deadline   time.Time        // of Budget, also for another task that is solved on the way; zero before it is known
	memoryless bool             // no policy has to remember anything
	unpriced   bool             // nobody asks for prices
	cutoff     *float64         // of a subproblem of branch and bound, which is of no use from this bound on
}

// ofAnotherTask returns o for a task that is solved on the way: of its value iterations alone is told, since bounds and
// objectives are not those of the task that was asked for.
func (o Options) ofAnotherTask() Options {
	o.Early = nil
	if tell := o.Progress; tell != nil {
		o.Progress = func(iterations int, _, _ float64) { tell(iterations, math.Inf(-1), math.Inf(1)) }
	}
	return o
}

// EarlyGap is the gap of early answers, relative like Options.Gap.
const EarlyGap = 1e-3

const (
	defaultGap         = 1e-10
	defaultSmoothGap   = 5e-10
	smoothGap          = 2e-8
	defaultJoinGap     = 1e-6
	defaultFeasibility = 1e-10
	defaultIterations  = 2000
)

// withDefaults returns o with zero values replaced, or an error.
func (o Options) withDefaults() (Options, error) {
	if !(o.Gap >= 0 && o.Gap < 1) {
		return o, fmt.Errorf("exact: relative gap %g: want at least 0 and below 1", o.Gap)
	}
	if !(o.JoinGap >= 0 && o.JoinGap < 1) {
		return o, fmt.Errorf("exact: relative gap %g where classes are joined: want at least 0 and below 1", o.JoinGap)
	}
	if o.Budget < 0 {
		return o, fmt.Errorf("exact: budget %v: want a time above 0, or 0 for any", o.Budget)
	}
	if !(o.Feasibility >= 0 && o.Feasibility < 1) {
		return o, fmt.Errorf("exact: feasibility tolerance %g: want at least 0 and below 1", o.Feasibility)
	}
	if o.Iterations < 0 || o.Workers < 0 {
		return o, fmt.Errorf("exact: %d iterations, %d workers: want 0 for the default, or more", o.Iterations,
			o.Workers)
	}
	o.JoinGap = max(o.JoinGap, o.Gap)
	if o.JoinGap == 0 {
		o.JoinGap = defaultJoinGap
	}
	if o.Feasibility == 0 {
		o.Feasibility = defaultFeasibility
	}
	if o.Iterations == 0 {
		o.Iterations = defaultIterations
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o, nil
}
