package exact

import (
	"context"
	"math/big"
	"slices"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
)

// mostRational is the number of states of a strongly connected component up to which values are computed in
// rational arithmetic, where returns cancel out, or a discount is so near to 1 that it magnifies rounding, and
// a bound is left open.
const mostRational = 40

// mostRationalWork bounds the square of the states of a component times the bits of the values that it begins with:
// these grow from one component to the next.
const mostRationalWork = 1 << 23

// lowDigits is the precision, in bits, of values of single states. What they are rounded down by, added up over all
// steps, is less than the least float64 even of values of 1e300 that cancel out. Sums of probabilities times a discount
// are exact.
const lowDigits = 2304

// nearOneDiscount is the discount from which on rounding is magnified too much. Models of up to
// mostNearOneStates states are worth the time then.
const (
	nearOneDiscount   = 1 - 1e-5
	mostNearOneStates = 200
)

// rationalDeadline is the key under which a context has the time from on which no more rational arithmetic is done:
// bounds in floating point are proved beyond it.
type rationalDeadline struct{}

// A rationalIteration is policy iteration for a total or discounted reward in rational arithmetic. Values of components
// of a single state are rounded down, so that their digits do not grow from one to the next: they are at most their
// backups then, as in other components, where rounding some of the values could break that.
type rationalIteration struct {
	ctx   context.Context
	k     *cmdp.Kernel
	gamma float64
	z     *markov.LeastTotal // whose policy is improved
	dir   []*big.Rat
	v     []*big.Rat   // values of the states of its quotient, nil where they are known as floating-point numbers
	low   []*big.Float // these, and what others are rounded down to; nil before it is needed
	// outside is what is added to the rewards of choices, nil for nothing.
	outside map[int32]*big.Rat
}

// rationalValues improves the policy of a direction in rational arithmetic until no choice is better, and returns
// the values of the states of the model, which are at most all of their backups. It returns nil if a policy
// would go on for ever, a component or the values before it are too large, or there is no time.
func (p *infiniteHorizon) rationalValues(ctx context.Context, z *markov.LeastTotal,
	dir []*big.Rat) func(s int) *big.Rat {
	q := z.Quotient
	r := &rationalIteration{ctx: ctx, k: p.k, gamma: p.gamma, z: z, dir: dir, v: make([]*big.Rat, q.Rest+1),
		low: make([]*big.Float, q.Rest+1)}
	r.v[q.Rest] = new(big.Rat)
	before, bits := slices.Clone(z.Policy), 0
	for i := range len(q.Component) - 1 {
		lo, hi := q.Component[i], q.Component[i+1]
		n, done := int(hi-lo), false
		switch {
		case r.over():
		case n == 1:
			done = r.state(lo)
		case n <= mostRational && n*n*bits <= mostRationalWork:
			done = r.component(lo, hi)
		}
		if !done {
			copy(z.Policy, before)
			return nil
		}
		for s := lo; s < hi; s++ {
			if n == 1 {
				bits = max(bits, int(r.low[s].MinPrec())-r.low[s].MantExp(nil))
			} else {
				bits = max(bits, r.v[s].Denom().BitLen())
			}
		}
	}
	return func(s int) *big.Rat { return r.rational(q.Number[s]) }
}

// rational returns the value of a state.
func (r *rationalIteration) rational(s int32) *big.Rat {
	if r.v[s] == nil {
		r.v[s], _ = r.low[s].Rat(nil)
	}
	return r.v[s]
}

// float returns the value of a state, rounded down.
func (r *rationalIteration) float(s int32) *big.Float {
	if r.low[s] == nil {
		r.low[s] = lowFloat().SetRat(r.v[s])
	}
	return r.low[s]
}

// lowFloat returns a number whose operations round down.
func lowFloat() *big.Float { return new(big.Float).SetPrec(lowDigits).SetMode(big.ToNegativeInf) }

// state sets the value of a component of one state, at most the least of what its choices give, and the policy there.
// It reports false where a policy gains from going on for ever, or every one goes on.
func (r *rationalIteration) state(s int32) bool {
	var least *big.Float
	q := r.z.Quotient
	for i := q.First[s]; i < q.First[s+1]; i++ {
		x := lowFloat().SetRat(r.reward(i))
		to, prob := q.Row(i)
		if q.Choice[i] != markov.Stay {
			gamma := new(big.Float).SetFloat64(r.gamma)
			leaves := lowFloat().Sub(big.NewFloat(1), gamma) // with what probability
			for e, n := range to {
				if n != s {
					p := lowFloat().Mul(gamma, big.NewFloat(prob[e]))
					leaves.Add(leaves, p)
					x.Add(x, p.Mul(p, r.float(n)))
				}
			}
			if leaves.Sign() == 0 {
				if x.Sign() < 0 {
					return false
				}
				continue
			}
			x.Quo(x, leaves)
		}
		if least == nil || x.Cmp(least) < 0 {
			least, r.z.Policy[s] = x, i
		}
	}
	r.low[s] = least
	return least != nil
}

// over reports whether there is no more time.
func (r *rationalIteration) over() bool {
	deadline, limited := r.ctx.Value(rationalDeadline{}).(time.Time)
	return r.ctx.Err() != nil || limited && time.Now().After(deadline)
}

// component is policy iteration in the component of the states [lo, hi). It reports whether it came to an end.
func (r *rationalIteration) component(lo, hi int32) bool {
	const rounds = 100
	for range rounds {
		for s := lo; s < hi; s++ {
			if r.z.Policy[s] < 0 {
				return false
			}
		}
		if !r.evaluate(lo, hi) {
			return false
		}
		best := true
		for s := lo; s < hi; s++ {
			least := new(big.Rat)
			for i := r.z.Quotient.First[s]; i < r.z.Quotient.First[s+1]; i++ {
				if x := r.advantage(i, s); x.Cmp(least) < 0 {
					least, r.z.Policy[s], best = x, i, false
				}
			}
		}
		if best {
			return true
		}
	}
	return false
}

// advantage returns by how much the backup of choice i is above the value of state s.
func (r *rationalIteration) advantage(i, s int32) *big.Rat {
	sum := new(big.Rat)
	to, prob := r.z.Quotient.Row(i)
	if len(to) == 0 && r.z.Quotient.Choice[i] == markov.Stay {
		return sum.Sub(r.reward(i), r.v[s])
	}
	for j, n := range to {
		if n != s {
			x := new(big.Rat).Sub(r.rational(n), r.v[s])
			sum.Add(sum, x.Mul(x, rational(prob[j])))
		}
	}
	if r.gamma < 1 {
		gamma := rational(r.gamma)
		sum.Mul(sum, gamma)
		sum.Sub(sum, gamma.Mul(gamma.Sub(big.NewRat(1, 1), gamma), r.v[s]))
	}
	return sum.Add(sum, r.reward(i))
}

// reward returns dir·r of choice i of a quotient, and what it is worth to stay as the float64 that it is.
func (r *rationalIteration) reward(i int32) *big.Rat {
	sum, c := new(big.Rat), int(r.z.Quotient.Choice[i])
	if c == markov.Stay {
		return rational(r.z.Reward[i])
	}
	returns := r.k.ReturnsOf(c, len(r.dir))
	for j, t := range r.dir {
		if x := returns[j]; x != 0 && t.Sign() != 0 {
			sum.Add(sum, new(big.Rat).Mul(t, rational(x)))
		}
	}
	if x := r.outside[int32(c)]; x != nil {
		sum.Add(sum, x)
	}
	return sum
}

// evaluate sets v to the values of the policy in the states [lo, hi), by elimination. It reports whether
// the policy comes to rest.
func (r *rationalIteration) evaluate(lo, hi int32) bool {
	n := int(hi - lo)
	rows := make([][]*big.Rat, n) // the last entry is the right-hand side
	for j := range rows {
		row := make([]*big.Rat, n+1)
		for l := range row {
			row[l] = new(big.Rat)
		}
		s := lo + int32(j)
		i := r.z.Policy[s]
		row[n].Set(r.reward(i))
		to, prob := r.z.Quotient.Row(i)
		gamma := rational(r.gamma)
		if r.z.Quotient.Choice[i] == markov.Stay {
			row[j].SetInt64(1)
		} else if r.gamma < 1 {
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
				row[n].Add(row[n], x.Mul(x, r.rational(next)))
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
			if r.over() {
				return false
			}
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
		r.v[lo+int32(j)] = new(big.Rat).Quo(rows[j][n], rows[j][j])
	}
	return true
}
