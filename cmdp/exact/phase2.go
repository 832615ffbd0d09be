package exact

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// optimize is the second phase, see improve. A target that is only touched may turn out
// to be missed by a little when it is known better. No mixture meets all tangents
// then, and the first phase judges once more; if it still finds no proof that
// the target is out of reach, the target is eased within the tolerance.
func (s *solver) optimize() (Status, error) {
	const turns = 5
	for range turns {
		err := s.improve()
		if errors.Is(err, errNoBound) {
			return Unbounded, nil
		}
		if !errors.Is(err, errNoPoint) {
			return Optimal, err
		}
		if err := s.master.first(); err != nil {
			return 0, err
		}
		s.ease = 0.5 * s.opts.Feasibility
		if verdict, err := s.findFeasible(); err != nil || verdict != Optimal {
			return verdict, err
		}
	}
	return Undecided, nil
}

// improve refines the model of cost and target around the mixture and asks for the
// best policy at its multipliers. It stops when the bound from that policy meets
// the cost of the incumbent.
func (s *solver) improve() error {
	fine := false // the model of cost and target is as fine as the tolerance asks
	for s.iterations < s.opts.Iterations {
		if err := s.refine(s.allowance(fine)); err != nil {
			return err
		}
		added, err := s.improveBound()
		if err != nil {
			return err
		}
		s.early()
		if s.gap() <= s.tolerance(s.opts.Gap) || fine && !added {
			return nil
		}
		fine = !added
	}
	return nil
}

// early tells of the mixture found so far once its gap is small.
func (s *solver) early() {
	if s.opts.Early == nil || s.gap() > s.tolerance(EarlyGap) {
		return
	}
	r := &Result{Status: Optimal, Returns: slices.Clone(s.incumbent.v), Objective: s.incumbent.cost, Bound: math.Min(s.proof.Bound, s.incumbent.cost),
		Tolerance: 2 * s.missing, Iterations: s.iterations}
	r.Gap = r.Objective - r.Bound
	if s.task.Target != nil {
		r.Violation = s.violation(r.Returns)
	}
	s.fillPrices(r)
	s.opts.Early(r)
	s.opts.Early = nil
}

// improveBound asks for the policy that the multipliers of the master price best and
// keeps the lower bound that this gives if it is the best so far. The multipliers
// jump about in the beginning, so half-way points to those of the best bound are
// tried first (Wentges 1997); where these find nothing new, the multipliers
// themselves do, or the master is solved. With a single price there is nothing to jump about, and the value iterations of
// a tally are dear: the multipliers themselves then take half as many.
func (s *solver) improveBound() (added bool, err error) {
	mu, nu := s.master.mu, s.master.nu
	if _, tally := s.source.(*tallied); s.proof != nil && !(tally && len(s.rows) == 1) {
		if added, err := s.priceAt(s.mixed(s.bestMu, mu), s.mixed(s.bestNu, nu)); added || err != nil {
			return added, err
		}
		if s.gap() <= s.tolerance(s.opts.Gap) {
			return false, nil
		}
	}
	return s.priceAt(mu, nu)
}

// mixed returns the multipliers half-way from best to now, which has the newer rows.
func (s *solver) mixed(best, now []float64) []float64 {
	out := scaled(1-smoothing, now)
	floats.AddScaled(out[:len(best)], smoothing, best)
	return out
}

// smoothing is the share of the best multipliers. On random models with two binding
// constraints it saves a quarter of the value iterations.
const smoothing = 0.5

// priceAt is improveBound for given multipliers.
func (s *solver) priceAt(mu, nu []float64) (added bool, err error) {
	phi, conjugate := s.master.phi(mu)
	psi, support := s.master.psi(nu)
	theta := append([]float64(nil), phi...)
	floats.AddScaled(theta, 1, psi)
	p, added, err := s.price(theta, 0.1*s.gap())
	if err != nil || p.ray != nil && added {
		return added, err
	}
	if p.ray != nil {
		return s.tilt(mu, nu, p.returns)
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
	proof.slack = s.supportMargin(nu) + proof.conjugateError()
	proof.Margin = p.margin + proof.slack
	proof.Bound = p.value - conjugate - support - proof.Margin
	if s.proof != nil && s.proof.Bound >= proof.Bound {
		return added, nil
	}
	s.proof, s.bestMu, s.bestNu = proof, append([]float64(nil), mu...), append([]float64(nil), nu...)
	return added, nil
}

// tilt is priceAt for multipliers that leave a known ray free up to rounding: it raises
// the prices of the rows that the ray breaks a little, until the ray costs something.
func (s *solver) tilt(mu, nu, gain []float64) (added bool, err error) {
	if s.tilted {
		return false, nil
	}
	s.tilted = true
	defer func() { s.tilted = false }()
	for raise := 1e-13; raise < 1e-6; raise *= 10 {
		raised := slices.Clone(nu)
		for k, y := range nu {
			if floats.Dot(s.master.rows[k].Normal, gain) > 0 {
				raised[k] = y * (1 + raise)
			}
		}
		before := s.proof
		if added, err = s.priceAt(mu, raised); added || err != nil || s.proof != before {
			return added, err
		}
	}
	return false, nil
}

// gap is the distance between the incumbent and the best bound.
func (s *solver) gap() float64 {
	if s.proof == nil {
		return math.Inf(1)
	}
	return s.incumbent.cost - s.proof.Bound
}

// tolerance is the absolute gap of a relative one. It is at least the rounding of the bound, as far as
// that is small, and the absolute error of numbers that are too small for relative rounding.
func (s *solver) tolerance(relative float64) float64 {
	tol := relative*s.magnitude() + smallest
	if s.proof != nil {
		tol += math.Min(2*s.proof.Margin, 1e-10*(s.master.extent+math.Abs(s.incumbent.cost)))
	}
	return tol
}

// magnitude is what the gap is measured by: the largest of the cost of the
// incumbent and of the spread of the costs of the policies found.
func (s *solver) magnitude() float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, c := range s.master.columns {
		if c.ray != nil {
			continue
		}
		g := s.task.Cost.Value(c.returns)
		least, most = min(least, g), max(most, g)
	}
	return max(math.Abs(s.incumbent.cost), most-least)
}

// allowance bounds the error of the model of cost and target: a share of the gap
// that more policies may still close. So no tangents are spent on a mixture that
// will move, and no value iterations on a wrong model.
func (s *solver) allowance(fine bool) float64 {
	least := 0.25 * s.opts.Gap * s.magnitude()
	if fine {
		return least
	}
	return max(least, 0.1*s.gap())
}
