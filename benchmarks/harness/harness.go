// Package harness is what the commands that measure have in common: how they start
// and say what reproduces them, the description of the machine, and slopes on log–log
// axes with their intervals.
package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Main runs a command with the arguments of the process, until it ends or is
// interrupted; an error goes to standard error, and the exit status is then 1.
func Main(run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Command returns the command line that sets what was set in flags, but for the names
// in without, which have no influence on what is measured.
func Command(flags *pflag.FlagSet, without ...string) string {
	line := "go run ./benchmarks/" + flags.Name()
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(without, f.Name) {
			line += fmt.Sprintf(" --%s %s", f.Name, strings.Trim(f.Value.String(), "[]"))
		}
	})
	return line
}

// Again runs this program once more, in a process of its own, and decodes what it prints, which is JSON, into out. Peak
// memory is then that of one measurement, and one that takes too long ends with ctx. The error of a process that fails
// has the last line that it said. Numeric libraries use one thread.
func Again(ctx context.Context, out any, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	cmd.Stderr = io.MultiWriter(os.Stderr, &said)
	printed, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	return json.Unmarshal(printed, out)
}

// Machine describes the computer in words.
func Machine() string {
	text := fmt.Sprintf("%d cores", runtime.NumCPU())
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range bytes.Lines(info) {
			if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "model name" {
				text = strings.TrimSpace(value) + ", " + text
				break
			}
		}
	}
	return fmt.Sprintf("%s, %s/%s, %s", text, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
