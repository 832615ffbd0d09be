package exact

import (
	"cmdpsolve/cmdp/internal/parallel"
	"math"
	"sync/atomic"
)

// improve changes the policy in a component wherever an action is better by more than
// slack. It returns in how many states, and the largest difference.
func (z *scalar) improve(lo, hi int32, slack float64) (changed int, worst float64) {
	work, first := 0, z.q.first[lo]
	if z.q.first[hi] > first {
		work = len(z.q.to) / len(z.q.choice) * int(z.q.first[hi]-first)
	}
	var count atomic.Int64
	worst = parallel.ForStates(z.workers, int(hi-lo), work, func(from, to int) float64 {
		worst, changed := 0.0, 0
		for s := lo + int32(from); s < lo+int32(to); s++ {
			if x := z.better(s, slack); x > 0 {
				worst = math.Max(worst, x)
				changed++
			}
		}
		count.Add(int64(changed))
		return worst
	})
	return int(count.Load()), worst
}

// better changes the policy in a state if a choice is better by more than slack, and
// half the perturbation, and returns by how much it is.
func (z *scalar) better(s int32, slack float64) float64 {
	q, old := z.q, z.v[s]
	least, best := 0.0, int32(-1)
	worst := 0.0
	for i := q.first[s]; i < q.first[s+1]; i++ {
		if i == z.pick[s] {
			continue
		}
		gain, out := z.reward[i]-(1-z.gamma)*old, 1-z.gamma
		size, charge := 0.0, 0.0
		to, prob := q.row(i)
		switch {
		case len(to) == 0:
			gain, out = z.reward[i]-old, 1
			charge = z.charge(i, 0)
		case z.gamma < 1:
			sum := 0.0
			for j, n := range to {
				x := prob[j] * (z.v[n] - old) // 0 where n is s
				sum += x
				if n != s {
					out += z.gamma * prob[j]
				}
			}
			gain += float64(z.gamma * sum)
		default:
			for j, n := range to {
				if n != s {
					x := z.v[n]
					gain += float64(prob[j] * (x - old))
					out += prob[j]
					size += prob[j] * (math.Abs(x) + math.Abs(old))
				}
			}
			charge = z.charge(i, size)
		}
		if gain -= charge; gain >= -slack-charge/2 || charge == 0 && gain >= -level*(size+z.weight(i)) {
			continue
		}
		worst = math.Max(worst, -gain)
		// The value that the choice would give the state, if it is taken for good.
		if out > 0 {
			gain /= out
		} else {
			gain = math.Inf(-1)
		}
		if gain < least {
			least, best = gain, i
		}
	}
	if best >= 0 {
		z.pick[s] = best
	}
	return worst
}
