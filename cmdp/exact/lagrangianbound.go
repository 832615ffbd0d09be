package exact

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// priceMultipliers is priceStabilized for given multipliers.
func (s *columnGeneration) priceMultipliers(mu, nu []float64) (added bool, err error) {
	phi, conjugate := s.master.phi(mu)
	nu = s.master.withoutCancelling(phi, nu)
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
	proof.slack = s.master.supportMargin(nu, phi, s.lower, s.upper) + proof.conjugateError()
	proof.Margin = p.margin + proof.slack
	proof.Bound = p.value - conjugate - support - proof.Margin
	if s.bound.proof != nil && s.bound.proof.Bound >= proof.Bound {
		return added, nil
	}
	s.bound.proof, s.bound.mu, s.bound.nu = proof, append([]float64(nil), mu...), append([]float64(nil), nu...)
	return added, nil
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
		added, err = s.priceMultipliers(mu, s.master.perturbed(nu, gains, raise))
		if added || err != nil || s.bound.proof != before {
			return added, err
		}
	}
	return false, nil
}

// By how much multipliers are changed so that loops cost something, relative to them.
const leastPerturbation, mostPerturbation = 1e-13, 1e-6

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

// supportMargin bounds the rounding error of Σ ν_k h_k, and by how much φ + Σ ν_k n_k·v, rounded to (φ+ψ)·v, can
// change at returns v; φ is nil where there is none. An entry that comes from one row, times 1 or −1, is not rounded.
func (m *master) supportMargin(nu, phi, lower, upper []float64) float64 {
	sum := 0.0
	for k, y := range nu {
		sum += y * math.Abs(m.rows[k].Offset)
	}
	for i := range lower {
		size, exact := 0.0, phi == nil || phi[i] == 0
		for k, y := range nu {
			x := m.rows[k].Normal[i]
			if y == 0 || x == 0 {
				continue
			}
			exact = exact && size == 0 && math.Abs(x) == 1
			size += y * math.Abs(x)
		}
		if size > 0 && !exact {
			sum += size * math.Max(math.Abs(lower[i]), math.Abs(upper[i]))
		}
	}
	return float64(len(nu)+4) * roundoff * sum
}

// withoutCancelling returns multipliers at which the entries of φ + ψ that cancel out up to rounding are 0, where a row
// of one return can make them so. A loop that returns it on either side would pay otherwise.
func (m *master) withoutCancelling(phi, nu []float64) []float64 {
	out, changed := nu, false
	for i := range phi {
		for range 3 {
			sum, size, at := phi[i], math.Abs(phi[i]), -1
			for k, y := range out {
				if n := m.rows[k].Normal; y != 0 && n[i] != 0 {
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
			out[at] = math.Max(0, out[at]-sum/m.rows[at].Normal[i])
		}
	}
	return out
}

// perturbed returns multipliers that are a little larger for rows that loops of the given gains break, and for
// rays of the master that do the same, and a little smaller for those that they help to keep.
func (m *master) perturbed(nu []float64, gains [][]float64, raise float64) []float64 {
	out := slices.Clone(nu)
	for k, y := range nu {
		up, down := false, false
		for _, g := range gains {
			x := floats.Dot(m.rows[k].Normal, g)
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
