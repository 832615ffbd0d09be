package baseline

import "cmdpsolve/cmdp/exact"

// blend makes t the policy whose occupancy is the weighted average of those of the columns
// of a mixture, each under its own kernel: π(a|s) at step h is the share of the mass in s
// that the mixture sends through a. Averaging action probabilities would be
// wrong. Where no column puts mass the policy is uniform.
func (sw *sweep) blend(t *table, x *exact.Mixer) {
	n := len(x.Numbers)
	mass, next := make([][]float64, n), make([][]float64, n)
	for j := range n {
		mass[j], next[j] = make([]float64, sw.states), make([]float64, sw.states)
		for _, st := range sw.start {
			mass[j][st.State] = x.Weights[j] * st.Probability
		}
	}
	clear(t.probs)
	for h := range sw.horizon {
		for j, number := range x.Numbers {
			sw.send(t, sw.columns[number], h, mass[j], next[j])
		}
		for s := range sw.states {
			t.normalize(h, s)
		}
		for j := range mass {
			mass[j], next[j] = next[j], mass[j]
			clear(next[j])
		}
	}
}

// send adds the mass of a column at step h to its choices in t, and what follows
// to next.
func (sw *sweep) send(t *table, c *column, h int, mass, next []float64) {
	n := sw.states
	f, rows := sw.offsets(h), sw.layer(h)
	sw.prepare(c.v[(h+1)*n : (h+2)*n])
	everywhere := 0.0
	for s, x := range mass {
		if x <= 0 {
			continue
		}
		a := c.take[h*n+s]
		if a < 0 {
			next[s] += x
			continue
		}
		k := int(f[s]) + int(a)
		t.probs[sw.base[h]+k] += x
		if sw.everywhere(&rows[k]) {
			everywhere += x
			continue
		}
		succ, prob := sw.kernel(h, s, k, &rows[k])
		for i, y := range succ {
			next[y] += x * prob[i]
		}
	}
	if everywhere > 0 {
		for y := range next {
			next[y] += everywhere / float64(n)
		}
	}
}

// normalize divides the masses of the actions of a state by their sum.
func (t *table) normalize(h, s int) {
	row, sum := t.row(h, s), 0.0
	for _, x := range row {
		sum += x
	}
	if sum <= 0 {
		t.even(h, s)
		return
	}
	for a := range row {
		row[a] /= sum
	}
}
