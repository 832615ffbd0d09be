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

	"cmdpsolve/benchmarks/harness"

	"github.com/spf13/pflag"
)

// options are the flags.
type options struct {
	studies []*study
	harness.Options
}

func main() { harness.Main(run) }

func parse(args []string) (*options, error) {
	var o options
	f := pflag.NewFlagSet("published", pflag.ContinueOnError)
	names := f.StringSlice("study", studies.Names(), "experiments to repeat")
	if err := o.Parse(f, args, 20); err != nil {
		return nil, err
	}
	var err error
	o.studies, err = studies.Choose("study", *names)
	if err != nil {
		return nil, err
	}
	if less := f.Changed("study") || f.Changed("seeds") || f.Changed("shorter"); less && !o.Trial && !f.Changed("out") {
		return nil, fmt.Errorf("published: less than everything would replace the results of all: want --trial, or " +
			"another folder with --out")
	}
	return &o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	return harness.Run(ctx, &o.Options, o.studies, o.open, func(results []*result) string { return head(o, results) })
}
