package query

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp/exact"
)

// TestUnionOfCurves: a vertex goes where a mixture of one other curve is at least as good in both returns, and
// stays where only a mixture of several curves is.
func TestUnionOfCurves(t *testing.T) {
	curve := func(threshold, err float64, status exact.Verdict, points ...[]float64) FrontPart {
		q := &Query{Limits: []*Limit{{Scope: WorstEpisodes, Threshold: threshold}}}
		r := &exact.FrontResult{Status: status, Rounding: []float64{1e-12, 1e-12}, Iterations: 5, Error: err,
			Relative: err / 10}
		for _, x := range points {
			r.Points = append(r.Points, exact.FrontPoint{Objectives: []float64{-x[0], -x[1]}, Returns: x})
		}
		return FrontPart{Query: q, Result: r}
	}
	empty, optimal := curve(9, 0, exact.Infeasible), exact.Optimal
	tests := []struct {
		name   string
		parts  []FrontPart
		want   [][]float64 // a, b and the threshold, by a
		status exact.Verdict
		error  float64
	}{
		{"below a mixture of another curve", []FrontPart{curve(1, 0.2, optimal, []float64{0, 4}, []float64{4, 0}),
			curve(2, 0.1, optimal, []float64{1.9, 1.9})},
			[][]float64{{0, 4, 1}, {4, 0, 1}}, optimal, 0.2},
		{"above it, the larger error last", []FrontPart{curve(1, 0.1, optimal, []float64{0, 4}, []float64{4, 0}),
			curve(2, 0.3, optimal, []float64{2.1, 2.1})},
			[][]float64{{0, 4, 1}, {2.1, 2.1, 2}, {4, 0, 1}}, optimal, 0.3},
		{"below a mixture of two curves only", []FrontPart{curve(1, 0, optimal, []float64{0, 4}),
			curve(2, 0, optimal, []float64{4, 0}), curve(3, 0, optimal, []float64{1, 1})},
			[][]float64{{0, 4, 1}, {1, 1, 3}, {4, 0, 2}}, optimal, 0},
		{"dominated, the better one last", []FrontPart{curve(1, 0, optimal, []float64{1, 1}),
			curve(2, 0, optimal, []float64{1, 2})}, [][]float64{{1, 2, 2}}, optimal, 0},
		{"one of two", []FrontPart{curve(1, 0, optimal, []float64{0, 4}, []float64{2, 1}),
			curve(2, 0, optimal, []float64{3, 2})},
			[][]float64{{0, 4, 1}, {3, 2, 2}}, optimal, 0},
		{"the same point twice", []FrontPart{curve(1, 0, optimal, []float64{1, 1}),
			curve(2, 0, optimal, []float64{1, 1})}, [][]float64{{1, 1, 1}}, optimal, 0},
		{"nothing keeps the first threshold", []FrontPart{empty, curve(2, 0.5, optimal, []float64{1, 1})},
			[][]float64{{1, 1, 2}}, optimal, 0.5},
		{"one is not known", []FrontPart{curve(1, 0, optimal, []float64{1, 1}), curve(2, 0, exact.Undecided), empty},
			[][]float64{{1, 1, 1}}, exact.Undecided, 0},
		{"none is kept", []FrontPart{empty, empty}, nil, exact.Infeasible, math.NaN()},
	}
	for _, tt := range tests {
		f := newFront([]int{0, 1})
		for _, part := range tt.parts {
			f.add(part)
		}
		f.join()
		var got [][]float64
		for _, v := range f.Points {
			got = append(got, append(slices.Clone(v.Returns), v.Query.Limits[0].Threshold))
		}
		if !slices.EqualFunc(got, tt.want, slices.Equal) || f.Status != tt.status {
			t.Errorf("%s: vertices %v, %s: want %v, %v", tt.name, got, f.Status, tt.want, tt.status)
		}
		if e := f.Error; e != tt.error && !(e != e && tt.error != tt.error) || f.Iterations != 5*len(tt.parts) {
			t.Errorf("%s: error %g, %d iterations: want %g", tt.name, e, f.Iterations, tt.error)
		}
	}
}

// TestVerticesOfRandomPoints draws points on a grid, equal ones too. A point is a vertex where no other one and no
// segment between two others is as good in both returns; of equal ones one is.
func TestVerticesOfRandomPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 44))
	for trial := range 300 {
		r := &exact.FrontResult{Rounding: []float64{1e-12, 1e-12}}
		for range 1 + rng.IntN(6) {
			at := []float64{float64(rng.IntN(5)), float64(rng.IntN(5))}
			r.Points = append(r.Points, exact.FrontPoint{Objectives: at})
		}
		found := make(map[[2]float64]int)
		for i, is := range verticesOf(r) {
			x := [2]float64(r.Points[i].Objectives)
			if is {
				found[x]++
			}
		}
		for _, p := range r.Points {
			x := [2]float64(p.Objectives)
			covered := false
			for _, a := range r.Points {
				for _, b := range r.Points {
					y, z := [2]float64(a.Objectives), [2]float64(b.Objectives)
					if y == x || z == x {
						continue
					}
					for share := range 61 { // where a segment crosses the grid, in halves, thirds and quarters
						w := float64(share) / 60
						covered = covered || w*y[0]+(1-w)*z[0] <= x[0]+1e-9 && w*y[1]+(1-w)*z[1] <= x[1]+1e-9
					}
				}
			}
			if want := map[bool]int{false: 1}[covered]; found[x] != want {
				t.Errorf("trial %d: %d vertices at %v: want %d", trial, found[x], x, want)
			}
		}
	}
}
