package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// learnerNames are those of learn; compare has others to compare with.
var learnerNames = append([]string{"moma", "posterior", "moma-posterior", "posterior-safe"}, endlessNames...)

// endlessNames are those of learners that play endless runs alone.
var endlessNames = []string{"psconrl", "c-ucrl2", "fha"}

// learnBonus is the scale of bonuses unless told otherwise. It learns within some ten thousand episodes, where
// the constants of theory take millions; docs/instances.md has the measurements.
var learnBonus = cmdp.TheoryTimes(0.02)

// learnCommand is one call of learn, which is a contest of one learner.
type learnCommand struct {
	streams
	playOptions
	simulator simulatorOptions
	sample    sampleOptions
	settings  contest.Settings
	learner   string
	format    *report.Format
	exact     bool
	files     learnFiles
}

func newLearn(s streams) *cobra.Command {
	c := &learnCommand{streams: s, settings: contest.Defaults()}
	cmd := &cobra.Command{
		Use:   "learn PROBLEM",
		Short: "Learn an unknown model by playing it",
		Long: `Plays episodes of PROBLEM without looking at its transition probabilities, and
reports the mean return W^K of all episodes played, how far it is from the
target (violation) and from the best cost (regret). Since the problem file knows
the model, the exact optimum is computed too, for comparison; the learner never
sees it.

The learner is the multi-objective meta-algorithm (MOMA), which also has a lower
bound on the optimum, and a certificate if the target turns out to be out of
reach. --learner posterior draws a model from what has been seen, or takes the
frequencies, plans for it exactly, plays the plan for some episodes and starts
again. It mostly needs far fewer episodes; its guarantee is Bayesian, and it
does not play games.

In a game the problem file or --opponent says who plays against the agent. What
is reported then is the distance of W^K from the target beside the gap, the
distance that an opponent can enforce, between certified bounds.

--policy writes the policy that is best by what was seen, and --mixture one that
does what the run did, to which the guarantees apply; the report then has the
exact returns of both.

A problem with a discount, or with long-run means in which all states lead to
each other, is played in one run without end, of --steps steps. With a discount
the run starts anew after each step with probability 1 - discount. Regret and
violation are those of the mean of the steps so far.

--sample plans in the place of playing: every choice is asked for so many times,
the problem is planned for what was seen, and the report says how near the truth
that is. A simulator must be one that can be set to a state, and long-run means
need --span.

With --env-command a program is played in the place of a model; PROBLEM then
says only what is wanted of it (see cmdpsolve help simulators).

On Ctrl-C the run stops within an episode, reports what is known so far and
exits with status 1.`,
		Example: `  cmdpsolve learn inventory --pool --episodes 20000
  cmdpsolve learn inventory --learner posterior --pool --episodes 2000
  cmdpsolve learn inventory --pool --policy learned.csv --plot learned.svg
  cmdpsolve learn media --pool --seeds 10 --format json > result.json
  cmdpsolve learn two-rooms.yaml --episodes 1e5 --save rooms.checkpoint
  cmdpsolve learn two-rooms.yaml --resume rooms.checkpoint
  cmdpsolve learn clinic.yaml --steps 1e5
  cmdpsolve learn two-rooms.yaml --pool --sample 10000
  cmdpsolve learn river.yaml --support auto --sample 10000 --span 10
  cmdpsolve learn soccer:rows=2,cols=3,H=5 --opponent adversarial
  cmdpsolve learn line.yaml --env-command "python3 line.py" --episodes 200`,
		Args: oneProblem,
		RunE: onProblem(c.run),
	}
	c.addFlags(cmd.Flags())
	return cmd
}

func (c *learnCommand) addFlags(f *pflag.FlagSet) {
	f.StringVar(&c.learner, "learner", "moma",
		"who learns: moma, posterior, moma-posterior (MOMA with drawn models in the place of bonuses), or "+
			"posterior-safe (whose episodes are held to the limits); without a horizon posterior (the default "+
			"there), psconrl, c-ucrl2 or fha")
	c.settings.Episodes = 10000
	c.settings.Seeds = 1
	c.settings.Bonus = learnBonus
	addSettings(f, &c.settings, "algorithms", "lazy", "slater", "safe-policy", "null-policy", "changing",
		"knapsack-margin")
	c.files.addFlags(f)
	f.BoolVar(&c.exact, "exact", true, "compute the exact optimum for comparison")
	c.playOptions.addFlags(f)
	c.simulator.addFlags(f)
	c.sample.addFlags(f)
	c.format = addFormat(f)
}

func (c *learnCommand) run(ctx context.Context, name string) error {
	if c.simulator.command == "-" {
		if c.parallel > 1 {
			return usage("--parallel %d: there is one simulator at the other end; runs play it one after the other",
				c.parallel)
		}
		c.parallel = 1
	}
	c.simulator.samples = c.sample.asked(c.flags)
	p, err := c.simulator.load(ctx, name, c.streams, true, c.open)
	defer c.simulator.close()
	if err != nil {
		return err
	}
	c.nominally(p, "the learner plays")
	if err := cmp.Or(c.playOptions.check(), c.sample.check(c.flags)); err != nil {
		return err
	}
	if c.sample.asked(c.flags) {
		if err := c.settings.Check(); err != nil {
			return usage("%w", err)
		}
		if err := c.files.check(p, 1); err != nil {
			return err
		}
		return c.runSampled(ctx, p)
	}
	if err := c.length(&c.settings, p); err != nil {
		return err
	}
	if p.endless() > 0 && p.hello != nil && (c.save != "" || c.resume != "") {
		return usage("--save, --resume: a run without end cannot go on when its simulator has been ended: leave them out")
	}
	if p.endless() > 0 && !c.flags.Changed("learner") {
		c.learner = "posterior"
	}
	from, err := c.checkpoint(ctx)
	defer c.lock.Unlock()
	if err != nil {
		return err
	}
	if err := c.choose(p); err != nil {
		return err
	}
	c.streams.files.told(c.settings)
	if err := c.streams.files.check(); err != nil {
		return err
	}
	if err := c.files.check(p, c.settings.Seeds); err != nil {
		return err
	}
	s, err := interruptible(ctx, patience, func() (*session, error) { return c.newSession(ctx, p, from) })
	if err != nil {
		return err
	}
	runErr := c.play(ctx, c.status, s.trials, s.keeper, s.about)
	c.simulator.close()
	data := s.summary()
	var filesErr error
	data.Policies, filesErr = c.writePolicies(ctx, s)
	if filesErr == nil && c.files.plot != "" {
		filesErr = plotResult(data, c.files.plot)
	}
	if err := c.write(s.report(data), *c.format); err != nil {
		return err
	}
	c.sayResume(c.streams, runErr)
	return failed(errors.Join(runErr, filesErr))
}

// checkpoint reads the checkpoint to go on from.
func (c *learnCommand) checkpoint(ctx context.Context) (*cmdp.Checkpoint, error) {
	if !slices.Contains(learnerNames, c.learner) {
		hint := ""
		if slices.Contains(baseline.Names(), c.learner) {
			hint = "; compare --algorithms " + c.learner + " plays it"
		}
		return nil, usage("--learner %s: want %s%s", c.learner, strings.Join(learnerNames, ", "), hint)
	}
	given := c.settings.Episodes
	from, err := c.read(ctx, &c.settings, false)
	if err != nil || from == nil {
		return nil, err
	}
	was := strings.Join(c.settings.Algorithms, ",")
	if c.flags.Changed("learner") && c.learner != was {
		return nil, usage("--learner %s: the runs of the checkpoint %s are of %s", c.learner, c.resume, was)
	}
	c.learner = was
	episodes, err := contest.SavedEpisodes(from)
	if err == nil && given == c.settings.Episodes && episodes < given {
		what := ": bonuses take their logarithmic terms from the new number"
		switch c.learner {
		case "posterior":
			what = fmt.Sprintf(": so far the past was made good as if there were %d", episodes)
		case "moma-posterior", "posterior-safe", "psconrl": // nothing that they do depends on it
			what = ""
		}
		of := "episodes"
		if c.flags.Changed("steps") {
			of = "steps"
		}
		c.say("from %d to %d %s%s", episodes, given, of, what)
	}
	return from, err
}

// dearGame is from how many transitions of all steps on learn plays fewer episodes of a game unless told
// otherwise: it plans in each for both players.
const dearGame = 100_000

// choose refuses what makes no sense for the problem, and chooses the dual update.
func (c *learnCommand) choose(p *loaded) error {
	s, goal, target := &c.settings, p.Task.Cost != nil, p.Task.Target != nil
	s.Algorithms = []string{c.learner}
	if p.endless() > 0 && slices.Contains([]string{"moma", "moma-posterior", "posterior-safe"}, c.learner) {
		if c.resume != "" {
			return usage("checkpoint %s: its learner %s learns by episodes, and %s has none: want the problem that it is of",
				c.resume, c.learner, p.name)
		}
		fit := []string{"posterior"}
		if p.endless() == 1 {
			fit = append(fit, endlessNames...)
		}
		return usage("--learner %s: it learns by episodes, and %s has none: want %s", c.learner, p.name,
			strings.Join(fit, ", "))
	}
	if p.isGame() && p.hello == nil && c.resume == "" && !c.flags.Changed("episodes") &&
		p.Model.Transitions()*p.Model.Horizon() > dearGame {
		s.Episodes = 1000
		c.say("1000 episodes, since each takes long in a game of this size; see --episodes")
	}
	if p.hello != nil {
		if c.exact && c.flags.Changed("exact") {
			return usage("--exact: nothing exact is known of a simulator")
		}
		if s.Returns == "known" && c.flags.Changed("returns") {
			return usage("--returns known: the returns of a simulator have to be learned")
		}
		s.Returns = "unknown"
	}
	if c.learner != "moma" {
		own := []string{"planner", "dual", "rho", "bonus-scale"}
		if c.learner == "c-ucrl2" || c.learner == "fha" {
			own = own[:3]
		}
		for _, name := range own {
			if c.flags.Changed(name) {
				return usage("--%s: only the learner moma has one; %s has none", name, c.learner)
			}
		}
		return nil
	}
	switch {
	case s.Support != "none" && s.Support != "":
		return usage("--support %s: moma has no use for it; it is for --learner posterior", s.Support)
	case s.Opponent != "" && !p.isGame():
		return usage("--opponent %s: %s has one player", s.Opponent, p.name)
	case s.Dual == "double" && target && p.isGame():
		return usage("--dual double: a goal within a target cannot be pursued against an opponent who may adapt; " +
			"want projection or free, which pursue the target and report the goal")
	case s.Dual == "" && goal && (!target || !p.isGame()):
		s.Dual = "double"
	case s.Dual == "":
		s.Dual = "free"
	}
	if err := cmdp.Duals.Check("--dual", s.Dual); err != nil {
		return usage("%w", err)
	}
	if s.Rho.Rule != cmdp.PenaltyDoubling && s.Dual != "double" {
		return usage("--rho %v: only the double dual update, with a goal and a target, has a rho", s.Rho)
	}
	if s.Dual != "double" && goal {
		against := ""
		if p.isGame() && target {
			against = ", since a goal within a target cannot be pursued against an opponent"
		}
		c.say("the %s dual update pursues the target alone; the objective is only reported%s", s.Dual, against)
	}
	return nil
}

// A session is a contest of one learner with its runs.
type session struct {
	*contest.Contest
	p      *loaded
	trials []*contest.Trial
	keeper contest.Keeper
}

func (c *learnCommand) newSession(ctx context.Context, p *loaded, from *cmdp.Checkpoint) (*session, error) {
	s := &session{p: p}
	var err error
	s.Contest, err = newContest(ctx, p, c.settings,
		c.simulator.options(p, contest.PrepareOptions{Unsolved: !c.exact, SolveGaps: true, Unmeasured: true,
			Mixture: c.files.mixture != ""}))
	if err != nil {
		return nil, err
	}
	if refusals := s.Refusals(); len(refusals) > 0 {
		return nil, usage("%s: %s", p.name, refusals[0])
	}
	if text := unanswered(&s.Answer); text != "" {
		c.say("%s", text)
	}
	if best := s.Answer.Best; s.Rho.Rule == cmdp.PenaltyModel && best != nil && best.Rho == 0 {
		c.say("the target does not bind; rho is 1")
	}
	s.keeper, err = c.keeper(s.Contest, from)
	if err != nil {
		return nil, err
	}
	s.trials = s.Trials()
	for _, t := range s.trials {
		if err := t.Begin(); err != nil {
			return nil, failed(err)
		}
		if err := s.keeper.Restore(t.Run); err != nil {
			return nil, usage("checkpoint %s: %w", c.resume, err)
		}
	}
	return s, nil
}

// about says how far a run is.
func (s *session) about(r *contest.Run) string {
	if n := len(r.History); n > 0 {
		w := r.History[n-1].Average
		return fmt.Sprintf("obj %s viol %s", report.Brief(s.p.Objective(w)), report.Brief(s.Task.Violation(w)))
	}
	return ""
}
