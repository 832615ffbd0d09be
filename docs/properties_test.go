package docs

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// A way from home leads half of the time along the river, which is not safe and ends at the goal for 4, and
// half through the fields, where each step costs 2 and leads to the goal with 0.4 or into a pit with 0.1.
const walk = `@type: MDP
@parameters

@reward_models
x
@nr_states
5
@nr_choices
5
@model
state 0 [0] init safe
	action a [1]
		1 : 0.5
		2 : 0.5
state 1 [0] safe
	action a [2]
		1 : 0.5
		3 : 0.4
		4 : 0.1
state 2 [0]
	action a [4]
		3 : 1
state 3 [0] goal safe
state 4 [0] safe
`

// A machine that runs at 3 a step breaks half of the time, and is mended for 6.
const machine = `@type: MDP
@parameters

@reward_models
x
@nr_states
2
@nr_choices
2
@model
state 0 [0] init up
	action a [3]
		0 : 0.5
		1 : 0.5
state 1 [0]
	action a [6]
		0 : 1
`

// A quarter of all lots wins 4 a step for ever.
const lot = `@type: MDP
@parameters

@reward_models
x
@nr_states
3
@nr_choices
3
@model
state 0 [0] init
	action a [0]
		1 : 0.25
		2 : 0.75
state 1 [0] goal
	action a [4]
		1 : 1
state 2 [0]
	action a [0]
		2 : 1
`

// TestProperties plans what the table of properties.md says about each formula, in models without choices,
// whose values are worked out by hand.
func TestProperties(t *testing.T) {
	page, err := os.ReadFile("properties.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## What is measured")
	table, _, _ = strings.Cut(table, "\nWhere only")
	const river, fields = 0.5, 0.5
	cases := []struct {
		formula, spec, time string // as the page has them
		model               string
		more                string // in place of what the page leaves to the row before
		want                float64
	}{
		{`R{"x"} [C]`, "x: {reward: x}", "discount: 1", walk, "", 1 + river*4 + fields*2*2},
		{`R{"x"} [C<=k]`, "the same", "horizon: k", walk, "x: {reward: x}", 1 + river*4 + fields*(2+0.5*2)},
		{`R{"x"} [C{"y"}<=k]`, "t: {total: x, within: {return: y, at_most: k}}", "discount: 1", walk,
			"t: {total: x, within: {return: x, at_most: k}}, x: {reward: x}", 1 + fields*2},
		{`R{"x"} [F "goal"]`, "the same", "discount: 1", walk, "x: {reward: x}", 1 + river*4 + fields*2*2},
		{`P [F "goal"]`, "p: {reach: goal}", "discount: 1", walk, "", river + fields*0.8},
		{`P ["safe" U "goal"]`, "p: {reach: goal, while: safe}", "discount: 1", walk, "", fields * 0.8},
		{`P [F<=k "goal"]`, "the same with `within: k`", "discount: 1", walk, "p: {reach: goal, within: k}",
			river + fields*(0.4+0.5*0.4)},
		{`P ["safe" U<=k "goal"]`, "the same with `within: k`", "discount: 1", walk,
			"p: {reach: goal, while: safe, within: k}", fields * (0.4 + 0.5*0.4)},
		{`P [F{"x"}<=k "goal"]`, "p: {reach: goal, within: {return: x, at_most: k}}", "discount: 1", walk,
			"p: {reach: goal, within: {return: x, at_most: k}}, x: {reward: x}", fields * 0.4},
		{`P>=p [G "safe"]`, "p: {reach: {not: safe}}", "discount: 1", walk, "", river}, // at most 1 − p
		{`R{"x"} [S]`, "x: {reward: x}", "criterion: average", machine, "", (2*3 + 6) / 3.0},
		{`R{"x"} [LRA]`, "x: {reward: x}", "criterion: average", machine, "", (2*3 + 6) / 3.0},
		{`S ["up"]`, "up: {visits: up}", "criterion: average", machine, "", 2 / 3.0},
		{`LRA ["up"]`, "up: {visits: up}", "criterion: average", machine, "", 2 / 3.0},
		{"means beside", "with `criterion: average`", "discount: 1", lot,
			"p: {reach: goal}, x: {reward: x, criterion: average}", 0.25},
		{"means beside", "with `criterion: total`", "criterion: average", lot,
			"p: {reach: goal, criterion: total}, x: {reward: x}", 0.25},
	}
	rows := 0
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "|") || strings.HasPrefix(row, "|---") || strings.HasPrefix(row, "| formula") {
			continue
		}
		rows++
		tried := 0
		for _, c := range cases {
			if !strings.Contains(row, c.formula) {
				continue
			}
			tried++
			if !strings.Contains(row, c.spec) || !strings.Contains(row, c.time) {
				t.Errorf("%s: tried with %q and %q, the page has %s", c.formula, c.spec, c.time, row)
			}
			spec := c.spec
			if c.more != "" {
				spec = c.more
			}
			text := strings.ReplaceAll("format: cmdp/1\n"+c.time+"\nreturns: {"+spec+
				"}\ntransitions: {file: model.drn}\n", ": k", ": 3")
			if got := planOne(t, c.model, text); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("%s: %v, want %v:\n%s", c.formula, got, c.want, text)
			}
		}
		if tried == 0 {
			t.Errorf("no test has the formula of the row %s", row)
		}
	}
	if rows == 0 {
		t.Error("properties.md has no table of what is measured")
	}
}

// planOne returns the first return of the only policy of a problem.
func planOne(t *testing.T, model, text string) float64 {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"model.drn": model, "problem.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := problem.Read(filepath.Join(dir, "problem.yaml"))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	q, err := query.New(t.Context(), p, query.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Solve(t.Context(), exact.Options{})
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if len(r.Returns) == 0 {
		t.Fatalf("%v:\n%s", r.Status, text)
	}
	return r.Returns[0]
}
