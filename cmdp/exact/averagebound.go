package exact

import (
	"math"

	"cmdpsolve/cmdp/internal/parallel"

	"gonum.org/v1/gonum/floats"
)

// bound returns μ·v and how far the least value may lie below, by a pass over the model. small, if not nil, is added
// to v. Let h be the relative values. In an end no mean is below the least of θ·r + Σ P h − h over
// its choices; v is at most that in each end, up to the margin, and at most the totals and its mean after
// every choice, so that with what has been collected it can only rise on the way.
func (p *averageReward) bound(means, totals, v, small []float64) (value, margin float64) {
	value, lost := startMean(p.m, v)
	if small != nil {
		more, alsoLost := startMean(p.m, small)
		value += more
		lost += alsoLost + roundoff*math.Abs(value)
	}
	if !p.boundedTotals(totals) {
		return value, math.Inf(1)
	}
	collects := floats.Norm(totals, 1) > 0
	low := &lowerValues{p.infiniteHorizon, totals, v, small}
	var size parallel.Maximum
	margin = parallel.ForStates(p.workers, len(v), len(p.k.Next), func(lo, hi int) (margin float64) {
		most := 0.0
		for s, x := range v[lo:hi] {
			s += lo
			if !p.graph.In[s] {
				continue
			}
			if small != nil {
				x += small[s]
			}
			if p.k.First[s] == p.k.First[s+1] {
				margin = max(margin, x)
			}
			for c := int(p.k.First[s]); c < int(p.k.First[s+1]); c++ {
				if !p.graph.Allows(int32(c)) {
					continue
				}
				inside := p.ends.Inside[c]
				if !inside || collects { // else v is the same everywhere
					lack := low.shortfall(s, c)
					if math.IsNaN(lack) || lack > 0 && !low.holdsExactly(s, c) {
						return math.Inf(1)
					}
				}
				if inside {
					up, weight, error := p.residual(means, p.least.Bias, s, c)
					most = max(most, math.Abs(x), weight)
					margin = max(margin, x-(up-error))
				}
			}
		}
		size.Add(most)
		return margin
	})
	return value, margin*(1+8*roundoff) + roundoff*size.Get() + lost
}

// boundedTotals reports whether every total that a direction has a part in matters, and on that side. Any other
// may have no bound.
func (p *averageReward) boundedTotals(totals []float64) bool {
	for i, t := range totals {
		if t > 0 && !p.up[i] || t < 0 && !p.down[i] {
			return false
		}
	}
	return true
}

// residual returns dir·r + Σ P v − v of a choice, the magnitude of what is added up, and what rounding may
// take from it.
func (p *averageReward) residual(dir, v []float64, s, c int) (up, weight, lost float64) {
	for j, r := range p.k.ReturnsOf(c, len(dir)) {
		y := dir[j] * r
		up += y
		weight += math.Abs(y)
	}
	x := v[s]
	next, prob := p.k.Row(c)
	for j, n := range next {
		y := prob[j] * (v[n] - x)
		up += y
		weight += math.Abs(y)
	}
	return up, weight, float64(len(dir)+2*len(next)+6) * roundoff * weight
}
