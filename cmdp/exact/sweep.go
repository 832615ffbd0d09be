package exact

import (
	"context"
	"math"
)

// brisk is how many sweeps may take to leave a tenth of an error. Where more are needed other methods are faster.
const brisk = 12

// sweep finds the values of a component, with a discount, by modified policy iteration (Puterman, Shin 1978): sweeps of
// all choices, each followed by sweeps of the policy. If a sweep raises every value by low to high, γ/(1−γ) times as much
// is still missing (MacQueen 1966, Porteus 1971). The lower of the two is added, and then no backup is below a value. Where
// transitions lead anywhere values soon rise by the same everywhere, whatever γ is. Where they do not sweep reports false.
func (z *scalar) sweep(ctx context.Context, lo, hi int32) (done bool, err error) {
	const most = 60
	closed, low, high := z.closed(lo, hi), 0.0, 0.0
	span := func(all bool) float64 {
		if low, high = z.backups(lo, hi, all); !closed { // values outside do not rise
			low, high = math.Min(low, 0), math.Max(high, 0)
		}
		return high - low
	}
	for range most {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		before := span(true)
		least := z.tolerance(lo, hi)
		done := z.gamma*before <= least
		for s := lo; s < hi && (done || closed); s++ { // early, what leaks would be far too low
			z.v[s] += z.gamma / (1 - z.gamma) * low
		}
		if done {
			return true, nil
		}
		for n := 1; span(false) > math.Max(0.02*before, least); n++ {
			if n == brisk {
				if high-low > 0.1*before {
					return false, nil
				}
				break
			}
		}
	}
	return false, nil
}

// closed reports whether no choice leaves a component.
func (z *scalar) closed(lo, hi int32) bool {
	for i := z.q.first[lo]; i < z.q.first[hi]; i++ {
		to, prob := z.q.row(i)
		for j, n := range to {
			if prob[j] > 0 && (n < lo || n >= hi) {
				return false
			}
		}
	}
	return true
}

// backups replaces the values of a component by their backups, of all choices, which sets the policy, or of the policy alone.
// It returns the least and the largest change.
func (z *scalar) backups(lo, hi int32, all bool) (low, high float64) {
	v := z.v
	z.right = grown(z.right, int(hi-lo))
	forStates(z.workers, int(hi-lo), len(z.q.to), func(from, to int) float64 {
		if all {
			z.bestBackups(z.right, lo, from, to)
		} else {
			z.policyBackups(z.right, lo, from, to)
		}
		return 0
	})
	low, high = math.Inf(1), math.Inf(-1)
	for j, x := range z.right {
		change := x - v[lo+int32(j)]
		low, high = min(low, change), max(high, change)
		v[lo+int32(j)] = x
	}
	return low, high
}

// bestBackups sets out to the best backups of the states lo + [from, to), and the policy to the choices that have them. States
// are numbered backwards as a rule, and processors fetch memory in advance that is read forwards.
func (z *scalar) bestBackups(out []float64, lo int32, from, to int) {
	q, v, gamma, reward := z.q, z.v, z.gamma, z.reward
	offset, prob := q.k.Offset, q.k.Prob
	for s := to - 1; s >= from; s-- {
		first, end := int(q.first[int(lo)+s]), int(q.first[int(lo)+s+1])
		best, least := 0, math.Inf(1)
		reward := reward[first:end]
		for i, c := range q.choice[first:end][:len(reward)] {
			o, e := offset[c], offset[c+1]
			next := q.to[o:e]
			prob := prob[o:e][:len(next)]
			sum := 0.0
			for j, n := range next {
				sum += float64(prob[j] * v[n])
			}
			// Two assignments without a branch, see backup.states.
			x := reward[i] + float64(gamma*sum)
			if x < least {
				best = i
			}
			least = min(least, x)
		}
		out[s], z.pick[int(lo)+s] = least, int32(first+best)
	}
}

// policyBackups sets out to the backups of the policy.
func (z *scalar) policyBackups(out []float64, lo int32, from, to int) {
	q, v, gamma, reward := z.q, z.v, z.gamma, z.reward
	offset, prob := q.k.Offset, q.k.Prob
	for s := to - 1; s >= from; s-- {
		i := z.pick[int(lo)+s]
		o, e := offset[q.choice[i]], offset[q.choice[i]+1]
		next := q.to[o:e]
		prob := prob[o:e][:len(next)]
		sum := 0.0
		for j, n := range next {
			sum += float64(prob[j] * v[n])
		}
		out[s] = reward[i] + float64(gamma*sum)
	}
}

// A pool solves the transposed system of a chain by sweeps in which every state collects what comes to it.
type pool struct {
	first []int32
	from  []int32
	prob  []float64
}

// collect gathers the entries of a chain by the states that they lead to.
func (p *pool) collect(y *chain) {
	p.first = resized(p.first, y.states()+2)
	p.from, p.prob = grown(p.from, len(y.next)), grown(p.prob, len(y.next))
	for _, n := range y.next {
		p.first[n+2]++
	}
	for s := 2; s < len(p.first); s++ {
		p.first[s] += p.first[s-1]
	}
	for s := range int32(y.states()) {
		for e := y.first[s]; e < y.first[s+1]; e++ {
			at := &p.first[y.next[e]+1]
			p.from[*at], p.prob[*at] = s, y.prob[e]
			*at++
		}
	}
}

// solve improves a guess x of the visits that arrivals, which are not negative, bring about until a sweep changes the flows by no more than rest in
// all, or by rounding. After each sweep all are multiplied so that as much leaks as arrives (Takahashi 1975): what sweeps
// are slow to change is their sum. It reports false where they are slow all the same.
func (p *pool) solve(ctx context.Context, y *chain, x, right []float64, rest float64) bool {
	arrives := 0.0
	for s, r := range right {
		x[s] = math.Max(x[s], 0)
		arrives += r
	}
	p.collect(y)
	last := math.Inf(1)
	for n := 1; ctx.Err() == nil; n++ {
		most, sum, size, leaks := 0.0, 0.0, 0.0, 0.0
		for s, r := range right {
			from := p.from[p.first[s]:p.first[s+1]]
			prob := p.prob[p.first[s]:][:len(from)]
			for j, n := range from {
				r += float64(prob[j] * x[n])
			}
			change := math.Abs(r - x[s]*y.diag[s])
			most, sum, size = max(most, change), sum+change, max(size, r)
			x[s] = r / y.diag[s]
			leaks += x[s] * y.leak[s]
		}
		if n%brisk == 0 {
			if most > 0.1*last {
				return false
			}
			last = most
		}
		if !(leaks > 0) {
			return false
		}
		if math.Abs(arrives-leaks) <= 1e-13*arrives { // to rounding
			if sum <= rest || most <= 4*unit*size {
				return true
			}
			continue
		}
		for s := range x {
			x[s] *= arrives / leaks
		}
	}
	return false
}
