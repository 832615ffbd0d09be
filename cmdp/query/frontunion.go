package query

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// join sets the points, of several parts those that none of the others covers. Once it is late, points of several parts
// are listed that others may cover.
func (f *Front) join(late func() bool) {
	var all []exact.FrontPoint
	for _, part := range f.Parts {
		all = append(all, part.Result.Points...)
	}
	for i, part := range f.Parts {
		points, scale := part.Result.Points, scaleOf(all, part.Result.Rounding)
		listed := slices.Clone(part.vertices)
		several := len(f.Parts) > 1
		for k, point := range points {
			if several && listed[k] && !late() {
				listed[k] = !f.covered(i, point, scale)
			}
		}
		switch {
		case several && late():
			f.leaveOpen(part.Query)
		case several && len(f.over) == 2:
			f.addEnds(i, part.vertices, listed, scale)
		}
		for k, point := range points {
			if listed[k] || !several {
				f.Points = append(f.Points, FrontPoint{FrontPoint: point, Query: part.Query, Vertex: part.vertices[k]})
			}
		}
	}
	f.sort()
}

// leastUncovered is the share of a segment that has to lie beyond all other curves for its ends to be listed.
const leastUncovered = 1e-6

// addEnds adds the points of part i, between two neighbouring vertices, where it passes below another part. A vertex
// that is such an end itself is marked as listed.
func (f *Front) addEnds(i int, vertices, listed []bool, scale []float64) {
	points := f.Parts[i].Result.Points
	var chain []int
	for k := range points {
		if vertices[k] {
			chain = append(chain, k)
		}
	}
	slices.SortFunc(chain, func(a, b int) int {
		return cmp.Compare(points[a].Objectives[0], points[b].Objectives[0])
	})
	for n := range max(0, len(chain)-1) {
		a, b := chain[n], chain[n+1]
		for _, gap := range f.uncovered(i, points[a], points[b], scale) {
			for _, end := range gap {
				switch {
				case end < leastUncovered:
					listed[a] = true
				case end > 1-leastUncovered:
					listed[b] = true
				default:
					f.Points = append(f.Points, f.between(i, points[a], points[b], end))
				}
			}
		}
	}
}

// uncovered returns the intervals of shares x for which no other part is as good as (1−x)·a + x·b, where a and b are
// points of part i.
func (f *Front) uncovered(i int, a, b exact.FrontPoint, scale []float64) [][2]float64 {
	gaps := [][2]float64{{0, 1}}
	for j, other := range f.Parts {
		if i == j || len(other.Result.Points) == 0 {
			continue
		}
		slack := roundingOfPoints // of equal parts the first stays
		if j > i {
			slack = -slack
		}
		low, high := coveredBy(other.Result.Points, a, b, scale, slack)
		var left [][2]float64
		for _, gap := range gaps {
			for _, rest := range [][2]float64{{gap[0], min(gap[1], low)}, {max(gap[0], high), gap[1]}} {
				if rest[1]-rest[0] > leastUncovered {
					left = append(left, rest)
				}
			}
		}
		gaps = left
	}
	return gaps
}

// coveredBy returns between which shares x a mixture of points is as good as (1−x)·a + x·b, up to a slack in units of
// the scale; 1 and 1 where none is. They are the extremes of
//
//	x  s.t.  Σ λ_j y_j ≤ (1−x)·a + x·b + slack·scale,  Σ λ_j = 1,  λ ≥ 0,  0 ≤ x ≤ 1
func coveredBy(points []exact.FrontPoint, a, b exact.FrontPoint, scale []float64, slack float64) (low, high float64) {
	n := len(points)
	for k := range scale {
		if leastObjective(points, k) > max(a.Objectives[k], b.Objectives[k])+slack*scale[k] {
			return 1, 1
		}
	}
	program := &lp.Problem{Minimize: make([]float64, n+1), Lower: make([]float64, n+1)}
	_, program.Upper = lp.Free(n + 1)
	program.Upper[n] = 1
	sum := make([]float64, n+1)
	for k := range scale {
		row := make([]float64, n+1)
		row[n] = (a.Objectives[k] - b.Objectives[k]) / scale[k]
		for j, p := range points {
			sum[j] = 1
			row[j] = (p.Objectives[k] - a.Objectives[k]) / scale[k]
		}
		program.Rows = append(program.Rows, lp.AtMost(row, slack))
	}
	program.Rows = append(program.Rows, lp.Equal(sum, 1))
	ends := [2]float64{1, 1}
	for k, sign := range []float64{1, -1} {
		program.Minimize[n] = sign
		sol, err := lp.Solve(program)
		if err != nil || sol.Status != lp.Optimal {
			return 1, 1
		}
		ends[k] = sol.X[n]
	}
	return ends[0], ends[1]
}

// between returns the point of part i with a share x of b, and of a what is left. Its policy is found when it is asked
// for: the best one in the first objective that is as good in the second.
func (f *Front) between(i int, a, b exact.FrontPoint, x float64) FrontPoint {
	mix := func(a, b []float64) []float64 {
		v := make([]float64, len(a))
		floats.AddScaledTo(v, a, x, b)
		floats.AddScaled(v, -x, a)
		return v
	}
	q := f.Parts[i].Query
	p := FrontPoint{Query: q, Vertex: true, FrontPoint: exact.FrontPoint{Mixed: true,
		Objectives: mix(a.Objectives, b.Objectives), Returns: mix(a.Returns, b.Returns)}}
	p.plan = func(ctx context.Context) (*Query, *exact.Result, error) {
		first, second := f.over[0], f.over[1]
		change := Change{Minimize: first.Return, Bounds: []Bound{{second.Return, side(second.Maximize),
			p.Returns[f.places[1]]}}}
		if first.Maximize {
			change.Minimize, change.Maximize = "", first.Return
		}
		of, err := q.With(ctx, change)
		if err != nil {
			return nil, nil, err
		}
		planner, err := of.Planner()
		if err != nil {
			return nil, nil, err
		}
		r, err := planner.Solve(ctx, of.Task, exact.Options{})
		if err != nil {
			return nil, nil, err
		}
		if r.Status != exact.Optimal {
			return nil, nil, errors.New("query: no policy of a point between two vertices was found within rounding")
		}
		of, err = of.Remembering(r.Product)
		return of, r, err
	}
	return p
}

// covered reports whether a mixture of points of another part than part i is as good as a point; of the same
// points the first stay.
func (f *Front) covered(i int, point exact.FrontPoint, scale []float64) bool {
	for j, other := range f.Parts {
		points := other.Result.Points
		farOff := func(k int) bool {
			return leastObjective(points, k) > point.Objectives[k]+roundingOfPoints*scale[k]
		}
		if i == j || len(points) == 0 || farOff(0) || farOff(len(scale)-1) {
			continue
		}
		t := worse(points, point, scale)
		if t < -roundingOfPoints || t <= roundingOfPoints && (j < i || improved(points, point, scale)) {
			return true
		}
	}
	return false
}

// improved reports whether a mixture of other points is as good as a point, and better in one objective by a
// millionth of the scale.
func improved(others []exact.FrontPoint, than exact.FrontPoint, scale []float64) bool {
	for k := range scale {
		better := exact.FrontPoint{Objectives: slices.Clone(than.Objectives)}
		better.Objectives[k] -= 1e-6 * scale[k]
		if worse(others, better, scale) <= roundingOfPoints {
			return true
		}
	}
	return false
}
