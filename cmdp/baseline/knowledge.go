package baseline

import (
	"context"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// KnowledgeOf computes from the model what some algorithms have to be told: the
// policy with the most room to its tightest constraint, its returns, and that room
// as the Slater constant. A null policy it does not know. Learners never see the
// model itself. The result is empty if the task has no linear form or no
// constraints, or if no policy keeps all of them strictly.
func KnowledgeOf(ctx context.Context, m *cmdp.Model, task cmdp.Task) (Knowledge, error) {
	linear, err := LinearForm(m.Shape(), task)
	if err != nil || len(linear.Rows) == 0 {
		return Knowledge{}, nil
	}
	lower, upper := m.Shape().Totals()
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		return Knowledge{}, err
	}
	worst, err := worstExcess(linear.Rows, box)
	if err != nil {
		return Knowledge{}, err
	}
	r, err := exact.Solve(ctx, m, cmdp.Task{Cost: worst}, exact.Options{Gap: 1e-7})
	if err != nil {
		return Knowledge{}, fmt.Errorf("baseline: roomiest policy: %w", err)
	}
	if r.Policy == nil {
		return Knowledge{}, nil
	}
	room := math.Inf(1)
	for _, row := range linear.Rows {
		room = min(room, row.Offset-floats.Dot(row.Normal, r.Returns))
	}
	if room <= 0 {
		return Knowledge{}, nil
	}
	return Knowledge{Slater: room, Safe: r.Policy, SafeReturns: r.Returns}, nil
}
