package game

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"cmdpsolve/oracle/lp"
)

// BenchmarkNash solves a stream of games that drift, as in planning, with this
// package and with warm linear programs that keep their basis between games.
func BenchmarkNash(b *testing.B) {
	for _, n := range []int{2, 3, 4, 5, 10, 20} {
		const stream = 64
		rng := rand.New(rand.NewPCG(uint64(n), 6))
		var games [stream][]float64
		_, _, q := fill(n, n, func(int, int) float64 { return rng.NormFloat64() })
		for i := range games {
			for j := range q {
				q[j] += 0.05 * rng.NormFloat64()
			}
			games[i] = append([]float64(nil), q...)
		}
		b.Run(fmt.Sprintf("n=%d/way=game", n), func(b *testing.B) {
			s, row, col := new(Solver), make([]float64, n), make([]float64, n)
			for i := 0; b.Loop(); i++ {
				s.Solve(row, col, games[i%stream])
			}
		})
		for _, backend := range programSolvers() {
			// The payoffs of a held program cannot change, so that a warm start here
			// solves the same game again after its objective was set: less work than
			// a new game, and a lower bound on what a linear program takes.
			b.Run(fmt.Sprintf("n=%d/way=%s-warm", n, backend.Name), func(b *testing.B) {
				p := program(n, n, games[0])
				solver, err := backend.NewSolver(p)
				if err != nil {
					b.Fatal(err)
				}
				var sol lp.Solution
				for i := 0; b.Loop(); i++ {
					if err := solver.SetRowBounds(0, 1+1e-6*float64(i%2), 1+1e-6*float64(i%2)); err != nil {
						b.Fatal(err)
					}
					if err := solver.Solve(&sol); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("n=%d/way=%s-cold", n, backend.Name), func(b *testing.B) {
				var sol lp.Solution
				for i := 0; b.Loop(); i++ {
					solver, err := backend.NewSolver(program(n, n, games[i%stream]))
					if err != nil {
						b.Fatal(err)
					}
					if err := solver.Solve(&sol); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
