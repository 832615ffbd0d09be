package harness

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"
)

// Options are the flags of a command that plays every experiment with several seeds.
type Options struct {
	Seeds   int    // runs of each, with seeds 1, 2, …
	Shorter int    // divides the number of episodes
	Out     string // folder for the results
	From    string // file with the records of an earlier run, or empty
	Trial   bool   // print, write nothing
	Command string // what reproduces the records
}

// Parse reads args into o and what flags has already; seeds is the default.
func (o *Options) Parse(flags *pflag.FlagSet, args []string, seeds int) error {
	flags.SortFlags = false
	flags.IntVar(&o.Seeds, "seeds", seeds, "runs of each, with seeds 1, 2, …")
	flags.IntVar(&o.Shorter, "shorter", 1, "divide the number of episodes of every run by this")
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
