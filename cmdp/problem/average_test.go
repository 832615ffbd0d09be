package problem

import (
	"bytes"
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
