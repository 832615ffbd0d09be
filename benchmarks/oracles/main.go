// Command oracles compares the ways in which the small questions of planning and
// learning are answered: closed forms, the embedded simplex method, and GLPK.
//
//	go run -tags glpk ./benchmarks/oracles
//
// runs the benchmarks of the packages concerned, round by round so that all of them
// meet the same machine, and writes the medians to benchmarks/results/oracles.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/oracle/lp"

	"github.com/spf13/pflag"
)

// A suite is the benchmarks of a package.
type suite struct{ folder, pattern string }

var suites = []suite{
	{"oracle/lp", "^Benchmark(Cold|Warm|Near)$"},
	{"benchmarks/oracles", "^BenchmarkSupport$"},
	{"geometry", "^BenchmarkSets$"},
	{"cost", "^Benchmark(ConjugateSubgradient|Value|Subgradient)$"},
	{"oracle/game", "^BenchmarkNash$"},
}

func main() { harness.Main(run) }

func run(ctx context.Context, args []string) error {
	f := pflag.NewFlagSet("oracles", pflag.ContinueOnError)
	f.SortFlags = false
	rounds := f.Int("rounds", 5, "how often every benchmark is run")
	benchtime := f.String("benchtime", "10ms", "time or number (100x) of operations of a run, as in go test")
	out := f.String("out", filepath.Join("benchmarks", "results", "oracles.md"), "`FILE` to write")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("oracles: unexpected argument %q", f.Arg(0))
	case *rounds < 1:
		return fmt.Errorf("oracles: --rounds %d: want at least 1", *rounds)
	}
	folder, err := os.MkdirTemp("", "oracles")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for i, s := range suites {
		if _, err := goTool(ctx, "test", "-c", "-tags", tags(), "-o", program(folder, i), "./"+s.folder); err != nil {
			return err
		}
	}
	r := results{}
	for round := range *rounds {
		for i, s := range suites {
			cmd := exec.CommandContext(ctx, program(folder, i), "-test.run=^$", "-test.bench="+s.pattern, "-test.benchtime="+*benchtime)
			cmd.Dir, cmd.Stderr = s.folder, os.Stderr
			text, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("oracles: %s: %w", s.folder, err)
			}
			r.add(s.folder, round, text)
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, *rounds)
	}
	return os.WriteFile(*out, []byte(r.markdown(*rounds, *benchtime)), 0o666)
}

// tags returns the build tags that give the benchmarks the solvers of this program.
func tags() string {
	if _, err := lp.NewGLPK(nil); errors.Is(err, lp.ErrNoGLPK) {
		return ""
	}
	return "glpk"
}

// program returns the path of the compiled tests of a suite.
func program(folder string, suite int) string {
	return filepath.Join(folder, fmt.Sprintf("suite%d.test", suite))
}

// goTool runs the go command and returns what it prints.
func goTool(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("oracles: go %v: %w", args, err)
	}
	return text, nil
}
