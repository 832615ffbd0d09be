package exact

import (
	"context"
	"errors"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
)

// totalReward is the pricer of totals.
type totalReward struct{ *infiniteHorizon }

func (p *totalReward) traits() traits {
	out := traits{singlePolicy: true, unboundedTotals: true, infiniteHorizon: true, usesSweeps: p.usesSweeps,
		steps: p.steps, relevance: &p.relevance, simultaneous: p.simultaneous,
		relevanceOnly: p.mayRecur, purificationCost: p.purificationCost, crossover: p.crossover,
		roundQuickly: p.roundQuickly}
	if p.mayRecur {
		out.rays, out.improper = p.infiniteHorizon, p.improper
	}
	return out
}

func (p *totalReward) extent(ctx context.Context, lower, upper []float64) error {
	return p.ranges(ctx, lower, upper)
}

// modelAnalysis are what was found of a model, for all its pricers.
type modelAnalysis struct {
	lower, upper []float64     // the extremes of the returns, nil before they are known
	least, most  []float64     // the extremes of a step, in models with means, nil before they are known
	ends         []analysedSet // the last ones
}

// An analysedSet has the end components of a part of a model.
type analysedSet struct {
	in, allowed []bool // states and choices
	ends        *markov.EndComponents
}

// endComponents returns those of the states that take part and the given choices. They are found once for the
// same ones.
func (p *infiniteHorizon) endComponents(ctx context.Context, allowed []bool) (*markov.EndComponents, error) {
	const most = 6
	for _, x := range p.known.ends {
		if slices.Equal(x.allowed, allowed) && slices.Equal(x.in, p.graph.In) {
			return x.ends, nil
		}
	}
	ends, err := p.graph.Only(allowed).EndComponents(ctx)
	if err != nil {
		return nil, err
	}
	if len(p.known.ends) == most {
		p.known.ends = slices.Delete(p.known.ends, 0, 1)
	}
	p.known.ends = append(p.known.ends, analysedSet{slices.Clone(p.graph.In), allowed, ends})
	return ends, nil
}

// ranges sets lower and upper to the extremes of each total over all policies, rounded
// outwards, ±Boundless where there are none.
func (p *infiniteHorizon) ranges(ctx context.Context, lower, upper []float64) error {
	if p.known.lower != nil {
		copy(lower, p.known.lower)
		copy(upper, p.known.upper)
		return nil
	}
	for i := range lower {
		if p.m.Mean(i) {
			continue
		}
		for _, sign := range []float64{1, -1} {
			bound := -Boundless
			dir := axis(len(lower), i, sign)
			q, err := p.withRelevance(ctx, relevanceOf(len(dir), cmdp.Task{}, dir))
			if err == nil {
				var value, margin float64
				value, margin, err = q.recheck(ctx, dir)
				if value-margin > bound {
					bound = value - margin
				}
			}
			if err != nil && !errors.Is(err, ErrNoTotal) {
				return err
			}
			if sign > 0 {
				lower[i] = bound
			} else {
				upper[i] = -bound
			}
		}
	}
	p.known.lower, p.known.upper = slices.Clone(lower), slices.Clone(upper)
	return nil
}
