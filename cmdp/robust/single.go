package robust

import (
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/geometry"
)

// needsSinglePolicy reports whether a single policy is looked for, and none is known that closes the gap: a draw is
// not wanted, or would go on for ever.
func (s *search) needsSinglePolicy() bool {
	if !s.opts.Deterministic && !s.set.m.Average() {
		return false
	}
	return s.one == nil || !s.within(s.one)
}

// tighten plans for the nominal model with limits that are drawn in by as much as the plan misses them in the worst
// model, until it keeps them. The plans are single policies where those of package exact are.
func (s *search) tighten() error {
	const most = 12
	if !s.needsSinglePolicy() || len(s.rows) == 0 {
		return nil
	}
	offsets := make([]float64, len(s.rows))
	for k, row := range s.rows {
		offsets[k] = row.Offset
	}
	for range most {
		s.rounds++
		policy, err := s.tightened(offsets)
		if err != nil || policy == nil {
			return err
		}
		greatest, err := s.greatest(policy)
		if err != nil || greatest == nil {
			return err
		}
		s.addColumn(column{policy, greatest})
		s.reportProgress()
		moved := false
		for k, row := range s.rows {
			to := math.Min(row.Offset, offsets[k]-(greatest[k+1]-row.Offset))
			moved = moved || math.Abs(to-offsets[k]) > tolerance*s.scale(k+1)
			offsets[k] = to
		}
		if !moved {
			return nil
		}
	}
	return nil
}

// tightened returns the plan for the nominal model whose limits have given offsets, nil if there is none, or if it
// draws one of several policies.
func (s *search) tightened(offsets []float64) (*exact.Policy, error) {
	task := cmdp.Task{Cost: s.task.Cost, Box: s.task.Box}
	var normals [][]float64
	for k, row := range s.rows {
		row.Offset = offsets[k]
		task.Constraints = append(task.Constraints, row)
		normals = append(normals, row.Normal)
	}
	bounds := slices.Clone(offsets)
	lower, upper := s.box()
	for i := range lower {
		for _, sign := range []float64{1, -1} {
			side := make([]float64, len(lower))
			side[i] = sign
			normals = append(normals, side)
			bounds = append(bounds, math.Min(exact.Boundless, math.Max(sign*upper[i], sign*lower[i])))
		}
	}
	limits, err := geometry.NewPolyhedron(normals, bounds)
	if err != nil {
		return nil, nil // limits that exclude each other
	}
	task.Target, err = limits.Bounded()
	if err != nil {
		return nil, nil
	}
	if s.opts.Deterministic {
		opts := exact.DeterministicOptions{Options: s.exactly(), Nodes: s.opts.Nodes}
		r, err := exact.SolveDeterministic(s.ctx, s.set.m, task, opts)
		if err != nil {
			return nil, err
		}
		return r.Policy, nil
	}
	r, err := exact.Solve(s.ctx, s.set.m, task, s.exactly())
	if err != nil || r.Status != exact.Optimal || r.Product != nil {
		return nil, err
	}
	return r.Policy, nil
}

// swap changes the action of a plan that never draws at one pair of step and state after the other, as long as that
// makes it better and the model is small.
func (s *search) swap() error {
	const most = 1 << 26 // successors that are looked at
	plan := s.nearest()
	if !s.opts.Deterministic || plan == nil || !s.needsSinglePolicy() {
		return nil
	}
	left := most / (s.set.entries * len(s.dirs))
	at, since, pairs := 0, 0, s.set.m.States()*max(1, s.set.m.Horizon())
	for policy := plan.parts[0].Policy; since < pairs && left > 0; since++ {
		h, i := at/s.set.m.States(), at%s.set.m.States()
		at = (at + 1) % pairs
		first, end := s.set.rows(h).Choices(i)
		for action := range end - first {
			other := s.changed(policy, h, i, action)
			if other == nil {
				continue
			}
			left--
			greatest, err := s.greatest(other)
			if err != nil {
				return err
			}
			if greatest == nil || !s.better(greatest, plan) {
				continue
			}
			s.addColumn(column{other, greatest})
			plan = s.nearest()
			policy, since = plan.parts[0].Policy, 0
		}
	}
	return nil
}

// better reports whether greatest returns are better than those of a plan: by the limits that they miss, and by the
// cost where none are missed.
func (s *search) better(greatest []float64, than *plan) bool {
	excess := s.excess(greatest)
	if missed := s.excess(than.greatest); missed > tolerance {
		return excess < missed
	}
	return excess <= tolerance && greatest[0] < than.greatest[0]-s.enough()
}

// changed returns a policy that never draws with another action in a state at a step, nil if it is the same one.
func (s *search) changed(policy *exact.Policy, h, state, action int) *exact.Policy {
	k := s.set.rows(h)
	probs := make([]float64, s.set.most)
	first, end := k.Choices(state)
	policy.Distribution(probs[:end-first], h, state)
	if probs[action] > 0 {
		return nil
	}
	rules := make([]markov.Rule, max(1, s.set.m.Horizon()))
	for step := range rules {
		rules[step].Actions = markov.NewActions(s.set.m.States(), s.set.most)
		for i := range s.set.m.States() {
			first, end := s.set.rows(step).Choices(i)
			if first == end {
				continue
			}
			of := probs[:end-first]
			policy.Distribution(of, step, i)
			rules[step].Actions.Set(i, slices.Index(of, 1))
		}
	}
	rules[h].Actions.Set(state, action)
	return exact.NewPolicy(rules)
}
