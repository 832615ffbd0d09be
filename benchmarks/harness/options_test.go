package harness

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestOptions wants the flags read, the command that reproduces the records without
// those that change nothing, and an error for what cannot be run.
func TestOptions(t *testing.T) {
	parse := func(args ...string) (Options, error) {
		var o Options
		err := o.Parse(pflag.NewFlagSet("games", pflag.ContinueOnError), args, 7)
		return o, err
	}
	o, err := parse("--shorter", "3", "--trial", "--from", "a.csv")
	if err != nil || o.Seeds != 7 || o.Shorter != 3 || !o.Trial || o.From != "a.csv" || o.Command != "go run ./benchmarks/games --shorter 3" {
		t.Errorf("%+v, %v", o, err)
	}
	for args, want := range map[string]string{"--seeds 1": "at least 2", "--shorter 0": "at least 1", "more": `unexpected argument "more"`} {
		if _, err := parse(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
