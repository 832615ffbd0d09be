package exact

import (
	"context"
	"errors"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"
)

// Visits returns how much each state is visited under an answer of [Solve] without a horizon:
// under its policy or, where that is nil, its components. These are expected numbers of
// visits, discounted or total. If some returns are long-run averages, they are shares of the
// time. States in which a total return goes on for ever count their arrivals. With a horizon
// it is an error: cmdp.Evaluator.Occupancy is for that.
func Visits(ctx context.Context, m *cmdp.Model, policy *Policy, components []WeightedPolicy) ([]float64, error) {
	if err := checkTask(m, cmdp.Task{}); err != nil {
		return nil, err
	}
	if m.Horizon() > 0 {
		return nil, errors.New("exact: visits: want a model without a horizon")
	}
	if policy != nil {
		components = []WeightedPolicy{{1, policy}}
	}
	out := make([]float64, m.States())
	if m.Means() {
		p, err := newAverageReward(ctx, m, 1, noneRelevant(m.Dim()), progress.Of(ctx))
		if err != nil {
			return nil, err
		}
		for _, c := range components {
			if err := p.addTimeShares(ctx, out, c.Weight, &c.Policy.steps[0]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	p, err := analyseReachable(ctx, m, 1, nil)
	if err != nil {
		return nil, err
	}
	for _, c := range components {
		x, err := p.visits(ctx, &c.Policy.steps[0], 0)
		if err != nil {
			return nil, err
		}
		for s := range out {
			out[s] += c.Weight * p.visitsTo(x, int32(s))
		}
	}
	return out, nil
}

// addTimeShares adds weight times the share of time that a policy spends in each state.
func (p *averageReward) addTimeShares(ctx context.Context, dst []float64, weight float64, st *markov.Rule) error {
	classes, err := p.recurrentClasses(ctx, st)
	if err != nil {
		return err
	}
	for _, in := range classes {
		for j, s := range in.states {
			dst[s] += weight * in.prob * in.share[j]
		}
	}
	return nil
}
