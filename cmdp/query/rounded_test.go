package query

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

// TestRoundedTotalsClaimNoMore: with totals rounded, bound, status and gap hold for the exact problem, which is small
// enough to be counted exactly, and the policy is none that it does not have.
func TestRoundedTotalsClaimNoMore(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 31))
	seen := make(map[string]int)
	for trial := range 150 {
		p := mustParse(t, drawRounded(rng))
		exactly, truth := planned(t, p, Options{})
		q, r := planned(t, p, Options{Resolution: []float64{1, 0.3}[trial%2]})
		if !q.Rounded() {
			t.Fatal("nothing is rounded")
		}
		size := 1e-7
		keeps := truth.Status == exact.Optimal
		switch {
		case truth.Status != exact.Optimal && truth.Status != exact.Infeasible:
			continue
		case r.Status == exact.Infeasible && keeps:
			t.Fatalf("trial %d: infeasible: want %g\n%v", trial, exactly.Objective(truth.Returns), p.Constraints)
		case keeps && r.Bound > truth.Objective+size:
			t.Fatalf("trial %d: bound %g beyond the optimum %g\n%v", trial, r.Bound, truth.Objective, p.Constraints)
		case r.Policy != nil && (r.Status == exact.Optimal || r.Status == exact.Stopped) &&
			(!keeps || r.Objective < truth.Objective-size):
			t.Fatalf("trial %d: objective %g: want %v %g", trial, r.Objective, truth.Status, truth.Objective)
		case r.Status == exact.Optimal && r.Objective > truth.Objective+size:
			t.Fatalf("trial %d: optimal at %g: want %g", trial, r.Objective, truth.Objective)
		}
		seen[fmt.Sprint(truth.Status, " ", r.Status)]++
	}
	for _, want := range []string{"optimal optimal", "optimal stopped", "optimal undecided", "infeasible infeasible"} {
		if seen[want] == 0 {
			t.Errorf("%s: never seen among %v", want, seen)
		}
	}
}

// planned returns the best query of a problem and its answer.
func planned(t *testing.T, p *problem.Problem, opts Options) (*Query, *exact.Result) {
	t.Helper()
	q, err := New(t.Context(), p, opts)
	if err != nil && (q == nil || !q.Beyond()) {
		t.Fatal(err)
	}
	q, err = q.Best(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Solve(t.Context(), exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return q, r
}

// drawRounded draws a problem with limits and goals about totals in eighths, none of them below 0.
func drawRounded(rng *rand.Rand) string {
	x := func(most int) float64 { return float64(rng.IntN(8*most)) / 8 }
	limit := []string{
		"{return: cost, at_most: %g, always: true}", "{return: cost, at_least: %g, always: true}",
		"{return: cost, at_most: %g, probability: 0.75}", "{return: cost, at_least: %g, probability: 0.625}",
		"{return: cost, at_most: %g, cvar: 0.25}", "{return: cost, at_least: %g, cvar: 0.5}",
	}[rng.IntN(6)]
	constraints := fmt.Sprintf(limit, x(3))
	constraints += []string{"", fmt.Sprintf(", {return: gain, at_least: %g}", x(3)), ", {return: much, at_most: 0.5}",
		", {return: soon, at_least: 0.25}"}[rng.IntN(4)]
	goal := []string{"maximize: gain", "maximize: much", "minimize: much", "maximize: soon",
		"minimize: over"}[rng.IntN(5)]
	return fmt.Sprintf("format: cmdp/1\nhorizon: 3\nreturns: {gain: {}, cost: {}, much: {exceeds: {return: cost, limit: %g}}, "+
		"over: {excess: {return: cost, limit: %g}}, soon: {reach: c, within: {return: cost, at_most: %g}}}\n"+
		"goal: {%s}\nconstraints: [%s]\n%s", x(3), x(3), x(2), goal, constraints,
		strings.ReplaceAll(drawRows(rng, false), ": -", ": "))
}
