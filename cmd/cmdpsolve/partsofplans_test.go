package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/problem"

	"github.com/spf13/cobra"
)

// TestSweptIntervals: each plan of a sweep over limits of a problem with intervals is the one that plan finds for that
// limit, which holds in every model.
func TestSweptIntervals(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "intervals.yaml")
	text := "format: cmdp/1\nhorizon: 3\nstates: [s, t]\nstart: s\nreturns: [work, cost]\ngoal: {maximize: work}\n" +
		"constraints:\n  - {return: cost, at_most: 2}\ntransitions:\n" +
		"  - {state: s, action: rest, next: {s: 1}, returns: [0, 0]}\n" +
		"  - {state: s, action: work, next: {s: [0.4, 0.8], t: [0.2, 0.6]}, returns: [1, 1]}\n" +
		"  - {state: t, action: rest, next: {s: 1}, returns: [0, 0.2]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	swept, _ := printed(t, "json", "plan", file, "--sweep", "cost=1:2:1")
	plans := answerOf(t, swept).list("plans")
	if len(plans) != 2 {
		t.Fatalf("%d plans", len(plans))
	}
	for i, got := range plans {
		limited := strings.Replace(text, "at_most: 2", fmt.Sprint("at_most: ", i+1), 1)
		if err := os.WriteFile(file, []byte(limited), 0o600); err != nil {
			t.Fatal(err)
		}
		told, _ := printed(t, "json", "plan", file)
		want := answerOf(t, told)
		for _, name := range []string{"objective", "bound", "returns.cost.least", "returns.cost.greatest",
			"nominal.work", "nominal_optimum", "uncertainty.choices", "uncertainty.width"} {
			if !near(got.num(name), want.num(name)) {
				t.Errorf("plan %d: %s is %g: want %g", i, name, got.num(name), want.num(name))
			}
		}
	}
}

// TestCompletedAlgorithms: what is offered for a list of algorithms begins with those that are typed already.
func TestCompletedAlgorithms(t *testing.T) {
	t.Parallel()
	cmd, _, err := newRoot(streams{problem: new(problem.ReadOptions)}).Find([]string{"compare"})
	if err != nil {
		t.Fatal(err)
	}
	complete, is := cmd.GetFlagCompletionFunc("algorithms")
	if !is {
		t.Fatal("nothing is offered for --algorithms")
	}
	for typed, before := range map[string]string{"": "", "mo": "", "moma,": "moma,", "moma,op": "moma,",
		"a,b,c": "a,b,"} {
		offers, what := complete(cmd, nil, typed)
		for _, a := range baseline.Names() {
			if !slices.Contains(offers, before+a) {
				t.Errorf("%q: %s is not offered: %q", typed, before+a, offers)
			}
		}
		if what != cobra.ShellCompDirectiveNoFileComp {
			t.Errorf("%q: files are offered", typed)
		}
	}
}

// TestPageNamesProblemsOnce: the title of a page has each problem once, in the order of the results.
func TestPageNamesProblemsOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var files []string
	for i, line := range []string{"plan inventory", "check inventory", "plan ../../docs/examples/two-rooms.yaml"} {
		text, _ := printed(t, "json", strings.Fields(line)...)
		files = append(files, filepath.Join(dir, fmt.Sprint(i)+".json"))
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	page := filepath.Join(dir, "page.html")
	if status := run(t.Context(), append([]string{"report", "-o", page}, files...), &out, &errs); status != exitDone {
		t.Fatal(errs.String())
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("<title>inventory, two-rooms</title>")) {
		t.Errorf("the page begins %.300s", text)
	}
}

// TestFleetsShowTheirTypes: the policies of a fleet are those of its types, in order; and what the plan without
// margins reaches stands beside what that with them does.
func TestFleetsShowTheirTypes(t *testing.T) {
	t.Parallel()
	text, _ := printed(t, "json", "plan", depotFleet, "--show")
	var types []string
	for _, s := range answerOf(t, text).list("shown") {
		for _, sentence := range s.texts("note") {
			if name, is := strings.CutPrefix(sentence, "An agent of type "); is {
				types = append(types, name)
			}
		}
	}
	if want := []string{"van:", "truck:"}; !slices.Equal(types, want) {
		t.Errorf("the policies are those of %q: want %q", types, want)
	}
	without := answerOf(t, text).num("objective")
	text, _ = printed(t, "json", "plan", depotFleet, "--safety", "0.6")
	a := answerOf(t, text)
	if got := a.num("safety.without"); !near(got, without) || !near(a.num("safety.objective"), a.num("objective")) ||
		!(a.num("objective") < without) {
		t.Errorf("%g without margins, %g with them: plan reaches %g", got, a.num("objective"), without)
	}
}
