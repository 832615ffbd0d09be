package lp_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// forge changes an answer in one way: numbers of it, along a direction that may keep what they add up to, or its
// status, with what stands at hand for a proof.
func forge(rng *rand.Rand, p *lp.Problem, sol *lp.Solution) {
	n := len(p.Minimize)
	bend := func(x []float64) {
		if len(x) == 0 {
			return
		}
		i := rng.IntN(len(x))
		x[i] = []float64{0, -x[i], 1.5 * x[i], x[i] + 1, x[i] - 1e-5, x[i] * (1 - 1e-5), math.NaN()}[rng.IntN(7)]
		if j := rng.IntN(len(x)); j != i && rng.IntN(2) == 0 {
			x[j] += []float64{-1, 1}[rng.IntN(2)]
		}
	}
	switch rng.IntN(7) {
	case 6:
		sol.Status = lp.Status(rng.IntN(2) * 4) // none
	case 0:
		bend(sol.X)
		for j, x := range sol.X { // answers are clipped to their bounds, which need no check
			lower, upper := bounds(p, j)
			sol.X[j] = max(lower, min(upper, x))
		}
	case 1:
		bend(sol.Ray)
	case 2:
		bend(sol.Duals)
		if len(sol.Duals) == 0 {
			break
		}
		for j := range sol.ReducedCosts { // as the duals say
			sol.ReducedCosts[j] = p.Minimize[j]
			for i, y := range sol.Duals {
				sol.ReducedCosts[j] -= y * row(p, i)[j]
			}
		}
	case 3:
		bend(sol.ReducedCosts)
	case 4:
		if sol.Status == lp.Optimal {
			sol.Status, sol.Ray, sol.Objective = lp.Infeasible, sol.Duals, math.Inf(1)
			sol.X, sol.Duals, sol.ReducedCosts = nil, nil, nil
		} else {
			for i := range sol.Ray {
				sol.Ray[i] *= -1
			}
		}
	default:
		if sol.Status == lp.Optimal {
			sol.Status, sol.Ray, sol.Objective = lp.Unbounded, make([]float64, n), math.Inf(-1)
			for i := range sol.Ray {
				sol.Ray[i] = float64(rng.IntN(3) - 1)
			}
			sol.Duals, sol.ReducedCosts = nil, nil
		}
	}
	if sol.Status == lp.Optimal {
		sol.Objective = 0
		for j, c := range p.Minimize {
			sol.Objective += c * sol.X[j]
		}
	}
}

// apart makes one column reach 1e9 times as far as the others, takes it out of half of the rows, and writes all costs
// in another unit.
func apart(rng *rand.Rand, p *lp.Problem) {
	if len(p.Minimize) == 0 {
		return
	}
	j := rng.IntN(len(p.Minimize))
	p.Lower[j], p.Upper[j] = float64(rng.IntN(2)), 1e9
	for i := range p.Rows {
		if p.Rows[i].Coef = slices.Clone(p.Rows[i].Coef); rng.IntN(2) == 0 {
			p.Rows[i].Coef[j] = 0
		}
	}
	floats.Scale(math.Pow(10, float64(rng.IntN(31)-15)), p.Minimize)
}

// TestForged changes answers at random, also of programs whose numbers lie far apart. What the tests' own judge refuses
// the solver's check has to refuse too.
func TestForged(t *testing.T) {
	refused := make(map[lp.Status]int)
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 23))
		p := randomProblem(rng)
		if seed%2 == 0 {
			apart(rng, p)
		}
		s, err := lp.NewEmbedded(p)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			sol := new(lp.Solution)
			if err := s.Solve(sol); err != nil {
				t.Fatal(err)
			}
			forge(rng, p, sol)
			if wrong := verify(p, sol, 1e-6); wrong != nil {
				refused[sol.Status]++
				if lp.Certify(s, sol) == nil {
					t.Fatalf("seed %d: %+v passes: %v\n%+v", seed, sol, wrong, p)
				}
			}
		}
	}
	for _, status := range []lp.Status{lp.Optimal, lp.Infeasible, lp.Unbounded} {
		if refused[status] < 300 {
			t.Errorf("%d wrong answers say %v: want many", refused[status], status)
		}
	}
}

// TestRoundingProvesNothing: two rows that contradict each other in the last digits of their bounds are no proof, those
// that do so by a bit more are.
func TestRoundingProvesNothing(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 27))
		p := randomProblem(rng)
		coef, side := make([]float64, len(p.Minimize)), math.Exp(9*rng.NormFloat64())
		for j := range coef {
			coef[j] = rng.NormFloat64()
		}
		ray := make([]float64, len(p.Rows)+2)
		ray[len(p.Rows)], ray[len(p.Rows)+1] = 1, -1
		for _, of := range []struct {
			less  float64
			proof bool
		}{{math.Nextafter(side, 0), false}, {side * (1 - 1e-14), true}, {side * (1 - 1e-9), true}, {side, false}} {
			q := &lp.Problem{Minimize: p.Minimize, Lower: p.Lower, Upper: p.Upper}
			q.Rows = append(slices.Clone(p.Rows), lp.AtLeast(coef, side), lp.AtMost(coef, of.less))
			s, err := lp.NewEmbedded(q)
			if err != nil {
				t.Fatal(err)
			}
			err = lp.Certify(s, &lp.Solution{Status: lp.Infeasible, Objective: inf, Ray: ray})
			if (err == nil) != of.proof {
				t.Errorf("seed %d: %g and %g contradict each other: %v", seed, side, of.less, err)
			}
		}
	}
}
