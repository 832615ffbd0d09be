package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A played is a problem that is played, with its optimum.
type played struct {
	model                       *cmdp.Model
	env                         cmdp.Environment // what learners play: the model, or one that hides that it changes
	task                        cmdp.Task
	optimum                     float64
	regretRange, violationRange float64
}

// open prepares a problem: an instance, "rare", or "shifting:" with a seed.
func open(ctx context.Context, name string) (*played, error) {
	p := &played{}
	if seed, ok := strings.CutPrefix(name, "shifting:"); ok {
		if err := p.shifting(seed); err != nil {
			return nil, err
		}
	} else if name == "rare" {
		if err := p.rare(); err != nil {
			return nil, err
		}
	} else {
		of, err := instance.New(name)
		if err != nil {
			return nil, err
		}
		p.model = of.Model
		if p.task, err = of.Task(); err != nil {
			return nil, err
		}
	}
	r, err := exact.Solve(ctx, p.model, p.task, exact.Options{})
	if err != nil {
		return nil, err
	}
	if r.Status != exact.Optimal {
		return nil, errors.New(name + " has no optimum")
	}
	p.optimum = r.Objective
	if p.env == nil {
		p.env = p.model
	}
	p.regretRange, p.violationRange, err = harness.Ranges(p.env.Shape(), p.task)
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
	if p.task, err = even.Task(); err != nil {
		return err
	}
	other := *odd.Model.Kernel(0)
	other.Returns = even.Model.Kernel(0).Returns
	spec := cmdp.ModelSpec{Horizon: even.Model.Horizon(), Dim: even.Model.Dim(), Start: even.Model.StartStates(), Kernels: []cmdp.Kernel{other}}
	second, err := cmdp.NewModel(spec)
	if err != nil {
		return err
	}
	p.env = shift{even.Model, second}
	spec.Kernels = nil
	for h := range spec.Horizon {
		spec.Kernels = append(spec.Kernels, *[]*cmdp.Kernel{even.Model.Kernel(0), &other}[h%2])
	}
	p.model, err = cmdp.NewModel(spec)
	return err
}

// known returns the expected returns that learners are told.
func (p *played) known() *cmdp.Returns {
	if s, ok := p.env.(shift); ok {
		return s.even.KnownReturns()
	}
	return p.model.KnownReturns()
}

// rare makes the problem of rare disasters.
func (p *played) rare() error {
	const disaster, limit = 1e-3, 0.004
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 5, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 2)
	for _, row := range []cmdp.Row{
		{Step: cmdp.EveryStep, State: 0, Action: 0, Returns: []float64{0.5, 0}, Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
		{Step: cmdp.EveryStep, State: 0, Action: 1, Returns: []float64{1, 0}, Next: []cmdp.Transition{{Next: 0, Probability: 1 - disaster}, {Next: 1, Probability: disaster}}},
		{Step: cmdp.EveryStep, State: 1, Action: 0, Returns: []float64{0, 1}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
	} {
		if err := b.Add(row); err != nil {
			return err
		}
	}
	var err error
	if p.model, err = b.Build(); err != nil {
		return err
	}
	box, err := geometry.NewBox([]float64{0, 0}, []float64{5, 5})
	if err != nil {
		return err
	}
	if p.task.Cost, err = cost.NewLinear([]float64{-1, 0}, box); err != nil {
		return err
	}
	within, err := geometry.NewBox([]float64{0, 0}, []float64{5, limit})
	if err != nil {
		return err
	}
	p.task.Target, err = within.Bounded()
	return err
}

// A curve is the regret and the violation of the mean return along a run.
type curve struct {
	at                []int
	regret, violation []float64
}

// play plays one run.
func (p *played) play(ctx context.Context, v *variant, seed uint64, episodes int) (*curve, error) {
	bonus := v.bonus
	if bonus == "" {
		bonus = "practice"
	}
	scale, err := cmdp.ParseBonusScale(bonus)
	if err != nil {
		return nil, err
	}
	c := baseline.Config{Shape: p.env.Shape(), Returns: p.known(), Task: p.task, Confidence: cmdp.Confidence{Episodes: episodes, Failure: 0.05},
		Bonus: scale, Pooled: !v.apart, Seed: seed, Lazy: true, Tuning: v.tuning}
	switch v.support {
	case "told":
		c.Knowledge.Support = baseline.SupportOf(p.model)
	case "wrong":
		c.Knowledge.Support = wrongSupport(p.model)
	}
	l, err := baseline.New(v.algorithm, c)
	if err != nil {
		return nil, err
	}
	env, agent := rand.New(cmdp.Stream(seed, "environment")), rand.New(cmdp.Stream(seed, "agent"))
	tr, mean, out := cmdp.NewTrajectory(p.env.Shape()), make([]float64, p.model.Dim()), &curve{}
	sum, next := make([]float64, p.model.Dim()), 1
	for k := 1; k <= episodes; k++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("interrupted: %w", err)
		}
		tr.Play(p.env, l.Policy(), env, agent)
		l.Observe(tr)
		floats.Add(sum, tr.Total)
		if k == next || k == episodes {
			next = cmdp.NextRecord(k)
			floats.ScaleTo(mean, 1/float64(k), sum)
			out.at = append(out.at, k)
			out.regret, out.violation = append(out.regret, p.task.Cost.Value(mean)-p.optimum), append(out.violation, p.task.Violation(mean))
		}
	}
	return out, nil
}

// wrongSupport leaves out the likeliest successor of each choice that has several.
func wrongSupport(m *cmdp.Model) baseline.Support {
	support := baseline.SupportOf(m)
	for h := range support {
		k := m.Kernel(h)
		for c, next := range support[h] {
			if len(next) < 2 {
				continue
			}
			first, end := k.Offset[c], k.Offset[c+1]
			likeliest := k.Next[first+floats.MaxIdx(k.Prob[first:end])]
			support[h][c] = slices.DeleteFunc(slices.Clone(next), func(s int32) bool { return s == likeliest })
		}
	}
	return support
}
