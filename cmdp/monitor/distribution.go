package monitor

import (
	"math/big"
	"slices"

	"cmdpsolve/cmdp"
)

// maxTotals bounds the pairs of a state and a total that Distribution tells apart at a step.
const maxTotals = 1 << 20

// Distribution returns the distribution of the total of a return over an episode in which a policy is played: its values in
// ascending order, and their probabilities. Totals are counted exactly, in the unit of which all values of the return
// are multiples. It reports false without a horizon, and where totals cannot be counted or are too many.
func Distribution(m *cmdp.Model, policy cmdp.Policy, coordinate int) (values, probabilities []float64, ok bool) {
	if m.Horizon() == 0 {
		return nil, nil, false
	}
	b, err := NewBudget(BudgetSpec{Title: "total", Model: m, Coordinate: coordinate, Limits: []Limit{{}}})
	if err != nil {
		return nil, nil, false
	}
	type place struct {
		state int32
		total int
	}
	now := make(map[place]float64)
	for _, st := range m.StartStates() {
		now[place{int32(st.State), 0}] += st.Probability
	}
	var probs []float64
	for h := range m.Horizon() {
		k, then := m.Kernel(h), make(map[place]float64, len(now))
		// In a fixed order, so that sums are the same in every run.
		places := make([]place, 0, len(now))
		for p := range now {
			places = append(places, p)
		}
		slices.SortFunc(places, func(a, b place) int {
			if a.state != b.state {
				return int(a.state - b.state)
			}
			return a.total - b.total
		})
		for _, p := range places {
			mass, s := now[p], int(p.state)
			n := int(k.First[s+1] - k.First[s])
			if n == 0 {
				then[p] += mass
				continue
			}
			probs = slices.Grow(probs[:0], n)[:n]
			policy.Distribution(probs, h, s)
			for a, x := range probs {
				if x == 0 {
					continue
				}
				c := int(k.First[s]) + a
				b.choice(m, k, c, func(e, units int) {
					then[place{k.Next[e], p.total + units}] += mass * x * k.Prob[e]
				})
			}
		}
		if now = then; len(now) > maxTotals {
			return nil, nil, false
		}
	}
	all := make(map[int]float64)
	places := make([]place, 0, len(now))
	for p := range now {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.total != b.total {
			return a.total - b.total
		}
		return int(a.state - b.state)
	})
	var totals []int
	for _, p := range places {
		if _, seen := all[p.total]; !seen {
			totals = append(totals, p.total)
		}
		all[p.total] += now[p]
	}
	for _, n := range totals {
		x, _ := new(big.Rat).Mul(big.NewRat(int64(n), 1), b.unit).Float64()
		values, probabilities = append(values, x), append(probabilities, all[n])
	}
	return values, probabilities, true
}
