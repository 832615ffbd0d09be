package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"gonum.org/v1/gonum/floats"
)

// explorerOf makes an explorer of a problem file.
func explorerOf(t *testing.T, text string) *explorer {
	t.Helper()
	name := filepath.Join(t.TempDir(), "problem.yaml") // which JSON is too
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := (&memoryOptions{}).load(t.Context(), streams{problem: new(problem.ReadOptions)}, name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newExplorer(t.Context(), p, &planOptions{iterations: 2000})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestExploredTails wants the slider of the mean of the worst episodes to reach as far as that mean can, and not only
// as far as the mean of all.
func TestExploredTails(t *testing.T) {
	const text = "format: cmdp/1\nhorizon: 1\nstates: 1\nstart: 0\nreturns: [x]\ngoal: {maximize: x}\n" +
		"constraints: [{return: x, %s: 0, cvar: 0.1}]\ntransitions:\n" +
		"  - {state: 0, action: 0, outcomes: [{probability: 0.9, next: 0}, {probability: 0.1, next: 0, returns: [%d]}]}\n" +
		"  - {state: 0, action: 1, next: {0: 1}}\n"
	for _, test := range []struct {
		kind           string
		rare, min, max float64
	}{{"at_most", 10, 0, 10}, {"at_least", -10, -10, 0}} {
		tail := explorerOf(t, fmt.Sprintf(text, test.kind, int(test.rare))).about.Tails[0]
		if math.Abs(float64(tail.Min)-test.min) > 1e-9 || math.Abs(float64(tail.Max)-test.max) > 1e-9 {
			t.Errorf("%s: from %v to %v: want %g to %g", test.kind, tail.Min, tail.Max, test.min, test.max)
		}
	}
}

// drawn writes a random problem whose choices earn a reward and a cost. With pieces, nothing leads back to the start
// or from one part to the other, so that a mean in the long run may need a draw at the start.
func drawn(rng *rand.Rand, when string, steps int, pieces bool) string {
	const states = 6
	var rows []map[string]any
	for step := 1; step <= max(1, steps); step++ {
		for s := range states {
			part := []int{1, 2, 3, 4, 5}
			switch {
			case s == 0 && pieces:
				part = []int{1, 3}
			case pieces && s < 3:
				part = []int{1, 2}
			case pieces:
				part = []int{3, 4, 5}
			}
			for a := range 3 {
				next, left := map[string]float64{}, 1.0
				for i, to := range rng.Perm(len(part))[:2] {
					x := left
					if i == 0 {
						x = float64(1+rng.IntN(9)) / 10
					}
					left -= x
					next[fmt.Sprint("s", part[to])] = math.Round(10*x) / 10
				}
				if s == 0 && pieces { // an action leads to each part, and one stays
					next = map[string]float64{fmt.Sprint("s", []int{1, 3, 0}[a]): 1}
				}
				row := map[string]any{"state": fmt.Sprint("s", s), "action": fmt.Sprint("a", a), "next": next,
					"returns": []float64{float64(rng.IntN(100)) / 10, float64(rng.IntN(100)) / 10}}
				if pieces && s == 0 && a == 2 { // and it pays to stay there
					row["returns"] = []float64{20, 9}
				}
				if steps > 0 {
					row["step"] = step
				}
				rows = append(rows, row)
			}
		}
	}
	p := map[string]any{"format": "cmdp/1", "states": []string{"s0", "s1", "s2", "s3", "s4", "s5"}, "start": "s0",
		"returns":     []string{"reward", "cost"},
		"transitions": rows, "goal": map[string]string{"maximize": "reward"},
		"constraints": []map[string]any{{"return": "cost", "at_most": 5}}}
	switch when {
	case "average":
		p["criterion"] = "average"
	case "discount":
		p["discount"] = 0.9
		p["constraints"].([]map[string]any)[0]["at_most"] = 45
	default:
		p["horizon"] = 4
		p["constraints"].([]map[string]any)[0]["at_most"] = 18
	}
	text, _ := json.Marshal(p)
	return string(text)
}

// wouldDo returns how often a plan without a horizon would take each of the three actions of a state where it never
// comes: what its components do there, as often as each is drawn.
func wouldDo(plan *played, s int) []float64 {
	mixture := plan.mixture
	if plan.policy != nil {
		mixture = []exact.WeightedPolicy{{Weight: 1, Policy: plan.policy}}
	}
	shares, of := make([]float64, 3), make([]float64, 3)
	for _, c := range mixture {
		c.Policy.Distribution(of, 0, s)
		floats.AddScaled(shares, c.Weight, of)
	}
	return shares
}

// TestExploredPolicyEarnsItsReturns adds up what the page says of a plan's policy: visits, times the share of
// an action, times what it earns, are the returns of the plan. Where it never comes shares are those of [wouldDo].
func TestExploredPolicyEarnsItsReturns(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 23))
	drawnAtStart := 0
	for k := range 40 {
		when := []string{"horizon", "discount", "average", "steps"}[k%4]
		steps := 0
		if when == "steps" {
			steps = 4
		}
		e := explorerOf(t, drawn(rng, when, steps, when == "average" && k%8 == 2))
		question := map[string]any{"limits": e.about.Limits}
		text, _ := json.Marshal(question)
		answer, err := e.plan(t.Context(), text, func(any) {})
		if err != nil {
			t.Fatal(err)
		}
		a := answer.(*planAnswer)
		r := a.Report.(*planReport)
		if a.ID == 0 {
			continue // the limit cannot be kept
		}
		plan, err := e.played(a.ID)
		if err != nil {
			t.Fatal(err)
		}
		drawnAtStart += min(1, max(0, len(plan.mixture)-1))
		pages := []int{-1}
		if steps > 0 {
			pages = []int{0, 1, 2, 3}
		}
		earned := make([]float64, 2)
		for _, step := range pages {
			text, _ := json.Marshal(policyQuestion{ID: a.ID, Step: step, Most: 100})
			answer, err := e.showPolicy(t.Context(), text, nil)
			if err != nil {
				t.Fatal(err)
			}
			rows := e.Model.Rows(max(0, step))
			for _, at := range answer.(*policyAnswer).States {
				total := 0.0
				for i, name := range at.Names {
					first, end := rows.Choices(at.State)
					c := first
					for c < end && e.ActionName(max(0, step), at.State, c-first) != name {
						c++
					}
					total += at.Shares[i]
					for j, x := range rows.Returns(c) {
						earned[j] += at.Visits * at.Shares[i] * x
					}
				}
				forever := when == "discount" || when == "average" // where it says what is done also where it never comes
				if (at.Visits > 0 || forever) && math.Abs(total-1) > 1e-9 {
					t.Errorf("problem %d, %s: shares of %s add up to %g", k, when, at.Name, total)
				}
				if !forever || at.Visits > 0 {
					continue
				}
				for a, want := range wouldDo(plan, at.State) {
					got, i := 0.0, slices.Index(at.Names, e.ActionName(0, at.State, a))
					if i >= 0 {
						got = at.Shares[i]
					}
					if !(math.Abs(got-want) <= 1e-9) {
						t.Errorf("problem %d, %s: share %g of action %d of %s: want %g", k, when, got, a, at.Name, want)
					}
				}
			}
		}
		for j, name := range []string{"reward", "cost"} {
			if want := float64(r.Returns.Values[j]); math.Abs(earned[j]-want) > 1e-6*(1+want) {
				t.Errorf("problem %d, %s, %d components: visits and shares earn %g of %s: want %g", k, when,
					len(plan.mixture), earned[j], name, want)
			}
		}
	}
	if drawnAtStart < 2 {
		t.Errorf("%d plans draw at the start: want more", drawnAtStart)
	}
}

// TestExploredPlansAreKept keeps plans as the page asks: those that it shows stay, the newest is there, and of
// the others the oldest go first.
func TestExploredPlansAreKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	e := explorerOf(t, drawn(rng, "horizon", 0, false))
	var want []int
	for range 300 {
		var keep []int
		for _, id := range want {
			if rng.IntN(3) == 0 {
				keep = append(keep, id)
			}
		}
		if len(want) == keptPlans {
			gone := slices.IndexFunc(want, func(id int) bool { return !slices.Contains(keep, id) })
			want = slices.Delete(want, max(0, gone), max(0, gone)+1)
		}
		want = append(want, e.remember(&played{}, keep))
		if len(want) > 1 && slices.Contains(want[:len(want)-1], want[len(want)-1]) {
			t.Fatalf("plan %d has the number of another", want[len(want)-1])
		}
		for _, id := range want {
			if p, err := e.played(id); err != nil || p.id != id {
				t.Fatalf("plan %d of %v is not kept while the page shows %v", id, want, keep)
			}
		}
		if len(e.plans) != len(want) {
			t.Fatalf("%d plans are kept: want %v", len(e.plans), want)
		}
	}
}

// tanks is a problem where, if all is risky, the worst fifth burn 10 or nothing, and begin at 0. If a share q
// is, they burn 10 with q/10, else 5: with q up to 0.4 their mean is at most 6, and they begin at 5.
const tanks = `format: cmdp/1
horizon: 1
states: [s]
start: s
returns: [reward, fuel, noise]
goal: {%s}
constraints:
  - {return: fuel, at_most: 6, cvar: 0.2}
  - {return: noise, at_most: 1}
transitions:
  - {state: s, action: safe, next: {s: 1}, returns: {fuel: 5}}
  - {state: s, action: risky, outcomes: [{probability: 0.9, next: s, returns: {fuel: 0, reward: 1, noise: 1}}, {probability: 0.1, next: s, returns: {fuel: 10, reward: 1, noise: 1}}]}
`

// TestExploredProblemReadsBack: "this problem" gives a file with the plan that the page shows, also where limits on the
// course of episodes were moved.
func TestExploredProblemReadsBack(t *testing.T) {
	curved := filepath.Join(t.TempDir(), "curved.yaml")
	if err := os.WriteFile(curved, []byte(fmt.Sprintf(tanks, "cost: {squared: {center: [1, 0, 1]}}")),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		problem string
		limits  []query.Bound
	}{
		{"frozenlake4", []query.Bound{{Return: "hole", Kind: "at_most", Value: 0.05}}},
		{"../../docs/examples/depot.yaml", []query.Bound{{Return: "P(short > 0)", Kind: "at_most", Value: 0.2}}},
		{curved, []query.Bound{{Return: "noise", Kind: "at_most", Value: 0.25},
			{Return: "mean of the worst 20% of fuel", Kind: "at_most", Value: 5.75}}},
		{"../../docs/examples/corridor.yaml", []query.Bound{{Return: "key_first", Kind: "at_least", Value: 0.95},
			{Return: "mean of the worst 20% of steps", Kind: "at_most", Value: 4.7}}},
	} {
		p, err := load(c.problem)
		if err != nil {
			t.Fatal(err)
		}
		e, err := newExplorer(t.Context(), p, &planOptions{iterations: 2000})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range c.limits {
			if _, is := p.Given(l.Kind, l.Return); !is {
				t.Fatalf("%s has no limit %v", c.problem, l)
			}
		}
		text, err := json.Marshal(question{Limits: c.limits})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := e.plan(t.Context(), text, func(any) {})
		if err != nil {
			t.Fatal(err)
		}
		files, err := e.files(t.Context(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := problem.Parse("again.yaml", []byte(files.(*filesAnswer).Problem), nil)
		if err != nil {
			t.Fatalf("%v\n%+v", err, files)
		}
		q, err := query.New(t.Context(), again, query.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if q, err = q.Best(t.Context()); err != nil {
			t.Fatal(err)
		}
		byFile := p.as(q)
		byCommand, err := p.varied(t.Context(), e.variation(&question{Limits: c.limits}))
		if err != nil {
			t.Fatal(err)
		}
		want := plan.(*planAnswer).Report.(*planReport)
		for of, q := range map[string]*loaded{"file": byFile, "command": byCommand} {
			r, err := exact.Solve(t.Context(), q.Model, q.Task, exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Sense() * r.Objective; want.Status != "optimal" || r.Status.String() != want.Status ||
				math.Abs(got-float64(want.Objective)) > 1e-7*math.Abs(got) {
				t.Errorf("%s, by the %s: %v %v, the page shows %v %v", c.problem, of, r.Status, got, want.Status,
					want.Objective)
			}
		}
	}
}

// TestExploreOtherThresholds: when limits move, the worst episodes begin where it is best for them.
func TestExploreOtherThresholds(t *testing.T) {
	e := explorerOf(t, fmt.Sprintf(tanks, "maximize: reward"))
	// With a share q of risky flights the worst fifth burn 5 + 2.5 q, up to q = 0.8, and with q = 1 they burn 5.
	for _, c := range []struct{ noise, fuel, objective, threshold float64 }{{0.3, 6, 0.3, 5}, {2, 6, 1, 0},
		{0.3, 5.5, 0.2, 5}, {2, 5, 1, 0}, {2, 4.5, math.NaN(), 0}} {
		q := question{}
		for _, l := range e.about.Limits {
			l.Value = map[string]float64{"noise": c.noise, "mean of the worst 20% of fuel": c.fuel}[l.Return]
			q.Limits = append(q.Limits, l)
		}
		if len(q.Limits) != 2 {
			t.Fatalf("limits %v", q.Limits)
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		early := 0
		answer, err := e.plan(t.Context(), text, func(x any) {
			if _, is := x.(earlyAnswer); is {
				early++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		r := answer.(*planAnswer).Report.(*planReport)
		if optimal := r.Status == "optimal"; optimal == math.IsNaN(c.objective) ||
			optimal && math.Abs(float64(r.Objective)-c.objective) > 1e-6 ||
			float64(r.Thresholds[0].Threshold) != c.threshold {
			t.Errorf("%+v: %s %v at %v", c, r.Status, r.Objective, r.Thresholds[0].Threshold)
		}
		if early != 1 {
			t.Errorf("%+v: %d times first numbers, want those at the threshold that the problem was read with", c,
				early)
		}
	}
}

// TestNearestThresholds: of the thresholds that can do the nearest to the bound is the first to be tried.
func TestNearestThresholds(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 4))
	for range 100 {
		l := &query.Limit{Scope: query.WorstEpisodes, Bound: 2, AtLeast: rng.IntN(2) == 0}
		for range rng.IntN(4) {
			x := 2 * rng.Float64() // up to the bound, or from it
			if l.AtLeast {
				x += 2
			}
			l.Thresholds = append(l.Thresholds, x)
		}
		slices.Sort(l.Thresholds)
		got := atBounds(&query.Query{Limits: []*query.Limit{l}})[0]
		if len(l.Thresholds) == 0 {
			l.Thresholds = []float64{l.Bound}
		}
		for _, x := range l.Thresholds {
			if math.Abs(x-l.Bound) < math.Abs(got-l.Bound) {
				t.Errorf("of %v %g is the nearest to %g: want %g", l.Thresholds, got, l.Bound, x)
			}
		}
	}
}

// TestExploreRefuses: drawn questions have an answer, or say what is wrong with them: a step that there is not, a limit
// on a probability that is none, nothing to plan for, a curve that is not between two returns, what is no question.
func TestExploreRefuses(t *testing.T) {
	const text = "format: cmdp/1\nhorizon: 3\nstates: 2\nstart: 0\nreturns: {x: {}, there: {reach: [1]}}\n%s" +
		"constraints: [{return: there, at_most: 1}]\ntransitions:\n" +
		"  - {state: 0, action: 0, next: {0: 0.5, 1: 0.5}, returns: [1]}\n" +
		"  - {state: 0, action: 1, next: {0: 1}, returns: [0]}\n  - {state: 1, action: 0, next: {1: 1}, returns: [2]}\n"
	rng := rand.New(rand.NewPCG(71, 9))
	said := map[string]int{}
	both := []*explorer{explorerOf(t, fmt.Sprintf(text, "goal: {maximize: x}\n")), explorerOf(t, fmt.Sprintf(text, ""))}
	for range 300 {
		aimless := rng.IntN(2)
		e := both[aimless]
		id := answered[*planAnswer](t, e.plan, question{Limits: e.about.Limits}).ID
		kind := []string{"plan", "front", "policy", "episodes"}[rng.IntN(4)]
		value, step := []float64{-0.5, 0, 0.5, 1, 1.5}[rng.IntN(5)], rng.IntN(7)-2
		asked := question{Limits: []query.Bound{{Return: []string{"there", "x"}[rng.IntN(2)], Kind: "at_most", Value: value}},
			Over: []string{"x", "there", "x"}[:1+rng.IntN(3)], Signs: []float64{1, -1, 1}[:1+rng.IntN(3)]}
		if rng.IntN(4) == 0 {
			asked.Limits = nil
		}
		var of any = asked
		want := ""
		switch kind {
		case "plan":
			switch probable := len(asked.Limits) == 0 || asked.Limits[0].Return == "x"; {
			case !probable && (value < 0 || value > 1):
				want = fmt.Sprintf("there is a probability: want a limit from 0 to 1, not %g", value)
			case aimless == 1 && asked.Limits == nil:
				want = "there is neither a goal nor a limit: nothing to plan for"
			}
		case "front":
			if len(asked.Over) != 2 || len(asked.Signs) != 2 {
				want = "a trade-off curve is between two returns of a problem with one player"
			}
		case "policy":
			of = policyQuestion{ID: id, Step: step, Most: 10}
			if step < -1 || step > 2 {
				want = fmt.Sprintf("there is no step %d", step+1)
			}
		case "episodes":
			of = episodesQuestion{ID: id, Count: 1}
		}
		bytes, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		if rng.IntN(5) == 0 {
			bytes, want = bytes[:rng.IntN(len(bytes))], "the question cannot be read: "
		}
		_, err = e.answers()[kind](t.Context(), bytes, func(any) {})
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.HasPrefix(got, want) && want != "" {
			t.Errorf("%s: %s: %v: want %q", kind, bytes, err, want)
		}
		said[want]++
	}
	if len(said) < 7 {
		t.Errorf("%v: want more refusals", said)
	}
}

// TestExploreTargetOfGame: where there is no one policy for a player, the page is told why.
func TestExploreTargetOfGame(t *testing.T) {
	p, err := load("matrix:game=regret2,limit=-0.1")
	if err != nil {
		t.Fatal(err)
	}
	e, err := newExplorer(t.Context(), p, &planOptions{iterations: 2000})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(question{Goal: &e.about.Goal, Limits: e.about.Limits})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := e.plan(t.Context(), text, func(any) {})
	if err != nil {
		t.Fatal(err)
	}
	id := plan.(*planAnswer).ID
	if _, err := e.showPolicy(t.Context(), fmt.Appendf(nil, `{"id": %d, "player": "agent", "most": 10}`, id),
		nil); err == nil || !strings.Contains(err.Error(), "by adapting") {
		t.Errorf("the agent's policy: %v", err)
	}
	if a, err := e.showPolicy(t.Context(), fmt.Appendf(nil, `{"id": %d, "player": "opponent", "most": 10}`, id),
		nil); err != nil || len(a.(*policyAnswer).States) == 0 {
		t.Errorf("the opponent's policy: %v, %v", a, err)
	}
}

// TestExploreCommand: explore prints the address of the page and ends with its context.
func TestExploreCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	status := make(chan int, 1)
	go func() { status <- run(ctx, []string{"explore", "inventory", "--no-open"}, in, io.Discard) }()
	var line string
	if _, err := fmt.Fscanln(out, &line); err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Errorf("%q, %v", line, err)
	}
	cancel()
	if got := <-status; got != exitDone {
		t.Errorf("status %d", got)
	}
}

// TestExploreKeepsAddressSecret: the browser is told a private file that leads to the page, and the file is
// gone once the page was opened.
func TestExploreKeepsAddressSecret(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the browser is opened in another way")
	}
	programs, told := t.TempDir(), filepath.Join(t.TempDir(), "told")
	opener := "#!/bin/sh\nstat -c '%a' \"$1\" \"$(dirname \"$1\")\" > " + told + ".new\necho \"$@\" >> " + told +
		".new\nmv " + told + ".new " + told + "\n"
	if err := os.WriteFile(filepath.Join(programs, "xdg-open"), []byte(opener), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	status := make(chan int, 1)
	go func() { status <- run(ctx, []string{"explore", "inventory"}, in, t.Output()) }()
	var address string
	if _, err := fmt.Fscanln(out, &address); err != nil {
		t.Fatal(err)
	}
	text := ""
	for text == "" {
		data, _ := os.ReadFile(told)
		text = string(data)
		time.Sleep(time.Millisecond)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 3 || lines[0] != "600" || lines[1] != "700" {
		t.Fatalf("the file of the browser: %q: want permissions 600 in a folder with 700, and a name", lines)
	}
	page, err := os.ReadFile(lines[2])
	if err != nil || !strings.Contains(string(page), `content="0;url=`+address+`"`) {
		t.Errorf("%s, %v: want a page that leads to %s", page, err, address)
	}
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	for {
		if _, err := os.Stat(lines[2]); errors.Is(err, fs.ErrNotExist) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if got := <-status; got != exitDone {
		t.Errorf("status %d", got)
	}
}
