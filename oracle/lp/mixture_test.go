package lp

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// TestMixture wants a mixture to agree with the general solver on random programs, many of
// them infeasible or degenerate, columns being added a few at a time.
func TestMixture(t *testing.T) {
	const tol = 1e-9
	infeasible := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 5))
		rows := int(seed % 4)
		draw := func() float64 {
			if seed%3 == 0 { // ties
				return float64(rng.IntN(4))
			}
			return 4 * rng.Float64()
		}
		limit := make([]float64, rows)
		for i := range limit {
			limit[i] = 0.3 + draw()/2
		}
		var m Mixture
		m.Reset(limit)
		p := Problem{Rows: []Row{{Lower: 1, Upper: 1}}}
		for _, b := range limit {
			p.Rows = append(p.Rows, AtMost(nil, b))
		}
		for range 6 {
			for range 1 + rng.IntN(3) {
				cost, a := draw(), make([]float64, rows)
				p.Minimize, p.Rows[0].Coef = append(p.Minimize, cost), append(p.Rows[0].Coef, 1)
				for i := range a {
					a[i] = draw()
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
				continue
			}
			m.check(t, p.Minimize, sol.Objective)
		}
	}
	if infeasible < 50 {
		t.Errorf("%d infeasible programs: the test says little", infeasible)
	}
}

// check wants the mixture of a mixture to be feasible, worth the objective, and
// priced by y: no column below its price.
func (m *Mixture) check(t *testing.T, cost []float64, objective float64) {
	t.Helper()
	n := len(m.limit)
	got, sum, total := 0.0, 0.0, make([]float64, n)
	for j, w := range m.Weights() {
		got += w * cost[j]
		sum += w
		reduced := cost[j] - m.prices[0]
		for i, a := range m.coef[j*n : (j+1)*n] {
			total[i] += w * a
			reduced -= m.prices[i+1] * a
		}
		if w < 0 || reduced < -1e-9 {
			t.Errorf("column %d: weight %g, reduced cost %g", j, w, reduced)
		}
	}
	if math.Abs(got-objective) > 1e-8 || math.Abs(sum-1) > 1e-9 {
		t.Errorf("objective %g: want %g; weights sum to %g", got, objective, sum)
	}
	for i, b := range m.limit {
		if total[i] > b+1e-8 || m.prices[i+1] > 1e-9 {
			t.Errorf("row %d: %g, limit %g, price %g", i, total[i], b, m.prices[i+1])
		}
	}
}

// TestMixtureUnits wants the same weights in whatever unit rows and costs are.
func TestMixtureUnits(t *testing.T) {
	for _, unit := range []float64{1, 1e-13, 1e13} {
		var m Mixture
		m.Reset([]float64{3 * unit})
		m.Add(1/unit, []float64{5 * unit})
		m.Add(2/unit, []float64{1 * unit})
		if _, ok := m.Solve(1e-9 * unit); !ok || !floats.EqualApprox(m.Weights(), []float64{0.5, 0.5}, 1e-12) {
			t.Errorf("unit %g: weights %v: want a half of each", unit, m.Weights())
		}
		want := []float64{2.25 / unit, -0.25 / unit / unit}
		if p := m.Prices(); math.Abs(p[0]/want[0]-1) > 1e-12 || math.Abs(p[1]/want[1]-1) > 1e-12 {
			t.Errorf("unit %g: prices %v: want %v", unit, p, want)
		}
	}
}

// TestMixtureTouching wants limits that rounding has put just out of reach to count as
// kept within the tolerance, and the prices of the least excess beyond it.
func TestMixtureTouching(t *testing.T) {
	var m Mixture
	m.Reset([]float64{1 - 1e-12, 1})
	m.Add(3, []float64{1, 1})
	m.Add(2, []float64{2, 0})
	excess, ok := m.Solve(1e-9)
	if !ok || math.Abs(excess-1e-12) > 1e-15 || math.Abs(m.Weights()[0]-1) > 1e-9 || m.Prices()[0] < 3 {
		t.Errorf("excess %g, %v, weights %v, prices %v: want the first column and its cost", excess, ok, m.Weights(), m.Prices())
	}
	m.Reset([]float64{0.5, 1})
	m.Add(3, []float64{1, 1})
	m.Add(2, []float64{2, 0})
	excess, ok = m.Solve(1e-9)
	if !ok || math.Abs(excess-0.5) > 1e-12 || !floats.EqualApprox(m.Prices(), []float64{1, -1, 0}, 1e-12) {
		t.Errorf("excess %g, %v, prices %v: want 0.5 and the first limit's", excess, ok, m.Prices())
	}
}
