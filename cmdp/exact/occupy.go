package exact

import (
	"context"
	"fmt"

	"cmdpsolve/cmdp"
)

// Occupancy returns how much each state is visited under an answer of [Solve], its policy
// or, where that is nil, its components. With a finite horizon that is the probability of
// being there at the 0-based step, or with step −1 the expected number of steps spent there;
// without one it is the expected discounted or total number of visits, and for long-run
// averages, of some returns or of all, the share of time. States in which a total return goes on for ever count their
// arrivals. step is not used without a horizon.
func Occupancy(ctx context.Context, m *cmdp.Model, policy *Policy, components []Component, step int) ([]float64, error) {
	if err := checkTask(m, cmdp.Task{}); err != nil {
		return nil, err
	}
	switch h := m.Horizon(); {
	case h > 0 && (step < -1 || step >= h):
		return nil, fmt.Errorf("exact: occupancy: step %d: want −1, or one of the %d steps from 0", step, h)
	case h > 0:
		return finiteOccupancy(ctx, m, policy, step)
	}
	if policy != nil {
		components = []Component{{1, policy}}
	}
	out := make([]float64, m.States())
	if m.Means() {
		p, err := newAverage(m, 1, indifferent(m.Dim()))
		if err != nil {
			return nil, err
		}
		for _, c := range components {
			if err := p.spent(ctx, out, c.Weight, &c.Policy.steps[0]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	p := reach(m, 1)
	for _, c := range components {
		x, err := p.visits(ctx, &c.Policy.steps[0], nil)
		if err != nil {
			return nil, err
		}
		axpy(out, c.Weight, x.of)
	}
	return out, nil
}

// finiteOccupancy follows the policy from step to step.
func finiteOccupancy(ctx context.Context, m *cmdp.Model, policy *Policy, step int) ([]float64, error) {
	mass, next, total := make([]float64, m.States()), make([]float64, m.States()), make([]float64, m.States())
	for _, s := range m.StartStates() {
		mass[s.State] += s.Probability
	}
	probs := make([]float64, m.Shape().MaxActions())
	for h := range m.Horizon() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		axpy(total, 1, mass)
		if h == step {
			return mass, nil
		}
		k := m.Kernel(h)
		clear(next)
		for s, x := range mass {
			first, n := int(k.First[s]), int(k.First[s+1]-k.First[s])
			if x == 0 {
				continue
			}
			if n == 0 {
				next[s] += x
				continue
			}
			policy.Distribution(probs[:n], h, s)
			for a, y := range probs[:n] {
				if y > 0 {
					push(k, first+a, x*y, next)
				}
			}
		}
		mass, next = next, mass
	}
	return total, nil
}

// spent adds weight times the share of time that a policy spends in each state, which stays
// in one class of an end at most.
func (p *average) spent(ctx context.Context, dst []float64, weight float64, st *stepPolicy) error {
	x, err := p.visits(ctx, st, nil)
	if err != nil {
		return err
	}
	stays := make(map[int32][]int32)
	for _, s := range x.forever {
		stays[p.ends.of[s]] = append(stays[p.ends.of[s]], s)
	}
	for _, states := range stays {
		choices, mass := make([]int32, len(states)), 0.0
		for j, s := range states {
			choices[j] = p.k.First[s] + int32(st.actions.at(int(s)))
			mass += x.of[s]
		}
		y := p.chainOf(states, choices)
		set := y.closed()
		for j, share := range y.shares(set) {
			dst[states[set[j]]] += weight * mass * share
		}
	}
	return nil
}
