package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/contest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// compareCommand is one call of compare.
type compareCommand struct {
	streams
	playOptions
	settings contest.Settings
	format   *report.Format
	suite    suiteOptions
	plot     string
	wide     bool
	noTimes  bool
}

func newCompare(s streams) *cobra.Command {
	c := &compareCommand{streams: s, settings: contest.Defaults()}
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
a result file of its own, and runs can be split over machines; see cmdpsolve
help comparing.`,
		Example: `  cmdpsolve compare inventory --algorithms moma,optcmdp,optdual --slater auto
  cmdpsolve compare riverswim --episodes 500 --seeds 3 --save river.checkpoint
  cmdpsolve compare media --format latex > table.tex
  cmdpsolve compare --suite suite.yaml --shard 3/16
  cmdpsolve compare --suite suite.yaml --submit slurm --shards 16`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.noTimes {
				c.command = nil // it may differ from call to call
			}
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
	c.addSettings(f)
	c.playOptions.addFlags(f)
	f.StringVar(&c.plot, "plot", "", "also draw regret and violation to `FILE` (.svg, .png or .pdf)")
	f.BoolVar(&c.wide, "wide", false, "more columns, however wide the table")
	f.BoolVar(&c.noTimes, "no-times", false,
		"leave running times and the command out: everything else is the same at every call")
	c.suite.addFlags(f)
	c.format = addFormat(f)
}

func (c *compareCommand) declare() comparison { return comparison{wide: c.wide, times: !c.noTimes} }

// checkOwn returns an error for options that no problem can make right.
func (c *compareCommand) checkOwn() error {
	return cmp.Or(drawable(c.plot), c.playOptions.check())
}

func (c *compareCommand) run(ctx context.Context, name string) error {
	if err := cmp.Or(c.suite.unused(c.flags), c.checkOwn()); err != nil {
		return err
	}
	p, err := c.open(ctx, name)
	if err != nil {
		return err
	}
	if err := c.length(&c.settings, p); err != nil {
		return err
	}
	c.nominally(p, "learners play")
	from, err := c.read(ctx, &c.settings, true)
	defer c.lock.Unlock()
	if err != nil {
		return err
	}
	if from == nil && !c.flags.Changed("algorithms") {
		c.settings.Algorithms = []string{contest.Fitting}
	}
	if o := c.settings.Opponent; o != "" && !p.isGame() { // in a suite it is for the games
		return usage("opponent %s: %s has one player", o, p.name)
	}
	e, err := c.newEvent(ctx, p, c.settings)
	if err != nil {
		return err
	}
	keeper, err := c.keeper(e.Contest, from)
	if err != nil {
		return err
	}
	runErr := c.play(ctx, c.status, e.Trials(), keeper, aboutTrial)
	rep := e.report(!c.noTimes)
	if err := c.write(c.declare().one(rep), *c.format); err != nil {
		return err
	}
	if c.plot != "" && rep.played() > 0 {
		if err := plotResult(rep, c.plot); runErr == nil {
			runErr = err
		}
	}
	if runErr != nil {
		c.sayResume(c.streams, runErr)
		return failed(runErr)
	}
	return c.conclusion(p.name, e.Contest)
}

// An event is a contest with the words of its problem.
type event struct {
	*contest.Contest
	p *loaded
}

func (c *compareCommand) newEvent(ctx context.Context, p *loaded, s contest.Settings) (*event, error) {
	c.files.told(s)
	if err := c.files.check(); err != nil {
		return nil, err
	}
	e, err := newContest(ctx, p, s, contest.PrepareOptions{})
	if err != nil {
		return nil, err
	}
	if text := unanswered(&e.Answer); text != "" {
		c.say("%s: %s", e.Title, text)
	}
	return &event{e, p}, nil
}

func aboutTrial(r *contest.Run) string { return fmt.Sprintf("%.20s %s", r.Title, r.Entrant.Name) }

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
func (c *compareCommand) conclusion(name string, e *contest.Contest) error {
	if e.Unfit > 0 {
		c.say("%s left out, which cannot play this problem or need to be told something: --algorithms all lists why",
			map[bool]string{true: "1 learner is", false: strconv.Itoa(e.Unfit) + " learners are"}[e.Unfit == 1])
	}
	refusals := e.Refusals()
	if len(refusals) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s: %d of %s did not run: %s", name, len(refusals), count(len(e.Entrants), "algorithm"),
		strings.Join(refusals, "; "))
	if len(refusals) == len(e.Entrants) {
		return usage("%s", text)
	}
	c.say("%s", text)
	return nil
}

func (c *compareCommand) addSettings(f *pflag.FlagSet) {
	addSettings(f, &c.settings, "log", "expected")
	f.Lookup("algorithms").DefValue = "" // the text says it
}
