package exact

import (
	"errors"
	"math"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// finalResult turns the incumbent into one policy and computes both sides of the answer
// from scratch: the objective by evaluating the policy, the bound by an independent
// value iteration.
func (s *solver) finalResult() (*Result, error) {
	r, err := s.recoveredResult()
	if err != nil {
		return nil, err
	}
	return s.withBounds(r)
}

// withBounds adds to returns and their cost all that is known of them.
func (s *solver) withBounds(r *Result) (*Result, error) {
	if s.task.Target != nil {
		r.Violation = s.violation(r.Returns)
	}
	if s.task.Cost == nil {
		r.Bound = 0
	} else if err := s.recheckBound(r); err != nil {
		return nil, err
	}
	r.Gap = math.Max(0, r.Objective-r.Bound)
	if !isFinite(r.Objective) {
		r.Gap = math.Inf(1)
	}
	s.fillPrices(r)
	r.Iterations = s.iterations
	if s.task.Cost != nil && !(r.Gap <= s.tolerance(s.acceptedGap)) || !s.meets(r) {
		r.Status = Undecided
	}
	return r, nil
}

// recoveredResult returns the policy of the incumbent with its returns and the objective, and no bound.
func (s *solver) recoveredResult() (*Result, error) {
	before := s.stopwatch.enter("recovery")
	defer s.stopwatch.enter(before)
	if err := s.seekSparseMixture(); err != nil && !errors.Is(err, errBudget) {
		return nil, err
	}
	r := &Result{Status: Optimal, Bound: math.Inf(-1), Tolerance: 2 * s.targetTolerance, Joined: s.joined}
	if err := s.recoverIncumbent(r); err != nil {
		return nil, err
	}
	if s.task.Cost != nil {
		r.Objective = s.costOf(r.Returns)
	}
	return r, nil
}

// seekSparseMixture looks for another mixture that meets the target where there is no cost and the policies of the
// incumbent differ in so many states that one policy of them takes long to find. Deeper inside the target one of
// those that are found on the way may do alone.
func (s *solver) seekSparseMixture() error {
	const few, most, deep = 3, 12, 1e-6
	columns, _, rays, _ := s.incumbentMixture()
	if s.task.Cost != nil || !s.complete || s.keepReturns || len(rays) > 0 || s.traits.purificationCost == nil ||
		s.traits.purificationCost(columns) == cheapToPurify {
		return nil
	}
	if err := s.master.startPhase1(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if j := slices.IndexFunc(s.master.columns, s.meetsTargetAlone); j >= 0 {
			s.incumbent = s.mixtureAt(axis(len(s.master.columns), j, 1))
			return nil
		}
		if err := s.master.solve(); err != nil {
			return err
		}
		if s.master.u > 0 {
			return nil
		}
		s.updateIncumbent()
		mixed, weights, rays, _ := s.incumbentMixture()
		if n == most || len(rays) > 0 {
			return nil
		}
		distance := s.traits.purificationCost(mixed)
		if distance == cheapToPurify || distance == moderateToPurify && n == few {
			return nil
		}
		added, err := false, error(nil)
		if s.master.u < -deep && (distance == moderateToPurify || n%2 == 0) {
			added, err = s.addCrossover(mixed, weights)
		}
		if distance == expensiveToPurify && !added && err == nil {
			psi, _ := s.master.psi(s.master.nu)
			_, added, err = s.price(psi, 0)
		}
		if err != nil || !added {
			return err
		}
	}
}

// addCrossover adds a policy that does as the first of two in some states, and as the second in the rest.
func (s *solver) addCrossover(columns []column, weights []float64) (added bool, err error) {
	if len(columns) != 2 {
		return false, nil
	}
	c, err := s.traits.crossover(s.ctx, columns, weights)
	if c == nil || err != nil {
		return false, err
	}
	return s.master.addColumn(*c)
}

// meetsTargetAlone reports whether a policy meets the half-spaces of the target.
func (s *solver) meetsTargetAlone(c column) bool {
	return c.ray == nil && !slices.ContainsFunc(s.master.rows,
		func(r targetRow) bool { return r.excess(c.returns) > 0 })
}

// violation returns the distance of v from the target, or a bound of it if the parts of
// the target show that it is within the tolerance: projections that iterate are slow and
// not as exact.
func (s *solver) violation(v []float64) float64 {
	v = s.finiteReturns(v)
	if parts, ok := s.task.Target.(geometry.Separator); ok {
		if way := s.distanceFromAnchor(parts, v); way <= 2*s.targetTolerance {
			return way
		}
	}
	return oracle.Distance(s.task.Target, v)
}

// meets reports whether the returns meet the target within the stated tolerance.
func (s *solver) meets(r *Result) bool {
	d := s.targetTest()
	return d.satisfied(r.Returns, r.Violation)
}

// targetTest returns what the target asks for.
func (s *solver) targetTest() targetTest {
	return targetTest{s.master.rows[:len(s.rows):len(s.rows)], s.complete, s.opts.Feasibility, 2 * s.targetTolerance,
		s.master.extent}
}

// A targetTest is what a target asks of returns, and how exactly.
type targetTest struct {
	rows        []targetRow
	complete    bool    // they are all of the target
	feasibility float64 // by how much a row may be missed, in its own measure
	tolerance   float64 // by how much any other target may be
	extent      float64 // of the cost
}

// satisfied reports whether returns at a distance from the target meet it: each known half-space in its own measure,
// any other target by the distance.
func (d *targetTest) satisfied(v []float64, distance float64) bool {
	for _, t := range d.rows {
		excess := dot(t.Normal, v) - t.Offset
		if !(excess <= 2*d.feasibility*t.scale+8*roundoff*math.Abs(t.Offset)) {
			return false
		}
	}
	return d.complete || distance <= d.tolerance
}

// recoverIncumbent sets policy and returns from the incumbent, with as few policies in
// the mixture as Carathéodory's theorem allows.
func (s *solver) recoverIncumbent(r *Result) error {
	kept, share, rays, steps := s.incumbentMixture()
	var err error
	if s.traits.rays != nil {
		return s.recoverTotalPolicy(r, s.traits.rays, kept, share, rays, steps)
	}
	face := s.bindingFace()
	for again := true; again; {
		r.Policy, err = s.pricer.recoverPolicy(s.ctx, kept, share, face, s.costAllowance())
		if err != nil {
			return err
		}
		r.Returns, err = s.pricer.evaluate(s.ctx, r.Policy)
		if err != nil {
			return err
		}
		// With a discount near 1 values are so large that their differences, which randomisation is taken out
		// by, may be rounding.
		again = !face.keepsRandomization && !s.preservesIncumbent(r.Returns)
		face.keepsRandomization = true
	}
	r.Randomized = r.Policy.Randomized()
	if p := s.traits.classes; p != nil {
		r.Branches, err = p.branches(s.ctx, r.Policy)
		if err != nil {
			return err
		}
	}
	if len(r.Policy.mixture) > 0 {
		r.Policy, r.Mixture = nil, r.Policy.mixture
	}
	if r.Policy != nil && r.Policy.parts != nil {
		r.Policy, r.Parts = nil, r.Policy.parts
	}
	return nil
}

// preservesIncumbent reports whether returns are as good as those of the incumbent.
func (s *solver) preservesIncumbent(v []float64) bool {
	d := s.targetTest()
	return d.satisfied(v, 0) && (s.task.Cost == nil ||
		s.task.Cost.Value(v) <= s.incumbent.cost+s.tolerance(s.acceptedGap))
}

// negligibleRay is the weight of a ray that is only rounding: a ray of the weight 1 changes the returns by what they
// vary about.
const negligibleRay = 1e-13

// costAllowance is by how much the cost may grow while the policy is put together.
func (s *solver) costAllowance() float64 {
	if s.task.Cost == nil {
		return math.Inf(1)
	}
	return 0.25 * s.tolerance(s.acceptedGap)
}

// bindingFace returns what the policy must preserve of the returns of the incumbent: with a
// linear cost and a polyhedral target the half-spaces that bind, else everything.
func (s *solver) bindingFace() face {
	f := face{cost: make([]float64, len(s.lower))}
	if s.complete && (s.affine || s.task.Cost == nil) && !s.keepReturns {
		if s.affine {
			s.task.Cost.Subgradient(f.cost, f.cost)
		}
		for _, t := range s.master.rows {
			slack := t.Offset - floats.Dot(t.Normal, s.incumbent.v)
			if slack <= s.opts.Feasibility*t.scale {
				f.equalities = append(f.equalities, t)
				continue
			}
			t.Offset = slack
			f.inequalities = append(f.inequalities, t)
		}
		return f
	}
	for i := range f.cost {
		n := axis(len(f.cost), i, 1)
		f.equalities = append(f.equalities, targetRow{Constraint: cmdp.Constraint{Normal: n},
			scale: s.master.rowScale(n)})
	}
	return f
}

// recheckBound sets the bound from the proof, with V* computed anew. A bound above
// the objective, which rounding and a target met within tolerance can bring about,
// is lowered to it.
func (s *solver) recheckBound(r *Result) error {
	if s.proof == nil {
		return nil
	}
	before := s.stopwatch.enter("certification")
	defer s.stopwatch.enter(before)
	p := *s.proof
	theta, conjugate := p.direction()
	value, margin, err := s.pricing.recheck(s.ctx, theta)
	if err != nil {
		return err
	}
	p.Value, p.Margin = value, margin+p.slack
	p.Bound = p.Value - conjugate - p.Support - p.Margin
	p.Without = s.relevance.leftOut()
	r.Proof, r.Bound = &p, p.Bound
	if isFinite(r.Objective) && s.meets(r) {
		r.Bound = math.Min(p.Bound, r.Objective)
	}
	return nil
}

// direction returns θ = φ + ψ and Σ μ_i (s_i·x_i − g(x_i)).
func (p *Proof) direction() (theta []float64, conjugate float64) {
	theta = append([]float64(nil), p.Psi...)
	for i, w := range p.Weights {
		floats.AddScaled(theta, w, p.Subgradients[i])
		conjugate += w * (floats.Dot(p.Subgradients[i], p.Points[i]) - p.Values[i])
	}
	return theta, conjugate
}

// fillPrices sets the prices from the multipliers of the best bound.
func (s *solver) fillPrices(r *Result) {
	r.Dual = make([]float64, len(s.lower))
	if s.proof != nil {
		copy(r.Dual, s.proof.Psi)
	}
	r.DualNorm = floats.Norm(r.Dual, 2)
	r.Rho = 2 * r.DualNorm
	for k, row := range s.rows {
		p := Price{Constraint: row}
		if s.proof != nil && k < len(s.bestNu) {
			p.Value = s.bestNu[k]
		}
		r.Prices = append(r.Prices, p)
	}
}
