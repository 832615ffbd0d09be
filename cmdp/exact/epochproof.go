package exact

import (
	"context"
	"math"
	"math/big"
	"slices"

	"cmdpsolve/cmdp/markov"
)

// mostRationalPass bounds the cubes of the states of components that a pass solves in rational arithmetic.
const mostRationalPass = 1 << 21

// belowBackups reports whether all values of the epoch are at most what each choice that is offered gives, see
// lowerValues.shortfall, and at most 0 where a policy may stay. Where returns cancel out along loops values are found
// anew, in rational arithmetic.
func (p *epochPass) belowBackups(ctx context.Context) bool {
	q := p.quotient
	for _, m := range q.Merged {
		s := p.class.members[m.State][0]
		if q.Choice[q.First[m.State]] == markov.Stay && p.v[s]+p.lack(s) > 0 {
			return false
		}
	}
	for i := range len(q.Component) - 1 {
		if !p.componentBelowBackups(q.Component[i], q.Component[i+1]) &&
			(p.gains == nil || !p.solveRational(ctx, q.Component[i], q.Component[i+1])) {
			return false
		}
	}
	return true
}

// componentBelowBackups is belowBackups for the component of the states [lo, hi) of the quotient.
func (p *epochPass) componentBelowBackups(lo, hi int32) bool {
	k := p.class.kernel
	for n := lo; n < hi; n++ {
		for _, s := range p.class.members[n] {
			for c := k.First[s]; c < k.First[s+1] && p.counts(s); c++ {
				if (p.allows == nil || p.allows[c]) && !p.holds(c, s) && !p.holdsExactly(c, s) {
					return false
				}
			}
		}
	}
	return true
}

// holds reports whether the value of a state is at most what a choice gives, whatever is lost to rounding.
func (p *epochPass) holds(c, s int32) bool {
	sum, size := p.class.reward[c], p.class.size[c]
	to, prob, letters := p.row(c)
	for j, n := range to {
		y := float64(prob[j] * (p.from[letters[j]][n] - p.v[s]))
		sum += y
		size += math.Abs(y)
	}
	terms := p.e.Dim + len(to) + 4
	if p.rounds > 0 {
		more, of := p.moreByLacks(c, s)
		sum, size, terms = sum+more, size+of, terms+len(to)+1
	}
	return sum-float64(terms)*roundoff*size >= 0
}

// holdsExactly reports in rational arithmetic whether the value of a state is at most what a choice gives, see
// lowerValues.holdsExactly.
func (p *epochPass) holdsExactly(c, s int32) bool {
	value := func(v, lacks []float64, s int32) *big.Rat {
		if p.rounds == 0 {
			return rational(v[s])
		}
		x, y := rational(v[s]), rational(lacks[s])
		if x == nil || y == nil {
			return nil
		}
		return x.Add(x, y)
	}
	sum, own := new(big.Rat), value(p.v, p.lacks, s)
	to, prob, letters := p.row(c)
	for j, n := range to {
		x := value(p.from[letters[j]], p.fromLacks[letters[j]], n)
		if x == nil || own == nil { // beyond all numbers
			return false
		}
		sum.Add(sum, x.Mul(x.Sub(x, own), rational(prob[j])))
	}
	for j, r := range p.class.kernel.ReturnsOf(int(c), p.e.Dim) {
		sum.Add(sum, new(big.Rat).Mul(rational(p.dir[j]), rational(r)))
	}
	return sum.Sign() >= 0
}

// solveRational finds the values of the component of the states [lo, hi) of the quotient in rational arithmetic, what
// leads out of it being worth what it is, and rounds them down. It reports false where that would take too long.
func (p *epochPass) solveRational(ctx context.Context, lo, hi int32) bool {
	q, z, n := p.quotient, p.components, int(hi-lo)
	p.rationalWork += n * n * n
	if p.rounds > 0 || n > mostRational || p.rationalWork > mostRationalPass {
		return false
	}
	r := &rationalIteration{ctx: ctx, k: p.class.kernel, gamma: 1, z: z, dir: rationals(p.dir),
		v: make([]*big.Rat, q.Rest+1), outside: make(map[int32]*big.Rat)}
	r.v[q.Rest] = new(big.Rat)
	for _, c := range q.Choice[q.First[lo]:q.First[hi]] {
		if c == markov.Stay {
			continue
		}
		sum := new(big.Rat)
		to, prob, letters := p.row(c)
		for j, number := range p.numbers(q, c) {
			switch x := rational(p.from[letters[j]][to[j]]); {
			case prob[j] == 0 || number >= lo && number < hi:
			case x == nil: // beyond all numbers
				return false
			case number == q.Rest:
				sum.Add(sum, x.Mul(x, rational(prob[j])))
			default:
				r.v[number] = x
			}
		}
		r.outside[c] = sum
	}
	before := slices.Clone(z.Policy[lo:hi])
	copy(z.Policy[lo:hi], p.chosen[lo:hi])
	ok := r.component(lo, hi)
	copy(z.Policy[lo:hi], before)
	for n := lo; n < hi && ok; n++ {
		for _, s := range p.class.members[n] {
			p.v[s] = roundedDown(r.v[n])
		}
	}
	return ok
}

// roundedDown returns the largest number that is not above x, −∞ below all numbers.
func roundedDown(x *big.Rat) float64 {
	y, exact := x.Float64()
	if !exact && y > -math.MaxFloat64 && (math.IsInf(y, 1) || rational(y).Cmp(x) > 0) {
		y = math.Nextafter(y, math.Inf(-1))
	}
	return y
}
