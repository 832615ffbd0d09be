package lp_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"cmdpsolve/oracle/lp"
)

// TestHammer runs 200 goroutines that build, solve, change and exchange
// solvers, and wants right answers.
func TestHammer(t *testing.T) {
	for _, b := range lp.Backends() {
		exchange := make(chan lp.Solver, 50)
		var wg sync.WaitGroup
		for g := range uint64(200) {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(g, 6))
				p := polytope(rand.New(rand.NewPCG(7, 7)), 8, 4)
				var sol lp.Solution
				for range 10 {
					var s lp.Solver
					select {
					case s = <-exchange:
					default:
						var err error
						if s, err = b.NewSolver(p); err != nil {
							t.Error(err)
							return
						}
					}
					for j := range p.Minimize {
						p.Minimize[j] = rng.NormFloat64()
					}
					if err := s.SetObjective(p.Minimize); err != nil {
						t.Error(err)
					}
					if err := s.Solve(&sol); err != nil {
						t.Error(err)
					} else if err := verify(p, &sol, tolerance[b.Name]); err != nil {
						t.Error(err)
					}
					select {
					case exchange <- s:
					default:
					}
				}
			})
		}
		wg.Wait()
	}
}
