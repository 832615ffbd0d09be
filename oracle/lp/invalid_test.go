package lp_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/oracle/lp"
)

// TestInvalid wants an error that names the fault, from the constructor and
// from the methods, and a solver that works on as if nothing had been asked.
func TestInvalid(t *testing.T) {
	nan := math.NaN()
	one := []float64{1}
	problems := []struct {
		want string
		p    *lp.Problem
	}{
		{"nil problem", nil},
		{"2 lower bounds for 1 columns", &lp.Problem{Minimize: one, Lower: []float64{0, 0}}},
		{"0 upper bounds for 1 columns", &lp.Problem{Minimize: one, Upper: []float64{}}},
		{"column 0: bounds [0, -Inf", &lp.Problem{Minimize: one, Upper: []float64{-inf}}},
		{"column 0: lower bound 0 above upper bound -1", &lp.Problem{Minimize: one, Upper: []float64{-1}}},
		{"column 0: bounds [0, 1e+300]: want infinite or", &lp.Problem{Minimize: one, Upper: []float64{1e300}}},
		{"row 0: 2 coefficients, want 1", &lp.Problem{Minimize: one,
			Rows: []lp.Constraint{lp.AtMost([]float64{1, 1}, 1)}}},
		{"row 0: 1 indices for 2", &lp.Problem{Minimize: one,
			Rows: []lp.Constraint{{Coef: []float64{1, 2}, Index: []int{0}}}}},
	}
	for _, b := range lp.Backends() {
		for _, test := range problems {
			if _, err := b.NewSolver(test.p); err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.HasPrefix(err.Error(), "lp: ") {
				t.Errorf("%s: error %v, want %q", b.Name, err, test.want)
			}
		}
		testRefusals(t, b)
	}
	if _, err := lp.Solve(&lp.Problem{Minimize: []float64{nan}}); err == nil {
		t.Error("Solve accepts NaN")
	}
}

// spoilOnce puts a number in the place of a right one, and returns what an error says of it and where that comes among
// the costs, the bounds of columns or the rows, or nothing if the place is spoilt already.
func spoilOnce(rng *rand.Rand, p *lp.Problem, spoilt map[[2]int]bool) (kind, at int, want string) {
	number := []float64{math.NaN(), inf, -inf, 1e101, -1e300}[rng.IntN(5)]
	side := [][2]float64{{2, 1}, {math.NaN(), 0}, {0, math.NaN()}, {inf, inf}, {-inf, -inf}, {0, 1e101}}[rng.IntN(6)]
	sides := fmt.Sprintf("bounds [%v, %v]", side[0], side[1])
	if side[0] > side[1] {
		sides = "lower bound 2 above upper bound 1"
	}
	kind, i, j := rng.IntN(5), rng.IntN(len(p.Rows)), rng.IntN(len(p.Minimize))
	r := &p.Rows[i]
	var put func()
	switch kind {
	case 0:
		at, want = j, fmt.Sprintf("cost of column %d: %v: want", j, number)
		put = func() { p.Minimize[j] = number }
	case 1:
		at, want = j, fmt.Sprintf("column %d: %s", j, sides)
		put = func() { p.Lower[j], p.Upper[j] = side[0], side[1] }
	case 2:
		at, want = 100*i, fmt.Sprintf("row %d: %s", i, sides)
		put = func() { r.Lower, r.Upper = side[0], side[1] }
	case 3:
		at, want = 100*i+1+j, fmt.Sprintf("row %d: coefficient %d: %v: want", i, j, number)
		put = func() { r.Coef[j] = number }
	default:
		index, last := []int{-1, r.Index[0], len(r.Index)}[rng.IntN(3)], len(r.Index)-1
		at, want = 100*i+99, fmt.Sprintf("row %d: index %d", i, index)
		put = func() { r.Index[last] = index }
	}
	kind = min(kind, 2)
	if spoilt[[2]int{kind, at}] {
		return kind, math.MaxInt, ""
	}
	spoilt[[2]int{kind, at}] = true
	put()
	return kind, at, "lp: " + want
}

// TestFirstFault: of several faults of a problem the first of its kind is named, with its place and what stands there.
func TestFirstFault(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 26))
		n := 2 + rng.IntN(4)
		p := &lp.Problem{Minimize: make([]float64, n), Lower: make([]float64, n), Upper: make([]float64, n)}
		for range 1 + rng.IntN(4) {
			p.Rows = append(p.Rows, lp.Constraint{Coef: make([]float64, n), Index: rng.Perm(n)})
		}
		first, wants, spoilt := [3]int{math.MaxInt, math.MaxInt, math.MaxInt}, [3]string{}, map[[2]int]bool{}
		for range 1 + rng.IntN(4) {
			if kind, at, want := spoilOnce(rng, p, spoilt); at < first[kind] {
				first[kind], wants[kind] = at, want
			}
		}
		err := p.Validate()
		named := func(want string) bool { return want != "" && strings.HasPrefix(err.Error(), want) }
		if err == nil || !slices.ContainsFunc(wants[:], named) {
			t.Errorf("seed %d: error %v: want one of %q", seed, err, wants)
		}
	}
}

func testRefusals(t *testing.T, b lp.Backend) {
	p := &lp.Problem{Minimize: []float64{-1}, Rows: []lp.Constraint{lp.AtMost([]float64{1}, 5)}}
	s, err := b.NewSolver(p)
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"row":         s.AddRow(lp.AtMost([]float64{1, 1}, 0)),
		"column":      s.AddColumn(lp.Column{Coef: []float64{1, 1}, Upper: 1}),
		"column cost": s.AddColumn(lp.Column{Cost: math.Inf(1), Coef: []float64{1}, Upper: 1}),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "lp: ") {
			t.Errorf("%s: %s: error %v", b.Name, what, err)
		}
	}
	var sol lp.Solution
	if err := s.Solve(&sol); err != nil || sol.Objective != -5 || len(sol.X) != 1 || len(sol.Duals) != 1 {
		t.Errorf("%s: after refusals: %+v, %v", b.Name, sol, err)
	}
	wantPanic(t, b.Name+": too many costs", func() { _ = s.SetObjective([]float64{1, 2}) })
	wantPanic(t, b.Name+": row out of range", func() { _ = s.SetRowBounds(1, 0, 0) })
}

func wantPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

// TestFarApart wants a right answer or an error from coefficients that differ by
// up to 1e9 within a row, and from units between 1e-80 and 1e80.
func TestFarApart(t *testing.T) {
	values := []float64{0, 1, -1, 1e5, -1e5, 1e-4, -1e-4, 3, 1e3, 1e-2}
	units := []float64{1e-80, 1e-40, 1e-3, 1, 1, 1e5, 1e40, 1e80}
	for _, b := range lp.Backends() {
		right := 0
		for seed := range uint64(4000) {
			rng := rand.New(rand.NewPCG(seed, 10))
			pick := func() float64 { return values[rng.IntN(len(values))] }
			unit := units[rng.IntN(len(units))]
			p := &lp.Problem{Minimize: []float64{pick() * unit, pick() * unit}}
			for range 2 {
				unit := units[rng.IntN(len(units))]
				p.Rows = append(p.Rows, lp.AtMost([]float64{pick() * unit, pick() * unit}, pick()*unit))
			}
			s, err := b.NewSolver(p)
			if err != nil {
				t.Fatal(err)
			}
			var sol lp.Solution
			if err := s.Solve(&sol); err == nil {
				right++
				if err := verify(p, &sol, tolerance[b.Name]); err != nil {
					t.Errorf("%s: seed %d: %v: %v\n%+v", b.Name, seed, sol.Status, err, p)
				}
			}
		}
		if right < 3900 {
			t.Errorf("%s: only %d of 4000 answered", b.Name, right)
		}
	}
}

// TestExtreme wants no panic and no endless loop from the largest and smallest
// numbers that validation lets pass, side by side.
func TestExtreme(t *testing.T) {
	values := []float64{0, 1, -1, 1e100, -1e100, 1e-100, 1e40, 1e-40, 5e-324, 1e-16}
	for _, b := range lp.Backends() {
		for seed := range uint64(1000) {
			rng := rand.New(rand.NewPCG(seed, 11))
			pick := func() float64 { return values[rng.IntN(len(values))] }
			p := &lp.Problem{Minimize: []float64{pick(), pick()}}
			for range 2 {
				p.Rows = append(p.Rows, lp.AtMost([]float64{pick(), pick()}, pick()))
			}
			s, err := b.NewSolver(p)
			if err != nil {
				t.Fatal(err)
			}
			var sol lp.Solution
			if err := s.Solve(&sol); err != nil && !errors.Is(err, lp.ErrNumerical) {
				t.Errorf("%s: seed %d: %v", b.Name, seed, err)
			}
		}
	}
}
