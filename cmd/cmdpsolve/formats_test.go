package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cmdpsolve/cmdp/query"

	"github.com/spf13/pflag"
)

// A drawnProblem is a small problem of the returns gain and cost.
type drawnProblem struct {
	time, goal string
	rows       []drawnRow
	limits     []drawnLimit
	costFirst  bool // the file has cost before gain
}

// A drawnRow leads from a state to two others with 1/4 and 3/4.
type drawnRow struct {
	state, action int
	next          [2]int
	gain, cost    float64
}

type drawnLimit struct {
	of, side string
	bound    float64
}

func drawProblem(rng *rand.Rand, time string) *drawnProblem {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	p := &drawnProblem{time: time, goal: pick("maximize: gain", "maximize: gain", "minimize: cost")}
	for state := range 3 {
		for action := range 2 {
			r := drawnRow{state: state, action: action, next: [2]int{rng.IntN(3), rng.IntN(3)},
				gain: float64(rng.IntN(9)-5) / 2, cost: float64(rng.IntN(9)) / 4}
			if time == "criterion: average" { // chance decides where a run stays
				r.next = [2]int{max(1, state), max(2*indicator(state == 0), state)}
			}
			p.rows = append(p.rows, r)
		}
	}
	for range 1 + rng.IntN(3) {
		l := drawnLimit{pick("gain", "cost"), pick("at_most", "at_least"), float64(rng.IntN(9)) / 3}
		contradicts := func(o drawnLimit) bool { return o.of == l.of && o.side != l.side }
		if !slices.ContainsFunc(p.limits, contradicts) {
			p.limits = append(p.limits, l)
		}
	}
	return p
}

func indicator(is bool) int {
	if is {
		return 1
	}
	return 0
}

// write writes the problem to a file. What costs is counted in a unit of which there are so many to one.
func (p *drawnProblem) write(t *testing.T, unit float64) (file string) {
	t.Helper()
	var limits []string
	for _, l := range p.limits {
		if l.of == "cost" {
			l.bound *= unit
		}
		limits = append(limits, fmt.Sprintf("{return: %s, %s: %v}", l.of, l.side, l.bound))
	}
	order := func(gain, cost any) string {
		if p.costFirst {
			gain, cost = cost, gain
		}
		return fmt.Sprintf("returns: [%v, %v]", gain, cost)
	}
	text := "format: cmdp/1\n" + p.time + "\nstates: 3\nstart: 0\n" + order("gain", "cost") + "\ngoal: {" + p.goal +
		"}\nconstraints: [" + strings.Join(limits, ", ") + "]\ntransitions:\n"
	for _, r := range p.rows {
		next := fmt.Sprintf("%d: 0.25, %d: 0.75", r.next[0], r.next[1])
		if r.next[0] == r.next[1] {
			next = fmt.Sprintf("%d: 1", r.next[0])
		}
		text += fmt.Sprintf("  - {state: %d, action: %d, next: {%s}, %s}\n", r.state, r.action, next,
			order(r.gain, unit*r.cost))
	}
	file = filepath.Join(t.TempDir(), "problem.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// printed runs the command and returns what it prints in a format.
func printed(t *testing.T, format string, args ...string) (text string, status int) {
	t.Helper()
	var out bytes.Buffer
	var errs spoken
	status = run(context.Background(), append(slices.Clone(args), "--format", format), &out, &errs)
	if status != exitDone && status != exitInfeasible {
		t.Fatalf("%v: exit status %d: %s", args, status, errs.String())
	}
	return out.String(), status
}

// spoken is what a command says, and what a simulator says that it has started meanwhile.
type spoken struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *spoken) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// A table is one that is shown, with its header first.
type table [][]string

// tables reads the tables of Markdown.
func tables(text string) (all []table) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
			continue
		case strings.HasPrefix(line, "|:-") || strings.HasPrefix(line, "|-"):
			continue
		case !inside:
			all = append(all, nil)
		}
		inside = true
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all[len(all)-1] = append(all[len(all)-1], cells)
	}
	return all
}

// said is what a plan, a simulation or a curve is in JSON.
type said struct {
	Status                                  string
	Objective, Bound, Gap, Violation, Error *float64
	Tolerance                               float64
	Relative                                *float64 `json:"error_relative"`
	Returns                                 json.RawMessage
	Constraints                             []struct {
		Constraint   string
		Slack, Price *float64
	}
	Conflict []struct {
		Constraint, Kind    string
		Limit, Needed, Give *float64
	}
	Branches []struct {
		Probability float64
		Returns     map[string]float64
		Breaks      []string
	}
	Expected     struct{ Objective, Violation float64 }
	Distribution map[string]struct {
		Exact     bool
		Mean, SD  float64
		Quantiles map[string]float64
		CVaR      map[string]float64
		Histogram []struct{ From, To, Probability float64 }
	}
	Truncation *struct {
		Steps int
		Error float64
	}
	Points, Vertices []struct {
		Returns, Weights map[string]float64
		Vertex           bool
	}
	Plans []struct {
		said
		Limits []float64
		Prices []*float64 `json:"limit_prices"`
	}
}

func inJSON(t *testing.T, args ...string) (s said, status int) {
	t.Helper()
	text, status := printed(t, "json", args...)
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return s, status
}

// shows reports whether a cell shows a number, up to the digits that people read; nil is none.
func shows(cell string, x *float64) bool {
	if x == nil || math.IsNaN(*x) {
		return slices.Contains([]string{"–", "", "no value is enough", "infeasible"}, cell)
	}
	for _, before := range []string{"≤ ", "≥ "} {
		cell = strings.TrimPrefix(cell, before)
	}
	v, err := strconv.ParseFloat(cell, 64)
	mantissa, _, _ := strings.Cut(cell, "e")
	digits := len(strings.TrimLeft(strings.ReplaceAll(strings.TrimLeft(mantissa, "-0."), ".", ""), "0"))
	within := 0.6e-5
	switch {
	case digits <= 3:
		within = 0.6e-2
	case digits == 4:
		within = 0.6e-3
	}
	return err == nil && math.Abs(v-*x) <= within*math.Abs(*x)+2e-9
}

// TestFormatsAgree: tables for people, CSV and JSON of one question say the same numbers, for random problems, and what
// is said in words is what the numbers say.
func TestFormatsAgree(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(61, 1))
	counts := make(map[string]int)
	for trial := range 40 {
		time := []string{"horizon: 3", "discount: 0.75", "criterion: average"}[trial%3]
		p := drawProblem(rng, time)
		file := p.write(t, 1)
		policy := filepath.Join(filepath.Dir(file), "policy.csv")
		plan := checkPlan(t, counts, p, file, "--policy", policy)
		if plan.Status == "optimal" {
			checkSimulation(t, p, "simulate", file, "--policy", policy, "--episodes", "200")
			checkSimulation(t, p, "simulate", file, "--policy", policy, "--episodes", "200", "--interval", "0.1")
		}
		checkCurve(t, counts, "front", file, "--over", "gain,-cost")
		checkSwept(t, counts, "plan", file, "--at-least", "cost=none", "--sweep", "cost=2:0.5:-0.75")
	}
	for _, what := range []string{"optimal", "infeasible", "conflict", "vertices", "breaks", "all infeasible",
		"some infeasible", "explained"} {
		if counts[what] < 2 {
			t.Errorf("%v: want more %s", counts, what)
		}
	}
}

// checkPlan compares what is said of a plan.
func checkPlan(t *testing.T, counts map[string]int, p *drawnProblem, file string, more ...string) (s said) {
	t.Helper()
	args := append([]string{"plan", file}, more...)
	if p.time == "horizon: 3" {
		args = append(args, "--distribution")
	}
	s, status := inJSON(t, args...)
	counts[s.Status]++
	if (status == exitInfeasible) != (s.Status == "infeasible") ||
		(s.Status == "optimal") != (*s.Violation <= s.Tolerance) {
		t.Errorf("%s: exit status %d, missed by %g of %g", s.Status, status, *s.Violation, s.Tolerance)
	}
	returns := make(map[string]*float64)
	if err := json.Unmarshal(s.Returns, &returns); err != nil {
		t.Fatal(err)
	}
	text, _ := printed(t, "markdown", args...)
	wrong := func(what string, x *float64) {
		t.Helper()
		show := "none"
		if x != nil {
			show = fmt.Sprint(*x)
		}
		t.Errorf("%v: %s: want %s in\n%s", args, what, show, text)
	}
	bound := "certified at least"
	if strings.HasPrefix(p.goal, "maximize") {
		bound = "certified at most"
	}
	seen := 0
	for _, rows := range tables(text) {
		for i, row := range rows[1:] {
			cells := make(map[string]*float64) // by their heads
			switch head := rows[0]; head[0] {
			case "":
				of := map[string]*float64{"gain": returns["gain"], "cost": returns["cost"], "violation": s.Violation,
					"objective": s.Objective, bound: s.Bound, "gap": s.Gap}
				x, is := of[row[0]]
				if !is {
					wrong(row[0], nil)
				}
				cells[head[1]] = x
			case "constraint":
				c := s.Constraints[i]
				cells["slack"], cells["price"] = c.Slack, c.Price
				if row[0] != c.Constraint {
					wrong(c.Constraint, nil)
				}
			case "in conflict":
				c := s.Conflict[i]
				cells["would have to be"], cells["gives"] = c.Needed, c.Give
				if row[0] != c.Constraint || c.Needed != nil && strings.HasPrefix(row[1], "≥") != (c.Kind == "at_least") ||
					c.Needed != nil && math.Abs(math.Abs(*c.Needed-*c.Limit)-*c.Give) > 1e-9 {
					wrong(c.Constraint, c.Needed)
				}
				counts["conflict"]++
			case "per episode":
				d := s.Distribution[row[0]]
				for name, x := range map[string]float64{"sd": d.SD, "5%": d.Quantiles["0.05"], "median": d.Quantiles["0.5"],
					"95%": d.Quantiles["0.95"], "lowest 5%": d.CVaR["lowest_0.05"], "highest 5%": d.CVaR["highest_0.05"]} {
					cells[name] = &x
				}
				if q := d.Quantiles; !d.Exact || q["0.05"] > q["0.25"] || q["0.25"] > q["0.5"] || q["0.5"] > q["0.75"] ||
					q["0.75"] > q["0.95"] || d.CVaR["lowest_0.05"] > d.Mean || d.CVaR["highest_0.05"] < d.Mean {
					t.Errorf("%+v: want exact quantiles in order", d)
				}
			case "branch":
				checkBranch(t, counts, p, s, i, row, head)
				continue
			default: // a histogram
				d, most := s.Distribution[head[0]].Histogram, 0.0
				for _, b := range d {
					most = max(most, b.Probability)
				}
				cells[head[0]], cells["probability"] = &d[i].From, &d[i].Probability
				if bar := float64(len([]rune(row[2]))); math.Abs(bar-40*d[i].Probability/most) > 1 {
					wrong("bar", &d[i].Probability)
				}
			}
			for at, name := range rows[0] {
				if x, is := cells[name]; is && at > 0 || is && head0(rows) {
					seen++
					if !shows(row[at], x) {
						wrong(row[0]+", "+name+" "+row[at], x)
					}
				}
			}
		}
	}
	checkExplained(t, counts, p, s, text)
	broken, branches := 0.0, 0.0
	for _, b := range s.Branches {
		branches += b.Probability
		if len(b.Breaks) > 0 {
			broken += b.Probability
		}
	}
	if s.Branches != nil && math.Abs(branches-1) > 1e-9 {
		wrong("the probability of all branches", &branches)
	}
	_, after, is := strings.Cut(strings.Join(strings.Fields(text), " "), "with probability ")
	if is != (broken > 0) || is && !shows(strings.Fields(after)[0], &broken) {
		wrong("the probability of a run that breaks a limit", &broken)
	}
	checkCSV(t, s, returns, args)
	return s
}

// explained is why no policy keeps limits on one return, and on several.
var explained = [2]*regexp.Regexp{
	regexp.MustCompile(`Under every policy (gain|cost) is (at least|at most) (\S+), but (at least|at most) (\S+) is`),
	regexp.MustCompile(`Under every policy (gain .*cost|.*cost .*gain|-.*) is at least (\S+), but in .* at most (\S+)\. `),
}

// checkExplained: a reason why no policy keeps all limits names the bound of a limit and, where that is the only one in
// conflict, what it would have to be.
func checkExplained(t *testing.T, counts map[string]int, p *drawnProblem, s said, text string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ") + " "
	if m := explained[0].FindStringSubmatch(text); m != nil {
		counts["explained"]++
		right := slices.ContainsFunc(p.limits, func(l drawnLimit) bool {
			return l.of == m[1] && strings.ReplaceAll(l.side, "_", " ") == m[4] && shows(m[5], &l.bound)
		})
		if !right || m[2] == m[4] ||
			len(s.Conflict) == 1 && s.Conflict[0].Needed != nil && !shows(m[3], s.Conflict[0].Needed) {
			t.Errorf("%q with the limits %v, in conflict %+v", m[0], p.limits, s.Conflict)
		}
	}
	if m := explained[1].FindStringSubmatch(text); m != nil {
		counts["explained"]++
		least, err := strconv.ParseFloat(m[2], 64)
		most, errs := strconv.ParseFloat(m[3], 64)
		if err != nil || errs != nil || least <= most {
			t.Errorf("%q contradicts nothing", m[0])
		}
	}
}

// head0 reports whether the first column has numbers.
func head0(rows table) bool { return rows[0][0] == "gain" || rows[0][0] == "cost" }

// checkBranch: a branch breaks the limits that its means break.
func checkBranch(t *testing.T, counts map[string]int, p *drawnProblem, s said, i int, row, head []string) {
	t.Helper()
	b := s.Branches[i]
	want := 0
	for _, l := range p.limits {
		if x := b.Returns[l.of]; l.side == "at_most" && x > l.bound+1e-7 || l.side == "at_least" && x < l.bound-1e-7 {
			want++
		}
	}
	counts["breaks"] += want
	cost, gain := b.Returns["cost"], b.Returns["gain"]
	if len(b.Breaks) != want || !shows(row[slices.Index(head, "probability")], &b.Probability) ||
		!shows(row[slices.Index(head, "cost")], &cost) || !shows(row[slices.Index(head, "gain")], &gain) {
		t.Errorf("branch %v of %v: %+v breaks %d limits of %v", row, head, b, want, p.limits)
	}
}

// checkCSV compares a plan in CSV with what it is in JSON, number by number.
func checkCSV(t *testing.T, s said, returns map[string]*float64, args []string) {
	t.Helper()
	text, _ := printed(t, "csv", args...)
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*float64{"objective,": s.Objective, "bound,": s.Bound, "gap,": s.Gap, "violation,": s.Violation,
		"return,gain": returns["gain"], "return,cost": returns["cost"]}
	for _, c := range s.Constraints {
		want["slack,"+c.Constraint], want["price,"+c.Constraint] = c.Slack, c.Price
	}
	for _, c := range s.Conflict {
		want["conflict_needed,"+c.Constraint], want["conflict_give,"+c.Constraint] = c.Needed, c.Give
	}
	for name, d := range s.Distribution {
		want["distribution_mean,"+name], want["distribution_sd,"+name] = &d.Mean, &d.SD
		for level, x := range d.Quantiles {
			want["distribution_quantile_"+level+","+name] = &x
		}
		for level, x := range d.CVaR {
			want["distribution_cvar_"+level+","+name] = &x
		}
	}
	for _, line := range lines[1:] {
		key := line[0] + "," + line[1]
		x, is := want[key]
		if !is {
			continue
		}
		delete(want, key)
		if v, err := strconv.ParseFloat(line[2], 64); (err != nil) != (x == nil) || x != nil && v != *x {
			t.Errorf("%v: %s is %q in CSV, another number in JSON", args, key, line[2])
		}
	}
	for key := range want {
		t.Errorf("%v: CSV has no %s", args, key)
	}
}

// checkSimulation compares what is said of episodes that are played.
func checkSimulation(t *testing.T, p *drawnProblem, args ...string) {
	t.Helper()
	s, _ := inJSON(t, args...)
	var returns map[string]map[string]*float64
	if err := json.Unmarshal(s.Returns, &returns); err != nil {
		t.Fatal(err)
	}
	for name, r := range returns {
		if least, greatest := r["least"], r["greatest"]; least != nil && !(*least <= *r["expected"]+1e-9 &&
			*r["expected"] <= *greatest+1e-9) {
			t.Errorf("%v: %s is %g: want it between %g and %g", args, name, *r["expected"], *least, *greatest)
		}
	}
	if p.time == "discount: 0.75" {
		largest := 0.0
		for _, r := range p.rows {
			largest = max(largest, math.Abs(r.gain), math.Abs(r.cost))
		}
		want := largest / 0.25 * math.Pow(0.75, float64(s.Truncation.Steps))
		if math.Abs(s.Truncation.Error-want) > 1e-9*want {
			t.Errorf("%v: cutting episodes changes them by %g at most: want %g", args, s.Truncation.Error, want)
		}
	}
	returns["objective"] = map[string]*float64{"mean": s.Objective, "expected": &s.Expected.Objective}
	returns["violation"] = map[string]*float64{"mean": s.Violation, "expected": &s.Expected.Violation}
	columns := map[string]string{"mean": "mean", "ci95": "ci95", "exact": "expected", "least": "least",
		"greatest": "greatest",
		"stopping": "stopping"}
	text, _ := printed(t, "markdown", args...)
	for _, row := range tables(text)[0][1:] {
		for at, head := range tables(text)[0][0][1:] {
			if x := returns[row[0]][columns[head]]; !shows(row[at+1], x) && !(row[0] == "violation" && *x < 1e-7) {
				t.Errorf("%v: %s of %s is shown as %s: want another number\n%s", args, head, row[0], row[at+1], text)
			}
		}
	}
	text, _ = printed(t, "csv", args...)
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		for at, head := range lines[0][1:] {
			x := returns[line[0]][columns[head]]
			if v, err := strconv.ParseFloat(line[at+1], 64); (err != nil) != (x == nil) || x != nil && v != *x {
				t.Errorf("%v: %s of %s is %q in CSV, another number in JSON", args, head, line[0], line[at+1])
			}
		}
	}
}

// TestKeptUpToRounding: limits that a policy keeps exactly in decimal numbers are kept for people, and programs have
// what rounding, or the end of an episode that is cut, leaves of them.
func TestKeptUpToRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(92, 2))
	t.Chdir(t.TempDir())
	tiny := 0
	for trial := range 40 {
		n, total, rows := 3+rng.IntN(5), 0, "" // in tenths
		time := fmt.Sprintf("horizon: %d", n)
		for s := range n {
			x := rng.IntN(9)
			total += x
			rows += fmt.Sprintf("  - {state: %d, action: go, next: {%d: 1}, returns: [0.%d]}\n", s, min(s+1, n-1), x)
		}
		side := []string{"at_most", "at_least"}[trial/3%2]
		wanted := fmt.Sprintf("goal: {maximize: sum}\nconstraints: [{return: sum, %s: %d.%d}]", side, total/10, total%10)
		returns := "[sum]"
		if trial%3 == 0 { // a run that is cut returns less than any
			x, best := 1+rng.IntN(8), 0.0
			time, n, best, returns = "discount: 0.75", 1, float64(4*x+4)/10, "[sum, two]"
			wanted = fmt.Sprintf("goal: {minimize: sum}\ntarget: {ball: {center: [%v, %v], radius: 0.4}}", best, best)
			rows = fmt.Sprintf("  - {state: 0, action: go, next: {0: 1}, returns: [0.%[1]d, 0.%[2]d]}\n"+
				"  - {state: 0, action: more, next: {0: 1}, returns: [0.%[2]d, 0.%[2]d]}\n", x, x+1)
		}
		text := fmt.Sprintf("format: cmdp/1\n%s\nstates: %d\nstart: 0\nreturns: %s\n%s\ntransitions:\n%s", time, n,
			returns, wanted, rows)
		if err := os.WriteFile("sum.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		printed(t, "json", "plan", "sum.yaml", "--policy", "p.csv")
		args := []string{"simulate", "sum.yaml", "--policy", "p.csv", "--episodes", fmt.Sprint(1 + rng.IntN(9))}
		checkSimulation(t, &drawnProblem{}, args...)
		s, _ := inJSON(t, args...)
		tiny += indicator(*s.Violation > 0)
		words, _ := printed(t, "markdown", args...)
		rest := tables(words)[0]
		if row := rest[len(rest)-1]; row[0] != "violation" || row[1] != "0" || row[3] != "0" ||
			!strings.Contains(words, "The policy keeps every limit.") {
			t.Errorf("%v violates %s by %g\n%s", row, text, *s.Violation, words)
		}
	}
	if tiny < 4 {
		t.Errorf("rounding shows in %d violations: want more", tiny)
	}
}

// checkCurve compares what is said of a trade-off.
func checkCurve(t *testing.T, counts map[string]int, args ...string) {
	t.Helper()
	s, status := inJSON(t, args...)
	if (status == exitInfeasible) != (s.Status == "infeasible") {
		t.Errorf("%s: exit status %d", s.Status, status)
	}
	text, _ := printed(t, "markdown", args...)
	n := 0
	for _, p := range s.Points {
		worth := func(of map[string]float64) float64 {
			return p.Weights["gain"]*of["gain"] - p.Weights["cost"]*of["cost"]
		}
		for _, other := range s.Points {
			if worth(other.Returns) > worth(p.Returns)+1e-6 {
				t.Errorf("%v: %v has the weights %v, and %v is better by these", args, p.Returns, p.Weights, other.Returns)
			}
		}
		if p.Vertex {
			if !reflect.DeepEqual(p, s.Vertices[n]) {
				t.Errorf("%v: vertex %d is %v: want %v", args, n, s.Vertices[n], p)
			}
			n++
		}
	}
	for i := range s.Vertices[:max(0, len(s.Vertices)-1)] { // more gain has more cost
		a, b := s.Vertices[i].Returns, s.Vertices[i+1].Returns
		if !(a["gain"] < b["gain"] && a["cost"] < b["cost"]) {
			t.Errorf("%v: vertex %d is %v, the next %v: one of them is better", args, i+1, a, b)
		}
	}
	if n != len(s.Vertices) {
		t.Errorf("%v: %d vertices of %d", args, len(s.Vertices), n)
	}
	if s.Status == "optimal" {
		var size float64
		for _, name := range []string{"gain", "cost"} {
			size = max(size, math.Abs(s.Points[0].Returns[name]-s.Points[len(s.Points)-1].Returns[name]))
		}
		if *s.Relative > 1e-4 || math.Abs(*s.Error) > 1.01e-4*size+1e-9 {
			t.Errorf("%v: errors %g and %g of %g", args, *s.Error, *s.Relative, size)
		}
	}
	if all := tables(text); len(all) > 0 && all[0][0][0] == "vertex" {
		for _, row := range all[0][1:] {
			counts["vertices"]++
			number, err := strconv.Atoi(row[0])
			if err != nil {
				t.Fatal(err)
			}
			for at, head := range all[0][0] {
				if x, is := s.Vertices[number-1].Returns[head]; is && !shows(row[at], &x) {
					t.Errorf("%v: %s of vertex %d is shown as %s: want %g", args, head, number, row[at], x)
				}
			}
		}
	}
}

// checkSwept compares what is said of the plans of a sweep.
func checkSwept(t *testing.T, counts map[string]int, args ...string) {
	t.Helper()
	s, status := inJSON(t, args...)
	infeasible := 0
	for _, one := range s.Plans {
		infeasible += indicator(one.Status == "infeasible")
	}
	counts["all infeasible"] += indicator(infeasible == len(s.Plans))
	counts["some infeasible"] += indicator(infeasible > 0 && infeasible < len(s.Plans))
	if len(s.Plans) != 3 || (status == exitInfeasible) != (infeasible == 3) {
		t.Errorf("%v: exit status %d with %d of %d plans infeasible", args, status, infeasible, len(s.Plans))
	}
	text, _ := printed(t, "markdown", args...)
	rows := tables(text)[0]
	for i, one := range s.Plans {
		var returns map[string]*float64
		if err := json.Unmarshal(one.Returns, &returns); err != nil {
			t.Fatal(err)
		}
		if one.Status != "optimal" {
			returns = nil
		}
		want := []*float64{&one.Limits[0], one.Objective, returns["gain"], returns["cost"], one.Prices[0]}
		for at, x := range want {
			if !shows(rows[i+1][at], x) {
				t.Errorf("%v: plan %d: column %q shows %s\n%s", args, i+1, rows[0][at], rows[i+1][at], text)
			}
		}
		if c := one.Constraints; !slices.ContainsFunc(c, func(c struct {
			Constraint   string
			Slack, Price *float64
		}) bool {
			return c.Constraint == "cost ≤ "+strconv.FormatFloat(one.Limits[0], 'g', -1, 64)
		}) {
			t.Errorf("%v: plan %d has the limits %+v: want cost ≤ %g", args, i+1, c, one.Limits[0])
		}
	}
}

// TestUnitsOfLimits: the same costs and limits in thousandths are the same problem, with other prices, slacks and
// conflicts.
func TestUnitsOfLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 2))
	for trial := range 12 {
		p := drawProblem(rng, []string{"horizon: 3", "discount: 0.75", "criterion: average"}[trial%3])
		var s [2]said
		var played [2]map[string]map[string]*float64
		for i, unit := range []float64{1, 1000} {
			file := p.write(t, unit)
			policy := filepath.Join(filepath.Dir(file), "policy.csv")
			if s[i], _ = inJSON(t, "plan", file, "--policy", policy); s[i].Status != "optimal" {
				continue
			}
			of, _ := inJSON(t, "simulate", file, "--policy", policy, "--episodes", "50")
			if err := json.Unmarshal(of.Returns, &played[i]); err != nil {
				t.Fatal(err)
			}
		}
		scaled := func(what string, x, y *float64, by float64) {
			if (x == nil) != (y == nil) || x != nil && math.Abs(*x*by-*y) > 1e-6*(by+math.Abs(*y)) {
				t.Errorf("trial %d: %s, %v: %s: want %g times as much", trial, p.goal, p.limits, what, by)
			}
		}
		goal := 1.0
		if p.goal == "minimize: cost" {
			goal = 1000
		}
		a, b := s[0], s[1]
		if a.Status != b.Status || len(a.Conflict) != len(b.Conflict) {
			t.Errorf("trial %d: %s with %d limits in conflict: want %s with %d", trial, b.Status, len(b.Conflict), a.Status,
				len(a.Conflict))
			continue
		}
		for name, unit := range map[string]float64{"gain": 1, "cost": 1000} {
			for _, what := range []string{"mean", "ci95", "expected", "stopping"} {
				scaled(name+": "+what, played[0][name][what], played[1][name][what], unit)
			}
		}
		scaled("objective", a.Objective, b.Objective, goal)
		scaled("bound", a.Bound, b.Bound, goal)
		for i, l := range p.limits {
			unit := map[string]float64{"gain": 1, "cost": 1000}[l.of]
			if a.Status == "optimal" {
				scaled("slack", a.Constraints[i].Slack, b.Constraints[i].Slack, unit)
				scaled("price", a.Constraints[i].Price, b.Constraints[i].Price, goal/unit)
			}
		}
		for i, c := range a.Conflict {
			unit := 1.0
			if strings.HasPrefix(c.Constraint, "cost") {
				unit = 1000
			}
			scaled("needed", c.Needed, b.Conflict[i].Needed, unit)
			scaled("give", c.Give, b.Conflict[i].Give, unit)
		}
	}
}

// TestVariationFlags: a change that is written as flags is read as the same change, whatever returns are called.
func TestVariationFlags(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 3))
	for range 50 {
		name := func() string { return []string{"gain", "a=b", "=", "P(x ≥ 2)", "-x", "two words"}[rng.IntN(6)] }
		var v variation
		for range rng.IntN(4) {
			v.Bounds = append(v.Bounds, query.Bound{Return: name(), Kind: []string{"at_most", "at_least"}[rng.IntN(2)],
				Value: []float64{math.Inf(1), 1e-9, -2.5, 0.1}[rng.IntN(4)]})
		}
		v.Maximize = []string{"", name()}[rng.IntN(2)]
		v.Inflate = float64(rng.IntN(3)) / 7
		var read variation
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		read.addFlags(f)
		if err := f.Parse(v.flags()); err != nil || !reflect.DeepEqual(read, v) {
			t.Errorf("%v: %+v, %v: want %+v", v.flags(), read, err, v)
		}
	}
}

// TestErrorsOfReturns: errors of a curve are read in any order, each for the return that it names.
func TestErrorsOfReturns(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 4))
	for range 50 {
		at := rng.Perm(5) // among all returns
		over := []objective{{at[0], "gain", 1}, {at[1], "cost", -1}, {at[2], "time spent", -1}}
		fraction, absolute := 1e-4, []float64(nil)
		var texts []string
		for _, k := range rng.Perm(4)[:1+rng.IntN(4)] {
			x := float64(1+rng.IntN(9)) / 10
			if k == 3 {
				fraction = x
				texts = append(texts, fmt.Sprint(x))
				continue
			}
			if absolute == nil {
				absolute = make([]float64, len(over))
			}
			absolute[k] = x
			texts = append(texts, fmt.Sprintf(" %v %s", x, over[k].name))
		}
		list := strings.Join(texts, ",")
		gotFraction, got, err := parseErrors(list, over)
		if err != nil || gotFraction != fraction || !slices.Equal(got, absolute) {
			t.Errorf("%q: %v and %v, error %v: want %v and %v", list, gotFraction, got, err, fraction, absolute)
		}
	}
}

// TestProposedTradeOff: without --over a curve is proposed between the first two returns: as the goal wants them, those
// with an upper limit small and the others large.
func TestProposedTradeOff(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 5))
	for range 16 {
		p := drawProblem(rng, "horizon: 1")
		p.goal = []string{"maximize: gain", "minimize: gain", "maximize: cost", "minimize: cost"}[rng.IntN(4)]
		p.costFirst = rng.IntN(2) == 0
		large := map[string]bool{"gain": true, "cost": true}
		for _, l := range p.limits {
			large[l.of] = large[l.of] && l.side == "at_least"
		}
		kind, wanted, _ := strings.Cut(p.goal, ": ")
		large[wanted] = kind == "maximize"
		var want []string
		for _, name := range map[bool][]string{true: {"cost", "gain"}, false: {"gain", "cost"}}[p.costFirst] {
			want = append(want, map[bool]string{true: "+", false: "-"}[large[name]]+name)
		}
		var out, errs strings.Builder
		status := run(t.Context(), []string{"front", p.write(t, 1)}, &out, &errs)
		said := strings.Join(strings.Fields(errs.String()), " ")
		if status != exitUsage || !strings.HasSuffix(said, "such as --over "+strings.Join(want, ",")) {
			t.Errorf("%s, limits %v: exit status %d, %s: want %v", p.goal, p.limits, status, said, want)
		}
	}
}

// TestTablesWithHoles: a chance whose limit is swept through 0 is no return there, and policies that never draw may be
// best by no weights. Tables have holes in these places.
func TestTablesWithHoles(t *testing.T) {
	for _, c := range []struct{ args, row string }{
		{"plan ../../docs/examples/depot.yaml --sweep P(short_>_0)=0:0.1:0.05", "0,16,16,0,,\n"},
		{"front ../../docs/examples/depot.yaml --over -short,-cost --deterministic", ",,1\n"},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		var out, errs strings.Builder
		status := run(t.Context(), append(args, "--format", "csv"), &out, &errs)
		if status != 0 || !strings.Contains(out.String(), c.row) {
			t.Errorf("%s: exit status %d\n%s%s\nwant a row that ends in %q", c.args, status, out.String(), errs.String(), c.row)
		}
	}
}
