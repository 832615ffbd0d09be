package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// readFleet compiles a problem file of a fleet.
func readFleet(t *testing.T, path string) *query.Query {
	t.Helper()
	p, err := problem.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.New(t.Context(), p, query.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestAdvertising: the optimum that the authors of another tool state for their example.
func TestAdvertising(t *testing.T) {
	q := readFleet(t, "testdata/fleet/advertising.yaml")
	plan, err := q.SolveFleet(t.Context(), exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Status != exact.Optimal || math.Abs(q.Objective(plan.Returns)-209.24) > 0.005 || plan.Gap > 1e-7 {
		t.Errorf("%v: %v, gap %v: want 209.24", plan.Status, q.Objective(plan.Returns), plan.Gap)
	}
}

// TestFleetCompiles: limits at single steps have coordinates of their own, and are moved together.
func TestFleetCompiles(t *testing.T) {
	q := readFleet(t, "../problem/testdata/fleet/chargers.yaml")
	if q.Model != nil || len(q.Returns) != 3+6 || q.Returns[8] != "chargers at step 6" || len(q.Rows()) != 1+6+2 {
		t.Fatalf("returns %v, %d rows", q.Returns, len(q.Rows()))
	}
	last := q.Rows()[8]
	if last.Name != "chargers at step 3 ≤ 1.5" || last.Step != 3 || last.Coordinate() != 5 {
		t.Errorf("%+v", last)
	}
	wide, err := q.With(t.Context(),
		query.Change{Bounds: []query.Bound{{Return: "chargers at each step", Kind: "at_most", Value: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range wide.Rows()[1:7] {
		if l.Bound != 1 {
			t.Errorf("%s: want a bound of 1", l.Name)
		}
	}
	if wide.Fleet() != q.Fleet() {
		t.Error("the models are compiled again")
	}
	none, err := q.With(t.Context(),
		query.Change{Bounds: []query.Bound{{Return: "chargers at each of the steps 2-3", Kind: "at_most",
			Value: math.Inf(1)}}})
	if err != nil || len(none.Rows()) != 7 {
		t.Errorf("%d rows are left, %v", len(none.Rows()), err)
	}
	limitable := strings.Join(q.Limitable(), ", ")
	if limitable != "delivered, kwh, chargers, chargers at each step, chargers at each of the steps 2-3" {
		t.Error(limitable)
	}
}

// TestFleetConflict: limits that no fleet can keep are named with their steps.
func TestFleetConflict(t *testing.T) {
	q := readFleet(t, "../problem/testdata/fleet/chargers.yaml")
	q, err := q.With(t.Context(), query.Change{Bounds: []query.Bound{
		{Return: "chargers at each step", Kind: "at_most", Value: 0.5},
		{Return: "delivered", Kind: "at_least", Value: 20}}})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := q.SolveFleet(t.Context(), exact.Options{NoNearest: true})
	if err != nil || plan.Status != exact.Infeasible {
		t.Fatalf("%v, %v", plan.Status, err)
	}
	clash, err := q.Conflict(t.Context(), exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var limits []*query.Limit
	for _, c := range clash {
		limits = append(limits, c.Limit)
	}
	if got := strings.Join(query.Steps(limits), ", "); got !=
		"chargers at each of the steps 1-5 ≤ 0.5, delivered ≥ 20" {
		t.Error(got)
	}
}

// TestFleetOfOne: a fleet of one agent is planned for as its model is, with a linear goal, a curved one and a target.
func TestFleetOfOne(t *testing.T) {
	const model = `
states: [a, b, c]
start: {a: 0.6, b: 0.4}
returns: [x, y]
%s
transitions:
  - {state: a, action: 0, next: {b: 0.5, c: 0.5}, returns: [1, 0.2]}
  - {state: a, action: 1, next: {c: 1}, returns: [0.3, 1]}
  - {state: b, action: 0, next: {a: 1}, returns: [0, 0.7]}
  - {state: b, action: 1, next: {b: 0.2, c: 0.8}, returns: [0.9, 0]}
  - {state: c, action: 0, next: {a: 0.3, c: 0.7}, returns: [0.4, 0.4]}
  - {state: c, action: 1, next: {a: 0.9, b: 0.1}, returns: [0, 0]}
`
	indented := strings.ReplaceAll(strings.Replace(model, "%s", "", 1), "\n", "\n      ")
	for _, time := range []string{"horizon: 5", "discount: 0.8", "criterion: average"} {
		for _, wanted := range []string{
			"goal: {maximize: x}\nconstraints: [{return: y, at_most: 0.3}]",
			"goal: {cost: {squared: {center: [2, 1], weights: [1, 2]}}}",
			"goal: {minimize: y}\ntarget: {ball: {center: [0.5, 0.4], radius: 0.15}}",
			"goal: {maximize: x}\nconstraints: [{return: y, at_least: 100}]",
		} {
			alone, err := problem.Parse("one.yaml",
				[]byte("format: cmdp/1\n"+time+"\n"+strings.Replace(model, "%s", wanted, 1)), nil)
			if err != nil {
				t.Fatal(err)
			}
			fleet, err := problem.Parse("fleet.yaml", []byte("format: cmdp/1\n"+time+"\nreturns: [x, y]\n"+wanted+
				"\nfleet:\n  - name: one\n    count: 1\n    model:"+indented), nil)
			if err != nil {
				t.Fatal(err)
			}
			var results [2]*exact.Result
			for i, p := range []*problem.Problem{alone, fleet} {
				q, err := query.New(t.Context(), p, query.CompileOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if results[i], err = q.Solve(t.Context(), exact.Options{}); err != nil {
					t.Fatalf("%s, %s: %v", time, wanted, err)
				}
				if want := map[string]int{"horizon: 5": 5}[time]; q.Horizon() != want {
					t.Errorf("%s: horizon %d", time, q.Horizon())
				}
			}
			one, many := results[0], results[1]
			if one.Status != many.Status || one.Status == exact.Optimal &&
				math.Abs(one.Objective-many.Objective) > 1e-6*(1+math.Abs(one.Objective)) {
				t.Errorf("%s, %s: %v %v: want %v %v", time, wanted, many.Status, many.Objective, one.Status,
					one.Objective)
			}
		}
	}
}

// TestFairness: two types that share a resource, and the least of what they have is to be large: a curved goal
// couples them.
func TestFairness(t *testing.T) {
	const text = `
format: cmdp/1
horizon: 1
returns: [first, second, used]
goal: {cost: {max: [{linear: {first: -1}}, {linear: {second: -1}}]}}
constraints: [{return: used, each_step: true, at_most: 6}]
fleet:
  - {name: a, count: 10, model: {states: 1, start: 0, returns: [gain, used], transitions: [{state: 0, action: go, next: {0: 1}, returns: [1, 1]}, {state: 0, action: rest, next: {0: 1}, returns: [0, 0]}]}, returns: {first: gain, used: used}}
  - {name: b, count: 10, model: {states: 1, start: 0, returns: [gain, used], transitions: [{state: 0, action: go, next: {0: 1}, returns: [2, 1]}, {state: 0, action: rest, next: {0: 1}, returns: [0, 0]}]}, returns: {second: gain, used: used}}
`
	p, err := problem.Parse("fair.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.New(t.Context(), p, query.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := q.SolveFleet(t.Context(), exact.Options{})
	// 4 of the first and 2 of the second go
	if err != nil || plan.Status != exact.Optimal || math.Abs(plan.Objective+4) > 1e-6 {
		t.Errorf("%v %v, %v: want -4", plan.Status, plan.Objective, err)
	}
	if math.Abs(plan.Whole[0]-4) > 1e-9 || math.Abs(plan.Whole[1]-4) > 1e-9 {
		t.Errorf("whole agents come to %v", plan.Whole)
	}
}

func TestFleetRefusals(t *testing.T) {
	p, err := problem.Read("../problem/testdata/fleet/chargers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	always := *p
	always.Constraints = append([]problem.Limit{}, p.Constraints...)
	always.Constraints[0].Always = true
	if _, err := query.New(t.Context(), &always, query.CompileOptions{}); err == nil ||
		!strings.Contains(err.Error(), "constraints[0]") {
		t.Errorf("always: %v", err)
	}
}

// TestFleetOfCopies: a fleet of eight agents of one model, whose starts are counted, is worth eight times one agent
// with limits of an eighth, whatever returns tell of the course of episodes and whether totals are rounded for them.
func TestFleetOfCopies(t *testing.T) {
	const rows = `
transitions:
  - {state: a, action: 0, next: {b: 0.5, c: 0.5}, returns: {x: 1, y: 0.25}}
  - {state: a, action: 1, next: {c: 1}, returns: {x: 0.5, y: 1}}
  - {state: b, action: 0, next: {a: 1}, returns: {y: 0.5}}
  - {state: b, action: 1, next: {b: 0.25, c: 0.75}, returns: {x: 1}}
  - {state: c, action: 0, next: {a: 0.25, c: 0.75}, returns: {x: 0.25, y: 0.25}}
  - {state: c, action: 1, next: {a: 1}}
`
	head := "horizon: 3\nstates: [a, b, c]\nstart: {b: 0.375, c: 0.625}\nreturns: {x: {}, y: {}, late: {reach: c, " +
		"while: {not: b}}, much: {exceeds: {return: x, limit: 1.5}}}\n"
	for _, wanted := range []string{"goal: {maximize: x}\nconstraints: [{return: y, at_most: %g}]\n",
		"goal: {minimize: y}\nconstraints: [{return: late, at_least: %g}]\n",
		"goal: {maximize: late}\nconstraints: [{return: x, at_most: %g}]\n"} {
		for _, resolution := range []float64{0, 0.4} {
			var r [2]*exact.Result
			for i, text := range []string{
				head + fmt.Sprintf(wanted, 0.5) + rows,
				"horizon: 3\nreturns: [x, y, late]\n" + fmt.Sprintf(wanted, 4.0) +
					"fleet:\n  - name: all\n    count: 8\n    starts: {b: 3, c: 5}\n    returns: {x: x, y: y, late: late}\n" +
					"    model:\n      " + strings.ReplaceAll(strings.Replace(head, "{b: 0.375, c: 0.625}", "a", 1)+rows,
					"\n", "\n      ") + "\n", // the starts of the model do not count
			} {
				p, err := problem.Parse("copies.yaml", []byte("format: cmdp/1\n"+text), nil)
				if err != nil {
					t.Fatal(err)
				}
				q, err := query.New(t.Context(), p, query.CompileOptions{Resolution: resolution})
				if err != nil {
					t.Fatal(err)
				}
				if r[i], err = q.Solve(t.Context(), exact.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			if r[0].Status != r[1].Status || math.Abs(8*r[0].Objective-r[1].Objective) > 1e-6 {
				t.Errorf("%s at %g: %v %g: want %v %g", wanted, resolution, r[1].Status, r[1].Objective, r[0].Status,
					8*r[0].Objective)
			}
		}
	}
}

// TestSafeFleetInAMirror: a limit from below on the negative of a return is the limit from above on the return.
func TestSafeFleetInAMirror(t *testing.T) {
	var safe [2]*fleet.Safe
	for i, limit := range []string{"{return: y, at_most: 5}", "{return: less, at_least: -5}"} {
		p, err := problem.Parse("mirror.yaml", []byte("format: cmdp/1\nhorizon: 2\nreturns: [x, y, less]\ngoal: {maximize: "+
			"x}\nconstraints: ["+limit+"]\nfleet:\n  - {name: a, count: 8, returns: {x: x, y: y, less: less}, model: "+
			"{states: 1, start: 0, horizon: 2, returns: [x, y, less], transitions: [{state: 0, action: go, outcomes: "+
			"[{probability: 0.5, next: 0, returns: [1, 1, -1]}, {probability: 0.5, next: 0, returns: [1, 0, 0]}]}, "+
			"{state: 0, action: rest, next: {0: 1}}]}}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		q, err := query.New(t.Context(), p, query.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if safe[i], err = q.SolveFleetSafely(t.Context(), 0.9, 1, exact.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	a, b := safe[0], safe[1]
	if !a.Met || !b.Met || math.Abs(a.Objective-b.Objective) > 1e-9 || math.Abs(a.Margins[0]-b.Margins[0]) > 1e-9 ||
		math.Abs(a.Holds[0].Probability-b.Holds[0].Probability) > 1e-9 || a.Margins[0] <= 0 {
		t.Errorf("from above %v, margins %v, %v; from below %v, %v, %v", a.Objective, a.Margins, a.Holds, b.Objective,
			b.Margins, b.Holds)
	}
}

// TestNamesOfSteps draws limits in the order of steps. Names tell of each step once, and there are as few of them as
// there are limits that are not like the one of the step before.
func TestNamesOfSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 56))
	for trial := range 100 {
		var limits []*query.Limit
		var want, got []string
		fewest, last := 0, query.Limit{Step: -1}
		for h := 1; h < 12; h++ {
			bound := float64(rng.IntN(4) / 3)
			l := &query.Limit{Step: h, Constraint: rng.IntN(5) / 4, AtLeast: rng.IntN(4) == 0, Bound: bound}
			if rng.IntN(4) == 0 {
				continue // no limit at this step
			}
			like := *l
			like.Step--
			if !reflect.DeepEqual(like, last) {
				fewest++
			}
			last = *l
			after := fmt.Sprintf(" of %d, %v %g", l.Constraint, l.AtLeast, l.Bound)
			l.Name = fmt.Sprintf("y at step %d", h) + after
			limits = append(limits, l, nil) // nil is a target, which is left out
			want = append(want, fmt.Sprint(h, after))
		}
		names := query.Steps(limits)
		for _, name := range names {
			first, end := 0, 0
			if _, err := fmt.Sscanf(name, "y at each of the steps %d-%d", &first, &end); err != nil {
				fmt.Sscanf(name, "y at step %d", &first)
				end = first
			}
			_, after, _ := strings.Cut(name, " of ")
			after = strings.TrimPrefix(after, fmt.Sprintf("the steps %d-%d of ", first, end))
			for h := first; h <= end; h++ {
				got = append(got, fmt.Sprint(h, " of "+after))
			}
		}
		if !slices.Equal(got, want) || len(names) != fewest {
			t.Errorf("trial %d: %q: want %q in %d names", trial, names, want, fewest)
		}
	}
}
