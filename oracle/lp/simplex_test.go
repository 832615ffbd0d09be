package lp

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// degenerate returns a problem with small whole numbers and many ties.
func degenerate(rng *rand.Rand) *Problem {
	const n = 5
	p := &Problem{}
	for range n {
		p.Minimize = append(p.Minimize, float64(rng.IntN(7)-3))
	}
	for range 12 {
		coef := make([]float64, n)
		for j := range coef {
			coef[j] = float64(rng.IntN(5) - 2)
		}
		p.Rows = append(p.Rows, AtMost(coef, float64(rng.IntN(2))))
	}
	return p
}

// TestPricing wants the same answers from Dantzig's rule alone and from Bland's alone.
func TestPricing(t *testing.T) {
	for seed := range uint64(500) {
		p := degenerate(rand.New(rand.NewPCG(seed, 20)))
		var sols [2]Solution
		for k, patience := range []int{20, -1000} {
			data, err := newModel(p)
			if err != nil {
				t.Fatal(err)
			}
			s := newSimplex(data)
			s.patience = patience
			if s.bland() != (k == 1) {
				t.Fatal("the knob does nothing")
			}
			if err := s.attempt(&sols[k]); err != nil {
				t.Fatalf("seed %d, patience %d: %v", seed, patience, err)
			}
		}
		if sols[0].Status != sols[1].Status || math.Abs(sols[0].Objective-sols[1].Objective) > 1e-9 {
			t.Fatalf("seed %d: %+v or %+v", seed, sols[0], sols[1])
		}
	}
}

// solved returns a simplex that has solved a problem of 15 rows in 10 columns.
func solved(t *testing.T, sol *Solution) *simplex {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 21))
	p := &Problem{}
	for range 10 {
		p.Minimize = append(p.Minimize, -rng.Float64())
	}
	for range 15 {
		coef := make([]float64, 10)
		for j := range coef {
			coef[j] = rng.Float64()
		}
		p.Rows = append(p.Rows, AtMost(coef, 1+rng.Float64()))
	}
	data, err := newModel(p)
	if err != nil {
		t.Fatal(err)
	}
	s := newSimplex(data)
	if err := s.Solve(sol); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDrift spoils the inverse and wants refinement, or a new factorisation, to
// find the same vertex to the last digits.
func TestDrift(t *testing.T) {
	for _, error := range []float64{1e-12, 1e-6, 1e-3, 1, math.NaN()} {
		var before, after Solution
		s := solved(t, &before)
		rng := rand.New(rand.NewPCG(1, 22))
		for k := range s.inv {
			s.inv[k] *= 1 + error*rng.NormFloat64()
		}
		s.exact = false
		if err := s.Solve(&after); err != nil {
			t.Errorf("error %v: %v", error, err)
		}
		for j := range before.X {
			if math.Abs(before.X[j]-after.X[j]) > 1e-14 {
				t.Errorf("error %v: x[%d] = %v, before %v", error, j, after.X[j], before.X[j])
			}
		}
		for i := range before.Duals {
			if math.Abs(before.Duals[i]-after.Duals[i]) > 1e-14 {
				t.Errorf("error %v: dual %d = %v, before %v", error, i, after.Duals[i], before.Duals[i])
			}
		}
	}
}

// TestLost spoils what refinement cannot mend, and wants the solver to begin afresh, or to fail and to forget that.
func TestLost(t *testing.T) {
	for name, of := range map[string]func(s *simplex) []float64{
		"basic values":    func(s *simplex) []float64 { return s.xB },
		"columns at rest": func(s *simplex) []float64 { return s.col.x },
		"rows at rest":    func(s *simplex) []float64 { return s.row.x },
		"inverse":         func(s *simplex) []float64 { return s.inv },
		"costs":           func(s *simplex) []float64 { return s.cost },
	} {
		var before, after Solution
		s := solved(t, &before)
		cost := slices.Clone(s.cost)
		for i := range of(s) {
			of(s)[i] = math.NaN()
		}
		s.exact = !strings.HasSuffix(name, "rest")
		if err := s.Solve(&after); (err != nil) != (name == "costs") {
			t.Errorf("%s: error %v", name, err)
		}
		copy(s.cost, cost)
		if err := s.Solve(&after); err != nil || !floats.EqualApprox(before.X, after.X, 1e-14) ||
			!floats.EqualApprox(before.Duals, after.Duals, 1e-14) {
			t.Errorf("%s: error %v, answer %+v, before %+v", name, err, after, before)
		}
	}
}

// TestSingularBasis puts two equal columns into the basis and wants refactor to
// throw one out and the solve to go on.
func TestSingularBasis(t *testing.T) {
	data, err := newModel(&Problem{Minimize: []float64{-1, -1, -1},
		Rows: []Constraint{AtMost([]float64{1, 1, 2}, 4), AtMost([]float64{1, 1, 1}, 3),
			AtMost([]float64{2, 2, 1}, 9)}})
	if err != nil {
		t.Fatal(err)
	}
	s := newSimplex(data)
	for k, v := range []int{0, 1} {
		s.leave(k, 0)
		s.enter(v, k)
	}
	s.refactor()
	basic := 0
	for _, k := range s.col.pos {
		if k >= 0 {
			basic++
		}
	}
	if basic != 1 {
		t.Errorf("%d of two equal columns in the basis", basic)
	}
	var sol Solution
	if err := s.Solve(&sol); err != nil || math.Abs(sol.Objective+3) > 1e-12 {
		t.Error(sol, err)
	}
}

// TestNearMixtures asks how far mixtures of points are from where one of them is up to rounding. The vertices of such a
// program lie about as far apart as variables may be beyond their bounds, and the two phases took turns for ever.
// Mixtures and weights show what the distance is.
func TestNearMixtures(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 22))
		n, d := 3+rng.IntN(6), 3+rng.IntN(2)
		p := &Problem{Minimize: make([]float64, n+1), Lower: make([]float64, n+1), Upper: make([]float64, n+1)}
		p.Minimize[n], p.Lower[n] = 1, math.Inf(-1)
		sum := make([]float64, n+1)
		for j := range n {
			sum[j] = 1
		}
		for j := range p.Upper {
			p.Upper[j] = math.Inf(1)
		}
		for range d {
			coef := make([]float64, n+1)
			for j := range n {
				coef[j] = float64(rng.IntN(50)) / 49
			}
			coef[n] = -1
			p.Rows = append(p.Rows, AtMost(coef, 0))
		}
		p.Rows = append(p.Rows, Equal(sum, 1))
		data, err := newModel(p)
		if err != nil {
			t.Fatal(err)
		}
		s, sol := newSimplex(data), new(Solution)
		for range 10 {
			at, off := rng.IntN(n), math.Pow(10, -13-1.5*rng.Float64())
			corner := make([]float64, d)
			for k := range d {
				corner[k] = p.Rows[k].Coef[at] + off*rng.NormFloat64()
				if err := s.SetRowBounds(k, math.Inf(-1), corner[k]); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.attempt(sol); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			distance, bound := math.Inf(-1), math.Inf(1)
			for k := range d {
				distance = math.Max(distance, floats.Dot(p.Rows[k].Coef[:n], sol.X[:n])-corner[k])
			}
			for j := range n {
				apart := 0.0
				for k := range d {
					apart -= sol.Duals[k] * (p.Rows[k].Coef[j] - corner[k])
				}
				bound = math.Min(bound, apart)
			}
			if distance > bound+1e-12 || math.Abs(sol.Objective-distance) > 1e-12 {
				t.Fatalf("seed %d: distance %v, at least %v, said to be %v", seed, distance, bound, sol.Objective)
			}
		}
	}
}
