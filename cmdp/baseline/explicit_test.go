package baseline

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/oracle/lp"
)

// ExplicitProgram states the planning program of the next episode in full: the linear
// program over occupancies, in scaled signals. It has H·S·A variables, over a box of kernels
// H·S²·A.
func (l *lpLearner) ExplicitProgram() *lp.Problem {
	if l.anew {
		l.sweep.rebuild()
	}
	var limits []cmdp.Constraint
	for i, b := range l.limit {
		limits = append(limits, cmdp.Constraint{Normal: unitVector(l.signals, i+1), Offset: b})
	}
	return explicitProgram(l.sweep, limits)
}

// ProgramValue solves the planning program by column generation, and reports whether it
// is feasible.
func (l *lpLearner) ProgramValue() (value float64, feasible bool, err error) {
	if l.anew {
		l.sweep.rebuild()
	}
	feasible, err = l.program.Solve(context.Background())
	return l.program.Value, feasible, err
}

// explicitBuilder writes the occupancy program of a sweep: variables z_h(s,a,s')
// over a box, q_h(s,a) otherwise. Flow rows come first, one for each (h, s), then
// the limits, then the sides of the box.
type explicitBuilder struct {
	sw     *sweep
	limits []cmdp.Constraint
	p      lp.Problem
}

func explicitProgram(sw *sweep, limits []cmdp.Constraint) *lp.Problem {
	b := explicitBuilder{sw: sw, limits: limits}
	flow := sw.horizon * sw.states
	b.p.Rows = make([]lp.Constraint, flow+len(limits))
	for i := range b.p.Rows {
		b.p.Rows[i].Index = []int{}
	}
	for _, st := range sw.start {
		b.p.Rows[st.State].Lower, b.p.Rows[st.State].Upper = st.Probability, st.Probability
	}
	for i, r := range limits {
		b.p.Rows[flow+i].Lower, b.p.Rows[flow+i].Upper = math.Inf(-1), r.Offset
	}
	for h := range sw.horizon {
		f := sw.offsets(h)
		for s := range sw.states {
			if f[s] == f[s+1] {
				j := b.variable(h, s, sw.rested[h*sw.signals:])
				b.flow(h, j, s, 1)
			}
			for k := int(f[s]); k < int(f[s+1]); k++ {
				b.choice(h, s, k)
			}
		}
	}
	return &b.p
}

// choice adds the variables of one choice.
func (b *explicitBuilder) choice(h, s, k int) {
	sw := b.sw
	signal := sw.signal[(sw.base[h]+k)*sw.signals:]
	r := &sw.layer(h)[k]
	if sw.rule != kernelBox {
		j := b.variable(h, s, signal)
		next, prob := sw.kernel(h, s, k, r)
		for i, n := range next {
			b.flow(h, j, int(n), prob[i])
		}
		return
	}
	first := len(b.p.Minimize)
	for n := range sw.states {
		b.flow(h, b.variable(h, s, signal), n, 1)
	}
	if r.unknown() {
		return
	}
	iv := sw.box(h, k)
	for n := range sw.states {
		lower, upper := 0.0, iv.unseen
		for i, x := range r.next {
			if int(x) == n {
				lower, upper = iv.lower[i], iv.lower[i]+iv.span[i]
			}
		}
		b.side(first, n, lower, 1)
		b.side(first, n, upper, -1)
	}
}

// side adds sign·(z(n) − bound·Σ_y z(y)) ≥ 0, where it binds.
func (b *explicitBuilder) side(first, n int, bound, sign float64) {
	if sign > 0 && bound <= 0 || sign < 0 && bound >= 1 {
		return
	}
	row := lp.Constraint{Lower: 0, Upper: math.Inf(1)}
	for y := range b.sw.states {
		c := -bound
		if y == n {
			c++
		}
		if c != 0 {
			row.Index, row.Coef = append(row.Index, first+y), append(row.Coef, sign*c)
		}
	}
	b.p.Rows = append(b.p.Rows, row)
}

// variable adds a variable that takes mass out of (h, s).
func (b *explicitBuilder) variable(h, s int, signal []float64) int {
	j := len(b.p.Minimize)
	b.p.Minimize = append(b.p.Minimize, signal[0])
	b.entry(h*b.sw.states+s, j, 1)
	for i := range b.limits {
		if x := signal[i+1]; x != 0 {
			b.entry(b.sw.horizon*b.sw.states+i, j, x)
		}
	}
	return j
}

// flow lets variable j of step h put a share of its mass into state n of the next.
func (b *explicitBuilder) flow(h, j, n int, share float64) {
	if h+1 < b.sw.horizon {
		b.entry((h+1)*b.sw.states+n, j, -share)
	}
}

// entry adds v to the coefficient of variable j in row i.
func (b *explicitBuilder) entry(i, j int, v float64) {
	r := &b.p.Rows[i]
	r.Index, r.Coef = append(r.Index, j), append(r.Coef, v)
}
