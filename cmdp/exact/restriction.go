package exact

import "cmdpsolve/cmdp"

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
		first := m.Kernel(h).First
		for s, a := range p[h] {
			if first[s] < first[s+1] {
				out[h][s] = int32(r.number(h, s, int(a)))
			}
		}
	}
	return out
}

// decided returns the model with only the choices that some decisions allow.
func (s *search) decided(d *decision) (*cmdp.Model, *restriction, error) {
	r := &restriction{left: make(map[[2]int][]int32)}
	restricted := make(map[int]bool)
	for ; d != nil; d = d.before {
		at := [2]int{d.step, d.state}
		left, ok := r.left[at]
		if !ok {
			first := s.m.Kernel(d.step).First
			for a := range first[d.state+1] - first[d.state] {
				left = append(left, a)
			}
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
	for h := range steps(s.m) {
		k := *s.m.Kernel(h)
		if restricted[h] {
			k = r.kernel(&k, h, s.m.Dim())
		}
		k.Outcomes = nil // only means matter
		spec.Kernels = append(spec.Kernels, k)
	}
	m, err := cmdp.NewModel(spec)
	return m, r, err
}

// kernel returns a kernel with the choices that are left at step h.
func (r *restriction) kernel(k *cmdp.Kernel, h, dim int) cmdp.Kernel {
	out := cmdp.Kernel{First: make([]int32, 1, len(k.First)), Offset: []int{0}}
	for s := range len(k.First) - 1 {
		left, some := r.left[[2]int{h, s}]
		n := int(k.First[s+1] - k.First[s])
		if some {
			n = len(left)
		}
		for i := range n {
			c := int(k.First[s]) + r.number(h, s, i)
			first, end := k.Offset[c], k.Offset[c+1]
			out.Next, out.Prob = append(out.Next, k.Next[first:end]...), append(out.Prob, k.Prob[first:end]...)
			out.Returns = append(out.Returns, k.Returns[c*dim:(c+1)*dim]...)
			out.Offset = append(out.Offset, len(out.Next))
		}
		out.First = append(out.First, int32(len(out.Offset)-1))
	}
	return out
}
