package exact

import (
	"context"
	"errors"
	"math"
	"math/big"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cmdp/progress"

	"gonum.org/v1/gonum/floats"
)

// RationalValue returns V*(dir) = min over all policies of dir·V in rational arithmetic, the numbers of the
// model being taken as the float64 values that they are. With an infinite horizon, of discounted sums, totals
// and long-run means, it is a lower bound instead, of the accuracy of float64, that is proved in rational
// arithmetic. It is for small models: the numbers grow by some hundred bits with every step.
func RationalValue(ctx context.Context, m *cmdp.Model, dir []*big.Rat) (*big.Rat, error) {
	if m == nil || len(dir) != m.Dim() {
		return nil, errors.New("exact: rational value: want a model and a direction of its dimension")
	}
	form := make([]float64, len(dir))
	for i, t := range dir {
		form[i] = float64(t.Sign())
	}
	v, _, err := rationalValue(ctx, m, dir, relevanceOf(len(dir), cmdp.Task{}, form))
	return v, err
}

// rationalValue is RationalValue over the policies whose totals are infinite only where
// that is no harm; loss is about how far below V* the bound lies.
func rationalValue(ctx context.Context, m *cmdp.Model, dir []*big.Rat,
	c relevance) (value *big.Rat, loss float64, err error) {
	if err := refuseGame(m); err != nil {
		return nil, 0, err
	}
	switch {
	case m.Means():
		return rationalMeans(ctx, m, dir, c)
	case m.Horizon() == 0:
		return rationalBound(ctx, m, dir, c)
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
		rows := m.Rows(h)
		for s := range v {
			v[s] = rationalBackup(rows, dir, next, s)
		}
	}
	return startValue(m, entryOf(v)), 0, nil
}

// startValue returns the mean of v at the start.
func startValue(m *cmdp.Model, v func(s int) *big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, st := range m.StartStates() {
		sum.Add(sum, new(big.Rat).Mul(rational(st.Probability), v(st.State)))
	}
	return sum
}

// rationalBackup returns the least of dir·r + Σ p·v over the choices of a state.
func rationalBackup(rows *cmdp.Rows, dir, v []*big.Rat, s int) *big.Rat {
	first, end := rows.Choices(s)
	if first == end {
		return v[s]
	}
	var best *big.Rat
	for c := first; c < end; c++ {
		next, prob := rows.Row(c)
		if len(next) == 0 { // it is not offered
			continue
		}
		q := new(big.Rat)
		for e, n := range next {
			q.Add(q, new(big.Rat).Mul(rational(prob[e]), v[n]))
		}
		for i, x := range rows.Returns(c) {
			q.Add(q, new(big.Rat).Mul(dir[i], rational(x)))
		}
		if best == nil || q.Cmp(best) < 0 {
			best = q
		}
	}
	return best
}

// entryOf returns the entries of a vector by their numbers.
func entryOf(x []*big.Rat) func(i int) *big.Rat { return func(i int) *big.Rat { return x[i] } }

// rational returns the value of x, which is finite.
func rational(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// rationals returns the values of finite numbers.
func rationals(x []float64) []*big.Rat {
	out := make([]*big.Rat, len(x))
	for i, y := range x {
		out[i] = rational(y)
	}
	return out
}

// rationalBound checks in rational arithmetic that the values which the solver finds are
// at most their own backups, and lowers them until they are: with a discount by the
// same amount everywhere, else by a larger perturbation.
func rationalBound(ctx context.Context, m *cmdp.Model, dir []*big.Rat,
	c relevance) (value *big.Rat, loss float64, err error) {
	p, err := newInfiniteHorizon(ctx, m, 1, c, progress.Of(ctx))
	if err != nil {
		return nil, 0, err
	}
	rounded := make([]float64, len(dir))
	for i, t := range dir {
		rounded[i], _ = t.Float64()
	}
	z, err := p.solverFor(ctx, rounded)
	if err != nil {
		return nil, 0, err
	}
	if p.gamma == 1 { // where returns cancel out, lower values are no bound
		if low, err := p.loweredValues(ctx, z, rounded, 1); low != nil && err == nil && z.Cancels() {
			if v := p.rationalValues(ctx, z, dir); v != nil {
				return startValue(p.m, v), 0, nil
			}
		}
	}
	for slack := 1.0; slack <= 1e8; slack *= 8 {
		low, err := p.loweredValues(ctx, z, rounded, slack)
		if low == nil || err != nil {
			return nil, 0, errors.Join(err,
				errors.New("exact: rational value: the total return has no bound in the direction"))
		}
		exact := rationals(low)
		if p.belowBackups(dir, exact) && !p.stayingCosts(z.Quotient, exact) {
			lower, err := p.loweredValues(ctx, z, rounded, 2*slack)
			if lower == nil || err != nil {
				lower = low
			}
			above, _ := startMean(m, low)
			below, _ := startMean(m, lower)
			loss = above - below
			if p.gamma < 1 { // sweeps end anywhere within their tolerance
				loss += 4 * float64(p.longestRow+4) * roundoff * floats.Norm(z.Values, math.Inf(1)) / (1 - p.gamma)
			}
			return startValue(m, entryOf(exact)), loss, nil
		}
	}
	return nil, 0, errors.New("exact: rational value: no bound could be proved")
}

// loweredValues returns values that are below the true ones by about slack times what rounding
// may amount to, nil if there are none.
func (p *infiniteHorizon) loweredValues(ctx context.Context, z *markov.LeastTotal, dir []float64,
	slack float64) ([]float64, error) {
	z.Perturbation = slack
	p.scalarize(z, dir)
	if endless, err := z.Solve(ctx); endless != nil || err != nil {
		return nil, err
	}
	v := p.liftValues(nil, z)
	// Where rewards cancel out all values may be 0, and what the rewards are the sums of is rounded all the same.
	size := max(floats.Norm(z.Values, math.Inf(1)), floats.Norm(z.Weight, math.Inf(1)))
	for s := range v {
		if p.gamma < 1 && p.quotient.Number[s] != p.quotient.Rest {
			v[s] -= slack * 16 * roundoff * size / (1 - p.gamma)
		}
	}
	return v, nil
}

// belowBackups reports whether every value is at most its backup, and checks what
// infiniteHorizon.lowerBound needs as well.
func (p *infiniteHorizon) belowBackups(dir, v []*big.Rat) bool {
	for s := range v {
		for c := p.k.First[s]; p.graph.In[s] && c < p.k.First[s+1]; c++ {
			if p.graph.Allows(c) && p.rationalGain(entryOf(dir), entryOf(v), s, int(c)).Sign() < 0 {
				return false
			}
		}
	}
	return true
}

// stayingCosts reports whether it costs anything to stay for ever where that is free.
func (p *infiniteHorizon) stayingCosts(q *markov.Quotient, v []*big.Rat) bool {
	for j := range q.Merged {
		if place := q.StayStates(j); place != nil && v[place[0]].Sign() > 0 {
			return true
		}
	}
	return false
}

// rationalGain returns by how much a backup is above the value. What probabilities miss of 1 by
// rounding, the state keeps.
func (p *infiniteHorizon) rationalGain(dir, v func(i int) *big.Rat, s, c int) *big.Rat {
	sum := new(big.Rat)
	next, prob := p.k.Row(c)
	for j, n := range next {
		x := new(big.Rat).Sub(v(int(n)), v(s))
		sum.Add(sum, x.Mul(x, rational(prob[j])))
	}
	if p.gamma < 1 {
		gamma := rational(p.gamma)
		sum.Mul(sum, gamma)
		sum.Sub(sum, gamma.Mul(gamma.Sub(big.NewRat(1, 1), gamma), v(s)))
	}
	for i, r := range p.k.ReturnsOf(c, p.dim()) {
		sum.Add(sum, new(big.Rat).Mul(dir(i), rational(r)))
	}
	return sum
}

// rationalMeans checks in rational arithmetic what averageReward.bound says: the values never fall on the
// way, the totals being added, and where a policy may stay they are at most what relative values show of
// the mean there, up to a margin that is taken off.
func rationalMeans(ctx context.Context, m *cmdp.Model, dir []*big.Rat,
	c relevance) (value *big.Rat, loss float64, err error) {
	p, err := newAverageReward(ctx, m, 1, c, progress.Of(ctx))
	if err != nil {
		return nil, 0, err
	}
	rounded := make([]float64, len(dir))
	ofMeans, ofTotals := make([]*big.Rat, len(dir)), make([]*big.Rat, len(dir))
	for i, t := range dir {
		rounded[i], _ = t.Float64()
		ofMeans[i], ofTotals[i] = t, new(big.Rat)
		if !m.Mean(i) {
			ofMeans[i], ofTotals[i] = new(big.Rat), t
		}
	}
	means, totals := p.splitDirection(rounded)
	least, err := p.leastMeans(ctx, means)
	if err != nil {
		return nil, 0, err
	}
	h := rationals(p.least.Bias)
	w, err := p.transientOf(ctx, totals)
	if err != nil {
		return nil, 0, err
	}
	for w.Perturbation = 1; p.boundedTotals(totals) && w.Perturbation <= 1e8; w.Perturbation *= 8 {
		if err := p.solveTransient(ctx, w, totals, least); err != nil {
			return nil, 0, err
		}
		if w.Cancels() { // lower values are no bound
			if v := p.rationalTotals(ctx, w, ofTotals); v != nil {
				over := p.excessOverMeans(ofMeans, v, h)
				loss, _ = over.Float64()
				return new(big.Rat).Sub(startValue(m, entryOf(v)), over), loss, nil
			}
		}
		low := p.liftValues(nil, w.LeastTotal)
		v := rationals(low)
		if !p.infiniteHorizon.belowBackups(ofTotals, v) {
			continue
		}
		over := p.excessOverMeans(ofMeans, v, h)
		w.Perturbation *= 2
		if err := p.solveTransient(ctx, w, totals, least); err != nil {
			return nil, 0, err
		}
		margin, _ := over.Float64()
		above, _ := startMean(m, low)
		below, _ := startMean(m, p.liftValues(nil, w.LeastTotal))
		return new(big.Rat).Sub(startValue(m, entryOf(v)), over), margin + above - below, nil
	}
	return nil, 0, errors.New("exact: rational value: no bound could be proved")
}

// excessOverMeans bounds by how much v exceeds the least of dir·r + Σ P h − h in a place where a policy
// may stay, or 0 where nothing happens any more. It is at least 0.
func (p *averageReward) excessOverMeans(dir, v, h []*big.Rat) *big.Rat {
	most := new(big.Rat)
	for s := range v {
		if !p.graph.In[s] {
			continue
		}
		if p.k.First[s] == p.k.First[s+1] && v[s].Cmp(most) > 0 {
			most.Set(v[s])
		}
		for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
			if !p.ends.Inside[c] {
				continue
			}
			if over := new(big.Rat).Sub(v[s], p.rationalGain(entryOf(dir), entryOf(h), s, int(c))); over.Cmp(most) > 0 {
				most = over
			}
		}
	}
	return most
}
