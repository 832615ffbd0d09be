package exact

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// A DistanceResult bounds the Euclidean distance of the set of all expected returns
// from a target, which for one agent is its approachability gap δ.
type DistanceResult struct {
	// Lower ≤ distance ≤ Upper. Upper is the distance of Returns. Both are 0 if the
	// target is met within Tolerance, which follows from Options.Feasibility; Lower is 0
	// if nothing was proved.
	Lower, Upper, Tolerance float64
	// Direction is the unit vector θ with V*(θ) − h_W(θ) ≥ Lower, nil if Lower is 0.
	Direction []float64
	// Support is h_W(θ) for the Direction θ. If Whole is true W is Task.Whole, and so
	// in the bounds.
	Support float64
	Whole   bool
	// Finite says that V* is that of policies whose totals are finite, as that of a [Certificate].
	Finite bool
	// Returns and Policy are of a policy nearest to the target. Product is that of the policy, see [Result].
	Returns    []float64
	Policy     *Policy
	Product    *monitor.ProductModel
	Iterations int
}

// Distance returns how far the returns of all policies of the model stay from the target of the task.
func (p *Planner) Distance(ctx context.Context, task cmdp.Task, opts Options) (*DistanceResult, error) {
	if task.Target == nil {
		return nil, errors.New("exact: distance: no target")
	}
	task = cmdp.Task{Target: task.Target, Whole: task.Whole, Box: task.Box}
	r, err := p.Solve(ctx, task, opts)
	if err != nil {
		return nil, err
	}
	out := &DistanceResult{Returns: r.Returns, Policy: r.Policy, Product: r.Product, Upper: r.Violation,
		Tolerance: r.Tolerance, Iterations: r.Iterations}
	switch r.Status {
	case Optimal:
		out.Upper = 0
	case Infeasible:
		c := r.Certificate
		out.Lower, out.Direction = math.Max(0, math.Min(c.Value-c.Support-c.Margin, out.Upper)), c.Direction
		out.Support, out.Whole, out.Finite = c.Support, c.Whole, c.Finite
	}
	return out, nil
}

// projectedSet is a set as a Compact, for callers that only ask for its distance.
type projectedSet struct {
	geometry.Set
	cut geometry.Compact
}

func (p projectedSet) MaximizeLinear(dst, dir []float64) { p.cut.MaximizeLinear(dst, dir) }

// A cylinder is a set that is as wide as can be along the axes of some returns, those that matter to nothing. What its
// set has there are bounds of possible returns, and a policy that misses these is no farther from what is wanted.
type cylinder struct {
	geometry.Compact
	axes []int
}

func (c cylinder) Project(dst, x []float64) {
	c.Compact.Project(dst, x)
	for _, i := range c.axes {
		dst[i] = x[i]
	}
}

// minimizeDistance minimises the distance from a set over all policies, starting from the
// columns of s.
func (s *solver) minimizeDistance(set geometry.Set) (*solver, error) {
	compact, ok := set.(geometry.Compact)
	if !ok {
		compact = projectedSet{set, s.task.Target}
	}
	if axes := s.relevance.irrelevant(); axes != nil {
		compact = cylinder{compact, axes}
	}
	distance, err := cost.NewDistance(compact)
	if err != nil {
		return nil, fmt.Errorf("exact: %w", err)
	}
	opts := s.opts
	opts.Progress, opts.Early, opts.cutoff, opts.Gap = nil, nil, nil, 1e-9
	nearest, err := newProgram(s.ctx, s.pricer, cmdp.Task{Cost: distance, Box: s.task.Box}, opts)
	if err != nil {
		return nil, err
	}
	n, err := newSolver(s.ctx, s.pricer, nearest)
	if err != nil {
		return nil, err
	}
	n.phases, n.budget, n.priced, n.bounds = s.phases, s.budget, s.priced, s.bounds
	n.newPricer = func() error {
		err := s.newPricer()
		n.pricer, n.pricing, n.traits = s.pricer, s.pricing, s.traits
		return err
	}
	for _, c := range s.master.columns {
		if _, err := n.master.addColumn(c); err != nil {
			return nil, err
		}
	}
	if err := n.master.addCut(n.tangent(n.master.firstReturns())); err != nil {
		return nil, err
	}
	if _, err := n.phase1(); err != nil {
		return nil, err
	}
	_, err = n.phase2()
	return n, err
}
