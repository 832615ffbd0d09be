package exact

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// optimize is the second phase, see columnGenerationLoop. A target that is only touched may turn out
// to be missed by a little when it is known better. No mixture meets all tangents
// then, and the first phase judges once more; if it still finds no proof that
// the target is out of reach, the target is eased within the tolerance.
func (s *columnGeneration) optimize() (Verdict, error) {
	const turns = 5
	for range turns {
		err := s.columnGenerationLoop()
		if errors.Is(err, errNoBound) {
			return Unbounded, nil
		}
		if !errors.Is(err, errNoPoint) {
			return Optimal, err
		}
		if err := s.master.startPhase1(); err != nil {
			return 0, err
		}
		s.leastEasing = 0.5 * s.opts.Feasibility
		if verdict, err := s.findFeasible(); err != nil || verdict != Optimal {
			return verdict, err
		}
	}
	return Undecided, nil
}

// columnGenerationLoop refines the model of cost and target around the mixture and asks for the
// best policy at its multipliers. It stops when the bound from that policy meets
// the cost of the incumbent.
func (s *columnGeneration) columnGenerationLoop() error {
	if s.ascentMultipliers != nil {
		if _, err := s.priceMultipliers([]float64{1}, s.ascentMultipliers); err != nil {
			return err
		}
		s.ascentMultipliers = nil
	}
	fine := false // the model of cost and target is as fine as the tolerance asks
	for s.iterations < s.opts.Iterations {
		if err := s.refine(s.modelTolerance(fine)); err != nil {
			return err
		}
		added, err := s.priceStabilized()
		if err != nil {
			return err
		}
		if s.early != nil {
			s.early()
		}
		if s.gap() <= s.tolerance(s.opts.Gap) || fine && !added {
			return nil
		}
		fine = !added
	}
	return nil
}

// priceStabilized asks for the policy that the multipliers of the master price best and keeps the lower bound that
// this gives if it is the best so far. The multipliers jump about in the beginning, so half-way points to those
// of the best bound are tried first (Wentges 1997); where these find nothing new, the multipliers themselves
// do, or the master is solved. With a single price there is nothing to jump about, and the value iterations of
// a tally are dear: the multipliers themselves then take half as many. So they do for a RollingPlanner, which begins
// near the best ones.
func (s *columnGeneration) priceStabilized() (added bool, err error) {
	mu, nu := s.master.mu, s.master.nu
	if s.bound.proof != nil && s.penalties == nil && !(s.traits.expensive && len(s.rows) == 1) {
		if added, err := s.priceMultipliers(s.stabilized(s.bound.mu, mu), s.stabilized(s.bound.nu, nu)); added ||
			err != nil {
			return added, err
		}
		if s.gap() <= s.tolerance(s.opts.Gap) {
			return false, nil
		}
	}
	return s.priceMultipliers(mu, nu)
}

// stabilized returns the multipliers half-way from best to now, which has the newer rows.
func (s *columnGeneration) stabilized(best, now []float64) []float64 {
	share := smoothing
	if len(s.master.blocks) > 1 {
		share = smoothingOfSums
	}
	out := scaled(1-share, now)
	floats.AddScaled(out[:len(best)], share, best)
	return out
}

// smoothing is the share of the best multipliers. On random models with two binding
// constraints it saves a quarter of the value iterations.
const smoothing = 0.5

// smoothingOfSums is that share where the best multipliers come from an ascent, see dualAscent, and are far better
// than those of the master.
const smoothingOfSums = 0.8

// priceMultipliers is priceStabilized for given multipliers.
func (s *columnGeneration) priceMultipliers(mu, nu []float64) (added bool, err error) {
	phi, conjugate := s.master.phi(mu)
	nu = s.withoutCancelling(phi, nu)
	psi, support := s.master.psi(nu)
	theta := append([]float64(nil), phi...)
	floats.AddScaled(theta, 1, psi)
	p, added, err := s.price(theta, 0.1*s.gap())
	if err != nil || p.ray != nil && added {
		return added, err
	}
	if p.ray != nil {
		return s.perturbMultipliers(mu, nu, append(p.cancellingGains, p.returns))
	}
	if math.IsInf(p.margin, 1) && !added && !s.perturbing {
		return s.perturbMultipliers(mu, nu, p.cancellingGains)
	}
	proof := &Proof{Psi: psi, Support: support, Value: p.value}
	for i, y := range mu {
		if y > 0 {
			c := s.master.cuts[i]
			proof.Points, proof.Subgradients = append(proof.Points, c.point), append(proof.Subgradients, c.slope)
			proof.Values, proof.Weights = append(proof.Values, c.value), append(proof.Weights, y)
		}
	}
	for k, y := range nu {
		if y > 0 {
			proof.Rows, proof.Prices = append(proof.Rows, s.master.rows[k].Constraint), append(proof.Prices, y)
		}
	}
	proof.slack = s.supportMargin(nu, phi) + proof.conjugateError()
	proof.Margin = p.margin + proof.slack
	proof.Bound = p.value - conjugate - support - proof.Margin
	if s.bound.proof != nil && s.bound.proof.Bound >= proof.Bound {
		return added, nil
	}
	s.bound.proof, s.bound.mu, s.bound.nu = proof, append([]float64(nil), mu...), append([]float64(nil), nu...)
	return added, nil
}

// withoutCancelling returns multipliers at which the entries of φ + ψ that cancel out up to rounding are 0, where a row
// of one return can make them so. A loop that returns it on either side would pay otherwise.
func (s *columnGeneration) withoutCancelling(phi, nu []float64) []float64 {
	out, changed := nu, false
	for i := range phi {
		for range 3 {
			sum, size, at := phi[i], math.Abs(phi[i]), -1
			for k, y := range out {
				if n := s.master.rows[k].Normal; y != 0 && n[i] != 0 {
					sum += y * n[i]
					size += math.Abs(y * n[i])
					if _, x := singleEntry(n); x != 0 && (at < 0 || y > out[at]) {
						at = k
					}
				}
			}
			if sum == 0 || at < 0 || !(math.Abs(sum) <= 1e-13*size) {
				break
			}
			if !changed {
				out, changed = slices.Clone(nu), true
			}
			out[at] = math.Max(0, out[at]-sum/s.master.rows[at].Normal[i])
		}
	}
	return out
}

// perturbMultipliers is priceMultipliers for multipliers at which the returns of some loops cancel out up to rounding:
// it changes them a little, until all of the loops cost something.
func (s *columnGeneration) perturbMultipliers(mu, nu []float64, gains [][]float64) (added bool, err error) {
	if s.perturbing {
		return false, nil
	}
	s.perturbing = true
	defer func() { s.perturbing = false }()
	for raise := leastPerturbation; raise < mostPerturbation; raise *= 10 {
		before := s.bound.proof
		added, err = s.priceMultipliers(mu, s.perturbed(nu, gains, raise))
		if added || err != nil || s.bound.proof != before {
			return added, err
		}
	}
	return false, nil
}

// By how much multipliers are changed so that loops cost something, relative to them.
const leastPerturbation, mostPerturbation = 1e-13, 1e-6

// perturbed returns multipliers that are a little larger for rows that loops of the given gains break, and for
// rays of the master that do the same, and a little smaller for those that they help to keep.
func (s *columnGeneration) perturbed(nu []float64, gains [][]float64, raise float64) []float64 {
	out := slices.Clone(nu)
	for k, y := range nu {
		up, down := false, false
		for _, g := range gains {
			x := floats.Dot(s.master.rows[k].Normal, g)
			up, down = up || x > 0, down || x < 0
		}
		if up && !down {
			out[k] = y * (1 + raise)
		}
		if down && !up {
			out[k] = y * (1 - raise)
		}
	}
	return out
}

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
		if s.traits.nearOneDiscount {
			small = 1e-8
		}
		tol += math.Min(math.Max(2*s.bound.proof.Margin, 1e-13*s.master.extent),
			small*(s.master.extent+math.Abs(s.incumbent.cost)))
	}
	return math.Max(tol, s.absoluteGap)
}

// magnitude is what the gap is measured by: the largest of the cost of the
// incumbent and of the spread of the costs of the policies found.
func (s *columnGeneration) magnitude() float64 {
	all := s.costRange
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
