package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/query"
)

// TestSuitesCanBePlayed prepares every entry of the suites: each of their learners can play it.
func TestSuitesCanBePlayed(t *testing.T) {
	for _, file := range []string{"instances.yaml", "games.yaml", "posterior.yaml"} {
		suite, err := contest.ReadSuite(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range suite.Problems {
			q := compiled(t, e.Problem)
			e.Settings.Rho = contest.Defaults().Rho
			c, err := contest.New(t.Context(), q, e.Settings, contest.PrepareOptions{Unmeasured: true, Unsolved: true})
			if err != nil {
				t.Errorf("%s, %s: %v", file, e.Name, err)
				continue
			}
			if refusals := c.Refusals(); len(refusals) > 0 {
				t.Errorf("%s, %s: %v", file, e.Name, refusals)
			}
		}
	}
}

// compiled reads a problem by its name and compiles its question.
func compiled(t *testing.T, name string) *query.Query {
	t.Helper()
	p, err := harness.Problem(name)
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.New(t.Context(), p, query.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestFit plays two short suites, of a problem and of a game that the opponent can keep from its target, and fits them.
func TestFit(t *testing.T) {
	dir := t.TempDir()
	text := `{format: cmdp-suite/1, seeds: 2, episodes: 300, algorithms: [moma-double, moma-free], problems: [
inventory, {problem: "matrix:limit=0.4", name: pennies, algorithms: [moma-free]}]}`
	file := filepath.Join(dir, "short.yaml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	suite, err := contest.ReadSuite(file)
	if err != nil {
		t.Fatal(err)
	}
	folder := &contest.Folder{Path: dir}
	for _, e := range suite.Problems {
		q := compiled(t, e.Problem)
		c, err := contest.New(t.Context(), q, e.Settings, contest.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := folder.Add(c, e.Name); err != nil {
			t.Fatal(err)
		}
		if err := contest.Play(t.Context(), c.Trials(), contest.PlayOptions{Keeper: folder}); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--suite", file, "--results", dir, "--out", dir, "--resamples", "100"}
	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "short-slopes.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| moma-double | regret | ", "| moma-double | violation | ", "| moma-free | violation | ",
		"0.141 ≤ δ ≤ 0.141", "| moma-free | excess | "} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
}

// TestExcess has a slope beyond the gap alone: the distance itself stays at the gap.
func TestExcess(t *testing.T) {
	var r contest.RunResult
	for k := 1; k <= 10000; k *= 2 {
		r.History = append(r.History, contest.Record{Episode: k,
			Metrics: contest.Values{"violation": 0.5 + 1/float64(k)}})
	}
	c := curveOf([]*contest.RunResult{&r, &r}, "violation", 0.5)
	o := options{resamples: 100}
	if got, decades := o.fitted(c); got != "-1.00 [-1.00, -1.00]" || decades != "-1.00, -1.00" {
		t.Errorf("excess 1/k: slope %s, by decade %s", got, decades)
	}
	if got, decades := o.fitted(curveOf([]*contest.RunResult{&r}, "violation", 2)); got != "–" || decades != "–" {
		t.Errorf("inside the gap: slope %s, by decade %s", got, decades)
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--resamples 3", "--resamples 3"},
		{"here", `argument "here"`},
		{"--suite nowhere.yaml", "nowhere.yaml"},
		{"--suite instances.yaml --results nowhere", "no results in nowhere"},
	} {
		err := run(t.Context(), strings.Fields(c.args))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.args, err, c.want)
		}
	}
}
