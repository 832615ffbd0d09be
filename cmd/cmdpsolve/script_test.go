package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cmdpsolve": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
	}, "playmodel": playModel})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			examples, err := filepath.Abs("../../docs/examples")
			env.Setenv("EXAMPLES", examples)
			// Under the race detector every command would wait for a second before it ends.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"cmptimeless": compareTimeless,
			"fits80":      fits80,
		},
	})
}

var (
	seconds  = regexp.MustCompile(`(?m)[0-9.e+-]+ s$`)
	jsonTime = regexp.MustCompile(`"seconds": [0-9.e+-]+`)
)

// compareTimeless compares like cmp, after taking running times out of both.
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
