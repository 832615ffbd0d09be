package query

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
)

const averageFile = `format: cmdp/1
criterion: average
states: [left, right]
start: left
returns: [reward, cost]
transitions:
  - {state: left, action: stay, next: {left: 1}, returns: [1, 0]}
  - {state: left, action: go, next: {right: 1}, returns: [0, 0]}
  - {state: right, action: stay, next: {right: 1}, returns: [3, 4]}
goal: {maximize: reward}
constraints:
  - {return: cost, at_most: 1}
`

// TestAverageProblem reads a problem of long-run means: staying on the right gives 3 at a cost
// of 4, so that a quarter of the runs may go there. The policy has to draw that at the start.
func TestAverageProblem(t *testing.T) {
	p, err := problem.Parse("a.yaml", []byte(averageFile), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Model.Average() || p.Model.Horizon() != 0 {
		t.Fatal("not a model of averages")
	}
	q, err := New(t.Context(), p, CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Solve(t.Context(), exact.Options{})
	if err != nil || r.Status != exact.Optimal || r.Objective > -1.5+1e-9 || r.Objective < -1.5-1e-9 {
		t.Fatalf("%v %v, %v: want a reward of 1.5", r.Status, r.Objective, err)
	}
	var rows []problem.PolicyRow
	weight := map[int]float64{}
	for row := range q.PlanRows(r.Policy, r.Mixture) {
		rows = append(rows, row)
		weight[row.Component] = row.Weight
	}
	if len(weight) != 2 || len(rows) != 4 || weight[1]+weight[2] < 1-1e-12 || min(weight[1], weight[2]) > 0.25+1e-9 ||
		min(weight[1], weight[2]) < 0.25-1e-9 {
		t.Errorf("rows %v: want two policies, one drawn with 1/4", rows)
	}
	var out bytes.Buffer
	if err := problem.WritePolicyCSV(&out, q.PlanRows(r.Policy, r.Mixture)); err != nil ||
		!strings.HasPrefix(out.String(), "component,weight,step,state,action,probability\n1,0.") {
		t.Errorf("%v: %q", err, out.String())
	}
	file := filepath.Join(t.TempDir(), "policy.json")
	if err := problem.WritePolicy(file, q.Process, q.PlanRows(r.Policy, r.Mixture)); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), `{"component": 2, "weight": 0.`) {
		t.Errorf("%v: %q", err, text)
	}
	out.Reset()
	if err := problem.Write(&out, p); err != nil || !strings.Contains(out.String(), "\ncriterion: average\n") {
		t.Errorf("%v: %q", err, out.String())
	}
}

// TestTimeIsOne wants a horizon, a discount and a criterion to exclude each other.
func TestTimeIsOne(t *testing.T) {
	for text, want := range map[string]string{
		"criterion: average\nhorizon: 3":    "given besides a horizon or a discount",
		"criterion: average\ndiscount: 0.9": "given besides a horizon or a discount",
		"criterion: mean":                   "want average",
	} {
		_, err := problem.Parse("a.yaml", []byte(strings.Replace(averageFile, "criterion: average", text, 1)), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

const mixedFile = `format: cmdp/1
criterion: average
states: [home, old, new]
start: home
returns: {pay: {}, moving: {criterion: total}}
transitions:
  - {state: home, action: stay, next: {old: 1}}
  - {state: home, action: move, next: {new: 0.8, home: 0.2}, returns: {moving: 4}}
  - {state: old, action: work, next: {old: 1}, returns: {pay: 1}}
  - {state: new, action: rest, next: {new: 1}, returns: {pay: 2}}
goal: {maximize: pay}
constraints: [{return: moving, at_most: 3}]
`

// TestMixedProblem reads a problem of a mean and a total: moving costs 5 in all, so that three runs of five
// may move, to 2 in each step in place of 1. The same file with the criteria the other way round is
// the same problem, and so is what is written.
func TestMixedProblem(t *testing.T) {
	other := strings.Replace(strings.Replace(mixedFile, "criterion: average\n", "discount: 1\n", 1),
		"{pay: {}, moving: {criterion: total}}", "{pay: {criterion: average}, moving: {}}", 1)
	reach := strings.Replace(mixedFile, "moving: {criterion: total}}",
		"moving: {criterion: total}, there: {reach: new, criterion: total}, stays: {visits: old}}", 1)
	for _, text := range []string{mixedFile, other, reach,
		strings.Replace(reach, "at_most: 3}", "at_most: 5}, {return: there, at_most: 0.6}", 1)} {
		for range 2 { // again from what is written
			p, err := problem.Parse("a.yaml", []byte(text), nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			var out bytes.Buffer
			if err := problem.Write(&out, p); err != nil {
				t.Fatal(err)
			}
			q, err := New(t.Context(), p, CompileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if m := q.Model; m.Average() || !m.Means() || !m.Mean(0) || m.Mean(1) ||
				m.Dim() > 2 && (m.Mean(2) || !m.Mean(3)) {
				t.Fatalf("which returns are means is wrong:\n%s", text)
			}
			r, err := q.Solve(t.Context(), exact.Options{})
			if err != nil || r.Status != exact.Optimal || math.Abs(r.Objective+1.6) > 1e-9 {
				t.Fatalf("%v, %v: want a pay of 1.6\n%s", r, err, text)
			}
			if len(r.Returns) > 2 && (math.Abs(r.Returns[2]-0.6) > 1e-9 || math.Abs(r.Returns[3]-0.4) > 1e-9) {
				t.Errorf("returns %v: want to be there with 0.6, and 0.4 of all steps in old", r.Returns)
			}
			text = out.String()
		}
	}
}

// TestCriterionErrors names what is wrong with the criterion of a return.
func TestCriterionErrors(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(mixedFile, "criterion: total", "criterion: mean",
			1): "a.yaml:5:40: returns.moving.criterion: got mean: want total or average",
		strings.Replace(mixedFile, "criterion: average\n", "horizon: 3\n",
			1): "returns.moving.criterion: given with a horizon",
		strings.Replace(mixedFile, "criterion: average\n", "discount: 0.9\n",
			1): "returns.moving.criterion: given with a discount",
		strings.Replace(mixedFile, "criterion: average\n", "criterion: average\ndiscount: 1\n",
			1): "given besides a horizon or a discount",
		strings.Replace(mixedFile, "moving: {criterion: total}",
			"moving: {criterion: total}, much: {exceeds: {return: moving, limit: 3}}",
			1): "returns.much.criterion: the total over an episode has no long-run mean: want criterion: total",
	} {
		p, err := problem.Parse("a.yaml", []byte(text), nil)
		if err == nil {
			_, err = New(t.Context(), p, CompileOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

// TestPolicyOfStartAlone writes and reads a policy that remembers only whether the episode begins: all that a start
// which has arrived already earns.
func TestPolicyOfStartAlone(t *testing.T) {
	p := parsed(t, "format: cmdp/1\nhorizon: 2\nstates: [a]\nstart: a\nreturns: {r: {}, there: {reach: [a]}}\n"+
		"transitions:\n  - {state: a, action: x, next: {a: 1}, returns: {r: 1}}\n  - {state: a, action: y, next: "+
		"{a: 1}}\ngoal: {maximize: r}\n")
	table := cmdp.Deterministic{{1, 0}, {0, 1}} // x and y, by what is remembered
	for _, ending := range []string{"csv", "json", "npz"} {
		file := filepath.Join(t.TempDir(), "policy."+ending)
		if err := problem.WritePolicy(file, p.Process, p.PolicyRows(table, problem.Agent)); err != nil {
			t.Fatal(err)
		}
		got, err := problem.ReadPolicy(file, p.Process)
		if err != nil {
			t.Errorf("%s: %v", ending, err)
			continue
		}
		want, have := make([]float64, 2), make([]float64, 2)
		for h := range 2 {
			for s := range p.Model.States() {
				table.Distribution(want, h, s)
				got.Distribution(have, h, s)
				if !slices.Equal(want, have) {
					t.Errorf("%s: step %d, state %d: %v: want %v", ending, h, s, have, want)
				}
			}
		}
	}
}
