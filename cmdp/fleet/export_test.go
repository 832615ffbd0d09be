package fleet

import (
	"context"

	"cmdpsolve/cmdp"
)

// RemainingObjective returns the cost that the program of the steps that are left has at the start, and by how
// much it breaks limits.
func RemainingObjective(ctx context.Context, f *Fleet, task cmdp.Task) (objective, broken float64, err error) {
	rows, err := f.playable(task)
	if err != nil {
		return 0, 0, err
	}
	d, err := NewDispatcher(ctx, f, task, nil)
	if err != nil {
		return 0, 0, err
	}
	v := d.prices.program.Returns()
	for k := range rows {
		broken = max(broken, rows[k].value(v)-rows[k].Offset)
	}
	if task.Cost != nil {
		objective = task.Cost.Value(v)
	}
	return objective, broken, nil
}

// Binomial is what successes are drawn by.
var Binomial = binomial

// ShareOut is how agents that begin in known states are shared between policies.
var ShareOut = shareOut

// Budgets says which limits of a task are budgets.
func Budgets(f *Fleet, task cmdp.Task) (budgets []bool, err error) {
	rows, err := f.rowsOf(task)
	for _, r := range rows {
		budgets = append(budgets, r.budget)
	}
	return budgets, err
}
