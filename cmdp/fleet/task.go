package fleet

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// Box returns a box around what the fleet can return, in its coordinates.
func (p *Planner) Box(ctx context.Context) (*geometry.Box, error) {
	lower, upper, err := p.exact.Extent(ctx)
	if err != nil {
		return nil, err
	}
	return geometry.NewBox(lower, upper)
}

// Task returns the task to minimise a cost about the coordinates of the fleet, nil for none, within limits. It
// is an error, wrapping [geometry.ErrEmpty], if limits contradict each other. Tasks with target sets are made
// by hand.
func (p *Planner) Task(ctx context.Context, goal cost.Cost, limits []Limit) (cmdp.Task, error) {
	box, err := p.Box(ctx)
	if err != nil {
		return cmdp.Task{}, err
	}
	task := cmdp.Task{Cost: goal, Box: box}
	if len(limits) == 0 {
		return task, nil
	}
	d := p.fleet.Dim()
	least, most := slices.Repeat([]float64{math.Inf(-1)}, d), slices.Repeat([]float64{math.Inf(1)}, d)
	for _, l := range limits {
		row, err := p.fleet.Constraint(l)
		if err != nil {
			return cmdp.Task{}, err
		}
		task.Constraints = append(task.Constraints, row)
		i := p.fleet.Coordinate(l.Return, l.Step)
		if l.AtLeast {
			least[i] = math.Max(least[i], l.Bound)
		} else {
			most[i] = math.Min(most[i], l.Bound)
		}
	}
	for i := range d {
		if least[i] > most[i] {
			return cmdp.Task{}, fmt.Errorf("fleet: at least %g and at most %g of coordinate %d: %w", least[i], most[i],
				i, geometry.ErrEmpty)
		}
	}
	asked, err := geometry.NewBox(least, most)
	if err != nil {
		return cmdp.Task{}, err
	}
	err = task.Within(asked, nil)
	return task, err
}

// Maximize returns the cost whose minimum maximises a return of the fleet.
func (p *Planner) Maximize(ctx context.Context, ret int) (cost.Cost, error) {
	if ret < 0 || ret >= len(p.fleet.Returns) {
		return nil, fmt.Errorf("fleet: return %d: there are %d", ret, len(p.fleet.Returns))
	}
	box, err := p.Box(ctx)
	if err != nil {
		return nil, err
	}
	gradient := make([]float64, p.fleet.Dim())
	gradient[ret] = -1
	return cost.NewLinear(gradient, box)
}
