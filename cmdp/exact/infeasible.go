package exact

import (
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// infeasibleResult reports the direction that separates the target, and the policy nearest
// to the target, whose distance is minimised with the columns at hand.
func (s *solver) infeasibleResult() (*Result, error) {
	if s.task.Whole != nil {
		if r, err := s.certifyWhole(); r != nil || err != nil {
			return r, err
		}
	}
	best := s.farkas.certificate
	nearest, err := s.minimizeDistance(s.task.Target)
	if err != nil {
		return nil, err
	}
	if nearest.bound.proof != nil {
		// The bound of the distance problem is attained by a direction of its own, which may
		// be better by more than rounding.
		theta, _ := nearest.bound.proof.direction()
		if c, err := s.certify(theta); err != nil {
			return nil, err
		} else if c != nil && c.Value-c.Support-c.Margin > best.Value-best.Support+best.Margin {
			best = c
		}
	}
	r, err := nearest.nearestResult()
	if err != nil {
		return nil, err
	}
	best.Distance = s.task.Violation(s.finiteReturns(r.Returns))
	return s.infeasibleWith(best, r), nil
}

// nearestResult returns the nearest returns with their policy, or without one where none is asked for. Where
// totals need not end, returns are those of one policy in any case: only its evaluation tells which of them end.
func (s *solver) nearestResult() (*Result, error) {
	r := &Result{Status: Optimal, Returns: slices.Clone(s.incumbent.v), Objective: s.incumbent.cost}
	if !s.opts.NoNearest || s.traits.relevanceOnly {
		var err error
		r, err = s.recoveredResult()
		if err != nil {
			return nil, err
		}
	}
	r.Iterations = s.iterations
	return r, nil
}

// certifyWhole is infeasibleResult for the set that the target was cut from: the direction
// from the point of it that is nearest to the nearest returns. The answer is nil if that
// proves nothing.
func (s *solver) certifyWhole() (*Result, error) {
	whole := s.task.Whole
	_, box := whole.(*geometry.Box)
	if box { // what possible returns miss of a box they miss of the part that was cut from it
		whole = s.task.Target
	}
	nearest, err := s.minimizeDistance(whole)
	if err != nil {
		return nil, err
	}
	r, err := nearest.nearestResult()
	if err != nil {
		return nil, err
	}
	near := make([]float64, len(s.lower))
	reached := s.finiteReturns(r.Returns)
	s.task.Whole.Project(near, reached)
	dir := minus(reached, near)
	c := &Certificate{Distance: floats.Norm(dir, 2), Whole: true}
	if c.Distance == 0 {
		return nil, nil
	}
	c.Direction = scaled(1/c.Distance, dir)
	value, margin, err := s.pricing.recheck(s.ctx, c.Direction)
	if err != nil {
		return nil, err
	}
	c.Value, c.Support = value, floats.Dot(c.Direction, near) // which the projection maximises
	size := floats.Norm(near, 2)
	if box { // no coordinate is rounded to the size of another
		size = 0
		for i, x := range near {
			size += math.Abs(c.Direction[i] * x)
		}
	}
	c.Margin = margin + float64(2*len(dir)+8)*roundoff*size
	// Verifiers know the part: rounding of the direction, times a far corner, may be more than what is missing.
	part := separation{value: value, margin: margin}
	part.support, part.slack = oracle.Support(s.task.Target, c.Direction), supportError(s.task.Target, c.Direction)
	if !part.proves() || part.check(c, margin) != nil {
		return nil, nil
	}
	return s.infeasibleWith(c, r), nil
}

// infeasibleWith is the answer "infeasible" with the nearest returns found.
func (s *solver) infeasibleWith(best *Certificate, r *Result) *Result {
	if s.traits.improper != nil {
		improper, err := s.traits.improper(s.ctx)
		best.Finite = improper || err != nil // when time is over it stays open, and less is said
	}
	best.Without = s.relevance.leftOut()
	best.Rows, best.Weights = s.farkasRows()
	out := &Result{
		Status: Infeasible, Bound: math.Inf(1), Certificate: best,
		Returns: r.Returns, Policy: r.Policy, Mixture: r.Mixture, Parts: r.Parts, Product: r.Product,
		Randomized: r.Randomized,
		Violation:  best.Distance, Tolerance: 2 * s.targetTolerance,
		Iterations: s.iterations + r.Iterations,
		Dual:       make([]float64, len(s.lower)),
	}
	out.Prices = unpriced(s.rows)
	if s.task.Cost != nil {
		out.Objective = s.costOf(r.Returns)
	}
	return out
}

// unpriced returns prices of 0.
func unpriced(rows []cmdp.Constraint) (prices []Price) {
	for _, row := range rows {
		prices = append(prices, Price{Constraint: row})
	}
	return prices
}

// farkasRows returns the half-spaces whose weighted sum is the refuting direction.
func (s *solver) farkasRows() (rows []cmdp.Constraint, weights []float64) {
	for k, y := range s.farkas.nu {
		if y > 0 {
			rows, weights = append(rows, s.master.rows[k].Constraint), append(weights, y)
		}
	}
	return rows, weights
}

// proves reports whether the certificate holds whatever is lost to rounding.
func (c *Certificate) proves() bool { return c != nil && c.Value-c.Support > c.Margin }

// certify evaluates a direction, made a unit vector, from scratch, unless that was done before and proves what is asked
// now; nil stands for none.
func (s *columnGeneration) certify(dir []float64) (*Certificate, error) {
	length := floats.Norm(dir, 2)
	if length == 0 {
		return nil, nil
	}
	before := s.phases.enter("certification")
	defer s.phases.enter(before)
	unit := scaled(1/length, dir)
	if known := s.bounds.rechecked(unit); known != nil { // maybe in less time
		if c := s.certificateOf(*known); c.proves() {
			return c, nil
		}
	}
	value, margin, err := s.pricing.recheck(s.ctx, unit)
	if err != nil {
		return nil, err
	}
	found := supportBound{dir: unit, value: value, margin: margin, rechecked: true}
	s.bounds.keep(found)
	return s.certificateOf(found), nil
}

// certificateOf returns what a bound in a unit direction says of the target.
func (s *columnGeneration) certificateOf(b supportBound) *Certificate {
	return &Certificate{Direction: slices.Clone(b.dir), Value: b.value,
		Support: oracle.Support(s.task.Target, b.dir), Margin: b.margin + supportError(s.task.Target, b.dir)}
}

// supportError bounds the rounding error of θ·w at the answer w of the target, and
// allows as much again for the answer itself. Where that is computed, as is the centre of a
// ball plus its radius, its error is relative to the extent of the target, however small w
// may be. Corners of what is given by rows are taken for as exact as they are small.
func supportError(target geometry.Compact, dir []float64) float64 {
	w, extreme := make([]float64, len(dir)), make([]float64, len(dir))
	target.MaximizeLinear(w, dir)
	p, ok := target.(geometry.Polyhedral)
	if ok {
		_, ok = p.Rows()
	}
	sum := 0.0
	for i, x := range w {
		size := math.Abs(x)
		for _, sign := range []float64{1, -1} {
			if !ok {
				target.MaximizeLinear(extreme, axis(len(dir), i, sign))
				size = math.Max(size, math.Abs(extreme[i]))
			}
		}
		sum += size * math.Abs(dir[i])
	}
	return float64(2*len(dir)+8) * roundoff * sum
}
