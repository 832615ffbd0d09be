package harness

import (
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"

	"gonum.org/v1/gonum/floats"
)

// Ranges returns by how much the goal of a linear task varies over the box of possible
// returns, and how far from the limits a return in the box may be. Percentages of regret
// and violation are of these.
func Ranges(sh *cmdp.Shape, task cmdp.Task) (regret, violation float64, err error) {
	lower, upper := sh.Totals()
	linear, err := baseline.LinearForm(sh, task)
	if err != nil {
		return 0, 0, fmt.Errorf("harness: ranges: %w", err)
	}
	for i, x := range linear.Goal {
		regret += math.Abs(x) * (upper[i] - lower[i])
	}
	for _, c := range linear.Rows {
		excess := max(0, c.Excess(lower, upper)) / floats.Norm(c.Normal, 2)
		violation += excess * excess
	}
	return regret, math.Sqrt(violation), nil
}
