package exact

import (
	"cmdpsolve/cmdp"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A recovery makes one policy of the mixture that column generation ends with, or a draw between several at the
// start where one will not do.
type recovery struct {
	*columnGeneration
	pricer      pricer
	keepReturns bool    // the policy is to have the returns of the incumbent, whatever the target asks for
	joined      *Joined // classes of the incumbent
	rounded     *Policy // one policy of the incumbent, nil if none was made yet
}

// recoverIncumbent sets policy and returns from the incumbent, with as few policies in
// the mixture as Carathéodory's theorem allows.
func (s *recovery) recoverIncumbent(r *Result) error {
	kept, share, rays, steps := s.incumbentMixture()
	var err error
	if s.traits.rays != nil {
		return (&rayRecovery{s, s.traits.rays}).recover(r, kept, share, rays, steps)
	}
	face := s.bindingFace()
	for again := true; again; {
		switch {
		case len(rays) > 0:
			r.Policy, err = s.traits.classes.recoverAlong(s.ctx, kept, share, rays, steps)
		case s.rounded != nil:
			r.Policy, s.rounded = s.rounded, nil
		default:
			r.Policy, err = s.pricer.recoverPolicy(s.ctx, kept, share, face, s.costAllowance())
		}
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

// incumbentMixture returns the mixture of the incumbent, with as few policies as Carathéodory's theorem allows. The
// weights of rays are steps.
func (s *recovery) incumbentMixture() (columns []column, weights []float64, rays []column, steps []float64) {
	var points [][]float64
	var kept, links []column
	var share, linked []float64
	for j, x := range s.incumbent.lambda {
		c := s.master.columns[j]
		switch {
		case !(x > 0):
		case c.ray != nil:
			if x > negligibleRay {
				rays, steps = append(rays, c), append(steps, x)
			}
		case c.link != nil:
			links, linked = append(links, c), append(linked, x)
		default:
			points, kept, share = append(points, c.returns), append(kept, c), append(share, x)
		}
	}
	rest := floats.Sum(share)
	if links == nil {
		rest = 1
	}
	for _, block := range byBlock(kept, len(s.master.blocks)) {
		of, held := make([][]float64, len(block)), make([]float64, len(block))
		for i, j := range block {
			of[i], held[i] = points[j], share[j]
		}
		for _, i := range caratheodory(of, held, s.master.scale) {
			columns, weights = append(columns, kept[block[i]]), append(weights, rest*held[i])
		}
	}
	return append(columns, links...), append(weights, linked...), rays, steps
}

// byBlock returns the numbers of the columns of each part of a sum.
func byBlock(columns []column, blocks int) [][]int {
	of := make([][]int, blocks)
	for j, c := range columns {
		of[c.block] = append(of[c.block], j)
	}
	return of
}

// bindingFace returns what the policy must preserve of the returns of the incumbent: with a
// linear cost and a polyhedral target the half-spaces that bind, else everything.
func (s *recovery) bindingFace() face {
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

// meets reports whether returns meet the target within the stated tolerance.
func (s *recovery) meets(v []float64) bool {
	d, distance := s.targetTest(), 0.0
	if s.task.Target != nil && !d.complete {
		distance = s.violation(v)
	}
	return d.satisfied(v, distance)
}

// preservesIncumbent reports whether returns are as good as those of the incumbent.
func (s *recovery) preservesIncumbent(v []float64) bool {
	return s.meets(v) && (s.task.Cost == nil ||
		s.costOf(v) <= s.incumbent.cost+s.tolerance(s.acceptedGap))
}

// negligibleRay is the weight of a ray that is only rounding: a ray of the weight 1 changes the returns by what they
// vary about.
const negligibleRay = 1e-13

// seekSparseMixture looks for another mixture that meets the target where there is no cost and the policies of the
// incumbent differ in so many states that one policy of them takes long to find. Deeper inside the target one of
// those that are found on the way may do alone.
func (s *recovery) seekSparseMixture() error {
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
		if distance == expensiveToPurify && len(mixed) > 2 && n == 0 {
			s.rounded, err = s.traits.roundQuickly(s.ctx, mixed, weights, s.bindingFace(), s.costAllowance())
			if s.rounded != nil || err != nil {
				return err
			}
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
func (s *recovery) addCrossover(columns []column, weights []float64) (added bool, err error) {
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
func (s *recovery) meetsTargetAlone(c column) bool {
	return c.ray == nil && !slices.ContainsFunc(s.master.rows,
		func(r targetRow) bool { return r.excess(c.returns) > 0 })
}
