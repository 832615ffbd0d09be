package lp_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// packing draws a program of Dense with m rows and n columns as its tableau, and the same
// program for the other solvers. Tied ones have small integers, so that they are degenerate.
func packing(rng *rand.Rand, m, n int, tied bool) ([]float64, *lp.Problem) {
	draw := func() float64 { return 1 + rng.Float64() }
	if tied {
		draw = func() float64 { return float64(rng.IntN(3)) }
	}
	p, table := &lp.Problem{}, []float64(nil)
	for range m {
		row := make([]float64, n)
		for j := range row {
			row[j] = draw()
		}
		p.Rows = append(p.Rows, lp.AtMost(row, draw()))
		table = append(append(table, row...), p.Rows[len(p.Rows)-1].Upper)
	}
	for range n {
		p.Minimize = append(p.Minimize, -draw())
	}
	return append(append(table, p.Minimize...), 0), p
}

// TestDense compares Dense with the other solvers, with what polishing makes of its answer,
// and with the conditions of optimality.
func TestDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 8))
	d, unbounded, polished := new(lp.Dense), 0, 0
	for trial := range 3000 {
		m, n := 1+rng.IntN(7), 1+rng.IntN(7)
		if trial%100 == 0 {
			n = 16 + rng.IntN(10) // lines that are long
		}
		table, p := packing(rng, m, n, trial%2 == 0)
		want, err := lp.Solve(p)
		if err != nil {
			t.Fatal(err)
		}
		first := 0 // a column that promises something
		for j, c := range p.Minimize {
			if c < p.Minimize[first] {
				first = j
			}
		}
		d.Careful = trial%3 == 0
		x, y := filled(n, math.NaN()), filled(m, math.NaN())
		if p.Minimize[first] == 0 {
			continue
		}
		bounded := d.Maximize(x, y, slices.Clone(table), first)
		if bounded != (want.Status == lp.Optimal) {
			t.Fatalf("trial %d: bounded %v, but %v", trial, bounded, want.Status)
		}
		if !bounded {
			unbounded++
			continue
		}
		for range 2 {
			if v := floats.Dot(p.Minimize, x); !(math.Abs(v-want.Objective) < 1e-9*(1+math.Abs(v))) {
				t.Errorf("trial %d: maximum %g, want %g", trial, -v, -want.Objective)
			}
			dual := 0.0
			for i, r := range p.Rows {
				if over := floats.Dot(r.Coef, x) - r.Upper; over > 1e-9 || y[i] < -1e-12 ||
					y[i] > 1e-9 && over < -1e-9 {
					t.Errorf("trial %d: row %d is passed by %g and has the multiplier %g", trial, i, over, y[i])
				}
				dual += y[i] * r.Upper
			}
			for j, c := range p.Minimize {
				worth := -c
				for i, r := range p.Rows {
					worth -= y[i] * r.Coef[j]
				}
				if worth > 1e-9 || x[j] < -1e-12 {
					t.Errorf("trial %d: column %d is %g and promises %g", trial, j, x[j], worth)
				}
			}
			if !(math.Abs(dual+want.Objective) < 1e-9*(1+math.Abs(dual))) {
				t.Errorf("trial %d: dual value %g, want %g", trial, dual, -want.Objective)
			}
			if !d.Polish(x, y, table) {
				break
			}
			polished++
		}
		checkPolish(t, rng, d, x, y, table)
	}
	if unbounded < 100 || polished < 1000 {
		t.Errorf("%d unbounded programs and %d polished answers: want many of both", unbounded, polished)
	}
}

// checkPolish asks for the last basis in a program that drifted: what comes back is what it was, or what the basis
// determines, none of it negative.
func checkPolish(t *testing.T, rng *rand.Rand, d *lp.Dense, x, y, table []float64) {
	t.Helper()
	n := len(x)
	for k := range table[:len(table)-1] {
		if table[k] != 0 {
			table[k] *= 0.5 + rng.Float64()
		}
	}
	x, y = slices.Clone(x), slices.Clone(y)
	beforeX, beforeY := slices.Clone(x), slices.Clone(y)
	if !d.Polish(x, y, table) {
		if !slices.Equal(x, beforeX) || !slices.Equal(y, beforeY) {
			t.Errorf("%v and %v became %v and %v, though they are said to be left", beforeX, beforeY, x, y)
		}
		return
	}
	if floats.Min(x) < -1e-9 || floats.Min(y) < -1e-9 {
		t.Errorf("polished answers %v and %v", x, y)
	}
	for i, v := range y {
		row := table[i*(n+1) : (i+1)*(n+1)]
		if gap := floats.Dot(row[:n], x) - row[n]; v > 0 && math.Abs(gap) > 1e-7*(1+floats.Norm(x, 1)) {
			t.Errorf("row %d has the multiplier %g and is missed by %g", i, v, gap)
		}
	}
	for j, v := range x {
		worth := table[len(y)*(n+1)+j]
		for i, u := range y {
			worth += u * table[i*(n+1)+j]
		}
		if v > 0 && math.Abs(worth) > 1e-7*(1+floats.Norm(y, 1)) {
			t.Errorf("column %d is %g and promises %g", j, v, worth)
		}
	}
}

// BenchmarkDense solves programs of drifting random games, each anew.
func BenchmarkDense(b *testing.B) {
	for _, n := range []int{3, 5, 10} {
		rng := rand.New(rand.NewPCG(uint64(n), 6))
		var tables [64][]float64
		var problems [64]*lp.Problem
		for k := range tables {
			tables[k], problems[k] = packing(rng, n, n, false)
		}
		b.Run(fmt.Sprintf("dense/%dx%d", n, n), func(b *testing.B) {
			d, x, y, table := new(lp.Dense), make([]float64, n), make([]float64, n), make([]float64, (n+1)*(n+1))
			for i := 0; b.Loop(); i++ {
				copy(table, tables[i%64])
				d.Maximize(x, y, table, 0)
			}
		})
		b.Run(fmt.Sprintf("embedded/%dx%d", n, n), func(b *testing.B) {
			var sol lp.Solution
			for i := 0; b.Loop(); i++ {
				s, err := lp.NewEmbedded(problems[i%64])
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Solve(&sol); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
