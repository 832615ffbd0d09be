package exact

import (
	"errors"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// refine solves the master, and adds tangents of cost and target until the
// incumbent is within allowance of the optimum over the policies found so far.
//
// Tangents at the solutions of the master alone converge slowly, because these jump
// about. So where a solution misses the target, the way to it from the anchor, a
// mixture well inside, gives a tangent of the target and a point in it, as in the
// supporting hyperplane method (Veinott 1967). The cheapest point between the
// incumbent and that point becomes the incumbent, and gives a tangent of the cost.
func (s *columnGeneration) refine(allowance float64) error {
	rounds := 200
	if math.IsInf(allowance, 1) {
		rounds = 10 // no bound yet: any price is as good as another
	}
	for range rounds {
		if err := s.solveMaster(); err != nil {
			return err
		}
		refined, err := s.supportingHyperplane(s.mixtureAt(s.master.lambda))
		if err != nil {
			return err
		}
		if !refined || s.incumbent.cost-s.master.tau <= allowance {
			return nil
		}
	}
	return nil
}

// solveMaster solves the master. Where the tangents that it knows let the cost fall without limit along rays, it adds
// those at points so far along them that the cost falls no more, or that lie outside of the target, if there are any.
func (s *columnGeneration) solveMaster() (err error) {
	const rounds = 200 // the last digits of a ray may lead to the same tangent for ever
	for range rounds {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		err = s.master.solve()
		if s.affine && s.complete || !errors.Is(err, errNoBound) {
			return err
		}
		end, found := s.endOfRay(s.master.sol.Ray[firstLambda:])
		if !found {
			return err
		}
		s.master.v, s.master.tau = end.v, math.Inf(-1)
		if _, err := s.supportingHyperplane(end); err != nil {
			return err
		}
	}
	return err
}

// farthestOnRay is up to how many steps along a ray a place is sought where the cost falls no more.
const farthestOnRay = 1e15

// endOfRay goes from the incumbent along a ray, with steps that double, to a point where the cost does not fall or
// which lies outside of the target. It reports whether it found one.
func (s *columnGeneration) endOfRay(ray []float64) (end point, found bool) {
	unit := scaled(1/floats.Norm(ray, math.Inf(1)), ray)
	step, slope := s.master.mix(unit), make([]float64, len(s.lower))
	for t := 1.0; t < farthestOnRay; t *= 2 {
		lambda := scaled(t, unit)
		floats.Add(lambda[:len(s.incumbent.lambda)], s.incumbent.lambda)
		end = s.mixtureAt(lambda)
		s.task.Cost.Subgradient(slope, end.v)
		if floats.Dot(slope, step)+s.master.penalty(unit) >= 0 {
			return end, true
		}
		if s.complete {
			continue
		}
		if r, _ := s.separatingHalfspace(end.v); r != nil {
			return end, true
		}
	}
	return end, false
}

// supportingHyperplane moves the incumbent towards the solution of the master, and adds
// tangents at the solution and at the new incumbent. It reports whether it added any
// that the solution violates.
func (s *columnGeneration) supportingHyperplane(solution point) (refined bool, err error) {
	inside, refined, err := s.cutTarget()
	if err != nil {
		return false, err
	}
	end := solution
	if !inside {
		t, err := s.boundaryPoint(solution.v)
		if err != nil {
			return false, err
		}
		end = s.interpolate(s.anchor, solution, t)
	}
	if inside && (s.affine || end.cost <= s.incumbent.cost) {
		s.incumbent = end
	} else if t := s.lineSearch(end); t > 0 {
		s.incumbent = s.interpolate(s.incumbent, end, t)
	}
	if s.affine {
		return refined, nil
	}
	if solution.cost <= s.master.tau+4*roundoff*(math.Abs(solution.cost)+math.Abs(s.master.tau)) {
		return refined, nil
	}
	if err := s.master.addCut(s.tangent(solution.v)); err != nil {
		return false, err
	}
	return true, s.master.addCut(s.tangent(s.incumbent.v))
}

// mixtureAt returns the mixture with the given weights.
func (s *columnGeneration) mixtureAt(lambda []float64) point {
	p := point{lambda: append([]float64(nil), lambda...), v: s.master.mix(lambda)}
	if s.task.Cost != nil {
		p.cost = s.task.Cost.Value(p.v) + s.master.penalty(p.lambda)
	}
	return p
}

// interpolate returns the point at the fraction t of the way from a to b.
func (s *columnGeneration) interpolate(a, b point, t float64) point {
	lambda := make([]float64, max(len(a.lambda), len(b.lambda)))
	floats.AddScaled(lambda[:len(a.lambda)], 1-t, a.lambda)
	floats.AddScaled(lambda[:len(b.lambda)], t, b.lambda)
	return s.mixtureAt(lambda)
}

// boundaryPoint returns the fraction of the way from the anchor to v where it leaves the
// target, and adds the half-space that supports the target there. It is Newton's
// method from outside on the distance along the way, which is convex: each tangent
// half-space is left no earlier than the target.
func (s *columnGeneration) boundaryPoint(v []float64) (float64, error) {
	t, reached := 1.0, false
	var last *cmdp.Constraint
	for range 100 {
		at := interpolated(s.anchor.v, v, t)
		r, beyond := s.separatingHalfspace(at)
		if r == nil {
			reached = !beyond // else no half-space separates it, yet it is outside
			break
		}
		last = r
		inside := r.Offset - floats.Dot(r.Normal, s.anchor.v)
		next := t * inside / (inside + floats.Dot(r.Normal, at) - r.Offset)
		if !(next > 0 && next < t) {
			break
		}
		t = next
	}
	if !reached {
		t = 0
	}
	if last == nil {
		return t, nil
	}
	return t, s.master.addTarget(*last)
}

// lineSearch returns the fraction of the way from the incumbent to end where the
// cost is least. It bisects on the sign of the slope.
func (s *columnGeneration) lineSearch(end point) float64 {
	step := minus(end.v, s.incumbent.v)
	slope := make([]float64, len(step))
	penalties := s.master.penalty(end.lambda) - s.master.penalty(s.incumbent.lambda)
	falling := func(t float64) bool {
		s.task.Cost.Subgradient(slope, interpolated(s.incumbent.v, end.v, t))
		return floats.Dot(slope, step)+penalties < 0
	}
	if falling(1) {
		return 1
	}
	lo, hi := 0.0, 1.0
	for range 40 {
		if t := (lo + hi) / 2; falling(t) {
			lo = t
		} else {
			hi = t
		}
	}
	return lo
}

// cutTarget reports whether the solution of the master lies in the target. If
// not, it adds the half-space that separates them, unless the master knows it
// already; cut reports whether it added one.
func (s *columnGeneration) cutTarget() (inside, cut bool, err error) {
	if s.complete {
		return true, false, nil
	}
	r, beyond := s.separatingHalfspace(s.master.v)
	if r == nil {
		return !beyond, false, nil
	}
	if s.master.excess(*r) <= 1e-13*s.master.rowScale(r.Normal) {
		return false, false, nil
	}
	return false, true, s.master.addTarget(*r)
}

// separatingHalfspace returns a half-space that contains the target and not v, or nil; beyond
// reports whether v misses the target.
func (s *columnGeneration) separatingHalfspace(v []float64) (r *cmdp.Constraint, beyond bool) {
	if parts, ok := s.task.Target.(geometry.Separator); ok {
		r = &cmdp.Constraint{Normal: make([]float64, len(v))}
		var missed float64
		r.Offset, missed = parts.Separate(r.Normal, v)
		if missed > s.targetTolerance && floats.Dot(r.Normal, v)-r.Offset > 0.1*missed {
			return r, true
		}
		if missed <= 0 || s.distanceFromAnchor(parts, v) <= s.targetTolerance {
			return nil, false
		}
	}
	near := make([]float64, len(v))
	s.task.Target.Project(near, v)
	normal := minus(v, near)
	length := floats.Norm(normal, 2)
	if length <= s.targetTolerance {
		return nil, false
	}
	for i := range normal {
		normal[i] /= length
	}
	r = &cmdp.Constraint{Normal: normal, Offset: math.Max(floats.Dot(normal, near),
		oracle.Support(s.task.Target, normal))}
	// A support function that contradicts the projection leaves nothing to cut.
	if floats.Dot(normal, v)-r.Offset <= 0.1*length {
		return nil, true
	}
	return r, true
}

// distanceFromAnchor returns how far the target is from v on the way to the anchor, which is well
// inside where the target has an interior, or +Inf. If several parts of the target are
// missed by little, the distance from all of them together may still be large. This
// bounds it and saves projections that iterate.
func (s *columnGeneration) distanceFromAnchor(parts geometry.Separator, v []float64) float64 {
	if s.anchor.v == nil {
		return math.Inf(1)
	}
	t, normal := 1.0, make([]float64, len(v))
	for range 30 {
		at := interpolated(s.anchor.v, v, t)
		offset, missed := parts.Separate(normal, at)
		if missed <= 0 {
			return (1 - t) * floats.Norm(minus(v, s.anchor.v), 2)
		}
		inside := offset - floats.Dot(normal, s.anchor.v)
		next := t * inside / (inside + math.Max(missed, floats.Dot(normal, at)-offset))
		if !(inside > 0 && next < t) {
			next = t - 4*roundoff
		}
		t = next
		if !(t > 0 && (1-t)*floats.Norm(minus(v, s.anchor.v), 2) <= 2*s.targetTolerance) {
			break
		}
	}
	return math.Inf(1)
}
