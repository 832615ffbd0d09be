package exact

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/oracle/lp"
)

// An Opinion is GLPK's answer to the explicit occupancy-measure program of a problem.
type Opinion struct {
	// Status is Optimal, Infeasible, or Undecided where GLPK gave no answer.
	Status Verdict
	// Objective is the least cost if Status is Optimal, else NaN.
	Objective float64
	// Rows, Columns and Iterations are those of the program and of GLPK's simplex method.
	Rows, Columns, Iterations int
}

// mostOpinion is the largest number of columns of a program that GLPK solves within
// seconds.
const mostOpinion = 20000

// SecondOpinion solves the task by GLPK on the explicit program of [OccupancyLP], which
// shares with [Solve] only the model. It is for small models, with a horizon or a discount
// below 1, and needs an affine cost or none and a polyhedral target or none. All else is an
// error, and so is a program built without GLPK (it wraps lp.ErrNoGLPK) or with more than
// 20000 columns. When ctx is done it returns at once, though GLPK may go on for seconds.
func SecondOpinion(ctx context.Context, m *cmdp.Model, task cmdp.Task) (*Opinion, error) {
	if err := checkTask(m, task); err != nil {
		return nil, err
	}
	return opinion(ctx, onePart(m), m.Dim(), nil, task)
}

// SecondOpinionOfSum is [SecondOpinion] for a task about the sum of models, see [NewSumPlanner]: one program of
// the occupancies of all of them.
func SecondOpinionOfSum(ctx context.Context, parts []Part, dim int, each []int, task cmdp.Task) (*Opinion, error) {
	p, err := NewSumPlanner(parts, dim, each, 1)
	if err != nil {
		return nil, err
	}
	if err := p.check(task); err != nil {
		return nil, err
	}
	return opinion(ctx, parts, dim, each, task)
}

func opinion(ctx context.Context, parts []Part, dim int, each []int, task cmdp.Task) (*Opinion, error) {
	width := dim + len(each)*parts[0].Model.Horizon()
	objective, offset := make([]float64, width), 0.0
	if task.Cost != nil {
		a, ok := task.Cost.(cost.Affine)
		if !ok {
			return nil, fmt.Errorf("exact: second opinion: the goal is curved: want one that is linear in the returns")
		}
		objective, offset = a.Gradient(), a.Offset()
	}
	whole := make([]float64, width)
	for i := range whole {
		whole[i] = math.Inf(1)
	}
	rows, polyhedral := cmdp.Task{Target: task.Target}.LinearConstraints(scaled(-1, whole), whole)
	if !polyhedral {
		return nil, fmt.Errorf("exact: second opinion: the target is curved: want one that is given by linear " +
			"inequalities")
	}
	n := 0
	for _, x := range parts {
		n += occupancies(x.Model)
	}
	if n > mostOpinion {
		return nil, fmt.Errorf("exact: second opinion: the explicit program has %d columns: want at most %d", n,
			mostOpinion)
	}
	program, err := sumLP(parts, dim, each, objective, rows)
	if err != nil {
		return nil, err
	}
	o := &Opinion{Status: Undecided, Objective: math.NaN(), Rows: len(program.Rows), Columns: len(program.Minimize)}
	solver, err := lp.NewGLPK(program)
	if err != nil {
		return nil, fmt.Errorf("exact: second opinion: %w", err)
	}
	var solution lp.Solution
	done := make(chan error, 1)
	go func() { done <- solver.Solve(&solution) }()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case err = <-done:
	}
	if errors.Is(err, lp.ErrNumerical) {
		return o, nil
	}
	if err != nil {
		return nil, fmt.Errorf("exact: second opinion: %w", err)
	}
	o.Iterations = solution.Iterations
	switch solution.Status {
	case lp.Optimal:
		o.Status, o.Objective = Optimal, solution.Objective+offset
	case lp.Infeasible:
		o.Status = Infeasible
	}
	return o, nil
}

// occupancies returns the number of columns of the explicit program.
func occupancies(m *cmdp.Model) int {
	n := 0
	for h := range max(1, m.Horizon()) {
		rows := m.Rows(h)
		for s := range m.States() {
			first, end := rows.Choices(s)
			n += max(1, end-first)
		}
	}
	return n
}
