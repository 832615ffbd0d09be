package exact

import (
	"math"
)

// gap is the distance between the incumbent and the best bound.
func (s *columnGeneration) gap() float64 {
	if s.bound.proof == nil {
		return math.Inf(1)
	}
	return s.incumbent.cost - s.bound.proof.Bound
}

// tolerance is the absolute gap of a relative one. It is at least the rounding of the bound, as far as that is
// small, and the absolute error of numbers that are too small for relative rounding. Where the cost of all
// policies found is 0, the size of what cancels out in it is all that rounding can be measured by. With a discount
// near 1 the prices of limits of size 1/(1−γ) make more of their rounding.
func (s *columnGeneration) tolerance(relative float64) float64 {
	tol := relative*s.magnitude() + leastNormal
	if s.bound.proof != nil {
		small := 1e-10
		if s.traits.magnified != nil {
			small = 1e-8
		}
		rounding := math.Max(1e-13*s.master.extent, s.costRounding())
		tol += math.Min(math.Max(2*s.bound.proof.Margin, rounding),
			small*(s.master.extent+math.Abs(s.incumbent.cost)))
	}
	return math.Max(tol, s.absoluteGap)
}

// costRounding is by how much the cost of the incumbent is unknown, since returns are known to sameReturn of their
// range, and to what a discount near 1 makes of rounding. Where a curved cost is flat that is more than its slope,
// which the extent of the master is made of, says.
func (s *columnGeneration) costRounding() float64 {
	v := s.incumbent.v
	if v == nil {
		return 0
	}
	slope, moved := make([]float64, len(v)), make([]float64, len(v))
	s.task.Cost.Subgradient(slope, v)
	most := 0.0
	for _, sign := range [2]float64{1, -1} {
		for i, x := range v {
			moved[i] = x
			scale := s.master.scale[i]
			if scale >= Boundless {
				continue
			}
			by := sameReturn * scale
			if s.traits.magnified != nil {
				by = math.Max(by, s.traits.magnified[i])
			}
			moved[i] += math.Copysign(by, sign*slope[i])
		}
		if cost := s.task.Cost.Value(moved); isFinite(cost) {
			most = math.Max(most, math.Abs(cost-s.incumbent.cost))
		}
	}
	return most
}

// magnitude is what the gap is measured by: the largest of the cost of the
// incumbent and of the spread of the costs of the incumbent and the policies found. Where policies go round a loop
// there may be but one of these.
func (s *columnGeneration) magnitude() float64 {
	all := s.costRange
	all.add(s.incumbent.cost)
	for _, c := range s.master.columns {
		if c.ray == nil && c.link == nil && len(s.master.blocks) == 1 {
			all.add(s.task.Cost.Value(c.returns))
		}
	}
	return max(math.Abs(s.incumbent.cost), all.most-all.least)
}

// modelTolerance bounds the error of the model of cost and target: a share of the gap
// that more policies may still close. So no tangents are spent on a mixture that
// will move, and no value iterations on a wrong model.
func (s *columnGeneration) modelTolerance(fine bool) float64 {
	least := 0.25 * s.opts.Gap * s.magnitude()
	if fine {
		return least
	}
	return max(least, 0.1*s.gap())
}
