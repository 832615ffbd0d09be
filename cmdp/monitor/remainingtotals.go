package monitor

import (
	"math"
	"math/big"
	"math/bits"
	"slices"

	"cmdpsolve/cmdp"
)

// boundTotals sets lower and upper to bounds of what a total may still change by, from each state and at
// any step: the longest and the shortest ways through the model. They are of one entry, for what may be added at
// every step, where the return is that of an earlier monitor.
func (b *Budget) boundTotals(m *cmdp.Model) {
	if b.coordinate >= m.Dim() {
		low, high := b.extremesOfStep()
		b.lower, b.upper = []int{overEpisode(m, low)}, []int{overEpisode(m, high)}
		b.least, b.most = b.lower, b.upper
		return
	}
	b.upper, b.most = b.longestPaths(m, 1)
	b.lower, b.least = b.longestPaths(m, -1)
	for s := range b.lower {
		b.lower[s], b.least[s] = -b.lower[s], -b.least[s]
	}
}

// extremesOfStep bounds what a step returns, in units, 0 included.
func (b *Budget) extremesOfStep() (low, high int) {
	for _, n := range b.amounts {
		low, high = min(low, n), max(high, n)
	}
	return low, high
}

// overEpisode returns what n units at the start and at each step add up to; findUnit leaves room for that.
func overEpisode(m *cmdp.Model, n int) int {
	switch {
	case n == 0 || m.Horizon() > 0:
		return n * (m.Horizon() + 1)
	case n < 0:
		return -unbounded
	}
	return unbounded
}

// longestPaths returns the greatest sum of sign·return over any number of steps from each
// state, at least 0, and over an episode that starts there.
func (b *Budget) longestPaths(m *cmdp.Model, sign int) (best, then []int) {
	if m.Horizon() == 0 {
		return b.longestPathsEver(m, sign)
	}
	now, then, best := make([]int, m.States()), make([]int, m.States()), make([]int, m.States())
	for h := m.Horizon() - 1; h >= 0; h-- {
		rows := m.Rows(h)
		for s := range now {
			now[s] = b.longestStep(rows, s, sign, then)
			best[s] = max(best[s], now[s])
		}
		if m.Stationary() && slices.Equal(now, then) {
			break
		}
		now, then = then, now
	}
	return best, then
}

func (b *Budget) longestStep(rows *cmdp.Rows, s, sign int, then []int) int {
	if first, end := rows.Choices(s); first == end {
		return then[s]
	}
	most := math.MinInt
	b.edges(rows, s, func(n int, to int32) { most = max(most, sign*n+then[to]) })
	return most
}

// edges calls visit with the units and the successor of each transition from s.
func (b *Budget) edges(rows *cmdp.Rows, s int, visit func(n int, to int32)) {
	for c, end := rows.Choices(s); c < end; c++ {
		next, _ := rows.Row(c)
		b.choice(rows, c, func(e, n int) { visit(n, next[e]) })
	}
}

// choice calls visit with the transitions of a choice, by their numbers in its row, and their units.
func (b *Budget) choice(rows *cmdp.Rows, c int, visit func(e, n int)) {
	n := 0
	if !rows.Random() {
		n, _ = b.amount(rows.Returns(c)[b.coordinate])
	}
	_, prob := rows.Row(c)
	for e, p := range prob {
		if p == 0 {
			continue
		}
		if rows.Random() {
			n, _ = b.amount(rows.Outcome(c, e)[b.coordinate])
		}
		visit(e, n)
	}
}

// longestPathsEver is longestPaths without a horizon, where the returns of all steps have one sign. That of an episode
// is exact, but where more than settling sweeps are needed: it may then be +∞ in place of a finite number.
func (b *Budget) longestPathsEver(m *cmdp.Model, sign int) (best, then []int) {
	if b.signs[(1-sign)/2] {
		return make([]int, m.States()), b.shortestPathsEver(m, sign)
	}
	rows, best := m.Rows(0), make([]int, m.States())
	sweep := func(visit func(s, sum int)) {
		for s := len(best) - 1; s >= 0; s-- {
			b.edges(rows, s, func(n int, to int32) { visit(s, saturatingAdd(sign*n, best[to])) })
		}
	}
	grows := true
	for i := 0; grows; i++ {
		grows = false
		sweep(func(s, sum int) {
			if sum > best[s] {
				best[s], grows = sum, true
				if i > settling || sum > mostUnits { // a way around adds to it, or leads here
					best[s] = unbounded
				}
			}
		})
	}
	return best, slices.Clone(best)
}

// settling is the number of sweeps after which sums that still grow are taken for infinite.
const settling = 100

// shortestPathsEver returns the greatest sum of sign·return, none of which is above 0, over an episode from each state
// that may come about with a positive probability. Such an episode ends in a state where nothing more need be returned.
func (b *Budget) shortestPathsEver(m *cmdp.Model, sign int) []int {
	rows, out := m.Rows(0), make([]int, m.States())
	for changed := true; changed; { // out is 0 for states from which nothing need be returned, as far as is known
		changed = false
		for s := range out {
			first, end := rows.Choices(s)
			if out[s] != 0 || first == end {
				continue
			}
			stays := false
			for c := first; c < end && !stays; c++ {
				stays = true
				next, _ := rows.Row(c)
				b.choice(rows, c, func(e, n int) { stays = stays && n == 0 && out[next[e]] == 0 })
			}
			if !stays {
				out[s], changed = -unbounded, true
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for s := len(out) - 1; s >= 0; s-- {
			b.edges(rows, s, func(n int, to int32) {
				if sum := saturatingAdd(sign*n, out[to]); sum > max(out[s], -mostUnits) {
					out[s], changed = sum, true
				}
			})
		}
	}
	return out
}

// mostWords bounds the words of 64 totals that possible looks at.
const mostWords = 1 << 26

// reachableTotals returns the set of totals of at most so many units that an episode may have, and some more, and what
// its bit 0 stands for. It returns nil where they are not known.
func (b *Budget) reachableTotals(most int) (totals *big.Int, first int) {
	m := b.model
	low, high := b.extremesOfStep()
	size, steps := m.Horizon()*(high-low)+1, m.Horizon()
	if steps == 0 {
		size, steps = most+1, settling
	}
	if b.coordinate >= m.Dim() || m.Horizon() == 0 && low < 0 || size <= 0 ||
		size > mostWords/max(1, steps*m.Transitions())*64 {
		return nil, 0
	}
	if m.Horizon() == 0 {
		return b.reachableTotalsEver(size), 0
	}
	// Bit i of a state after h steps stands for the total i + h·low.
	now := b.zeroTotals()
	for h := range m.Horizon() {
		then, rows := make([]*big.Int, m.States()), m.Rows(h)
		for s, set := range now {
			if set == nil {
				continue
			}
			if first, end := rows.Choices(s); first == end {
				add(then, int32(s), set, -low, 0)
			} else {
				b.edges(rows, s, func(n int, to int32) { add(then, to, set, n-low, 0) })
			}
		}
		now = then
	}
	return union(now), m.Horizon() * low
}

// reachableTotalsEver is reachableTotals without a horizon, where no return is negative: totals on the way count, up to
// a number of bits.
func (b *Budget) reachableTotalsEver(size int) *big.Int {
	m := b.model
	rows, sets := m.Rows(0), b.zeroTotals()
	for range settling {
		changed := false
		for s := range sets {
			if sets[s] != nil {
				b.edges(rows, s, func(n int, to int32) { changed = add(sets, to, sets[s], n, size) || changed })
			}
		}
		if !changed {
			return union(sets)
		}
	}
	return nil
}

// nextIn returns the least member of a set from i on, -1 if there is none.
func nextIn(set *big.Int, i int) int {
	words := set.Bits()
	for at := i / bits.UintSize; at < len(words); at++ {
		word := uint(words[at])
		if at == i/bits.UintSize {
			word &= ^uint(0) << (i % bits.UintSize)
		}
		if word != 0 {
			return at*bits.UintSize + bits.TrailingZeros(word)
		}
	}
	return -1
}

// zeroTotals returns of each start state the set of the total 0.
func (b *Budget) zeroTotals() []*big.Int {
	sets := make([]*big.Int, b.model.States())
	for _, st := range b.model.StartStates() {
		if st.Probability > 0 {
			sets[st.State] = big.NewInt(1)
		}
	}
	return sets
}

// add adds a set of totals, each larger by n, to that of a state, cut to a number of bits unless that is 0. It
// reports whether there are new ones.
func add(sets []*big.Int, state int32, set *big.Int, n, size int) (changed bool) {
	if size > 0 && n >= size { // beyond all of them, however far
		return false
	}
	more := new(big.Int).Lsh(set, uint(n))
	if size > 0 && more.BitLen() > size {
		more.And(more, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(size)), big.NewInt(1)))
	}
	old := sets[state]
	if old == nil {
		sets[state] = more
		return more.Sign() > 0
	}
	more.Or(more, old)
	sets[state] = more
	return more.Cmp(old) != 0
}

// union returns the totals of all states.
func union(sets []*big.Int) *big.Int {
	all := new(big.Int)
	for _, set := range sets {
		if set != nil {
			all.Or(all, set)
		}
	}
	return all
}
