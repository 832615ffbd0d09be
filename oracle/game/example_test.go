package game_test

import (
	"fmt"

	"cmdpsolve/oracle/game"
)

// Rock, paper, scissors in which paper pays double: the agent, whose rows these are, pays.
func ExampleNash() {
	solution, err := game.Nash([][]float64{
		{0, 2, -1},
		{-2, 0, 1},
		{1, -1, 0},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("value %.4f, agent %.4f, opponent %.4f\n", solution.Value, solution.Row, solution.Col)
	// Output:
	// value 0.0000, agent [0.2500 0.2500 0.5000], opponent [0.2500 0.2500 0.5000]
}
