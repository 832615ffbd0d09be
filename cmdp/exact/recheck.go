package exact

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
)

// recheck is a second, plain value iteration: values only, in place of vectors, the
// sums formed from the last entry to the first.
func (f *finite) recheck(ctx context.Context, dir []float64) (value, margin float64, err error) {
	states := f.m.States()
	now, next := make([]float64, states), make([]float64, states)
	most := 0.0
	for h := f.m.Horizon(); h > 0; h-- {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		k := f.m.Kernel(h - 1)
		size := forStates(f.workers, states, len(k.Next), func(lo, hi int) float64 {
			return within(at(f.spans, h-1), lo, hi, func(lo, hi int) float64 { return again(k, dir, next, now, lo, hi) })
		})
		margin += float64(f.longest+len(dir)+4) * unit * (size + most)
		most = size
		now, next = next, now
	}
	return atStart(f.m, next), 1.001*margin + startError*most, nil
}

// again sets now to the backups of the states [lo, hi), and returns the largest magnitude of a value and of what a
// reward is the sum of.
func again(k *cmdp.Kernel, dir, next, now []float64, lo, hi int) (size float64) {
	for s := lo; s < hi; s++ {
		if k.First[s] == k.First[s+1] {
			now[s] = next[s]
			continue
		}
		now[s] = math.Inf(1)
		for c := int(k.First[s+1]) - 1; c >= int(k.First[s]); c-- {
			q, r := expectation(k.Next[k.Offset[c]:k.Offset[c+1]], k.Prob[k.Offset[c]:], next), 0.0
			for i := len(dir) - 1; i >= 0; i-- {
				x := dir[i] * k.Returns[c*len(dir)+i]
				q, r = q+x, r+math.Abs(x)
			}
			now[s], size = math.Min(now[s], q), math.Max(size, r)
		}
		size = math.Max(size, math.Abs(now[s]))
	}
	return size
}

func expectation(next []int32, prob, v []float64) float64 {
	sum := 0.0
	for e := len(next) - 1; e >= 0; e-- {
		sum += prob[e] * v[next[e]]
	}
	return sum
}
