package exact

import (
	"cmdpsolve/cmdp/markov"
	"math/big"
	"slices"
)

// mostRational is the number of states of a strongly connected component up to which values are computed in
// rational arithmetic, where returns cancel out, or a discount is so near to 1 that it magnifies rounding, and
// a bound is left open.
const mostRational = 40

// mostRationalWork bounds the square of the states of a component times the bits of the values that it begins with:
// these grow from one component to the next.
const mostRationalWork = 1 << 23

// nearOneDiscount is the discount from which on rounding is magnified too much. Models of up to
// mostNearOneStates states are worth the time then.
const (
	nearOneDiscount   = 1 - 1e-5
	mostNearOneStates = 200
)

// rationalValues improves the policy of a direction in rational arithmetic until no choice is better, and returns
// the values of the states of its quotient, which are at most all of their backups. It returns nil if a policy
// would go on for ever, or a component or the values before it are too large.
func (p *infiniteHorizon) rationalValues(z *markov.LeastTotal, dir []*big.Rat) []*big.Rat {
	q := z.Quotient
	v := make([]*big.Rat, q.Rest+1)
	v[q.Rest] = new(big.Rat)
	before, bits := slices.Clone(z.Policy), 0
	for i := range len(q.Component) - 1 {
		lo, hi := q.Component[i], q.Component[i+1]
		n := int(hi - lo)
		if n > mostRational || n*n*bits > mostRationalWork || !p.rationalIteration(z, dir, v, lo, hi) {
			copy(z.Policy, before)
			return nil
		}
		for _, x := range v[lo:hi] {
			bits = max(bits, x.Denom().BitLen())
		}
	}
	return v
}

// rationalIteration is policy iteration in the component of the states [lo, hi). It reports whether it came to an end.
func (p *infiniteHorizon) rationalIteration(z *markov.LeastTotal, dir, v []*big.Rat, lo, hi int32) bool {
	const rounds = 100
	for range rounds {
		for s := lo; s < hi; s++ {
			if z.Policy[s] < 0 {
				return false
			}
		}
		if !p.rationalSystem(z, dir, v, lo, hi) {
			return false
		}
		best := true
		for s := lo; s < hi; s++ {
			least := new(big.Rat)
			for i := z.Quotient.First[s]; i < z.Quotient.First[s+1]; i++ {
				if x := p.rationalAdvantage(z, i, s, dir, v); x.Cmp(least) < 0 {
					least, z.Policy[s], best = x, i, false
				}
			}
		}
		if best {
			return true
		}
	}
	return false
}

// rationalAdvantage returns by how much the backup of choice i is above the value of state s.
func (p *infiniteHorizon) rationalAdvantage(z *markov.LeastTotal, i, s int32, dir, v []*big.Rat) *big.Rat {
	sum := new(big.Rat)
	to, prob := z.Quotient.Row(i)
	if len(to) == 0 && z.Quotient.Choice[i] == markov.Stay {
		return sum.Sub(p.rationalReward(z, i, dir), v[s])
	}
	for j, n := range to {
		if n != s {
			x := new(big.Rat).Sub(v[n], v[s])
			sum.Add(sum, x.Mul(x, rational(prob[j])))
		}
	}
	if p.gamma < 1 {
		gamma := rational(p.gamma)
		sum.Mul(sum, gamma)
		sum.Sub(sum, gamma.Mul(gamma.Sub(big.NewRat(1, 1), gamma), v[s]))
	}
	return sum.Add(sum, p.rationalReward(z, i, dir))
}

// rationalReward returns dir·r of choice i of a quotient, and what it is worth to stay as the float64 that it is.
func (p *infiniteHorizon) rationalReward(z *markov.LeastTotal, i int32, dir []*big.Rat) *big.Rat {
	sum, c := new(big.Rat), int(z.Quotient.Choice[i])
	if c == markov.Stay {
		return rational(z.Reward[i])
	}
	returns := p.k.ReturnsOf(c, len(dir))
	for j, t := range dir {
		if r := returns[j]; r != 0 && t.Sign() != 0 {
			sum.Add(sum, new(big.Rat).Mul(t, rational(r)))
		}
	}
	return sum
}

// rationalSystem sets v to the values of the policy in the states [lo, hi), by elimination. It reports whether
// the policy comes to rest.
func (p *infiniteHorizon) rationalSystem(z *markov.LeastTotal, dir, v []*big.Rat, lo, hi int32) bool {
	n := int(hi - lo)
	rows := make([][]*big.Rat, n) // the last entry is the right-hand side
	for j := range rows {
		row := make([]*big.Rat, n+1)
		for l := range row {
			row[l] = new(big.Rat)
		}
		s := lo + int32(j)
		i := z.Policy[s]
		row[n].Set(p.rationalReward(z, i, dir))
		to, prob := z.Quotient.Row(i)
		gamma := rational(p.gamma)
		if z.Quotient.Choice[i] == markov.Stay {
			row[j].SetInt64(1)
		} else if p.gamma < 1 {
			row[j].Sub(big.NewRat(1, 1), gamma)
		}
		for e, next := range to {
			x := rational(prob[e])
			x.Mul(x, gamma)
			if next == s {
				continue
			}
			row[j].Add(row[j], x)
			if next >= lo && next < hi {
				row[next-lo].Sub(row[next-lo], x)
			} else {
				row[n].Add(row[n], x.Mul(x, v[next]))
			}
		}
		rows[j] = row
	}
	for j := range n {
		at := j
		for at < n && rows[at][j].Sign() == 0 {
			at++
		}
		if at == n {
			return false
		}
		rows[j], rows[at] = rows[at], rows[j]
		for l := range n {
			if l == j || rows[l][j].Sign() == 0 {
				continue
			}
			f := new(big.Rat).Quo(rows[l][j], rows[j][j])
			for c := j; c <= n; c++ {
				if rows[j][c].Sign() != 0 {
					rows[l][c].Sub(rows[l][c], new(big.Rat).Mul(f, rows[j][c]))
				}
			}
		}
	}
	for j := range n {
		v[lo+int32(j)] = new(big.Rat).Quo(rows[j][n], rows[j][j])
	}
	return true
}

// rationalBoundOf returns μ·v for rational values of the states of a quotient.
func (p *infiniteHorizon) rationalBoundOf(q *markov.Quotient, v []*big.Rat) *big.Rat {
	return startValue(p.m, func(s int) *big.Rat { return v[q.Number[s]] })
}
