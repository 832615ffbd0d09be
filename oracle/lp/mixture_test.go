package lp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// TestMixture wants a mixture to agree with the general solver on random programs, many of
// them infeasible or degenerate, columns being added a few at a time.
func TestMixture(t *testing.T) {
	const tol = 1e-9
	infeasible, touched := 0, 0
	var m Mixture // for all programs, one after the other
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 5))
		rows := int(seed % 4)
		off := float64(seed / 4 % 2) // numbers of both signs
		unit, worth := 1.0, 1.0      // of limits and of costs
		if seed%5 == 0 {
			unit, worth = math.Pow(1e3, float64(rng.IntN(3)-1)), math.Pow(1e3, float64(rng.IntN(3)-1))
		}
		draw := func() float64 {
			if seed%3 == 0 { // ties
				return float64(rng.IntN(4))
			}
			return 4 * rng.Float64()
		}
		limit := make([]float64, rows)
		for i := range limit {
			limit[i] = unit * (0.3 + draw()/2 - 2*off)
		}
		tol := tol
		if rows == 0 { // nothing can be exceeded
			tol = 0
		}
		m.Reset(limit)
		p := Problem{Rows: []Constraint{{Lower: 1, Upper: 1}}}
		for _, b := range limit {
			p.Rows = append(p.Rows, AtMost(nil, b))
		}
		for range 6 {
			for range 1 + rng.IntN(3) {
				cost, a := worth*(draw()-2*off), make([]float64, rows)
				p.Minimize, p.Rows[0].Coef = append(p.Minimize, cost), append(p.Rows[0].Coef, 1)
				for i := range a {
					a[i] = unit * (draw() - 2*off)
					p.Rows[i+1].Coef = append(p.Rows[i+1].Coef, a[i])
				}
				m.Add(cost, a)
			}
			excess, ok := m.Solve(tol)
			if !ok {
				t.Fatalf("seed %d: rounding", seed)
			}
			sol, err := Solve(&p)
			if err != nil {
				t.Fatal(err)
			}
			if (excess <= tol) != (sol.Status == Optimal) {
				t.Fatalf("seed %d: excess %g, lp says %v", seed, excess, sol.Status)
			}
			if excess > tol {
				infeasible++
				m.checkExcess(t, excess)
				if seed%5 != 0 {
					touched += m.checkTouching(t, excess)
				}
				continue
			}
			m.check(t, p.Minimize, sol.Objective)
		}
	}
	if infeasible < 50 || touched < 50 {
		t.Errorf("%d infeasible programs, %d that touch: the test says little", infeasible, touched)
	}
}

// checkExcess wants the prices of the first phase to prove that no mixture has a smaller excess.
func (m *Mixture) checkExcess(t *testing.T, excess float64) {
	t.Helper()
	y := m.Prices()
	least := 0.0
	for j := range m.cost {
		least = min(least, -floats.Dot(y, m.coef[j*len(y):(j+1)*len(y)])) // reduced cost
	}
	bound := y[0] + floats.Dot(y[1:], m.limit) + least
	if floats.Max(y[1:]) > 1e-12 || floats.Sum(y[1:]) < -1-1e-12 || math.Abs(bound-excess) > 1e-9*(1+excess) {
		t.Errorf("excess %g, but prices %v prove %g", excess, y, bound)
	}
}

// checkTouching raises the limits by the excess, so that there are mixtures but none with room, and wants one of the
// best: the excess stays what rounding makes of it.
func (m *Mixture) checkTouching(t *testing.T, excess float64) int {
	t.Helper()
	const tol = 1e-12
	n, again, limit := len(m.x), Mixture{}, slices.Clone(m.limit)
	p := Problem{Minimize: m.cost, Rows: []Constraint{{Lower: 1, Upper: 1}}}
	for i := range limit {
		limit[i] += excess
		p.Rows = append(p.Rows, AtMost(nil, limit[i]+1e-11))
	}
	again.Reset(limit)
	for j, cost := range m.cost {
		a := m.coef[j*n : (j+1)*n]
		again.Add(cost, a[1:])
		for i, v := range a {
			p.Rows[i].Coef = append(p.Rows[i].Coef, v)
		}
	}
	left, ok := again.Solve(tol)
	if left > 1e-9 {
		t.Errorf("excess %g though the limits can be kept", left)
	}
	if !ok || left > tol { // rounding
		return 0
	}
	sol, err := Solve(&p)
	if err != nil || sol.Status != Optimal {
		t.Fatal(sol, err)
	}
	total, got := make([]float64, n), 0.0
	for j, w := range again.Weights() {
		floats.AddScaled(total, w, again.coef[j*n:(j+1)*n])
		got += w * again.cost[j]
	}
	for i, b := range limit {
		if total[i+1] > b+1e-10 {
			t.Errorf("row %d: %g, limit %g that is touched", i, total[i+1], b)
		}
	}
	if got > sol.Objective+1e-7 {
		t.Errorf("objective %g of mixtures that touch: want %g", got, sol.Objective)
	}
	return 1
}

// check wants the mixture of a mixture to be feasible, worth the objective, and
// priced by y: no column below its price.
func (m *Mixture) check(t *testing.T, cost []float64, objective float64) {
	t.Helper()
	n := len(m.x)
	got, total, y := 0.0, make([]float64, n), m.Prices()
	if dual := y[0] + floats.Dot(y[1:], m.limit); math.Abs(dual-objective) > 1e-8 {
		t.Errorf("prices %v are worth %g, the objective is %g", y, dual, objective)
	}
	for j, w := range m.Weights() {
		got += w * cost[j]
		reduced := cost[j]
		for i, a := range m.coef[j*n : (j+1)*n] {
			total[i] += w * a
			reduced -= y[i] * a
		}
		if w < 0 || reduced < -1e-9 {
			t.Errorf("column %d: weight %g, reduced cost %g", j, w, reduced)
		}
	}
	if math.Abs(got-objective) > 1e-8 || math.Abs(total[0]-1) > 1e-9 {
		t.Errorf("objective %g: want %g; weights sum to %g", got, objective, total[0])
	}
	for i, b := range m.limit {
		if total[i+1] > b+1e-8 || y[i+1] > 1e-9 {
			t.Errorf("row %d: %g, limit %g, price %g", i, total[i+1], b, y[i+1])
		}
	}
}

// TestMixtureRounding wants a singular basis to be reported, not solved.
func TestMixtureRounding(t *testing.T) {
	var m Mixture
	m.Reset([]float64{1})
	m.Add(1, []float64{0.5})
	m.Add(2, []float64{0.5})
	m.basis = []int{0, 1}
	if _, ok := m.Solve(1e-9); ok {
		t.Error("a singular basis was solved")
	}
}
