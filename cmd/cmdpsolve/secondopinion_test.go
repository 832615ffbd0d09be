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

	"cmdpsolve/cmdp/exact"
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

// TestOpinionIsHeldAgainstThePlan: a second opinion agrees if it has the status of the plan and, up to rounding, its
// objective, which is told in the user's sense.
func TestOpinionIsHeldAgainstThePlan(t *testing.T) {
	p, err := load("cliff:rows=3,cols=4,H=8") // to maximize
	if err != nil {
		t.Fatal(err)
	}
	states := []exact.Verdict{exact.Optimal, exact.Infeasible, exact.Undecided}
	for _, mine := range states {
		for _, theirs := range states {
			for _, difference := range []float64{0, 1e-9, 0.25, -0.25} {
				o := newOpinionReport(p, &exact.Opinion{Status: theirs, Objective: -3 + difference, Rows: 4, Columns: 5,
					Iterations: 6}, &exact.Result{Status: mine, Objective: -3})
				both := mine == exact.Optimal && theirs == exact.Optimal
				want := mine == theirs && mine != exact.Undecided && (!both || math.Abs(difference) < 0.1)
				told := float64(o.Objective) == 3-difference && near(float64(o.Difference), math.Abs(difference))
				if o.Agrees != want || o.Status != theirs.String() || (o.Objective == o.Objective) != both ||
					both && !told ||
					o.Rows != 4 || o.Columns != 5 || o.Iterations != 6 {
					t.Errorf("%v, and GLPK %v by %g: %+v, want it to agree: %v", mine, theirs, difference, o, want)
				}
			}
		}
	}
}
