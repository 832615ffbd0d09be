package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/chart"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// compareCommand is one call of compare.
type compareCommand struct {
	streams
	compareSettings
	flags    *pflag.FlagSet
	format   *report.Format
	suite    suiteOptions
	save     string
	resume   string
	plot     string
	every    time.Duration
	parallel int
	wide     bool
	noTimes  bool
	quiet    bool
}

func newCompare(s streams) *cobra.Command {
	c := &compareCommand{streams: s, compareSettings: defaultSettings()}
	cmd := &cobra.Command{
		Use:   "compare PROBLEM | compare --suite FILE",
		Short: "Compare learners on the same problem, with several seeds",
		Long: `Lets several learners play the same problem with the same seeds, the same
counts and the same scale of bonuses, and reports regret and violation of the
mean return of all episodes, and what else a run is judged by, as means with 95%
intervals.

A learner that cannot handle the problem, or was not told what it needs, says so
in its row; the others are run. The same seed gives the same table whatever
--parallel is. On Ctrl-C the runs that are finished are reported; with --save
they are kept, and --resume goes on.

With --suite the problems, learners and settings come from a file, each run has
a result file of its own, and runs can be split over machines; see
docs/comparing.md.`,
		Example: `  cmdpsolve compare inventory --algorithms moma,optcmdp,optdual --slater auto
  cmdpsolve compare riverswim --algorithms all --seeds 20 --save r.checkpoint
  cmdpsolve compare media --format latex > table.tex
  cmdpsolve compare --suite suite.yaml --shard 3/16`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.suite.file != "" {
				if len(args) > 0 {
					return usage("compare takes a PROBLEM or --suite, not both")
				}
				return c.runSuite(cmd.Context())
			}
			if err := oneProblem(cmd, args); err != nil {
				return err
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	c.addOwnFlags(cmd.Flags())
	return cmd
}

func (c *compareCommand) addOwnFlags(f *pflag.FlagSet) {
	c.flags = f
	f.SortFlags = false
	c.addFlags(f)
	f.StringVar(&c.save, "save", "", "keep a checkpoint of the runs in `FILE`")
	f.StringVar(&c.resume, "resume", "", "go on from the checkpoint `FILE`, and keep saving to it")
	f.DurationVar(&c.every, "save-every", 30*time.Second, "time between checkpoints of unfinished runs")
	f.StringVar(&c.plot, "plot", "", "also draw regret and violation to `FILE` (.svg, .png or .pdf)")
	f.IntVar(&c.parallel, "parallel", 0, "runs at the same time (default: one for each processor); results do not depend on it")
	f.BoolVar(&c.wide, "wide", false, "more columns, however wide the table")
	f.BoolVar(&c.noTimes, "no-times", false, "leave running times out: everything else is the same at every call")
	f.BoolVar(&c.quiet, "quiet", false, "no progress")
	c.suite.addFlags(f)
	c.format = addFormat(f)
}

func (c *compareCommand) declare() comparison { return comparison{wide: c.wide, times: !c.noTimes} }

// checkOwn returns an error for options that no problem can make right.
func (c *compareCommand) checkOwn() error {
	if c.plot != "" {
		if _, err := chart.FormatOf(c.plot); err != nil {
			return usage("--plot: %w", err)
		}
	}
	if err := writable("--plot", c.plot); err != nil {
		return err
	}
	if err := writable("--save", c.save); err != nil {
		return err
	}
	switch {
	case c.parallel < 0:
		return usage("--parallel %d: want at least 1, or 0 for one for each processor", c.parallel)
	case c.every <= 0:
		return usage("--save-every %v: want a positive time", c.every)
	}
	return nil
}

// run compares on one problem.
func (c *compareCommand) run(ctx context.Context, name string) error {
	if err := c.suite.unused(); err != nil {
		return err
	}
	if err := c.checkOwn(); err != nil {
		return err
	}
	p, err := load(name)
	if err != nil {
		return err
	}
	var from *cmdp.Checkpoint
	if c.resume != "" {
		if from, err = readCompareCheckpoint(c.resume, &c.compareSettings, c.flags); err != nil {
			return err
		}
		if c.save == "" {
			c.save = c.resume
		}
	} else if c.save != "" {
		if err := mustBeNew(c.save); err != nil {
			return err
		}
	}
	if c.Opponent != "" && !p.isGame() { // in a suite it is for the games
		return usage("opponent %s: %s has one player", c.Opponent, p.name)
	}
	contest, err := newContest(ctx, c.streams, p, c.compareSettings)
	if err != nil {
		return err
	}
	file, err := newCompareFile(c.save, contest)
	if err != nil {
		return failed(err)
	}
	if from != nil {
		if err := file.adoptRuns(from, c.resume); err != nil {
			return err
		}
	}
	trials := contest.trials()
	workers := pool{parallel: c.parallel, every: c.every, keeper: file, bar: newTrialProgress(c.err, c.quiet, trials)}
	runErr := workers.play(ctx, trials)
	return c.conclude(contest, runErr)
}

// conclude writes what is known, and says what did not go well.
func (c *compareCommand) conclude(contest *contest, runErr error) error {
	rep := contest.report(!c.noTimes)
	if err := c.write(c.declare().one(rep), *c.format); err != nil {
		return err
	}
	if c.plot != "" && rep.played() > 0 {
		f, err := rep.figure()
		if err == nil {
			err = f.Save(c.plot)
		}
		if err != nil && runErr == nil {
			runErr = err
		}
	}
	if runErr != nil {
		return failed(runErr)
	}
	return c.conclusion(contest.p.name, contest.refusals(), len(contest.entrants))
}

// played counts the runs that are done.
func (rep *compareReport) played() int {
	n := 0
	for _, r := range rep.Rows {
		n += r.runs
	}
	return n
}

// conclusion is the exit message about learners that did not play: an error only
// if none did.
func (c *compareCommand) conclusion(name string, refusals []string, entrants int) error {
	if len(refusals) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s: %d of %s did not run: %s", name, len(refusals), count(entrants, "algorithm"), strings.Join(refusals, "; "))
	if len(refusals) == entrants {
		return usage("%s", text)
	}
	c.say("%s", text)
	return nil
}
