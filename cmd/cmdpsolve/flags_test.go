package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// outcome is what came of a command: its status and what it wrote, but for times.
func outcome(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	status := run(t.Context(), args, &out, &errs)
	if strings.Contains(out.String()+errs.String(), "%!") {
		t.Errorf("%v: a message has wrong arguments: %s", args, errs.String())
	}
	return fmt.Sprintf("%d %s %s", status, jsonTime.ReplaceAllString(seconds.ReplaceAllString(out.String(), ""), ""),
		errs.String())
}

// flagLines are lines of each command that play or plan little, for many kinds of problems.
var flagLines = map[string][]string{
	"plan": {"plan depot.yaml --deterministic", "plan two-rooms.yaml --format json", "plan fleet.yaml --format " +
		"json", "plan two-rooms.yaml --interval 0.1",
		"plan two-rooms.yaml --log log.csv --pool --models 200 --credible 0.9",
		"plan two-rooms.yaml --sweep cost=3:5:1", "plan matrix:game=regret3,limit=-0.1", "plan depot.yaml " +
			"--distribution"},
	"front": {"front means.yaml --over gain,-cost --deterministic", "front inventory --over -shortage,-cost " +
		"--format json",
		"front drone.yaml --over arrive,-battery"},
	"check": {"check two-rooms.yaml --format json", "check drone.yaml"},
	"simulate": {"simulate two-rooms.yaml --policy policy.csv --episodes 20 --format json",
		"simulate fleet.yaml --episodes 3 --format json", "simulate means.yaml --policy means.csv --episodes 2",
		"simulate drone.yaml --policy drone.csv --episodes 9"},
	"learn": {"learn two-rooms.yaml --episodes 12 --format json --quiet", "learn means.yaml --steps 30 --quiet",
		"learn two-rooms.yaml --sample 20 --quiet", "learn two-rooms.yaml --episodes 12 --learner posterior --quiet"},
	"compare": {"compare two-rooms.yaml --algorithms moma,optdual --slater auto --episodes 8 --seeds 1 --format " +
		"json --quiet --no-times",
		"compare two-rooms.yaml --algorithms optdual,dope,conrl-knapsack --episodes 8 --seeds 2 --quiet --no-times"},
	"convert": {"convert two-rooms.yaml out.json", "convert depot.yaml out.drn"},
}

// flagFolder has examples, a policy and a log.
func flagFolder(t *testing.T) {
	t.Helper()
	examples, err := filepath.Abs("../../docs/examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.CopyFS(".", os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"means.yaml": "format: cmdp/1\ncriterion: average\nstates: 2\nstart: 0\nreturns: [gain, cost]\n" +
			"goal: {maximize: gain}\nconstraints: [{return: cost, at_most: 0.5}]\ntransitions:\n" +
			"  - {state: 0, action: a, next: {0: 0.5, 1: 0.5}, returns: [1, 1]}\n" +
			"  - {state: 0, action: b, next: {1: 1}, returns: [0, 0]}\n" +
			"  - {state: 1, action: a, next: {0: 1}, returns: [0.5, 0.25]}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"plan two-rooms.yaml --policy policy.csv", "plan means.yaml --policy means.csv",
		"plan drone.yaml --policy drone.csv"} {
		if status, said := called(line); status != exitDone {
			t.Fatal(line, said)
		}
	}
	rows := "episode,step,state,action,next\n"
	for i := range 40 {
		rows += fmt.Sprintf("%d,1,%s\n%d,2,%s\n", i+1, []string{"lobby,stay,lobby", "lobby,go,workshop"}[i%2], i+1,
			[]string{"lobby,go,workshop", "workshop,work,lobby"}[i%2])
	}
	if err := os.WriteFile("log.csv", []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
}

// flagsOf visits the flags of the commands that have lines here, found from the help.
func flagsOf(visit func(cmd *cobra.Command, f *pflag.Flag)) {
	for _, cmd := range newRoot(streams{problem: new(problem.ReadOptions)}).Commands() {
		if flagLines[cmd.Name()] != nil {
			cmd.Flags().VisitAll(func(f *pflag.Flag) { visit(cmd, f) })
		}
	}
}

var defaultSaid = regexp.MustCompile(`\(default:? ?([0-9][-0-9.e]*)[,)]`)

// TestDefaults: what --help shows as the value of a flag is the value without it: giving it changes nothing, or is
// refused by the flag's name where the flag has no use.
func TestDefaults(t *testing.T) {
	flagFolder(t)
	before := make(map[string]string)
	flagsOf(func(cmd *cobra.Command, f *pflag.Flag) {
		values := []string{f.DefValue}
		if m := defaultSaid.FindStringSubmatch(f.Usage); m != nil {
			values = append(values, m[1])
		}
		for _, value := range values {
			if value == "" || f.Name == "help" || f.Name == "help-all" || f.Name == "format" || value == "[]" {
				continue
			}
			for _, line := range flagLines[cmd.Name()] {
				if strings.Contains(line, "--"+f.Name+" ") || strings.HasSuffix(line, "--"+f.Name) ||
					cmd.Name() == "convert" {
					continue
				}
				if before[line] == "" {
					before[line] = outcome(t, strings.Fields(line)...)
				}
				now := outcome(t, append(strings.Fields(line), "--"+f.Name+"="+value)...)
				refused := strings.HasPrefix(now, fmt.Sprint(exitUsage)) && strings.Contains(now, f.Name)
				if now != before[line] && !refused {
					t.Errorf("%s --%s=%s, the default, changes what came:\n%.600s\nwithout it:\n%.600s", line,
						f.Name, value,
						now, before[line])
				}
			}
		}
	})
}

// otherValues are values that may make a difference, by the kind of a flag.
var otherValues = map[string][]string{"bool": {"true", "false"}, "int": {"3", "1", "40"}, "uint64": {"7"},
	"float64": {"0.5", "0.05", "3"}, "duration": {"1ns", "30s"}}

// valuesOf are values of flags that name something.
var valuesOf = map[string][]string{
	"policy": {"new.csv"}, "opponent-policy": {"new.csv"}, "policies": {"new"}, "plot": {"new.svg"},
	"worst":     {"new.yaml"},
	"worst-for": {"goal"}, "log": {"log.csv"}, "save": {"new"}, "resume": {"none"}, "mixture": {"new.csv"},
	"maximize": {"cost", "short", "energy"}, "minimize": {"reward"}, "at-most": {"cost=2", "short=1"},
	"at-least": {"reward=1", "reward=9"}, "sweep": {"cost=3:5:1"}, "over": {"cost,reward"}, "error": {"0.2"},
	"returns": {"unknown"}, "support": {"auto"}, "set": {"x=1"}, "const": {"x=1"}, "property": {"x"},
	"confidence": {"0.9"},
	"simulator":  {"false"}, "env-command": {"false"}, "learner": {"posterior"}, "bonus-scale": {"1"},
	"planner": {"hoeffding"},
	"dual":    {"free"}, "rho": {"3"}, "opponent": {"uniform"}, "algorithms": {"moma"}, "slater": {"0.3"},
	"safe-policy": {"policy.csv"}, "null-policy": {"auto"}, "changing": {"drift"}, "suite": {"none.yaml"},
	"results": {"new"}, "shard": {"1/2"}, "tables": {"new"}, "submit": {"slurm"}, "image": {"x"}, "claim": {"x"},
	"format": {"csv"}, "wait": {"1s"}, "accuracy": {"20"}, "span": {"5"}, "safety": {"0.6"}, "replan": {"5"},
}

// TestNoFlagIsIgnored: every flag of every command changes what comes of some line, or the files that it writes, or is
// refused by its name where it has no use.
func TestNoFlagIsIgnored(t *testing.T) {
	flagFolder(t)
	none := []string{"help", "help-all", "quiet", "parallel", "outside", "timeout", "save-every", "exact",
		"all"} // a flag of vertices that print alike
	before := make(map[string]string)
	flagsOf(func(cmd *cobra.Command, f *pflag.Flag) {
		if slices.Contains(none, f.Name) {
			return
		}
		values := valuesOf[f.Name]
		if values == nil {
			values = otherValues[plainType(f.Value)]
		}
		if values == nil {
			t.Errorf("%s --%s: want a value to try", cmd.Name(), f.Name)
		}
		for _, line := range flagLines[cmd.Name()] {
			if before[line] == "" {
				before[line] = outcome(t, strings.Fields(line)...)
			}
			for _, value := range values {
				now := outcome(t, append(strings.Fields(line), "--"+f.Name+"="+value)...)
				made, _ := filepath.Glob("new*")
				for _, name := range made {
					os.RemoveAll(name)
				}
				name, _, _ := strings.Cut(value, "=")
				if strings.HasPrefix(now, fmt.Sprint(exitUsage)) && !strings.Contains(now, "--"+f.Name) &&
					!strings.Contains(now, name) && f.Name != "const" { // whose library speaks of constants
					t.Errorf("%s --%s=%s is refused without its name: %s", line, f.Name, value, now)
				}
				if now != before[line] || len(made) > 0 {
					return
				}
			}
		}
		t.Errorf("%s --%s has no effect on %q", cmd.Name(), f.Name, flagLines[cmd.Name()])
	})
}

// TestAskedOfEveryKind: what is asked for besides an answer is there, whatever kind of problem it is asked of, or it is
// said why not: a file, a policy that is shown or never draws, a distribution, margins.
func TestAskedOfEveryKind(t *testing.T) {
	kinds := []string{duel(t, rand.New(rand.NewPCG(83, 3)), "maximize"), wages(t), rides(t), "matrix:game=regret3,limit=-0.1",
		"fleet.yaml", "means.yaml", "two-rooms.yaml", "parcel.yaml", "impossible.yaml"}
	flagFolder(t)
	asked := []string{"--policy new.csv", "--policy new.c", "--opponent-policy new.csv", "--worst new.yaml", "--show",
		"--deterministic --nodes 9", "--distribution --plot new.svg", "--plot new.svg", "--safety 0.6",
		"--policies new", "--log log.csv", "--nodes 5"}
	for _, kind := range kinds {
		over := ""
		if p, err := load(kind); err == nil && len(p.declared()) > 1 {
			over = "--over " + strings.Join(p.declared()[:2], ",")
		}
		for _, line := range []string{"plan " + kind, "front " + kind + " --points 9 " + over, "check " + kind} {
			words := strings.Fields(line)
			before := outcome(t, words...)
			if strings.HasPrefix(before, fmt.Sprint(exitUsage)) {
				continue
			}
			for _, options := range asked {
				flag, _, _ := strings.Cut(options, " ")
				if words[0] == "front" && !strings.Contains(options, "new") {
					continue
				}
				now := outcome(t, append(slices.Clone(words), strings.Fields(options)...)...)
				made, _ := filepath.Glob("new*")
				for _, name := range made {
					os.RemoveAll(name)
				}
				said := strings.HasPrefix(now, fmt.Sprint(exitUsage)) || strings.Contains(now, "to new")
				if now == before && len(made) == 0 || strings.Contains(options, "new") && len(made) == 0 && !said &&
					!strings.HasPrefix(now, fmt.Sprint(exitInfeasible)) {
					t.Errorf("%s %s: %s is passed over: %.300s", line, options, flag, now)
				}
			}
		}
	}
}

// TestProblemFlagsReadBack: the options that say how a problem is read are read as what they say.
func TestProblemFlagsReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 2))
	drawn := func() map[string]string {
		values := make(map[string]string)
		for range rng.IntN(4) {
			values[fmt.Sprint("n", rng.IntN(5))] = strconv.Itoa(rng.IntN(9))
		}
		return values
	}
	for range 60 {
		want := problem.ReadOptions{Outside: rng.IntN(2) == 0, Set: drawn(), Constants: drawn()}
		if rng.IntN(2) == 0 {
			want.Property = &problem.Property{File: inlineProperty, Text: "Pmax=? [ F done ]"}
		}
		flags := streams{problem: &want}.problemFlags()
		got := new(problem.ReadOptions)
		for _, cmd := range newRoot(streams{problem: got}).Commands() {
			if cmd.Name() == "plan" {
				if err := cmd.ParseFlags(flags); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got.Outside != want.Outside || !maps.Equal(got.Set, want.Set) ||
			!maps.Equal(got.Constants, want.Constants) || !reflect.DeepEqual(got.Property, want.Property) {
			t.Errorf("%q: %+v, want %+v", flags, got, want)
		}
	}
}

// TestOptionsOfConversions: an option of convert is taken where its help says that it has something to do.
func TestOptionsOfConversions(t *testing.T) {
	for _, name := range []string{"horizon", "discount", "mean", "normalize", "rational", "plain", "xz"} {
		for _, ofProblem := range []bool{false, true} {
			for _, out := range []string{"a.yaml", "a.YML", "a.umb", "a.UMB", "a.drn", "a.tra", "folder/"} {
				file, umb := strings.HasPrefix(strings.ToLower(out), "a.y"), strings.EqualFold(out, "a.umb")
				want := map[string]bool{"horizon": file && !ofProblem, "discount": file && !ofProblem,
					"mean": !file || !ofProblem, "normalize": !ofProblem, "rational": umb, "plain": umb, "xz": umb}[name]
				o := convertOptions{given: func(flag string) bool { return flag == name }}
				err := o.fits(ofProblem, out)
				if (err == nil) != want || err != nil && (!strings.Contains(err.Error(), "--"+name) ||
					!strings.Contains(err.Error(), out)) {
					t.Errorf("--%s, of a problem %v, to %s: %v, want it taken: %v", name, ofProblem, out, err, want)
				}
			}
		}
	}
}

// TestThisBuild: version and revision are those of the build, or unknown, and changes to the source are told.
func TestThisBuild(t *testing.T) {
	for k := range 8 {
		info, revision := &debug.BuildInfo{}, ""
		if k&1 > 0 {
			info.Main.Version = "v1.2.3"
		}
		if k&2 > 0 {
			revision = "abc123"
			info.Settings = append(info.Settings, debug.BuildSetting{Key: "vcs.revision", Value: revision})
		}
		info.Settings = append(info.Settings, debug.BuildSetting{Key: "vcs.modified", Value: fmt.Sprint(k&4 > 0)})
		v := thisBuild(info)
		if k == 0 {
			v = thisBuild(nil)
		}
		line := fmt.Sprint(v.report().Sections[0].(report.Heading)[0])
		if v.Modified != (k&4 > 0) || v.Revision != revision || v.Version != []string{"unknown", "v1.2.3"}[k&1] ||
			!strings.Contains(line, v.Version) || strings.Contains(line, ", modified") != v.Modified ||
			strings.Contains(line, ", revision abc123") != (revision != "") {
			t.Errorf("build %d: %+v, %q", k, v, line)
		}
	}
}

// TestDistanceOfAnswers: the exact answer says how near the target one comes, in a game between which bounds.
func TestDistanceOfAnswers(t *testing.T) {
	p, err := load("inventory")
	if err != nil {
		t.Fatal(err)
	}
	best := func(status exact.Verdict) *exact.Result {
		return &exact.Result{Status: status, Objective: -2, Returns: []float64{1, 3},
			Certificate: &exact.Certificate{Distance: 0.25}}
	}
	gap := func(low, up float64) contest.Answer {
		return contest.Answer{Gap: &exact.Gap{Status: exact.NotApproachable, Lower: low, Upper: up}}
	}
	for _, c := range []struct {
		answer                      contest.Answer
		status, distance, objective string
		said                        string // of what is missing or bad
	}{
		{contest.Answer{Best: best(exact.Optimal)}, "optimal", "0", six(-2 * p.Sense()), ""},
		{contest.Answer{Best: best(exact.Infeasible)}, "infeasible", "0.25", "–", "no policy meets the target"},
		{contest.Answer{Best: best(exact.Undecided)}, "undecided", "–", "–", "the exact optimum is not known"},
		{contest.Answer{Err: errors.New("lost")}, "", "", "", "is not known, and there is no regret: lost"},
		{gap(0.125, 0.12502), "not approachable", "0.125", "–", "at least 0.125 away"},
		{gap(0.125, 0.3), "not approachable", "0.125 to 0.3", "–", "at least 0.125 away"},
		{contest.Answer{Value: &exact.GameValue{Value: 4}}, "minimax", "–", six(4 * p.Sense()), ""},
	} {
		e := newExactReport(p, &c.answer)
		if (e == nil) != (c.status == "") || e != nil && (e.Status != c.status || e.distance() != c.distance ||
			report.Short(e.Objective) != c.objective) {
			t.Errorf("%+v: %+v, want %s, %s away, objective %s", c.answer, e, c.status, c.distance, c.objective)
		}
		if said := unanswered(&c.answer); !strings.Contains(said, c.said) || (said == "") != (c.said == "") {
			t.Errorf("%+v: %q, want %q", c.answer, said, c.said)
		}
	}
}

// TestOptionsThatGoNotTogether: options that mean nothing alone, or nothing beside others, are refused, and the message
// names them all. A star stands before what it need not name.
func TestOptionsThatGoNotTogether(t *testing.T) {
	t.Chdir(t.TempDir())
	log, samples := "*--log log.csv ", "*--simulator x *--sample 3 "
	calls := []string{"plan --confidence 0.9", "plan " + log + "--confidence 1",
		"plan " + log + "--confidence 0.9 --returns unknown", "plan " + log + "--confidence 0.9 --support none",
		"plan " + log + "--credible 1", "plan " + log + "--models 2", "plan " + log + "--returns some",
		"plan " + log + "--support some", "plan --simulator x", "plan --safety 0.9 --budget 3s", "plan --safety 0.9",
		"plan --safety 1", "plan --deterministic --second-opinion", "plan --distribution --log log.csv",
		"plan --show --log log.csv", "plan --budget 3s --log log.csv", "plan --budget -1s",
		"plan --second-opinion --resolution 1", "plan --worst-for cost", "plan --worst x.txt", "plan --worst x.yaml",
		"plan --policies some", "plan --plot x.svg", "plan --nodes 3", "plan --opponent-policy x.csv",
		"plan *--interval 0.1 --distribution", "plan --interval 2", "plan --gap 1", "plan --iterations 0",
		"plan --parallel -1", "front --points 0", "front --budget -1s", "front --gap -1", "check --iterations 0",
		"simulate --episodes 0", "simulate --steps -1", "simulate --plot x.svg", "simulate *--policy x.csv --steps 3",
		"learn --rho 3 *--learner posterior", "learn --support auto", "learn --opponent uniform", "learn --learner some",
		"learn --rho 3 *--dual free", "learn --parallel -1", "learn --save-every 0s", "learn --steps 3",
		"compare --opponent uniform", "compare --parallel -1", "compare --steps 3", "compare --save-every 0s",
		"explore --timeout 0s", "explore --listen here", "explore --gap 1"}
	for _, option := range []string{"--credible 0.9", "--models 100", "--seed 3"} {
		calls = append(calls, "plan "+log+"*--confidence 0.9 "+option, "plan "+option)
	}
	for _, option := range []string{"--pool", "--returns known", "--support auto", "--sample 3", "--accuracy 0.1", "--strict"} {
		calls = append(calls, "plan "+option)
	}
	for _, option := range []string{"--show", "--gap 0.1", "--deterministic", "--distribution", "--budget 3s",
		"--sweep cost=1:2:1", "--at-most cost=3", "--interval 0.1", "--iterations 9", "--safety 0.9"} {
		calls = append(calls, "plan "+samples+option)
	}
	for _, option := range []string{"--learner moma", "--episodes 9", "--seeds 2", "--save x", "--mixture x.csv",
		"--plot x.svg", "--planner bernstein", "--dual free", "--rho 3", "--bonus-scale 1", "--parallel 2"} {
		calls = append(calls, "learn *--sample 3 "+option)
	}
	for _, option := range []string{"--replan 3", "--dispatch", "--whittle", "--safety 0.9", "--parallel 2", "--replan -1"} {
		calls = append(calls, "simulate *--policy x.csv "+option)
	}
	for _, option := range []string{"--merge", "--shard 1/2", "--shards 2", "--results some", "--tables x", "--wait"} {
		calls = append(calls, "compare "+option)
	}
	for _, call := range calls {
		command, options, _ := strings.Cut(call, " ")
		status, said := called(command + " inventory " + strings.ReplaceAll(options, "*", ""))
		if status != exitUsage {
			t.Errorf("%s: status %d, %s", call, status, said)
		}
		for option := range strings.FieldsSeq(options) {
			if strings.HasPrefix(option, "--") && !strings.Contains(said, strings.TrimPrefix(option, "--")) {
				t.Errorf("%s: %s is not named: %s", call, option, said)
			}
		}
	}
}

// refusedCalls are calls that make no sense for what they are about. What is refused names every word that has no star,
// and what stands behind an arrow.
const refusedCalls = `
convert *m.tra out.txt
convert *m.tra
convert *m.tra *x.umb --plain --xz
convert *m.tra *x.yaml --horizon -1
convert *m.tra *x.yaml --horizon 3 --discount *0.5
convert *m.tra *x.yaml --discount 0
convert *m.tra *x.yaml --discount 1.5
convert *m.tra *x.umb --normalize 1
convert *m.tra *x.umb --normalize -0.5
convert fleet.yaml *x.umb > a fleet
convert m.tra *x.umb --set *a=1
convert m.tra *x.umb --const *a=1
convert none.umb *x.drn
convert *two-rooms.yaml x.umb --horizon *3
plot > RESULT
plot *r.json --metrics some > regret
plot *r.json --output x.txt > svg
plot none.json
plot m.tra > --format json
plot p.json > history
plot *r.json --problem other > inventory
plot *r.json --algorithms other > moma
plot *r.json *--linear=x > --linear
report > RESULT
report *r.json > --output
report *r.json --output x.txt > .html
report none.json *--output *x.html
report m.tra *--output *x.html
report o.json *--output *x.html > no result
man > DIR
man *a *b > 2
help nothing
help *plan *check > 2
version --licenses --format *json
instances nothing
instances *inventory:zz=3 > zz
instances *inventory --format csv > YAML
algorithms nothing
check *inventory *two-rooms.yaml > 2 arguments
simulate *inventory p.csv > --policy p.csv
plan > none
plan *inventory --gip *3 > --gap
plan *inventory --shards *3 > compare
plan *inventory --budget soon > 30s
plan *inventory --iterations some > whole
plan *inventory --gap some > number
plan *inventory --at-most cost
plan *inventory --at-most cost=x > none
plan *inventory *--at-most *none=3 > none > cost
plan *inventory --sweep cost=1:2
plan *inventory --sweep *cost=1:x:1 > x
plan *inventory --sweep *cost=1:2:-1 > never
plan *inventory --sweep *cost=0:1:1e-6 > 10000
plan *inventory --sweep *cost=1:2:1 *--sweep *cost=1:2:1 > cost is given twice
plan *inventory *--sweep *cost=1:2:1 --policy p.csv
plan *inventory *--sweep *none=1:2:1 > none
plan *inventory --format xml > markdown
front *inventory > --over
front *inventory --over cost > two
front *inventory --over *cost,cost > twice
front *inventory --over *cost,none > none
front *inventory *--over *cost,shortage --error x
front *inventory *--over *cost,shortage --error 2
front *inventory *--over *cost,shortage --error *0.1,0.2 > one fraction
front *inventory *--over *cost,shortage --plot x.txt
front *inventory *--over *cost,shortage --policies . > empty
compare --suite *suite.yaml *inventory > not both
compare *--suite *suite.yaml --seeds *3
compare *--suite *suite.yaml --merge --shard *1/2
compare *--suite *suite.yaml --wait > --merge
compare *--suite *suite.yaml --dry-run > --submit
compare *--suite *suite.yaml --image *x > --submit
compare *--suite *suite.yaml --claim *x > --submit
compare *--suite *suite.yaml *--save *x > no checkpoint
compare *--suite *suite.yaml --shard 3/2
compare *--suite *suite.yaml --shard a
compare *--suite *suite.yaml --shards -1
compare *--suite *suite.yaml --shards 3 > --shard i/3
compare *--suite *suite.yaml --shard 1/2 --shards 3
compare *--suite *suite.yaml --submit sge > kubernetes
compare *--suite *suite.yaml --submit *slurm > --shards
compare *--suite *suite.yaml --submit *slurm *--shards *2 --merge
compare *--suite *suite.yaml --submit kubernetes *--shards *2 > --image > --claim
compare *--suite none.yaml
compare *--suite *suite.yaml *--merge *--results *none > no results
learn *two-rooms.yaml --env-timeout *3s > --env-command
learn none.yaml --env-command *x
learn *two-rooms.yaml *--env-command *x --env-timeout 0s
plan soccer --distribution
plan soccer --budget *3s
plan soccer --show
plan soccer --deterministic > game
check soccer --policy x.csv
simulate soccer *--policy *p.csv > game
front soccer *--over *win,tie > game
plan fleet.yaml --deterministic > fleet
plan fleet.yaml --worst *x.yaml > fleet
plan fleet.yaml --distribution > simulate
learn fleet.yaml > fleet
compare fleet.yaml > fleet
front fleet.yaml *--over *cost,win --deterministic > fleet
plan *fleet.yaml --policy x.txt
check fleet.yaml --policy policy.csv > fleet
plan parcel.yaml --distribution > intervals
plan *parcel.yaml *--sweep *energy=8:9:1 --policies new > --policy
plan *parcel.yaml *--sweep *energy=8:9:1 --worst x.yaml
plan *parcel.yaml --worst-for none *--worst *x.yaml
learn clinic.yaml --episodes *3 > --steps
learn clinic.yaml --learner moma > posterior
learn clinic.yaml *--sample *3 > --span
simulate inventory *--policy *p.csv --steps 3
simulate *inventory > --policy
plan *courier.yaml --interval 2 > 0 to 1
`

// TestRefusals: what cannot be done is refused as a mistake of the user, with the words that tell what is wrong, as
// JSON too; nothing is written.
func TestRefusals(t *testing.T) {
	flagFolder(t)
	for name, text := range map[string]string{"m.tra": "2 2 2\n0 0 1 1\n1 0 1 1\n", "o.json": "{\"a\": 1}\n", "p.csv": "",
		"p.json": "{\"problem\": \"x\", \"prices\": []}\n", "r.json": ""} {
		if name == "r.json" {
			text, _ = printed(t, "json", "learn", "inventory", "--episodes", "2")
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t)
	for call := range strings.SplitSeq(strings.TrimSpace(refusedCalls), "\n") {
		line, words, _ := strings.Cut(call, " > ")
		status, said := called(strings.ReplaceAll(line, "*", ""))
		plain := strings.Join(strings.Fields(said), " ")
		wanted := strings.Fields(line)[1:]
		if words != "" {
			wanted = append(wanted, strings.Split(words, " > ")...)
		}
		for _, word := range wanted {
			if word[0] != '*' && !strings.Contains(plain, word) || status != exitUsage {
				t.Errorf("%s: status %d: want %q: %s", line, status, word, said)
			}
		}
		if _, formatted := optionGroups[strings.Fields(line)[0]]; !formatted || strings.Contains(line, "--format") {
			continue
		}
		var out, errs bytes.Buffer
		run(t.Context(), strings.Fields(strings.ReplaceAll(line, "*", "")+" --format json"), &out, &errs)
		var failed struct {
			Failed struct {
				Status  int
				Message string
			}
		}
		if err := json.Unmarshal(out.Bytes(), &failed); err == nil && (failed.Failed.Status != status ||
			!strings.Contains(said, failed.Failed.Message)) {
			t.Errorf("%s: JSON has %+v: %s", line, failed, said)
		}
	}
	if after := contents(t); !maps.Equal(before, after) {
		t.Error("a call that is refused has written a file")
	}
}
