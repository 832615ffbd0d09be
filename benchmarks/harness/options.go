package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cmdpsolve/cmdp/chart"

	"github.com/spf13/pflag"
)

// Options are the flags of a command that plays every experiment with several seeds.
type Options struct {
	Name    string // of the command
	Seeds   int    // runs of each, with seeds 1, 2, …
	Shorter int    // divides the number of episodes
	Out     string // folder for the results
	From    string // file with the records of an earlier run, or empty
	Trial   bool   // print, write nothing
	Command string // what reproduces the records
}

// Parse reads args into o and what flags has already; seeds is the default. A command that
// has --episodes has no --shorter.
func (o *Options) Parse(flags *pflag.FlagSet, args []string, seeds int) error {
	flags.SortFlags = false
	o.Name, o.Shorter = flags.Name(), 1
	flags.IntVar(&o.Seeds, "seeds", seeds, "runs of each, with seeds 1, 2, …")
	if flags.Lookup("episodes") == nil {
		flags.IntVar(&o.Shorter, "shorter", 1, "divide the number of episodes of every run by this")
	}
	flags.StringVar(&o.Out, "out", filepath.Join("benchmarks", "results"), "folder for the results")
	flags.StringVar(&o.From, "from", "", "play nothing: take the records from this `FILE`")
	flags.BoolVar(&o.Trial, "trial", false, "only print the tables, write nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.Command = Command(flags, "from", "trial", "out")
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("%s: unexpected argument %q", flags.Name(), flags.Arg(0))
	case o.Seeds < 2:
		return fmt.Errorf("%s: --seeds %d: want at least 2", flags.Name(), o.Seeds)
	case o.Shorter < 1:
		return fmt.Errorf("%s: --shorter %d: want at least 1", flags.Name(), o.Shorter)
	}
	return nil
}

// A Name is what flags and files call something. A struct that embeds it has an ID.
type Name string

// ID returns the name.
func (n Name) ID() string { return string(n) }

// Choices are what can be chosen from by a flag.
type Choices[T interface{ ID() string }] []T

// Names returns the names of all.
func (l Choices[T]) Names() []string {
	names := make([]string, len(l))
	for i, x := range l {
		names[i] = x.ID()
	}
	return names
}

// Choose returns those that are named, each once.
func (l Choices[T]) Choose(flag string, names []string) ([]T, error) {
	var chosen []T
	for i, name := range names {
		at := slices.Index(l.Names(), name)
		if at < 0 {
			return nil, fmt.Errorf("--%s: unknown %s %q: want some of %v", flag, flag, name, l.Names())
		}
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("--%s: %s is named twice", flag, name)
		}
		chosen = append(chosen, l[at])
	}
	return chosen, nil
}

// A Study is an experiment and its part of a report: a page, a picture and records.
type Study[R any] interface {
	ID() string
	// Play plays all runs and returns their records.
	Play(ctx context.Context) ([]R, error)
	// Take takes the runs from records, among which there may be those of other studies.
	Take(records []R) error
	Markdown() string
	Figure() *chart.Figure
}

// Run does studies, opened from a list, one after the other. Each plays its runs, or takes their
// records from those of --from. Run writes a report, NAME.md, with a picture of each study,
// NAME-STUDY.svg, and the records unless they were read, NAME.csv. Of a trial it prints the
// sections and writes nothing.
func Run[T any, S Study[R], R any](ctx context.Context, o *Options, list []T, open func(x T) (S, error),
	head func([]S) string) error {
	var all []R
	if o.From != "" {
		var err error
		all, err = ReadRecords[R](o.From)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
	}
	var studies []S
	for i, x := range list {
		s, err := open(x)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %s (%d of %d)\n", o.Name, s.ID(), i+1, len(list))
		records := all
		if o.From == "" {
			records, err = s.Play(ctx)
			all = append(all, records...)
		}
		if err == nil {
			err = s.Take(records)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", o.Name, s.ID(), err)
		}
		if o.Trial {
			fmt.Println(s.Markdown())
		}
		studies = append(studies, s)
	}
	if o.Trial {
		return nil
	}
	path := filepath.Join(o.Out, o.Name)
	if err := os.MkdirAll(o.Out, 0o777); err != nil {
		return err
	}
	if o.From == "" {
		if err := writeRecords(path+".csv", all); err != nil {
			return err
		}
	}
	text := head(studies)
	for _, s := range studies {
		text += s.Markdown()
		if err := s.Figure().Save(path + "-" + s.ID() + ".svg"); err != nil {
			return err
		}
	}
	return WritePage(o.Out, o.Name+".md", text)
}
