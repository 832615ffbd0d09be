package monitor

import (
	"math"
	"slices"

	"cmdpsolve/cmdp"
)

// look sets lower and upper to bounds of what a total may still change by, from each state and at
// any step: the longest and the shortest ways through the model. They are of one entry where nothing
// depends on the state.
func (b *Budget) look(m *cmdp.Model) {
	if b.coordinate >= m.Dim() {
		b.lower, b.upper = []int{0}, []int{0}
		if b.signs[0] {
			b.lower[0] = -unbounded
		}
		if b.signs[1] {
			b.upper[0] = unbounded
		}
		b.least, b.most = b.lower, b.upper
		return
	}
	b.upper, b.most = b.farthest(m, 1)
	b.lower, b.least = b.farthest(m, -1)
	for s := range b.lower {
		b.lower[s], b.least[s] = -b.lower[s], -b.least[s]
	}
}

// farthest returns the greatest sum of sign·return over any number of steps from each
// state, at least 0, and over an episode that starts there.
func (b *Budget) farthest(m *cmdp.Model, sign int) (best, then []int) {
	if m.Horizon() == 0 {
		return b.endless(m, sign)
	}
	now, then, best := make([]int, m.States()), make([]int, m.States()), make([]int, m.States())
	for h := m.Horizon() - 1; h >= 0; h-- {
		k := m.Kernel(h)
		for s := range now {
			now[s] = b.farthestStep(m, k, s, sign, then)
			best[s] = max(best[s], now[s])
		}
		if m.Stationary() && slices.Equal(now, then) {
			break
		}
		now, then = then, now
	}
	return best, then
}

func (b *Budget) farthestStep(m *cmdp.Model, k *cmdp.Kernel, s, sign int, then []int) int {
	if k.First[s] == k.First[s+1] {
		return then[s]
	}
	most := math.MinInt
	b.edges(m, k, s, func(n int, to int32) { most = max(most, sign*n+then[to]) })
	return most
}

// edges calls visit with the units and the successor of each transition from s.
func (b *Budget) edges(m *cmdp.Model, k *cmdp.Kernel, s int, visit func(n int, to int32)) {
	for c := int(k.First[s]); c < int(k.First[s+1]); c++ {
		b.choice(m, k, c, func(e, n int) { visit(n, k.Next[e]) })
	}
}

// choice calls visit with the transitions of a choice and their units.
func (b *Budget) choice(m *cmdp.Model, k *cmdp.Kernel, c int, visit func(e, n int)) {
	d, n := m.Dim(), 0
	if k.Outcomes == nil {
		n = b.amount[k.Returns[c*d+b.coordinate]]
	}
	for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
		if k.Prob[e] == 0 {
			continue
		}
		if k.Outcomes != nil {
			n = b.amount[k.Outcomes[e*d+b.coordinate]]
		}
		visit(e, n)
	}
}

// endless is farthest without a horizon, where the returns of all steps have one sign. That of an episode is exact, but where more
// than settling sweeps are needed: it may then be +∞ in place of a finite number.
func (b *Budget) endless(m *cmdp.Model, sign int) (best, then []int) {
	if b.signs[(1-sign)/2] {
		return make([]int, m.States()), b.shortest(m, sign)
	}
	k, best := m.Kernel(0), make([]int, m.States())
	sweep := func(visit func(s, sum int)) {
		for s := len(best) - 1; s >= 0; s-- {
			b.edges(m, k, s, func(n int, to int32) { visit(s, bound(sign*n, best[to])) })
		}
	}
	grows := true
	for i := 0; grows; i++ {
		grows = false
		sweep(func(s, sum int) {
			if sum > best[s] {
				best[s], grows = sum, true
				if i > settling || sum > most { // a way around adds to it, or leads here
					best[s] = unbounded
				}
			}
		})
	}
	return best, slices.Clone(best)
}

// settling is the number of sweeps after which sums that still grow are taken for infinite.
const settling = 100

// shortest returns the greatest sum of sign·return, none of which is above 0, over an episode from each state that may
// come about with a positive probability. Such an episode ends in a state where nothing more need be returned.
func (b *Budget) shortest(m *cmdp.Model, sign int) []int {
	k, out := m.Kernel(0), make([]int, m.States())
	for changed := true; changed; { // out is 0 for states from which nothing need be returned, as far as is known
		changed = false
		for s := range out {
			if out[s] != 0 || k.First[s] == k.First[s+1] {
				continue
			}
			stays := false
			for c := int(k.First[s]); c < int(k.First[s+1]) && !stays; c++ {
				stays = true
				b.choice(m, k, c, func(e, n int) { stays = stays && n == 0 && out[k.Next[e]] == 0 })
			}
			if !stays {
				out[s], changed = -unbounded, true
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for s := len(out) - 1; s >= 0; s-- {
			b.edges(m, k, s, func(n int, to int32) {
				if sum := bound(sign*n, out[to]); sum > max(out[s], -most) {
					out[s], changed = sum, true
				}
			})
		}
	}
	return out
}
