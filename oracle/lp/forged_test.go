package lp_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/oracle/lp"
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
		x[i] = []float64{0, -x[i], 1.5 * x[i], x[i] + 1, x[i] - 1}[rng.IntN(5)]
		if j := rng.IntN(len(x)); j != i && rng.IntN(2) == 0 {
			x[j] += []float64{-1, 1}[rng.IntN(2)]
		}
	}
	switch rng.IntN(6) {
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

// TestForged changes answers at random. What the tests' own judge refuses the solver's check has to refuse too.
func TestForged(t *testing.T) {
	refused := make(map[lp.Status]int)
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 23))
		p := randomProblem(rng)
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
			if wrong := verify(p, sol, 1e-4); wrong != nil {
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
