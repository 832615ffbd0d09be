package markov

import (
	"cmdpsolve/cmdp/internal/parallel"
	"context"
	"math"
)

// reviewEvery is how many sweeps may take to leave a tenth of an error. Where more are needed other methods are
// faster.
const reviewEvery = 12

// underflow is the least magnitude with relative rounding.
const underflow = 0x1p-1022 / unit

// modifiedPolicyIteration finds the values of a component, with a discount, by modified policy iteration
// (Puterman, Shin 1978): sweeps of all choices, each followed by sweeps of the policy. If a sweep raises every
// value by low to high, γ/(1−γ) times as much is still missing (MacQueen 1966, Porteus 1971). The lower of the
// two is added, and then no backup is below a value. Where transitions lead anywhere values soon rise by the
// same everywhere, whatever γ is. Where they do not, it reports false.
func (z *LeastTotal) modifiedPolicyIteration(ctx context.Context, lo, hi int32) (done bool, err error) {
	const most = 60
	z.rows.start(z.Quotient, lo, hi)
	closed, low, high := z.closed(lo, hi), 0.0, 0.0
	span := func(all bool) float64 {
		low, high = z.backups(lo, hi, all)
		if !closed { // values outside do not rise
			low, high = math.Min(low, 0), math.Max(high, 0)
		}
		return high - low
	}
	for range most {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		z.Progress.At(findingValues, math.NaN(), int(hi-lo))
		before := span(true)
		least := z.backupTolerance(lo, hi)
		done := z.gamma*before <= least
		for s := lo; s < hi && (done || closed); s++ { // early, what leaks would be far too low
			z.Values[s] += z.gamma / (1 - z.gamma) * low
			if math.Abs(z.Values[s]) < underflow { // what is left of other rewards, where these return nothing
				z.Values[s] = 0
			}
		}
		if done && z.gamma*before <= z.backupTolerance(lo, hi) { // of other rewards values may have been far larger
			return true, nil
		}
		for n := 1; span(false) > math.Max(0.02*before, least); n++ {
			if n == reviewEvery {
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
func (z *LeastTotal) closed(lo, hi int32) bool {
	for i := z.Quotient.First[lo]; i < z.Quotient.First[hi]; i++ {
		to, prob := z.Quotient.Row(i)
		for j, n := range to {
			if prob[j] > 0 && (n < lo || n >= hi) {
				return false
			}
		}
	}
	return true
}

// backups replaces the values of a component by their backups, of all choices, which sets the policy, or of the
// policy alone. It returns the least and the largest change.
func (z *LeastTotal) backups(lo, hi int32, all bool) (low, high float64) {
	v := z.Values
	z.right = grown(z.right, int(hi-lo))
	parallel.ForStates(z.workers, int(hi-lo), len(z.Quotient.To), func(from, to int) float64 {
		if all {
			z.bestBackups(z.right, lo, from, to)
		} else {
			z.rows.backups(z.right, z.Values, from, to)
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

// bestBackups sets out to the best backups of the states lo + [from, to), and the policy to the choices that
// have them. States are numbered backwards as a rule, and processors fetch memory in advance that is read
// forwards.
func (z *LeastTotal) bestBackups(out []float64, lo int32, from, to int) {
	q, v, gamma, reward := z.Quotient, z.Values, z.gamma, z.Reward
	for s := to - 1; s >= from; s-- {
		first, end := int(q.First[int(lo)+s]), int(q.First[int(lo)+s+1])
		best, least := 0, math.Inf(1)
		reward := reward[first:end]
		for i, c := range q.Choice[first:end][:len(reward)] {
			next, prob := q.row(c)
			sum := 0.0
			for j, n := range next {
				sum += float64(prob[j] * v[n])
			}
			// Two assignments without a branch, as a processor that guesses would wait for wrong guesses.
			x := reward[i] + float64(gamma*sum)
			if x < least {
				best = i
			}
			least = min(least, x)
		}
		out[s], z.Policy[int(lo)+s] = least, int32(first+best)
		next, prob := q.row(q.Choice[first+best])
		z.rows.set(s, next, prob, gamma, reward[best])
	}
}

// policyRows are those of the policy, one after the other: to fetch one in several rows of the model takes as long as
// to fetch them all.
type policyRows struct {
	first  []int32 // of each state, where there is room for its longest row
	end    []int32 // of each state, where the row of the policy ends
	next   []int32
	prob   []float64 // times the discount
	reward []float64 // of each state
}

// start makes room for a component.
func (r *policyRows) start(q *Quotient, lo, hi int32) {
	n, room := int(hi-lo), 0
	r.first, r.end, r.reward = grown(r.first, n), grown(r.end, n), grown(r.reward, n)
	for s := range r.first {
		r.first[s] = int32(room)
		longest := 0
		for i := q.First[int(lo)+s]; i < q.First[int(lo)+s+1]; i++ {
			next, _ := q.Row(i)
			longest = max(longest, len(next))
		}
		room += longest
	}
	r.next, r.prob = grown(r.next, room), grown(r.prob, room)
}

// set sets the row of a state.
func (r *policyRows) set(s int, next []int32, prob []float64, gamma, reward float64) {
	first := r.first[s]
	r.end[s] = first + int32(copy(r.next[first:], next))
	row := r.prob[first:r.end[s]]
	for j, p := range prob[:len(row)] {
		row[j] = gamma * p
	}
	r.reward[s] = reward
}

// backups sets out to the backups of the policy in the states [from, to) of the component, whose values v are.
func (r *policyRows) backups(out, v []float64, from, to int) {
	for s := from; s < to; s++ {
		next := r.next[r.first[s]:r.end[s]]
		prob := r.prob[r.first[s]:][:len(next)]
		sum := r.reward[s]
		for j, n := range next {
			sum += float64(prob[j] * v[n])
		}
		out[s] = sum
	}
}

// sweep gives the states [from, to) of the component that begins at lo their backups of the policy, one after the
// other. They are made cheaper as those of sweepCached, where values have one sign.
func (r *policyRows) sweep(v []float64, lo, from, to int32, rounding float64) {
	for s := from; s < to; s++ {
		next := r.next[r.first[s]:r.end[s]]
		share := r.prob[r.first[s]:][:len(next)]
		sum := 0.0
		for j, n := range next {
			sum += float64(share[j] * v[n])
		}
		x := r.reward[s] + sum
		v[lo+s] = x - rounding*(math.Abs(sum)+math.Abs(x))
	}
}
