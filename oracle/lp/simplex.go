package lp

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Tolerances on scaled numbers. A bound may be violated by
// feasibility·|bound| + noise·(largest variable), or + doubt once refined; a reduced cost counts as zero below
// optimality·(|c| + Σ|yᵢaᵢ|), its own rounding scale, plus noise·(largest cost).
const (
	feasibility = 1e-10
	optimality  = 1e-12
	noise       = 1e-14
	dust        = 1e-20 // takes the place of noise once values have been refined
	epsilon     = 1. / (1 << 52)
)

// mostLeeway is the most by which noise and doubt are multiplied where rounding leads from phase two back to phase
// one. Each time doubles them: among vertices that lie about as far apart as bounds may be overstepped, or as entries
// move that are too small for a pivot, the two phases would take turns for ever. From cautious on every step is made
// from refined numbers. What the check of an answer lets pass grows up to provenLeeway only.
const (
	mostLeeway   = 1 << 24
	cautious     = 1 << 3
	provenLeeway = 1 << 10
)

// Solve implements Solver. If that fails from the last basis it tries once more from
// the first one.
func (s *simplex) Solve(dst *Solution) error {
	if s.attempt(dst) == nil {
		return nil
	}
	s.startBasis()
	err := s.attempt(dst)
	if err != nil {
		s.startBasis()
	}
	return err
}

// attempt solves from the basis at hand.
func (s *simplex) attempt(dst *Solution) error {
	limit := 5000 + 100*(len(s.head)+len(s.cost))
	s.stalled = 0
	s.phaseTwo, s.leeway = false, 1
	if !s.exact {
		if err := s.refinePrimal(); err != nil {
			return err
		}
	}
	for iteration := range limit {
		done, err := s.iterate(dst)
		if err != nil {
			return err
		}
		if done {
			dst.Iterations = iteration
			return s.check(dst)
		}
	}
	return fmt.Errorf("lp: no convergence in %d iterations: %w", limit, ErrNumerical)
}

// check certifies dst, allowing what doubt allowed on the way to it.
func (s *simplex) check(dst *Solution) error {
	extra := s.alpha
	clear(extra)
	leeway := math.Min(s.leeway, provenLeeway)
	for k, v := range s.head {
		if v < 0 {
			extra[^v] += leeway * s.doubt[k]
			continue
		}
		for t, i := range s.index[v] {
			extra[i] += math.Abs(s.value[v][t]) * leeway * s.doubt[k]
		}
	}
	return s.certify(dst, s.rhs, s.rhsLow, extra, embeddedTolerance)
}

// iterate makes one step of the simplex method and says whether it has filled dst.
// No conclusion is drawn from numbers that have not been refined.
func (s *simplex) iterate(dst *Solution) (done bool, err error) {
	if s.sincePivot >= refactorEvery {
		return false, s.restore()
	}
	if s.leeway >= cautious && !s.exact {
		return false, s.refinePrimal()
	}
	phaseOne := s.setCosts()
	if phaseOne && s.phaseTwo {
		s.leeway = math.Min(2*s.leeway, mostLeeway)
	}
	s.phaseTwo = !phaseOne
	s.multipliers()
	q, d := s.price(phaseOne, noise)
	if d == 0 {
		if !s.exact {
			return false, s.refinePrimal()
		}
		s.refineMultipliers()
		q, d = s.price(phaseOne, dust)
	}
	if d == 0 {
		s.extract(dst, phaseOne)
		return true, nil
	}
	s.solveColumn(s.alpha, q)
	st := s.ratio(q, d, phaseOne)
	switch unlimited := math.IsInf(st.length, 1); {
	case unlimited && s.exact && !phaseOne:
		s.extractRay(dst, q, d)
		return true, nil
	case unlimited && s.exact && s.sincePivot == 0:
		return false, fmt.Errorf("lp: infeasibility falls without limit: %w", ErrNumerical)
	// a small pivot of an inverse that was updated
	case unlimited, st.leave >= 0 && s.sincePivot > 0 && math.Abs(s.alpha[st.leave]) < 1e-7:
		return false, s.restore()
	}
	s.move(q, d, st)
	return false, nil
}

// restore computes the inverse and the basic variables afresh.
func (s *simplex) restore() error {
	s.refactor()
	return s.refinePrimal()
}

// setCosts sets costB to the costs of the basic variables, or to the slopes of
// their infeasibilities if one of them is outside its bounds, and says which.
func (s *simplex) setCosts() (phaseOne bool) {
	for k, v := range s.head {
		lower, upper := s.bounds(v)
		s.costB[k] = 0
		if x := s.xB[k]; x < lower-s.slack(k, lower) {
			s.costB[k], phaseOne = -1, true
		} else if x > upper+s.slack(k, upper) {
			s.costB[k], phaseOne = 1, true
		}
	}
	if phaseOne {
		return true
	}
	for k, v := range s.head {
		if v >= 0 {
			s.costB[k] = s.cost[v]
		}
	}
	return false
}

// slack returns by how much the variable at position k may violate bound.
func (s *simplex) slack(k int, bound float64) float64 {
	switch {
	case math.IsInf(bound, 0):
		return 0
	case s.exact:
		return feasibility*math.Abs(bound) + s.leeway*s.doubt[k]
	}
	return feasibility*math.Abs(bound) + s.leeway*noise*s.magnitude
}

// price returns the nonbasic variable whose reduced cost promises most, and that reduced cost; zero if none
// does. Dantzig's rule on scaled numbers, or where there are many columns Devex; after a stall Bland's rule,
// the first variable that promises anything, which cannot cycle.
func (s *simplex) price(phaseOne bool, noise float64) (q int, d float64) {
	floor := noise * floats.Norm(s.costB, math.Inf(1))
	bland := s.bland()
	if !bland && len(s.cost) >= s.many {
		return s.priceDevex(phaseOne, floor)
	}
	for j, c := range s.cost {
		if s.col.pos[j] >= 0 || s.col.lower[j] == s.col.upper[j] {
			continue
		}
		if phaseOne {
			c = 0
		}
		value, size := s.value[j], math.Abs(c)
		for t, i := range s.index[j] {
			p := value[t] * s.y[i]
			c -= p
			size += math.Abs(p)
		}
		if math.Abs(c) > math.Abs(d) && math.Abs(c) > optimality*size+floor && s.col.improves(j, c) {
			q, d = j, c
			if bland {
				return q, d
			}
		}
	}
	for i, y := range s.y {
		if s.row.pos[i] < 0 && math.Abs(y) > math.Abs(d) && math.Abs(y) > floor &&
			s.row.lower[i] != s.row.upper[i] && s.row.improves(i, y) {
			q, d = ^i, y
			if bland {
				return q, d
			}
		}
	}
	return q, d
}

// bland says whether to fall back on Bland's rule: after more steps of length
// zero in a row than a basis that is merely degenerate needs.
func (s *simplex) bland() bool { return s.stalled > s.patience+len(s.head) }

// improves says whether moving nonbasic variable i off its bound, in the
// direction that lowers the objective, is possible.
func (v *variables) improves(i int, d float64) bool {
	if d < 0 {
		return v.x[i] < v.upper[i]
	}
	return v.x[i] > v.lower[i]
}
