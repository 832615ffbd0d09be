package monitor

import (
	"cmp"
	"context"
	"math"
	"math/big"
	"slices"

	"cmdpsolve/cmdp"
)

// maxTotals bounds the pairs of a state and a total that Distribution tells apart at a step.
const maxTotals = 1 << 20

// maxWork bounds the sum of these numbers without a horizon.
const maxWork = 1 << 20

// Distribution returns the distribution of the total of a return over an episode of a policy: its values in ascending
// order, and their probabilities. Totals are counted exactly, as multiples of a unit of the return's values. Without
// a horizon the totals are followed until all episodes are over, but for a share of 1e-12. It reports false for other
// criteria, where totals cannot be counted or are too many, and once ctx is done.
func Distribution(ctx context.Context, m *cmdp.Model, policy cmdp.Policy,
	coordinate int) (values, probabilities []float64, ok bool) {
	b, err := NewBudget(BudgetSpec{Title: "total", Model: m, Coordinate: coordinate, Limits: []Threshold{{}}})
	if err != nil {
		return nil, nil, false
	}
	var now, then, ended []massPoint
	for _, st := range m.StartStates() {
		now = append(now, massPoint{int32(st.State), 0, st.Probability})
	}
	var probs []float64
	steps, over := m.Horizon(), make([]bool, m.States())
	if steps == 0 {
		steps, over = math.MaxInt, Over(m, policy)
	}
	for h, work := 0, 0; h < steps && sum(now) > 1e-12; h++ {
		if ctx.Err() != nil {
			return nil, nil, false
		}
		rows := m.Rows(h)
		then = then[:0]
		for _, p := range now {
			first, end := rows.Choices(int(p.state))
			if over[p.state] {
				ended = append(ended, p)
				continue
			}
			if first == end {
				then = append(then, p)
				continue
			}
			probs = slices.Grow(probs[:0], end-first)[:end-first]
			policy.Distribution(probs, h, int(p.state))
			for a, x := range probs {
				if x == 0 {
					continue
				}
				next, prob := rows.Row(first + a)
				b.choice(rows, first+a, func(e, units int) {
					then = append(then, massPoint{next[e], p.total + units, p.mass * x * prob[e]})
				})
			}
		}
		then = mergeEqual(then)
		work += len(then)
		if len(then) > maxTotals || m.Horizon() == 0 && work > maxWork {
			return nil, nil, false
		}
		now, then = then, now
	}
	ended = append(ended, now...)
	for i := range ended {
		ended[i].state = 0
	}
	for _, p := range mergeEqual(ended) {
		x, _ := new(big.Rat).Mul(big.NewRat(int64(p.total), 1), b.unit).Float64()
		values, probabilities = append(values, x), append(probabilities, p.mass)
	}
	return values, probabilities, true
}

func sum(places []massPoint) (mass float64) {
	for _, p := range places {
		mass += p.mass
	}
	return mass
}

// A massPoint is where an episode may be, with the total so far and the probability.
type massPoint struct {
	state int32
	total int
	mass  float64
}

// mergeEqual sorts places and adds up equal ones in the order of their arrival, so that sums are the same in
// every run.
func mergeEqual(places []massPoint) []massPoint {
	slices.SortStableFunc(places, func(a, b massPoint) int {
		return cmp.Or(cmp.Compare(a.state, b.state), cmp.Compare(a.total, b.total))
	})
	out := places[:0]
	for _, p := range places {
		if n := len(out); n > 0 && out[n-1].state == p.state && out[n-1].total == p.total {
			out[n-1].mass += p.mass
		} else {
			out = append(out, p)
		}
	}
	return out
}

// Over returns the states where episodes of a policy without a horizon are over: the largest set of states that the
// policy does not leave and where it returns nothing but long-run means.
func Over(m *cmdp.Model, f cmdp.Policy) []bool {
	in := slices.Repeat([]bool{true}, m.States())
	for changed := true; changed; {
		changed = false
		for s := range slices.Backward(in) { // most states lead to later ones
			if in[s] && !idle(m, f, s, in) {
				in[s], changed = false, true
			}
		}
	}
	return in
}

// idle reports whether a step from s returns nothing and leads to states of in.
func idle(m *cmdp.Model, f cmdp.Policy, s int, in []bool) bool {
	rows := m.Rows(0)
	first, end := rows.Choices(s)
	probs := make([]float64, end-first)
	if len(probs) > 0 {
		f.Distribution(probs, 0, s)
	}
	nothing := func(returns []float64) bool {
		for i, r := range returns {
			if r != 0 && !m.Mean(i) {
				return false
			}
		}
		return true
	}
	for a, x := range probs {
		c := first + a
		if !(x > 0) {
			continue
		}
		if !nothing(rows.Returns(c)) {
			return false
		}
		next, prob := rows.Row(c)
		for e, to := range next {
			if prob[e] > 0 && (!in[to] || !nothing(rows.Outcome(c, e))) {
				return false
			}
		}
	}
	return true
}

// Greatest returns the greatest total of sign times a return, sign being 1 or −1, over the episodes that a
// policy may come to: the longest way along transitions with a probability above 0. Without a horizon that is
// up to where an episode is [Over]: +∞ if it may go on at a gain for as long as chance likes, −∞ if no episode
// is ever over. It is NaN where looking for it takes too long: without a horizon, and in rows that are
// generated.
func Greatest(m *cmdp.Model, policy cmdp.Policy, coordinate int, sign float64) float64 {
	g := &greatest{m: m, policy: policy, coordinate: coordinate, sign: sign}
	now, steps := make([]float64, m.States()), m.Horizon()
	if steps > 0 {
		if m.Tally() != nil && m.Transitions() > mostGenerated/steps {
			return math.NaN()
		}
		then := make([]float64, m.States())
		for h := steps - 1; h >= 0; h-- {
			now, then = then, now
			rows := m.Rows(h)
			for s := range now {
				now[s] = g.step(rows, h, s, then)
			}
		}
		return g.atStart(now)
	}
	over := Over(m, policy)
	for s := range now {
		if !over[s] {
			now[s] = math.Inf(-1)
		}
	}
	most := mostLooking
	if m.Epochs() != nil {
		most = mostGenerated
	}
	for sweep, changed := 0, true; changed; sweep++ {
		changed = false
		for s := range slices.Backward(now) { // most states lead to later ones
			if over[s] {
				continue
			}
			if x := g.step(m.Rows(0), 0, s, now); x > now[s] {
				now[s], changed = x, true
				if sweep >= len(now) {
					now[s] = math.Inf(1) // a loop leads here that gains something
				}
			}
		}
		if g.work > most {
			return math.NaN()
		}
	}
	return g.atStart(now)
}

// mostLooking bounds the transitions that Greatest looks at without a horizon.
const mostLooking = 1 << 28

// mostGenerated bounds those that it generates, which takes some seconds.
const mostGenerated = 1 << 25

// greatest is what Greatest is asked for.
type greatest struct {
	m          *cmdp.Model
	policy     cmdp.Policy
	coordinate int
	sign       float64
	probs      []float64
	work       int
}

// step returns the greatest total from a state on, given those from the next states on.
func (g *greatest) step(rows *cmdp.Rows, h, s int, then []float64) float64 {
	first, end := rows.Choices(s)
	if first == end {
		return then[s]
	}
	g.probs = slices.Grow(g.probs[:0], end-first)[:end-first]
	g.policy.Distribution(g.probs, h, s)
	most := math.Inf(-1)
	for a, x := range g.probs {
		if !(x > 0) {
			continue
		}
		next, prob := rows.Row(first + a)
		for e, to := range next {
			if prob[e] > 0 {
				most = max(most, g.sign*rows.Outcome(first+a, e)[g.coordinate]+then[to])
			}
		}
		g.work += len(next)
	}
	return most
}

func (g *greatest) atStart(now []float64) float64 {
	most := math.Inf(-1)
	for _, st := range g.m.StartStates() {
		if st.Probability > 0 {
			most = max(most, now[st.State])
		}
	}
	return most
}
