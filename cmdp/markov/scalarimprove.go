package markov

import (
	"cmdpsolve/cmdp/internal/parallel"
	"math"
	"sync/atomic"
)

// improve changes the policy in a component wherever an action is better by more than
// slack. It returns in how many states, and the largest difference.
func (z *LeastTotal) improve(lo, hi int32, slack float64) (changed int, worst float64) {
	work, first := 0, z.Quotient.First[lo]
	if z.Quotient.First[hi] > first {
		work = len(z.Quotient.To) / len(z.Quotient.Choice) * int(z.Quotient.First[hi]-first)
	}
	var count atomic.Int64
	worst = parallel.ForStates(z.workers, int(hi-lo), work, func(from, to int) float64 {
		worst, changed := 0.0, 0
		for s := lo + int32(from); s < lo+int32(to); s++ {
			if x := z.improveState(s, slack); x > 0 {
				worst = math.Max(worst, x)
				changed++
			}
		}
		count.Add(int64(changed))
		return worst
	})
	return int(count.Load()), worst
}

// improveState changes the policy in a state if a choice is better by more than slack, and
// half the perturbation, and returns by how much it is.
func (z *LeastTotal) improveState(s int32, slack float64) float64 {
	q, old := z.Quotient, z.Values[s]
	least, best := 0.0, int32(-1)
	worst := 0.0
	for i := q.First[s]; i < q.First[s+1]; i++ {
		if i == z.Policy[s] {
			continue
		}
		gain, out := z.Reward[i]-(1-z.gamma)*old, 1-z.gamma
		size, charge := 0.0, 0.0
		to, prob := q.Row(i)
		switch {
		case len(to) == 0:
			gain, out = z.Reward[i]-old, 1
			charge = z.perturb(i, 0)
		case z.gamma < 1:
			sum := 0.0
			for j, n := range to {
				x := prob[j] * (z.Values[n] - old) // 0 where n is s
				sum += x
				if n != s {
					out += z.gamma * prob[j]
				}
			}
			gain += float64(z.gamma * sum)
		default:
			for j, n := range to {
				if n != s {
					x := z.Values[n]
					gain += float64(prob[j] * (x - old))
					out += prob[j]
					size += prob[j] * (math.Abs(x) + math.Abs(old))
				}
			}
			charge = z.perturb(i, size)
		}
		if gain -= charge; gain >= -slack-charge/2 || charge == 0 && gain >= -level*(size+z.Weight(i)) {
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
		z.Policy[s] = best
	}
	return worst
}
