package cmdp

import (
	"math"
)

// BestPolicy returns the deterministic policy of a model of finite horizon, with one player,
// that minimises the expected ⟨direction, return⟩, and that minimum, by backward induction. Of
// actions that are equal up to rounding it takes the first. It allocates.
func BestPolicy(m *Model, direction []float64) (Deterministic, float64) {
	policy := make(Deterministic, m.Horizon())
	for h := range policy {
		policy[h] = make([]int32, m.States())
	}
	value, _ := induct(m, direction, policy, false)
	return policy, value
}

// BestReturns returns the expected returns, d of them, of the policy that BestPolicy finds. It
// carries vectors of values back instead of storing the policy, so that memory does not
// grow with the horizon. It allocates.
func BestReturns(m *Model, direction []float64) []float64 {
	_, returns := induct(m, direction, nil, true)
	return returns
}

// induct is backward induction in a direction. It notes the actions in policy unless that is
// nil, and computes the returns of the policy where they are asked for. Products are rounded
// before they are added (the conversions forbid a fused operation), so that the answer is
// the same on every machine.
func induct(m *Model, direction []float64, policy Deterministic, vectors bool) (least float64, returns []float64) {
	const rounding = 1e-12
	d := m.Dim()
	now, next := make([]float64, m.States()), make([]float64, m.States())
	var vector, nextVector []float64
	if vectors {
		vector, nextVector = make([]float64, d*m.States()), make([]float64, d*m.States())
	}
	for h := m.Horizon() - 1; h >= 0; h-- {
		k := m.Kernel(h)
		now, next = next, now
		vector, nextVector = nextVector, vector
		for s := range m.States() {
			first, end := int(k.First[s]), int(k.First[s+1])
			if first == end { // the process rests
				now[s] = next[s]
				if vectors {
					copy(vector[s*d:(s+1)*d], nextVector[s*d:])
				}
				continue
			}
			best, at := math.Inf(1), first
			for c := first; c < end; c++ {
				x := 0.0
				for i, y := range k.Returns[c*d : (c+1)*d] {
					x += float64(direction[i] * y)
				}
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					x += float64(k.Prob[e] * next[k.Next[e]])
				}
				if x < best-rounding {
					best, at = x, c
				}
			}
			now[s] = best
			if policy != nil {
				policy[h][s] = int32(at - first)
			}
			if vectors {
				k.follow(vector[s*d:(s+1)*d], nextVector, at)
			}
		}
	}
	returns = make([]float64, d)
	for _, st := range m.StartStates() {
		least += float64(st.Probability * now[st.State])
		if vectors {
			for i := range returns {
				returns[i] += float64(st.Probability * vector[st.State*d+i])
			}
		}
	}
	return least, returns
}

// follow sets v to the returns of choice c and of what follows it.
func (k *Kernel) follow(v, next []float64, c int) {
	d := len(v)
	copy(v, k.Returns[c*d:(c+1)*d])
	for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
		for i, x := range next[int(k.Next[e])*d:][:d] {
			v[i] += float64(k.Prob[e] * x)
		}
	}
}
