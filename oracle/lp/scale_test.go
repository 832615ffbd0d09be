package lp_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// rescale multiplies the rows of p, its columns, its costs and all its bounds by
// powers of ten between −digits and digits, and returns the factor of the objective.
func rescale(rng *rand.Rand, p *lp.Problem, digits int) (scaled *lp.Problem, factor float64) {
	ten := func() float64 { return math.Pow(10, float64(rng.IntN(2*digits+1)-digits)) }
	costs, bound := ten(), ten()
	scaled = &lp.Problem{}
	columns := make([]float64, len(p.Minimize))
	for j, c := range p.Minimize {
		columns[j] = ten()
		scaled.Minimize = append(scaled.Minimize, c*costs*columns[j])
		lower, upper := bounds(p, j)
		scaled.Lower = append(scaled.Lower, lower*bound/columns[j])
		scaled.Upper = append(scaled.Upper, upper*bound/columns[j])
	}
	for i := range p.Rows {
		s := ten()
		r := lp.Constraint{Lower: p.Rows[i].Lower * s * bound, Upper: p.Rows[i].Upper * s * bound}
		for j, a := range row(p, i) {
			r.Coef = append(r.Coef, a*s*columns[j])
		}
		scaled.Rows = append(scaled.Rows, r)
	}
	return scaled, costs * bound
}

// TestScale writes random problems in other units, from 1e-8 to 1e8, and wants
// the same answers. The problems have interiors, and costs away from ties, so that rounding the
// units decides nothing.
func TestScale(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		p := fullProblem(rng, 1+rng.IntN(8), 1+rng.IntN(8))
		scaled, factor := rescale(rng, p, 8)
		for _, b := range lp.Backends() {
			want, got := solve(t, b, p), solve(t, b, scaled)
			if got.Status != want.Status {
				t.Fatalf("seed %d: %s: %v in other units, %v before\n%+v", seed, b.Name, got.Status, want.Status, p)
			}
			if err := verify(scaled, got, tolerance[b.Name]); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, b.Name, err)
			}
			if got.Status == lp.Optimal && math.Abs(got.Objective/factor-want.Objective) > 1e-6*(1+
				math.Abs(want.Objective)) {
				t.Fatalf("seed %d: %s: %v in other units, %v before", seed, b.Name, got.Objective/factor,
					want.Objective)
			}
		}
	}
}

// fullProblem returns a problem with normally distributed numbers, and inequalities only.
func fullProblem(rng *rand.Rand, m, n int) *lp.Problem {
	p := &lp.Problem{}
	for range n {
		p.Minimize = append(p.Minimize, rng.NormFloat64())
		p.Lower = append(p.Lower, -rng.ExpFloat64())
		p.Upper = append(p.Upper, rng.ExpFloat64())
		if rng.IntN(2) == 0 {
			p.Upper[len(p.Upper)-1] = inf
		}
	}
	for range m {
		coef := make([]float64, n)
		for j := range coef {
			coef[j] = rng.NormFloat64()
		}
		p.Rows = append(p.Rows, lp.AtMost(coef, 1+rng.NormFloat64()))
	}
	return p
}

// TestTiny: coefficients below 1e-100 count as zero, wherever they come from.
func TestTiny(t *testing.T) {
	row, column := lp.AtLeast([]float64{1e-101, 0}, 1), lp.Column{Coef: []float64{-1e-101}, Upper: inf}
	for _, b := range lp.Backends() {
		for name, grow := range map[string]func(s lp.Solver) error{
			"row":    func(s lp.Solver) error { return s.AddRow(row) },
			"column": func(s lp.Solver) error { return s.AddColumn(column) },
			"sparse": func(s lp.Solver) error {
				return s.AddRow(lp.Constraint{Coef: []float64{1e-101}, Index: []int{1}, Lower: 1, Upper: inf})
			},
		} {
			p := &lp.Problem{Minimize: []float64{0, 0}, Rows: []lp.Constraint{lp.AtMost([]float64{1e-101, 0}, -1)}}
			if name != "column" { // a row that can be kept
				p.Rows[0].Upper = 1
			}
			s, err := b.NewSolver(p)
			if err == nil {
				err = grow(s)
			}
			var sol lp.Solution
			if err == nil {
				err = s.Solve(&sol)
			}
			if err != nil || sol.Status != lp.Infeasible {
				t.Errorf("%s, %s: %v, error %v", b.Name, name, sol.Status, err)
			}
		}
	}
}

// zeroed returns 0 in the place of a bound that is finite.
func zeroed(bound float64) float64 {
	if math.IsInf(bound, 0) {
		return bound
	}
	return 0
}

// TestAlone asks GLPK alone what is in other units, and infeasible or unbounded often: it fails seldom, and its
// verdict, its numbers and its proofs are right.
func TestAlone(t *testing.T) {
	b, ok := lp.Alone()
	if !ok {
		t.Skip("this build has no GLPK")
	}
	answered := map[lp.Status]int{}
	failed, iterations := 0, 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 24))
		p := randomProblem(rng)
		switch seed % 6 {
		case 1:
			apart(rng, p)
		case 0: // rows have no other bound than 0
			for i := range p.Rows {
				p.Rows[i].Lower, p.Rows[i].Upper = zeroed(p.Rows[i].Lower), zeroed(p.Rows[i].Upper)
			}
		}
		want := solve(t, lp.Backends()[0], p)
		scaled, factor := rescale(rng, p, int(seed%4))
		if seed%3 == 0 { // all bounds are small
			const by = 1e-9
			factor *= by
			floats.Scale(by, scaled.Lower)
			floats.Scale(by, scaled.Upper)
			for i := range scaled.Rows {
				scaled.Rows[i].Lower *= by
				scaled.Rows[i].Upper *= by
			}
		}
		s, err := b.NewSolver(scaled)
		if err != nil {
			t.Fatal(err)
		}
		got := &lp.Solution{Iterations: -1}
		if err := s.Solve(got); err != nil {
			failed++
			continue
		}
		answered[got.Status]++
		iterations += got.Iterations
		if got.Iterations < 0 {
			t.Errorf("seed %d: %d iterations", seed, got.Iterations)
		}
		if got.Status != want.Status || got.Status == lp.Optimal &&
			math.Abs(got.Objective/factor-want.Objective) > 1e-6*(1+math.Abs(want.Objective)) {
			t.Errorf("seed %d: %v %g, embedded %v %g", seed, got.Status, got.Objective/factor, want.Status, want.Objective)
		}
		if err := verify(scaled, got, tolerance[b.Name]); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if err := rests(scaled, got); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if failed > 15 || min(answered[lp.Optimal], answered[lp.Infeasible], answered[lp.Unbounded]) < 100 {
		t.Errorf("GLPK failed %d times; answers %v", failed, answered)
	}
	if iterations < 1500 {
		t.Errorf("%d iterations: want one for a program and more", iterations)
	}
}

// flow draws the program of the occupancies of a small Markov decision process, and bounds of what they return.
func flow(rng *rand.Rand) (p *lp.Problem, limits []lp.Constraint) {
	states, actions, horizon := 1+rng.IntN(4), 1+rng.IntN(3), 1+rng.IntN(4)
	n := states * actions
	p = &lp.Problem{Minimize: make([]float64, n*horizon)}
	for j := range p.Minimize {
		p.Minimize[j] = float64(rng.IntN(9)-4) / 7
	}
	for h := range horizon {
		rows := make([]lp.Constraint, states)
		for s := range rows {
			rows[s].Coef = make([]float64, n*horizon)
			for a := range actions {
				rows[s].Coef[h*n+s*actions+a] = 1
			}
		}
		for j := max(0, h-1) * n; j < h*n; j++ {
			share := 0.25 * float64(rng.IntN(5))
			rows[rng.IntN(states)].Coef[j] -= share
			rows[rng.IntN(states)].Coef[j] -= 1 - share
		}
		if h == 0 {
			rows[0].Lower, rows[0].Upper = 1, 1
		}
		p.Rows = append(p.Rows, rows...)
	}
	for range 1 + rng.IntN(2) {
		coef := make([]float64, n*horizon)
		for j := range coef {
			coef[j] = float64(rng.IntN(9)-4) / 18
		}
		limits = append(limits, lp.AtMost(coef, float64(rng.IntN(9)-2)/16+0.01))
	}
	return p, limits
}

// TestDust: where returns cancel out in a limit, what rounding leaves of them changes no answer.
func TestDust(t *testing.T) {
	seen := map[lp.Status]int{}
	for seed := range uint64(6000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		p, limits := flow(rng)
		dusty := *p
		dusty.Rows = slices.Clone(p.Rows)
		for _, r := range limits {
			left := slices.Clone(r.Coef)
			for range 1 + rng.IntN(2) {
				j := rng.IntN(len(left))
				r.Coef[j], left[j] = 0, 1e-17*rng.NormFloat64()
			}
			p.Rows = append(p.Rows, r)
			dusty.Rows = append(dusty.Rows, lp.AtMost(left, r.Upper))
		}
		for _, b := range lp.Backends() {
			want, got := solve(t, b, p), solve(t, b, &dusty)
			seen[got.Status]++
			if got.Status != want.Status || got.Status == lp.Optimal && math.Abs(got.Objective-want.Objective) > 1e-9 {
				t.Errorf("seed %d: %s: %v %g, without dust %v %g", seed, b.Name, got.Status, got.Objective, want.Status,
					want.Objective)
			}
		}
	}
	if min(seen[lp.Optimal], seen[lp.Infeasible]) < 1000 {
		t.Errorf("%v", seen)
	}
}
