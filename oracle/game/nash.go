package game

import (
	"fmt"
	"math"
)

// A Solution is the answer to one game.
type Solution struct {
	Strategies
	// Value lies between Low, which Col guarantees to the opponent, and Up, which
	// Row guarantees to the agent.
	Value, Low, Up float64
}

// Nash solves one game, given by its rows, which all have the same length. For
// many games use a [Solver]. It may be used concurrently.
func Nash(payoff [][]float64) (*Solution, error) {
	if len(payoff) == 0 || len(payoff[0]) == 0 {
		return nil, fmt.Errorf("game: no payoffs: want at least one row and one column")
	}
	n := len(payoff[0])
	flat := make([]float64, 0, n*len(payoff))
	for a, r := range payoff {
		if len(r) != n {
			return nil, fmt.Errorf("game: row %d has %d payoffs: want %d as in the first row", a, len(r), n)
		}
		if math.IsNaN(magnitude(r)) {
			return nil, fmt.Errorf("game: row %d has a payoff that is not finite", a)
		}
		flat = append(flat, r...)
	}
	sol := &Solution{Strategies: Strategies{make([]float64, len(payoff)), make([]float64, n)}}
	sol.Low, sol.Up = new(Solver).Solve(sol.Row, sol.Col, flat)
	sol.Value = sol.Low/2 + sol.Up/2
	return sol, nil
}
