package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
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

// TestShownPolicy: what a table shows of a policy is what the file has for the first and the last of its steps.
func TestShownPolicy(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 1))
	shown := 0
	for trial := range 20 {
		p := drawProblem(rng, []string{"horizon: 5", "discount: 0.75"}[trial%2])
		path := filepath.Join(t.TempDir(), "policy.csv")
		var out, errs strings.Builder
		args := []string{"plan", p.write(t, 1), "--show", "--policy", path, "--format", "markdown"}
		if run(t.Context(), args, &out, &errs) != exitDone {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := tables(out.String())
		rows := all[len(all)-1]
		steps, does := slices.Index(rows[0], "steps"), slices.Index(rows[0], "policy")
		if rows[0][0] != "state" || does < 0 || (steps >= 0) != (trial%2 == 0) {
			continue // one of several policies is drawn
		}
		p.wantReached(t, string(data), rows, steps)
		for _, row := range rows[1:] {
			ends := []string{""}
			if steps >= 0 {
				ends = strings.Split(row[steps], "–")
			}
			for _, end := range []string{ends[0], ends[len(ends)-1]} {
				want := probabilitiesIn(t, string(data), end, row[0])
				parts, last := strings.Split(row[does], ", "), 1.0
				for _, part := range parts {
					probability, action := 1.0, part
					share, name, is := strings.Cut(part, " ")
					if is != (len(parts) > 1) {
						t.Errorf("trial %d: %q: a probability stands where there is no choice, or none where there is", trial, row)
					}
					if is {
						action = name
						if probability, err = strconv.ParseFloat(share, 64); err != nil {
							t.Fatal(err)
						}
					}
					if shown++; probability > last {
						t.Errorf("trial %d: %q does not begin with what is most likely", trial, row)
					}
					last = probability
					if math.Abs(probability-want[action]) > 1e-2*probability || len(want) != len(parts) {
						t.Errorf("trial %d: %q: want %v", trial, row, want)
					}
				}
			}
		}
	}
	if shown < 40 {
		t.Errorf("%d choices are shown: want more", shown)
	}
}

// TestVisitsOfComponents: the visits of all lines are the steps of an episode, whichever policies are drawn; the lines
// of a long table are those with the most.
func TestVisitsOfComponents(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 6))
	var components []exact.WeightedPolicy
	var p *loaded
	drawn := drawProblem(rng, "horizon: 5")
	drawn.limits = nil
	for k, goal := range []string{"maximize: gain", "minimize: gain"} {
		drawn.goal = goal
		var err error
		p, err = load(drawn.write(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(t.Context(), exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		components = append(components, exact.WeightedPolicy{Weight: 0.25 + 0.5*float64(k), Policy: r.Policy})
	}
	v, sum := &policyShown{loaded: p, components: components, draws: true}, 0.0
	for i := range components {
		if err := v.add(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range v.lines {
		sum += l.visits
	}
	if math.Abs(sum-5) > 1e-9 {
		t.Errorf("%d lines have %g visits in 5 steps", len(v.lines), sum)
	}
	for range 20 {
		v.lines = nil
		var visits []float64
		for range 1 + rng.IntN(80) {
			x := rng.Float64()
			visits = append(visits, x)
			v.lines = append(v.lines, policyLine{component: 1, visits: x, steps: stepRun{1, 5, fmt.Sprint(x)}})
		}
		want := slices.Sorted(slices.Values(visits))
		least := want[max(0, len(want)-mostLines)]
		visits = slices.DeleteFunc(visits, func(x float64) bool { return x < least })
		var shown []float64
		for _, row := range v.table()[0].(*report.Table).Rows {
			x, err := strconv.ParseFloat(fmt.Sprint(row[len(row)-1]), 64)
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, x)
		}
		if !slices.Equal(shown, visits) {
			t.Errorf("of %d lines %v are shown: want %v", len(v.lines), shown, visits)
		}
	}
}

// wantReached looks for every state that a policy comes to, at every step, in a table with such a column.
func (p *drawnProblem) wantReached(t *testing.T, policy string, rows table, steps int) {
	t.Helper()
	if steps < 0 {
		return
	}
	reached := map[int]bool{0: true}
	for step := 1; step <= 5; step++ {
		next := make(map[int]bool)
		for state := range reached {
			if !slices.ContainsFunc(rows[1:], func(row []string) bool {
				first, last, several := strings.Cut(row[steps], "–")
				from, err := strconv.Atoi(first)
				to := from
				if several {
					to, err = strconv.Atoi(last)
				}
				return err == nil && row[0] == strconv.Itoa(state) && from <= step && step <= to
			}) {
				t.Errorf("state %d is reached at step %d: %q", state, step, rows)
			}
			of := probabilitiesIn(t, policy, strconv.Itoa(step), strconv.Itoa(state))
			for _, r := range p.rows {
				if r.state == state && of[strconv.Itoa(r.action)] > 0 {
					next[r.next[0]], next[r.next[1]] = true, true
				}
			}
		}
		reached = next
	}
}

// probabilitiesIn returns the positive probabilities of actions in a file of a policy.
func probabilitiesIn(t *testing.T, file, step, state string) map[string]float64 {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	of := make(map[string]float64)
	column := func(row []string, name string) string {
		if at := slices.Index(rows[0], name); at >= 0 {
			return row[at]
		}
		return ""
	}
	for _, row := range rows[1:] {
		if column(row, "step") != step || column(row, "state") != state {
			continue
		}
		if x, err := strconv.ParseFloat(column(row, "probability"), 64); err == nil && x > 0 {
			of[column(row, "action")] = x
		}
	}
	return of
}

// TestShownWhereStopped: the policy of an answer that stopped is shown, as it is written, and how its returns vary.
func TestShownWhereStopped(t *testing.T) {
	p, err := load("frozenlake4")
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Solve(t.Context(), exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Status = exact.Stopped
	c := &planCommand{streams: streams{err: io.Discard}, showOptions: showOptions{show: true}, distribution: true}
	for range 2 {
		sections, err := c.shownPolicy(t.Context(), p, r)
		d, wrong := c.distributed(t.Context(), p, r)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		if _, none := sections[0].(report.Note); none != (r.Policy == nil) || (len(d.Values) == 0) != none {
			t.Errorf("policy %v: shown %v, distributions %v", r.Policy, sections, d.Values)
		}
		r.Policy, r.Mixture, r.Parts = nil, nil, nil
	}
}
