package main

import (
	"slices"
	"testing"
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
