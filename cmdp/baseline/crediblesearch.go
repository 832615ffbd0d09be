package baseline

import (
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// try plans with limits that are tightened by t standard deviations; nil if the mean model has
// no policy that keeps them.
func (p *crediblePlanner) try(t float64) (*tried, error) {
	task := cmdp.Task{Cost: p.task.Cost, Target: p.task.Target}
	if t > 0 {
		var err error
		rows := slices.Clone(p.rows)
		for i := range rows {
			rows[i].Offset -= t * p.scale[i]
		}
		task.Target, err = boxWithin(rows, p.box)
		if errors.Is(err, geometry.ErrEmpty) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	r, err := p.solve(task)
	if err != nil || r == nil {
		return nil, err
	}
	return p.judge(r, t), nil
}

// solve plans on the mean model; nil if the target is out of reach.
func (p *crediblePlanner) solve(task cmdp.Task) (*exact.Result, error) {
	r, err := p.planner.Solve(p.ctx, task, exact.Options{Gap: 1e-8})
	if err != nil {
		return nil, err
	}
	p.calls += r.Iterations
	if r.Status == exact.Infeasible {
		return nil, nil
	}
	return r, nil
}

// judge counts the models where a policy keeps its limits. The best policy has the least
// cost among those that keep them often enough. If there is none, it is the one that
// keeps them most often.
func (p *crediblePlanner) judge(r *exact.Result, t float64) *tried {
	x := &tried{policy: r.Policy, returns: r.Returns, tight: t}
	if p.task.Cost != nil {
		x.cost = p.task.Cost.Value(r.Returns)
	}
	v, old := make([]float64, len(r.Returns)), p.tried
	for i, m := range p.drawn {
		if most := x.keeps + len(p.drawn) - i; old != nil && most < p.enough && most <= old.keeps {
			break // it can no longer be the best
		}
		cmdp.NewEvaluator(m).Returns(v, x.policy)
		if p.kept(v) {
			x.keeps++
		}
	}
	switch {
	case old == nil, x.keeps >= p.enough && old.keeps < p.enough:
		p.tried = x
	case x.keeps >= p.enough && x.cost < old.cost, old.keeps < p.enough && x.keeps > old.keeps,
		p.task.Cost == nil && x.keeps > old.keeps:
		p.tried = x
	}
	return x
}

// kept reports whether returns keep all limits.
func (p *crediblePlanner) kept(v []float64) bool {
	for i, r := range p.rows {
		if floats.Dot(r.Normal, v) > r.Offset+1e-9*p.sides[i] {
			return false
		}
	}
	return true
}

// measure sets the scale of the limits to their standard deviations under a policy. A single model has none, and then
// the scale is how much they may vary.
func (p *crediblePlanner) measure(policy cmdp.Policy) {
	values := make([][]float64, len(p.rows))
	v := make([]float64, p.box.Dim())
	for _, m := range p.drawn {
		cmdp.NewEvaluator(m).Returns(v, policy)
		for i, r := range p.rows {
			values[i] = append(values[i], floats.Dot(r.Normal, v))
		}
	}
	p.scale = make([]float64, len(p.rows))
	if len(p.drawn) < 2 {
		copy(p.scale, p.sides)
		return
	}
	for i := range values {
		p.scale[i] = max(stat.StdDev(values[i], nil), 1e-6*p.sides[i])
	}
}

// roomiest returns the policy that keeps all limits by as many standard deviations as
// possible, and their number.
func (p *crediblePlanner) roomiest() (*tried, error) {
	rows := slices.Clone(p.rows)
	for i := range rows {
		rows[i].Normal = slices.Clone(rows[i].Normal)
		floats.Scale(1/p.scale[i], rows[i].Normal)
		rows[i].Offset /= p.scale[i]
	}
	worst, err := worstExcess(rows, p.box)
	if err != nil {
		return nil, err
	}
	r, err := p.solve(cmdp.Task{Cost: worst})
	if err != nil {
		return nil, err
	}
	return p.judge(r, -worst.Value(r.Returns)), nil
}

// tighten looks for the least tightening with which the policy keeps its limits often
// enough. Standard deviations are those of the policy found before, at first of the
// best policy of the mean model.
func (p *crediblePlanner) tighten() error {
	const passes, halvings, parts = 2, 8, 8
	for range passes {
		if p.tried != nil {
			p.measure(p.tried.policy)
		} else {
			p.scale = slices.Clone(p.sides)
		}
		roomiest, err := p.roomiest()
		if err != nil || p.task.Cost == nil {
			return err
		}
		// What keeps its limits in enough models may be anywhere below.
		low, high := 0.0, math.NaN()
		for i := 1; i <= parts && math.IsNaN(high) && roomiest.tight > 0; i++ {
			t := roomiest.tight * math.Pow(2, float64(i-parts))
			if x, err := p.try(t); err != nil {
				return err
			} else if x == nil {
				break
			} else if x.keeps >= p.enough {
				high = t
			} else {
				low = t
			}
		}
		for range halvings {
			if math.IsNaN(high) || high-low < 1e-2*high {
				break
			}
			t := (low + high) / 2
			if x, err := p.try(t); err != nil {
				return err
			} else if x != nil && x.keeps >= p.enough {
				high = t
			} else {
				low = t
			}
		}
	}
	return nil
}
