package exact

import (
	"context"

	"cmdpsolve/cmdp"
)

// A restriction is what a model was restricted to: for steps and states where something is left out,
// the actions that are left.
type restriction struct{ left map[[2]int][]int32 }

// number returns the number in the whole model of action a of the restricted one.
func (r *restriction) number(step, state, a int) int {
	if left, ok := r.left[[2]int{step, state}]; ok {
		return int(left[a])
	}
	return a
}

// original writes a policy of the restricted model as one of the whole.
func (r *restriction) original(m *cmdp.Model, p cmdp.Deterministic) cmdp.Deterministic {
	out := make(cmdp.Deterministic, len(p))
	for h := range p {
		out[h] = make([]int32, len(p[h]))
		rows := m.Rows(h)
		for s, a := range p[h] {
			if first, end := rows.Choices(s); first < end {
				out[h][s] = int32(r.number(h, s, int(a)))
			}
		}
	}
	return out
}

// restrictedModel returns the model with only the choices that some decisions allow.
func (s *branchAndBound) restrictedModel(ctx context.Context, d *decision) (*cmdp.Model, *restriction, error) {
	r := &restriction{left: make(map[[2]int][]int32)}
	restricted := make(map[int]bool)
	for ; d != nil; d = d.before {
		at := [2]int{d.step, d.state}
		left, ok := r.left[at]
		if !ok {
			left = offered(s.m.Rows(d.step), d.state)
		}
		var kept []int32
		for _, a := range left {
			if (int(a) == d.action) == d.only {
				kept = append(kept, a)
			}
		}
		r.left[at] = kept
		restricted[d.step] = true
	}
	if len(restricted) == 0 {
		return s.m, r, nil
	}
	spec := cmdp.ModelSpec{Horizon: s.m.Horizon(), Discount: s.m.Discount(), Dim: s.m.Dim(), Start: s.m.StartStates()}
	if s.m.Average() {
		spec.Average, spec.Discount = true, 0
	} else if s.m.Means() {
		for i := range s.m.Dim() {
			spec.Means = append(spec.Means, s.m.Mean(i))
		}
	}
	for h := range decisionRules(s.m) {
		if restricted[h] || s.m.Tally() != nil {
			spec.Kernels = append(spec.Kernels, r.kernel(ctx, s.m, h))
			continue
		}
		k := *s.m.Kernel(h)
		k.Outcomes, k.Random = nil, nil // only means matter
		spec.Kernels = append(spec.Kernels, k)
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	m, err := cmdp.NewModel(spec)
	return m, r, err
}

// offered returns the actions of a state that have successors.
func offered(rows *cmdp.Rows, s int) (actions []int32) {
	first, end := rows.Choices(s)
	for c := first; c < end; c++ {
		if next, _ := rows.Row(c); len(next) > 0 {
			actions = append(actions, int32(c-first))
		}
	}
	return actions
}

// kernel returns a kernel with the choices that are left at step h. What is not offered is left out. It is good for
// nothing once ctx has ended.
func (r *restriction) kernel(ctx context.Context, m *cmdp.Model, h int) cmdp.Kernel {
	const often = 1 << 12
	out, rows := cmdp.NewKernel(), m.Rows(h)
	for s := range m.States() {
		if s%often == 0 && ctx.Err() != nil {
			break
		}
		first, end := rows.Choices(s)
		left, some := r.left[[2]int{h, s}]
		if !some {
			left = offered(rows, s)
		}
		if len(left) < end-first {
			r.left[[2]int{h, s}] = left
		}
		for _, a := range left {
			next, prob := rows.Row(first + int(a))
			out.Append(next, prob, rows.Returns(first+int(a)))
		}
		out.EndState()
	}
	return out
}
