package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/floats"
)

// fleetOptions say how a fleet is played.
type fleetOptions struct {
	replan   int
	dispatch bool
	whittle  bool
	safety   float64
	parallel int
}

func (o *fleetOptions) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.replan, "replan", 0, "of a fleet: plan again every so many steps, from the states in which agents are")
	f.BoolVar(&o.dispatch, "dispatch", false,
		"of a fleet: agents act in the order of what they gain at the prices of the limits, while capacities last")
	f.BoolVar(&o.whittle, "whittle", false,
		"of a fleet that is a restless bandit: agents act in the order of Whittle's index")
	addSafety(f, &o.safety)
	f.IntVar(&o.parallel, "parallel", 0,
		"of a fleet: episodes that are played at a time (default: one for each processor); results do not depend on it")
}

func addSafety(f *pflag.FlagSet, to *float64) {
	f.Float64Var(to, "safety", 0,
		"of a fleet: tighten the limits so that each of them holds with this `PROBABILITY` in an episode")
}

// checkSafety refuses what is no probability.
func checkSafety(x float64) error {
	return wantUnless(x >= 0 && x < 1, "--safety", x, "a probability above 0 and below 1")
}

// check refuses what no problem can make right.
func (o *fleetOptions) check() error {
	return cmp.Or(wantUnless(o.replan >= 0, "--replan", o.replan, "at least 1 step"), checkParallel(o.parallel),
		checkSafety(o.safety))
}

// controls names the first option that is for fleets with a horizon, "" if none is given.
func (o *fleetOptions) controls() string {
	return firstGiven(option{"--safety", o.safety > 0}, option{"--replan", o.replan > 0},
		option{"--dispatch", o.dispatch}, option{"--whittle", o.whittle})
}

// onlyFleet refuses options that are for fleets.
func (o *fleetOptions) onlyFleet(p *loaded) error {
	flag := firstGiven(option{"--replan", o.replan > 0}, option{"--dispatch", o.dispatch},
		option{"--whittle", o.whittle}, option{"--safety", o.safety > 0}, option{"--parallel", o.parallel > 0})
	if flag == "" {
		return nil
	}
	return usage("%s: %s is no fleet", flag, p.name)
}

// safetySeed is that of the episodes by which plan finds margins where use cannot be counted.
const safetySeed = 1

// fleetEpisodes are played of a fleet by default, and replannedEpisodes if some of them are planned again and again.
const fleetEpisodes, replannedEpisodes = 1000, 100

// A fleetWay is a way to play a fleet.
type fleetWay struct {
	name   string
	player fleet.Player
	alone  *fleet.Independent // nil if agents are not on their own
	safe   *fleet.Safe        // with margins
}

// simulateFleet plays a fleet in all ways that are asked for, on the same seeds.
func (c *simulateCommand) simulateFleet(ctx context.Context, p *loaded) error {
	switch {
	case p.Horizon() == 0 && c.fleet.controls() != "":
		return usage("%s: %s: models without a horizon: this goes by what is left of an episode", c.fleet.controls(),
			p.name)
	case c.steps > 0 && !p.Fleet().Types[0].Model.Means():
		return usage("--steps %d: %s has no long-run mean, and an episode ends by itself", c.steps, p.title())
	case c.plot != "" && !c.distribution && len(p.Fleet().EachStep) == 0:
		return usage("--plot %s: %s has no limits at single steps to draw: give --distribution too", c.plot, p.title())
	case c.flags.Changed("episodes"):
	case c.fleet.replan > 0:
		c.episodes = replannedEpisodes
	default:
		c.episodes = fleetEpisodes
	}
	begin := time.Now()
	plan, err := p.SolveFleet(ctx, exact.Options{NoNearest: true})
	if err != nil {
		return stopped(err)
	}
	ways, err := c.fleetWays(ctx, p, plan)
	if err != nil {
		return err
	}
	rep := newFleetSimulation(p, plan, c)
	f := p.Fleet().Fleet
	for _, way := range ways {
		options := fleet.PlayOptions{Episodes: c.episodes, Steps: c.steps, Seed: c.seed, Workers: c.fleet.parallel}
		var totals [][]float64
		if c.distribution && len(rep.Ways) == 0 {
			options.Each = func(v []float64) { totals = append(totals, v[:len(f.Returns)]) }
		}
		played, err := fleet.Play(ctx, f, p.Task, way.player, options)
		if err != nil {
			return stopped(err)
		}
		var sums []*fleet.Sum
		if way.alone != nil {
			sums, err = way.alone.Sums(ctx, p.Task)
			if err != nil {
				return stopped(err)
			}
		}
		if len(rep.Ways) == 0 {
			rep.Truncation, err = fleetTruncation(ctx, p, way.alone, played.Steps)
			if err != nil {
				return stopped(err)
			}
		}
		if totals != nil {
			rep.Distribution = newDistributions(f.Returns, query.Sampled(totals))
		}
		rep.add(p, way, played, sums)
	}
	rep.Seconds = report.Number(time.Since(begin).Seconds())
	if err := c.write(rep.report(p), *c.format); err != nil || c.plot == "" {
		return err
	}
	if c.distribution {
		return failed(distributionFigure(p.title(), rep.Distribution).Save(c.plot))
	}
	return failed(rep.figure(p).Save(c.plot))
}

// fleetTruncation says of a fleet without a horizon after how many steps its episodes are cut, and what that may
// change of an expected return.
func fleetTruncation(ctx context.Context, p *loaded, player *fleet.Independent, steps int) (*truncationReport, error) {
	m := p.Fleet().Types[0].Model
	switch {
	case m.Horizon() > 0:
		return nil, nil
	case m.Means():
		drift, err := player.Drift(ctx, steps)
		if err != nil {
			return nil, err
		}
		return &truncationReport{steps, report.Number(floats.Max(drift))}, nil
	}
	return &truncationReport{steps, report.Number(math.Pow(m.Discount(), float64(steps)) * largestReturn(p))}, nil
}

// fleetWays returns the ways in which a fleet is played: the plan, or the policies of files, then what else is
// asked for.
func (c *simulateCommand) fleetWays(ctx context.Context, p *loaded, plan *fleet.Plan) ([]fleetWay, error) {
	f := p.Fleet().Fleet
	first := fleetWay{name: "plan"}
	var err error
	switch {
	case c.policy != "":
		first.name = "policy"
		first.alone, err = c.sharesOfFiles(ctx, p)
	case plan.Types == nil || plan.Status == exact.Infeasible:
		return nil, &exitError{exitInfeasible,
			fmt.Errorf("%s: no plan keeps the limits, so that there is nothing to play: see cmdpsolve plan", p.name)}
	default:
		first.alone, err = fleet.NewIndependent(f, plan)
	}
	if err != nil {
		return nil, err
	}
	first.player = first.alone
	ways := []fleetWay{first}
	if c.fleet.safety > 0 {
		safe, err := p.SolveFleetSafely(ctx, c.fleet.safety, c.seed, exact.Options{NoNearest: true})
		if err != nil {
			return nil, stopped(err)
		}
		if safe.Types == nil || safe.Status == exact.Infeasible {
			return nil, &exitError{exitInfeasible,
				fmt.Errorf("--safety %g: no plan is found for which each limit holds with this probability",
					c.fleet.safety)}
		}
		alone, err := fleet.NewIndependent(f, safe.Plan)
		if err != nil {
			return nil, failed(err)
		}
		ways = append(ways, fleetWay{fmt.Sprintf("safety %g", c.fleet.safety), alone, alone, safe})
	}
	if c.fleet.replan > 0 {
		player, err := fleet.NewReplanner(ctx, f, p.Task, plan, c.fleet.replan)
		if err != nil {
			return nil, usage("--replan: %w", err)
		}
		ways = append(ways, fleetWay{name: fmt.Sprintf("replan %d", c.fleet.replan), player: player})
	}
	if c.fleet.dispatch {
		player, err := fleet.NewDispatcher(ctx, f, p.Task, plan)
		if err != nil {
			return nil, usage("--dispatch: %w", err)
		}
		ways = append(ways, fleetWay{name: "dispatch", player: player})
	}
	if c.fleet.whittle {
		player, err := fleet.NewWhittle(f, p.Task)
		if err != nil {
			return nil, usage("--whittle: %s: %w", p.name, err)
		}
		ways = append(ways, fleetWay{name: "whittle", player: player})
	}
	return ways, nil
}

// sharesOfFiles reads a policy file for each type, named as plan --policy names them.
func (c *simulateCommand) sharesOfFiles(ctx context.Context, p *loaded) (*fleet.Independent, error) {
	f := p.Fleet()
	shares := make([][]fleet.Drawn, len(f.Types))
	var faults []error
	for k, t := range f.Types {
		path := typeFile(c.policy, t.Name)
		read, err := f.ReadShares(ctx, k, path)
		var errs problem.Errors
		switch {
		case errors.As(err, &errs):
			faults = append(faults, errs)
		case err != nil:
			faults = append(faults, fmt.Errorf("--policy: type %s: %w", t.Name, err))
		}
		shares[k] = read
	}
	if len(faults) > 0 {
		return nil, &exitError{exitUsage, errors.Join(faults...)}
	}
	player, err := fleet.NewSharing(f.Fleet, shares)
	if err != nil {
		return nil, usage("--policy: %w", err)
	}
	return player, nil
}
