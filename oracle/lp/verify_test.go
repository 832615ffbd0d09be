package lp_test

import (
	"fmt"
	"math"

	"cmdpsolve/oracle/lp"
)

// tolerances of verification, relative to the size of what is summed.
var tolerance = map[string]float64{"embedded": 1e-12, "devex": 1e-12, "glpk": 2e-6}

// row returns the dense coefficients of row i of p.
func row(p *lp.Problem, i int) []float64 {
	r := p.Rows[i]
	if r.Index == nil {
		return r.Coef
	}
	dense := make([]float64, len(p.Minimize))
	for k, j := range r.Index {
		dense[j] = r.Coef[k]
	}
	return dense
}

func bounds(p *lp.Problem, j int) (lower, upper float64) {
	upper = math.Inf(1)
	if p.Lower != nil {
		lower = p.Lower[j]
	}
	if p.Upper != nil {
		upper = p.Upper[j]
	}
	return lower, upper
}

// verify checks every promise of the package comment and returns the first that
// is broken. It knows nothing of how the solution was found.
func verify(p *lp.Problem, sol *lp.Solution, tol float64) error {
	m, n := len(p.Rows), len(p.Minimize)
	lengths := [4]int{len(sol.X), len(sol.Duals), len(sol.ReducedCosts), len(sol.Ray)}
	var want [4]int
	switch sol.Status {
	case lp.Optimal:
		want = [4]int{n, m, n, 0}
	case lp.Infeasible:
		want = [4]int{0, 0, 0, m}
	case lp.Unbounded:
		want = [4]int{n, 0, 0, n}
	default:
		return fmt.Errorf("status %v", sol.Status)
	}
	if lengths != want {
		return fmt.Errorf("%v: lengths of X, Duals, ReducedCosts, Ray %v, want %v", sol.Status, lengths, want)
	}
	switch sol.Status {
	case lp.Infeasible:
		return verifyFarkas(p, sol, tol)
	case lp.Unbounded:
		if err := verifyFeasible(p, sol.X, tol); err != nil {
			return err
		}
		return verifyRecession(p, sol, tol)
	}
	if err := verifyFeasible(p, sol.X, tol); err != nil {
		return err
	}
	return verifyDuals(p, sol, tol)
}

func verifyFeasible(p *lp.Problem, x []float64, tol float64) error {
	for j, v := range x {
		if lower, upper := bounds(p, j); !(v >= lower && v <= upper) {
			return fmt.Errorf("x[%d] = %v outside [%v, %v]", j, v, lower, upper)
		}
	}
	floor := rounding(p, x)
	for i, r := range p.Rows {
		sum, size := 0.0, 0.0
		for j, a := range row(p, i) {
			sum += a * x[j]
			size += math.Abs(a) * (math.Abs(x[j]) + floor)
		}
		if sum < r.Lower-tol*(size+math.Abs(r.Lower)) || sum > r.Upper+tol*(size+math.Abs(r.Upper)) {
			return fmt.Errorf("row %d: %v outside [%v, %v]", i, sum, r.Lower, r.Upper)
		}
	}
	return nil
}

// rounding returns a size of x below which only rounding errors are left: a part
// of the largest number in x and its bounds.
func rounding(p *lp.Problem, x []float64) float64 {
	floor := 0.0
	for j, v := range x {
		floor = math.Max(floor, 1e-6*math.Abs(v))
		lower, upper := bounds(p, j)
		for _, b := range [2]float64{lower, upper} {
			if !math.IsInf(b, 0) {
				floor = math.Max(floor, 1e-6*math.Abs(b))
			}
		}
	}
	return floor
}

// verifyDuals checks stationarity, signs, complementary slackness and strong duality.
func verifyDuals(p *lp.Problem, sol *lp.Solution, tol float64) error {
	n := len(p.Minimize)
	primal, dual, size := 0.0, 0.0, 0.0
	gradient, scale := make([]float64, n), make([]float64, n)
	for i, r := range p.Rows {
		y := sol.Duals[i]
		for j, a := range row(p, i) {
			gradient[j] += y * a
			scale[j] += math.Abs(y * a)
		}
		if y != 0 {
			b := r.Lower
			if y < 0 {
				b = r.Upper
			}
			if math.IsInf(b, 0) {
				return fmt.Errorf("dual %d = %v against a bound %v", i, y, b)
			}
			dual += y * b
			size += math.Abs(y * b)
		}
	}
	floorX := rounding(p, sol.X)
	// Columns whose terms are all rounding errors are measured against the others.
	floor := 0.0
	for j, c := range p.Minimize {
		floor = math.Max(floor, 1e-6*(math.Abs(c)+scale[j]))
	}
	for j, c := range p.Minimize {
		d := sol.ReducedCosts[j]
		if math.Abs(c-gradient[j]-d) > tol*(math.Abs(c)+scale[j]+floor) {
			return fmt.Errorf("reduced cost %d: %v, but c − Aᵀy = %v", j, d, c-gradient[j])
		}
		primal += c * sol.X[j]
		size += math.Abs(c) * (math.Abs(sol.X[j]) + floorX)
		if d != 0 {
			b, upper := bounds(p, j)
			if d < 0 {
				b = upper
			}
			if math.IsInf(b, 0) {
				return fmt.Errorf("reduced cost %d = %v against a bound %v", j, d, b)
			}
			dual += d * b
			size += math.Abs(d * b)
		}
	}
	if math.Abs(primal-sol.Objective) > tol*size || !(math.Abs(primal-dual) <= tol*size) {
		return fmt.Errorf("objective %v, c·x = %v, dual objective %v", sol.Objective, primal, dual)
	}
	return nil
}

// verifyFarkas checks β > γ of the package comment.
func verifyFarkas(p *lp.Problem, sol *lp.Solution, tol float64) error {
	if !math.IsInf(sol.Objective, 1) {
		return fmt.Errorf("infeasible with objective %v", sol.Objective)
	}
	n := len(p.Minimize)
	beta, gamma := 0.0, 0.0
	g, scale := make([]float64, n), make([]float64, n)
	for i, r := range p.Rows {
		y := sol.Ray[i]
		for j, a := range row(p, i) {
			g[j] += y * a
			scale[j] += math.Abs(y * a)
		}
		switch {
		case y > 0:
			beta += y * r.Lower
		case y < 0:
			beta += y * r.Upper
		}
	}
	for j, v := range g {
		lower, upper := bounds(p, j)
		if v < 0 {
			upper = lower
		}
		if math.IsInf(upper, 0) {
			if math.Abs(v) > tol*scale[j] {
				return fmt.Errorf("Farkas ray: column %d has %v against an infinite bound", j, v)
			}
			continue
		}
		gamma += v * upper
	}
	if !(beta > gamma) || math.IsInf(beta, 0) {
		return fmt.Errorf("Farkas ray: β = %v, γ = %v", beta, gamma)
	}
	return nil
}

// verifyRecession checks that the ray stays feasible and descends.
func verifyRecession(p *lp.Problem, sol *lp.Solution, tol float64) error {
	if !math.IsInf(sol.Objective, -1) {
		return fmt.Errorf("unbounded with objective %v", sol.Objective)
	}
	slope := 0.0
	for j, r := range sol.Ray {
		slope += p.Minimize[j] * r
		if lower, upper := bounds(p, j); r > 0 && !math.IsInf(upper, 1) || r < 0 && !math.IsInf(lower, -1) {
			return fmt.Errorf("ray[%d] = %v runs into [%v, %v]", j, r, lower, upper)
		}
	}
	if !(slope < 0) {
		return fmt.Errorf("ray has slope %v", slope)
	}
	for i, r := range p.Rows {
		sum, size := 0.0, 0.0
		for j, a := range row(p, i) {
			sum += a * sol.Ray[j]
			size += math.Abs(a * sol.Ray[j])
		}
		if sum > tol*size && !math.IsInf(r.Upper, 1) || sum < -tol*size && !math.IsInf(r.Lower, -1) {
			return fmt.Errorf("ray leaves row %d by %v", i, sum)
		}
	}
	return nil
}
