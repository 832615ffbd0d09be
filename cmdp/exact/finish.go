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

// finish turns the incumbent into one policy and computes both sides of the answer
// from scratch: the objective by evaluating the policy, the bound by an independent
// value iteration.
func (s *solver) finish() (*Result, error) {
	r, err := s.reached()
	if err != nil {
		return nil, err
	}
	return s.concluded(r)
}

// concluded adds to returns and their cost all that is known of them.
func (s *solver) concluded(r *Result) (*Result, error) {
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
	if s.task.Cost != nil && !(r.Gap <= s.tolerance(s.enough)) || !s.meets(r) {
		r.Status = Undecided
	}
	return r, nil
}

// reached returns the policy of the incumbent with its returns and the objective, and no bound.
func (s *solver) reached() (*Result, error) {
	before := s.watch.enter("recovery")
	defer s.watch.enter(before)
	if err := s.concentrate(); err != nil && !errors.Is(err, errBudget) {
		return nil, err
	}
	r := &Result{Status: Optimal, Bound: math.Inf(-1), Tolerance: 2 * s.missing, Joined: s.joined}
	if err := s.recoverPolicy(r); err != nil {
		return nil, err
	}
	if s.task.Cost != nil {
		r.Objective = s.costOf(r.Returns)
	}
	return r, nil
}

// concentrate looks for another mixture that meets the target where there is no cost and the policies of the
// incumbent differ in so many states that one policy of them takes long to find. Deeper inside the target one of
// those that are found on the way may do alone.
func (s *solver) concentrate() error {
	const few, most, deep = 3, 12, 1e-6
	columns, _, rays, _ := s.mixture()
	if s.task.Cost != nil || !s.complete || s.stay || len(rays) > 0 || s.traits.apart == nil ||
		s.traits.apart(columns) == near {
		return nil
	}
	if err := s.master.first(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if j := slices.IndexFunc(s.master.columns, s.meetsAlone); j >= 0 {
			s.incumbent = s.at(axis(len(s.master.columns), j, 1))
			return nil
		}
		if err := s.master.solve(); err != nil {
			return err
		}
		if s.master.u > 0 {
			return nil
		}
		s.remember()
		mixed, weights, rays, _ := s.mixture()
		if n == most || len(rays) > 0 {
			return nil
		}
		distance := s.traits.apart(mixed)
		if distance == near || distance == apart && n == few {
			return nil
		}
		added, err := false, error(nil)
		if s.master.u < -deep && (distance == apart || n%2 == 0) {
			added, err = s.splice(mixed, weights)
		}
		if distance == farApart && !added && err == nil {
			psi, _ := s.master.psi(s.master.nu)
			_, added, err = s.price(psi, 0)
		}
		if err != nil || !added {
			return err
		}
	}
}

// splice adds a policy that does as the first of two in some states, and as the second in the rest.
func (s *solver) splice(columns []column, weights []float64) (added bool, err error) {
	if len(columns) != 2 {
		return false, nil
	}
	c, err := s.traits.splice(s.ctx, columns, weights)
	if c == nil || err != nil {
		return false, err
	}
	return s.master.addColumn(*c)
}

// meetsAlone reports whether a policy meets the half-spaces of the target.
func (s *solver) meetsAlone(c column) bool {
	return c.ray == nil && !slices.ContainsFunc(s.master.rows,
		func(r targetRow) bool { return r.excess(c.returns) > 0 })
}

// violation returns the distance of v from the target, or a bound of it if the parts of
// the target show that it is within the tolerance: projections that iterate are slow and
// not as exact.
func (s *solver) violation(v []float64) float64 {
	v = s.counted(v)
	if parts, ok := s.task.Target.(geometry.Separator); ok {
		if way := s.wayIn(parts, v); way <= 2*s.missing {
			return way
		}
	}
	return oracle.Distance(s.task.Target, v)
}

// meets reports whether the returns meet the target within the stated tolerance.
func (s *solver) meets(r *Result) bool {
	d := s.demand()
	return d.met(r.Returns, r.Violation)
}

// demand returns what the target asks for.
func (s *solver) demand() demand {
	return demand{s.master.rows[:len(s.rows):len(s.rows)], s.complete, s.opts.Feasibility, 2 * s.missing,
		s.master.extent}
}

// A demand is what a target asks of returns, and how exactly.
type demand struct {
	rows        []targetRow
	complete    bool    // they are all of the target
	feasibility float64 // by how much a row may be missed, in its own measure
	distance    float64 // by how much any other target may be
	extent      float64 // of the cost
}

// met reports whether returns at a distance from the target meet it: each known half-space in its own measure,
// any other target by the distance.
func (d *demand) met(v []float64, distance float64) bool {
	for _, t := range d.rows {
		excess := dot(t.Normal, v) - t.Offset
		if !(excess <= 2*d.feasibility*t.elastic+8*unit*math.Abs(t.Offset)) {
			return false
		}
	}
	return d.complete || distance <= d.distance
}

// recoverPolicy sets policy and returns from the incumbent, with as few policies in
// the mixture as Carathéodory's theorem allows.
func (s *solver) recoverPolicy(r *Result) error {
	kept, share, rays, steps := s.mixture()
	var err error
	if s.traits.rays != nil {
		return s.recoverTotal(r, s.traits.rays, kept, share, rays, steps)
	}
	face := s.face()
	for again := true; again; {
		r.Policy, err = s.pricer.combine(s.ctx, kept, share, face, s.spare())
		if err != nil {
			return err
		}
		r.Returns, err = s.pricer.evaluate(s.ctx, r.Policy)
		if err != nil {
			return err
		}
		// With a discount near 1 values are so large that their differences, which randomisation is taken out
		// by, may be rounding.
		again = !face.mixed && !s.preserved(r.Returns)
		face.mixed = true
	}
	r.Randomized = r.Policy.Randomized()
	if p := s.traits.classes; p != nil {
		r.Branches, err = p.branches(s.ctx, r.Policy)
		if err != nil {
			return err
		}
	}
	if len(r.Policy.components) > 0 {
		r.Policy, r.Components = nil, r.Policy.components
	}
	if r.Policy != nil && r.Policy.parts != nil {
		r.Policy, r.Parts = nil, r.Policy.parts
	}
	return nil
}

// preserved reports whether returns are as good as those of the incumbent.
func (s *solver) preserved(v []float64) bool {
	d := s.demand()
	return d.met(v, 0) && (s.task.Cost == nil || s.task.Cost.Value(v) <= s.incumbent.cost+s.tolerance(s.enough))
}

// noSteps is the weight of a ray that is only rounding: a ray of the weight 1 changes the returns by what they
// vary about.
const noSteps = 1e-13

// spare is by how much the cost may grow while the policy is put together.
func (s *solver) spare() float64 {
	if s.task.Cost == nil {
		return math.Inf(1)
	}
	return 0.25 * s.tolerance(s.enough)
}

// face returns what the policy must preserve of the returns of the incumbent: with a
// linear cost and a polyhedral target the half-spaces that bind, else everything.
func (s *solver) face() face {
	f := face{cost: make([]float64, len(s.lower))}
	if s.complete && (s.affine || s.task.Cost == nil) && !s.stay {
		if s.affine {
			s.task.Cost.Subgradient(f.cost, f.cost)
		}
		for _, t := range s.master.rows {
			slack := t.Offset - floats.Dot(t.Normal, s.incumbent.v)
			if slack <= s.opts.Feasibility*t.elastic {
				f.keep = append(f.keep, t)
				continue
			}
			t.Offset = slack
			f.limits = append(f.limits, t)
		}
		return f
	}
	for i := range f.cost {
		n := axis(len(f.cost), i, 1)
		f.keep = append(f.keep, targetRow{Constraint: cmdp.Constraint{Normal: n}, elastic: s.master.measure(n)})
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
	before := s.watch.enter("certification")
	defer s.watch.enter(before)
	p := *s.proof
	theta, conjugate := p.direction()
	value, margin, err := s.source.recheck(s.ctx, theta)
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
