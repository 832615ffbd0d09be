package main

import (
	"context"
	"testing"

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
