package exact

import (
	"math"
	"math/big"
	"slices"

	"cmdpsolve/cmdp/internal/parallel"
	"cmdpsolve/cmdp/markov"
)

// lowerValues are values of the states of a model that should be at most their backups in a direction.
type lowerValues struct {
	p     *infiniteHorizon
	dir   []float64
	v     []float64
	small []float64 // corrections of v that are added to it, nil for none
}

// bound returns μ·v and how far V*(dir) may lie below. It goes through the choices of the model itself and trusts
// nothing but the graph and q, which has the places where a policy may stay: with a discount, if no backup of v falls
// short of v by more than ε, V* ≥ v − ε/(1−γ). For a total, v must be at most its backups, and at most 0 where a
// policy may stay for ever. Then v is below the returns to come of every policy that rests. The margin is infinite
// where that is not so.
func (l *lowerValues) bound(q *markov.Quotient) (value, margin float64) {
	p, v, small := l.p, l.v, l.small
	g := p.gamma
	// What a choice gives is 0 or more then.
	nonnegative := small == nil && p.nonnegative(l.dir) &&
		!slices.ContainsFunc(v, func(x float64) bool { return !(x >= 0) })
	short := parallel.ForStates(p.workers, len(v), len(p.k.Next), func(lo, hi int) float64 {
		short := 0.0
		for s := lo; s < hi; s++ {
			if !p.graph.In[s] || nonnegative && v[s] == 0 {
				continue
			}
			for c := int(p.k.First[s]); c < int(p.k.First[s+1]); c++ {
				if !p.graph.Allows(int32(c)) {
					continue
				}
				lack := l.shortfall(s, c)
				if math.IsNaN(lack) {
					return math.Inf(1)
				}
				if lack > short && !(g == 1 && l.holdsExactly(s, c)) {
					short = lack
				}
			}
		}
		return short
	})
	if !l.endRight(q) {
		short = math.Inf(1)
	}
	value, margin = startMean(p.m, v)
	if small != nil {
		more, lost := startMean(p.m, small)
		value += more
		margin += lost + roundoff*math.Abs(value)
	}
	if short > 0 {
		short *= 1.001 / (1 - g)
		enough := 1e-10 * math.Abs(value)
		if short > enough && isFinite(short) {
			short = math.Min(short, l.accumulatedShortfall(enough))
		}
		margin += short
	}
	return value, margin
}

// endRight reports whether values are 0 where the process rests, and at most 0 where a policy may stay for ever.
func (l *lowerValues) endRight(q *markov.Quotient) bool {
	p, v, small := l.p, l.v, l.small
	for s, x := range v {
		if p.k.First[s] == p.k.First[s+1] && (x != 0 || small != nil && small[s] != 0) {
			return false
		}
	}
	for j := range q.Merged {
		place := q.StayStates(j)
		if place == nil {
			continue
		}
		x := v[place[0]]
		if small != nil {
			x += small[place[0]]
		}
		if x > 0 {
			return false
		}
	}
	return true
}

// shortfall bounds by how much the value of a state may lie above what a choice gives.
func (l *lowerValues) shortfall(s, c int) float64 {
	p, dir, v, small := l.p, l.dir, l.v, l.small
	d, g := len(dir), p.gamma
	// All that is added up, and a bound of it. The way back to s itself drops out.
	sum, size := -(1-g)*v[s], (1-g)*math.Abs(v[s])
	for i, r := range p.k.ReturnsOf(c, d) {
		x := dir[i] * r
		sum += x
		size += math.Abs(x)
	}
	next, prob := p.k.Row(c)
	for j, n := range next {
		x := g * prob[j] * (v[n] - v[s])
		sum += x
		size += math.Abs(x)
	}
	terms := d + len(next) + 4
	if small != nil {
		sum -= (1 - g) * small[s]
		size += (1 - g) * math.Abs(small[s])
		for j, n := range next {
			x := g * prob[j] * (small[n] - small[s])
			sum += x
			size += math.Abs(x)
		}
		terms += len(next) + 1
	}
	return float64(terms)*roundoff*size - sum
}

// accumulatedShortfall bounds what discounted values lack from the start, under every policy. The largest lack of all
// states, for ever, is far more than that where only states lack something that are rarely reached. The bounds of
// states begin with the largest lack that can be reached from their component, for ever, and stay bounds in every
// backup. Once that of the start is small enough, it is left at that.
func (l *lowerValues) accumulatedShortfall(enough float64) float64 {
	const sweeps = 100
	p, v := l.p, l.v
	lacks, bound := make([]float64, p.k.Choices()), make([]float64, len(v))
	most := func(s int32, of func(c int) float64) (most float64) {
		for c := p.k.First[s]; c < p.k.First[s+1]; c++ {
			if p.graph.In[s] && p.graph.Allows(c) {
				most = math.Max(most, of(int(c)))
			}
		}
		return most
	}
	for i := range p.parts.Len() { // last ones first
		reached := 0.0
		for _, s := range p.parts.Part(i) {
			reached = math.Max(reached, most(s, func(c int) float64 {
				lacks[c] = 1.001 * l.shortfall(int(s), c)
				most := lacks[c] / (1 - p.gamma)
				next, _ := p.k.Row(c)
				for _, n := range next {
					most = math.Max(most, bound[n])
				}
				return most
			}))
		}
		for _, s := range p.parts.Part(i) {
			bound[s] = reached
		}
	}
	value, _ := startMean(p.m, bound)
	for n := 0; n < sweeps && value > enough; n++ {
		for s := int32(len(v)) - 1; s >= 0; s-- {
			bound[s] = most(s, func(c int) float64 {
				next, prob := p.k.Row(c)
				return lacks[c] + p.gamma*expectation(next, prob, bound)
			})
		}
		value, _ = startMean(p.m, bound)
	}
	return 1.001 * value
}

// holdsExactly reports in rational arithmetic whether a total is at most its backup: in loops
// whose returns cancel out it is just that, and rounding leaves it open.
func (l *lowerValues) holdsExactly(s, c int) bool {
	values := func(s int) *big.Rat {
		x := rational(l.v[s])
		if l.small != nil {
			x.Add(x, rational(l.small[s]))
		}
		return x
	}
	return l.p.rationalGain(func(i int) *big.Rat { return rational(l.dir[i]) }, values, s, c).Sign() >= 0
}
