package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cmdpsolve/cmdp/exact"
)

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

// TestCommandsAgreeOnIntervals: over intervals check has the verdict of plan and says it, a certificate where there is
// no plan, and the ranges of the nominal model.
func TestCommandsAgreeOnIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 33))
	known := map[string]int{}
	for trial := range 40 {
		file := drawProblem(rng, []string{"horizon: 3", "discount: 0.75"}[trial%2]).write(t, 1)
		width := []string{"0.02", "0.2"}[rng.IntN(2)]
		asked := func(format string, args ...string) (string, int) {
			var out bytes.Buffer
			var errs spoken
			status := run(t.Context(), append(args, file, "--interval", width, "--format", format), &out, &errs)
			return out.String(), status
		}
		text, status := asked("json", "check")
		check := answerOf(t, text)
		text, planStatus := asked("json", "plan")
		plan := answerOf(t, text)
		text, _ = printed(t, "json", "check", file)
		nominal := answerOf(t, text)
		words, _ := asked("table", "check")
		words = strings.Join(strings.Fields(words), " ")
		c := &consistency{&view{answer: plan, words: []string{file, width}}, t}
		verdict, sentence := plan.text("status"), "Some policy keeps every limit in every model of the intervals."
		feasible, exit := any(true), exitDone
		switch verdict {
		case "infeasible":
			feasible, exit, sentence = false, exitInfeasible, "In one of the models no policy keeps every limit"
		case "undecided":
			feasible, exit = nil, exitFailed
			sentence = "Whether some policy keeps every limit in every model of the intervals is not known."
		}
		known[verdict]++
		c.want(check["feasible"] == feasible, "feasible beside "+verdict)
		c.want(status == exit && planStatus == exit, "exit statuses beside "+verdict, float64(status), float64(planStatus))
		c.want(strings.Contains(words, sentence), words)
		c.want((check["certificate"] != nil) == (verdict == "infeasible"), "certificate beside "+verdict)
		if proof := check.obj("certificate"); verdict == "infeasible" {
			c.want(proof.num("value") > proof.num("support"), "certificate", proof.num("value"), proof.num("support"))
		}
		c.want(reflect.DeepEqual(check.obj("returns"), nominal.obj("returns")), "ranges are not those of the nominal model")
	}
	if known["infeasible"] < 5 || known["optimal"]+known["feasible"] < 10 {
		t.Errorf("verdicts %v: want more of each", known)
	}
}

// TestUndecidedGap: what a gap says of a target is what is said of it.
func TestUndecidedGap(t *testing.T) {
	p, err := load("cliff:rows=3,cols=4,H=8")
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[exact.GapStatus]string{exact.Approachable: "optimal", exact.GapUndecided: "undecided",
		exact.NotApproachable: "infeasible"} {
		rep := newGameReport(p)
		rep.gap(p, &exact.Gap{Status: status, Direction: []float64{1, 0}})
		if rep.Status != want || rep.Verdict != status.String() || (rep.Certificate != nil) != (want == "infeasible") {
			t.Errorf("%v: %s, %s, %v: want %s", status, rep.Status, rep.Verdict, rep.Certificate, want)
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

// TestConflictIterations: where a value iteration takes long the search for a conflict takes no more of them than the
// verdict, or eight, and never more than were allowed; what counts are the transitions of all steps, whether they are
// the same at each step or not.
func TestConflictIterations(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		allowed, verdict, want int
	}{
		{"garnet:S=30,A=3,H=200,b=4,stationary=false", 2000, 3, 2000},
		{"garnet:S=60,A=5,H=200,b=20,stationary=false", 2000, 30, 30},
		{"garnet:S=60,A=5,H=200,b=20", 2000, 30, 30},
		{"garnet:S=60,A=5,H=200,b=20", 2000, 3, 8},
		{"garnet:S=60,A=5,H=200,b=20", 0, 3, 8},
		{"garnet:S=60,A=5,H=200,b=20", 5, 3, 5},
		{"garnet:S=60,A=5,H=100,b=20", 2000, 3, 2000},
	} {
		p, err := load(tc.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := conflictOptions(p, exact.Options{Iterations: tc.allowed}, tc.verdict).Iterations; got != tc.want {
			t.Errorf("%+v: %d value iterations", tc, got)
		}
	}
}

// TestDrawnOfSets: of random problems with wide intervals, some of whose plans draw policies, all numbers fit each
// other.
func TestDrawnOfSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 1))
	breaking, inside, file := 0, 0, filepath.Join(t.TempDir(), "drawn.csv")
	for trial := range 60 {
		p := drawProblem(rng, []string{"horizon: 2", "discount: 0.75"}[trial%2])
		for i := range p.limits {
			p.limits[i].bound += rng.Float64()
		}
		args := []string{"plan", p.write(t, 1), "--interval", fmt.Sprint(0.05 + 0.2*rng.Float64()), "--policy", file}
		var out, errs strings.Builder
		r := resultOf(t, &ask{args: args, fails: run(t.Context(), args, &out, &errs) != exitDone})
		if r == nil {
			continue
		}
		checkConsistent(t, r)
		if answer(r.has).text("status") != "undecided" && answer(r.has).text("status") != "infeasible" {
			checkDraws(t, file, answer(r.has))
		}
		for _, d := range answer(r.has).list("drawn") {
			breaking += indicator(len(d.texts("breaks")) > 0)
			for _, l := range answer(r.has).list("constraints") {
				x := d.obj("returns").obj(l.text("return"))
				inside += indicator(x.num("least") < l.num("limit")-1e-3 && x.num("greatest") > l.num("limit")+1e-3)
			}
		}
	}
	if breaking < 2 || inside < 2 {
		t.Errorf("%d policies that are drawn break a limit, %d not in every model: want more", breaking, inside)
	}
}

// TestIntervalsOfLogs: of the choices with several successors a plan from a log knows which it has never seen, and all
// numbers fit each other and are shown.
func TestIntervalsOfLogs(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 8))
	t.Chdir(t.TempDir())
	for trial := range 6 {
		p := drawProblem(rng, "horizon: 3")
		p.limits = nil
		log, several, unseen := "state,action,next,count\n", 0, 0
		for _, r := range p.rows {
			seen := rng.IntN(3) > 0
			if r.next[0] != r.next[1] {
				several++
				unseen += indicator(!seen)
			}
			for k := range r.next[:2*indicator(seen)] {
				log += fmt.Sprintf("%d,%d,%d,%d\n", r.state, r.action, r.next[k], 1+rng.IntN(200))
			}
		}
		if err := os.WriteFile("log.csv", []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"plan", p.write(t, 1), "--log", "log.csv", "--pool", "--confidence", "0.9"}
		_, status := printed(t, "json", args...)
		r := resultOf(t, &ask{args: args, fails: status != exitDone})
		checkView(t, r)
		checkConsistent(t, r)
		if c := answer(r.has).obj("confidence"); int(c.num("choices")) != several || int(c.num("unvisited")) != unseen {
			t.Errorf("trial %d: %g choices, %g of them never seen: want %d and %d", trial, c.num("choices"),
				c.num("unvisited"), several, unseen)
		}
	}
}

// TestUnsureChoices: of what a log says too little is a choice of the file at its step, with as many visits as the log
// has there, and shares of the uncertainty, the largest first.
func TestUnsureChoices(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	t.Chdir(t.TempDir())
	told := 0
	for range 3 {
		file := "format: cmdp/1\nhorizon: 3\nstates: [x, y]\nstart: x\nreturns: [gain, cost]\ngoal: {maximize: gain}\n" +
			"constraints: [{return: cost, at_most: 2}]\ntransitions:\n"
		log, visits := "step,state,action,next,count\n", map[string]int{}
		for step := 1; step <= 3; step++ {
			for _, state := range []string{"x", "y"} {
				for _, way := range []string{"slow", "fast"} {
					action := fmt.Sprint(way, step)
					file += fmt.Sprintf("  - {step: %d, state: %s, action: %s, next: {x: 0.5, y: 0.5}, returns: [%d, %d]}\n",
						step, state, action, rng.IntN(4), rng.IntN(3))
					for _, next := range []string{"x", "y"} {
						n := rng.IntN(3)
						visits[fmt.Sprint(step, state, action)] += n
						log += fmt.Sprintf("%d,%s,%s,%s,%d\n", step, state, action, next, n)
					}
				}
			}
		}
		err := errors.Join(os.WriteFile("steps.yaml", []byte(file), 0o600), os.WriteFile("log.csv", []byte(log), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := printed(t, "json", "plan", "steps.yaml", "--log", "log.csv", "--credible", "0.5", "--models", "20")
		last := 1.0
		for _, u := range answerOf(t, text).list("credible.unsure") {
			told++
			at := fmt.Sprint(u.num("step"), u.text("state"), u.text("action"))
			n, is := visits[at]
			if share := u.num("share"); !is || n != int(u.num("visits")) || !(share > 0 && share <= last) {
				t.Errorf("unsure of %s, %g visits, share %g: want %d visits, is a choice: %v", at, u.num("visits"), share, n, is)
			}
			last = u.num("share")
		}
	}
	if told == 0 {
		t.Error("a log of few visits leaves nothing unsure")
	}
}

// TestSweepsArePlans: each plan of a sweep over two limits, and over widths of intervals, is as good as the one for
// these values alone, up to what either leaves open.
func TestSweepsArePlans(t *testing.T) {
	rng := rand.New(rand.NewPCG(68, 11))
	seen := make(map[string]int)
	for trial := range 12 {
		p := drawProblem(rng, []string{"horizon: 2", "discount: 0.75"}[trial%2])
		p.limits = []drawnLimit{{"cost", "at_most", 1}, {"gain", []string{"at_least", "at_most"}[trial/2%2], 0.5}}
		file := p.write(t, 1)
		ask := func(more ...string) answer {
			var out, errs strings.Builder // what is undecided has another exit status
			run(t.Context(), append([]string{"plan", file, "--format", "json"}, more...), &out, &errs)
			return answerOf(t, out.String())
		}
		sweeps := []string{"--sweep", "cost=0.5:1.5:1", "--sweep", "gain=-0.5:0.5:0.5"}
		if trial%3 > 0 {
			sweeps = append(sweeps[2*rng.IntN(2):], "--sweep", "interval=0.02:0.1:0.08")
		}
		sweep := ask(sweeps...)
		for _, one := range sweep.list("plans") {
			var alone []string
			for k, x := range one.numbers("limits") {
				switch name, _, _ := strings.Cut(sweep.texts("over")[k], " "); name {
				case "interval":
					alone = append(alone, "--interval", fmt.Sprint(x))
				case "cost":
					alone = append(alone, "--at-most", fmt.Sprintf("cost=%v", x))
				default:
					alone = append(alone, "--"+strings.Replace(p.limits[1].side, "_", "-", 1), fmt.Sprintf("gain=%v", x))
				}
			}
			want := ask(alone...)
			seen[want.text("status")]++
			found := func(a answer) bool { return a.text("status") == "optimal" || a.text("status") == "feasible" }
			open := math.Max(math.Abs(one.num("objective")-one.num("bound")), math.Abs(want.num("objective")-want.num("bound")))
			if found(one) != found(want) || !found(one) && one.text("status") != want.text("status") ||
				found(one) && !(math.Abs(one.num("objective")-want.num("objective")) <= open+1e-4) {
				t.Errorf("%v: the plan for %v is %s, %g: alone %v is %s, %g", sweeps, one.numbers("limits"),
					one.text("status"), one.num("objective"), alone, want.text("status"), want.num("objective"))
			}
		}
	}
	if seen["optimal"]+seen["feasible"] < 15 || seen["infeasible"] < 5 {
		t.Errorf("%v: want more of both", seen)
	}
}

// TestGamesFit: of random games in which both players draw, all numbers fit each other, and are shown.
func TestGamesFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 2))
	for trial := range 6 {
		args := []string{"plan", duel(t, rng, []string{"maximize", "minimize"}[trial%2])}
		r := resultOf(t, &ask{args: args})
		checkView(t, r)
		checkConsistent(t, r)
	}
}

// TestMirroredEpisodes: the episodes of a problem with all returns negated are those of the problem, negated: what is
// told of the lowest is told of the highest, with the same intervals.
func TestMirroredEpisodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 3))
	flagFolder(t)
	for trial := range 4 {
		p := drawProblem(rng, []string{"discount: 0.75", "horizon: 3"}[trial%2])
		p.limits = nil
		file, mirror := p.write(t, 1), p.mirrored().write(t, 1)
		printed(t, "json", "plan", file, "--policy", "policy.csv")
		var told [2]answer
		for k, of := range []string{file, mirror} {
			text, _ := printed(t, "json", "simulate", of, "--policy", "policy.csv", "--distribution", "--episodes", "500")
			told[k] = answerOf(t, text)
		}
		for _, name := range []string{"gain", "cost"} {
			a, b := told[0].obj("distribution").obj(name), told[1].obj("distribution").obj(name)
			for _, of := range []string{"", "ci95."} {
				sign := -1.0
				if of != "" {
					sign = 1
				}
				same := func(x, y string, sign float64) {
					v, w := a.numAt(of+x), sign*b.numAt(of+y)
					alike := of != "" && math.Abs(v-w) < 0.1*v // intervals go by single episodes
					if !alike && !near(v, w) {
						t.Errorf("trial %d: %s%s of %s is %g, and %s%s in the mirror %g", trial, of, x, name, v, of, y, w)
					}
				}
				same("mean", "mean", sign)
				same("sd", "sd", 1)
				same("cvar/lowest_0.05", "cvar/highest_0.05", sign)
				same("cvar/highest_0.05", "cvar/lowest_0.05", sign)
			}
		}
	}
}

// TestIntervalsOfTails: where the worst, or the best, twentieth of the episodes is a single value, its mean is known.
func TestIntervalsOfTails(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "format: cmdp/1\ndiscount: 0.5\nstates: [on, done]\nstart: on\nreturns: [gain, loss]\n" +
		"goal: {maximize: gain}\ntransitions:\n  - {state: on, action: draw, outcomes: [" +
		"{probability: 0.5, next: done, returns: [0, 0]}, " +
		"{probability: 0.48, next: done, returns: [4, -4]}, {probability: 0.02, next: done, returns: [10, -10]}]}\n"
	if err := os.WriteFile("draw.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	printed(t, "json", "plan", "draw.yaml", "--policy", "policy.csv")
	told, _ := printed(t, "json", "simulate", "draw.yaml", "--policy", "policy.csv", "--distribution")
	for name, sure := range map[string]string{"gain": "lowest", "loss": "highest"} {
		half := answerOf(t, told).obj("distribution").obj(name).obj("ci95")
		for _, end := range []string{"lowest", "highest"} {
			if x := half.numAt("cvar/" + end + "_0.05"); (x == 0) != (end == sure) {
				t.Errorf("the mean of the %s %s is known up to %g", end, name, x)
			}
		}
	}
}

// TestStoppingOfMeans: what stopping after so many steps changes is the most that it changes of any return.
func TestStoppingOfMeans(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, returns := range []string{"[1, 5, 0]", "[0, 1, 5]", "[5, 0, 1]"} {
		text := "format: cmdp/1\ncriterion: average\nstates: 2\nstart: 0\nreturns: [a, b, c]\ngoal: {maximize: a}\n" +
			"transitions:\n  - {state: 0, action: go, next: {0: 0.9, 1: 0.1}, returns: " + returns + "}\n" +
			"  - {state: 1, action: stay, next: {1: 1}, returns: [0, 0, 0]}\n"
		if err := os.WriteFile("stop.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		printed(t, "json", "plan", "stop.yaml", "--policy", "policy.csv")
		args := []string{"simulate", "stop.yaml", "--policy", "policy.csv", "--episodes", "10", "--steps", "100"}
		r := resultOf(t, &ask{args: args})
		checkView(t, r)
		checkConsistent(t, r)
	}
}
