package main

import (
	"cmp"
	"context"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/query"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// simulateCommand is one call of simulate.
type simulateCommand struct {
	streams
	memoryOptions
	simulator    simulatorOptions
	format       *report.Format
	policy       string
	episodes     int
	steps        int
	seed         uint64
	distribution bool
	plot         string
	fleet        fleetOptions
	flags        *pflag.FlagSet
}

func newSimulate(s streams) *cobra.Command {
	c := &simulateCommand{streams: s}
	cmd := &cobra.Command{
		Use:   "simulate PROBLEM --policy FILE",
		Short: "Play a policy in the model, to see that its promise holds",
		Long: `Plays the policy of FILE, as plan --policy writes it, in the model of PROBLEM
and reports the mean returns with 95% confidence intervals, beside the exact
expected returns of the policy.

With a horizon an episode has that many steps. With a discount it is cut after
so many steps that the rest is at most a millionth of the possible returns; the
report says how much that is. A total until absorption is played to its end.
A long-run mean is that of --steps steps; the report bounds how much more steps
would change it. A policy that draws one of several components, as plan writes
it for long-run means, draws it anew for every episode.

A fleet is played as a whole: how often and by how much is each limit exceeded
that the plan keeps in expectation? Without --policy the plan is made first.
--safety, --replan, --dispatch and --whittle play it in other ways too, on the
same seeds; see cmdpsolve help fleets. --policy FILE.csv reads FILE-TYPE.csv for
each type, as plan --policy FILE.csv writes them.

With --env-command a program is played in the place of a model, see cmdpsolve
help simulators; nothing exact is known then.

The file is checked: states, actions and steps must be known, probabilities of
a state sum to 1, and every state that the policy reaches must have a row.

On Ctrl-C simulate stops and exits with status 1.`,
		Example: `  cmdpsolve plan inventory --policy policy.csv
  cmdpsolve simulate inventory --policy policy.csv --episodes 100000
  cmdpsolve simulate two-rooms.yaml --policy always-work.csv --distribution
  cmdpsolve simulate machines --safety 0.95 --replan 1 --dispatch --whittle`,
		Args: oneProblem,
		RunE: onProblem(c.run),
	}
	c.fleets = true
	f := cmd.Flags()
	f.StringVar(&c.policy, "policy", "",
		"the policy, a `FILE` of rows step, state, action, probability: CSV or JSON by its ending")
	c.episodes = 10000
	addEpisodes(f, &c.episodes, "episodes to play (of a fleet: 1000 by default, 100 with --replan)")
	f.IntVar(&c.steps, "steps", 0, "steps of an episode, for long-run means (default: 1000)")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the run; the same seed gives the same numbers")
	f.BoolVar(&c.distribution, "distribution", false,
		"also how returns vary from episode to episode: quantiles, means of the worst, histogram; exact with a "+
			"horizon where totals can be counted, else sampled")
	f.StringVar(&c.plot, "plot", "",
		"with --distribution, draw the histograms to `FILE`, as SVG, PNG or PDF by its ending; without, how often "+
			"and by how much a fleet exceeds its limits at each step")
	c.addInterval(f)
	c.memoryOptions.addFlags(f)
	c.simulator.addFlags(f)
	c.fleet.addFlags(f)
	f.Bool("quiet", false, "no progress")
	c.flags = f
	c.format = addFormat(f)
	return cmd
}

func (c *simulateCommand) run(ctx context.Context, name string) error {
	if err := cmp.Or(wantUnless(c.episodes >= 1, "--episodes", c.episodes, "at least 1"),
		wantUnless(c.steps >= 0, "--steps", c.steps, "at least 1"), c.fleet.check(), drawable(c.plot)); err != nil {
		return err
	}
	p, err := c.simulator.load(ctx, name, c.streams, false, func(ctx context.Context, name string) (*loaded, error) {
		return c.memoryOptions.load(ctx, c.streams, name)
	})
	defer c.simulator.close()
	if err != nil {
		return err
	}
	if p.isFleet() {
		return c.simulateFleet(ctx, p)
	}
	if err := c.fleet.onlyFleet(p); err != nil {
		return err
	}
	if c.plot != "" && !c.distribution {
		return usage("--plot %s: histograms are drawn with --distribution; give it too", c.plot)
	}
	if c.policy == "" {
		return usage("simulate needs a policy: give --policy FILE, a file such as plan --policy writes")
	}
	if err := p.onePlayer(); err != nil {
		return err
	}
	switch {
	case c.steps > 0 && (p.Model == nil || !p.Model.Means()):
		return usage("--steps %d: %s has no long-run mean, and an episode ends by itself", c.steps, p.title())
	case c.steps == 0:
		c.steps = 1000
	}
	q, policies, err := p.ReadPolicy(ctx, c.policy)
	// it may be a policy of the stored product, which tells more apart
	if err != nil && p.Model != nil && (p.Model.Tally() != nil || p.Model.Epochs() != nil) {
		c.stored = true
		if stored, failed := c.memoryOptions.load(ctx, c.streams, name); failed == nil {
			if r, read, failed := stored.ReadPolicy(ctx, c.policy); failed == nil {
				p, q, policies, err = stored, r, read, nil
			}
		}
	}
	if err != nil {
		return badFile("--policy", err)
	}
	p = p.as(q)
	rep, err := c.play(ctx, p, policies)
	if err != nil {
		return err
	}
	c.simulator.close()
	if err := c.write(rep.report(p), *c.format); err != nil {
		return err
	}
	if c.plot != "" {
		return distributionFigure(p.title(), rep.Distribution).Save(c.plot)
	}
	return nil
}

func (c *simulateCommand) play(ctx context.Context, p *loaded, policies []query.Drawn) (*simulateReport, error) {
	begin := time.Now()
	sim := query.NewSimulation(p.Query, policies, c.seed, c.steps)
	sim.Keep = c.distribution
	expected, stopping, err := sim.Expected(ctx)
	if err != nil {
		return nil, stopped(err)
	}
	if p.hello != nil {
		program, err := c.simulator.source.Simulator(p.hello, p.steps())
		if err != nil {
			return nil, failed(err)
		}
		defer program.Close()
		sim.Environment, sim.Steps = program, p.steps()
	} else if err := checkEnds(p.Returns, expected); err != nil {
		return nil, usage("--policy %s: %w", c.policy, err)
	}
	if err := sim.PlayAll(ctx, c.episodes); err != nil {
		return nil, stopped(err)
	}
	rep := newSimulateReport(p, sim, expected, stopping)
	if p.Uncertain() {
		b, err := evaluatePolicies(ctx, p, policies)
		if err != nil {
			return nil, err
		}
		rep.over(p, b.Bounds)
	}
	if p.Model != nil && p.Model.Means() {
		found, err := p.Branches(ctx, sim.Mixture)
		if err != nil {
			return nil, stopped(err)
		}
		rep.Branches = newBranchReports(p, found)
	}
	if c.distribution {
		rep.Distribution, err = distributionsOf(ctx, sim, p.Returns, c.episodes)
		if err != nil {
			return nil, stopped(err)
		}
	}
	rep.Simulator = c.simulator.command
	rep.Policy = c.policy
	rep.Seed = c.seed
	rep.Seconds = report.Number(time.Since(begin).Seconds())
	return rep, nil
}
