package exact

import (
	"context"
	"errors"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// A SlackResult says how far inside a target the returns of a policy can lie.
type SlackResult struct {
	// Radius is that of a ball around Returns that lies in the target, apart from the sides that contain
	// all returns anyway, without the help of others: the Slater ball of erratum E-09. It is at most Bound. For
	// polyhedral targets they are equal; for others, where all sides count, it is a ball of the d returns that can
	// vary, and at least Bound/√d. It is 0 if no policy lies inside, and +Inf if no side counts. Where totals grow
	// without end away from all sides, Bound is +Inf, and Radius that of the policy shown, which may be finite.
	Radius, Bound float64
	Returns       []float64
	Policy        *Policy               // nil if one of several is drawn
	Product       *monitor.ProductModel // of the policy, see [Result]
	Iterations    int
}

// Slack finds the policy whose returns lie deepest in the target of the task. With a Slater ball
// of positive radius r around v, the dual multiplier of any cost g is at most
// (g(v) − min g)/r (erratum E-11).
func (p *Planner) Slack(ctx context.Context, task cmdp.Task, opts Options) (*SlackResult, error) {
	task.Cost = nil // constraints stay: the target has forgotten those that others imply
	var r *SlackResult
	err := p.withSolverOrRays(ctx, task, opts, func(s *solver) (err error) {
		r, err = (&slackSearch{solver: s}).slack()
		return err
	})
	return r, err
}

// A slackSearch looks for the returns deepest inside a target.
type slackSearch struct {
	*solver
	axes []int // of a target that is no polyhedron: the returns in which the ball lies
}

// slack is Slack for the task of s.
func (s *slackSearch) slack() (*SlackResult, error) {
	s.keepReturns = true
	if err := s.dropRedundant(); err != nil {
		return nil, err
	}
	if s.complete && len(s.rows) == 0 || !s.complete && len(s.axes) == 0 {
		return s.slackResult(math.Inf(1))
	}
	// The cross-polytope of half-diagonal u around v lies in {n·x ≤ h} if
	// n·v + u·max|n_i| ≤ h; it contains the ball of radius u/√d. For a polyhedron
	// the ball itself can be asked for.
	s.master.rowScale = func(normal []float64) float64 { return floats.Norm(normal, 2) }
	if !s.complete {
		s.master.rowScale = func(normal []float64) float64 {
			most := 0.0
			for _, i := range s.axes {
				most = math.Max(most, math.Abs(normal[i]))
			}
			return most
		}
	}
	return s.maximizeSlack()
}

// dropRedundant leaves out the rows that hold for all possible returns: a ball may stick
// out of them. Targets are cut with the box of possible returns, which is computed
// elsewhere too. So a row that is missed within the tolerance of a target counts as
// kept. It also finds the returns in which there is room for a ball: a set that is cut
// with the box has none in those that cannot vary.
func (s *slackSearch) dropRedundant() error {
	lower, upper := s.lower, s.upper
	lower, upper = make([]float64, len(lower)), make([]float64, len(upper))
	if err := s.pricing.extent(s.ctx, lower, upper); err != nil {
		return err
	}
	extent, kept := minus(s.upper, s.lower), s.rows[:0:0]
	for _, r := range s.rows {
		if r.Excess(lower, upper) > s.opts.Feasibility*width(r.Normal, extent) {
			kept = append(kept, r)
		}
	}
	s.rows = kept
	if s.complete {
		return nil
	}
	for i := range lower {
		most, least := axis(len(lower), i, 1), axis(len(lower), i, -1)
		flat := oracle.Support(s.task.Target, most)+oracle.Support(s.task.Target, least) <= s.targetTolerance
		if upper[i] > lower[i] || !flat {
			s.axes = append(s.axes, i)
		}
	}
	return nil
}

// maximizeSlack minimises the elasticity u without a bound from below.
func (s *slackSearch) maximizeSlack() (*SlackResult, error) {
	if err := s.master.elasticity(math.Inf(-1), math.Inf(1)); err != nil {
		return nil, err
	}
	if !s.complete {
		for _, i := range s.axes {
			for _, sign := range []float64{1, -1} {
				n := axis(len(s.lower), i, sign)
				if err := s.master.addTarget(cmdp.Constraint{Normal: n,
					Offset: oracle.Support(s.task.Target, n)}); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := s.initialize(); err != nil {
		return nil, err
	}
	least := math.Inf(-1) // certified lower bound of u
	for range 400 {
		err := s.master.solve()
		if errors.Is(err, errNoBound) {
			return s.unboundedSlack()
		}
		if err != nil {
			return nil, err
		}
		cut, err := s.cutCrossPolytope()
		if err != nil {
			return nil, err
		}
		if cut {
			continue
		}
		psi, support := s.master.psi(s.master.nu)
		p, added, err := s.price(psi, 0)
		if err != nil {
			return nil, err
		}
		least = math.Max(least, p.value-support-p.margin-s.master.supportMargin(s.master.nu, nil, s.lower, s.upper))
		if !added || s.iterations >= s.opts.Iterations {
			break
		}
	}
	s.updateIncumbent()
	return s.slackResult(math.Max(0, -least))
}

// unboundedSlack answers where totals grow without end on the inner side of all rows. The policy shown lies
// inside by the size of what the returns vary about, or by more.
func (s *slackSearch) unboundedSlack() (*SlackResult, error) {
	size := 1.0
	if s.targetTolerance > 0 {
		size = s.targetTolerance / s.opts.Feasibility
	}
	if err := s.master.elasticity(-size, math.Inf(1)); err != nil {
		return nil, err
	}
	if err := s.master.solve(); err != nil {
		return nil, err
	}
	s.updateIncumbent()
	return s.slackResult(math.Inf(1))
}

// cutCrossPolytope asks the target for the corners of the cross-polytope around the mixture and
// adds the half-spaces that separate those outside.
func (s *slackSearch) cutCrossPolytope() (cut bool, err error) {
	if s.complete {
		return false, nil
	}
	size := math.Max(0, -s.master.u)
	for _, i := range s.axes {
		for _, sign := range []float64{1, -1} {
			at := append([]float64(nil), s.master.v...)
			at[i] += sign * size
			r, _ := s.separatingHalfspace(at)
			// Tangents converge slowly to the last digits, and a radius does not need
			// them.
			if r == nil || s.master.excess(*r) <= 1e-4*math.Abs(s.master.u) {
				continue
			}
			cut = true
			if err := s.master.addTarget(*r); err != nil {
				return false, err
			}
		}
	}
	return cut, nil
}

// crossPolytope returns the half-diagonal of a cross-polytope around v that lies in the target.
func (s *slackSearch) crossPolytope(v []float64) float64 {
	if len(s.axes) == 0 && s.meets(v) {
		return math.Inf(1)
	}
	inside := func(size float64) bool {
		for _, i := range s.axes {
			for _, sign := range []float64{1, -1} {
				at := append([]float64(nil), v...)
				at[i] += sign * size
				if !geometry.Contains(s.task.Target, at, 1e-3*s.targetTolerance) {
					return false
				}
			}
		}
		return true
	}
	in, out := 0.0, math.Max(0, -s.master.u)
	for range 40 {
		if size := (in + out) / 2; inside(size) {
			in = size
		} else {
			out = size
		}
	}
	return in
}

// slackResult returns the ball around the returns of the incumbent's policy, whatever bound the radius of all has.
func (s *slackSearch) slackResult(bound float64) (*SlackResult, error) {
	if s.incumbent.lambda == nil {
		if err := s.initialize(); err != nil {
			return nil, err
		}
		s.incumbent = s.mixtureAt(s.master.firstMixture())
	}
	r := new(Result)
	if err := s.recoverIncumbent(r); err != nil {
		return nil, err
	}
	room := math.Inf(1) // of the evaluated returns
	for _, row := range s.rows {
		room = math.Min(room, (row.Offset-dot(row.Normal, r.Returns))/floats.Norm(row.Normal, 2))
	}
	radius := math.Max(0, room)
	if !s.complete {
		radius = s.crossPolytope(r.Returns) / math.Sqrt(float64(max(1, len(s.axes))))
	}
	bound = math.Max(bound, radius)
	return &SlackResult{Radius: radius, Bound: bound, Returns: r.Returns, Policy: r.Policy, Product: r.Product,
		Iterations: s.iterations}, nil
}
