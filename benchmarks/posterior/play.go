package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"gonum.org/v1/gonum/floats"
)

// A played is a problem that is played, with its optimum.
type played struct {
	*problem.Problem
	model *cmdp.Model // as it is
	// what learners play in the place of a model that hides how it is
	simulator                   func() (cmdp.Environment, error)
	known                       *cmdp.Returns
	task                        cmdp.Task
	optimum                     float64
	regretRange, violationRange float64
}

// open prepares a problem: an instance, "rare", or "shifting:" with a seed.
func open(ctx context.Context, name string) (*played, error) {
	p, err := &played{}, error(nil)
	if seed, ok := strings.CutPrefix(name, "shifting:"); ok {
		err = p.shifting(seed)
	} else if name == "rare" {
		err = p.rare()
	} else {
		p.Problem, err = instance.New(name)
	}
	if err != nil {
		return nil, err
	}
	if p.model == nil {
		p.model, p.known = p.Model, p.Model.KnownReturns()
	}
	if p.task, err = query.TaskOf(ctx, p.Problem); err != nil {
		return nil, err
	}
	r, err := exact.Solve(ctx, p.model, p.task, exact.Options{})
	if err != nil {
		return nil, err
	}
	if r.Status != exact.Optimal {
		return nil, errors.New(name + " has no optimum")
	}
	p.optimum = r.Objective
	p.regretRange, p.violationRange, err = baseline.Ranges(p.Shape(), p.task)
	return p, err
}

// A shift is an environment that looks the same at every step, but is another one at every
// other step.
type shift struct{ even, odd *cmdp.Model }

func (s shift) Shape() *cmdp.Shape       { return s.even.Shape() }
func (s shift) Start(rng *rand.Rand) int { return s.even.Start(rng) }
func (s shift) Step(returns []float64, rng *rand.Rand, h, state, action int) int {
	if h%2 == 0 {
		return s.even.Step(returns, rng, h, state, action)
	}
	return s.odd.Step(returns, rng, h, state, action)
}

// shifting makes a shift of two Garnets with the same returns.
func (p *played) shifting(seed string) error {
	even, err := instance.New("garnet:S=10,A=3,H=5,d=3,b=3,seed=" + seed)
	if err != nil {
		return err
	}
	odd, err := instance.New("garnet:S=10,A=3,H=5,d=3,b=3,seed=9" + seed)
	if err != nil {
		return err
	}
	first, other := even.Model, *odd.Model.Kernel(0)
	other.Returns, other.Vector = first.Kernel(0).Returns, first.Kernel(0).Vector
	spec := cmdp.ModelSpec{Horizon: first.Horizon(), Dim: first.Dim(), Start: first.StartStates(),
		Kernels: []cmdp.Kernel{other}}
	second, err := cmdp.NewModel(spec)
	if err != nil {
		return err
	}
	p.simulator = func() (cmdp.Environment, error) { return shift{first, second}, nil }
	p.known = first.KnownReturns()
	spec.Kernels = nil
	for h := range spec.Horizon {
		spec.Kernels = append(spec.Kernels, *[]*cmdp.Kernel{first.Kernel(0), &other}[h%2])
	}
	p.Problem = even
	p.Model, p.Simulated = nil, first.Shape()
	p.model, err = cmdp.NewModel(spec)
	return err
}

// rare makes the problem of rare disasters.
func (p *played) rare() error {
	const disaster = 1e-3
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 5, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 2)
	for _, row := range []cmdp.Row{
		{Step: cmdp.EveryStep, State: 0, Action: 0, Returns: []float64{0.5, 0},
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
		{Step: cmdp.EveryStep, State: 0, Action: 1, Returns: []float64{1, 0},
			Next: []cmdp.Transition{{Next: 0, Probability: 1 - disaster}, {Next: 1, Probability: disaster}}},
		{Step: cmdp.EveryStep, State: 1, Action: 0, Returns: []float64{0, 1},
			Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
	} {
		if err := b.Add(row); err != nil {
			return err
		}
	}
	limit := 0.004
	p.Problem = &problem.Problem{Name: "rare", Returns: []string{"reward", "cost"},
		Goal:        problem.Goal{Maximize: "reward"},
		Constraints: []problem.Constraint{{Return: "cost", AtMost: &limit}}}
	var err error
	p.Model, err = b.Build()
	return err
}

// A curve is the regret and the violation of the mean return along a run, with the processor time
// and the learner's work so far. These two say something of runs that are played one after the other.
type curve struct {
	at                         []int
	regret, violation, seconds []float64
	work                       []baseline.Work
	begin                      time.Duration
}

// play plays a variant with the seeds from 1 on, as many runs at a time as parallel says, 0 for
// one for each processor.
func (p *played) play(ctx context.Context, v *variant, seeds, episodes, parallel int) ([]*curve, error) {
	c, err := harness.Contest(ctx, p.Problem, v.algorithm, func(s *contest.Settings) {
		s.Episodes, s.Seeds, s.Pool, s.Lazy = episodes, seeds, !v.apart, true
		s.Bonus = cmp.Or(v.bonus, s.Bonus)
		if p.simulator != nil {
			s.Returns = "unknown" // as far as the contest knows
		}
	}, contest.Options{Unmeasured: true, Unsolved: true, Simulator: p.simulator, Configure: func(c *baseline.Config) {
		c.Returns, c.Tuning = p.known, v.tuning
		c.Confidence.Episodes = max(episodes, v.told)
		switch v.support {
		case "told":
			c.Knowledge.Support = baseline.SupportOf(p.model)
		case "wrong":
			c.Knowledge.Support = wrongSupport(p.model)
		}
	}})
	if err != nil {
		return nil, err
	}
	curves := make([]*curve, seeds)
	err = contest.Play(ctx, c.Trials(), contest.PlayOptions{Parallel: parallel,
		Progress: func(r *contest.Run, played int) {
			if played == 0 {
				curves[r.Index] = &curve{begin: harness.ProcessorTime()}
			}
		}, Recorded: func(r *contest.Run) {
			x, mean := curves[r.Index], r.Runner.Average()
			x.at = append(x.at, r.Runner.Episodes())
			x.regret, x.violation = append(x.regret, p.task.Cost.Value(mean)-p.optimum),
				append(x.violation, p.task.Violation(mean))
			x.seconds, x.work = append(x.seconds, (harness.ProcessorTime()-x.begin).Seconds()),
				append(x.work, r.Learner.(baseline.Worker).Work())
		}})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.algorithm, err)
	}
	return curves, nil
}

// wrongSupport leaves out the likeliest successor of each choice that has several.
func wrongSupport(m *cmdp.Model) baseline.Support {
	support := baseline.SupportOf(m)
	for h := range support {
		rows := m.Rows(h)
		for c, next := range support[h] {
			if len(next) < 2 {
				continue
			}
			successors, prob := rows.Row(c)
			likeliest := successors[floats.MaxIdx(prob)]
			support[h][c] = slices.DeleteFunc(slices.Clone(next), func(s int32) bool { return s == likeliest })
		}
	}
	return support
}
