package instance

import (
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
)

// A Cliff is cliff walking (Sutton and Barto, Reinforcement Learning, 2nd
// edition, 2018, example 6.6) with a charge. The agent walks from the bottom
// left to the absorbing goal at the bottom right; the cells between them are the
// cliff. A step earns −1, a step into the cliff −100 and brings the agent back
// to the start; at a border it stays. Moves are certain.
//
// Size 4×12 and rewards are published. The charge is that of the experiments of
// Simão, Jansen, Spaan (AlwaysSafe, AAMAS 2021), with 4×6 cells, 15 steps and a
// budget of 2 there: entering a cell that lies in neither the first nor the last
// row or column costs its row number, counted from 0 at the top, so that the way
// along the top is free and the ways nearer to the cliff are shorter and dearer.
// With 3×4 cells and 20 steps the
// best rewards for budgets none, 0, 1, 2 are −5, −7, −6, −5.
type Cliff struct {
	// Rows and Cols are the size of the grid, at least 2 and 3.
	Rows, Cols int
	Horizon    int
	// Budget bounds the expected cost; +Inf for no bound.
	Budget float64
}

// DefaultCliff returns the published 4×12 grid with 30 steps and a budget of 5.
func DefaultCliff() Cliff { return Cliff{Rows: 4, Cols: 12, Horizon: 30, Budget: 5} }

func (c *Cliff) parameters() []parameter {
	return []parameter{
		whole("rows", &c.Rows, 2, 1000, "rows of the grid"),
		whole("cols", &c.Cols, 3, 1000, "columns of the grid"),
		horizonParameter(&c.Horizon),
		budgetParameter(&c.Budget, "bound on the expected cost"),
	}
}

// Problem returns the walk as a problem: maximise reward with cost at most the
// budget. Its states are the cells outside the cliff, Rows·Cols − (Cols−2) of
// them, row by row, named by row and column counted from 0.
func (c Cliff) Problem() (*problem.Problem, error) {
	if err := checkAll("cliff", c.parameters()); err != nil {
		return nil, err
	}
	p := &problem.Problem{
		Name:        specOf("cliff", c.parameters(), new(DefaultCliff()).parameters()),
		Returns:     []string{"reward", "cost"},
		Goal:        problem.Goal{Maximize: "reward"},
		Constraints: atMost("cost", c.Budget),
	}
	l := lattice{c.Rows, c.Cols}
	start, goal := (c.Rows-1)*c.Cols, c.Rows*c.Cols-1
	as := assemble(cmdp.ModelSpec{
		Horizon: c.Horizon, Dim: 2, Start: []cmdp.StartState{{State: c.state(start), Probability: 1}},
	}, c.state(goal)+1)
	for cell := range c.Rows * c.Cols {
		if cell > start && cell < goal {
			continue
		}
		p.States = append(p.States, l.name(cell))
		if cell == goal {
			continue
		}
		for d, dir := range directions {
			next, reward := l.move(cell, d), -1.0
			if next > start && next < goal {
				next, reward = start, -100
			}
			as.add(c.state(cell), dir.name, []float64{reward, c.charge(next)}, spread(nil, c.state(next), 1))
		}
	}
	return as.finish(p)
}

// state numbers the cells outside the cliff.
func (c *Cliff) state(cell int) int {
	if cell == c.Rows*c.Cols-1 {
		return cell - (c.Cols - 2)
	}
	return cell
}

// charge returns the cost of entering a cell.
func (c *Cliff) charge(cell int) float64 {
	row, col := cell/c.Cols, cell%c.Cols
	if row == 0 || row == c.Rows-1 || col == 0 || col == c.Cols-1 {
		return 0
	}
	return float64(row)
}
