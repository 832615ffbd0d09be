package cmdp

import "math"

// larger and smaller are max and min of numbers that are not NaN; the builtins
// take several times as long.
func larger(x, y float64) float64 {
	if x > y {
		return x
	}
	return y
}

func smaller(x, y float64) float64 {
	if x < y {
		return x
	}
	return y
}

// moments returns the mean of the next lower values under the frequencies of the
// successors, and sets m to the moments that bonuses need. Deviations are taken from the
// first successor's value, so that large values do not cancel.
func (ch *choice) moments(m *Moments, arena []entry, next []bounds) (mean float64) {
	succ := arena[ch.first:ch.end]
	base := next[succ[0].next].low
	var sum, squares, gap, gapSquares float64
	for _, e := range succ {
		v := next[e.next]
		n := float64(e.count)
		x, g := v.low-base, v.up-v.low
		nx, ng := n*x, n*g
		sum += nx
		squares += nx * x
		gap += ng
		gapSquares += ng * g
	}
	u := ch.inverse
	dev := sum * u
	m.Visits, m.Root, m.Inverse1, m.Root1 = ch.visits, ch.root, ch.inverse1, ch.root1
	m.VarLow = larger(0, squares*u-dev*dev)
	m.Gap = gap * u
	m.GapSquare = gapSquares * u
	return base + dev
}

// firstMoments is moments without the second ones, for bonuses that do not look at
// them.
func (ch *choice) firstMoments(m *Moments, arena []entry, next []bounds) (mean float64) {
	succ := arena[ch.first:ch.end]
	base := next[succ[0].next].low
	var sum, gap float64
	for _, e := range succ {
		v := next[e.next]
		n := float64(e.count)
		sum += n * (v.low - base)
		gap += n * (v.up - v.low)
	}
	u := ch.inverse
	m.Visits, m.Root, m.Inverse1, m.Root1 = ch.visits, ch.root, ch.inverse1, ch.root1
	m.Gap = gap * u
	return base + sum*u
}

func firstMomentsOnly(b Bonus) bool {
	switch b.(type) {
	case NoBonus, *hoeffdingBonus, printedHoeffding:
		return true
	}
	return false
}

// learnedReturn returns the interval of the scalar return of a choice.
func (l *layer) learnedReturn(i int, dir []float64, rate bounds) bounds {
	d := len(dir)
	if l.choices[i].visits == 0 {
		return rate
	}
	mean, radius := 0.0, 0.0
	for j, st := range l.returns[i*d : (i+1)*d] {
		mean += dir[j] * st.mean
		radius += math.Abs(dir[j]) * st.radius
	}
	return bounds{max(mean-radius, rate.low), min(mean+radius, rate.up)}
}
