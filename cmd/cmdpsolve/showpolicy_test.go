package main

import (
	"slices"
	"testing"
)

// TestMergeSteps merges what is alike, over steps that do not count, and nothing else.
func TestMergeSteps(t *testing.T) {
	for _, c := range []struct {
		does []string
		want []stepRun
	}{
		{nil, nil},
		{[]string{"", ""}, nil},
		{[]string{"go"}, []stepRun{{1, 1, "go"}}},
		{[]string{"go", "go", "stay", "go"}, []stepRun{{1, 2, "go"}, {3, 3, "stay"}, {4, 4, "go"}}},
		{[]string{"", "go", "", "go", ""}, []stepRun{{2, 4, "go"}}},
		{[]string{"go", "", "stay"}, []stepRun{{1, 1, "go"}, {3, 3, "stay"}}},
	} {
		if got := mergeSteps(c.does); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.does, got, c.want)
		}
	}
}
