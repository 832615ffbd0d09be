package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
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
	if said := strings.Join(rep.notes(p), " "); !strings.Contains(said, "left out, 1 of 3;") {
		t.Errorf("%q: want 1 of 3 vertices to be left out", said)
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

// TestSweepFigure: the curves of a sweep have the numbers of its plans that were found, each beside its limit,
// from left to right.
func TestSweepFigure(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 6))
	for range 50 {
		rep := &sweepReport{Over: []string{"cost ≤", "risk ≥"}}
		want := map[[3]float64]bool{} // of a panel, limit and number
		step, n := float64(1+rng.IntN(3))*float64(1-2*rng.IntN(2)), 1+rng.IntN(4)
		for range 1 + rng.IntN(3) {
			risk := rng.Float64()
			for k := range n {
				one := &sweptReport{Limits: []report.Number{report.Number(float64(k) * step), report.Number(risk)},
					Prices: []report.Number{report.Number(rng.Float64()), report.Number(rng.Float64())}}
				one.Objective, one.Status = report.Number(rng.Float64()), exact.Optimal.String()
				rep.Plans = append(rep.Plans, one)
				if rng.IntN(4) == 0 {
					one.Status = exact.Infeasible.String()
					continue
				}
				for panel, y := range append([]report.Number{one.Objective}, one.Prices...) {
					want[[3]float64{float64(panel), float64(k) * step, float64(y)}] = true
				}
			}
		}
		for panel, shown := range rep.figure("title").Panels {
			for _, c := range shown.Curves {
				if !slices.IsSorted(c.X) {
					t.Errorf("panel %d: limits %v", panel, c.X)
				}
				for i, x := range c.X {
					at := [3]float64{float64(panel), x, c.Y[i]}
					if !want[at] {
						t.Errorf("panel %d has %v at %v, which no plan has", panel, c.Y[i], x)
					}
					delete(want, at)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("missing: %v", want)
		}
	}
}

// load reads a problem as commands do.
func load(name string) (*loaded, error) {
	return streams{problem: new(problem.ReadOptions)}.open(context.Background(), name)
}
