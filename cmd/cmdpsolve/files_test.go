package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cmdpsolve/cmdp/problem"
	"cmdpsolve/internal/atomicfile"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// filesOf is a folder with an input of every kind: a problem, what it names, a model of several files, a policy, a
// log, a result, a suite and a checkpoint.
func filesOf(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"problem.yaml": `format: cmdp/1
horizon: 2
states: 2
start: 0
returns: [reward, cost]
transitions: {file: rows.csv}
goal: {maximize: reward}
constraints: [{return: cost, at_most: 1}]
`,
		"rows.csv": "state,action,next,probability,reward,cost\n0,stay,0,1,0,0\n0,go,1,1,1,1\n1,stay,1,1,1,1\n",
		"suite.yaml": `format: cmdp-suite/1
algorithms: [optcmdp]
episodes: 5
seeds: 1
problems: [problem.yaml]
`,
		"log.csv": "episode,step,state,action,next\n1,1,0,stay,0\n1,2,0,go,1\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"plan problem.yaml --policy policy.csv",
		"learn problem.yaml --episodes 5 --save run.checkpoint",
		"convert inventory model.tra",
	} {
		if status, said := called(line); status != exitDone {
			t.Fatal(line, said)
		}
	}
	var out bytes.Buffer
	if status := run(context.Background(), strings.Fields("learn problem.yaml --episodes 5 --format json"), &out,
		&out); status != exitDone {
		t.Fatal(out.String())
	}
	if err := os.WriteFile("result.json", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// called runs a command line and returns its status and what it said.
func called(line string) (int, string) {
	var out, said bytes.Buffer
	status := run(context.Background(), strings.Fields(line), &out, &said)
	return status, said.String()
}

// contents returns what all files of the folder hold.
func contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// linesOf are command lines that read every input that a command has. A command with flags for files needs one.
var linesOf = map[string][]string{
	"plan": {"plan problem.yaml --log log.csv", "plan problem.yaml --distribution",
		"plan problem.yaml --interval 0.01"},
	"front":    {"front problem.yaml --over reward,-cost"},
	"learn":    {"learn problem.yaml --episodes 5 --log log.csv", "learn problem.yaml --resume run.checkpoint"},
	"compare":  {"compare problem.yaml --episodes 5 --algorithms optcmdp --safe-policy policy.csv --null-policy policy.csv", "compare --suite suite.yaml"},
	"simulate": {"simulate problem.yaml --distribution --policy policy.csv"},
	"plot":     {"plot result.json"},
	"report":   {"report result.json"},
}

// outputsOf returns the flags of a command that name files to write.
func outputsOf(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if namesFile(f) && !slices.Contains(inputFlags[cmd.Name()], f.Name) {
			names = append(names, f.Name)
		}
	})
	return names
}

// endingOf is an ending that a file of an output may have.
func endingOf(output string) string {
	switch output {
	case "plot":
		return ".svg"
	case "output":
		return ".html"
	case "worst":
		return ".yaml"
	}
	return ".csv"
}

// waysHere are the ways in which a name can lead to a file on this system, for this user.
func waysHere(t *testing.T) []string {
	t.Helper()
	ways := []string{"same name"}
	folder := t.TempDir()
	file, hard, symbolic := filepath.Join(folder, "file"), filepath.Join(folder, "hard"),
		filepath.Join(folder, "symbolic")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Link(file, hard) == nil {
		ways = append(ways, "hard link")
	}
	err := os.Symlink("file", symbolic)
	if to, _ := os.Readlink(symbolic); err == nil && to == "file" {
		ways = append(ways, "symbolic link")
	}
	return ways
}

// link lets name lead to the file in one of three ways. It returns the name to use.
func link(t *testing.T, how, file, name string) string {
	t.Helper()
	if !slices.Contains(waysHere(t), how) {
		t.Skipf("no %ss here", how)
	}
	var err error
	switch how {
	case "same name":
		return "./" + file
	case "symbolic link":
		err = os.Symlink(file, name)
	case "hard link":
		err = os.Link(file, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(name) })
	return name
}

// TestOutputsAreNoInputs gives every flag of every command that names a file to write the name of every file that the
// command reads: each is refused, and no file is touched. The flags are found by their help, so that a new one is
// tried too.
func TestOutputsAreNoInputs(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	filesOf(t)
	ways := waysHere(t)
	before := contents(t)
	for _, cmd := range newRoot(streams{problem: new(problem.ReadOptions)}).Commands() {
		outputs := outputsOf(cmd)
		if len(outputs) > 0 && linesOf[cmd.Name()] == nil {
			t.Errorf("%s writes files by --%s: give it a line here", cmd.Name(), strings.Join(outputs, ", --"))
		}
		named := map[string]bool{}
		for _, line := range linesOf[cmd.Name()] {
			for _, output := range outputs {
				for _, input := range slices.Sorted(maps.Keys(before)) {
					suite := strings.Contains(line, "suite.yaml")
					read := strings.Contains(line, input) ||
						input == "rows.csv" && (strings.Contains(line, "problem.yaml") || suite && output == "tables")
					if !read || slices.Contains(checkpointFlags, output) && input == "run.checkpoint" ||
						strings.Contains(line, "--"+output+" ") { // which is given once
						continue
					}
					for _, how := range ways {
						name := link(t, how, input, "link"+endingOf(output))
						status, said := called(line + " --" + output + " " + name)
						if how != "same name" {
							os.Remove(name)
						}
						because := strings.Contains(said, "this file is read too") ||
							strings.Contains(said, "are the same file")
						named[output] = named[output] || because && input == "rows.csv"
						// What the problem names is known once it is read, and another check may refuse the
						// line before.
						if status != exitUsage || !because && input != "rows.csv" {
							t.Errorf("%s --%s, %s for %s: status %d, %s", line, output, how, input, status, said)
						}
					}
				}
			}
		}
		for _, output := range outputs {
			problems := strings.Contains(strings.Join(linesOf[cmd.Name()], " "), "problem.yaml")
			if problems && !named[output] && !slices.Contains([]string{"policies", "results"}, output) { // these are folders
				t.Errorf("%s --%s was never compared with a file that the problem names", cmd.Name(), output)
			}
		}
	}
	if after := contents(t); !maps.Equal(before, after) {
		t.Error("some file is not what it was")
	}
}

// TestOutputsAreNoInputsOfOtherKinds tries inputs that no flag or argument of the command line is the name of:
// the file of a property, standard input, what a suite and a checkpoint name, results of a suite, and what
// writing an output would sweep up.
func TestOutputsAreNoInputsOfOtherKinds(t *testing.T) {
	filesOf(t)
	for name, text := range map[string]string{
		"dice.prism": "mdp module m s:[0..1]; [go] s=0 -> 0.5:(s'=0) + 0.5:(s'=1); endmodule rewards \"time\" s=0: " +
			"1; endrewards",
		"ask.csv": "\"q\": R{\"time\"}min=? [F s=1];",
		"told.yaml": `format: cmdp-suite/1
algorithms: [optcmdp]
episodes: 5
seeds: 1
safe-policy: policy.csv
null-policy: null.csv
problems: [problem.yaml]
`,
		"null.csv": "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".new.csv.7.tmp", ".new.csv.lock", "ask.yaml"} {
		data, err := os.ReadFile(map[bool]string{true: "ask.csv", false: "problem.yaml"}[name == "ask.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if status, said := called("learn problem.yaml --episodes 5 --log log.csv --save logged.checkpoint"); status !=
		exitDone {
		t.Fatal(said)
	}
	before := contents(t)
	for _, c := range []struct{ line, output, input string }{
		{"plan dice.prism --property ask.csv", "--policy ", "ask.csv"},
		{"plan dice.prism --property ask.csv:q", "--policy ", "ask.csv"},
		{"convert dice.prism --property ask.yaml", "", "ask.yaml"},
		{"plan -", "--policy ", "problem.yaml"},
		{"learn problem.yaml --resume logged.checkpoint", "--policy ", "log.csv"},
		{"compare --suite told.yaml", "--tables ", "policy.csv"},
		{"compare --suite told.yaml", "--tables ", "null.csv"},
		{"plan .new.csv.7.tmp", "--policy ", "new.csv"},
		{"plan .new.csv.lock", "--policy ", "./new.csv"},
		{"learn .new.csv.lock --episodes 5", "--save ", "new.csv"},
	} {
		for _, how := range waysHere(t) {
			if strings.HasSuffix(c.input, "new.csv") && how != "same name" {
				continue // it is not there, so that it has no links
			}
			name := link(t, how, c.input, "link"+map[bool]string{true: ".yaml", false: ".csv"}[c.output == ""])
			if strings.Contains(c.line, " -") {
				in, err := os.Open("problem.yaml")
				if err != nil {
					t.Fatal(err)
				}
				was := os.Stdin
				os.Stdin = in
				t.Cleanup(func() { os.Stdin = was; in.Close() })
			}
			status, said := called(c.line + " " + c.output + name)
			if how != "same name" {
				os.Remove(name)
			}
			if status != exitUsage || !strings.Contains(said, "is read too") &&
				!strings.Contains(said, "name of a temporary file") {
				t.Errorf("%s %s%s, %s: status %d, %s", c.line, c.output, c.input, how, status, said)
			}
		}
	}
	for _, name := range []string{"suite.results/problem--optcmdp--1.json",
		"./suite.results/../suite.results/problem--optcmdp--1.json"} {
		if err := os.MkdirAll("suite.results", 0o755); err != nil {
			t.Fatal(err)
		}
		if status, said := called("compare --suite suite.yaml --tables " + name); status != exitUsage ||
			!strings.Contains(said, "is the file of a result") {
			t.Errorf("--tables %s: status %d, %s", name, status, said)
		}
	}
	if after := contents(t); !maps.Equal(before, after) {
		t.Error("some file is not what it was")
	}
}

// TestManualThroughLinks leads standard output to a page of the manual, and a page to a device.
func TestManualThroughLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("man", 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create("page")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	link(t, "hard link", "page", "man/cmdpsolve-plan.1")
	var said bytes.Buffer
	if status := run(context.Background(), []string{"man", "man"}, f, &said); status != exitUsage ||
		!strings.Contains(said.String(), "are the same file") {
		t.Errorf("status %d, %s", status, said.String())
	}
	if all := contents(t); len(all) != 2 || all["page"] != "" {
		t.Errorf("pages were written: %d files", len(all))
	}
	f.Close() // Windows removes no open file
	os.Remove("man/cmdpsolve-plan.1")
	link(t, "symbolic link", "../page", "man/cmdpsolve-front.1")
	if status, said := called("man man"); status != exitDone {
		t.Error(status, said)
	}
	if to, err := os.Readlink("man/cmdpsolve-front.1"); err != nil || !strings.Contains(contents(t)["page"], ".TH") {
		t.Error("the page is not where its link leads: ", to, err)
	}
}

// TestNamesAreNoFiles leads standard output to a file that is called like an instance.
func TestNamesAreNoFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, line := range map[string]string{"cliff": "instances cliff", "moma": "algorithms moma",
		"problem-file": "help problem-file"} {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		status := run(context.Background(), strings.Fields(line), f, &said)
		f.Close()
		if data, err := os.ReadFile(name); status != exitDone || len(data) == 0 || err != nil {
			t.Errorf("%s > %s: status %d, %s", line, name, status, said.String())
		}
	}
}

// TestOutputsDiffer gives any two outputs of a command the same file.
func TestOutputsDiffer(t *testing.T) {
	filesOf(t)
	before := contents(t)
	for _, cmd := range newRoot(streams{problem: new(problem.ReadOptions)}).Commands() {
		outputs := outputsOf(cmd)
		for i, one := range outputs {
			for _, other := range outputs[:i] {
				if slices.Contains(checkpointFlags, one) && slices.Contains(checkpointFlags, other) {
					continue
				}
				status, said := called(cmd.Name() + " problem.yaml --" + one + " new.csv --" + other + " ./new.csv")
				if status != exitUsage || !strings.Contains(said, "are the same file") {
					t.Errorf("%s --%s --%s: status %d, %s", cmd.Name(), one, other, status, said)
				}
			}
		}
	}
	if after := contents(t); !maps.Equal(before, after) {
		t.Error("some file is not what it was")
	}
}

// TestConvertKeepsItsInput has convert write over what it reads: the file, and one of the files beside it.
func TestConvertKeepsItsInput(t *testing.T) {
	filesOf(t)
	before := contents(t)
	for _, line := range []string{
		"convert model.tra model.tra", "convert model.tra ./model.tra", "convert problem.yaml ./problem.yaml",
		"convert model.tra link.tra",
		"convert problem.yaml rows.tra",
	} {
		if line == "convert model.tra link.tra" {
			link(t, "hard link", "model.lab", "link.lab")
		}
		if line == "convert problem.yaml rows.tra" {
			link(t, "symbolic link", "rows.csv", "rows.tra")
		}
		status, said := called(line)
		os.Remove("link.lab")
		if status == exitDone || !strings.Contains(said, "this file is read too") {
			t.Errorf("%s: status %d, %s", line, status, said)
		}
		if _, err := os.Stat("link.tra"); err == nil {
			t.Errorf("%s: some files of several were written", line)
		}
		os.Remove("rows.tra")
	}
	if after := contents(t); !maps.Equal(before, after) {
		t.Error("some file is not what it was")
	}
}

// TestStandardOutputIsNoOther leads standard output to files that the command reads or writes.
func TestStandardOutputIsNoOther(t *testing.T) {
	filesOf(t)
	for _, c := range []struct{ line, out string }{{"plan problem.yaml", "rows.csv"},
		{"plan problem.yaml --policy both.csv", "both.csv"}} {
		f, err := os.OpenFile(c.out, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		before := contents(t)
		var said bytes.Buffer
		if status := run(context.Background(), strings.Fields(c.line), f, &said); status != exitUsage ||
			!strings.Contains(said.String(), "standard output") {
			t.Errorf("%s >> %s: status %d, %s", c.line, c.out, status, said.String())
		}
		f.Close()
		if after := contents(t); !maps.Equal(before, after) {
			t.Error("some file is not what it was")
		}
	}
}

// TestInfeasiblePlanDeletesNothing keeps the file that --policy names if there is no policy to write.
func TestInfeasiblePlanDeletesNothing(t *testing.T) {
	filesOf(t)
	before := contents(t)
	for _, line := range []string{"plan problem.yaml --at-least reward=1.5 --policy policy.csv",
		"plan problem.yaml --deterministic --at-least reward=1.5 --policy policy.csv"} {
		if status, said := called(line); status != exitInfeasible || !strings.Contains(said, "left as it is") {
			t.Errorf("%s: status %d, %s", line, status, said)
		}
	}
	if after := contents(t); !maps.Equal(before, after) {
		t.Error("some file is not what it was")
	}
}

// TestOutputThroughLinks writes through a link to a file and to a device.
func TestOutputThroughLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("other devices")
	}
	filesOf(t)
	for name, target := range map[string]string{"null.csv": "/dev/null", "link.csv": "target.csv"} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
		if status, said := called("plan problem.yaml --policy " + name); status != exitDone {
			t.Error(name, status, said)
		}
		if to, err := os.Readlink(name); err != nil || to != target {
			t.Errorf("%s is no link any more", name)
		}
	}
	if data, err := os.ReadFile("target.csv"); err != nil || !strings.HasPrefix(string(data), "step,state") {
		t.Error(string(data), err)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode().IsRegular() {
		t.Error("/dev/null is a file now")
	}
}

// TestTwoRunsWithOneCheckpoint refuses the second run of two that keep the same checkpoint.
func TestTwoRunsWithOneCheckpoint(t *testing.T) {
	filesOf(t)
	lock, err := atomicfile.NewLock("run.checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	line := "learn problem.yaml --resume run.checkpoint"
	if status, said := called(line); status != exitUsage || !strings.Contains(said, "another run is keeping it") {
		t.Errorf("status %d, %s", status, said)
	}
	lock.Unlock()
	if status, said := called(line); status != exitDone {
		t.Errorf("status %d, %s", status, said)
	}
}
