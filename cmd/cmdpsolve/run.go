package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/internal/atomicfile"
	"cmdpsolve/internal/nearest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit statuses.
const (
	exitDone       = 0
	exitFailed     = 1 // the run failed or was interrupted
	exitUsage      = 2 // the command line or the problem file is wrong
	exitInfeasible = 3 // the complete answer is "infeasible"
)

// An exitError ends the command with a status. A nil err prints nothing more.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns the error without its status.
func (e *exitError) Unwrap() error { return e.err }

// failed is the error of a run that failed; nil stays nil.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitFailed, err}
}

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// wantUnless returns an error that says what is wanted in the place of the value of an option, nil if it is good.
func wantUnless(good bool, option string, value any, want string) error {
	if good {
		return nil
	}
	return usage("%s %v: want %s", option, value, want)
}

// checkParallel refuses what is no number of things that are done at a time.
func checkParallel(n int) error {
	return wantUnless(n >= 0, "--parallel", n, "at least 1, or 0 for one for each processor")
}

// errInterrupted is the error of a run that was asked to stop.
var errInterrupted = errors.New("interrupted")

// streams are where a command writes: results to out, everything else to err. With them goes
// what all commands have in common.
type streams struct {
	out, err io.Writer
	problem  *problem.ReadOptions // how problems are read
	files    *fileUses            // what is read and written
	command  []string             // the arguments, nil if results are not to keep them
	args     []string             // the arguments
	status   *statusLine          // says how far a command is
}

// made says with which command a result was made.
type made struct {
	Command []string `json:"command,omitempty"`
}

func (m *made) by(command []string) { m.Command = command }

// write writes a report to out. The data keeps the command.
func (s streams) write(rep *report.Report, f report.Format) error {
	s.status.clear()
	data, result := rep.Data.(interface{ by([]string) })
	if result && s.command != nil {
		data.by(append([]string{"cmdpsolve"}, s.command...))
	}
	rep.Result = result
	return failed(rep.Write(s.out, f))
}

// say writes a message of one or more lines.
func (s streams) say(format string, args ...any) {
	s.status.clear()
	for _, line := range report.Wrap(report.Clean(fmt.Sprintf(format, args...)), report.Width) {
		fmt.Fprintln(s.err, line)
	}
}

func addFormat(flags *pflag.FlagSet) *report.Format {
	f := report.Terminal
	flags.Var(&f, "format", report.FormatNames())
	return &f
}

// run executes the command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := newOutput(stdout)
	files := new(fileUses)
	files.stream("standard output", stdout, true)
	opts := &problem.ReadOptions{Opened: func(path string) { files.reads("", path) }}
	line := newStatusLine(stderr)
	if line != nil {
		ctx = progress.With(ctx, line.working)
	}
	root := newRoot(streams{out: out, err: stderr, problem: opts, files: files, command: args, args: args,
		status: line})
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	line.close()
	if errors.Is(err, context.Canceled) {
		err = failed(errInterrupted)
	}
	err = out.finish(ctx, err, asksJSON(cmd))
	if ctx.Err() != nil {
		atomicfile.DiscardAll()
	}
	if err == nil {
		return exitDone
	}
	status, said := statusOf(err)
	if said {
		fmt.Fprintf(stderr, "cmdpsolve: %s\n", report.Clean(err.Error()))
	}
	return status
}

// statusOf returns the exit status of an error, and whether it has something to say. Errors of
// the command line itself carry no status.
func statusOf(err error) (status int, said bool) {
	if _, ok := errors.AsType[*cmdp.MemoryError](err); ok {
		return exitFailed, true // another machine would do it
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.status, e.err != nil
	}
	return exitUsage, true
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "cmdpsolve",
		Short: "Plan and learn with constraints: vector-valued Markov decision processes",
		Long: `cmdpsolve plans and learns in Markov decision processes whose return is a
vector: a convex target set says what is acceptable, a convex cost what is best.

PROBLEM is a problem file (see cmdpsolve help problem-file), - for standard
input, a model of another tool (see cmdpsolve help formats), or the name of a
built-in instance (see cmdpsolve instances). The files of which examples speak
are in the folder docs/examples. Tables go to standard output, progress and
messages to standard error.

Exit status: 0 done; 1 the run failed or was interrupted; 2 the command line or
the problem file is wrong; 3 the answer is "infeasible" (plan, check, front).`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if quiet := cmd.Flags().Lookup("quiet"); quiet != nil && quiet.Value.String() == "true" {
				s.status.close()
			}
			s.files.given(cmd, args)
			if asked := s.problem.Property; asked != nil && asked.File != inlineProperty {
				s.files.reads("--property "+asked.File, asked.File)
			}
			return s.files.check()
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp(s))
	root.AddCommand(newLearn(s), newInstances(s), newAlgorithms(s))
	root.AddCommand(newPlan(s), newFront(s), newCheck(s), newSimulate(s))
	root.AddCommand(newCompare(s), newPlot(s), newConvert(s), newPython(s), newVersion(s), newExplore(s), newReport(s),
		newMan(s))
	for _, cmd := range root.Commands() {
		leavable(cmd)
		oneFileEach(cmd)
		cmd.Flags().SortFlags = cmd.Name() == "convert"
		complete(cmd)
		s.completeReturns(cmd)
		if strings.Contains(cmd.Use, "PROBLEM") || cmd.Name() == "convert" {
			cmd.Flags().BoolVar(&s.problem.Outside, "outside", false,
				"let the problem file name files outside of its folder")
			cmd.Flags().StringToStringVar(&s.problem.Constants, "const", nil,
				"constants that a model in a language leaves open")
			placeholder(cmd.Flags(), "const", "NAME=VALUE,…")
			cmd.Flags().Lookup("const").DefValue = ""
			cmd.Flags().Var(propertyFlag{s.problem}, "property",
				"what to ask about a model in a language: a property such as 'multi(…)', FILE or FILE:NAME")
			placeholder(cmd.Flags(), "property", "PROPERTY")
			cmd.Flags().StringToStringVar(&s.problem.Set, "set", nil,
				"value of a constant that the problem file has under let")
			placeholder(cmd.Flags(), "set", "NAME=VALUE")
			cmd.Flags().Lookup("set").DefValue = ""
		}
		addHelp(cmd)
	}
	return root
}

// flagError rewrites an error of the flag parser. It says what kind of value a flag
// wants, and for an unknown flag which one may be meant.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if cmd.HasSubCommands() {
			return usage("--%s is an option of a command: want cmdpsolve COMMAND before it, see cmdpsolve --help",
				unknown.GetSpecifiedName())
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		best := nearest.Find(unknown.GetSpecifiedName(), names)
		if best != "" {
			return usage("%w, did you mean --%s?", err, best)
		}
		var others []string
		for _, other := range cmd.Root().Commands() {
			if other.Flags().Lookup(unknown.GetSpecifiedName()) != nil {
				others = append(others, other.CommandPath())
			}
		}
		if others != nil {
			return usage("%w; it is an option of %s", err, strings.Join(others, ", "))
		}
		return usage("%w; see %s --help", err, cmd.CommandPath())
	}
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	if bad.GetFlag().Name == helpAll {
		return pflag.ErrHelp
	}
	switch f := bad.GetFlag(); plainType(f.Value) {
	case "int", "uint64":
		return usage("--%s %q: want a whole number", f.Name, bad.GetValue())
	case "float64":
		return usage("--%s %q: want a number", f.Name, bad.GetValue())
	case "duration":
		return usage("--%s %q: want a time such as 30s or 5m", f.Name, bad.GetValue())
	}
	return err
}

// onProblem has a command run on its PROBLEM, which oneProblem has seen to.
func onProblem(run func(ctx context.Context, name string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args[0]) }
}

// oneProblem checks that a command was given its PROBLEM and nothing else.
func oneProblem(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		got := fmt.Sprintf("%d arguments", len(args))
		switch {
		case len(args) == 0:
			got = "none"
		case cmd.Name() == "simulate" && len(args) == 2:
			got += fmt.Sprintf(": if %s is the policy, write --policy %s", args[1], args[1])
		}
		return usage("%s takes one PROBLEM, a file or the name of an instance, but got %s; see %s --help", cmd.Name(),
			got, cmd.CommandPath())
	}
	return nil
}

// A failure is what --format json prints where there is no answer.
type failure struct {
	Status  int            `json:"status"`
	Message string         `json:"message"`
	Faults  problem.Errors `json:"faults"` // what is wrong with a file
}

// writeFailure writes the error of a command as an object. An error that has nothing to say, such as
// that a problem is infeasible, has its report.
func writeFailure(w io.Writer, err error) error {
	status, said := statusOf(err)
	if !said {
		return nil
	}
	f := failure{Status: status, Message: err.Error(), Faults: problem.Errors{}}
	errors.As(err, &f.Faults)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]failure{"failed": f})
}

// asksJSON reports whether a command was given --format json.
func asksJSON(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("format")
	return f != nil && f.Value.String() == "json"
}
