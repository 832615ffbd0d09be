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
	studies []*study
	seeds   int    // runs of each learner, with seeds 1, 2, …
	shorter int    // divides the number of episodes
	out     string // folder for the results
	from    string // file with the records of an earlier run, or empty
	trial   bool   // print, write nothing
	command string // what reproduces the records
}

func main() { harness.Main(run) }

func parse(args []string) (*options, error) {
	var o options
	var known []string
	for _, s := range studies {
		known = append(known, s.name)
	}
	f := pflag.NewFlagSet("published", pflag.ContinueOnError)
	f.SortFlags = false
	names := f.StringSlice("study", known, "experiments to repeat")
	f.IntVar(&o.seeds, "seeds", 20, "runs of each, with seeds 1, 2, …")
	f.IntVar(&o.shorter, "shorter", 1, "divide the number of episodes of every run by this")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for the results")
	f.StringVar(&o.from, "from", "", "play nothing: take the records from this `FILE`")
	f.BoolVar(&o.trial, "trial", false, "only print the tables, write nothing")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.command = harness.Command(f, "from", "trial", "out")
	for i, name := range *names {
		at := slices.Index(known, name)
		switch {
		case at < 0:
			return nil, fmt.Errorf("--study: unknown study %q: want some of %v", name, known)
		case slices.Contains((*names)[:i], name):
			return nil, fmt.Errorf("--study: %s is named twice", name)
		}
		o.studies = append(o.studies, studies[at])
	}
	less := f.Changed("study") || f.Changed("seeds") || f.Changed("shorter")
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("published: unexpected argument %q", f.Arg(0))
	case o.seeds < 2:
		return nil, fmt.Errorf("published: --seeds %d: want at least 2", o.seeds)
	case o.shorter < 1:
		return nil, fmt.Errorf("published: --shorter %d: want at least 1", o.shorter)
	case less && !o.trial && !f.Changed("out"):
		return nil, fmt.Errorf("published: less than everything would replace the results of all: want --trial, or " +
			"another folder with --out")
	}
	return &o, nil
}

// run repeats the studies one after the other. It writes a page with a picture of each, and the records unless they
// were read; of a trial it prints the sections and writes nothing.
func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	results, records, err := o.repeat(ctx)
	if err != nil {
		return fmt.Errorf("published: %w", err)
	}
	text := ""
	for _, res := range results {
		text += res.markdown()
	}
	if o.trial {
		fmt.Println(text)
		return nil
	}
	path := filepath.Join(o.out, "published")
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return err
	}
	if o.from == "" {
		if err := writeRecords(path+".csv", records); err != nil {
			return err
		}
	}
	for _, res := range results {
		if err := res.figure().Save(path + "-" + res.name + ".svg"); err != nil {
			return err
		}
	}
	return harness.WritePage(o.out, "published.md", head(o, results)+text)
}

// repeat plays the runs of all studies, or takes their records from those of --from.
func (o *options) repeat(ctx context.Context) (results []*result, records []record, err error) {
	if o.from != "" {
		records, err = readRecords(o.from)
		if err != nil {
			return nil, nil, err
		}
	}
	for i, s := range o.studies {
		res := &result{study: s, seeds: o.seeds, episodes: s.points(max(10, s.episodes/o.shorter))}
		fmt.Fprintf(os.Stderr, "published: %s (%d of %d)\n", s.name, i+1, len(o.studies))
		if o.from == "" {
			played, err := res.play(ctx)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", s.name, err)
			}
			records = append(records, played...)
		}
		if err := res.take(records); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
		results = append(results, res)
	}
	return results, records, nil
}
