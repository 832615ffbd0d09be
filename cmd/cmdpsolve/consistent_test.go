package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A consistency looks for numbers of one result that contradict each other.
type consistency struct {
	*view
	t *testing.T
}

func (c *consistency) same(what string, x, y float64) {
	c.t.Helper()
	if !math.IsNaN(x) && !math.IsNaN(y) && math.Abs(x-y) >= 1e-6*(1+math.Abs(x)+math.Abs(y)) {
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
		c.setOfModels(goal)
		if of := c.obj("confidence"); of != nil {
			c.same("choices", of.num("choices"), of.num("clopper_pearson")+of.num("weissman")+of.num("unvisited"))
		}
	case "game":
		c.same("the value and the return", c.num("objective"), c.of("returns", goal).num(""))
		c.want(c.text("verdict") == "minimax" || !c.has("violation"), "a violation beside a gap", c.num("violation"))
		status := map[string]string{"minimax": "optimal", "approachable": "optimal", "not approachable": "infeasible",
			"undecided": "undecided"}
		c.want(c.text("status") == status[c.text("verdict")], c.text("verdict")+" is said to be "+c.text("status"))
		c.want(!(c.beyond(c.num("objective"), c.num("bound")) > 0), "an objective that the opponent does not let be",
			c.num("objective"), c.num("bound"))
		for _, player := range []string{"agent", "opponent"} {
			c.players(c.list("policies." + player))
		}
	case "check":
		c.judged()
	case "simulate":
		c.same("the mean objective", c.num("objective"), c.obj("returns").obj(goal).num("mean"))
		c.same("the expected objective", c.num("expected.objective"), c.obj("returns").obj(goal).num("expected"))
		stopping := 0.0
		for _, name := range c.returns {
			if x := c.obj("returns").obj(name); x.has("stopping") {
				stopping = max(stopping, x.num("stopping"))
			}
		}
		c.want(stopping == 0 || stopping == c.num("truncation.error"), "what stopping changes", stopping,
			c.num("truncation.error"))
	case "fleet played":
		c.same("the objective", c.num("objective"), c.obj("returns").obj(goal).num("mean"))
		c.same("the first way", c.num("objective"), c.list("ways")[0].num("objective.mean"))
		for _, l := range c.list("ways")[0].list("limits") {
			c.broken(l)
		}
	case "log":
		price := c.num("objective") - c.num("credible.mean_optimum")
		if c.maximizes() {
			price = -price
		}
		c.same("the price of not knowing", c.num("credible.price"), price)
		c.want(!(price < -1e-6), "a plan that is better than the best", price)
	case "samples":
		c.want(!(c.beyond(c.num("exact.objective"), c.num("bound")) > 1e-9), "an optimum beyond the bound",
			c.num("exact.objective"), c.num("bound"))
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
	searched := c.has("deterministic") || c.has("plans") || c.has("union") || c.has("credible") || c.has("sample") ||
		c.has("safety") || slices.Contains(c.words, "--resolution")
	c.want(c.text("status") != "infeasible" || c.has("certificate") || searched, "infeasible without a certificate")
	if r := c.obj("certificate"); r != nil {
		c.want(r.num("value") > r.num("support") && r.num("distance") > 0, "a certificate proves nothing",
			r.num("value"),
			r.num("support"), r.num("distance"))
		c.reaches(r)
	}
}

// beyond is by how much x is better than y.
func (c *consistency) beyond(x, y float64) float64 {
	if c.maximizes() {
		return x - y
	}
	return y - x
}

// exceeds is by how much a return from least to greatest breaks a limit.
func exceeds(l answer, least, greatest float64) float64 {
	if l.text("kind") == "at_least" {
		return l.num("limit") - least
	}
	return greatest - l.num("limit")
}

// setOfModels looks at a plan over a set of models: the nominal model is one of them, and its optimum the best that any
// plan has there; a policy that is drawn breaks those limits that its worst returns break.
func (c *consistency) setOfModels(goal string) {
	c.t.Helper()
	there := c.of("nominal", goal).num("")
	c.want(!(c.beyond(there, c.num("nominal_optimum")) > 1e-6*(1+math.Abs(there))),
		"more than the optimum of the nominal model", there, c.num("nominal_optimum"))
	for name, x := range c.obj("nominal") {
		x, r := answer{"": x}.num(""), c.obj("returns").obj(name)
		c.want(!(x < r.num("least")-1e-6*(1+math.Abs(x))) && !(x > r.num("greatest")+1e-6*(1+math.Abs(x))),
			"the nominal "+name+" out of its bounds", x, r.num("least"), r.num("greatest"))
	}
	for _, d := range c.list("drawn") {
		for _, l := range c.list("constraints") {
			r := d.obj("returns").obj(l.text("return"))
			if by := exceeds(l, r.num("least"), r.num("greatest")); math.Abs(by) > 1e-6 {
				c.want(slices.Contains(d.texts("breaks"), l.text("constraint")) == (by > 0),
					fmt.Sprintf("a drawn policy breaks %v", d.texts("breaks")), by)
			}
		}
	}
}

// broken compares how a limit was broken in episodes with what is computed of that: the mean excess of the episodes
// that break it has at most the standard error of numbers from 0 to the greatest.
func (c *consistency) broken(l answer) {
	c.t.Helper()
	if !l.has("exact") {
		return
	}
	n := c.num("episodes")
	share, excess := l.num("broken.share"), l.num("exact.excess")
	c.want(math.Abs(share-l.num("exact.broken")) <= 5*math.Sqrt(0.25/n), "how often "+l.text("constraint")+" is broken",
		share, l.num("exact.broken"))
	if within := 5 * l.num("most") / math.Sqrt(share*n); share*n > 30 {
		c.want(math.Abs(excess-l.num("excess")) <= within+1e-9*l.num("most"), "the excess of "+l.text("constraint"),
			excess, l.num("excess"))
	}
}

// reaches: what is allowed reaches the support of a certificate, if limits on single returns alone are asked for; where
// it reaches farther, the certificate says that it holds for what is possible.
func (c *consistency) reaches(r answer) {
	c.t.Helper()
	_, text, _ := strings.Cut(c.text("wanted"), " subject to ")
	if text == "" {
		text = strings.TrimPrefix(strings.ReplaceAll(c.text("wanted"), ", subject to", ""), "meet ")
	}
	type limit struct {
		of    string
		above bool
		bound float64
	}
	var limits []limit
	for part := range strings.SplitSeq(text, ", ") {
		m := limitOnReturn.FindStringSubmatch(part)
		if m == nil || r.obj("direction")[m[1]] == nil {
			return
		}
		bound, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return
		}
		limits = append(limits, limit{m[1], m[2] == "≤", bound})
	}
	reached := 0.0
	for name := range r.obj("direction") {
		most, x := math.Inf(1), r.of("direction", name).num("")
		for _, l := range limits {
			if l.of == name && l.above == (x > 0) {
				most = min(most, x*l.bound)
			}
		}
		if math.Abs(x) > 1e-9 {
			reached += most
		}
	}
	tight := math.Abs(reached-r.num("support")) < 1e-5*(1+math.Abs(reached))
	c.want(tight != r.is("possible"), fmt.Sprint("what is allowed reaches the support of a certificate: ", tight), reached,
		r.num("support"))
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
	c.want(p.has("rho") == (p.text("status") == "optimal" && p.has("objective") && p.has("tolerance") &&
		!p.has("deterministic")),
		"rho is told of an optimum within limits, and of nothing else", p.num("rho"))
	c.want(!(c.beyond(p.num("objective"), p.num("deterministic.relaxed")) > 1e-6*(1+math.Abs(p.num("objective")))),
		"a policy that never draws is better than all that may", p.num("objective"), p.num("deterministic.relaxed"))
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
	for _, l := range c.list("constraints") { // steps are not told of whole agents
		x := c.obj("whole").of("returns", l.text("return")).num("")
		listed := slices.ContainsFunc(c.list("whole.exceeded"),
			func(e answer) bool { return e.text("constraint") == l.text("constraint") })
		step := strings.Contains(l.text("constraint"), " at step ")
		if over := exceeds(l, x, x); !step && (over > 1e-6*(1+math.Abs(x)) || over < -1e-6*(1+math.Abs(x))) {
			c.want((over > 0) == listed, "whole agents come past "+l.text("constraint")+" by", over)
		}
	}
	for _, e := range c.list("whole.exceeded") {
		for _, l := range c.list("constraints") {
			x := c.obj("whole").of("returns", l.text("return")).num("")
			if l.text("constraint") != e.text("constraint") || math.IsNaN(x) {
				continue
			}
			c.same("what whole agents exceed "+l.text("constraint")+" by", e.num("by"), exceeds(l, x, x))
			sign, most := map[bool]float64{true: -1, false: 1}[l.text("kind") == "at_least"], 0.0
			for _, k := range c.list("types") {
				for _, p := range k.list("policies") {
					most = max(most, sign*p.of("returns", l.text("return")).num(""))
				}
			}
			c.same("the most that one agent uses of "+l.text("constraint"), e.num("agent"), most)
		}
	}
	c.shares("agents of types", c.list("types"), "count", c.num("agents"))
	for _, name := range c.names("use_prices") {
		worth := make(map[int]float64)
		for _, l := range c.list("constraints") {
			of, at, _ := strings.Cut(l.text("constraint"), " at step ")
			step, _ := strconv.Atoi(strings.Fields(at + " 0")[0])
			if of == name && l.text("kind") == "at_least" {
				worth[step] -= l.num("price")
			} else if of == name {
				worth[step] += l.num("price")
			}
		}
		for h, price := range answer(c.obj("use_prices")).numbers(name) {
			c.same(fmt.Sprint("the price of ", name, " at step ", h+1), price, worth[h+1])
		}
	}
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

// TestSlackOfSteps: the largest slack of a limit at each step is the least of those at the steps alone.
func TestSlackOfSteps(t *testing.T) {
	t.Chdir(t.TempDir())
	var tails []answer // of all steps together
	slackOf := func(limit string) float64 {
		text := vans("{return: places, " + limit + "}")
		if err := os.WriteFile("steps.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		said, _ := printed(t, "json", "check", "steps.yaml")
		slack := answerOf(t, said).list("limits")[0].num("largest_slack")
		if strings.HasPrefix(limit, "steps") { // the page's slider ends where the slack does
			tail, end := pageOf(t, "steps.yaml").about.list("tails")[0], 5-slack
			got := tail.num("min")
			if strings.Contains(limit, "at_least") {
				got, end = tail.num("max"), 1+slack
			}
			if !near(got, end) {
				t.Errorf("%s: the slider ends at %g: want %g", limit, got, end)
			}
		} else if strings.HasPrefix(limit, "each_step") {
			tails = append(tails, pageOf(t, "steps.yaml").about.list("tails")[0])
		}
		return slack
	}
	ends := map[string]float64{}
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
		ends[side] = greatest
	}
	for _, tail := range tails { // a slider of all steps goes as far as any of them
		if least, most := 5-ends["at_most: 5"], 1+ends["at_least: 1"]; !near(tail.num("min"), least) ||
			!near(tail.num("max"), most) {
			t.Errorf("a slider goes from %g to %g: want %g to %g", tail.num("min"), tail.num("max"), least, most)
		}
	}
}

// TestViewOfSeveralLimits: of several limits on a return at a step the tables of a fleet have the narrowest.
func TestViewOfSeveralLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 7))
	t.Chdir(t.TempDir())
	seen := 0
	for range 6 {
		var limits []string
		for range 6 {
			step := 2 + rng.IntN(2)
			limits = append(limits, fmt.Sprintf("{return: places, steps: %d, %s}", step, []string{
				fmt.Sprint("at_least: ", rng.Float64()), fmt.Sprint("at_most: ", 3+2*rng.Float64())}[rng.IntN(2)]))
		}
		if err := os.WriteFile("vans.yaml", []byte(vans(strings.Join(limits, ", "))), 0o600); err != nil {
			t.Fatal(err)
		}
		_, status := printed(t, "json", "plan", "vans.yaml")
		r := resultOf(t, &ask{args: []string{"plan", "vans.yaml"}, fails: status != exitDone})
		checkConsistent(t, r)
		for _, of := range r.shown {
			if of.Table == nil || of.Table.Columns[0] != "step" {
				continue
			}
			for h, row := range of.Table.Rows {
				if want := viewOf(r).limitAt("places", h+1); row[2] != want {
					t.Errorf("%v: step %d shows the limit %q: want %q", limits, h+1, row[2], want)
				}
				seen += indicator(row[2] != "")
			}
		}
	}
	if seen < 8 {
		t.Errorf("%d limits are shown: want more", seen)
	}
}

// vans is a fleet whose agents charge or drive.
func vans(limits string) string {
	return "format: cmdp/1\nreturns: [made, places]\ngoal: {maximize: made}\nconstraints: [" + limits +
		"]\nfleet:\n  - name: van\n    count: 6\n    model:\n      horizon: 3\n      states: [full, empty]\n" +
		"      start: full\n      returns: [made]\n      transitions:\n" +
		"        - {state: full, action: drive, next: {empty: 1}, returns: [3]}\n" +
		"        - {state: full, action: park, next: {full: 1}, returns: [0]}\n" +
		"        - {state: empty, action: charge, next: {full: 0.5, empty: 0.5}, returns: [0]}\n" +
		"        - {state: empty, action: park, next: {empty: 1}, returns: [0]}\n" +
		"    returns: {made: made, places: {action: charge}}\n    starts: {full: 2, empty: 4}\n"
}

// TestWaysOfFleets: of fleets with limits on both sides at each step, played in two ways, all numbers fit and
// are shown.
func TestWaysOfFleets(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 8))
	t.Chdir(t.TempDir())
	lower, ways := 0, 0
	for trial := range 5 {
		limits := fmt.Sprintf("{return: places, each_step: true, at_least: %v, at_most: %v}, {return: places, steps: 2, "+
			"at_least: %v}, {return: places, at_most: %v}", 0.3*rng.Float64(), 2+2*rng.Float64(), 1.5*rng.Float64(),
			3+rng.Float64())
		goal := []string{"maximize: made", "minimize: places"}[trial%2]
		text := strings.Replace(vans(limits), "maximize: made", goal, 1)
		if err := os.WriteFile("vans.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"plan", "vans.yaml"},
			{"simulate", "vans.yaml", "--dispatch", "--episodes", "200"}} {
			_, status := printed(t, "json", args...)
			r := resultOf(t, &ask{args: args, fails: status != exitDone})
			if args[0] == "simulate" { // of steps that are alike a plan names any
				checkView(t, r)
			}
			checkConsistent(t, r)
			ways += indicator(len(answer(r.has).list("ways")) > 1)
			for _, l := range answer(r.has).list("constraints") {
				lower += indicator(l.text("kind") == "at_least" && l.num("price") > 1e-6)
			}
		}
	}
	if lower < 2 || ways < 3 {
		t.Errorf("%d prices of lower limits, %d fleets played in two ways: want more", lower, ways)
	}
}

// TestSafety: limits of a fleet that are tightened hold with the probability that is asked for, or the status says that
// they do not, in whatever unit they are counted.
func TestSafety(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 5))
	t.Chdir(t.TempDir())
	met, unmet := 0, 0
	for trial := range 16 {
		both := float64(trial%2) / 9
		most, least, asked := 1+2*rng.Float64(), 9*rng.Float64(), []float64{0.6, 0.9, 0.99, 0.9999}[rng.IntN(4)]
		var first answer
		for _, unit := range []float64{1, 1.0 / (1 << 20), 1 << 20} {
			text := strings.Replace(vans(fmt.Sprintf("{return: places, each_step: true, at_least: %v, at_most: %v}, "+
				"{return: made, at_least: %v}", both*most*unit, most*unit, least)), "{action: charge}", "places", 1)
			text = strings.NewReplacer("returns: [made]\n", "returns: [made, places]\n", "[3]", "[3, 0]", "0.5}, returns: [0]",
				fmt.Sprintf("0.5}, returns: [0, %v]", unit), "1}, returns: [0]", "1}, returns: [0, 0]").Replace(text)
			if err := os.WriteFile("vans.yaml", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			text, status := printed(t, "json", "plan", "vans.yaml", "--safety", fmt.Sprint(asked))
			got := answerOf(t, text)
			is := got.obj("safety")
			if is.is("met") != (status == exitDone) {
				t.Errorf("%s: met %v, status %d", text, is.is("met"), status)
			}
			for _, m := range is.list("margins") {
				if is.is("met") && m.num("holds") < asked {
					t.Errorf("%v: asked for %v", m, asked)
				}
			}
			if first == nil {
				first = got
				met += indicator(is.is("met"))
				unmet += indicator(!is.is("met") && got.text("status") != "infeasible")
			}
			if is.is("met") != first.obj("safety").is("met") || !near(got.num("objective"), first.num("objective")) {
				t.Errorf("in a unit of %v: %v, want %v", unit, got, first)
			}
		}
	}
	if met < 4 || unmet < 1 {
		t.Errorf("%d met, %d not: want more", met, unmet)
	}
}

// TestLimitsAtTheEnds: a limit at the very end of what policies return is always kept, or only by those that come to
// the other end; a little beyond it nothing, or everything, is lost.
func TestLimitsAtTheEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 1))
	for trial := range 8 {
		p := drawProblem(rng, []string{"horizon: 3", "discount: 0.75"}[trial%2])
		p.limits = nil
		file := p.write(t, 1)
		text, _ := printed(t, "json", "check", file)
		ranges := answerOf(t, text)
		for _, name := range ranges.names("returns") {
			low, high := ranges.obj("returns").obj(name).num("min"), ranges.obj("returns").obj(name).num("max")
			for _, off := range []float64{-1, 0, 1} {
				for _, atLeast := range []bool{false, true} {
					for _, end := range []float64{low, high} {
						bound, option := end+off*(high-low)/64, "--at-most"
						least, most := bound-high, bound-low
						if atLeast {
							option, least, most = "--at-least", low-bound, high-bound
						}
						text, status := printed(t, "json", "check", file, option, name+"="+strconv.FormatFloat(bound, 'g', -1, 64))
						got := answerOf(t, text)
						says, kept := "can be kept", most >= 0
						switch {
						case !kept:
							says = "cannot be kept"
						case least >= 0:
							says = "always kept"
						}
						alone := got.list("limits")[0]
						if alone.text("alone") != says || alone.num("largest_slack") != most || got.is("feasible") != kept ||
							(status == exitDone) != kept || (got.num("gap_lower") > 0) == kept {
							t.Errorf("%s\n%s %s=%v, of %v to %v: %v, feasible %v, gap %v, status %d: want %s, %v", readText(t, file),
								option, name, bound, low, high, alone, got.is("feasible"), got.num("gap_lower"), status, says, most)
						}
					}
				}
			}
		}
	}
}

// numAt is num for a member whose own name has a dot, after a slash.
func (a answer) numAt(path string) float64 {
	before, name, inside := strings.Cut(path, "/")
	if !inside {
		return a.num(path)
	}
	return a.of(before, name).num("")
}

// TestRoundedTotals: what is claimed with rounded totals holds for exact ones: objectives can be had, bounds are not
// passed, and nothing is infeasible that is not; what check leaves open has no gap that is proved. The plans of a sweep
// are those of its limits alone, with rounded totals as with exact ones.
func TestRoundedTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(68, 8))
	t.Chdir(t.TempDir())
	counts := make(map[string]int)
	for trial := range 16 {
		rows := ""
		for _, action := range []string{"slow", "fast", "wait"} {
			p := 0.2 + 0.6*rng.Float64()
			rows += fmt.Sprintf("  - {state: on, action: %s, outcomes: [{probability: %v, next: on, returns: [%.2f, %.2f]}, "+
				"{probability: %v, next: on, returns: [%.2f, %.2f]}]}\n", action, p, rng.Float64(), rng.Float64(), 1-p,
				rng.Float64(), 2*rng.Float64())
		}
		limit := fmt.Sprintf("at_most: %.2f, cvar: 0.3", 0.5+1.5*rng.Float64())
		if trial%2 == 0 {
			limit = fmt.Sprintf("at_most: %.2f, probability: %.2f", 0.3+rng.Float64(), 0.3+0.5*rng.Float64())
		}
		text := "format: cmdp/1\nhorizon: 2\nstates: [on]\nstart: on\nreturns: [gain, pain]\ngoal: {maximize: gain}\n" +
			"constraints: [{return: pain, " + limit + "}, {return: gain, at_least: 0.4}]\ntransitions:\n" + rows
		if err := os.WriteFile("tails.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ask := func(args ...string) answer {
			var out, errs strings.Builder // what is undecided has another exit status
			run(t.Context(), append(args, "--format", "json"), &out, &errs)
			return answerOf(t, out.String())
		}
		exact := ask("plan", "tails.yaml")
		best := exact.num("objective")
		for _, grid := range []string{"0.05", "0.4"} {
			plan := ask("plan", "tails.yaml", "--resolution", grid)
			check := ask("check", "tails.yaml", "--resolution", grid)
			c := &consistency{&view{answer: plan, words: []string{text, grid}}, t}
			counts[plan.text("status")]++
			c.want(plan.text("status") != "infeasible" || exact.text("status") == "infeasible", "infeasible")
			c.want(!(plan.num("objective") > best+1e-6), "objective", plan.num("objective"), best)
			c.want(!(plan.num("bound") < best-1e-6), "bound", plan.num("bound"), best)
			c.want(!check.is("feasible") || exact.text("status") == "optimal", "kept in check")
			c.want(!check.has("feasible") || check.is("feasible") || exact.text("status") == "infeasible",
				"not kept in check")
			c.want(check.has("feasible") || check.num("gap_lower") == 0, "gap of check", check.num("gap_lower"))
			counts[fmt.Sprint("kept ", check["feasible"])]++
			sweep := ask("plan", "tails.yaml", "--resolution", grid, "--sweep", "gain=0.2:0.8:0.3")
			for _, one := range sweep.list("plans") {
				alone := ask("plan", "tails.yaml", "--resolution", grid, "--at-least",
					fmt.Sprintf("gain=%v", one.numbers("limits")[0]))
				c.want(one.text("status") == alone.text("status") && near(one.num("objective"), alone.num("objective")),
					"plan of a sweep that is "+one.text("status")+", alone "+alone.text("status"), one.num("objective"),
					alone.num("objective"))
			}
		}
	}
	for _, what := range []string{"optimal", "stopped", "kept true", "kept <nil>"} {
		if counts[what] < 2 {
			t.Errorf("%v: want more %s", counts, what)
		}
	}
}
