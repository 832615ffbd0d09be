package exact

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"cmdpsolve/cmdp"
)

// RationalValue returns V*(dir) = min over all policies of dir·V in rational
// arithmetic, the numbers of the model being taken as the float64 values that they
// are. With an infinite horizon it is a lower bound instead, of the accuracy of
// float64, that is proved in rational arithmetic. It is for small models: the
// numbers grow by some hundred bits with every step.
func RationalValue(ctx context.Context, m *cmdp.Model, dir []*big.Rat) (*big.Rat, error) {
	v, _, err := rationalValue(ctx, m, dir)
	return v, err
}

// rationalValue is RationalValue; loss is about how far below V* the bound lies.
func rationalValue(ctx context.Context, m *cmdp.Model, dir []*big.Rat) (value *big.Rat, loss float64, err error) {
	if m == nil || len(dir) != m.Dim() {
		return nil, 0, errors.New("exact: rational value: want a model and a direction of its dimension")
	}
	if err := refuseGame(m); err != nil {
		return nil, 0, err
	}
	if m.Horizon() == 0 {
		return rationalBound(ctx, m, dir)
	}
	v := make([]*big.Rat, m.States())
	for s := range v {
		v[s] = new(big.Rat)
	}
	for h := m.Horizon() - 1; h >= 0; h-- {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		next := v
		v = make([]*big.Rat, len(next))
		for s := range v {
			v[s] = rationalBackup(m, m.Kernel(h), dir, next, s)
		}
	}
	return startValue(m, v), 0, nil
}

func startValue(m *cmdp.Model, v []*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, st := range m.StartStates() {
		sum.Add(sum, new(big.Rat).Mul(rational(st.Probability), v[st.State]))
	}
	return sum
}

// rationalBackup returns the least of dir·r + γΣ p·v over the choices of a state.
func rationalBackup(m *cmdp.Model, k *cmdp.Kernel, dir, v []*big.Rat, s int) *big.Rat {
	if k.First[s] == k.First[s+1] {
		return v[s]
	}
	var best *big.Rat
	for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
		q := new(big.Rat)
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			q.Add(q, new(big.Rat).Mul(rational(k.Prob[e]), v[k.Next[e]]))
		}
		q.Mul(q, rational(m.Discount()))
		for i, t := range dir {
			q.Add(q, new(big.Rat).Mul(t, rational(k.Returns[c*len(dir)+i])))
		}
		if best == nil || q.Cmp(best) < 0 {
			best = q
		}
	}
	return best
}

// rational returns the value of x, which is finite.
func rational(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// rationalBound lowers the values that policy iteration finds until each is at most
// its own backup, which is checked in rational arithmetic and proves them to be
// lower bounds.
func rationalBound(ctx context.Context, m *cmdp.Model, dir []*big.Rat) (value *big.Rat, loss float64, err error) {
	p, err := newStationary(ctx, m, 1)
	if err != nil {
		return nil, 0, err
	}
	rounded := make([]float64, len(dir))
	for i, t := range dir {
		rounded[i], _ = t.Float64()
	}
	v, _, err := p.iterate(ctx, p.scalarize(rounded))
	if err != nil {
		return nil, 0, err
	}
	size := 0.0
	for _, x := range v {
		size = max(size, x, -x)
	}
	for slack := 16 * float64(p.longest+4) * unit * size; slack < 1e-6*size+1e-300; slack *= 8 {
		low := make([]*big.Rat, len(v))
		for s := range low {
			low[s] = new(big.Rat)
			if !p.ended[s] {
				low[s] = rational(v[s] - slack*p.duration[s])
			}
		}
		if p.below(dir, low) {
			return startValue(m, low), slack * atStart(m, p.duration), nil
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
	}
	return nil, 0, fmt.Errorf("exact: rational value: no bound within 1e-6 of %g could be proved", size)
}

// below reports whether every value is at most its backup.
func (p *stationary) below(dir, v []*big.Rat) bool {
	for s := range v {
		if !p.ended[s] && v[s].Cmp(rationalBackup(p.m, p.k, dir, v, s)) > 0 {
			return false
		}
	}
	return true
}
