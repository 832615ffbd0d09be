package exact

import (
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// OccupancyLP returns the occupancy-measure linear program of
//
//	min cost·V  subject to  normal·V ≤ offset for every row,
//
// the reference that Solve is tested against. With a finite horizon its variables
// are the probabilities q_h(s,a) of taking each choice at each step, with a
// discount γ < 1 the discounted expected numbers x(s,a) of taking each choice, so
// that V = Σ x·r in either case. A state without choices has one variable, for
// resting. Flow rows come first, then one for each of rows. It is practical for
// some thousands of variables.
func OccupancyLP(m *cmdp.Model, cost []float64, rows []cmdp.Constraint) (*lp.Problem, error) {
	if err := checkTask(m, cmdp.Task{}); err != nil {
		return nil, err
	}
	if m.Horizon() == 0 && m.Discount() == 1 {
		return nil, errors.New("exact: occupancy program: want a finite horizon or a discount below 1")
	}
	if len(cost) != m.Dim() {
		return nil, fmt.Errorf("exact: occupancy program: %d costs: want %d", len(cost), m.Dim())
	}
	for k, r := range rows {
		if err := r.Check(m.Dim()); err != nil {
			return nil, fmt.Errorf("exact: occupancy program: row %d: %w", k, err)
		}
	}
	b := occupancyBuilder{m: m, cost: cost, limits: rows, steps: max(1, m.Horizon())}
	return b.build(), nil
}

type occupancyBuilder struct {
	m      *cmdp.Model
	cost   []float64
	limits []cmdp.Constraint
	steps  int
	p      lp.Problem
}

func (b *occupancyBuilder) build() *lp.Problem {
	states := b.m.States()
	b.p.Rows = make([]lp.Constraint, b.steps*states+len(b.limits))
	for i := range b.p.Rows {
		b.p.Rows[i].Index = []int{}
	}
	for _, st := range b.m.StartStates() {
		b.p.Rows[st.State].Lower += st.Probability
		b.p.Rows[st.State].Upper += st.Probability
	}
	for k, r := range b.limits {
		row := &b.p.Rows[b.steps*states+k]
		row.Lower, row.Upper = math.Inf(-1), r.Offset
	}
	for h := range b.steps {
		rows := b.m.Rows(h)
		for s := range states {
			first, end := rows.Choices(s)
			if first == end {
				b.variable(h, s, []int32{int32(s)}, []float64{1}, nil)
			}
			for c := first; c < end; c++ {
				if next, prob := rows.Row(c); len(next) > 0 {
					b.variable(h, s, next, prob, rows.Returns(c))
				}
			}
		}
	}
	return &b.p
}

// variable adds the occupancy of one choice of state s at step h.
func (b *occupancyBuilder) variable(h, s int, next []int32, prob, returns []float64) {
	j, states := len(b.p.Minimize), b.m.States()
	flow := map[int]float64{h*states + s: 1}
	var order []int
	order = append(order, h*states+s)
	into, factor := h+1, 1.0
	if b.m.Horizon() == 0 {
		into, factor = 0, b.m.Discount()
	}
	if into < b.steps {
		for e, n := range next {
			i := into*states + int(n)
			if _, ok := flow[i]; !ok {
				order = append(order, i)
			}
			flow[i] -= factor * prob[e]
		}
	}
	for _, i := range order {
		if flow[i] != 0 {
			b.entry(i, j, flow[i])
		}
	}
	c := 0.0
	if returns != nil {
		c = floats.Dot(b.cost, returns)
		for k, r := range b.limits {
			if a := floats.Dot(r.Normal, returns); a != 0 {
				b.entry(b.steps*states+k, j, a)
			}
		}
	}
	b.p.Minimize = append(b.p.Minimize, c)
}

func (b *occupancyBuilder) entry(i, j int, v float64) {
	r := &b.p.Rows[i]
	r.Index, r.Coef = append(r.Index, j), append(r.Coef, v)
}
