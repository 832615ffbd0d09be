package exact

import (
	"context"
	"errors"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// A DeterministicPoint is a point of the trade-off curve of policies that never draw.
type DeterministicPoint struct {
	// Objectives holds c_k·V, Returns V itself.
	Objectives, Returns []float64
	Policy              *Policy
}

// DeterministicFront returns the trade-off of two costs over Markov policies that never draw and whose returns lie in
// the target of task: the points y = (c_1·V, c_2·V) that none of these policies improves in both coordinates. They are
// in ascending order of the first. The curve is not convex. Each point takes two searches: the least c_1·V with c_2·V
// less than at the last point (the ε-constraint method, Haimes 1971), then the least c_2·V there. Points whose
// coordinates differ by less than a millionth of the box of task count as one.
//
// The status is Optimal with all points, Infeasible if there are none, Unbounded, without points, if a cost has no
// least value, and Undecided if some search took more than opts.Nodes. With Stopped the time of Options.Budget was
// over, or ctx ended: the points are those of the curve up to the last one, and beyond it, with a smaller c_2·V, there
// may be others. Without a point the end of ctx is an error.
func DeterministicFront(ctx context.Context, m *cmdp.Model, task cmdp.Task, over [2][]float64,
	opts DeterministicOptions) (points []DeterministicPoint, status Verdict, err error) {
	if task.Box == nil {
		return nil, 0, errors.New("exact: a front of policies that never draw needs the box of the task")
	}
	opts.known = new([]DeterministicPoint)
	if opts.Budget > 0 {
		within, cancel := context.WithTimeout(ctx, opts.Budget)
		defer cancel()
		opts.Budget = 0
		points, status, err = deterministicFront(within, m, task, over, opts)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return nil, Stopped, nil
		}
		return points, status, err
	}
	return deterministicFront(ctx, m, task, over, opts)
}

func deterministicFront(ctx context.Context, m *cmdp.Model, task cmdp.Task, over [2][]float64,
	opts DeterministicOptions) (points []DeterministicPoint, status Verdict, err error) {
	limit := [2]float64{math.Inf(1), math.Inf(1)}
	status = Optimal
	for {
		var at DeterministicPoint
		var step [2]float64
		within := limit
		for k := range over {
			r, err := epsilonConstraint(ctx, m, task, over, within, k, opts)
			switch {
			case ctx.Err() != nil && len(points) > 0:
				if status == Optimal {
					status = Stopped
				}
				return points, status, nil
			case err != nil:
				return nil, 0, err
			case ctx.Err() != nil:
				return nil, 0, ctx.Err()
			case r != nil && r.Status == Unbounded:
				return nil, Unbounded, nil
			case r != nil && r.Status != Infeasible && r.Policy == nil:
				return points, Undecided, nil
			case r == nil || r.Status == Infeasible:
				if len(points) == 0 && status == Optimal {
					status = Infeasible
				}
				return points, status, nil
			case r.Status != Optimal:
				status = Undecided
			}
			step = frontResolution(task.Box, over, r.Returns)
			at = DeterministicPoint{[]float64{dot(over[0], r.Returns), dot(over[1], r.Returns)}, r.Returns, r.Policy}
			within[k] = at.Objectives[k] + 1e-3*step[k]
		}
		// all that is left is rounding
		if n := len(points); n > 0 && !(at.Objectives[1] < points[n-1].Objectives[1]-0.5*step[1]) {
			return points, status, nil
		}
		points = append(points, at)
		if opts.Each != nil {
			opts.Each(at)
		}
		limit[1] = at.Objectives[1] - step[1]
	}
}

// frontResolution returns by how much points of a front differ at least: a millionth of what the costs vary over the
// box, where that is bounded and more than rounding, else of the size of returns v.
func frontResolution(box *geometry.Box, over [2][]float64, v []float64) (step [2]float64) {
	lower, upper := box.Lower(), box.Upper()
	for k, c := range over {
		for i, x := range c {
			side, size := upper[i]-lower[i], math.Max(math.Abs(lower[i]), math.Abs(upper[i]))
			if size >= Boundless || side <= 1e-9*size {
				side = 1
				if isFinite(v[i]) {
					side = math.Max(side, math.Abs(v[i]))
				}
			}
			step[k] += 1e-6 * math.Abs(x) * side
		}
	}
	return step
}

// epsilonConstraint searches for the least c_k·V with both below limits. It returns nil if limits and target have
// no point in common.
func epsilonConstraint(ctx context.Context, m *cmdp.Model, task cmdp.Task, over [2][]float64, limit [2]float64, k int,
	opts DeterministicOptions) (*DeterministicResult, error) {
	least, err := cost.NewLinear(over[k], task.Box)
	if err != nil {
		return nil, err
	}
	task.Cost = least
	var sets []geometry.Set
	if task.Whole != nil {
		sets = append(sets, task.Whole)
	} else if task.Target != nil {
		sets = append(sets, task.Target)
	}
	task.Constraints = append([]cmdp.Constraint(nil), task.Constraints...)
	for i, x := range limit {
		if math.IsInf(x, 1) {
			continue
		}
		h, err := geometry.NewHalfspace(over[i], x)
		if err != nil {
			return nil, err
		}
		sets = append(sets, h)
		task.Constraints = append(task.Constraints, cmdp.Constraint{Normal: over[i], Offset: x})
	}
	if len(sets) > 0 {
		whole, err := geometry.NewIntersection(sets...)
		if err == nil {
			err = task.Within(nil, whole)
		}
		if errors.Is(err, geometry.ErrEmpty) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return SolveDeterministic(ctx, m, task, opts)
}
