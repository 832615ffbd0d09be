package cmdp

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
)

// induct is backward induction on a known model of finite horizon. backup returns the
// value of a state at step h from the values of the next step. The answer is the values of
// the first step. now and next have an entry for each state. The error is that of ctx.
func induct[V any](ctx context.Context, m *Model, now, next []V, backup func(k *Kernel, h, s int, next []V) V) ([]V, error) {
	clear(next)
	for h := m.horizon - 1; h >= 0; h-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		k := m.Kernel(h)
		for s := range now {
			now[s] = backup(k, h, s, next)
		}
		now, next = next, now
	}
	return next, nil
}

// BestPolicy returns the deterministic policy of a model of finite horizon, with one player,
// that minimises the expected ⟨direction, return⟩, and that minimum, by backward induction. Of
// actions that are equal up to rounding it takes the first. It allocates.
func BestPolicy(m *Model, direction []float64) (policy Deterministic, least float64) {
	policy = firstActions(m)
	values, _ := induct(context.Background(), m, make([]float64, m.states), make([]float64, m.states), func(k *Kernel, h, s int, next []float64) float64 {
		x, a := k.best(direction, s, next)
		policy[h][s] = int32(a)
		return x
	})
	for _, st := range m.start {
		least += float64(st.Probability * values[st.State])
	}
	return policy, least
}

// firstActions returns the policy that takes the first action everywhere.
func firstActions(m *Model) Deterministic {
	policy := make(Deterministic, m.Horizon())
	for h := range policy {
		policy[h] = make([]int32, m.states)
	}
	return policy
}

// BestReturns returns the expected returns, d of them, of the policy that BestPolicy finds. It
// carries vectors of returns back instead of storing the policy, so that memory does not
// grow with the horizon. It allocates.
func BestReturns(m *Model, direction []float64) []float64 {
	d := m.Dim()
	vectors := [2][]float64{make([]float64, d*m.states), make([]float64, d*m.states)} // of even and odd steps
	induct(context.Background(), m, make([]float64, m.states), make([]float64, m.states), func(k *Kernel, h, s int, next []float64) float64 {
		x, a := k.best(direction, s, next)
		k.follow(vectors[h%2][s*d:(s+1)*d], vectors[(h+1)%2], s, a)
		return x
	})
	returns := make([]float64, d)
	for _, st := range m.start {
		for i := range returns {
			returns[i] += float64(st.Probability * vectors[0][st.State*d+i])
		}
	}
	return returns
}

// best returns the least value of a choice of state s, and the first action that has it up
// to rounding. Products are rounded before they are added (the conversions forbid a fused
// operation), so that the answer is the same on every machine.
func (k *Kernel) best(direction []float64, s int, next []float64) (least float64, action int) {
	const rounding = 1e-12
	d, first, end := len(direction), int(k.First[s]), int(k.First[s+1])
	if first == end { // the process rests
		return next[s], 0
	}
	least = math.Inf(1)
	for c := first; c < end; c++ {
		x := 0.0
		for i, y := range k.Returns[c*d : (c+1)*d] {
			x += float64(direction[i] * y)
		}
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			x += float64(k.Prob[e] * next[k.Next[e]])
		}
		if x < least-rounding {
			least, action = x, c-first
		}
	}
	return least, action
}

// follow sets v to the returns of an action in state s and of what follows it.
func (k *Kernel) follow(v, next []float64, s, action int) {
	d, c := len(v), int(k.First[s])+action
	if c == int(k.First[s+1]) { // the process rests
		copy(v, next[s*d:])
		return
	}
	copy(v, k.Returns[c*d:(c+1)*d])
	for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
		for i, x := range next[int(k.Next[e])*d:][:d] {
			v[i] += float64(k.Prob[e] * x)
		}
	}
}

// Extremes returns the least and the greatest ⟨direction, return⟩ that an episode of a policy
// can have, or of any policy if it is nil. It allocates.
func Extremes(m *Model, policy Policy, direction []float64) (least, greatest float64) {
	values := m.known().extremes(policy, direction, func(int, int, bounds) {})
	least, greatest = math.Inf(1), math.Inf(-1)
	for _, st := range m.start {
		if st.Probability > 0 {
			least, greatest = min(least, values[st.State].low), max(greatest, values[st.State].up)
		}
	}
	return least, greatest
}

// extremes returns the least and the greatest ⟨direction, return⟩ that can follow from each
// state, and calls visit with them at every step.
func (m *Model) extremes(policy Policy, direction []float64, visit func(h, s int, b bounds)) []bounds {
	var probs []float64
	if policy != nil {
		probs = make([]float64, m.shape.MaxActions())
	}
	values, _ := induct(context.Background(), m, make([]bounds, m.states), make([]bounds, m.states), func(k *Kernel, h, s int, next []bounds) bounds {
		first, end := int(k.First[s]), int(k.First[s+1])
		b := bounds{math.Inf(1), math.Inf(-1)}
		if first == end { // the process rests
			b = next[s]
		} else if policy != nil {
			policy.Distribution(probs[:end-first], h, s)
		}
		for c := first; c < end; c++ {
			if policy == nil || probs[c-first] > 0 {
				k.widen(&b, direction, c, next)
			}
		}
		visit(h, s, b)
		return b
	})
	return values
}

// widen makes b contain ⟨direction, return⟩ of all that can come of choice c.
func (k *Kernel) widen(b *bounds, direction []float64, c int, next []bounds) {
	d, x := len(direction), 0.0
	if k.Outcomes == nil {
		x = floats.Dot(direction, k.Returns[c*d:(c+1)*d])
	}
	for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
		if k.Prob[e] == 0 {
			continue
		}
		if k.Outcomes != nil {
			x = floats.Dot(direction, k.Outcomes[e*d:(e+1)*d])
		}
		b.low, b.up = min(b.low, x+next[k.Next[e]].low), max(b.up, x+next[k.Next[e]].up)
	}
}
