package lp

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// A tolerance says what counts as rounding error: relative times the size of what is
// summed, where variables count at least as primalFloor times the largest, and the terms of
// a reduced cost at least as dualFloor times the largest.
type tolerance struct{ relative, primalFloor, dualFloor float64 }

// embeddedTolerance has the larger floor for variables because rows can contradict each other
// by rounding errors in their coefficients, which no multiplier can.
var embeddedTolerance = tolerance{relative: 1e-8, primalFloor: 1e-6, dualFloor: dualDust}

// dualDust is the part of the largest reduced cost below which others are rounding.
const dualDust = 1e-11

// certify checks the promises of the package comment for dst, in scaled numbers,
// and returns an error if one is broken by more than tol, and in row i
// by more than extra[i] on top. Numbers that lie too far
// apart for float64 end here rather than in a wrong answer. activity and size
// are work space, one entry per row.
func (s *model) certify(dst *Solution, activity, size, extra []float64, tol tolerance) error {
	var ok bool
	switch dst.Status {
	case Optimal:
		ok = s.feasible(dst.X, activity, size, extra, tol) && s.dualFeasible(dst, tol)
	case Unbounded:
		ok = s.feasible(dst.X, activity, size, extra, tol) && s.recedes(dst.Ray, activity, size, tol)
	case Infeasible:
		ok = s.separates(dst.Ray, tol.relative)
	}
	if !ok {
		return fmt.Errorf("lp: the answer %v fails its own check: %w", dst.Status, ErrNumerical)
	}
	return nil
}

// sum sets activity to A·x and size to |A|·|x|, with a floor for |x| as a part of
// the largest entry.
func (s *model) sum(activity, size, x []float64, tol tolerance) {
	clear(activity)
	clear(size)
	floor := 0.0
	for j, v := range x {
		floor = math.Max(floor, tol.primalFloor*math.Abs(v/s.col.scale[j]))
	}
	for j, rows := range s.index {
		v := x[j] / s.col.scale[j]
		for t, i := range rows {
			a := s.value[j][t]
			activity[i] += a * v
			size[i] += math.Abs(a) * (math.Abs(v) + floor)
		}
	}
}

// feasible checks the rows; columns are within their bounds by construction, or NaN.
func (s *model) feasible(x, activity, size, extra []float64, tol tolerance) bool {
	if floats.HasNaN(x) {
		return false
	}
	s.sum(activity, size, x, tol)
	for i, r := range activity {
		for _, b := range [2]float64{s.row.lower[i], -s.row.upper[i]} {
			if !math.IsInf(b, -1) && !(r >= b-tol.relative*(size[i]+math.Abs(b))-extra[i]) {
				return false
			}
			r = -r
		}
	}
	return true
}

// dualFeasible checks stationarity, that nothing leans on an infinite bound, and
// that there is no duality gap, which together are optimality.
func (s *model) dualFeasible(dst *Solution, tol tolerance) bool {
	primal, dual, terms := 0.0, 0.0, 0.0
	for i, y := range dst.Duals {
		b := lean(y/s.row.scale[i], s.row.lower[i], s.row.upper[i])
		dual += b
		terms += math.Abs(b)
	}
	floor := 0.0
	for pass := range 2 {
		for j, c := range s.cost {
			gradient, size := c, math.Abs(c)
			for t, i := range s.index[j] {
				p := s.value[j][t] * (dst.Duals[i] / s.row.scale[i])
				gradient -= p
				size += math.Abs(p)
			}
			if pass == 0 {
				floor = math.Max(floor, tol.dualFloor*size)
				continue
			}
			d, x := dst.ReducedCosts[j]*s.col.scale[j], dst.X[j]/s.col.scale[j]
			if !(math.Abs(gradient-d) <= tol.relative*(size+floor)) {
				return false
			}
			b := lean(d, s.col.lower[j], s.col.upper[j])
			primal, dual = primal+c*x, dual+b
			terms += math.Abs(c*x) + math.Abs(b)
			// A basic variable near zero beside wide bounds carries their rounding.
			terms += dualDust * math.Abs(c) * s.col.width(j)
		}
	}
	// Terms are infinite where a dual leans on a bound that is not there.
	return math.Abs(primal-dual) <= tol.relative*terms && !math.IsInf(terms, 1)
}

// width returns the largest finite bound of variable i in absolute value.
func (v *variables) width(i int) float64 {
	w := 0.0
	for _, b := range [2]float64{v.lower[i], v.upper[i]} {
		if !math.IsInf(b, 0) {
			w = math.Max(w, math.Abs(b))
		}
	}
	return w
}

// lean returns y times the bound on which it leans.
func lean(y, lower, upper float64) float64 {
	switch {
	case y > 0:
		return y * lower
	case y < 0:
		return y * upper
	}
	return y // 0, or NaN, which proves nothing
}

// recedes checks that ray descends and stays within all bounds.
func (s *model) recedes(ray, activity, size []float64, tol tolerance) bool {
	slope := 0.0
	for j, r := range ray {
		if r > 0 && !math.IsInf(s.col.upper[j], 1) || r < 0 && !math.IsInf(s.col.lower[j], -1) {
			return false
		}
		slope += s.cost[j] * (r / s.col.scale[j])
	}
	s.sum(activity, size, ray, tol)
	for i, r := range activity {
		if r > tol.relative*size[i] && !math.IsInf(s.row.upper[i], 1) ||
			r < -tol.relative*size[i] && !math.IsInf(s.row.lower[i], -1) {
			return false
		}
	}
	return slope < 0
}

// separates checks β > γ of the package comment.
func (s *model) separates(ray []float64, tol float64) bool {
	beta, gamma, terms := 0.0, 0.0, 0.0
	for i, y := range ray {
		b := lean(y/s.row.scale[i], s.row.lower[i], s.row.upper[i])
		beta += b
		terms += math.Abs(b)
	}
	for j, rows := range s.index {
		g, size := 0.0, 0.0
		for t, i := range rows {
			p := s.value[j][t] * (ray[i] / s.row.scale[i])
			g += p
			size += math.Abs(p)
		}
		if s.col.allowed(j, -g) != 0 {
			b := lean(-g, s.col.lower[j], s.col.upper[j])
			gamma -= b
			terms += math.Abs(b)
		} else if math.Abs(g) > tol*size {
			return false
		}
	}
	// A violation no larger than rounding, of the data or of a tolerance, is no proof.
	return beta-gamma > math.Max(epsilon, tol*tol)*terms && !math.IsInf(beta, 0)
}

// allowed returns y, or zero if the bound on which y leans is infinite.
func (v *variables) allowed(i int, y float64) float64 {
	if y > 0 && math.IsInf(v.lower[i], -1) || y < 0 && math.IsInf(v.upper[i], 1) {
		return 0
	}
	return y
}
