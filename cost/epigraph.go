package cost

import (
	"math"

	"cmdpsolve/oracle/lp"
)

// epigraph is the linear program behind a maximum of affine functions, in units
// where the domain is the unit cube, the largest slope is 1 and the first value
// that matters is 0. Without them a wide domain or a piece far below the others
// would spoil the tolerances of the simplex method.
type epigraph struct {
	domain
	scale   float64 // of values
	problem lp.Problem
}

// newEpigraph leaves out the pieces that lie below another one on the whole domain.
func newEpigraph(x domain, pieces []*Linear) *epigraph {
	e := &epigraph{domain: x}
	corner, least, most := make([]float64, len(pieces)), make([]float64, len(pieces)), make([]float64, len(pieces))
	top, floor := math.Inf(-1), math.Inf(-1)
	for j, piece := range pieces {
		corner[j] = piece.Value(x.lower)
		least[j], most[j] = corner[j], corner[j]
		for i, a := range piece.gradient {
			rise := a * (x.upper[i] - x.lower[i])
			least[j] += math.Min(0, rise)
			most[j] += math.Max(0, rise)
			e.scale = math.Max(e.scale, math.Abs(rise))
		}
		top, floor = math.Max(top, corner[j]), math.Max(floor, least[j])
	}
	if e.scale == 0 {
		e.scale = 1
	}
	d := x.Dim()
	e.problem.Lower, e.problem.Upper = lp.Free(d + 1)
	for i := range d {
		e.problem.Lower[i], e.problem.Upper[i] = 0, 1
	}
	for j, piece := range pieces {
		if most[j] < floor {
			continue
		}
		row := make([]float64, d+1)
		for i, a := range piece.gradient {
			row[i] = significant(a * (x.upper[i] - x.lower[i]) / e.scale)
		}
		row[d] = -1
		e.problem.Rows = append(e.problem.Rows, lp.AtMost(row, significant((top-corner[j])/e.scale)))
	}
	return e
}

// significant drops what is rounding beside 1.
func significant(x float64) float64 {
	if math.Abs(x) < 1e-16 {
		return 0
	}
	return x
}

// solve sets dst to a maximiser, or returns false if the simplex method fails.
func (e *epigraph) solve(dst, dual []float64) bool {
	d := len(dual)
	problem := e.problem
	problem.Minimize = make([]float64, d+1)
	for i, v := range dual {
		// No piece rises by more than 1 over a side, so that any dual beyond leads to
		// the same end of that side.
		problem.Minimize[i] = significant(-clamp(v*(e.upper[i]-e.lower[i])/e.scale, -2, 2))
	}
	problem.Minimize[d] = 1
	solver, err := lp.NewEmbedded(&problem)
	if err != nil {
		return false
	}
	var solution lp.Solution
	if err := solver.Solve(&solution); err != nil || solution.Status != lp.Optimal {
		return false
	}
	for i := range dst {
		dst[i] = clamp(e.lower[i]+solution.X[i]*(e.upper[i]-e.lower[i]), e.lower[i], e.upper[i])
		if solution.X[i] == 1 {
			dst[i] = e.upper[i]
		}
	}
	return true
}
