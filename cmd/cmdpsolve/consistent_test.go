package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmdpsolve/cmdp/exact"
)

// A consistency looks for numbers of one result that contradict each other.
type consistency struct {
	*view
	t *testing.T
}

func (c *consistency) same(what string, x, y float64) {
	c.t.Helper()
	if !math.IsNaN(x) && !math.IsNaN(y) && math.Abs(x-y) > 1e-6*(1+math.Abs(x)+math.Abs(y)) {
		c.t.Errorf("%v: %s: %g and %g", c.words, what, x, y)
	}
}

func (c *consistency) want(is bool, what string, x ...float64) {
	c.t.Helper()
	if !is {
		c.t.Errorf("%v: %s: %g", c.words, what, x)
	}
}

var singleGoal = regexp.MustCompile(`^(?:maximize|minimize) (.*?)(?: subject to .*)?$`)

// checkConsistent: the numbers of a result fit each other: objectives are returns, shares sum up to 1, limits less
// returns are slacks, means of parts are the whole, and what is least is below what is greatest.
func checkConsistent(t *testing.T, r *result) {
	t.Helper()
	c := &consistency{viewOf(r), t}
	goal := ""
	if m := singleGoal.FindStringSubmatch(c.text("wanted")); m != nil {
		goal = m[1]
	}
	switch viewKind(r) {
	case "plan":
		c.planned(c.answer, goal)
		c.agents()
	case "sweep":
		for _, p := range c.list("plans") {
			c.planned(p, goal)
			for i, l := range p.numbers("limits") {
				name := strings.TrimRight(c.texts("over")[i], " ≤≥")
				for _, k := range p.list("constraints") {
					if k.text("return") == name && !k.has("step") && !strings.Contains(name, " at each") {
						c.same("the limit on "+name, k.num("limit"), l)
						c.same("the price of "+name, k.num("price"), p.numbers("limit_prices")[i])
					}
				}
			}
		}
	case "sets":
		c.same("the objective and its worst return", c.num("objective"),
			c.obj("returns").obj(goal).num(map[bool]string{true: "least", false: "greatest"}[c.maximizes()]))
		c.shares("policies that are drawn", c.list("drawn"), "probability", 1)
	case "game":
		c.same("the value and the return", c.num("objective"), c.of("returns", goal).num(""))
		c.want(c.text("verdict") == "minimax" || !c.has("violation"), "a violation beside a gap", c.num("violation"))
		for _, player := range []string{"agent", "opponent"} {
			c.players(c.list("policies." + player))
		}
	case "check":
		c.judged()
	case "simulate":
		c.same("the mean objective", c.num("objective"), c.obj("returns").obj(goal).num("mean"))
		c.same("the expected objective", c.num("expected.objective"), c.obj("returns").obj(goal).num("expected"))
	case "fleet played":
		c.same("the objective", c.num("objective"), c.obj("returns").obj(goal).num("mean"))
		c.same("the first way", c.num("objective"), c.list("ways")[0].num("objective.mean"))
	case "log":
		price := c.num("objective") - c.num("credible.mean_optimum")
		if c.maximizes() {
			price = -price
		}
		c.same("the price of not knowing", c.num("credible.price"), price)
		c.want(!(price < -1e-6), "a plan that is better than the best", price)
	case "samples":
		beyond := c.num("exact.objective") - c.num("bound")
		if !c.maximizes() {
			beyond = -beyond
		}
		c.want(!(beyond > 1e-9), "an optimum beyond the bound", c.num("exact.objective"), c.num("bound"))
	case "learn":
		c.same("the objective", c.num("objective"), c.of("average", goal).num(""))
		c.same("the optimum", c.num("exact.objective"), c.obj("exact").of("returns", goal).num(""))
		regret := c.num("objective") - c.num("exact.objective")
		if c.maximizes() {
			regret = -regret
		}
		c.same("regret", c.num("regret"), regret)
	case "front":
		for i, p := range c.list("points") {
			x := func(p answer) float64 { return p.of("returns", strings.TrimLeft(c.texts("over")[0], "+-")).num("") }
			c.want(i == 0 || x(c.list("points")[i-1]) <= x(p)+1e-9, "points are not in order", x(p))
		}
	}
	c.varied()
	if r := c.obj("certificate"); r != nil {
		c.want(r.num("value") > r.num("support") && r.num("distance") > 0, "a certificate proves nothing",
			r.num("value"),
			r.num("support"), r.num("distance"))
	}
}

// planned looks at a plan.
func (c *consistency) planned(p answer, goal string) {
	c.t.Helper()
	known := p.text("status") == "optimal" || p.text("status") == "stopped" && !p.is("rounded")
	if known && p.has("objective") {
		c.same("the objective and its return", p.num("objective"), p.of("returns", goal).num(""))
		c.same("the gap", math.Abs(p.num("objective")-p.num("bound")), p.num("gap"))
	}
	c.want(p.text("status") != "optimal" || !p.has("tolerance") || p.num("violation") <= p.num("tolerance"),
		"an optimum beyond its limits", p.num("violation"), p.num("tolerance"))
	for i, l := range p.list("constraints") {
		c.want(!(l.num("price") < 0), "a price below 0", l.num("price"))
		c.same("prices", p.numbers("prices")[i], l.num("price"))
		x, left := p.of("returns", l.text("return")).num(""), 1.0
		if l.text("kind") == "at_least" {
			left = -1
		}
		if !strings.HasPrefix(l.text("constraint"), "mean of") && l.text("kind") != "always" && known {
			c.same("the slack of "+l.text("constraint"), l.num("slack"), left*(l.num("limit")-x))
		}
	}
	for _, k := range p.list("conflict") {
		c.same("what "+k.text("constraint")+" gives", math.Abs(k.num("needed")-k.num("limit")), k.num("give"))
	}
	branches := p.list("branches")
	c.shares("branches", branches, "probability", 1)
	for _, name := range p.names("returns") {
		mean := 0.0
		for _, b := range branches {
			mean += b.num("probability") * b.of("returns", name).num("")
		}
		if branches != nil {
			c.same("the mean of branches of "+name, mean, p.of("returns", name).num(""))
		}
	}
}

func (c *consistency) shares(what string, parts []answer, key string, whole float64) {
	c.t.Helper()
	sum := 0.0
	for _, p := range parts {
		sum += p.num(key)
	}
	if parts != nil {
		c.same("the sum of "+what, sum, whole)
	}
}

// agents looks at the types of a fleet, and what whole numbers of its agents return.
func (c *consistency) agents() {
	c.t.Helper()
	for _, name := range c.returns {
		total, whole := 0.0, 0.0
		for _, k := range c.list("types") {
			one := 0.0
			c.shares("shares", k.list("policies"), "share", 1)
			c.shares("agents", k.list("policies"), "agents", k.num("count"))
			for _, p := range k.list("policies") {
				one += p.num("share") * p.of("returns", name).num("")
				whole += p.num("agents") * p.of("returns", name).num("")
			}
			c.same("one agent's "+name, k.of("returns", name).num(""), one)
			total += k.num("count") * one
		}
		if c.has("types") {
			c.same("all agents' "+name, c.of("returns", name).num(""), total)
			c.want(c.obj("whole").of("returns", name).has(""), "no whole agents' "+name)
			c.same("whole agents' "+name, c.obj("whole").of("returns", name).num(""), whole)
		}
	}
	c.shares("agents of types", c.list("types"), "count", c.num("agents"))
}

// players: what a player does in a state at a step has probability 1.
func (c *consistency) players(rows []answer) {
	c.t.Helper()
	sums := make(map[string]float64)
	for _, r := range rows {
		sums[r.text("state")+" "+six(r.num("step"))] += r.num("probability")
	}
	for at, sum := range sums {
		c.same("what is done in "+at, sum, 1)
	}
}

var limitOnReturn = regexp.MustCompile(`^(.*) ([≤≥]) (\S+)$`)

// judged looks at what check says.
func (c *consistency) judged() {
	c.t.Helper()
	for _, l := range c.list("limits") {
		m := limitOnReturn.FindStringSubmatch(l.text("constraint"))
		if m == nil || c.obj("returns").obj(m[1]) == nil || !l.has("largest_slack") {
			continue
		}
		bound, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			continue
		}
		r := c.obj("returns").obj(m[1])
		least, most := bound-r.num("max"), bound-r.num("min")
		if m[2] == "≥" {
			least, most = r.num("min")-bound, r.num("max")-bound
		}
		says := "can be kept"
		switch {
		case most < -1e-9:
			says = "cannot be kept"
		case least > 1e-9:
			says = "always kept"
		}
		if math.Abs(l.num("largest_slack")-most) > 1e-5*(1+math.Abs(bound)) || l.text("alone") != says &&
			math.Abs(most) > 1e-9 && math.Abs(least) > 1e-9 {
			c.t.Errorf("%v: %v: want %q, %g", c.words, l, says, most)
		}
	}
	c.want(!(c.num("gap_lower") > c.num("gap_upper")), "bounds of the gap", c.num("gap_lower"), c.num("gap_upper"))
	c.want(!c.is("feasible") || !(c.num("gap_upper") > 0), "a gap that is kept", c.num("gap_upper"))
	c.want(!(c.num("tolerance") <= 0) && !(c.num("tolerance") > 1e-4), "the tolerance", c.num("tolerance"))
	c.want(!(c.num("slater.radius") > c.num("slater.bound")*(1+1e-9)+1e-9), "the Slater ball", c.num("slater.radius"),
		c.num("slater.bound"))
	for _, name := range c.returns {
		if r := c.obj("returns").obj(name); r != nil {
			c.want(!(r.num("min") > r.num("max")+1e-9), "the range of "+name, r.num("min"), r.num("max"))
		}
	}
}

// varied looks at distributions: quantiles are in order, and the mean of a histogram of single values is the mean.
func (c *consistency) varied() {
	c.t.Helper()
	for _, name := range c.names("distribution") {
		d := c.obj("distribution").obj(name)
		q := d.obj("quantiles")
		last, mean, single := math.Inf(-1), 0.0, true
		for _, level := range []string{"0.05", "0.25", "0.5", "0.75", "0.95"} {
			x, _ := q[level].(float64)
			c.want(x >= last-1e-9, "quantiles of "+name, last, x)
			last = x
		}
		c.shares("the histogram of "+name, d.list("histogram"), "probability", 1)
		for _, b := range d.list("histogram") {
			mean += b.num("probability") * b.num("from")
			single = single && b.num("from") == b.num("to")
		}
		if single {
			c.same("the mean of the histogram of "+name, mean, d.num("mean"))
		}
		c.want(d.is("exact") == !d.has("ci95") && d.has("episodes") == d.has("ci95"), "exact without episodes")
		c.want(d.num("sd") >= 0, "the standard deviation", d.num("sd"))
	}
}

// TestCommandsAgree: what check and plan both know of a problem is the same: whether limits can be kept, the weight
// rho, and what the Slater ball tells of it; a plan returns what is in the ranges.
func TestCommandsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 2))
	balls := 0
	for trial := range 24 {
		p := drawProblem(rng, []string{"horizon: 3", "discount: 0.75"}[trial%2])
		file := p.write(t, 1)
		text, _ := printed(t, "json", "check", file)
		check := answerOf(t, text)
		text, _ = printed(t, "json", "plan", file)
		plan := answerOf(t, text)
		c := &consistency{&view{answer: plan, words: []string{file}}, t}
		c.want(check.is("feasible") == (plan.text("status") == "optimal"), "feasible beside "+plan.text("status"))
		c.same("rho", check.num("rho"), plan.num("rho"))
		for name, x := range plan.obj("returns") {
			r, x := check.obj("returns").obj(name), answer{"": x}.num("")
			c.want(r.num("min") <= x+1e-6 && x <= r.num("max")+1e-6, name+" out of its range", r.num("min"), x, r.num("max"))
		}
		if ball := check.obj("slater"); ball.num("rho") > 0 {
			balls++
			_, goal, _ := strings.Cut(p.goal, ": ")
			inside := math.Abs(ball.of("returns", goal).num("") - plan.num("bound"))
			c.same("rho by the Slater ball", ball.num("rho"), 2*inside/ball.num("radius"))
		}
	}
	if balls < 4 {
		t.Errorf("%d Slater balls: want more", balls)
	}
}

// TestSlackOfSteps: the largest slack of a limit at each step is the least of those at the steps alone.
func TestSlackOfSteps(t *testing.T) {
	t.Chdir(t.TempDir())
	slackOf := func(limit string) float64 {
		text := "format: cmdp/1\nreturns: [made, places]\ngoal: {maximize: made}\nconstraints: [{return: places, " + limit +
			"}]\nfleet:\n  - name: van\n    count: 6\n    model:\n      horizon: 3\n      states: [full, empty]\n" +
			"      start: full\n      returns: [made]\n      transitions:\n" +
			"        - {state: full, action: drive, next: {empty: 1}, returns: [3]}\n" +
			"        - {state: full, action: park, next: {full: 1}, returns: [0]}\n" +
			"        - {state: empty, action: charge, next: {full: 0.5, empty: 0.5}, returns: [0]}\n" +
			"        - {state: empty, action: park, next: {empty: 1}, returns: [0]}\n" +
			"    returns: {made: made, places: {action: charge}}\n    starts: {full: 2, empty: 4}\n"
		if err := os.WriteFile("steps.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		said, _ := printed(t, "json", "check", "steps.yaml")
		return answerOf(t, said).list("limits")[0].num("largest_slack")
	}
	for _, side := range []string{"at_most: 5", "at_least: 1"} {
		least, greatest := math.Inf(1), math.Inf(-1)
		for step := 1; step <= 3; step++ {
			slack := slackOf(fmt.Sprintf("steps: %d, %s", step, side))
			least, greatest = min(least, slack), max(greatest, slack)
		}
		if got := slackOf("each_step: true, " + side); !near(got, least) {
			t.Errorf("%s: the largest slack is %g: want %g", side, got, least)
		}
		if side == "at_least: 1" && near(least, greatest) {
			t.Errorf("all steps have the slack %g", least)
		}
	}
}

// TestUnknownConflicts: that limits are compatible but for one is said of those of which it is known.
func TestUnknownConflicts(t *testing.T) {
	for n := 2; n < 6; n++ {
		for _, undecided := range []bool{false, true} {
			clash := make([]conflictReport, n)
			for i := range clash {
				clash[i] = conflictReport{Constraint: fmt.Sprintf("limit %d", i), Undecided: undecided}
			}
			said := strings.Join(conflictNotes(clash), " ")
			for _, c := range clash {
				if !strings.Contains(said, c.Constraint) {
					t.Errorf("%q leaves out %s", said, c.Constraint)
				}
			}
			if claims := strings.Contains(said, "can be kept"); claims == undecided ||
				strings.Contains(said, "is not known") != undecided {
				t.Errorf("%d limits, undecided %v: %q", n, undecided, said)
			}
		}
	}
}

// TestLateConflict: that no limits in conflict were found in time is said.
func TestLateConflict(t *testing.T) {
	var said strings.Builder
	p, err := load("cliff:rows=3,cols=4,H=8")
	if err != nil {
		t.Fatal(err)
	}
	c := &planCommand{streams: streams{err: &said}}
	c.budget = time.Second
	clash, err := c.conflict(context.Background(), p, exact.Options{}, time.Now().Add(-time.Hour))
	if clash != nil || err != nil || !strings.Contains(said.String(), "within 1s (see --budget)") {
		t.Errorf("%v, %v, %q: want nothing found, and said so", clash, err, said.String())
	}
}
