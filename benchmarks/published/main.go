// Command published repeats experiments of the papers whose algorithms package
// cmdp/baseline has: the same problems, the constants that were used there, as many
// episodes. Of each it says what was found there, what is found here, and whether the
// two agree.
//
//	go run ./benchmarks/published
//
// writes published.md, published.csv and a picture for each experiment to
// benchmarks/results. With --from it makes table and pictures anew from the records
// of an earlier run.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cmdpsolve/benchmarks/harness"

	"github.com/spf13/pflag"
)

// options are the flags.
type options struct {
	studies []string
	seeds   int
	shorter int
	out     string
	from    string
	trial   bool
	command string // what reproduces the records
}

func main() { harness.Main(run) }

func parse(args []string) (*options, error) {
	var o options
	f := pflag.NewFlagSet("published", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringSliceVar(&o.studies, "study", studyNames(), "experiments to repeat")
	f.IntVar(&o.seeds, "seeds", 20, "runs of each learner, with seeds 1, 2, …")
	f.IntVar(&o.shorter, "shorter", 1, "divide the number of episodes of every run by this")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for the results")
	f.StringVar(&o.from, "from", "", "play nothing: take the records from this `FILE`")
	f.BoolVar(&o.trial, "trial", false, "only print the tables, write nothing")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.command = harness.Command(f, "from", "trial", "out")
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("published: unexpected argument %q", f.Arg(0))
	case o.seeds < 2:
		return nil, fmt.Errorf("published: --seeds %d: want at least 2", o.seeds)
	case o.shorter < 1:
		return nil, fmt.Errorf("published: --shorter %d: want at least 1", o.shorter)
	}
	for i, name := range o.studies {
		if _, err := findStudy(name); err != nil {
			return nil, err
		}
		if slices.Contains(o.studies[:i], name) {
			return nil, fmt.Errorf("published: --study: %s is named twice", name)
		}
	}
	if less := f.Changed("study") || f.Changed("seeds") || f.Changed("shorter"); less && !o.trial && !f.Changed("out") {
		return nil, fmt.Errorf("published: less than everything would replace the results of all: want --trial, or another folder with --out")
	}
	return &o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	var stored []record
	if o.from != "" {
		if stored, err = readRecords(o.from); err != nil {
			return err
		}
	}
	rep := &report{options: o}
	for _, name := range o.studies {
		s, err := findStudy(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "published: %s (%d of %d)\n", name, len(rep.results)+1, len(o.studies))
		res, err := s.measure(ctx, o, stored)
		if err != nil {
			return fmt.Errorf("published: %s: %w", name, err)
		}
		rep.results = append(rep.results, res)
		if o.trial {
			fmt.Println(res.markdown())
		}
	}
	if o.trial {
		return nil
	}
	return rep.write()
}
