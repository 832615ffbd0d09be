package main

import (
	"strings"
	"testing"
)

// TestMeasure plans for a small fleet.
func TestMeasure(t *testing.T) {
	c := fleetCase{types: 5, agents: 50, leastStates: 4, mostStates: 6, horizon: 6}
	m, err := measure(t.Context(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	if m.limits != 18 || m.states < 20 || m.gap > 1e-6 || m.binding == 0 || m.mixed > m.limits {
		t.Errorf("%+v", m)
	}
	if row := m.row(c); strings.Count(row, "|") != 14 {
		t.Error(row)
	}
}
