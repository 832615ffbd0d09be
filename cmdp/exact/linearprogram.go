package exact

import (
	"errors"
	"fmt"

	"cmdpsolve/oracle/lp"
)

// errNoPoint is wrapped by the error about a program that no point satisfies.
var errNoPoint = errors.New("a linear program has no feasible point")

// errNoBound is wrapped by the error about a program whose objective falls without limit.
var errNoBound = errors.New("a linear program has no bound")

// solveProgram solves a program that is known to have an optimum, by the warm solver
// or, where that fails by rounding, from scratch. It returns the solver to go on with.
func solveProgram(warm lp.Solver, program func() *lp.Problem, dst *lp.Solution) (lp.Solver, error) {
	if err := warm.Solve(dst); err == nil && dst.Status == lp.Optimal {
		return warm, nil
	}
	cold, err := lp.NewEmbedded(program())
	if err != nil {
		return warm, fmt.Errorf("exact: %w", err)
	}
	if err = cold.Solve(dst); err == nil && dst.Status == lp.Optimal {
		return cold, nil
	}
	if err == nil && dst.Status == lp.Unbounded {
		return warm, fmt.Errorf("exact: %w", errNoBound)
	}
	if err == nil && dst.Status == lp.Infeasible {
		return warm, fmt.Errorf("exact: %w", errNoPoint)
	}
	if err == nil {
		err = fmt.Errorf("%v program: %w", dst.Status, lp.ErrNumerical)
	}
	return warm, fmt.Errorf("exact: a linear program that has an optimum: %w", err)
}
