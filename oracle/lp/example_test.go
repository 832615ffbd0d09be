package lp_test

import (
	"fmt"
	"log"
	"math"

	"cmdpsolve/oracle/lp"
)

// The best mix of two returns under a budget, its shadow price, and the same
// problem again with other costs.
func ExampleNewSolver() {
	s, err := lp.NewSolver(&lp.Problem{
		Minimize: []float64{-3, -2},
		Rows: []lp.Constraint{
			lp.AtMost([]float64{1, 1}, 4),
			lp.AtMost([]float64{1, 3}, 8),
		},
		Upper: []float64{3, math.Inf(1)},
	})
	if err != nil {
		log.Fatal(err)
	}
	var sol lp.Solution
	if err := s.Solve(&sol); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sol.Status, sol.X, sol.Objective, sol.Duals)
	if err := s.SetObjective([]float64{-1, -2}); err != nil {
		log.Fatal(err)
	}
	if err := s.Solve(&sol); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sol.Status, sol.X, sol.Objective, sol.Duals)
	// Output:
	// optimal [3 1] -11 [-2 0]
	// optimal [2 2] -6 [-0.5 -0.5]
}

// Two rows that contradict each other, and the multipliers that show it: the
// sum of the first and minus the second reads 0 ≥ 1.
func ExampleSolve_infeasible() {
	sol, err := lp.Solve(&lp.Problem{
		Minimize: []float64{0, 0},
		Rows: []lp.Constraint{
			lp.AtLeast([]float64{1, 1}, 3),
			lp.AtMost([]float64{1, 1}, 2),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sol.Status, sol.Ray)
	// Output:
	// infeasible [1 -1]
}
