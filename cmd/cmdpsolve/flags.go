package main

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/instance"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A wholeNumber is the value of a flag that counts something. It is read as Go reads integers,
// and in the notation of floats where these are whole, such as 1e6.
type wholeNumber int

func (n *wholeNumber) Type() string   { return "int" }
func (n *wholeNumber) String() string { return strconv.Itoa(int(*n)) }

func (n *wholeNumber) Set(text string) error {
	v, err := strconv.ParseInt(text, 0, strconv.IntSize)
	if err != nil {
		x, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil {
			return err
		}
		// Above 2⁵³ a float does not say which integer is meant.
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return errors.New("not a whole number")
		}
		v = int64(x)
	}
	*n = wholeNumber(v)
	return nil
}

// An option is one of the command line, and whether it was given.
type option struct {
	name  string
	given bool
}

// firstGiven names the first option that was given, "" if none was.
func firstGiven(options ...option) string {
	for _, o := range options {
		if o.given {
			return o.name
		}
	}
	return ""
}

// addEpisodes declares --episodes. Its default is the present value of to.
func addEpisodes(flags *pflag.FlagSet, to *int, what string) {
	flags.Var((*wholeNumber)(to), "episodes", what)
}

// complete tells the shell what may stand in the place of PROBLEM and as the value of flags
// that take one of a few words. Everywhere else shells offer files.
func complete(cmd *cobra.Command) {
	if strings.Contains(cmd.Use, "PROBLEM") || cmd.Name() == "instances" || cmd.Name() == "convert" {
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return instance.Names(), cobra.ShellCompDirectiveDefault
		}
	}
	if cmd.Name() == "algorithms" {
		cmd.ValidArgsFunction = cobra.FixedCompletions(baseline.Names(), cobra.ShellCompDirectiveNoFileComp)
	}
	words := map[string][]string{
		"format":     strings.Split(report.FormatNames(), ", "),
		"algorithms": baseline.Names(),
		"learner":    learnerNames,
		"planner":    cmdp.Planners.Names(),
		"dual":       cmdp.Duals.Names(),
		"submit":     {"slurm", "kubernetes"},
		"returns":    {"known", "unknown"},
	}
	for name, known := range words {
		// The error says that this command has no such flag.
		_ = cmd.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string,
			typed string) ([]string, cobra.ShellCompDirective) {
			before := ""
			if i := strings.LastIndexByte(typed, ','); name == "algorithms" && i >= 0 {
				before = typed[:i+1]
			}
			offers := slices.Clone(known)
			for i := range offers {
				offers[i] = before + offers[i]
			}
			return offers, cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// completeReturns offers the returns of the problem to the options whose values begin with one.
func (s streams) completeReturns(cmd *cobra.Command) {
	for name, ending := range map[string]string{"maximize": "", "minimize": "", "at-most": "=", "at-least": "=",
		"sweep": "=", "over": ","} {
		_ = cmd.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, args []string,
			typed string) ([]string, cobra.ShellCompDirective) {
			before := typed[:strings.LastIndexByte(typed, ',')+1]
			if rest := typed[len(before):]; name == "over" && rest != "" && strings.ContainsRune("+-", rune(rest[0])) {
				before += rest[:1]
			}
			offers, directive := s.returnsOf(args), cobra.ShellCompDirectiveNoFileComp
			for i := range offers {
				offers[i] = before + offers[i] + strings.TrimSuffix(ending, ",")
			}
			if ending != "" {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			return offers, directive
		})
	}
}

// mostCompleted bounds the bytes of a problem file that is read while somebody types.
const mostCompleted = 4 << 20

// returnsOf returns the names of the returns of the problem among the arguments, none if it cannot be read at once.
func (s streams) returnsOf(args []string) []string {
	if len(args) != 1 || args[0] == "-" {
		return nil
	}
	if file, err := os.Stat(args[0]); err == nil && file.Size() > mostCompleted {
		return nil
	}
	p, err := (&memoryOptions{each: true}).load(context.Background(), s, args[0])
	if err != nil {
		return nil
	}
	return slices.Clone(p.Returns)
}
