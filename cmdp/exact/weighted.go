package exact

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// A supporting is the answer of a weighted problem: a point of a curve, and the half-space that no policy is beyond.
type supporting struct {
	*Result
	mixed  bool
	policy *made
}

// solve minimises a linear cost, up to aim where a model is so large that less takes longer.
func (f *front) solve(p pricer, gradient []float64, aim float64) (*supporting, error) {
	if t := p.traits(); f.task.Target == nil && len(f.task.Constraints) == 0 && t.plain {
		w, err := f.alone(p, gradient, aim)
		if w != nil || err != nil {
			return w, err
		}
	}
	return f.within(p, gradient, aim)
}

// alone is solve without limits: what is cheapest is one policy, and no master is needed. It returns nil if
// there is none.
func (f *front) alone(p pricer, gradient []float64, aim float64) (*supporting, error) {
	enough := 0.0
	if aim == 0 {
		enough = 0.01 * f.opts.Error
	}
	p.work(f.opts.Working, enough, true)
	defer p.work(f.opts.Working, 0, false)
	for {
		found, err := p.price(f.ctx, gradient, aim)
		f.result.Iterations++
		if err != nil || found.ray != nil {
			return nil, err
		}
		value, margin := found.value, found.margin
		if !found.proved {
			value, margin, err = p.recheck(f.ctx, gradient)
		}
		if err != nil || math.IsInf(margin, 1) {
			return nil, err
		}
		r := &Result{Status: Optimal, Returns: found.shown}
		if r.Returns == nil {
			r.Returns = slices.Clone(found.returns)
		}
		r.Objective = dot(gradient, r.Returns)
		r.Bound = math.Min(value-margin, r.Objective)
		r.Gap = r.Objective - r.Bound
		if !isFinite(r.Objective) {
			return nil, nil
		}
		if found.rough && r.Gap > aim {
			aim = 0
			p.work(f.opts.Working, 0, true)
			continue
		}
		c := newColumn(found, gradient)
		f.columns = append(f.columns, c)
		f.planner.keep(f.columns)
		return &supporting{Result: r, policy: f.later(func(ctx context.Context, q pricer) (*Result, error) {
			if c.policy != nil {
				return &Result{Policy: &Policy{steps: []markov.Rule{{Actions: *c.policy}}}}, nil
			}
			policy, err := q.combine(ctx, []column{c}, []float64{1}, face{cost: gradient}, math.Inf(1))
			return &Result{Policy: policy}, err
		})}, nil
	}
}

// later returns the policy that work makes, when it is asked for.
func (f *front) later(work func(context.Context, pricer) (*Result, error)) *made {
	planner, relevance, opts := f.planner, f.relevance, f.opts.Options
	return &made{make: func(ctx context.Context) (r *Result, err error) {
		err = planner.inTurn(ctx, relevance, opts, func(q pricer) (err error) {
			r, err = work(ctx, q)
			return err
		})
		return r, err
	}}
}

// within is solve with limits: column generation, starting from all policies that are known.
func (f *front) within(p pricer, gradient []float64, aim float64) (*supporting, error) {
	box, err := f.box(p)
	if err != nil {
		return nil, err
	}
	task, opts := f.task, f.opts.Options
	opts.NoNearest = true
	task.Cost, err = cost.NewLinear(gradient, box)
	if err != nil {
		return nil, fmt.Errorf("exact: front: %w", err)
	}
	s, err := newSolver(f.ctx, p, task, opts)
	if err != nil {
		return nil, err
	}
	if f.columns == nil {
		f.columns = f.planner.columns
	}
	s.seed, s.warm = f.columns, len(f.columns) > 0
	if s.traits.large {
		s.close = aim
	}
	verdict, err := s.decide()
	w := &supporting{}
	if err == nil && !s.traits.chosen && (verdict == Optimal || verdict == Undecided) {
		w.Result, err = s.unmade()
		w.mixed = true
		w.policy = f.later(func(ctx context.Context, q pricer) (*Result, error) {
			of := *s
			of.ctx, of.source, of.pricer, of.traits = ctx, q, q, q.traits()
			r := &Result{}
			return r, of.recoverPolicy(r)
		})
	} else if err == nil {
		w.Result, err = s.answer(verdict)
		w.mixed = err == nil && (w.Randomized > 0 || len(w.Components) > 0)
		r := w.Result
		w.policy = &made{known: r}
	}
	f.planner.keep(s.master.columns)
	f.columns = s.master.withoutLinks()
	f.result.Iterations += s.iterations
	return w, err
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

// unmade is finish without a policy: the returns are those of the mixture.
func (s *solver) unmade() (*Result, error) {
	return s.concluded(&Result{Status: Optimal, Bound: math.Inf(-1), Tolerance: 2 * s.missing, Joined: s.joined,
		Returns: slices.Clone(s.incumbent.v), Objective: s.incumbent.cost})
}
