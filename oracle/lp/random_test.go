package lp_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// randomProblem draws shapes and bounds of every kind. Small integers make
// degenerate and redundant problems frequent; half of the problems have a feasible point built in.
func randomProblem(rng *rand.Rand) *lp.Problem {
	m, n := rng.IntN(9), rng.IntN(9)
	integer := rng.IntN(2) == 0
	draw := func() float64 {
		if integer {
			return float64(rng.IntN(7) - 3)
		}
		return rng.NormFloat64()
	}
	x := make([]float64, n)
	p := &lp.Problem{Minimize: make([]float64, n)}
	p.Lower, p.Upper = lp.Free(n)
	for j := range x {
		x[j], p.Minimize[j] = draw(), draw()
		p.Lower[j], p.Upper[j] = randomBounds(rng, x[j], draw)
	}
	feasible := rng.IntN(2) == 0
	for range m {
		coef, at := make([]float64, n), 0.0
		for j := range coef {
			if rng.IntN(3) > 0 {
				coef[j] = draw()
			}
			at += coef[j] * x[j]
		}
		if !feasible {
			at = draw()
		}
		r := lp.Constraint{Coef: coef}
		r.Lower, r.Upper = randomBounds(rng, at, draw)
		p.Rows = append(p.Rows, r)
		if rng.IntN(8) == 0 { // a redundant row
			p.Rows = append(p.Rows, r)
		}
	}
	return p
}

// shorter writes a third of the problems with rows that list their entries in any order, and without bounds of columns
// that are what none stand for.
func shorter(rng *rand.Rand, p *lp.Problem) *lp.Problem {
	if rng.IntN(3) > 0 {
		return p
	}
	for i := range p.Rows {
		p.Rows[i].Coef, p.Rows[i].Index = sparse(rng, p.Rows[i].Coef)
	}
	if rng.IntN(2) == 0 {
		for j := range p.Lower {
			p.Upper[j] = max(0, p.Upper[j])
		}
		p.Lower = nil
	}
	if rng.IntN(2) == 0 {
		p.Upper = nil
	}
	return p
}

// randomBounds returns bounds of any type around x.
func randomBounds(rng *rand.Rand, x float64, draw func() float64) (lower, upper float64) {
	lower, upper = x-math.Abs(draw()), x+math.Abs(draw())
	switch rng.IntN(6) {
	case 4: // x is at one of its bounds
		if lower = x; rng.IntN(2) == 0 {
			lower, upper = x-(upper-x), x
		}
	case 0:
		lower = math.Inf(-1)
	case 1:
		upper = math.Inf(1)
	case 2:
		lower, upper = x, x
	case 3:
		if rng.IntN(3) == 0 {
			lower, upper = math.Inf(-1), math.Inf(1)
		}
	}
	return lower, upper
}

// TestRandom checks 10,000 problems by their certificates alone, and the
// backends against each other.
func TestRandom(t *testing.T) {
	seen := map[lp.Status]int{}
	for seed := range uint64(10000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := shorter(rng, randomProblem(rng))
		var first *lp.Solution
		for _, b := range lp.Backends() {
			sol := solve(t, b, p)
			if err := verify(p, sol, tolerance[b.Name]); err != nil {
				t.Fatalf("seed %d: %s: %v\n%+v", seed, b.Name, err, p)
			}
			if err := rests(p, sol); err != nil {
				t.Fatalf("seed %d: %s: %v\n%+v", seed, b.Name, err, p)
			}
			if sol.Status == lp.Optimal && !vertex(p, sol.X) {
				t.Fatalf("seed %d: %s: %v is no vertex\n%+v", seed, b.Name, sol.X, p)
			}
			if first == nil {
				first = sol
				seen[sol.Status]++
			}
			if sol.Status != first.Status ||
				math.Abs(sol.Objective-first.Objective) >= 1e-6*(1+math.Abs(first.Objective)) {
				t.Fatalf("seed %d: %v %v or %v %v", seed, sol.Status, sol.Objective, first.Status, first.Objective)
			}
		}
	}
	for _, s := range []lp.Status{lp.Optimal, lp.Infeasible, lp.Unbounded} {
		if seen[s] < 500 {
			t.Errorf("only %d problems are %v", seen[s], s)
		}
	}
}

// rests wants a variable with a reduced cost to be at the bound that this leans on, exactly.
func rests(p *lp.Problem, sol *lp.Solution) error {
	for j, d := range sol.ReducedCosts {
		lower, upper := bounds(p, j)
		if d > 0 && sol.X[j] != lower || d < 0 && sol.X[j] != upper {
			return fmt.Errorf("reduced cost %d is %g at %g in [%g, %g]", j, d, sol.X[j], lower, upper)
		}
	}
	return nil
}

// vertex says whether the columns of the variables that rest at no bound are independent in the rows that hold, by
// elimination.
func vertex(p *lp.Problem, x []float64) bool {
	var held [][]float64
	for i, r := range p.Rows {
		coef, at := row(p, i), 0.0
		for j, a := range coef {
			at += a * x[j]
		}
		if tol := 1e-7 * (1 + math.Abs(at)); math.Abs(at-r.Lower) <= tol || math.Abs(at-r.Upper) <= tol {
			held = append(held, append([]float64(nil), coef...))
		}
	}
	for j, v := range x {
		lower, upper := bounds(p, j)
		if v == lower || v == upper || v == 0 && math.IsInf(lower, -1) && math.IsInf(upper, 1) {
			continue
		}
		best := -1
		for k, r := range held {
			if math.Abs(r[j]) > 1e-9 && (best < 0 || math.Abs(r[j]) > math.Abs(held[best][j])) {
				best = k
			}
		}
		if best < 0 {
			return false
		}
		pivot := held[best]
		held = append(held[:best], held[best+1:]...)
		for _, r := range held {
			floats.AddScaled(r, -r[j]/pivot[j], pivot)
		}
	}
	return true
}

// solve solves p once on backend b.
func solve(t testing.TB, b lp.Backend, p *lp.Problem) *lp.Solution {
	t.Helper()
	s, err := b.NewSolver(p)
	if err != nil {
		t.Fatal(err)
	}
	sol := new(lp.Solution)
	if err := s.Solve(sol); err != nil {
		t.Fatalf("%s: %v\n%+v", b.Name, err, p)
	}
	if largest := floats.Norm(sol.Ray, math.Inf(1)); len(sol.Ray) > 0 && math.Abs(largest-1) > 1e-12 {
		t.Fatalf("%s: the largest entry of the ray %v is not 1\n%+v", b.Name, sol.Ray, p)
	}
	return sol
}
