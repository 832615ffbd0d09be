package lp_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/oracle/lp"
)

// TestWarm changes problems step by step and wants the answer of a cold solve
// of the changed problem at every step.
func TestWarm(t *testing.T) {
	for _, b := range lp.Backends() {
		for seed := range uint64(400) {
			rng := rand.New(rand.NewPCG(seed, 3))
			p := randomProblem(rng)
			s, err := b.NewSolver(p)
			if err != nil {
				t.Fatal(err)
			}
			sol := lp.Solution{X: []float64{math.NaN()}, Ray: make([]float64, 40), Duals: []float64{math.NaN(), 1}}
			for step := range 12 {
				if err := s.Solve(&sol); err != nil {
					t.Fatalf("%s: seed %d: %v", b.Name, seed, err)
				}
				if err := verify(p, &sol, tolerance[b.Name]); err != nil {
					t.Fatalf("%s: seed %d, step %d: %v", b.Name, seed, step, err)
				}
				cold := solve(t, b, p)
				if cold.Status != sol.Status ||
					math.Abs(cold.Objective-sol.Objective) > 1e-6*(1+math.Abs(cold.Objective)) {
					t.Fatalf("%s: seed %d, step %d: warm %v %v, cold %v %v", b.Name, seed, step, sol.Status,
						sol.Objective, cold.Status, cold.Objective)
				}
				change(t, rng, s, p)
			}
		}
	}
}

// change makes the same change to the solver and to the problem.
func change(t *testing.T, rng *rand.Rand, s lp.Solver, p *lp.Problem) {
	t.Helper()
	var err error
	unit := math.Pow(10, float64(rng.IntN(2)*(rng.IntN(7)-3))) // of a column or a row, often 1
	switch rng.IntN(4) {
	case 0:
		for j := range p.Minimize {
			p.Minimize[j] += rng.NormFloat64()
		}
		err = s.SetObjective(p.Minimize)
	case 1:
		c := lp.Column{Cost: unit * rng.NormFloat64(), Lower: (rng.NormFloat64() - 0.5) / unit}
		c.Upper = c.Lower + rng.ExpFloat64()/unit
		for i := range p.Rows {
			a := unit * float64(rng.IntN(5)-2)
			c.Coef = append(c.Coef, a)
			p.Rows[i].Coef = append(p.Rows[i].Coef[:len(p.Minimize):len(p.Minimize)], a)
		}
		p.Minimize = append(p.Minimize, c.Cost)
		p.Lower, p.Upper = append(p.Lower, c.Lower), append(p.Upper, c.Upper)
		err = s.AddColumn(c)
	case 2:
		r := lp.Constraint{Lower: -inf, Upper: unit * (rng.NormFloat64() + 1)}
		for range p.Minimize {
			r.Coef = append(r.Coef, unit*float64(rng.IntN(5)-2))
		}
		p.Rows = append(p.Rows, r)
		err = s.AddRow(r)
	case 3:
		if len(p.Rows) > 0 {
			i := rng.IntN(len(p.Rows))
			lower, upper := randomBounds(rng, rng.NormFloat64(), rng.NormFloat64)
			p.Rows[i].Lower, p.Rows[i].Upper = lower, upper
			err = s.SetRowBounds(i, lower, upper)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWarmIsShort wants a warm start of the embedded backend to pay: the same objective
// again takes no iterations, nor does a column that does not price out.
func TestWarmIsShort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	p := polytope(rng, 30, 12)
	s, err := lp.NewEmbedded(p)
	if err != nil {
		t.Fatal(err)
	}
	var sol lp.Solution
	steps := func() int {
		if err := s.Solve(&sol); err != nil {
			t.Fatal(err)
		}
		return sol.Iterations
	}
	if cold := steps(); cold == 0 {
		t.Error("no iterations from cold")
	}
	if err := s.SetObjective(p.Minimize); err != nil {
		t.Fatal(err)
	}
	if k := steps(); k != 0 {
		t.Errorf("%d iterations for the same objective", k)
	}
	if err := s.AddColumn(lp.Column{Cost: 1e6, Coef: make([]float64, len(p.Rows)), Upper: 1}); err != nil {
		t.Fatal(err)
	}
	if k := steps(); k != 0 {
		t.Errorf("%d iterations for a useless column", k)
	}
}

// TestWarmAllocates nothing on the embedded backend.
func TestWarmAllocates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	p := polytope(rng, 30, 12)
	s, err := lp.NewEmbedded(p)
	if err != nil {
		t.Fatal(err)
	}
	var sol lp.Solution
	c := make([]float64, len(p.Minimize))
	if n := testing.AllocsPerRun(200, func() {
		for j := range c {
			c[j] = rng.NormFloat64()
		}
		if err := s.SetObjective(c); err != nil {
			t.Fatal(err)
		}
		if err := s.Solve(&sol); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations per warm solve", n)
	}
}

// polytope returns a bounded problem of m rows in n free variables: a box of rows
// and random cuts.
func polytope(rng *rand.Rand, m, n int) *lp.Problem {
	p := &lp.Problem{}
	p.Lower, p.Upper = lp.Free(n)
	for j := range n {
		p.Minimize = append(p.Minimize, rng.NormFloat64())
		p.Lower[j], p.Upper[j] = -3, 3
	}
	for range m {
		coef := make([]float64, n)
		for j := range coef {
			coef[j] = rng.NormFloat64()
		}
		p.Rows = append(p.Rows, lp.AtMost(coef, 1+rng.Float64()))
	}
	return p
}
