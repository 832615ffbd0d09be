package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp/problem"
)

// TestMarksOfMap: the lake says where it begins, and where episodes end and how.
func TestMarksOfMap(t *testing.T) {
	p, err := load("frozenlake4")
	if err != nil {
		t.Fatal(err)
	}
	want := []gridMark{{0, 0, "start"}, {1, 1, "hole"}, {1, 3, "hole"}, {2, 3, "hole"}, {3, 0, "hole"}, {3, 3, "goal"}}
	if got := gridOf(p.Query).Marks; !slices.Equal(got, want) {
		t.Errorf("got %v: want %v", got, want)
	}
}

// TestPlacesInNames: states that are called after their row and column in one of the usual ways have that place.
func TestPlacesInNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 1))
	for range 200 {
		row, column := rng.IntN(2000), rng.IntN(2000)
		for _, form := range []string{"r%[1]dc%[2]d", "y%[1]dx%[2]d", "x%[2]dy%[1]d", "x%[2]d_y%[1]d", "(%d,%d)", "%d,%d",
			"%d_%d", "(%d, %d)", "%d-%d"} {
			name := fmt.Sprintf(form, row, column)
			if place, is := cellOf(name); !is || place != (problem.Place{Row: row, Column: column}) {
				t.Errorf("%s: %v, %v", name, place, is)
			}
		}
	}
}
