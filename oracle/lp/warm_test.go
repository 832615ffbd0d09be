package lp_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/oracle/lp"
)

// TestWarm changes problems step by step and wants the answer of a cold solve
// of the changed problem at every step. Changes that are refused leave all as it was.
func TestWarm(t *testing.T) {
	for _, b := range lp.Backends() {
		for seed := range uint64(400) {
			rng := rand.New(rand.NewPCG(seed, 3))
			p := randomProblem(rng)
			given := &lp.Problem{Minimize: slices.Clone(p.Minimize)}
			given.Lower, given.Upper = slices.Clone(p.Lower), slices.Clone(p.Upper)
			for _, r := range p.Rows {
				r.Coef = slices.Clone(r.Coef)
				given.Rows = append(given.Rows, r)
			}
			s, err := b.NewSolver(given)
			if err != nil {
				t.Fatal(err)
			}
			spoil(given.Minimize, given.Lower, given.Upper)
			for _, r := range given.Rows {
				spoil(r.Coef)
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
					math.Abs(cold.Objective-sol.Objective) >= 1e-6*(1+math.Abs(cold.Objective)) {
					t.Fatalf("%s: seed %d, step %d: warm %v %v, cold %v %v", b.Name, seed, step, sol.Status,
						sol.Objective, cold.Status, cold.Objective)
				}
				refused(t, rng, s, p)
				change(t, rng, s, p)
			}
		}
	}
}

// spoil overwrites what was given and is the caller's again.
func spoil(given ...[]float64) {
	for _, x := range given {
		for i := range x {
			x[i] = math.NaN()
		}
	}
}

// change makes the same change to the solver and to the problem, and spoils what it gave.
func change(t *testing.T, rng *rand.Rand, s lp.Solver, p *lp.Problem) {
	t.Helper()
	var err error
	unit := math.Pow(10, float64(rng.IntN(2)*(rng.IntN(7)-3))) // of a column or a row, often 1
	switch rng.IntN(4) {
	case 0:
		for j := range p.Minimize {
			p.Minimize[j] += rng.NormFloat64()
		}
		c := slices.Clone(p.Minimize)
		err = s.SetObjective(c)
		spoil(c)
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
		if rng.IntN(2) == 0 {
			c.Coef, c.Index = sparse(rng, c.Coef)
		}
		err = s.AddColumn(c)
		spoil(c.Coef)
		clear(c.Index)
	case 2:
		r := lp.Constraint{Lower: -inf, Upper: unit * (rng.NormFloat64() + 1)}
		for range p.Minimize {
			r.Coef = append(r.Coef, unit*float64(rng.IntN(5)-2))
		}
		p.Rows = append(p.Rows, r)
		if r.Coef = slices.Clone(r.Coef); rng.IntN(2) == 0 {
			r.Coef, r.Index = sparse(rng, r.Coef)
		}
		err = s.AddRow(r)
		spoil(r.Coef)
		clear(r.Index)
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

// sparse lists the entries that are not zero, and some that are, in any order.
func sparse(rng *rand.Rand, dense []float64) (coef []float64, index []int) {
	index = []int{}
	for _, k := range rng.Perm(len(dense)) {
		if dense[k] != 0 || rng.IntN(3) == 0 {
			coef, index = append(coef, dense[k]), append(index, k)
		}
	}
	return coef, index
}

// refused asks for a change with one thing wrong and wants an error that says where.
func refused(t *testing.T, rng *rand.Rand, s lp.Solver, p *lp.Problem) {
	t.Helper()
	m, n := len(p.Rows), len(p.Minimize)
	bad := []float64{math.NaN(), inf, -inf, 1e101}[rng.IntN(4)]
	fault := ""
	vector := func(size int) (coef []float64, index []int) {
		coef, index = make([]float64, size), rng.Perm(size)
		switch at := rng.IntN(size); rng.IntN(4) {
		case 0:
			index[at] = size
		case 1:
			index[at] = -1
		case 2: // here and in some places after it
			for k := at; k < size; k += 1 + rng.IntN(2) {
				coef[k] = bad
			}
			fault = fmt.Sprintf(" coefficient %d: %v", at, bad)
		case 3:
			coef, index = append(coef, 1), append(index, index[at])
		}
		return coef, index
	}
	var err error
	want := ""
	switch kind := rng.IntN(4); {
	case kind == 0 && n > 0:
		c, j := make([]float64, n), rng.IntN(n)
		for i := range c {
			c[i] = rng.NormFloat64()
		}
		c[j], c[n-1] = bad, bad
		want = fmt.Sprintf("cost of column %d: %v", j, bad)
		err = s.SetObjective(c)
	case kind == 1 && m > 0:
		c := lp.Column{Upper: 1}
		c.Coef, c.Index = vector(m)
		want = fmt.Sprintf("column %d:%s", n, fault)
		err = s.AddColumn(c)
	case kind == 2 && n > 0:
		r := lp.Constraint{Upper: 1}
		r.Coef, r.Index = vector(n)
		want = fmt.Sprintf("row %d:%s", m, fault)
		err = s.AddRow(r)
	case m > 0:
		i, nan := rng.IntN(m), math.NaN()
		side := [][2]float64{{1, 0}, {nan, 0}, {0, nan}, {inf, inf}, {-inf, -inf}, {0, 1e101}}[rng.IntN(6)]
		want = fmt.Sprintf("row %d:", i)
		err = s.SetRowBounds(i, side[0], side[1])
	default:
		return
	}
	if err == nil || !strings.HasPrefix(err.Error(), "lp: "+want) {
		t.Fatalf("error %v: want %q", err, want)
	}
}

// TestWarmIsShort wants a warm start of the embedded backend to pay: the same objective
// again takes no iterations, nor does a column that does not price out, wherever it rests.
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
	for _, lower := range []float64{0, 2, -2} {
		c := lp.Column{Cost: math.Copysign(1e6, lower), Lower: lower, Upper: lower + 1}
		for range p.Rows {
			c.Coef = append(c.Coef, 1e-4*rng.NormFloat64())
		}
		if err := s.AddColumn(c); err != nil {
			t.Fatal(err)
		}
		if k := steps(); k != 0 {
			t.Errorf("%d iterations for a useless column at %g", k, lower)
		}
	}
}

// TestWarmRelaxed: when a row that holds is freed, fixed or moved, the next solution begins from the last vertex, and
// the row stays on its side.
func TestWarmRelaxed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	warm, cold := 0, 0
	for range 30 {
		p := polytope(rng, 12, 8)
		s, err := lp.NewEmbedded(p)
		if err != nil {
			t.Fatal(err)
		}
		var sol lp.Solution
		if err := s.Solve(&sol); err != nil {
			t.Fatal(err)
		}
		for i, y := range slices.Clone(sol.Duals) {
			if y == 0 {
				continue
			}
			r := &p.Rows[i]
			switch rng.IntN(5) {
			case 0:
				r.Upper = inf
			case 4:
				r.Lower, r.Upper = r.Upper-1, r.Upper+0.1
			case 1:
				r.Lower, r.Upper = r.Upper-2, inf
			case 2:
				r.Lower = r.Upper
			case 3:
				r.Upper -= 0.1
			}
			if err := s.SetRowBounds(i, r.Lower, r.Upper); err != nil {
				t.Fatal(err)
			}
			if err := s.Solve(&sol); err != nil {
				t.Fatal(err)
			}
			again := solve(t, lp.Backends()[0], p)
			if math.Abs(again.Objective-sol.Objective) >= 1e-9*(1+math.Abs(sol.Objective)) {
				t.Errorf("objective %g, from the start %g", sol.Objective, again.Objective)
			}
			warm, cold = warm+sol.Iterations, cold+again.Iterations
		}
	}
	if 8*warm > cold {
		t.Errorf("%d iterations, %d from the start", warm, cold)
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
