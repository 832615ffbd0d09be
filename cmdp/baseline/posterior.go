package baseline

import (
	"cmp"
	"context"
	"errors"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

const (
	posteriorSource    = "this project: posterior sampling (Osband, Russo, Van Roy 2013) of the whole constrained problem"
	posteriorCertainty = "defined by docs/algorithms.md; nothing published to compare the constants with"
)

var _, _ = registerPosterior("posterior", true, "with"), registerPosterior("posterior-plain", false, "without")

func registerPosterior(name string, correct bool, with string) bool {
	return register(Algorithm{
		Name: name, New: func(c Config) (cmdp.Learner, error) { return newPosterior(name, correct, c) },
		Source: posteriorSource + ", " + with + " correction of the past",
		Planner: "exact planning on a drawn model or on the frequencies, by a coin, at most when k has grown by 5% " +
			"or counts have doubled",
		Guarantee: "Bayesian, for the prior, of the half of the blocks that are drawn: mean regret " +
			"Õ(H√(d S A H / K)); none for a fixed kernel",
		NonlinearCost: true, NonlinearConstraints: true, Efficient: true, UsesSupport: true, Endless: true,
		EndlessGuarantee: "none proved without episodes; for long-run means psconrl, which plans for the limits " +
			"alone and never for what the run owes, has a Bayesian one",
		Published: "no bonus: the scale changes nothing", Certainty: posteriorCertainty,
	})
}

// Defaults of the settings of posterior, see [Tuning].
const (
	// DefaultPriorWeight is that of posterior, posterior-plain and moma-posterior with episodes, OtherPriorWeight
	// that of all else that draws models.
	DefaultPriorWeight = 0.1
	OtherPriorWeight   = 1.0
	DefaultCorrection  = 0.25
	DefaultGrowth      = 0.05
)

// doubledShare is the share of the steps of a block that have to be taken at choices
// whose visits have doubled since its start, for the block to end early. Without it
// some rare choice doubles in nearly every episode of a large model.
const doubledShare = 0.05

// posteriorGap over √(k+1) is the gap of plans for drawn models, relative to the range of the goal: a hundredth of the
// error that k episodes leave in a mean of range 1.
const posteriorGap = 0.01

// goalShare returns the range of a goal over the box of possible returns in shares of its greatest magnitude there, at
// most 1, by which a gap relative to the range is multiplied: the gap of [exact.Options] is relative to the magnitude
// where that is greater, which a constant in the goal or in returns makes as large as it likes. It is 1 where there is
// no goal, or one that is curved over too many returns.
func goalShare(sh *cmdp.Shape, task cmdp.Task) float64 {
	if task.Cost == nil {
		return 1
	}
	goal := cmdp.Task{Cost: task.Cost} // a target has no part in it
	size, _, err := Ranges(sh, goal)
	if err != nil || size == 0 {
		return 1
	}
	least := goal.LeastCost(sh)
	return size / max(size, math.Abs(least), math.Abs(least+size))
}

// reachableGap returns a gap, or the least one that plans for a curved goal come to: rounding leaves as much.
func reachableGap(task cmdp.Task, gap float64) float64 {
	const curved = 2e-8
	if _, affine := task.Cost.(cost.Affine); affine || task.Cost == nil || gap == 0 {
		return gap
	}
	return max(gap, curved)
}

// drawnShare is the probability that a block of episodes is planned on a drawn model, and not on the frequencies.
// Given the same history, the best policy for the mean of the posterior has no greater mean regret than that for a
// draw, at least for a linear goal without limits and with counts that are kept apart: then the mean return of a
// policy is its return in the mean model. A coin that does not look at the history therefore costs at most
// 1/drawnShare times the regret of posterior sampling in the mean, and it saves what trying out what a draw has
// made up would have cost. That is the reason and not a proof: frequencies leave out the prior, and what was never
// visited is drawn all the same, so that it is tried.
const drawnShare = 0.5

// A posterior samples a model from what the counts leave possible, plans the whole
// task on it, plays the answer for a block of episodes, and starts anew.
//
// A block starts at episode k when k ≥ (1+ε)·(k at the last start), or when 5% of
// the steps since then went through choices whose visits have doubled. Then, with R
// the sum of the returns of the first k episodes,
//
//  1. a model P̃ is drawn: rows independent Dirichlet, the prior symmetric with total
//     weight α, [DefaultPriorWeight], over the possible successors; returns that are to be learned have
//     means that are Beta distributed on their range. In every second block on average, by a coin, choices that
//     were visited have the frequencies of their successors and the means of these Beta distributions instead, see
//     drawnShare;
//  2. the past is to be made good within m = ⌈βk⌉ episodes, no more than remain;
//  3. the policy π is that which weighs regret against violation of the mean return (R + m·v)/(k+m) after these
//     episodes, over the returns v of all policies in P̃, see [balance].
//
// Without half-spaces as limits, without a goal, or without episodes, π minimises g((R + m·v)/(k+m)) subject to
// (R + m·v)/(k+m) ∈ W* in step 3; without the correction, g(v) subject to v ∈ W*. If no v is feasible, π comes
// as near as possible to the target, and costs least among the policies that do. Without episodes all blocks are
// drawn.
type posterior struct {
	*core
	task    cmdp.Task
	correct bool
	beta    float64
	growth  float64
	drawer  drawer
	x       posteriorState
	balance *balance // nil where the past is made good whole, or not at all
	run     *course  // nil with episodes
	share   float64  // see goalShare
}

// posteriorState is what a posterior keeps beyond the core.
type posteriorState struct {
	Total   []float64 // R
	Start   int       // episode at which the block started
	Steps   int       // steps of the block
	Doubled int       // those among them at choices that have doubled
	Visits  []float64 // visits of every row when the block started
}

// newPosterior returns posterior sampling, with or without the correction.
func newPosterior(name string, correct bool, c Config) (cmdp.Learner, error) {
	core, err := coreOf(newCoordinates(&c, false), &c)
	if err != nil {
		return nil, err
	}
	if c.Endless == nil {
		c.Tuning.PriorWeight = cmp.Or(c.Tuning.PriorWeight, DefaultPriorWeight)
	}
	l := &posterior{core: core, task: cmdp.Task{Cost: c.Task.Cost, Target: c.Task.Target}, correct: correct,
		drawer: newDrawer(core.estimate, &c, name), share: goalShare(c.Shape, c.Task),
		beta: cmp.Or(c.Tuning.Correction, DefaultCorrection), growth: cmp.Or(c.Tuning.Growth, DefaultGrowth)}
	l.x = posteriorState{Total: make([]float64, c.Shape.Dim()), Visits: l.visits()}
	l.replan = l.begin
	l.Keep(l.drawer.source, &l.x.Total, &l.x.Start, &l.x.Steps, &l.x.Doubled, &l.x.Visits)
	switch {
	case c.Endless != nil:
		l.run = newCourse(core, c.Endless)
	case correct:
		l.balance, err = newBalance(c.Shape, c.Task)
		if err != nil {
			return nil, err
		}
	}
	if l.balance != nil {
		l.Keep(&l.balance.noise)
	}
	return l, nil
}

// startBlock remembers where the block starts.
func (l *posterior) startBlock() {
	l.x.Start, l.x.Steps, l.x.Doubled, l.x.Visits = l.state.Episodes, 0, 0, l.visits()
	if l.run != nil {
		l.run.begin()
		l.drawer.from = l.run.from()
	}
}

// begin starts a block. If planning fails, which numerical trouble alone can cause, the
// policy stays as it is.
func (l *posterior) begin() {
	l.startBlock()
	l.state.Work.Programs++
	model, p, feasible, err := l.plan()
	if err != nil || !feasible {
		l.state.Work.Infeasible++
	}
	if err != nil {
		return
	}
	if l.run != nil {
		l.run.follow(model, p)
		return
	}
	l.policy.take(p)
}

// plan solves the task on a drawn model.
func (l *posterior) plan() (model *cmdp.Model, p *exact.Policy, feasible bool, err error) {
	l.drawer.frequencies = l.run == nil && l.drawer.rng.Float64() >= drawnShare
	model, err = l.drawer.model()
	if err != nil {
		return nil, nil, false, err
	}
	var task cmdp.Task
	if l.balance != nil && l.state.Episodes > 0 {
		// What regret is counted from: the least cost in this model, whatever the past was.
		free, err := l.solve(model, l.task)
		if err != nil {
			return nil, nil, false, err
		}
		task, err = l.balance.task(l.task.Cost, l.x.Total, float64(l.state.Episodes), l.ahead(), free)
		if err != nil {
			return nil, nil, false, err
		}
	} else {
		task, err = l.remaining()
		if err != nil {
			return nil, nil, false, err
		}
	}
	var r *exact.Result
	if l.run != nil {
		r, p, err = planEndless(l.ctx, model, task, endlessOptions(l.state.Episodes, l.share), l.drawer.rng)
		l.ended(err)
		if err == nil {
			l.state.Work.Planner += r.Iterations
		}
	} else {
		r, err = l.solve(model, task)
		if err == nil {
			p = r.Policy
		}
	}
	if err != nil {
		return nil, nil, false, err
	}
	return model, p, r.Status != exact.Infeasible, nil
}

// solve solves a task of episodes on a drawn model.
func (l *posterior) solve(model *cmdp.Model, task cmdp.Task) (*exact.Result, error) {
	gap := l.share * posteriorGap / math.Sqrt(float64(l.state.Episodes)+1)
	opts := exact.Options{Gap: reachableGap(task, gap), Workers: 1}
	r, err := BestOrNearest(l.ctx, model, task, opts)
	l.ended(err)
	if err == nil {
		l.state.Work.Planner += r.Iterations
	}
	return r, err
}

// ahead returns m, the number of episodes within which the past is made good.
func (l *posterior) ahead() float64 {
	k := float64(l.state.Episodes)
	return max(1, min(math.Ceil(l.beta*k), l.k-k))
}

var errNoPolicy = errors.New("baseline: planning found no policy")

// BestOrNearest is [exact.Solve] of a task that possibly no policy of m keeps. If the status is
// infeasible, the policy has the least cost, as far as can be found, among those that come nearest
// to the target. It is an error if there is no policy.
func BestOrNearest(ctx context.Context, m *cmdp.Model, task cmdp.Task, opts exact.Options) (*exact.Result, error) {
	r, err := bestOrNearest(ctx, m, task, opts)
	if err == nil && r.Policy == nil {
		return nil, errNoPolicy
	}
	return r, err
}

// bestOrNearest is BestOrNearest where there may be components in the place of a policy.
func bestOrNearest(ctx context.Context, m *cmdp.Model, task cmdp.Task, opts exact.Options) (*exact.Result, error) {
	r, err := exact.Solve(ctx, m, task, opts)
	if err != nil || r.Status != exact.Infeasible || task.Cost == nil || r.Returns == nil {
		return r, err
	}
	// The nearest policies are those of the target inflated by its distance.
	near, err := geometry.NewInflate(task.Target, r.Violation*(1+1e-6)+2*r.Tolerance)
	if err != nil {
		return r, nil
	}
	second, err := exact.Solve(ctx, m, cmdp.Task{Cost: task.Cost, Target: near.(geometry.Compact)}, opts)
	if err != nil {
		return r, ctx.Err()
	}
	r.Iterations += second.Iterations
	if second.Status != exact.Infeasible && (second.Policy != nil || second.Mixture != nil) {
		r.Policy, r.Mixture, r.Objective, r.Returns = second.Policy, second.Mixture, second.Objective,
			second.Returns
	}
	return r, nil
}

// remaining is the task of the returns v of the coming episodes, so that their mean
// with the past, offset + factor·v, solves the task.
func (l *posterior) remaining() (cmdp.Task, error) {
	k := float64(l.state.Episodes)
	if !l.correct || k == 0 {
		return l.task, nil
	}
	m := l.ahead()
	factor := m / (k + m)
	d := len(l.x.Total)
	offset, back := make([]float64, d), make([]float64, d)
	floats.AddScaled(offset, 1/(k+m), l.x.Total)
	floats.AddScaled(back, -1, offset)
	var task cmdp.Task
	if l.task.Cost != nil {
		lower, upper := l.shape.Totals()
		box, err := geometry.NewBox(lower, upper)
		if err != nil {
			return task, err
		}
		task.Cost, err = cost.NewPrecomposed(l.task.Cost, diagonal(d, factor), offset, box)
		if err != nil {
			return task, err
		}
	}
	if l.task.Target != nil {
		moved, err := geometry.NewTranslate(l.task.Target, back)
		if err != nil {
			return task, err
		}
		moved, err = geometry.NewScale(moved, 1/factor)
		if err != nil {
			return task, err
		}
		task.Target = moved.(geometry.Compact)
	}
	return task, nil
}

// Observe counts an episode, and ends the block if it is time to.
func (l *posterior) Observe(tr *cmdp.Trajectory) {
	planned := l.state.Planned
	l.observe(tr)
	floats.Add(l.x.Total, tr.Total)
	if l.balance != nil {
		l.balance.noise.observe(tr.Total, l.state.Episodes)
	}
	for t := range tr.Steps {
		if tr.Actions[t] < 0 {
			continue
		}
		at := slot{t, tr.States[t], tr.Actions[t]}
		if l.pooled() {
			at.h = 0
		}
		i := l.index(at)
		l.x.Steps++
		if l.layer(at.h)[i-l.base[at.h]].visits >= 2*l.x.Visits[i] {
			l.x.Doubled++
		}
	}
	end := (1 + l.growth) * float64(l.x.Start)
	if l.run != nil {
		l.run.step(tr)
		end = max(end, float64(l.x.Start+l.run.x.Length+1))
	}
	l.state.Planned = planned && float64(l.state.Episodes) < end &&
		float64(l.x.Doubled) < doubledShare*float64(l.x.Steps)
}
