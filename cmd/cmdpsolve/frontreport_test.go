package main

import (
	"context"
	"math"
	"slices"
	"testing"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// TestVerticesThatPrintAlike: they are listed once, and slopes lead to the next that is listed.
func TestVerticesThatPrintAlike(t *testing.T) {
	p, err := load("inventory")
	if err != nil {
		t.Fatal(err)
	}
	rep := &frontReport{over: []objective{{0, "shortage", -1}, {1, "cost", -1}}}
	for _, v := range [][]float64{{1, 3}, {1 + 1e-9, 3 - 1e-9}, {2, 1}} {
		rep.Vertices = append(rep.Vertices, &pointReport{returns: v})
	}
	rows := rep.vertexTable(p).Rows
	if len(rows) != 2 || rows[0][0] != 1 || rows[1][0] != 3 || rows[0][3] != -2.0 {
		t.Errorf("rows %v: want vertices 1 and 3 with the slope -2 between them", rows)
	}
	rep.all = true
	if rows := rep.vertexTable(p).Rows; len(rows) != 3 {
		t.Errorf("%d rows with --all: want 3", len(rows))
	}
}

// load reads a problem as commands do.
func load(name string) (*loaded, error) {
	return streams{problem: new(problem.Options)}.open(context.Background(), name)
}

// TestUnionOfCurves: a vertex goes where a mixture of one other curve is at least as good in both returns, and stays where only a
// mixture of several curves is.
func TestUnionOfCurves(t *testing.T) {
	curve := func(threshold, err float64, status exact.Status, points ...[]float64) part {
		p := &loaded{Query: &query.Query{Problem: &problem.Problem{}, Process: &problem.Process{Returns: []string{"a", "b", "excess"}},
			Limits: []*query.Limit{{Scope: query.WorstEpisodes, Threshold: threshold}}}}
		r := &exact.FrontResult{Status: status, Rounding: []float64{1e-12, 1e-12}, Iterations: 5, Error: err, Relative: err / 10}
		for _, x := range points {
			r.Points = append(r.Points, exact.FrontPoint{Objectives: []float64{-x[0], -x[1]}, Returns: append(x, threshold), Policy: &exact.Policy{}})
		}
		return part{p, r, newFrontReport(p, []objective{{0, "a", 1}, {1, "b", 1}}, r, 0)}
	}
	empty, optimal := curve(9, 0, exact.Infeasible), exact.Optimal
	tests := []struct {
		name   string
		parts  []part
		want   [][]float64 // a, b and the threshold, by a
		status exact.Status
		error  float64
	}{
		{"below a mixture of another curve", []part{curve(1, 0.2, optimal, []float64{0, 4}, []float64{4, 0}), curve(2, 0.1, optimal, []float64{1.9, 1.9})},
			[][]float64{{0, 4, 1}, {4, 0, 1}}, optimal, 0.2},
		{"above it, the larger error last", []part{curve(1, 0.1, optimal, []float64{0, 4}, []float64{4, 0}), curve(2, 0.3, optimal, []float64{2.1, 2.1})},
			[][]float64{{0, 4, 1}, {2.1, 2.1, 2}, {4, 0, 1}}, optimal, 0.3},
		{"below a mixture of two curves only", []part{curve(1, 0, optimal, []float64{0, 4}), curve(2, 0, optimal, []float64{4, 0}), curve(3, 0, optimal, []float64{1, 1})},
			[][]float64{{0, 4, 1}, {1, 1, 3}, {4, 0, 2}}, optimal, 0},
		{"dominated, the better one last", []part{curve(1, 0, optimal, []float64{1, 1}), curve(2, 0, optimal, []float64{1, 2})}, [][]float64{{1, 2, 2}}, optimal, 0},
		{"one of two", []part{curve(1, 0, optimal, []float64{0, 4}, []float64{2, 1}), curve(2, 0, optimal, []float64{3, 2})},
			[][]float64{{0, 4, 1}, {3, 2, 2}}, optimal, 0},
		{"the same point twice", []part{curve(1, 0, optimal, []float64{1, 1}), curve(2, 0, optimal, []float64{1, 1})}, [][]float64{{1, 1, 1}}, optimal, 0},
		{"nothing keeps the first threshold", []part{empty, curve(2, 0.5, optimal, []float64{1, 1})}, [][]float64{{1, 1, 2}}, optimal, 0.5},
		{"one is not known", []part{curve(1, 0, optimal, []float64{1, 1}), curve(2, 0, exact.Undecided), empty}, [][]float64{{1, 1, 1}}, exact.Undecided, 0},
		{"none is kept", []part{empty, empty}, nil, exact.Infeasible, math.NaN()},
	}
	for _, tt := range tests {
		rep := union(tt.parts, []string{"a", "b"})
		var got [][]float64
		for _, v := range rep.Vertices {
			got = append(got, append(slices.Clone(v.returns), float64(v.Thresholds[0])))
		}
		if !slices.EqualFunc(got, tt.want, slices.Equal) || rep.Status != tt.status.String() {
			t.Errorf("%s: vertices %v, %s: want %v, %v", tt.name, got, rep.Status, tt.want, tt.status)
		}
		if e := float64(rep.Error); e != tt.error && !(e != e && tt.error != tt.error) || rep.Iterations != 5*len(tt.parts) || rep.Union != len(tt.parts) {
			t.Errorf("%s: error %g, %d iterations of %d curves: want %g", tt.name, e, rep.Iterations, rep.Union, tt.error)
		}
	}
}
