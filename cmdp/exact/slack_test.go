package exact_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"
)

// TestSlackOfLimits compares the radius of the Slater ball with the occupancy
// program that asks for it, where targets are cut with the box of possible returns:
// with a horizon, with a discount and as totals, where a return may be the same under
// every policy. The box that is told may be larger.
func TestSlackOfLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 7))
	seen := make(map[string]int)
	for trial := range 300 {
		sh := shapeOf{states: 1 + rng.IntN(4), actions: 3, dim: 1 + rng.IntN(3), successors: 3, rests: trial%4 == 0,
			integer: trial%7 == 0}
		if trial%5 == 0 {
			sh.horizon = 1 + rng.IntN(3)
		} else {
			sh.discount = []float64{0.3, 0.8883, 0.99}[trial%3]
		}
		m := randomModel(t, rng, sh)
		models := []*cmdp.Model{m}
		if sh.discount > 0 {
			models = append(models, ending(t, m))
		}
		p := randomLimits(t, rng, m)
		for _, model := range models {
			p.Model = model
			want := largestBall(t, p, m)
			task, err := query.TaskOf(context.Background(), p)
			if err != nil {
				continue // a bound out of reach of the others
			}
			if trial%2 == 0 { // what is told of all returns may be more than what they can be
				task.Box = wider(t, task.Box, 1+3*rng.Float64())
			}
			r, err := exact.PlannerOf(t, model).Slack(context.Background(), task, exact.Options{})
			if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			if tol := 1e-7 * (1 + want); !(r.Radius == want ||
				math.Abs(r.Radius-want) <= tol && math.Abs(r.Bound-want) <= tol) {
				t.Errorf("trial %d: discount %g, horizon %d: radius %.12g, at most %.12g, want %.12g", trial,
					model.Discount(), model.Horizon(), r.Radius, r.Bound, want)
			}
			switch {
			case math.IsInf(want, 1):
				seen["loose"]++
			case want > 0:
				seen["inside"]++
			default:
				seen["none"]++
			}
		}
	}
	if seen["loose"] < 20 || seen["inside"] < 150 || seen["none"] < 50 {
		t.Errorf("%v: want many of each", seen)
	}
	t.Log(seen)
}

// randomLimits bounds returns near the optimum of a random goal.
func randomLimits(t *testing.T, rng *rand.Rand, m *cmdp.Model) *problem.Problem {
	t.Helper()
	p := &problem.Problem{Model: m}
	dir := make([]float64, m.Dim())
	for i := range dir {
		dir[i] = rng.NormFloat64()
		p.Returns = append(p.Returns, fmt.Sprint("r", i))
	}
	r, err := exact.Solve(context.Background(), m, cmdp.Task{Cost: linear(t, box(t, m), dir)}, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range p.Returns {
		size := 0.1 + math.Abs(r.Returns[i])
		if at := r.Returns[i] + (0.6*rng.Float64()-0.2)*size; rng.IntN(3) > 0 {
			p.Constraints = append(p.Constraints, problem.Limit{Return: name, AtMost: &at})
		} else if at := r.Returns[i] - (0.6*rng.Float64()-0.2)*size; rng.IntN(3) == 0 {
			p.Constraints = append(p.Constraints, problem.Limit{Return: name, AtLeast: &at})
		}
	}
	return p
}

// wider returns a box whose sides are farther from its middle by a factor, and by 1.
func wider(t *testing.T, box *geometry.Box, factor float64) *geometry.Box {
	t.Helper()
	lower, upper := slices.Clone(box.Lower()), slices.Clone(box.Upper())
	for i := range lower {
		middle, half := (lower[i]+upper[i])/2, (upper[i]-lower[i])/2
		lower[i], upper[i] = middle-factor*half-1, middle+factor*half+1
	}
	out, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// largestBall is the largest radius of a ball around returns of a policy within the
// constraints that do not hold for all possible returns, by the occupancy program of
// of, a model with the same returns.
func largestBall(t *testing.T, p *problem.Problem, of *cmdp.Model) float64 {
	t.Helper()
	free := *p
	free.Constraints = nil
	task, err := query.TaskOf(t.Context(), &free)
	if err != nil {
		t.Fatal(err)
	}
	x := task.Box
	var rows []cmdp.Constraint
	for _, c := range p.Constraints {
		for i, name := range p.Returns {
			n := make([]float64, of.Dim())
			switch slack := 1e-8 * (1 + math.Abs(x.Upper()[i])); {
			case name != c.Return:
			case c.AtMost != nil && *c.AtMost < x.Upper()[i]-slack:
				n[i] = 1
				rows = append(rows, cmdp.Constraint{Normal: n, Offset: *c.AtMost})
			case c.AtLeast != nil && *c.AtLeast > x.Lower()[i]+slack:
				n[i] = -1
				rows = append(rows, cmdp.Constraint{Normal: n, Offset: -*c.AtLeast})
			}
		}
	}
	if len(rows) == 0 {
		return math.Inf(1)
	}
	program, err := exact.OccupancyLP(of, make([]float64, of.Dim()), rows)
	if err != nil {
		t.Fatal(err)
	}
	radius := len(program.Minimize)
	program.Minimize = append(program.Minimize, -1)
	for k := range rows {
		row := &program.Rows[len(program.Rows)-len(rows)+k]
		row.Index, row.Coef = append(row.Index, radius), append(row.Coef, 1)
	}
	sol, err := lp.Solve(program)
	if err != nil {
		t.Fatal(err)
	}
	if sol.Status == lp.Infeasible {
		return 0
	}
	return sol.Objective * -1
}

// TestBoundlessSlack: totals that grow without end on the inner side of all limits leave a slack that nothing
// bounds, unless a limit on another total holds them.
func TestBoundlessSlack(t *testing.T) {
	for _, c := range []struct {
		name, rows, limits string
		radius             float64
	}{
		{"one loop", "{state: 0, action: on, next: {0: 1}, returns: [0.7, 0]}", "{return: gain, at_least: 1}",
			math.Inf(1)},
		{"one loop that costs", "{state: 0, action: on, next: {0: 1}, returns: [-2, 0]}", "{return: gain, at_most: 1}",
			math.Inf(1)},
		{"both grow", "{state: 0, action: on, next: {0: 1}, returns: [0.7, 0.2]}, {state: 0, action: off, next: {1: " +
			"1}, returns: [-2, -3]}",
			"{return: gain, at_least: 1}, {return: toll, at_least: 1}", math.Inf(1)},
		// 0.7 k − 2 − 1 = 1 − (0.2 k − 3) after k rounds.
		{"one holds the other", "{state: 0, action: on, next: {0: 1}, returns: [0.7, 0.2]}, {state: 0, action: off, " +
			"next: {1: 1}, returns: [-2, -3]}",
			"{return: gain, at_least: 1}, {return: toll, at_most: 1}", 22.0 / 9},
	} {
		text := "format: cmdp/1\ndiscount: 1\nstates: 2\nstart: 0\nreturns: [gain, toll]\ntransitions: [" + c.rows +
			"]\nconstraints: [" + c.limits + "]\n"
		r, err := slackOf(t, text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !(r.Radius == c.radius || math.Abs(r.Radius-c.radius) <= 1e-9) || r.Bound < r.Radius {
			t.Errorf("%s: radius %g, at most %g: want %g", c.name, r.Radius, r.Bound, c.radius)
		}
	}
}

// TestSlackBesideConstant: a return that no policy changes takes no room in a ball from the others: the slack is that
// of the cut of the ball at its value. Where all returns are such, all policies keep the limits.
func TestSlackBesideConstant(t *testing.T) {
	const rows = "{state: 0, action: a, next: {0: 1}, returns: [0, 0, 1]}, {state: 0, action: b, next: {0: 1}, " +
		"returns: [1, 0, 1]}, {state: 0, action: c, next: {0: 1}, returns: [0, 1, 1]}"
	for _, c := range []struct{ rows, center, radius, bound string }{
		{rows, "[1, 0.5, 2]", "0.4", "0.4"},
		{rows, "[1, 0.5, 2.3]", "0.5", "0.4"},
		{rows, "[0.9, 0.6, 1.76]", "0.4", "0.32"},
		{"{state: 0, action: a, next: {0: 1}, returns: [0, 0, 1]}", "[0.1, 0, 2]", "0.4", "+Inf"},
	} {
		text := "format: cmdp/1\nhorizon: 2\nstates: 1\nstart: 0\nreturns: [gain, toll, fee]\ntransitions: [" +
			c.rows + "]\ntarget: {ball: {center: " + c.center + ", radius: " + c.radius + "}}\n"
		r, err := slackOf(t, text)
		if err != nil {
			t.Fatal(err)
		}
		bound, _ := strconv.ParseFloat(c.bound, 64)
		if r.Bound != bound && !(math.Abs(r.Bound-bound) <= 1e-3) || r.Radius < bound/math.Sqrt2-1e-3 {
			t.Errorf("ball of %s around %s: radius %g, at most %g: want at most %g", c.radius, c.center, r.Radius,
				r.Bound, bound)
		}
	}
}

// TestSlackBesideGrowth: a total that has no limit changes no slack of limits on means, however it grows.
func TestSlackBesideGrowth(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 26))
	for range 30 {
		rows, limit := "", 1+rng.IntN(8)
		for s := range 3 {
			for a := range 3 {
				rows += fmt.Sprintf("{state: %d, action: %d, next: {%d: 1}, returns: {pay: %d, fuel: %d}}, ", s, a, (s+a)%3,
					rng.IntN(10), rng.IntN(3))
			}
		}
		var slack [2]float64
		for i, criterion := range []string{"average", "total"} {
			text := fmt.Sprintf("format: cmdp/1\ncriterion: average\nstates: 3\nstart: 0\nreturns: {pay: {}, fuel: "+
				"{criterion: %s}}\nconstraints: [{return: pay, at_most: %d}]\ntransitions: [%s]\n", criterion, limit, rows)
			r, err := slackOf(t, text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			slack[i] = r.Radius
		}
		if slack[0] != slack[1] && !(math.Abs(slack[0]-slack[1]) <= 1e-7) {
			t.Errorf("the slack of pay ≤ %d is %g beside a mean, and %g beside a total: %s", limit, slack[0], slack[1], rows)
		}
	}
}

// slackOf returns the slack of the limits of a problem file.
func slackOf(t *testing.T, text string) (*exact.SlackResult, error) {
	t.Helper()
	p, err := problem.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	task, err := query.TaskOf(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return exact.PlannerOf(t, p.Model).Slack(t.Context(), task, exact.Options{})
}
