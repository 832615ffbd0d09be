package cmdp

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"cmdpsolve/cmdp/progress"
)

// backwardInduction is backward induction on a known model of finite horizon. backup returns the
// value of a state at step h from the values of the next step. The answer is the values of
// the first step. now and next have an entry for each state. The error is that of ctx, which is told how far it is.
func backwardInduction[V any](ctx context.Context, m *Model, now, next []V,
	backup func(rows *Rows, h, s int, next []V) V) ([]V, error) {
	tell := progress.Of(ctx)
	clear(next)
	for h := m.horizon - 1; h >= 0; h-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := m.Rows(h)
		tell.AtStep("finding values of states", m.horizon-1-h, m.horizon, rows.transitions())
		for s := range now {
			now[s] = backup(rows, h, s, next)
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
	values, _ := backwardInduction(context.Background(), m, make([]float64, m.states), make([]float64, m.states),
		func(rows *Rows, h, s int, next []float64) float64 {
			x, a := rows.bestAction(direction, s, next)
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
// grow with the horizon. It allocates. The error is that of ctx.
func BestReturns(ctx context.Context, m *Model, direction []float64) ([]float64, error) {
	d := m.Dim()
	vectors := [2][]float64{make([]float64, d*m.states), make([]float64, d*m.states)} // of even and odd steps
	_, err := backwardInduction(ctx, m, make([]float64, m.states), make([]float64, m.states),
		func(rows *Rows, h, s int, next []float64) float64 {
			x, a := rows.bestAction(direction, s, next)
			rows.policyBackup(vectors[h%2][s*d:(s+1)*d], vectors[(h+1)%2], s, a)
			return x
		})
	if err != nil {
		return nil, err
	}
	returns := make([]float64, d)
	for _, st := range m.start {
		for i := range returns {
			returns[i] += float64(st.Probability * vectors[0][st.State*d+i])
		}
	}
	return returns, nil
}

// bestAction returns the least value of a choice of state s, and the first action that has it up
// to rounding. Products are rounded before they are added (the conversions forbid a fused
// operation), so that the answer is the same on every machine.
func (r *Rows) bestAction(direction []float64, s int, next []float64) (least float64, action int) {
	const rounding = 1e-12
	first, end := r.Choices(s)
	if first == end { // the process rests
		return next[s], 0
	}
	least = math.Inf(1)
	for c := first; c < end; c++ {
		to, prob := r.Row(c)
		if len(to) == 0 { // it is not offered
			continue
		}
		x := 0.0
		for i, y := range r.Returns(c) {
			x += float64(direction[i] * y)
		}
		for e, s := range to {
			x += float64(prob[e] * next[s])
		}
		if x < least-rounding {
			least, action = x, c-first
		}
	}
	return least, action
}

// policyBackup sets v to the returns of an action in state s and of what follows it.
func (r *Rows) policyBackup(v, next []float64, s, action int) {
	d := len(v)
	first, end := r.Choices(s)
	if first == end { // the process rests
		copy(v, next[s*d:])
		return
	}
	copy(v, r.Returns(first+action))
	to, prob := r.Row(first + action)
	for e, s := range to {
		for i, x := range next[int(s)*d:][:d] {
			v[i] += float64(prob[e] * x)
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
	values, _ := backwardInduction(context.Background(), m, make([]bounds, m.states), make([]bounds, m.states),
		func(rows *Rows, h, s int, next []bounds) bounds {
			first, end := rows.Choices(s)
			b := bounds{math.Inf(1), math.Inf(-1)}
			if first == end { // the process rests
				b = next[s]
			} else if policy != nil {
				policy.Distribution(probs[:end-first], h, s)
			}
			for c := first; c < end; c++ {
				if policy == nil || probs[c-first] > 0 {
					rows.widen(&b, direction, c, next)
				}
			}
			visit(h, s, b)
			return b
		})
	return values
}

// widen makes b contain ⟨direction, return⟩ of all that can come of choice c.
func (r *Rows) widen(b *bounds, direction []float64, c int, next []bounds) {
	x := 0.0
	if !r.Random() {
		x = floats.Dot(direction, r.Returns(c))
	}
	to, prob := r.Row(c)
	for e, s := range to {
		if prob[e] == 0 {
			continue
		}
		if r.Random() {
			x = floats.Dot(direction, r.Outcome(c, e))
		}
		b.low, b.up = min(b.low, x+next[s].low), max(b.up, x+next[s].up)
	}
}
