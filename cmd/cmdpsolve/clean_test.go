package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"unicode"
)

// hostile is a name that moves the cursor, sets a title, changes the direction of what follows and ends a line.
const hostile = "a\x1b[2J\x1b]0;title\a\u202etxt\u2066\u200f\u009b31m\r\x7f"

// unclean returns the first character that must not reach a terminal.
func unclean(text string) (rune, bool) {
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return r, true
		}
	}
	return 0, false
}

// TestTerminalIsClean has every command speak of files and names that have control characters: of states, actions,
// returns and labels of models, of problems, of results, on command lines and in what is wrong with them.
func TestTerminalIsClean(t *testing.T) {
	filesOf(t)
	quoted := strings.NewReplacer("\x1b", `\e`, "\a", `\a`, "\u202e", `\u202e`, "\u2066", `\u2066`, "\u200f", `\u200f`,
		"\u009b", `\u009b`, "\r", `\r`, "\x7f", `\x7f`).Replace(hostile)
	inJSON := strings.NewReplacer("\x1b", `\u001b`, "\a", `\u0007`, "\r", `\r`, "\x7f", `\u007f`).Replace(hostile)
	file := strings.ReplaceAll(hostile, "\r", "") + ".yaml"
	result, err := os.ReadFile("result.json")
	if err != nil {
		t.Fatal(err)
	}
	problem := "format: cmdp/1\nname: N\nhorizon: 2\nstates: [S, b]\nstart: S\nreturns: [R]\nlabels: {L: " +
		"[b]}\ntransitions:\n" +
		"  - {state: S, action: A, next: {b: 1}, returns: [1]}\ngoal: {maximize: R}\nlet: {K: 1}\n"
	files := map[string]string{
		file: strings.ReplaceAll(problem, "goal", "gaol"),
		"good.drn": "@type: MDP\n@parameters\n\n@reward_models\n" + strings.ReplaceAll(hostile, "\r", "") +
			"\n@nr_states\n1\n@nr_choices\n1\n@model\nstate 0 [1] init " + `"` + strings.ReplaceAll(hostile, "\r", "") +
			`"` + "\n\taction " + strings.ReplaceAll(strings.ReplaceAll(hostile, "\r", ""), " ", "") +
			" [0]\n\t\t0 : 1\n",
		"drn.yaml":    "format: cmdp/1\nhorizon: 2\ntransitions: {file: good.drn}\n",
		"suite2.yaml": "format: cmdp-suite/1\nproblems: [problem.yaml]\nalgorithms: [\"" + quoted + "\"]\n",
		"suite3.yaml": "format: cmdp-suite/1\nproblems: [\"" + quoted + "\"]\n\"" + quoted + "\": 1\n",
		"wrong.csv":   "step,state,action,probability\n," + strings.ReplaceAll(hostile, "\r", "") + ",go,1\n",
		"wrong.json": `[{"state": "` + inJSON + `", "action": "x", "probability": "` + inJSON + `", "` + inJSON +
			`": 1}]`,
		"named.json": strings.Replace(string(result), `"problem": "problem.yaml"`, `"problem": "`+inJSON+`"`, 1),
	}
	for _, part := range []string{"N", "S", "R", "L", "A", "K"} {
		files["part"+part+".yaml"] = strings.ReplaceAll(problem, part, `"`+quoted+`"`)
		files["part"+part+".json"] = `{"format": "cmdp/1", "` + inJSON + `": 1, "name": "` + inJSON + `"}`
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Skip("no such names here: ", err)
		}
	}
	lines := [][]string{
		{"check", file}, {"plan", file}, {"plan", "no" + file}, {"plan", "problem.yaml", "--" + hostile},
		{"plan", "problem.yaml", "--at-most", hostile + "=1"},
		{"plan", "problem.yaml", "--policy", hostile + ".csv"}, {"plan", "problem.yaml", "--policy", hostile},
		{"plan", "problem.yaml", "--gap", hostile},
		{"plan", "problem.yaml", "--format", hostile}, {hostile}, {"plan", "problem.yaml", "--set", hostile + "=1"},
		{"plan", "problem.yaml", "--sweep", hostile},
		{"convert", "good.drn", "good2.umb"}, {"convert", "good.drn", "good2.umb", "--format", "markdown"},
		{"check", "drn.yaml"}, {"plan", "drn.yaml", "--show"},
		{"compare", "--suite", "suite2.yaml"}, {"compare", "--suite", "suite3.yaml"},
		{"simulate", "problem.yaml", "--policy", "wrong.csv"},
		{"simulate", "problem.yaml", "--policy", "wrong.json"}, {"plot", "named.json", "--problem", hostile},
		{"plot", "named.json", "--output", hostile + ".svg"},
		{"report", "named.json", "--output", hostile + ".html"}, {"instances", hostile},
		{"learn", "problem.yaml", "--learner", hostile},
		{"learn", "problem.yaml", "--save", "no/" + hostile}, {"compare", "problem.yaml", "--algorithms", hostile},
		{"front", "problem.yaml", "--over", hostile},
		{"compare", "--suite", "suite.yaml", "--results", hostile, "--shard", "1/2"},
		{"explore", "problem.yaml", "--listen", hostile}, {"man", "problem.yaml/" + hostile},
	}
	for _, part := range []string{"N", "S", "R", "L", "A", "K"} {
		for _, name := range []string{"part" + part + ".yaml", "part" + part + ".json"} {
			lines = append(lines, []string{"plan", name, "--show"}, []string{"check", name, "--format", "markdown"},
				[]string{"plan", name, "--format", "latex"})
		}
	}
	for _, line := range lines {
		var out, said bytes.Buffer
		run(context.Background(), line, &out, &said)
		for _, text := range []string{out.String(), said.String()} {
			if r, bad := unclean(text); bad {
				t.Errorf("%q writes %U: %q", line, r, text)
			}
		}
	}
	var shown bytes.Buffer
	streams{err: &shown}.say("a message about %s", hostile)
	if r, bad := unclean(shown.String()); bad {
		t.Errorf("a message has %U: %q", r, shown.String())
	}
	shown.Reset()
	status := lateLine(&shown, 80)
	status.working("reading "+hostile, 0.5)
	if r, bad := unclean(strings.TrimPrefix(shown.String(), "\r\x1b[K")); bad {
		t.Errorf("the status line writes %U: %q", r, shown.String())
	}
}
