package markov

import (
	"maps"
	"math"
	"slices"
)

// LookNear makes Solve look at the first states of some components alone, so many of those that begin with these
// states, and forgets all values; nil stands for all. Where those are left the values are 0, so that no reward may be
// negative, and the policy goes the shortest way to rest, whatever that costs.
func (z *LeastTotal) LookNear(near map[int32]int32) {
	if near == nil && z.near == nil {
		return
	}
	clear(z.Values)
	if maps.Equal(near, z.near) {
		return
	}
	if z.resting == nil {
		z.resting = z.restingPolicy(near)
	}
	if z.near == nil {
		copy(z.Policy, z.resting)
		z.improper = -1
	}
	z.near = near
	z.raises = nil
	z.slow = make(map[int]bool)
	z.looked = z.looked[:0]
	from := int32(0)
	for i, hi := range z.Quotient.Component[1:] {
		if end := z.end(i); end < hi {
			z.looked = append(z.looked, [2]int32{from, end})
			from = hi
		}
	}
	z.looked = append(z.looked, [2]int32{from, z.Quotient.Rest})
}

// Looked returns the ranges of states that are looked at, first and end, see LookNear.
func (z *LeastTotal) Looked() [][2]int32 { return z.looked }

// end returns the end of the states of component i that are looked at.
func (z *LeastTotal) end(i int) int32 {
	if n, ok := z.near[z.Quotient.Component[i]]; ok {
		return z.Quotient.Component[i] + n
	}
	return z.Quotient.Component[i+1]
}

// RestBeyond makes the policy go the shortest way to rest but in the first states of the components of LookNear, so
// many of each. It would lead some of the others away from the start, where nothing is to be paid.
func (z *LeastTotal) RestBeyond(near map[int32]int32) {
	for i, hi := range z.Quotient.Component[1:] {
		lo, end := z.Quotient.Component[i], z.end(i)
		if end == hi {
			continue
		}
		from := min(end, lo+near[lo])
		copy(z.Policy[from:end], z.resting[from:end])
		z.mendNear(lo, from, hi)
	}
}

// mendNear makes the policy go to rest by the shortest way where it does not lead out of the component [lo, hi) by the
// states [lo, end) alone. It does so in those beyond.
func (z *LeastTotal) mendNear(lo, end, hi int32) {
	met := make([]bool, end-lo)
	if reachesExit(met, z.policyRow(lo, end, hi)) {
		return
	}
	for s, m := range met {
		if !m {
			z.Policy[lo+int32(s)] = z.resting[lo+int32(s)]
		}
	}
}

// restingPolicy returns a policy that comes to rest and in some components, by their first states, goes the shortest
// way on the average: one step counts as many as until a transition happens.
func (z *LeastTotal) restingPolicy(in map[int32]int32) []int32 {
	before := slices.Clone(z.Policy)
	for i, hi := range z.Quotient.Component[1:] {
		lo := z.Quotient.Component[i]
		if _, ok := in[lo]; !ok {
			continue
		}
		z.chooseShortest(lo, hi, z.distances(lo, hi))
		if met := make([]bool, hi-lo); !z.isProper(lo, hi, met) {
			z.properPolicy(lo, hi, met)
		}
	}
	out := slices.Clone(z.Policy)
	copy(z.Policy, before)
	return out
}

// distances returns how many steps each state of a component is from outside, by transitions that take as many as until
// they happen, or more: passes in the order of the states find most.
func (z *LeastTotal) distances(lo, hi int32) []float64 {
	const passes = 2
	far := make([]float64, hi-lo)
	for s := range far {
		far[s] = math.Inf(1)
	}
	for range passes {
		for s := lo; s < hi; s++ {
			for i := z.Quotient.First[s]; i < z.Quotient.First[s+1]; i++ {
				next, prob := z.Quotient.Row(i)
				if len(next) == 0 {
					far[s-lo] = 0
				}
				for j, n := range next {
					steps := 1 / prob[j]
					if n >= lo && n < hi {
						steps += far[n-lo]
					}
					far[s-lo] = min(far[s-lo], steps)
				}
			}
		}
	}
	return far
}

// chooseShortest makes the policy choose in the states of a component what leads nearest to outside on the average.
func (z *LeastTotal) chooseShortest(lo, hi int32, far []float64) {
	for s := lo; s < hi; s++ {
		least := math.Inf(1)
		for i := z.Quotient.First[s]; i < z.Quotient.First[s+1]; i++ {
			next, prob := z.Quotient.Row(i)
			mean, out := 1.0, 0.0
			if len(next) == 0 {
				out = 1
			}
			for j, n := range next {
				if n == s {
					continue
				}
				out += prob[j]
				if n >= lo && n < hi && prob[j] > 0 {
					mean += float64(prob[j] * far[n-lo])
				}
			}
			if mean < least*out {
				least, z.Policy[s] = mean/out, i
			}
		}
	}
}
