package main

import (
	"errors"
	"slices"
	"testing"
)

// TestValuesOfSweeps: values are those that a person counts out by hand, whatever the size of the numbers.
func TestValuesOfSweeps(t *testing.T) {
	for text, want := range map[string][]float64{
		"cost=2:2.3:0.1":                      {2, 2.1, 2.2, 2.3},
		"cost=1e+08:1.0000000035e+08:0.175":   {1e8, 100000000.175, 100000000.35},
		"cost=0:1:0.3333333334":               {0, 0.3333333334, 0.6666666668, 1},
		"cost=3:1:-0.75":                      {3, 2.25, 1.5},
		"cost=0.1:0.1:7":                      {0.1},
		"cost=1e-12:3e-12:1e-12":              {1e-12, 2e-12, 3e-12},
		"cost=1e-999999999:1:0.5":             {0, 0.5, 1},
		"cost=123456789.123456:123456790.2:1": {123456789.123456, 123456790.123456},
	} {
		var s sweepFlags
		if err := s.add(text); err != nil || s[0].Return != "cost" || !slices.Equal(s[0].Values, want) {
			t.Errorf("%s: %v, %v, want %v", text, s, err, want)
		}
	}
	for _, text := range []string{"cost=0:1:1e-300", "cost=0:1:-1", "cost=1:0:1", "cost=0:1:0", "cost=0:1:1e-999999999",
		"cost=0:NaN:1", "cost=0:1e999:1", "cost=0:9999:0.9999", "0:1:1", "cost=0:1"} {
		if err := new(sweepFlags).add(text); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// TestVerdictOfSweeps: a sweep is infeasible if all of its plans are, and undecided if one is.
func TestVerdictOfSweeps(t *testing.T) {
	verdicts := []string{"optimal", "stopped", "unbounded", "infeasible", "undecided"}
	undecided := errors.New("undecided")
	for i := range len(verdicts) * len(verdicts) * len(verdicts) {
		plans := []string{verdicts[i%5], verdicts[i/5%5], verdicts[i/25]}
		want := exitDone
		switch {
		case slices.Contains(plans, "undecided"):
			want = exitFailed
		case plans[0] == "infeasible" && plans[1] == plans[0] && plans[2] == plans[0]:
			want = exitInfeasible
		}
		err, got := sweptVerdict(plans, func(p string) string { return p }, undecided), exitDone
		if exit := (*exitError)(nil); errors.As(err, &exit) {
			got = exit.status
		} else if err != nil {
			got = exitFailed
		}
		if got != want {
			t.Errorf("%v: exit status %d: want %d", plans, got, want)
		}
	}
}
