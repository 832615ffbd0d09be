package baseline

import (
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// Ranges returns by how much the goal of a task varies over the box of possible returns of a shape, and how far
// from the limits a return in the box may be: the units in which regret and violation can be compared. A task
// whose goal or target is curved has at most ten returns, else there is an error. Without a goal, or without a
// target, the range is 0.
func Ranges(sh *cmdp.Shape, task cmdp.Task) (regret, violation float64, err error) {
	if sh == nil {
		return 0, 0, errors.New("baseline: ranges: no shape")
	}
	if err := task.Check(sh.Dim()); err != nil {
		return 0, 0, fmt.Errorf("baseline: ranges: %w", err)
	}
	lower, upper := sh.Totals()
	linear, err := LinearForm(sh, task)
	switch {
	case err != nil && len(lower) > 10:
		return 0, 0, fmt.Errorf("baseline: ranges: %w", err)
	case err != nil:
		regret, violation = curvedRanges(task, lower, upper)
		return regret, violation, nil
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

// curvedRanges is Ranges of a convex task: goal and distance are greatest in corners of the box, and the goal
// is least where its conjugate is asked for no direction.
func curvedRanges(task cmdp.Task, lower, upper []float64) (regret, violation float64) {
	corner, zero := make([]float64, len(lower)), make([]float64, len(lower))
	least := math.Inf(1)
	if task.Cost != nil {
		task.Cost.ConjugateSubgradient(corner, zero, lower)
		least = task.Cost.Value(corner)
	}
	for n := range 1 << len(lower) {
		for i := range corner {
			corner[i] = lower[i]
			if n>>i&1 == 1 {
				corner[i] = upper[i]
			}
		}
		if task.Cost != nil {
			regret = max(regret, task.Cost.Value(corner)-least)
		}
		if task.Target != nil {
			violation = max(violation, task.Violation(corner))
		}
	}
	return regret, violation
}
