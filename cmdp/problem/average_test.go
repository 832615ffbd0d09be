package problem

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exact"
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
	p, err := Parse("a.yaml", []byte(averageFile), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Model.Average() || p.Model.Horizon() != 0 {
		t.Fatal("not a model of averages")
	}
	task, err := p.Task()
	if err != nil {
		t.Fatal(err)
	}
	r, err := exact.Solve(t.Context(), p.Model, task, exact.Options{})
	if err != nil || r.Status != exact.Optimal || r.Objective > -1.5+1e-9 || r.Objective < -1.5-1e-9 {
		t.Fatalf("%v %v, %v: want a reward of 1.5", r.Status, r.Objective, err)
	}
	var rows []PolicyRow
	weight := map[int]float64{}
	for row := range p.PlanRows(r.Policy, r.Components) {
		rows = append(rows, row)
		weight[row.Component] = row.Weight
	}
	if len(weight) != 2 || len(rows) != 4 || weight[1]+weight[2] < 1-1e-12 || min(weight[1], weight[2]) > 0.25+1e-9 || min(weight[1], weight[2]) < 0.25-1e-9 {
		t.Errorf("rows %v: want two components, one drawn with 1/4", rows)
	}
	var out bytes.Buffer
	if err := WritePolicyCSV(&out, p.PlanRows(r.Policy, r.Components)); err != nil || !strings.HasPrefix(out.String(), "component,weight,step,state,action,probability\n1,0.") {
		t.Errorf("%v: %q", err, out.String())
	}
	out.Reset()
	if err := jsonPolicy(&out, p.PlanRows(r.Policy, r.Components)); err != nil || !strings.Contains(out.String(), `{"component": 2, "weight": 0.`) {
		t.Errorf("%v: %q", err, out.String())
	}
	out.Reset()
	if err := Write(&out, p); err != nil || !strings.Contains(out.String(), "\ncriterion: average\n") {
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
		_, err := Parse("a.yaml", []byte(strings.Replace(averageFile, "criterion: average", text, 1)), nil)
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
	reach := strings.Replace(mixedFile, "moving: {criterion: total}}", "moving: {criterion: total}, there: {reach: new, criterion: total}, stays: {visits: old}}", 1)
	for _, text := range []string{mixedFile, other, reach, strings.Replace(reach, "at_most: 3}", "at_most: 5}, {return: there, at_most: 0.6}", 1)} {
		for range 2 { // again from what is written
			p, err := Parse("a.yaml", []byte(text), nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			var out bytes.Buffer
			if err := Write(&out, p); err != nil {
				t.Fatal(err)
			}
			if p, err = p.Unfold(MemoryOptions{}); err != nil {
				t.Fatal(err)
			}
			if m := p.Model; m.Average() || !m.Means() || !m.Mean(0) || m.Mean(1) || m.Dim() > 2 && (m.Mean(2) || !m.Mean(3)) {
				t.Fatalf("which returns are means is wrong:\n%s", text)
			}
			task, err := p.Task()
			if err != nil {
				t.Fatal(err)
			}
			r, err := exact.Solve(t.Context(), p.Model, task, exact.Options{})
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
		strings.Replace(mixedFile, "criterion: total", "criterion: mean", 1):                                                                   "a.yaml:5:40: returns.moving.criterion: got mean: want total or average",
		strings.Replace(mixedFile, "criterion: average\n", "horizon: 3\n", 1):                                                                  "returns.moving.criterion: given with a horizon",
		strings.Replace(mixedFile, "criterion: average\n", "discount: 0.9\n", 1):                                                               "returns.moving.criterion: given with a discount",
		strings.Replace(mixedFile, "criterion: average\n", "criterion: average\ndiscount: 1\n", 1):                                             "given besides a horizon or a discount",
		strings.Replace(mixedFile, "moving: {criterion: total}", "moving: {criterion: total}, much: {exceeds: {return: moving, limit: 3}}", 1): "returns.much.criterion: the total over an episode has no long-run mean: want criterion: total",
	} {
		_, err := Parse("a.yaml", []byte(text), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}
