package robust

import (
	"context"
	"errors"
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"

	"gonum.org/v1/gonum/floats"
)

// Worst returns the model of the set that is worst for a plan in a direction: for one policy the one in which the
// return in that direction is greatest, and for a plan that draws one of several at the start the worst that answers
// one of them. Returns are those of the plan in that model. With Spec.Fixed the model is the same at every visit, and
// there may be a worse one.
func (s *Set) Worst(ctx context.Context, parts []exact.WeightedPolicy, dir []float64) (*Answer, []float64, error) {
	if len(parts) == 0 || len(dir) != s.m.Dim() {
		return nil, nil, errors.New("robust: want a plan, and a direction of the dimension of the returns")
	}
	dyn, err := s.dynamics()
	if err != nil {
		return nil, nil, err
	}
	var worst *Answer
	var most []float64
	for _, c := range parts {
		a, err := dyn.respond(ctx, c.Policy, dir)
		if err == nil && s.spec.Fixed {
			a, err = s.averageOverVisits(a, c.Policy)
		}
		if err != nil {
			return nil, nil, err
		}
		m, err := a.Model()
		if err != nil {
			return nil, nil, err
		}
		v, err := s.returnsIn(ctx, m, parts)
		if err != nil {
			return nil, nil, err
		}
		if worst == nil || floats.Dot(dir, v) > floats.Dot(dir, most) {
			worst, most = a, v
		}
	}
	return worst, most, nil
}

// returnsIn returns the expected returns of a plan in a model with the choices of the set.
func (s *Set) returnsIn(ctx context.Context, m *cmdp.Model, parts []exact.WeightedPolicy) ([]float64, error) {
	sum := make([]float64, m.Dim())
	for _, c := range parts {
		v := make([]float64, m.Dim())
		if m.Horizon() > 0 {
			cmdp.NewEvaluator(m).Returns(v, c.Policy)
		} else {
			e, err := exact.Evaluate(ctx, m, c.Policy)
			if err != nil {
				return nil, err
			}
			v = e.Returns
		}
		floats.AddScaled(sum, c.Weight, v)
	}
	return sum, nil
}

// averageOverVisits turns an answer that differs between visits into one of the fixed models: choices with the same
// probabilities get the mean of the answers, weighted by how often a policy takes them.
func (s *Set) averageOverVisits(a *Answer, policy *exact.Policy) (*Answer, error) {
	if s.m.Horizon() == 0 && s.spec.Same == nil {
		return a, nil // it is one
	}
	visits, err := a.visits(policy)
	if err != nil {
		return nil, err
	}
	const seldom = 1e-9 // where the policy does not come, all visits count alike
	sums, totals := make(map[int][]float64), make(map[int]float64)
	for h := range a.prob {
		of := s.kernel(h)
		for c := range s.choices(of) {
			g := s.group(of, c)
			row := a.row(h, c)
			if sums[g] == nil {
				sums[g] = make([]float64, len(row))
			}
			if len(sums[g]) != len(row) {
				return nil, fmt.Errorf("robust: choices of group %d have %d and %d successors: want the same",
					g, len(sums[g]), len(row))
			}
			weight := seldom
			if visits != nil {
				weight += visits[h][c]
			}
			floats.AddScaled(sums[g], weight, row)
			totals[g] += weight
		}
	}
	out := s.newAnswer(len(s.kernels))
	for h := range out.prob {
		for c := range s.choices(h) {
			lower, upper := s.bounds(h, c)
			if lower == nil {
				continue
			}
			g := s.group(h, c)
			row := out.row(h, c)
			for i, x := range sums[g] {
				row[i] = min(upper[i], max(lower[i], x/totals[g]))
			}
		}
	}
	return out, nil
}

// group numbers choices by what has to be the same.
func (s *Set) group(h, c int) int {
	if s.spec.Same != nil {
		return s.spec.Same(h, c)
	}
	for i := range h {
		c += s.choices(i)
	}
	return c
}

// visits returns how often a policy takes each choice at each step in a model, nil without a horizon.
func (a *Answer) visits(policy *exact.Policy) ([][]float64, error) {
	if a.set.m.Horizon() == 0 {
		return nil, nil
	}
	m, err := a.Model()
	if err != nil {
		return nil, err
	}
	return cmdp.NewEvaluator(m).Occupancy(policy), nil
}
