package lp

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// extract fills dst at the end of a phase: optimal, or infeasible if phase one
// could not remove the infeasibilities. Rounding errors that the tolerances let
// pass are taken out, so that signs and bounds hold exactly.
func (s *simplex) extract(dst *Solution, infeasible bool) {
	m, n := len(s.head), len(s.cost)
	dropDust(s.y, floats.Norm(s.y, math.Inf(1)))
	if infeasible {
		dst.Status, dst.Objective = Infeasible, math.Inf(1)
		dst.X, dst.Duals, dst.ReducedCosts = dst.X[:0], dst.Duals[:0], dst.ReducedCosts[:0]
		dst.Ray = resize(dst.Ray, m)
		for i := range dst.Ray {
			dst.Ray[i] = s.dual(i) * s.row.scale[i]
		}
		normalise(dst.Ray)
		return
	}
	dst.Status, dst.Ray = Optimal, dst.Ray[:0]
	s.point(dst)
	dst.Duals = resize(dst.Duals, m)
	for i := range dst.Duals {
		dst.Duals[i] = s.dual(i) * s.row.scale[i]
	}
	dst.ReducedCosts = resize(dst.ReducedCosts, n)
	for j, c := range s.cost {
		high, low := c, 0.0
		for t, i := range s.index[j] {
			high, low = addProduct(high, low, -s.value[j][t], s.y[i])
		}
		d := high + low
		if s.col.pos[j] >= 0 || s.col.lower[j] != s.col.upper[j] && s.col.improves(j, d) {
			d = 0
		}
		dst.ReducedCosts[j] = d / s.col.scale[j]
	}
}

// dual returns y of row i, scaled, without what rounding left of a zero.
func (s *simplex) dual(i int) float64 {
	y := s.y[i]
	if math.IsInf(s.row.lower[i], -1) && y > 0 || math.IsInf(s.row.upper[i], 1) && y < 0 {
		return 0
	}
	if k := s.row.pos[i]; k >= 0 {
		if s.costB[k] == 0 {
			return 0
		}
	} else if s.row.lower[i] != s.row.upper[i] && s.row.improves(i, y) {
		return 0
	}
	return y
}

// point fills X and the objective.
func (s *simplex) point(dst *Solution) {
	dst.X = resize(dst.X, len(s.cost))
	high, low := 0.0, 0.0
	for j := range dst.X {
		x := s.col.x[j]
		if k := s.col.pos[j]; k >= 0 {
			x = math.Max(s.col.lower[j], math.Min(s.col.upper[j], s.xB[k]))
		}
		high, low = addProduct(high, low, s.cost[j], x)
		dst.X[j] = x * s.col.scale[j]
	}
	dst.Objective = high + low
}

// extractRay fills dst when entering variable q with reduced cost d meets no bound.
func (s *simplex) extractRay(dst *Solution, q int, d float64) {
	s.point(dst)
	dst.Status, dst.Objective = Unbounded, math.Inf(-1)
	dst.Duals, dst.ReducedCosts = dst.Duals[:0], dst.ReducedCosts[:0]
	dst.Ray = resize(dst.Ray, len(s.cost))
	clear(dst.Ray)
	direction, smallest := -math.Copysign(1, d), s.smallestPivot()
	if q >= 0 {
		dst.Ray[q] = direction * s.col.scale[q]
	}
	for k, v := range s.head {
		if v >= 0 && math.Abs(s.alpha[k]) > smallest {
			dst.Ray[v] = -direction * s.alpha[k] * s.col.scale[v]
		}
	}
	normalise(dst.Ray)
}

// normalise divides x by its largest absolute value.
func normalise(x []float64) {
	if size := floats.Norm(x, math.Inf(1)); size > 0 && !math.IsInf(size, 1) {
		for i := range x {
			x[i] /= size
		}
	}
}
