package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cmdpsolve/cmdp/problem"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(tuned{m}, map[string]func(){"cmdpsolve": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
	}, "playmodel": playModel, "nastyworker": nastyWorker})
}

// tuned runs tests with less garbage collection than Go has, and more of them at once. Reports of all scripts and
// pages are read here one after the other, and half of the processor time went into collecting them; commands of
// scripts are as they are. Scripts, simulators, Python and the browser mostly wait for one another, so that there is
// room for twice as many tests as usual.
type tuned struct{ *testing.M }

func (m tuned) Run() int {
	debug.SetGCPercent(300)
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	return m.M.Run()
}

// setUp tells a script where the files of docs/examples are.
func setUp(env *testscript.Env) error {
	examples, err := filepath.Abs("../../docs/examples")
	env.Setenv("EXAMPLES", examples)
	// Under the race detector every command would wait for a second before it ends.
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	return err
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup:         setUp,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"cmptimeless": compareTimeless,
			"fits80":      fits80,
		},
	})
}

// TestExamplesOfHelp runs the examples that --help of every command shows, beside the files of docs/examples.
// Learners play few episodes, since what they learn does not matter here.
func TestExamplesOfHelp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs every example")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no Python for the simulator of an example")
	}
	var scripts []string
	for _, cmd := range newRoot(streams{problem: new(problem.ReadOptions)}).Commands() {
		if cmd.Example == "" || cmd.Name() == "explore" { // which serves until it is stopped
			continue
		}
		script := "exec sh -c 'cp -r $EXAMPLES/. .'\nenv HOME=$WORK\n"
		for line := range strings.Lines(cmd.Example) {
			if strings.Contains(line, "--submit") {
				continue // needs a cluster
			}
			script += "exec sh -c '" + withFewEpisodes(strings.TrimSpace(line)) + "'\n"
		}
		name := filepath.Join(t.TempDir(), cmd.Name()+".txtar")
		if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, name)
	}
	testscript.Run(t, testscript.Params{Files: scripts, Setup: setUp})
}

// withFewEpisodes returns the command of an example with fewer episodes if it learns anew. Of an option that is
// given twice the last one counts.
func withFewEpisodes(line string) string {
	command, output, into := strings.Cut(line, " > ")
	switch {
	case strings.Contains(line, "--resume") || strings.Contains(line, "--suite"):
		return line
	case strings.Contains(line, "--steps"):
		command += " --steps 40"
	case strings.Contains(line, "--sample"):
		command += " --sample 40"
	case strings.HasPrefix(line, "cmdpsolve compare "):
		command += " --episodes 40 --seeds 2"
	case strings.HasPrefix(line, "cmdpsolve learn "):
		command += " --episodes 40"
	}
	if into {
		command += " > " + output
	}
	return command
}

var (
	seconds  = regexp.MustCompile(`(?m)[0-9.e+-]+ s$`)
	jsonTime = regexp.MustCompile(`"seconds": [0-9.e+-]+|"command": \[[^]]*\]`)
)

// compareTimeless compares like cmp, after taking running times and the command of JSON out of both.
func compareTimeless(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cmptimeless file1 file2")
	}
	clean := func(name string) string {
		text := jsonTime.ReplaceAllString(seconds.ReplaceAllString(ts.ReadFile(name), "T s"), `"seconds": 0`)
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.TrimRight(line, " \n"))
		}
		return strings.Join(lines, "\n")
	}
	if got, want := clean(args[0]), clean(args[1]); got != want {
		ts.Fatalf("%s and %s differ; %s is now:\n%s", args[0], args[1], args[0], got)
	}
}

// fits80 checks that no line of the files is longer than 80 characters.
func fits80(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		for line := range strings.Lines(ts.ReadFile(name)) {
			if line = strings.TrimRight(line, " \n"); len([]rune(line)) > 80 {
				ts.Fatalf("%s: a line of %d characters: %s", name, len([]rune(line)), line)
			}
		}
	}
}
