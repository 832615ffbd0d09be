package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/instance"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/robust"
)

// worthOf are the returns of a policy file, by check.
func worthOf(t *testing.T, problem, policy string) map[string]float64 {
	t.Helper()
	text, _ := printed(t, "json", "check", problem, "--policy", policy)
	worth := make(map[string]float64)
	bounds := answerOf(t, text).obj("policy").obj("returns")
	for name := range bounds {
		r := bounds.obj(name)
		worth[name] = r.num("least")
		if !near(r.num("least"), r.num("greatest")) {
			t.Errorf("%s: %s is from %g to %g", policy, name, r.num("least"), r.num("greatest"))
		}
	}
	return worth
}

// sameWorth compares what was promised of a policy file with what it is worth.
func sameWorth(t *testing.T, what, problem, policy string, promised answer) {
	t.Helper()
	if policy == "" || promised == nil {
		t.Errorf("%s: no file, or nothing is promised of it", what)
		return
	}
	worth := worthOf(t, problem, policy)
	for name := range promised {
		if x := (answer{"": promised[name]}).num(""); !near(x, worth[name]) {
			t.Errorf("%s: %s returns %g of %s: %g was promised", what, policy, worth[name], name, x)
		}
	}
}

// TestFilesKeepTheirPromise: every policy that a command writes has the returns that the command says, and a model that
// is worst for a plan has its worst returns.
func TestFilesKeepTheirPromise(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 12))
	flagFolder(t)
	files := []string{"two-rooms.yaml", "means.yaml"}
	for trial := range 4 {
		files = append(files, drawProblem(rng, []string{"horizon: 3", "discount: 0.75"}[trial%2]).write(t, 1))
	}
	seen := 0
	for k, file := range files {
		dir := fmt.Sprint("made", k)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		in := func(name string) string { return filepath.Join(dir, name) }
		get := func(args ...string) answer {
			text, _ := printed(t, "json", args...)
			seen++
			return answerOf(t, text)
		}
		over, swept := "gain,-cost", "cost=0.5:2:0.75"
		if k == 0 {
			over, swept = "reward,-cost", "cost=3:5:1"
		}
		for _, more := range [][]string{nil, {"--deterministic", "--nodes", "300"}} {
			if k == 0 && more != nil {
				continue // a long search
			}
			p := get(append([]string{"plan", file, "--policy", in("plan.json")}, more...)...)
			if p.text("status") == "optimal" {
				sameWorth(t, fmt.Sprint("plan ", more), file, in("plan.json"), p.obj("returns"))
			}
			os.Remove(in("plan.json"))
		}
		front := get("front", file, "--over", over, "--policies", in("front"))
		checkNumbered(t, in("front"), "vertex", front.list("vertices"))
		for _, v := range front.list("vertices") {
			sameWorth(t, "front", file, v.text("policy"), v.obj("returns"))
		}
		sweep := get("plan", file, "--at-least", "cost=none", "--sweep", swept, "--policies", in("sweep"))
		for _, p := range sweep.list("plans") {
			if p.text("status") == "optimal" {
				sameWorth(t, "sweep", file, p.text("policy"), p.obj("returns"))
			} else if p.has("policy") {
				t.Errorf("%s: a policy %s of a plan that is %s", file, p.text("policy"), p.text("status"))
			}
		}
		if k == 0 || strings.Contains(readText(t, file), "horizon") {
			learned := get("learn", file, "--episodes", "30", "--quiet", "--policy", in("best.csv"), "--mixture",
				in("mixture.csv"))
			for _, p := range learned.list("policies") {
				sameWorth(t, "learn: "+p.text("policy"), file, p.text("file"), p.obj("returns"))
			}
		}
		checkWorst(t, file, in("worst.yaml"), in("robust.csv"))
	}
	if seen < 20 {
		t.Errorf("%d results: want more", seen)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// checkNumbered: the policies of a list have the files of a folder, whose numbers have the digits of the last of them.
func checkNumbered(t *testing.T, folder, kind string, list []answer) {
	t.Helper()
	files, err := os.ReadDir(folder) // which is not made for no policies
	if len(files) != len(list) {
		t.Errorf("%s has %d files: want %d (%v)", folder, len(files), len(list), err)
		return
	}
	for i, one := range list {
		number := fmt.Sprint(i + 1)
		number = strings.Repeat("0", len(fmt.Sprint(len(list)))-len(number)) + number
		want := kind + "-" + number + ".csv"
		if files[i].Name() != want || one.text("policy") != filepath.Join(folder, want) {
			t.Errorf("file %d of %d is %s, and said to be %s: want %s", i+1, len(list), files[i].Name(),
				one.text("policy"), want)
		}
	}
}

// checkDraws: a policy draws in as many places as its file has with several actions, in all components.
func checkDraws(t *testing.T, file string, of answer) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(readText(t, file))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	actions, drawn := make(map[string]int), 0
	for _, row := range rows[1:] {
		place := ""
		for i, cell := range row {
			if head := rows[0][i]; head != "action" && head != "probability" {
				place += head + " " + cell + ", "
			}
		}
		if actions[place]++; actions[place] == 2 {
			drawn++
		}
	}
	if float64(drawn) != of.num("randomized") {
		t.Errorf("%s draws in %d places: %g are told\n%s", file, drawn, of.num("randomized"), readText(t, file))
	}
}

// checkWorst: in the worst model of a set a plan has the returns that are told, and they are those that are worst.
func checkWorst(t *testing.T, file, worst, policy string) {
	t.Helper()
	text, _ := printed(t, "json", "plan", file, "--interval", "0.05", "--worst", worst, "--policy", policy)
	p := answerOf(t, text)
	if p.text("status") != "optimal" && p.text("status") != "feasible" {
		return
	}
	sameWorth(t, "worst model", worst, policy, p.obj("worst").obj("returns"))
	what, least := p.text("worst.for"), math.Inf(1)
	for _, l := range p.list("constraints") {
		least = min(least, l.num("slack"))
	}
	for _, l := range p.list("constraints") {
		if what == "the limit "+l.text("constraint") && l.num("slack") > least+1e-6 {
			t.Errorf("%s: the model is worst for %s, with a slack of %g: another has %g", file, what, l.num("slack"), least)
		}
	}
	for name := range p.obj("worst").obj("returns") {
		x, r := p.of("worst.returns", name).num(""), p.obj("returns").obj(name)
		end := math.NaN()
		switch {
		case strings.HasPrefix(what, "the limit "+name+" ≤"):
			end = r.num("greatest")
		case strings.HasPrefix(what, "the limit "+name+" ≥"):
			end = r.num("least")
		}
		if x < r.num("least")-1e-6 || x > r.num("greatest")+1e-6 || !math.IsNaN(end) && !near(x, end) {
			t.Errorf("%s: in the model that is worst for %s %s is %g: want it from %g to %g, at %g", file, what,
				name, x,
				r.num("least"), r.num("greatest"), end)
		}
	}
}

// TestWhatAModelIsWorstFor: --worst takes the limit with the least room of those that are asked for, the goal where
// that is asked for or nothing is limited, and refuses the rest.
func TestWhatAModelIsWorstFor(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 4))
	for range 12 {
		file := drawProblem(rng, "horizon: 1")
		if rng.IntN(4) == 0 {
			file.limits = nil
		}
		p, err := load(file.write(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, asked := range []string{"", "goal", "gain", "cost", "nothing"} {
			r, least, want := new(robust.Result), math.Inf(1), "the goal"
			if asked != "" && asked != "goal" {
				want = ""
			}
			for _, l := range p.Rows() {
				room := rng.NormFloat64()
				constraint := cmdp.Constraint{Normal: []float64{room, 1}, Offset: room}
				r.Limits = append(r.Limits, robust.Limit{Constraint: constraint})
				if (asked == "" || asked == l.Return) && room < least {
					least, want = room, "the limit "+l.Name
				}
			}
			dir, of, err := (&worstOptions{of: asked}).direction(p, r)
			if of != want || (err == nil) != (want != "") || !math.IsInf(least, 1) && (dir == nil || dir[0] != least) {
				t.Errorf("asked for %q of %v: %q, %v, error %v: want %q, %g", asked, file.limits, of, dir, err, want,
					least)
			}
		}
	}
}

// TestConvertedIsTheSame: a problem that is converted to another kind of file and back is the same problem, with the
// sizes that convert tells, and options of the conversion are those of the file.
func TestConvertedIsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 13))
	flagFolder(t)
	files := []string{"two-rooms.yaml", "depot.yaml"}
	for trial := range 3 {
		files = append(files, drawProblem(rng, []string{"horizon: 3", "discount: 0.75", "criterion: average"}[trial]).
			write(t, 1))
	}
	for k, file := range files {
		text, _ := printed(t, "json", "check", file)
		check := answerOf(t, text)
		for _, ending := range []string{".yaml", ".umb", ".tra", ".drn"} {
			out := fmt.Sprint("out", k, ending)
			args := []string{"convert", file, out}
			if ending == ".drn" {
				args = append(args, "--mean")
			}
			text, _ := printed(t, "json", args...)
			told := answerOf(t, text)
			if _, said := called(strings.Join(args, " ")); ending != ".yaml" {
				checkLeftOut(t, file, said)
			}
			if told.text("in") != file || told.text("out") != out || told.num("states") <= 0 {
				t.Errorf("%v: %v", args, told)
			}
			if k == 0 && (told.num("states") != check.num("states") || told.num("choices") != check.num("choices") ||
				told.num("transitions") != check.num("transitions")) {
				t.Errorf("%v: %v: check says %v states, %v choices", args, told, check.num("states"),
					check.num("choices"))
			}
			back := fmt.Sprint("back", k, ending, ".yaml")
			if ending != ".yaml" {
				printed(t, "json", "convert", out, back, "--horizon", "4")
				text, _ = printed(t, "json", "check", back)
				if h := answerOf(t, text).num("horizon"); h != 4 {
					t.Errorf("%s with --horizon 4 has the horizon %g", back, h)
				}
				printed(t, "json", "convert", out, "other"+back, "--discount", "0.5")
				text, _ = printed(t, "json", "check", "other"+back)
				if d := answerOf(t, text).num("discount"); d != 0.5 {
					t.Errorf("%s with --discount 0.5 has the discount %g", back, d)
				}
				continue
			}
			for _, question := range [][]string{{"plan"}, {"check"}} {
				a, _ := printed(t, "json", append(question, file)...)
				b, _ := printed(t, "json", append(question, out)...)
				x, y := answerOf(t, a), answerOf(t, b)
				keys := slices.Collect(maps.Keys(x))
				for _, key := range keys {
					if !slices.Contains([]string{"seconds", "command", "problem", "shown", "phases"}, key) &&
						fmt.Sprint(x[key]) != fmt.Sprint(y[key]) {
						t.Errorf("%v of %s: %s is %v: want %v", question, out, key, y[key], x[key])
					}
				}
			}
		}
	}
}

// checkLeftOut: convert says the goal and all limits of a file that a model alone does not hold.
func checkLeftOut(t *testing.T, file, said string) {
	t.Helper()
	_, said, _ = strings.Cut(strings.Join(strings.Fields(said), " "), "leaves out:")
	for _, part := range regexp.MustCompile(`(?m)^goal: \{(\w+): (\w+)\}|\{return: (\w+),`).
		FindAllStringSubmatch(readText(t, file), -1) {
		want := part[3]
		if want == "" {
			want = "goal: " + part[1] + " " + part[2]
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: what is left out does not name %s: %s", file, want, said)
		}
	}
}

// TestWhatModelsLeaveOut: of a problem that becomes a model alone convert says exactly what the file has besides, part
// by part, and of a model how many choices had probabilities that were no sum of 1.
func TestWhatModelsLeaveOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 2))
	t.Chdir(t.TempDir())
	for trial := range 48 {
		is := func() bool { return rng.IntN(2) == 0 }
		text := "format: cmdp/1\nstates: [a, b]\nstart: a\nlabels: {far: [b]}\nreturns: {gain: {}, cost: {}"
		var left []string
		add := func(has bool, file, says string) {
			if has {
				text += file
				left = append(left, says)
			}
		}
		derived, when := is(), rng.IntN(3)
		if derived {
			text += ", come: {reach: far}, soon: {reach: far, within: 2}"
		}
		text += "}\n"
		add(when == 0, "horizon: 5\n", "horizon 5")
		add(when == 1, "discount: 0.75\n", "discount 0.75")
		add(when == 2, "discount: 1\n", "total return until absorption")
		add(derived, "", "returns that follow from the course of an episode: come, soon")
		add(is(), "goal: {minimize: cost}\n", "goal: minimize cost")
		add(is(), "constraints: [{return: gain, at_least: 0.25}, {return: cost, at_most: 3}]\n",
			"constraints: gain ≥ 0.25, cost ≤ 3")
		add(!derived && is(), "target: {halfspace: {normal: {gain: -1, cost: 1}, offset: 7}}\n", "target set")
		add(is(), "uncertainty: {each: model}\n", "uncertainty: each: model")
		text += "transitions:\n  - {state: a, action: go, next: {a: 0.5, b: 0.5}, returns: {gain: 1, cost: 1}}\n"
		if err := os.WriteFile("a.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, out := range []string{"a.umb", "a.drn", "a.tra"} {
			want := out + " holds the model alone. What it leaves out: " + strings.Join(left, "; ")
			status, said := called("convert a.yaml " + out)
			if said = strings.Join(strings.Fields(said), " "); status != exitDone || said != want {
				t.Errorf("trial %d: status %d, %q: want %q of\n%s", trial, status, said, want, text)
			}
		}
		wrong := rng.IntN(4)
		model := fmt.Sprintf("%d %d %d\n", 4, 4, 8)
		for s := range 4 {
			model += fmt.Sprintf("%d 0 0 %v\n%d 0 3 0.5\n", s, 0.5+map[bool]float64{true: 1e-5}[s < wrong], s)
		}
		if err := os.WriteFile("b.tra", []byte(model), 0o600); err != nil {
			t.Fatal(err)
		}
		want := ""
		if wrong > 0 {
			want = "the probabilities of " + many(float64(wrong), "choice") + " were divided by their sum"
			status, said := called("convert b.tra b.umb")
			if status != exitUsage || !strings.Contains(said, "state 0, choice 0") {
				t.Errorf("%d choices: status %d, %s", wrong, status, said)
			}
		}
		status, said := called("convert b.tra b.umb --normalize 1e-4")
		if status != exitDone || strings.TrimSpace(said) != want {
			t.Errorf("%d choices: status %d, %q: want %q", wrong, status, said, want)
		}
	}
}

// TestOneModelOverAnother: a model that is written where another was is read back as itself, or the file of the other
// that is in the way is named. Beside the model alone each of these would be read as a part of it, or spoil it.
func TestOneModelOverAnother(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(returns int) string {
		if returns == 0 { // no problem has none
			if err := os.WriteFile("has0.tra", []byte("1 1 1\n0 0 0 1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			return "has0.tra"
		}
		names, values := make([]string, returns), make([]string, returns)
		for i := range names {
			names[i], values[i] = fmt.Sprint("r", i), fmt.Sprint(i+1)
		}
		file := fmt.Sprintf("has%d.yaml", returns)
		text := "format: cmdp/1\nhorizon: 2\nstates: 1\nstart: 0\nreturns: [" + strings.Join(names, ", ") +
			"]\ngoal: {maximize: r0}\ntransitions:\n  - {state: 0, action: 0, next: {0: 1}, returns: [" +
			strings.Join(values, ", ") + "]}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	inTheWay := regexp.MustCompile(`\S+ is there from before`)
	for before := range 4 {
		for after := range 4 {
			out := fmt.Sprintf("m%d%d.tra", before, after)
			printed(t, "json", "convert", write(before), out)
			file := write(after)
			old := contents(t)
			status, said := called("convert " + file + " " + out)
			if status != exitDone && !maps.Equal(old, contents(t)) {
				t.Errorf("%d after %d: refused, and files are written: %s", after, before, said)
			}
			for tries := 0; status != exitDone && tries < 9; tries++ {
				name, _, _ := strings.Cut(inTheWay.FindString(said), " ")
				clean := fmt.Sprintf("clean%d.tra", after)
				printed(t, "json", "convert", write(after), clean)
				beside := "clean" + fmt.Sprint(after) + strings.TrimPrefix(name, fmt.Sprintf("m%d%d", before, after))
				if err := os.Rename(name, beside); err != nil {
					t.Fatalf("%d after %d: %s: %v", after, before, said, err)
				}
				var told, errs strings.Builder
				if run(t.Context(), []string{"convert", clean, "spoilt.umb", "--format", "json"}, &told,
					&errs) == exitDone && len(answerOf(t, told.String()).texts("rewards")) == after {
					t.Errorf("%d after %d: %s is in the way, and is not read: %s", after, before, beside, said)
				}
				if err := os.Remove(beside); err != nil {
					t.Fatal(err)
				}
				status, said = called("convert " + write(after) + " " + out)
			}
			text, _ := printed(t, "json", "convert", out, "back.umb")
			if got := len(answerOf(t, text).texts("rewards")); got != after {
				t.Errorf("%d returns written over %d: %d are read", after, before, got)
			}
		}
	}
}

// TestAskedFromAnyFolder: a file that asks a property of a model finds the model, whatever folders the two are in and
// from where the command is called.
func TestAskedFromAnyFolder(t *testing.T) {
	top := t.TempDir()
	for _, folder := range []string{"a", "a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(top, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := "mdp\nmodule m\n  x : [0..2] init 0;\n  [go] x<2 -> 0.75:(x'=x+1) + 0.25:(x'=x);\n" +
		"  [leap] x=0 -> 0.5:(x'=2) + 0.5:(x'=0);\n  [] x=2 -> true;\nendmodule\n" +
		"rewards\n  [go] true : 1;\n  [leap] true : 2.5;\nendrewards\n"
	folders := []string{"", "a", "a/b", "c"}
	for k, of := range folders {
		model := filepath.Join(top, of, fmt.Sprint("m", k, ".nm"))
		if err := os.WriteFile(model, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, to := range folders {
			ask := filepath.Join(top, to, fmt.Sprint("ask", k, ".yaml"))
			from := filepath.Join(top, folders[(i+k+1)%4])
			t.Chdir(from)
			in, out := model, ask
			if i != 3 {
				in, _ = filepath.Rel(from, model)
			}
			if k != 3 {
				out, _ = filepath.Rel(from, ask)
			}
			printed(t, "json", "convert", in, out, "--property", "Rmin=? [F x=2]")
			t.Chdir(filepath.Join(top, folders[(i+2)%4]))
			told, _ := printed(t, "json", "plan", ask, "--outside")
			if got := answerOf(t, told); !near(got.num("objective"), 8.0/3) {
				t.Errorf("%s that asks about %s: %v", ask, model, got)
			}
		}
	}
}

// TestPolicyOfEveryAnswer: a policy is written where an answer has one, whatever becomes of the goal, and nowhere else;
// in a game each player's file has what the result says of the player.
func TestPolicyOfEveryAnswer(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 4))
	t.Chdir(t.TempDir())
	const loop = "format: cmdp/1\ndiscount: 1\nstates: [on, done]\nstart: on\nreturns: [gain, cost]\n%s\ntransitions:\n" +
		"  - {state: on, action: again, next: {on: 1}, returns: [1, %d]}\n" +
		"  - {state: on, action: stop, next: {done: 1}, returns: [0, 1]}\n"
	for status, text := range map[string]string{
		"optimal":    fmt.Sprintf(loop, "goal: {maximize: gain}\nconstraints: [{return: cost, at_most: 5}]", 1),
		"unbounded":  fmt.Sprintf(loop, "goal: {maximize: gain}", 0),
		"infeasible": fmt.Sprintf(loop, "goal: {maximize: gain}\nconstraints: [{return: gain, at_most: -1}]", 0),
	} {
		if err := os.WriteFile("loop.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		told, _ := printed(t, "json", "plan", "loop.yaml", "--policy", status+".csv")
		if got := answerOf(t, told).text("status"); got != status {
			t.Fatalf("%s: want %s", got, status)
		}
		if _, err := os.Stat(status + ".csv"); (err == nil) != (status != "infeasible") {
			t.Errorf("%s: a policy file: %v", status, err)
		}
	}
	files := map[string]string{"agent": "agent.csv", "opponent": "opponent.csv"}
	for trial := range 4 {
		game := duel(t, rng, []string{"maximize", "minimize"}[trial%2])
		told, _ := printed(t, "json", "plan", game, "--policy", files["agent"], "--opponent-policy", files["opponent"])
		for player, file := range files {
			for _, r := range answerOf(t, told).list("policies." + player) {
				got := probabilitiesIn(t, readText(t, file), six(r.num("step")), r.text("state"))
				if !near(got[r.text("action")], r.num("probability")) {
					t.Errorf("the file of the %s has %v: want %v", player, got, r)
				}
			}
		}
	}
}

// TestNumberedFiles: files of many policies stand in a folder in the order of their numbers.
func TestNumberedFiles(t *testing.T) {
	for _, path := range []string{"folder", "folder/mine.json"} {
		for _, n := range []int{1, 9, 10, 11, 100} {
			var names []string
			for i := range n {
				name := numberedPolicy(path, "plan", i+1, n)
				if !strings.Contains(name, fmt.Sprint(i+1)) || filepath.Dir(name) != "folder" {
					t.Errorf("policy %d of %d: %s", i+1, n, name)
				}
				names = append(names, name)
			}
			if !slices.IsSorted(names) || len(slices.Compact(names)) != n {
				t.Errorf("%v are not in order", names)
			}
		}
	}
}

// TestFileBeforeInstance: a file is read, also if a built-in instance has its name.
func TestFileBeforeInstance(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range instance.Names() {
		text := "format: cmdp/1\nhorizon: 1\nstates: [here]\nstart: here\nreturns: [x]\ngoal: {maximize: x}\n" +
			"transitions:\n  - {state: here, action: go, next: {here: 1}, returns: [1]}\n"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, called := range []string{name, "./" + name} {
			if p, err := read(called, problem.ReadOptions{}); err != nil || p.Model.States() != 1 {
				t.Errorf("%s is not the file: %v", called, err)
			}
		}
		os.Remove(name)
		if p, err := read(name, problem.ReadOptions{}); err != nil || len(p.Returns) == 1 && p.Returns[0] == "x" {
			t.Errorf("%s is not the instance: %v", name, err)
		}
	}
}

// TestStatusOfErrors: whatever else is said of it, a machine that is too small is not the user's mistake.
func TestStatusOfErrors(t *testing.T) {
	large := &cmdp.MemoryError{Err: errors.New("too large")}
	for _, c := range []struct {
		err    error
		status int
		said   bool
	}{{large, exitFailed, true}, {usage("it: %w", large), exitFailed, true}, {failed(large), exitFailed, true},
		{&exitError{exitUsage, fmt.Errorf("it: %w", large)}, exitFailed, true}, {usage("no"), exitUsage, true},
		{failed(errInterrupted), exitFailed, true}, {&exitError{exitInfeasible, nil}, exitInfeasible, false},
		{errors.New("unknown flag"), exitUsage, true}} {
		if status, said := statusOf(c.err); status != c.status || said != c.said {
			t.Errorf("%v: status %d, said %v: want %d, %v", c.err, status, said, c.status, c.said)
		}
	}
}

// TestWordsOfFailures: what keeps a solver from an answer is told with all that it depends on, and nothing else.
func TestWordsOfFailures(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 7))
	var problems []*loaded
	for _, name := range []string{"inventory", "../../docs/examples/parcel.yaml"} { // the second one has intervals
		p, err := load(name)
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, p)
	}
	is := func() bool { return rng.IntN(2) == 0 }
	check := func(err error, parts map[string]bool) {
		t.Helper()
		for text, want := range parts {
			if strings.Contains(err.Error(), text) != want {
				t.Errorf("%q: want %q: %v", err, text, want)
			}
		}
	}
	for trial := range 120 {
		p := problems[trial%2]
		no := &exact.NoTotalError{State: rng.IntN(p.Model.States()), Return: rng.IntN(3) - 1, Wanted: is(), Kept: is()}
		check(p.stopped(no), map[string]bool{"state " + p.StateName(no.State) + " ": true,
			"action " + p.ActionName(0, no.State, 0): true, " return ": no.Return >= 0,
			"return " + p.Returns[max(0, no.Return)] + " ": no.Return >= 0, "grows without limit": no.Wanted,
			"long-run means": no.Wanted, "does not end": !no.Wanted, "every policy": !no.Wanted,
			"that keeps the limits": no.Kept && !no.Wanted})
		none := &robust.NotDefinedError{At: make([]robust.StateChoice, 1+rng.IntN(12)), Zero: is(), Mean: is()}
		for i := range none.At {
			none.At[i].State = rng.IntN(p.Model.States())
		}
		parts := map[string]bool{"the total": !none.Mean, "comes to rest": !none.Mean, "the long-run mean": none.Mean,
			"different places": none.Mean, "under the policy": trial%2 == 0, "every model": trial%2 == 1,
			"lower bound is 0": none.Zero && trial%2 == 1, " more": len(none.At) > 8,
			fmt.Sprintf(" %d more", len(none.At)-8): len(none.At) > 8}
		for _, at := range none.At[:min(8, len(none.At))] {
			parts["of state "+p.StateName(at.State)] = true
		}
		check(p.stopped(none), parts)
		c, r := &planCommand{}, &exact.Result{Status: exact.Undecided, Iterations: 1 + rng.IntN(3), Tolerance: 1e-7,
			Violation: []float64{0, 5e-7, 0.25}[rng.IntN(3)], Gap: 0.125}
		c.iterations = 3
		end, far, near := r.Iterations == 3, r.Violation > 0.1, r.Violation > 1e-7 && r.Violation < 0.1
		check(c.undecided(p, r), map[string]bool{"see --iterations": end, "miss the limits by 0.25": far && !end,
			"as near to the limits as 5e-07": near && !end, "than 0.125 (see --gap)": !end && !far && !near,
			"after " + many(float64(r.Iterations), "value iteration"): true})
	}
}

// TestConvertedIsCounted: what convert says of a model is what check says of the problem that it is of.
func TestConvertedIsCounted(t *testing.T) {
	for _, problem := range []string{"inventory", "cliff:rows=3,cols=4,H=8", "../../docs/examples/two-rooms.yaml"} {
		checked, _ := printed(t, "json", "check", problem)
		want := answerOf(t, checked)
		for _, out := range []string{"model.umb", "model.yaml", "model.drn"} {
			text, _ := printed(t, "json", "convert", problem, filepath.Join(t.TempDir(), out))
			got, rewards := answerOf(t, text), answerOf(t, text).texts("rewards")
			for _, key := range []string{"states", "choices", "transitions"} {
				if got.num(key) != want.num(key) {
					t.Errorf("%s to %s: %g %s, want %g", problem, out, got.num(key), key, want.num(key))
				}
			}
			if slices.Sort(rewards); !slices.Equal(rewards, want.names("returns")) || got.text("in") != problem ||
				!strings.HasSuffix(got.text("out"), out) {
				t.Errorf("%s to %s: %v, want the rewards %v", problem, out, got, want.names("returns"))
			}
		}
	}
}

// TestNamesThatAreMeant: for a name with a letter that is wrong, or another ending, the file or the instance is named.
func TestNamesThatAreMeant(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"delivery.yaml", "warehouse.yml", "clinic.json"} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		stem := strings.TrimSuffix(file, filepath.Ext(file))
		for _, name := range []string{stem + ".yam", stem[:3] + "x" + stem[4:] + ".yaml", stem + "s.yaml", stem[1:]} {
			if got := similarProblem(name); got != ", did you mean "+file+"?" {
				t.Errorf("%s: %q, want %s", name, got, file)
			}
		}
	}
	for name, want := range map[string]string{"inventry": "inventory", "riverswin": "riverswim",
		"invetory:n=3": "inventory"} {
		if got := similarProblem(name); got != ", did you mean the built-in instance "+want+"?" {
			t.Errorf("%s: %q, want %s", name, got, want)
		}
	}
	if got := similarProblem("qqqqqqqqqqqq"); got != "" {
		t.Errorf("nothing is similar, but %q", got)
	}
}
