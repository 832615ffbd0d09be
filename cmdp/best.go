package cmdp

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// BestPolicy returns the deterministic policy of a model of finite horizon, with one player,
// that minimises the expected ⟨direction, return⟩, and that minimum. Of actions that are
// equal up to rounding it takes the first. It allocates.
func BestPolicy(m *Model, direction []float64) (Deterministic, float64) {
	const rounding = 1e-12
	d, policy := m.Dim(), make(Deterministic, m.Horizon())
	value := make([]float64, m.States())
	for h := m.Horizon() - 1; h >= 0; h-- {
		k, now := m.Kernel(h), make([]float64, m.States())
		policy[h] = make([]int32, m.States())
		for s := range m.States() {
			first, end := int(k.First[s]), int(k.First[s+1])
			if first == end { // the process rests
				now[s] = value[s]
				continue
			}
			best := math.Inf(1)
			for c := first; c < end; c++ {
				x := floats.Dot(direction, k.Returns[c*d:(c+1)*d])
				for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
					x += k.Prob[e] * value[k.Next[e]]
				}
				if x < best-rounding {
					best, policy[h][s] = x, int32(c-first)
				}
			}
			now[s] = best
		}
		value = now
	}
	sum := 0.0
	for _, st := range m.StartStates() {
		sum += st.Probability * value[st.State]
	}
	return policy, sum
}
