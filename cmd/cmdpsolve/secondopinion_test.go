package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmdpsolve/oracle/lp"
)

// TestSecondOpinion compares plan with GLPK where it is built in, and elsewhere wants a
// refusal that says how to build it in.
func TestSecondOpinion(t *testing.T) {
	write := func(rest string) string {
		file := filepath.Join(t.TempDir(), "p.yaml")
		const model = `
format: cmdp/1
states: 2
start: 0
returns: [reward, cost]
transitions:
  - {state: 0, action: stay, next: {0: 1}, returns: [1, 1]}
  - {state: 0, action: go, next: {1: 1}, returns: [0, 2]}
  - {state: 1, action: stay, next: {1: 1}, returns: [3, 3]}
  - {state: 1, action: go, next: {0: 1}, returns: [0, 0]}
`
		if err := os.WriteFile(file, []byte(model+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	refused := func(words string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		status := run(context.Background(), append(args, "--second-opinion"), &out, &errs)
		if status != exitUsage || !strings.Contains(errs.String(), words) || out.Len() > 0 {
			t.Errorf("%v: exit status %d, %q: want %d and %q", args, status, errs.String(), exitUsage, words)
		}
	}
	if _, err := lp.NewGLPK(nil); errors.Is(err, lp.ErrNoGLPK) {
		refused("go install -tags glpk ./cmd/cmdpsolve", "plan", "media")
		return
	}
	refused("a game", "plan", "matrix")
	refused("the goal is curved", "plan", write("discount: 0.9\ngoal: {cost: {squared: {center: [20, 10]}}}\n"))
	refused("the target is curved", "plan",
		write("discount: 0.9\ngoal: {maximize: reward}\ntarget: {ball: {center: [20, 10], radius: 8}}\n"))
	refused("at most 20000", "plan", "frozenlake8")
	for problem, status := range map[string]int{
		"media": exitDone, "inventory": exitDone, "cliff:rows=3,cols=4,H=20,budget=1": exitDone,
		write("horizon: 5\nconstraints: [{return: cost, at_most: 7}]\n"):                                       exitDone,
		write("discount: 0.9\ngoal: {maximize: reward}\nconstraints: [{return: cost, at_most: 12}]\n"):         exitDone,
		write("discount: 0.9\ngoal: {cost: {linear: {cost: 2}}}\ntarget: {affine: {A: [[1, -1]], b: [-1]}}\n"): exitDone,
		write("discount: 0.9\nconstraints: [{return: cost, at_most: 5}, {return: reward, at_least: 9}]\n"):     exitInfeasible,
	} {
		var r planReport
		runJSON(t, &r, status, "plan", problem, "--second-opinion")
		o := r.SecondOpinion
		if o == nil || !o.Agrees || o.Status != r.Status || o.Rows == 0 || o.Columns == 0 || o.Iterations == 0 {
			t.Errorf("%s: %s, second opinion %+v", problem, r.Status, o)
			continue
		}
		if d := math.Abs(float64(o.Objective - r.Objective)); d > 1e-7*(1+math.Abs(float64(r.Objective))) {
			t.Errorf("%s: objective %g, by GLPK %g", problem, r.Objective, o.Objective)
		}
	}
}

// TestContradiction: answers that differ are an error.
func TestContradiction(t *testing.T) {
	for _, c := range []struct {
		opinion *opinionReport
		status  string
		want    string
	}{
		{nil, "optimal", ""},
		{&opinionReport{Status: "optimal", Agrees: true}, "optimal", ""},
		{&opinionReport{Status: "optimal", Objective: 3}, "optimal", "the objective is 2, by GLPK 3"},
		{&opinionReport{Status: "infeasible"}, "optimal", "plan says optimal, GLPK says infeasible"},
		{&opinionReport{Status: "undecided"}, "optimal", ""},
		{&opinionReport{Status: "optimal"}, "undecided", ""},
	} {
		err := c.opinion.contradiction(&planReport{Status: c.status, planWorth: planWorth{Objective: 2}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v beside %s: error %v, want %q", c.opinion, c.status, err, c.want)
		}
	}
}
