//go:build cgo && glpk

package lp

import (
	"math"

	"github.com/lukpank/go-glpk/glpk"

	"gonum.org/v1/gonum/floats"
)

// glpkDust makes dropDust drop what is below 1e-15 of the largest entry, which is
// what GLPK leaves of zeros because it does not refine.
const glpkDust = 1e5

// glpkTolerances let pass what GLPK lets pass, glpkTolerance times the largest variable and
// the largest cost.
var glpkTolerances = tolerance{relative: 1e-6, primalFloor: 1e-3, dualFloor: 1e-3}

// read fills dst from GLPK's last solve, and says whether there was an answer.
func (s *glpkSolver) read(dst *Solution) bool {
	switch s.prob.Status() {
	case glpk.OPT:
		s.readOptimum(dst)
		return true
	case glpk.NOFEAS:
		return s.readFarkas(dst)
	case glpk.UNBND:
		return s.readRecession(dst)
	}
	return false
}

// readOptimum fills dst with an optimum. Reduced costs follow from the duals;
// what the tolerances let pass against the sign conventions is taken out.
func (s *glpkSolver) readOptimum(dst *Solution) {
	m, n := len(s.row.x), len(s.cost)
	dst.Status, dst.Ray = Optimal, dst.Ray[:0]
	dst.X, dst.Duals, dst.ReducedCosts = resize(dst.X, n), resize(dst.Duals, m), resize(dst.ReducedCosts, n)
	readOptimum(s.prob, dst.Duals, dst.X)
	dropDust(dst.Duals, floats.Norm(dst.Duals, math.Inf(1))*glpkDust)
	for i := range dst.Duals {
		dst.Duals[i] /= s.costFactor
		dst.Duals[i] = s.row.allowed(i, dst.Duals[i])
	}
	for j, c := range s.cost {
		for t, i := range s.index[j] {
			c -= s.value[j][t] * dst.Duals[i]
		}
		dst.X[j] = s.inside(j, dst.X[j])
		x, lower, upper := dst.X[j]/s.col.scale[j], s.col.lower[j], s.col.upper[j]
		if lower < upper && (x > lower || c < 0) && (x < upper || c > 0) {
			c = 0
		}
		dst.ReducedCosts[j] = s.col.allowed(j, c) / s.col.scale[j]
	}
	s.finish(dst)
}

// finish computes the objective at X and unscales the duals.
func (s *glpkSolver) finish(dst *Solution) {
	high, low := 0.0, 0.0
	for j, c := range s.cost {
		high, low = addProduct(high, low, c, dst.X[j]/s.col.scale[j])
	}
	dst.Objective = high + low
	for i := range dst.Duals {
		dst.Duals[i] *= s.row.scale[i]
	}
}

// readFarkas fills dst with the Farkas ray that phase one left, and says whether it
// left one.
func (s *glpkSolver) readFarkas(dst *Solution) bool {
	y := make([]float64, len(s.row.x)+1)
	if !readFarkas(s.prob, y) {
		return false
	}
	y = y[1:]
	dropDust(y, floats.Norm(y, math.Inf(1))*glpkDust)
	dst.Status, dst.Objective = Infeasible, math.Inf(1)
	dst.X, dst.Duals, dst.ReducedCosts = dst.X[:0], dst.Duals[:0], dst.ReducedCosts[:0]
	dst.Ray = resize(dst.Ray, len(y))
	for i := range dst.Ray {
		dst.Ray[i] = s.row.allowed(i, y[i]) * s.row.scale[i]
	}
	normalise(dst.Ray)
	return true
}

// readRecession fills dst with a feasible point and a direction of recession, and
// says whether GLPK left one.
func (s *glpkSolver) readRecession(dst *Solution) bool {
	n := len(s.cost)
	dst.Ray, dst.X, dst.Duals = resize(dst.Ray, n), resize(dst.X, n), resize(dst.Duals, len(s.row.x))
	clear(dst.Ray)
	if !readRecession(s.prob, dst.Ray) {
		return false
	}
	dropDust(dst.Ray, floats.Norm(dst.Ray, math.Inf(1))*glpkDust)
	readOptimum(s.prob, dst.Duals, dst.X)
	for j := range dst.X {
		dst.X[j] = s.inside(j, dst.X[j])
		dst.Ray[j] *= s.col.scale[j]
	}
	normalise(dst.Ray)
	dst.Status, dst.Objective = Unbounded, math.Inf(-1)
	dst.Duals, dst.ReducedCosts = dst.Duals[:0], dst.ReducedCosts[:0]
	return true
}

// inside returns GLPK's value x of column j, unscaled and within its bounds.
func (s *glpkSolver) inside(j int, x float64) float64 {
	return math.Max(s.col.lower[j], math.Min(s.col.upper[j], x/s.boundFactor)) * s.col.scale[j]
}
