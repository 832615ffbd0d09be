package lp_test

import (
	"math"
	"testing"

	"cmdpsolve/oracle/lp"
)

var inf = math.Inf(1)

// conformance lists problems whose answers are known.
var conformance = []struct {
	name      string
	problem   lp.Problem
	status    lp.Status
	objective float64
}{
	{"nothing at all", lp.Problem{}, lp.Optimal, 0},
	{"no rows", lp.Problem{Minimize: []float64{1, -1, 0}, Lower: []float64{-2, 0, -inf}, Upper: []float64{9, 3, inf}},
		lp.Optimal, -5},
	{"no rows, unbounded", lp.Problem{Minimize: []float64{1, -1}}, lp.Unbounded, -inf},
	{"no rows, unbounded below", lp.Problem{Minimize: []float64{1}, Lower: []float64{-inf}, Upper: []float64{4}},
		lp.Unbounded, -inf},
	{"no columns", lp.Problem{Rows: []lp.Constraint{lp.AtMost(nil, 1), lp.Equal(nil, 0)}}, lp.Optimal, 0},
	{"no columns, infeasible", lp.Problem{Rows: []lp.Constraint{lp.AtMost(nil, 1), lp.AtLeast(nil, 2)}}, lp.Infeasible,
		inf},
	{"one variable", lp.Problem{Minimize: []float64{2}, Rows: []lp.Constraint{lp.AtLeast([]float64{4}, 6)}}, lp.Optimal,
		3},
	{"one variable, dual of a ≤ row", lp.Problem{Minimize: []float64{-2},
		Rows: []lp.Constraint{lp.AtMost([]float64{4}, 6)}}, lp.Optimal, -3},
	{"a row of zeros", lp.Problem{Minimize: []float64{1}, Rows: []lp.Constraint{lp.Equal([]float64{0}, 0)},
		Lower: []float64{7}}, lp.Optimal, 7},
	{"a row of zeros, infeasible", lp.Problem{Minimize: []float64{1}, Rows: []lp.Constraint{lp.Equal([]float64{0}, 1)}},
		lp.Infeasible, inf},
	{"a free row", lp.Problem{Minimize: []float64{1},
		Rows: []lp.Constraint{{Coef: []float64{1}, Lower: -inf, Upper: inf}}}, lp.Optimal, 0},
	{"a range", lp.Problem{Minimize: []float64{-1, -1},
		Rows: []lp.Constraint{{Coef: []float64{1, 2}, Lower: 1, Upper: 4}}, Upper: []float64{2, inf}}, lp.Optimal, -3},
	{"sparse rows", lp.Problem{Minimize: []float64{-1, 0, -1},
		Rows: []lp.Constraint{{Index: []int{2, 0}, Coef: []float64{1, 1}, Lower: -inf, Upper: 5},
			{Index: []int{}, Lower: -1, Upper: 0}}}, lp.Optimal, -5},
	{"fixed variables", lp.Problem{Minimize: []float64{1, 1}, Rows: []lp.Constraint{lp.Equal([]float64{1, 1}, 5)},
		Lower: []float64{2, -inf}, Upper: []float64{2, inf}}, lp.Optimal, 5},
	{"fixed variables, infeasible", lp.Problem{Minimize: []float64{0, 0},
		Rows:  []lp.Constraint{lp.Equal([]float64{1, 1}, 5)},
		Lower: []float64{2, 1}, Upper: []float64{2, 1}}, lp.Infeasible, inf},
	{"free variables", lp.Problem{Minimize: []float64{1, 1},
		Rows:  []lp.Constraint{lp.AtLeast([]float64{2, 1}, 1), lp.AtLeast([]float64{1, 2}, -4)},
		Lower: []float64{-inf, -inf}}, lp.Optimal, -1},
	{"redundant equalities", lp.Problem{Minimize: []float64{1, 2, 3},
		Rows: []lp.Constraint{lp.Equal([]float64{1, 1, 1}, 1), lp.Equal([]float64{2, 2, 2}, 2),
			lp.Equal([]float64{1, 0, 1}, .5),
			lp.Equal([]float64{0, 1, 0}, .5), lp.Equal([]float64{-1, -1, -1}, -1)}}, lp.Optimal, 1.5},
	{"contradictory equalities", lp.Problem{Minimize: []float64{1, 2},
		Rows: []lp.Constraint{lp.Equal([]float64{1, 1}, 1), lp.Equal([]float64{2, 2}, 2+1e-6)}}, lp.Infeasible, inf},
	{"infeasible by a hair", lp.Problem{Minimize: []float64{0},
		Rows: []lp.Constraint{lp.AtLeast([]float64{1}, 1), lp.AtMost([]float64{1}, 1-1e-6)}}, lp.Infeasible, inf},
	{"feasible in a point", lp.Problem{Minimize: []float64{1, -1},
		Rows: []lp.Constraint{lp.AtLeast([]float64{1, 1}, 2), lp.AtMost([]float64{1, 0}, 1),
			lp.AtMost([]float64{0, 1}, 1)}}, lp.Optimal, 0},
	{"unbounded along an edge", lp.Problem{Minimize: []float64{-1, -1},
		Rows: []lp.Constraint{lp.AtMost([]float64{1, -1}, 1)}}, lp.Unbounded, -inf},
	{"flat but bounded", lp.Problem{Minimize: []float64{1, -1},
		Rows: []lp.Constraint{lp.AtLeast([]float64{1, -1}, -1)}}, lp.Optimal, -1},
	{"Beale's cycle", lp.Problem{Minimize: []float64{-.75, 150, -.02, 6},
		Rows: []lp.Constraint{lp.AtMost([]float64{.25, -60, -.04, 9}, 0), lp.AtMost([]float64{.5, -90, -.02, 3}, 0),
			lp.AtMost([]float64{0, 0, 1, 0}, 1)}}, lp.Optimal, -.05},
	{"Kuhn's cycle", lp.Problem{Minimize: []float64{-2, -3, 1, 12},
		Rows: []lp.Constraint{lp.AtMost([]float64{-2, -9, 1, 9}, 0), lp.AtMost([]float64{1. / 3, 1, -1. / 3, -2}, 0),
			lp.AtMost([]float64{2, 3, -1, -12}, 2)}}, lp.Optimal, -2},
	{"tiny numbers", lp.Problem{Minimize: []float64{-3e-8, -2e-8},
		Rows:  []lp.Constraint{lp.AtMost([]float64{1e-8, 1e-8}, 4e-16), lp.AtMost([]float64{1, 3}, 8e-8)},
		Upper: []float64{3e-8, inf}}, lp.Optimal, -11e-16},
	{"huge numbers", lp.Problem{Minimize: []float64{-3e8, -2e8},
		Rows:  []lp.Constraint{lp.AtMost([]float64{1e8, 1e8}, 4e16), lp.AtMost([]float64{1, 3}, 8e8)},
		Upper: []float64{3e8, inf}}, lp.Optimal, -11e16},
	{"nearly parallel rows", lp.Problem{Minimize: []float64{-1, -1},
		Rows: []lp.Constraint{lp.AtMost([]float64{1, 1}, 1), lp.AtMost([]float64{1, 1 + 1e-9}, 1),
			lp.AtMost([]float64{1, 1 - 1e-9}, 1)}}, lp.Optimal, -1},
	{"very large coefficients", lp.Problem{Minimize: []float64{1e90},
		Rows: []lp.Constraint{lp.AtLeast([]float64{1e90}, 1e90)}}, lp.Optimal, 1e90},
}

func TestConformance(t *testing.T) {
	for _, b := range lp.Backends() {
		for _, test := range conformance {
			t.Run(b.Name+"/"+test.name, func(t *testing.T) {
				sol := solve(t, b, &test.problem)
				if sol.Status != test.status {
					t.Fatalf("%v, want %v", sol.Status, test.status)
				}
				if sol.Objective != test.objective &&
					!(math.Abs(sol.Objective-test.objective) < 1e-8*math.Abs(test.objective)) {
					t.Errorf("objective %v, want %v", sol.Objective, test.objective)
				}
				if err := verify(&test.problem, sol, tolerance[b.Name]); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestStatus(t *testing.T) {
	for status, want := range []string{"Status(0)", "optimal", "infeasible", "unbounded", "Status(4)"} {
		if got := lp.Status(status).String(); got != want {
			t.Errorf("status %d is %q, want %q", status, got, want)
		}
	}
}

// TestSigns states the conventions by the smallest examples.
func TestSigns(t *testing.T) {
	for _, b := range lp.Backends() {
		s := solve(t, b, &lp.Problem{Minimize: []float64{-2}, Rows: []lp.Constraint{lp.AtMost([]float64{4}, 6)}})
		if s.Duals[0] != -.5 || s.ReducedCosts[0] != 0 {
			t.Errorf("%s: ≤ row: %+v", b.Name, s)
		}
		s = solve(t, b, &lp.Problem{Minimize: []float64{2}, Rows: []lp.Constraint{lp.AtLeast([]float64{4}, 6)}})
		if s.Duals[0] != .5 || s.ReducedCosts[0] != 0 {
			t.Errorf("%s: ≥ row: %+v", b.Name, s)
		}
		s = solve(t, b, &lp.Problem{Minimize: []float64{2, -3}, Upper: []float64{1, 1},
			Rows: []lp.Constraint{lp.AtMost([]float64{1, 1}, 9)}})
		if s.Duals[0] != 0 || s.ReducedCosts[0] != 2 || s.ReducedCosts[1] != -3 {
			t.Errorf("%s: bounds: %+v", b.Name, s)
		}
		s = solve(t, b, &lp.Problem{Minimize: []float64{0}, Rows: []lp.Constraint{lp.AtMost([]float64{1}, -1)}})
		if s.Ray[0] != -1 {
			t.Errorf("%s: Farkas: %+v", b.Name, s)
		}
		s = solve(t, b, &lp.Problem{Minimize: []float64{0, -1}, Rows: []lp.Constraint{lp.AtMost([]float64{1, 0}, 1)}})
		if s.Ray[0] != 0 || s.Ray[1] != 1 {
			t.Errorf("%s: recession: %+v", b.Name, s)
		}
	}
}

// TestKleeMinty solves a cube on which Dantzig's rule visits many vertices.
func TestKleeMinty(t *testing.T) {
	const n = 8
	p := &lp.Problem{Minimize: make([]float64, n)}
	for i := range n {
		coef := make([]float64, n)
		for j := range i {
			coef[j] = math.Ldexp(1, i-j+1)
		}
		coef[i] = 1
		p.Minimize[i] = -math.Ldexp(1, n-1-i)
		p.Rows = append(p.Rows, lp.AtMost(coef, math.Pow(5, float64(i+1))))
	}
	for _, b := range lp.Backends() {
		sol := solve(t, b, p)
		if math.Abs(sol.Objective+math.Pow(5, n)) > 1e-6 {
			t.Errorf("%s: %v", b.Name, sol.Objective)
		}
	}
}
