// Command games measures how MOMA approaches targets in games: it plays Blackwell's
// matrix games, a small soccer and random games against every opponent with several
// seeds, and fits the slope, on log–log axes over the last two decades of
// episodes, with which the distance of the mean return from the target falls
// towards the gap δ that an opponent can enforce.
//
//	go run ./benchmarks/games
//
// writes games.md, games.csv and a picture for each game to benchmarks/results. With
// --from it makes table and pictures anew from the records of an earlier run.
package main

import (
	"context"
	"fmt"

	"cmdpsolve/benchmarks/harness"

	"github.com/spf13/pflag"
)

// options are the flags.
type options struct {
	suites    []string
	opponents []string
	harness.Options
}

func main() { harness.Main(run) }

func parse(args []string) (*options, error) {
	var o options
	f := pflag.NewFlagSet("games", pflag.ContinueOnError)
	f.StringSliceVar(&o.suites, "suite", suiteNames(), "games to play")
	f.StringSliceVar(&o.opponents, "opponent", opponentNames(), "who plays against the agent")
	if err := o.Parse(f, args, 10); err != nil {
		return nil, err
	}
	for _, name := range o.suites {
		if _, err := findSuite(name); err != nil {
			return nil, err
		}
	}
	for _, name := range o.opponents {
		if _, err := findOpponent(name); err != nil {
			return nil, err
		}
	}
	return &o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	var stored []record
	if o.From != "" {
		if stored, err = readRecords(o.From); err != nil {
			return err
		}
	}
	rep := &report{options: o}
	for _, name := range o.suites {
		s, err := findSuite(name)
		if err != nil {
			return err
		}
		res, err := s.measure(ctx, o, stored)
		if err != nil {
			return fmt.Errorf("games: %s: %w", name, err)
		}
		rep.results = append(rep.results, res)
		if o.Trial {
			fmt.Println(res.markdown())
		}
	}
	if o.Trial {
		return nil
	}
	return rep.write()
}
