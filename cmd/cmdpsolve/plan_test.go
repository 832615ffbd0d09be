package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/exact"
)

// runJSON runs the command with --format json and decodes what it prints.
func runJSON(t *testing.T, into any, wantStatus int, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(context.Background(), append(args, "--format", "json"), &out, &errs); status != wantStatus {
		t.Fatalf("cmdpsolve %s: exit status %d, want %d: %s", strings.Join(args, " "), status, wantStatus,
			errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("cmdpsolve %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
}

// TestPlanKnownAnswers solves problems whose optima are known: FrozenLake's by
// Gymnasium's maps and time limits, the cliff's by hand.
func TestPlanKnownAnswers(t *testing.T) {
	const cliff = "cliff:rows=3,cols=4,H=20,budget="
	for _, c := range []struct {
		problem   string
		want, tol float64
	}{
		{"frozenlake4:budget=none", 0.744190288, 1e-9},
		{"frozenlake8:budget=none", 0.913220150, 1e-9},
		{cliff + "none", -5, 1e-9},
		{cliff + "0", -7, 1e-9},
		{cliff + "1", -6, 1e-9},
		{cliff + "2", -5, 1e-9},
	} {
		var got planReport
		runJSON(t, &got, exitDone, "plan", c.problem)
		if math.Abs(float64(got.Objective)-c.want) > c.tol {
			t.Errorf("%s: objective %.12g: want %.9f", c.problem, got.Objective, c.want)
		}
		if b := float64(got.Bound); b < float64(got.Objective) || float64(got.Gap) > 1e-9*math.Abs(c.want) ||
			math.Abs(b-float64(got.Objective)-float64(got.Gap)) > 1e-15 {
			t.Errorf("%s: objective %.17g, bound %.17g, gap %g", c.problem, got.Objective, b, got.Gap)
		}
		if c.problem[len(c.problem)-4:] == "none" && got.Randomized != 0 {
			t.Errorf("%s: %d randomised pairs without a constraint", c.problem, got.Randomized)
		}
	}
}

// problems of every kind: with a horizon, steps that differ, random returns, a
// discount, absorption, names that need quotes, curved targets and costs.
func roundTripProblems(t *testing.T) []string {
	t.Helper()
	dir, list := t.TempDir(), []string{"inventory", "media", "frozenlake8", "garnet:S=12,A=3,d=3",
		"cliff:rows=3,cols=4,H=20,budget=1"}
	const body = `
states: ["odd, name", 'with "quotes"', "2"]
start: {"odd, name": 0.25, 'with "quotes"': 0.75}
returns: [reward, cost]
transitions:
  - {state: "odd, name", action: "go, now", next: {'with "quotes"': 0.5, "odd, name": 0.25, "2": 0.25}, returns: [1, 1]}
  - {state: "odd, name", action: "ü", next: {'with "quotes"': 0.75, "2": 0.25}, returns: [0.5, 0]}
  - state: 'with "quotes"'
    action: 0
    outcomes:
      - {probability: 0.5, next: "2", returns: [2, 0]}
      - {probability: 0.5, next: "odd, name", returns: [0, 1]}
  - {state: 'with "quotes"', action: 1, next: {"2": 1}, returns: [0.25, 0]}
%s
`
	for i, kind := range []string{
		"horizon: 5\ngoal: {maximize: reward}\nconstraints: [{return: cost, at_most: 0.7}]",
		"discount: 0.9\ngoal: {maximize: reward}\nconstraints: [{return: cost, at_most: 0.7}]",
		"discount: 1\ngoal: {maximize: reward}\nconstraints: [{return: cost, at_most: 0.7}]",
		"discount: 1\ngoal: {cost: {squared: {center: [2, 0]}}}\ntarget: {ball: {center: [1, 0.5], radius: 0.5}}",
		"discount: 0.5\ntarget: {point: [0.9, 0.4]}",
	} {
		file := filepath.Join(dir, fmt.Sprintf("kind%d.yaml", i))
		steps := ""
		if i == 0 { // at step 2 another order of actions, at step 3 another action
			steps = `  - {state: "2", action: late, step: 3, next: {"2": 1}, returns: [0.1, 0]}`
		}
		if err := os.WriteFile(file, []byte("format: cmdp/1\n"+kind+fmt.Sprintf(body, steps)), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, file)
	}
	return list
}

// TestPolicyFilesKeepThePromise writes the policy of plan to a file, plays it, and
// finds the returns again that plan had promised.
func TestPolicyFilesKeepThePromise(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for _, problem := range roundTripProblems(t) {
		for _, name := range []string{"policy.csv", "policy.json"} {
			file := filepath.Join(t.TempDir(), name)
			var plan planReport
			runJSON(t, &plan, exitDone, "plan", problem, "--policy", file)
			var sim simulateReport
			runJSON(t, &sim, exitDone, "simulate", problem, "--policy", file, "--episodes", "4000")
			if v := float64(sim.Expected.Violation); v > 1e-9 {
				t.Errorf("%s: the policy in %s misses the target by %g", problem, name, v)
			}
			for i, promised := range plan.Returns.Values {
				r := plan.Returns.Names[i]
				m, _ := sim.Returns.Of(r)
				if math.Abs(float64(m.Expected-promised)) > 1e-9*max(1, math.Abs(float64(promised))) {
					t.Errorf("%s: %s: %s %.12g, but plan said %.12g", problem, name, r, m.Expected, promised)
				}
				// Six standard errors, and the truncation of discounted episodes.
				if off := math.Abs(float64(m.Mean - m.Expected)); off > 3.1*float64(m.CI95)+1e-4 {
					t.Errorf("%s: %s: mean %s %g ± %g, expected %g", problem, name, r, m.Mean, m.CI95, m.Expected)
				}
			}
		}
	}
}

// TestPricesAreDerivatives compares the price of each constraint with the change of
// the optimum when it is relaxed a little.
func TestPricesAreDerivatives(t *testing.T) {
	const text = `
format: cmdp/1
discount: 0.9
states: 2
start: 0
returns: [reward, cost]
transitions:
  - {state: 0, action: stay, next: {0: 1}, returns: [1, 1]}
  - {state: 0, action: go, next: {1: 1}, returns: [0, 2]}
  - {state: 1, action: stay, next: {1: 1}, returns: [3, 3]}
  - {state: 1, action: go, next: {0: 1}, returns: [0, 0]}
`
	optimum := func(rest string) planReport {
		file := filepath.Join(t.TempDir(), "p.yaml")
		if err := os.WriteFile(file, []byte(text+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		var r planReport
		runJSON(t, &r, exitDone, "plan", file)
		return r
	}
	const step = 1e-4
	for _, c := range []struct {
		rest  string
		base  float64
		sense float64 // of relaxing
	}{
		{"goal: {maximize: reward}\nconstraints: [{return: cost, at_most: %g}]", 12, 1},
		{"goal: {minimize: cost}\nconstraints: [{return: reward, at_least: %g}]", 12, -1},
		{"goal: {minimize: cost}\ntarget: {halfspace: {normal: {reward: -2, cost: -1}, offset: %g}}", -40, 1},
		{"goal: {maximize: reward}\ntarget: {polytope: {A: [[0, 4], [1, -1]], b: [%g, 100]}}", 48, 1},
		{"goal: {cost: {squared: {center: [20, 10]}}}\nconstraints: [{return: cost, at_most: %g}]", 12, 1},
		{"goal: {maximize: reward}\ntarget: {inflate: {set: {ball: {center: [7, 8], radius: 1}}, radius: %g}}", 2, 1},
	} {
		at := optimum(fmt.Sprintf(c.rest, c.base))
		more := optimum(fmt.Sprintf(c.rest, c.base+c.sense*step))
		rate := math.Abs(float64(more.Objective-at.Objective)) / step
		if len(at.Prices) == 0 || math.Abs(float64(at.Prices[0])-rate) > 1e-3*rate || rate == 0 {
			t.Errorf("%s at %g: prices %v, but the optimum changes at the rate %g", c.rest, c.base, at.Prices, rate)
		}
		if len(at.Prices) != len(at.Constraints) {
			t.Errorf("%s: %d prices of %d constraints", c.rest, len(at.Prices), len(at.Constraints))
		}
	}
}

// TestInterrupted stops every planning command before it begins.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	file := filepath.Join(t.TempDir(), "p.csv")
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"plan", "media", "--policy", file}, &out,
		&errs); status != exitDone {
		t.Fatal(errs.String())
	}
	for _, args := range [][]string{
		{"plan", "media"}, {"front", "media", "--over", "empty,fast"}, {"check", "media"},
		{"simulate", "media", "--policy", file},
	} {
		out.Reset()
		errs.Reset()
		if status := run(ctx, args, &out, &errs); status != exitFailed ||
			!strings.Contains(errs.String(), "interrupted") || out.Len() > 0 {
			t.Errorf("%v: exit status %d, %q, %q", args, status, out.String(), errs.String())
		}
	}
}

// TestCheckAgrees compares check with plan and with the model at hand.
func TestCheckAgrees(t *testing.T) {
	var check checkReport
	runJSON(t, &check, exitDone, "check", "frozenlake8")
	if check.States != 64 || check.Choices != 212 || check.Transitions != 630 || check.Horizon == nil ||
		*check.Horizon != 200 {
		t.Errorf("sizes %+v", check)
	}
	if goal, _ := check.Returns.Of("goal"); math.Abs(float64(goal.Max)-0.913220150) > 1e-9 || goal.Min != 0 {
		t.Errorf("goal lies in %+v", goal)
	}
	if check.Feasible == nil || !*check.Feasible || check.GapLower != 0 || check.GapUpper != 0 {
		t.Errorf("feasible %v, gap %g to %g", check.Feasible, check.GapLower, check.GapUpper)
	}
	var plan planReport
	runJSON(t, &plan, exitDone, "plan", "frozenlake8")
	if math.Abs(float64(check.Rho-plan.Rho)) > 1e-9 || math.Abs(float64(plan.Rho-2*plan.Prices[0])) > 1e-9 ||
		check.Slater.Rho < check.Rho {
		t.Errorf("rho %g and %g, by the ball %g, price %g", check.Rho, plan.Rho, check.Slater.Rho, plan.Prices[0])
	}
}

// TestPlanOfALog plans a journey, fast or slow, from 1,000 journeys of each kind, of which 300 and 100 ended in
// a crash. The least share of slow journeys for a chance of a crash, and what it costs not to know the chances,
// follow from the normal approximation of the posterior.
func TestPlanOfALog(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	log := write("log.csv", "state,action,next,count\nhome,fast,crash,300\nhome,fast,there,700\nhome,slow,crash,100\nhome,slow,there,900\ncrash,wait,crash,1000\nthere,wait,there,1000\n")
	for goal, fast := range map[string]float64{"maximize": 1, "minimize": -1} {
		problem := write("problem.yaml", fmt.Sprintf(`
format: cmdp/1
horizon: 2
states: [home, crash, there]
start: home
returns: [gain, crashes]
transitions:
  - {state: home, action: fast, next: {crash: 0.5, there: 0.5}, returns: [%g, 0]}
  - {state: home, action: slow, next: {crash: 0.5, there: 0.5}, returns: [0, 0]}
  - {state: crash, action: wait, next: {crash: 1}, returns: [0, 1]}
  - {state: there, action: wait, next: {there: 1}, returns: [0, 0]}
goal: {%s: gain}
constraints:
  - {return: crashes, at_most: 0.2}
`, fast, goal))
		for level, quantile := range map[string]float64{"0.8": 0.8416, "0.95": 1.6449} {
			var got struct {
				Status    string
				Objective float64
				Returns   struct{ Gain, Crashes float64 }
				Credible  struct {
					Share       float64
					Price       float64
					MeanOptimum float64 `json:"mean_optimum"`
					Returns     struct{ Crashes [2]float64 }
				}
			}
			runJSON(t, &got, exitDone, "plan", problem, "--log", log, "--pool", "--support", "auto", "--credible",
				level, "--models", "4000")
			// f journeys are fast: 0.3f + 0.1(1−f) + q·√(f²·0.21 + (1−f)²·0.09)/√1000 = 0.2
			low, high := 0.0, 1.0
			for range 50 {
				f := (low + high) / 2
				if 0.3*f+0.1*(1-f)+quantile*math.Sqrt((f*f*0.21+(1-f)*(1-f)*0.09)/1000) > 0.2 {
					high = f
				} else {
					low = f
				}
			}
			c := got.Credible
			if math.Abs(got.Objective-fast*low) > 0.03 || math.Abs(c.MeanOptimum-fast*0.5) > 0.02 ||
				math.Abs(c.Price-fast*(c.MeanOptimum-got.Objective)) > 1e-9 || c.Price <= 0 {
				t.Errorf("%s, level %s: objective %g, optimum %g, price %g: want about %g, %g and their difference",
					goal, level, got.Objective, c.MeanOptimum, c.Price, fast*low, fast*0.5)
			}
			if got.Objective != got.Returns.Gain || fmt.Sprint(c.Share) < level || c.Share > 0.99 {
				t.Errorf("%s, level %s: objective %g with %g of gain, limits kept in %g of the models", goal, level,
					got.Objective, got.Returns.Gain, c.Share)
			}
			if r := c.Returns.Crashes; r[0] >= got.Returns.Crashes || r[1] <= got.Returns.Crashes {
				t.Errorf("%s, level %s: crashes %g, but from %g to %g in the models", goal, level, got.Returns.Crashes,
					r[0], r[1])
			}
		}
	}
}

// TestUnboundedReturn: where the goal has no bound, that of the returns is named which grows.
func TestUnboundedReturn(t *testing.T) {
	t.Chdir(t.TempDir())
	for k, goal := range []string{"maximize", "minimize", "maximize"} {
		gains := make([]string, 3)
		for i := range gains {
			gains[i] = "0"
		}
		gains[k] = map[string]string{"maximize": "2", "minimize": "-2"}[goal]
		text := fmt.Sprintf("format: cmdp/1\ndiscount: 1\nstates: [on, off]\nstart: on\nreturns: [a, b, c]\n"+
			"goal: {%s: %c}\nconstraints: [{return: %c, at_most: 5}]\ntransitions:\n"+
			"  - {state: on, action: go, next: {on: 1}, returns: [%s]}\n"+
			"  - {state: on, action: stop, next: {off: 1}, returns: [1, 1, 1]}\n", goal, "abc"[k], "abc"[(k+1)%3],
			strings.Join(gains, ", "))
		if err := os.WriteFile("grows.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		said, _ := printed(t, "json", "plan", "grows.yaml")
		if got := answerOf(t, said); got.text("status") != "unbounded" || got.text("return") != string("abc"[k]) {
			t.Errorf("%s: %s, and %s grows", text, got.text("status"), got.text("return"))
		}
	}
}

// TestPolicyOfEachVerdict: a policy is written where it keeps the limits, whatever else was shown, and where none is,
// that is said.
func TestPolicyOfEachVerdict(t *testing.T) {
	t.Chdir(t.TempDir())
	p, err := load("cliff:rows=3,cols=4,H=8")
	if err != nil {
		t.Fatal(err)
	}
	found, err := p.Solve(t.Context(), exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drawn := []exact.WeightedPolicy{{Weight: 0.5, Policy: found.Policy}, {Weight: 0.5, Policy: found.Policy}}
	for status := exact.Optimal; status <= exact.Stopped; status++ {
		for kind, r := range map[string]*exact.Result{"none": {}, "one": {Policy: found.Policy}, "drawn": {Mixture: drawn}} {
			r.Status = status
			var said strings.Builder
			c := &planCommand{streams: streams{err: &said}, policy: fmt.Sprint(status, kind, ".csv")}
			err := c.writePolicy(p, r)
			_, gone := os.Stat(c.policy)
			want := kind != "none" && status != exact.Infeasible && status != exact.Undecided
			if err != nil || (gone == nil) != want || (said.Len() == 0) != want {
				t.Errorf("%v, %s: %v, written %v, %q: want it written: %v", status, kind, err, gone == nil, said.String(),
					want)
			}
		}
	}
}

// TestNoiseIsNoPrice: a table shows what a price is worth, and 0 where that is nothing.
func TestNoiseIsNoPrice(t *testing.T) {
	var d planLimits
	d.add(limitReport{Constraint: "a", Price: 3, shown: 3})
	d.add(limitReport{Constraint: "b", Price: 1e-3, shown: 0})
	var cells []string
	for _, row := range d.table(d.Constraints).Rows {
		cells = append(cells, fmt.Sprint(row[2]))
	}
	if !slices.Equal(cells, []string{"3", "0"}) {
		t.Errorf("prices are shown as %q: want 3 and 0", cells)
	}
}

// TestWhatIsPossible: a certificate holds for all that is allowed where its direction leads out of limits, and else for
// what can be returned at all.
func TestWhatIsPossible(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 9))
	p := drawProblem(rng, "horizon: 3")
	p.limits = []drawnLimit{{"gain", "at_least", 0.5}, {"cost", "at_most", 2}}
	of, err := load(p.write(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	for range 60 {
		dir := []float64{float64(rng.IntN(3) - 1), float64(rng.IntN(3) - 1)}
		length := math.Hypot(dir[0], dir[1])
		if length == 0 {
			continue
		}
		dir[0] /= length
		dir[1] /= length
		got := certificateOf(of, &exact.Certificate{Direction: dir})
		if want := dir[0] > 0 || dir[1] < 0; got.Possible != want {
			t.Errorf("direction %v of gain ≥ 0.5 and cost ≤ 2: possible %v, want %v", dir, got.Possible, want)
		}
		if certificateOf(of, &exact.Certificate{Direction: dir, Whole: true}).Possible {
			t.Errorf("direction %v: a certificate of the whole set is said to be of what is possible", dir)
		}
	}
}
