package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// A supportingPoint is the answer of a weighted problem: a point of a curve, and the half-space that no policy is
// beyond.
type supportingPoint struct {
	*Result
	weights []float64
	mixed   bool
	policy  *lazyPolicy
}

// solveFirst minimises the first of several weighted sums of the objectives, as many as the pricer can at once, and
// spare ones beside them. It ends with the first that has no minimum, or that there is an error about.
func (f *front) solveFirst(p pricer, weights [][]float64) (out []*supportingPoint, err error) {
	t := p.traits()
	unlimited := f.task.Target == nil && len(f.task.Constraints) == 0 && t.singlePolicy
	if f.simultaneous == nil && t.simultaneous != nil && unlimited {
		f.simultaneous, err = t.simultaneous(f.ctx)
		if err != nil {
			return nil, err
		}
	}
	needed := min(len(weights), f.simultaneous.most())
	weights = weights[:needed:needed]
	if f.scale == nil && t.usesSweeps {
		weights = append(weights, f.between(min(f.simultaneous.inOnePass(), f.opts.Points)-needed)...)
	}
	gradients := make([][]float64, len(weights))
	for j := range gradients {
		gradients[j] = make([]float64, f.planner.dim())
		for k, w := range weights[j] {
			floats.AddScaled(gradients[j], w, f.opts.Over[k])
		}
	}
	aims := make([]float64, len(gradients))
	for j := range aims {
		aims[j] = f.accuracy(weights[j])
	}
	f.configure(p, aims[0])
	priced, err := f.simultaneous.price(f.ctx, gradients, aims)
	p.configure(progress.Of(f.ctx), 0, false)
	if err != nil {
		return nil, err
	}
	for j, dir := range gradients {
		if j >= needed && priced[j] == nil {
			continue
		}
		w, err := f.solve(p, dir, aims[j], unlimited, priced[j])
		if err != nil {
			return out, err
		}
		w.weights = weights[j]
		out = append(out, w)
		if w.endless() {
			break
		}
	}
	return out, nil
}

// between returns n weights between those of two objectives alone, none for more: where these are swept beside each
// other, others take no longer, and directions that come later begin from near ones. They lie the closer, the nearer to
// one objective they are, where policies change the most. Objectives count by what a step has of them at most, as their
// ranges are not known yet.
func (f *front) between(n int) (weights [][]float64) {
	if len(f.opts.Over) != 2 || f.steps == nil {
		return nil
	}
	size := make([]float64, 2)
	for k, c := range f.opts.Over {
		for i, x := range f.steps {
			size[k] += math.Abs(c[i]) * x
		}
	}
	for j := 1; j <= n; j++ {
		share := 0.5 - 0.5*math.Cos(math.Pi*float64(j)/float64(n+1))
		w := []float64{share * size[1], (1 - share) * size[0]}
		if sum := floats.Sum(w); min(w[0], w[1]) > 0 && !math.IsInf(sum, 1) {
			weights = append(weights, scaled(1/sum, w))
		}
	}
	return weights
}

// endless reports that a weighted problem has no minimum.
func (w *supportingPoint) endless() bool { return w.Status == Infeasible || math.IsInf(w.Bound, -1) }

// solve minimises a linear cost, up to aim where a model is so large that less takes longer. The policy that is the
// cheapest without limits may be known already.
func (f *front) solve(p pricer, gradient []float64, aim float64, unlimited bool,
	known *pricedPolicy) (*supportingPoint, error) {
	if unlimited {
		w, err := f.withoutLimits(p, gradient, aim, known)
		if w != nil || err != nil {
			return w, err
		}
	}
	return f.withLimits(p, gradient, aim)
}

// withoutLimits is solve without limits: what is cheapest is one policy, and no master is needed. It returns nil if
// there is none.
func (f *front) withoutLimits(p pricer, gradient []float64, aim float64,
	known *pricedPolicy) (*supportingPoint, error) {
	f.configure(p, aim)
	defer p.configure(progress.Of(f.ctx), 0, false)
	for found := known; ; found = nil {
		f.result.Iterations++
		if found == nil {
			priced, err := p.price(f.ctx, gradient, aim)
			if err != nil || priced.ray != nil {
				return nil, err
			}
			found = &priced
		}
		value, margin := found.value, found.margin
		var err error
		if !found.certified {
			value, margin, err = p.recheck(f.ctx, gradient)
		}
		if err != nil || math.IsInf(margin, 1) {
			return nil, err
		}
		r := &Result{Status: Optimal, Returns: found.withInfinite}
		if r.Returns == nil {
			r.Returns = slices.Clone(found.returns)
		}
		r.Objective = dot(gradient, r.Returns)
		r.Bound = math.Min(value-margin, r.Objective)
		r.Gap = r.Objective - r.Bound
		if !isFinite(r.Objective) {
			return nil, nil
		}
		if found.approximate && r.Gap > aim {
			aim = 0
			p.configure(progress.Of(f.ctx), 0, true)
			continue
		}
		c := newColumn(*found, gradient)
		f.columns = append(f.columns, c)
		f.planner.keepColumns(f.columns)
		return &supportingPoint{Result: r, policy: f.lazily(func(ctx context.Context, q pricer) (*Result, error) {
			if c.policy != nil {
				return &Result{Policy: &Policy{steps: []markov.Rule{{Actions: *c.policy.actions()}}}}, nil
			}
			policy, err := q.recoverPolicy(ctx, []column{c}, []float64{1}, face{cost: gradient}, math.Inf(1))
			return &Result{Policy: policy}, err
		})}, nil
	}
}

// configure makes a pricer prove its bounds, which need not be exact before ranges are known, see accuracy.
func (f *front) configure(p pricer, aim float64) {
	enough := 0.0
	if aim == 0 {
		enough = 0.01 * f.opts.Error
	}
	p.configure(progress.Of(f.ctx), enough, true)
}

// lazily returns the policy that work makes, when it is asked for.
func (f *front) lazily(work func(context.Context, pricer) (*Result, error)) *lazyPolicy {
	planner, relevance, opts := f.planner, f.relevance, f.opts.Options
	return &lazyPolicy{make: func(ctx context.Context) (r *Result, err error) {
		err = planner.withPricer(ctx, relevance, opts, func(q pricer) (err error) {
			r, err = work(ctx, q)
			return err
		})
		return r, err
	}}
}

// withLimits is solve with limits: column generation, starting from all policies that are known.
func (f *front) withLimits(p pricer, gradient []float64, aim float64) (*supportingPoint, error) {
	box, err := f.box(p)
	if err != nil {
		return nil, err
	}
	task, opts := f.task, f.opts.Options
	opts.Early, opts.NoNearest, opts.unpriced = nil, true, true
	task.Cost, err = cost.NewLinear(gradient, box)
	if err != nil {
		return nil, fmt.Errorf("exact: front: %w", err)
	}
	within, err := newProgram(f.ctx, p, task, opts)
	if err != nil {
		return nil, err
	}
	s, err := newSolver(f.whole, p, within)
	if err != nil {
		return nil, err
	}
	s.newPricer = func() error { return f.planner.renew(s.ctx, f.relevance, opts, s) }
	if f.columns == nil {
		f.columns = f.planner.columns
	}
	s.seed, s.seedSuffices = f.columns, len(f.columns) > 0
	if s.traits.usesSweeps {
		s.absoluteGap = aim
	}
	f.cutShort = false
	s.budget, s.mixtureSuffices = f.budget, !s.traits.relevanceOnly
	if f.budget != nil && f.scale == nil && s.mixtureSuffices {
		s.mostRefined = f.shareOfEnds()
	}
	verdict, err := s.decide()
	if errors.Is(err, errBudget) && s.mixtureSuffices && s.meetsTarget { // what was found by then has a bound, too
		verdict, err, f.cutShort = Undecided, nil, true
		s.proveWithoutLimits()
	}
	w := &supportingPoint{}
	if err == nil && s.mixtureSuffices && (verdict == Optimal || verdict == Undecided) {
		w.Result, err = s.answerInTime(func() (*Result, error) {
			if err := s.replaceInterrupted(); err != nil {
				return nil, err
			}
			return s.mixtureResult()
		})
		w.mixed = true
		if err == nil && f.cutShort && !isFinite(w.Bound) {
			err = errBudget
		}
		w.policy = f.lazily(func(ctx context.Context, q pricer) (*Result, error) {
			g := *s.columnGeneration
			g.ctx, g.pricing, g.traits, g.budget = ctx, q, q.traits(), nil
			// Others on an edge of the curve cost as much at these weights.
			of := recovery{columnGeneration: &g, pricer: q, keepReturns: true, joined: s.joined}
			r := &Result{}
			return r, of.recoverIncumbent(r)
		})
	} else if err == nil {
		w.Result, err = s.answer(verdict)
		w.mixed = err == nil && (w.Randomized > 0 || len(w.Mixture) > 0)
		r := w.Result
		w.policy = &lazyPolicy{known: r}
	}
	f.planner.stale = f.planner.stale || f.budget != nil && f.budget.interrupted
	f.planner.keepColumns(s.master.columns)
	f.columns = s.master.withoutLinks()
	f.result.Iterations += s.iterations
	return w, err
}

// shareOfEnds is the time up to which an objective alone is refined, once there is a policy that keeps the limits: the
// ends of the curve have equal parts of the time that is left, and the rest of it another one.
func (f *front) shareOfEnds() time.Time {
	now, left := f.budget.now(), len(f.opts.Over)-len(f.result.Points)
	return now.Add(f.budget.deadline.Sub(now) / time.Duration(1+max(1, left)))
}

// box returns the box of all returns.
func (f *front) box(p pricer) (*geometry.Box, error) {
	if f.task.Box != nil {
		return f.task.Box, nil
	}
	lower, upper := make([]float64, f.planner.m.Dim()), make([]float64, f.planner.m.Dim())
	if err := p.extent(f.ctx, lower, upper); err != nil {
		return nil, err
	}
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		return nil, fmt.Errorf("exact: front: %w", err)
	}
	return box, nil
}
