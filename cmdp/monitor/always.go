package monitor

import (
	"slices"

	"cmdpsolve/cmdp"
)

// LosingState is a state from which no policy can be sure to keep what is enforced: chance may break
// it. It is reached before anything is chosen.
type LosingState struct {
	State  int // of the base
	Memory string
}

// enforce takes out of the kernels all choices after which no policy can be sure that
// the episode ends with an unbroken memory.
func (p *ProductModel) enforce(spec *cmdp.ModelSpec, monitors []int) {
	keeps := make([]bool, len(p.state))
	for s := range keeps {
		keeps[s] = !p.broken(int(p.memory[s]), monitors)
	}
	var kernels []cmdp.Kernel
	if spec.Horizon > 0 {
		kernels, keeps = p.enforceSteps(spec, keeps)
	} else {
		for settled := false; !settled; {
			before := keeps
			keeps = safeStates(&spec.Kernels[0], before)
			for s := range keeps {
				keeps[s] = keeps[s] && before[s]
			}
			settled = slices.Equal(keeps, before)
		}
		kernels, p.actions = make([]cmdp.Kernel, 1), make([][]int32, 1)
		kernels[0], p.actions[0] = p.restrict(&spec.Kernels[0], 0, keeps, keeps)
	}
	for _, st := range spec.Start {
		if st.Probability > 0 && !keeps[st.State] {
			p.Losing = &LosingState{p.State(st.State), p.Memory(st.State)}
			p.actions = nil
			return
		}
	}
	spec.Kernels = kernels
}

// broken reports whether one of some monitors is broken by what a tuple holds.
func (p *ProductModel) broken(tuple int, monitors []int) bool {
	return slices.ContainsFunc(monitors, func(i int) bool {
		return p.monitors[i].(Breaker).Broken(p.tuples[tuple*len(p.monitors)+i])
	})
}

// enforceEpochs is enforce where rows are generated, epoch by epoch. It returns the number of the first start from
// which no policy is sure, −1 without one.
func (p *ProductModel) enforceEpochs(monitors []int) (losing int, err error) {
	if len(monitors) == 0 {
		return -1, nil
	}
	broken := make([]bool, p.epochs.Len())
	for tuple := range broken {
		broken[tuple] = p.broken(tuple, monitors)
	}
	return p.epochs.Enforce(broken)
}

// enforceSteps goes from the last step to the first. It returns the kernels and the pairs
// that can still keep everything at the first step. Steps with the same choices share a
// kernel.
func (p *ProductModel) enforceSteps(spec *cmdp.ModelSpec, after []bool) (kernels []cmdp.Kernel, keeps []bool) {
	kernels, p.actions = make([]cmdp.Kernel, spec.Horizon), make([][]int32, spec.Horizon)
	var beyond []bool
	same := true
	for h := spec.Horizon - 1; h >= 0; h-- {
		from := min(h, len(spec.Kernels)-1)
		now := safeStates(&spec.Kernels[from], after)
		// The rows of pairs that are lost do not matter: they are not reached.
		if len(spec.Kernels) == 1 && beyond != nil && slices.Equal(after, beyond) {
			kernels[h], p.actions[h] = kernels[h+1], p.actions[h+1]
		} else {
			same = same && beyond == nil
			kernels[h], p.actions[h] = p.restrict(&spec.Kernels[from], h, now, after)
		}
		beyond, after = after, now
	}
	if same {
		kernels, p.actions = kernels[:1], p.actions[:1]
	}
	return kernels, after
}

// safeStates returns the states from which some choice, or rest, leads into a set surely.
func safeStates(k *cmdp.Kernel, into []bool) []bool {
	out := make([]bool, len(into))
	for s := range out {
		out[s] = k.First[s] == k.First[s+1] && into[s]
		for c := k.First[s]; c < k.First[s+1] && !out[s]; c++ {
			out[s] = staysIn(k, int(c), into)
		}
	}
	return out
}

func staysIn(k *cmdp.Kernel, c int, into []bool) bool {
	next, _ := k.Row(c)
	for _, to := range next {
		if !into[to] {
			return false
		}
	}
	return true
}

// restrict returns the kernel with the choices alone, of the states in keeps, that lead into a set
// surely, and says which actions of the base they are.
func (p *ProductModel) restrict(k *cmdp.Kernel, h int, keeps, into []bool) (out cmdp.Kernel, actions []int32) {
	d := len(p.columns)
	out = cmdp.NewKernel()
	base := p.base.Rows(h)
	for s := range keeps {
		first, end := base.Choices(int(p.state[s]))
		for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
			if !keeps[s] || !staysIn(k, c, into) {
				continue
			}
			a := int32(c) - k.First[s]
			if first == end {
				a = -1
			}
			actions = append(actions, a)
			next, prob := k.Row(c)
			out.AppendRandom(next, prob, k.ReturnsOf(c, d), k.OutcomesOf(c, d))
		}
		out.EndState()
	}
	return out, actions
}

// baseActions returns which action of the base each choice of step h is, nil if no choices are left out.
func (p *ProductModel) baseActions(h int) []int32 {
	if p.actions == nil {
		return nil
	}
	return p.actions[min(h, len(p.actions)-1)]
}
