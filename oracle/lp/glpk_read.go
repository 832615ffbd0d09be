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
func (o *glpkOwner) read(dst *Solution) bool {
	switch o.prob.Status() {
	case glpk.OPT:
		o.readOptimum(dst)
		return true
	case glpk.NOFEAS:
		return o.readFarkas(dst)
	case glpk.UNBND:
		return o.readRecession(dst)
	}
	return false
}

// readOptimum fills dst with an optimum. Reduced costs follow from the duals;
// what the tolerances let pass against the sign conventions is taken out.
func (o *glpkOwner) readOptimum(dst *Solution) {
	m, n := o.rows, o.columns
	dst.Status, dst.Ray = Optimal, dst.Ray[:0]
	dst.X, dst.Duals, dst.ReducedCosts = resize(dst.X, n), resize(dst.Duals, m), resize(dst.ReducedCosts, n)
	readOptimum(o.prob, dst.Duals, dst.X)
	dropDust(dst.Duals, floats.Norm(dst.Duals, math.Inf(1))*glpkDust)
	for i := range dst.Duals {
		dst.Duals[i] /= o.costFactor
		dst.Duals[i] = o.row.allowed(i, dst.Duals[i])
	}
	for j, c := range o.cost {
		for t, i := range o.index[j] {
			c -= o.value[j][t] * dst.Duals[i]
		}
		dst.X[j] = o.inside(j, dst.X[j])
		if x := dst.X[j] / o.col.scale[j]; x > o.col.lower[j] && x < o.col.upper[j] {
			c = 0
		}
		dst.ReducedCosts[j] = o.col.allowed(j, c) / o.col.scale[j]
	}
	o.finish(dst)
}

// finish computes the objective at X and unscales the duals.
func (o *glpkOwner) finish(dst *Solution) {
	high, low := 0.0, 0.0
	for j, c := range o.cost {
		high, low = addProduct(high, low, c, dst.X[j]/o.col.scale[j])
	}
	dst.Objective = high + low
	for i := range dst.Duals {
		dst.Duals[i] *= o.row.scale[i]
	}
}

// readFarkas fills dst with the Farkas ray that phase one left, and says whether it
// left one.
func (o *glpkOwner) readFarkas(dst *Solution) bool {
	o.y = resize(o.y, o.rows+1)
	if !readFarkas(o.prob, o.y) {
		return false
	}
	y := o.y[1:]
	dropDust(y, floats.Norm(y, math.Inf(1))*glpkDust)
	dst.Status, dst.Objective = Infeasible, math.Inf(1)
	dst.X, dst.Duals, dst.ReducedCosts = dst.X[:0], dst.Duals[:0], dst.ReducedCosts[:0]
	dst.Ray = resize(dst.Ray, o.rows)
	for i := range dst.Ray {
		dst.Ray[i] = o.row.allowed(i, y[i]) * o.row.scale[i]
	}
	normalise(dst.Ray)
	return true
}

// readRecession fills dst with a feasible point and a direction of recession, and
// says whether GLPK left one.
func (o *glpkOwner) readRecession(dst *Solution) bool {
	n := o.columns
	dst.Ray, dst.X, dst.Duals = resize(dst.Ray, n), resize(dst.X, n), resize(dst.Duals, o.rows)
	clear(dst.Ray)
	if !readRecession(o.prob, dst.Ray) {
		return false
	}
	dropDust(dst.Ray, floats.Norm(dst.Ray, math.Inf(1))*glpkDust)
	readOptimum(o.prob, dst.Duals, dst.X)
	for j := range dst.X {
		dst.X[j] = o.inside(j, dst.X[j])
		dst.Ray[j] *= o.col.scale[j]
	}
	normalise(dst.Ray)
	dst.Status, dst.Objective = Unbounded, math.Inf(-1)
	dst.Duals, dst.ReducedCosts = dst.Duals[:0], dst.ReducedCosts[:0]
	return true
}

// inside returns GLPK's value x of column j, unscaled and within its bounds.
func (o *glpkOwner) inside(j int, x float64) float64 {
	return math.Max(o.col.lower[j], math.Min(o.col.upper[j], x/o.boundFactor)) * o.col.scale[j]
}
