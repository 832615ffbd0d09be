package exact

import (
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

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

// farkasPricing asks for the policy that goes farthest in the direction where the
// mixture misses the target. If even that one misses it, by more than rounding
// explains and as an independent value iteration confirms, the direction refutes
// the task.
func (s *columnGeneration) farkasPricing() (added bool, err error) {
	p, added, err := s.farkasPricingAt(s.master.nu)
	if err != nil || added || s.farkas.certificate != nil || p.ray == nil && !math.IsInf(p.margin, 1) {
		return added, err
	}
	level := p.cancellingGains
	if p.ray != nil {
		level = append(level, p.returns)
	}
	for raise := leastPerturbation; raise < mostPerturbation && !added && s.farkas.certificate == nil &&
		err == nil; raise *= 10 {
		_, added, err = s.farkasPricingAt(s.master.perturbed(s.master.nu, level, raise))
	}
	return added, err
}

// farkasPricingAt is farkasPricing for given multipliers of the rows.
func (s *columnGeneration) farkasPricingAt(nu []float64) (p pricedPolicy, added bool, err error) {
	nu = s.master.withoutCancelling(make([]float64, len(s.lower)), nu)
	psi, support := s.master.psi(nu)
	p, added, err = s.price(psi, 0.1*s.master.u)
	if err != nil {
		return p, false, err
	}
	if p.value-support > p.margin+s.master.supportMargin(nu, nil, s.lower, s.upper) {
		if s.traits.uncertified {
			s.farkas.certificate, s.farkas.nu = &Certificate{Direction: psi, Support: support, Value: p.value}, nu
			return p, added, nil
		}
		c, err := s.certify(psi)
		if err != nil {
			return p, false, err
		}
		if c.proves() {
			s.farkas.certificate, s.farkas.nu = c, slices.Clone(nu)
		}
	}
	return p, added, nil
}
