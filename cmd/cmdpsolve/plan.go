package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/robust"
	"cmdpsolve/internal/available"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// planOptions are what plan, front and check may spend.
type planOptions struct {
	gap        float64
	joinGap    float64 // see exact.Options, not a flag
	iterations int
	parallel   int
	quiet      bool
	budget     time.Duration // of a plan, not a flag of all
}

func (o *planOptions) addFlags(f *pflag.FlagSet) {
	f.Float64Var(&o.gap, "gap", 0,
		"certified gap to reach, relative to the size of the optimum (default: 1e-10, 2e-8 if goal or target is "+
			"curved, 1e-6 if long-run means are joined)")
	f.IntVar(&o.iterations, "iterations", 2000, "most value iterations for one optimum")
	f.IntVar(&o.parallel, "parallel", 0,
		"threads of a value iteration (default: one for each processor); results do not depend on it")
	f.BoolVar(&o.quiet, "quiet", false, "no progress")
}

// check refuses what the solver would refuse, in the words of the command line.
func (o *planOptions) check() error {
	return cmp.Or(wantUnless(o.gap >= 0 && o.gap < 1, "--gap", o.gap, "at least 0 and below 1"),
		wantUnless(o.iterations >= 1, "--iterations", o.iterations, "at least 1"), checkParallel(o.parallel))
}

// manyTransitions is from where on planning takes so much memory that garbage is collected by what is free.
const manyTransitions = 1 << 18

// exact returns the options of the solver for a model with so many transitions, and what shows on the line how far it
// is.
func (o *planOptions) exact(line *statusLine, transitions int, sense float64) (exact.Options, *planProgress) {
	if transitions >= manyTransitions {
		available.Limit()
	}
	progress := &planProgress{line: line, sense: sense}
	return o.solver(progress.show), progress
}

// stopped turns an error of the solver into one of the command.
func stopped(err error) error {
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	return failed(err)
}

// stopped is stopped with the names of what has no return.
func (p *loaded) stopped(err error) error {
	var no *exact.NoTotalError
	var none *robust.NotDefinedError
	switch {
	case errors.As(err, &none):
		return usage("%s: %s", p.name, notDefined(p, none))
	case errors.Is(err, robust.ErrCurved), errors.Is(err, robust.ErrTotalsBesideMeans):
		return usage("%s: %w", p.name, trim(err))
	case !errors.As(err, &no):
		return stopped(err)
	}
	what := "total"
	if no.Return >= 0 {
		what = "total of return " + p.Returns[no.Return]
	}
	if no.Wanted {
		return usage("%s: the %s in state %s grows without limit by action %s, and the problem asks for long-run "+
			"means too: want either totals or means",
			p.name, what, p.StateName(no.State), p.ActionName(0, no.State, no.Action))
	}
	every := "every policy"
	if no.Kept {
		every += " that keeps the limits"
	}
	return usage("%s: %s may go on for ever, in state %s by action %s: the %s does not end",
		p.name, every, p.StateName(no.State), p.ActionName(0, no.State, no.Action), what)
}

// planCommand is one call of plan.
type planCommand struct {
	streams
	planOptions
	memoryOptions
	format         *report.Format
	policy         string
	opponentPolicy string
	secondOpinion  bool
	deterministicOptions
	showOptions
	distribution bool
	credible     credibleOptions
	worst        worstOptions
	what         variation
	sweep        sweepOptions
	searched     time.Duration // for thresholds of the worst episodes
	safety       float64       // of a fleet
	samples      learnCommand
}

func newPlan(s streams) *cobra.Command {
	c := &planCommand{streams: s, samples: learnCommand{streams: s, settings: contest.Defaults()}}
	cmd := &cobra.Command{
		Use:   "plan PROBLEM",
		Short: "Find the best policy of a known model, with proof",
		Long: `Finds the policy of PROBLEM that is best for its goal among those whose expected
returns keep all constraints and lie in the target, and proves that it is: the
bound is certified, no policy does better. If no policy keeps them, plan says so
(exit status 3) with a certificate: a direction in which every policy lies
beyond the target.

Works with a horizon, a discount, total returns until absorption, and long-run
averages. The price of a limit is how much the optimum improves for each unit
by which it is relaxed. --policy writes the policy as rows of step, state,
action and probability; see cmdpsolve help planning.

--at-most, --at-least, --maximize, --minimize and --inflate ask "what if": they
change limits and goal of PROBLEM. --sweep plans for a limit at many values. If
no policy keeps the limits, plan names a smallest set of them that is in
conflict, and how far each of it would have to give by itself.

With --log plan does not look at the model's probabilities. It plans from logged
transitions, for limits that hold in a share --credible of the models that the
data leaves possible; see cmdpsolve help data. The exit status is 3 if no policy
is found for which they do.

In a game plan finds the minimax value of a goal, which the agent can force
whatever the opponent does, and both policies. With a target it bounds the gap,
the distance from it that the opponent can enforce, with the opponent's policy
that proves it (status 3 if it is not 0).

With --budget 30s plan gives what it has found after 30 seconds of planning: the
best policy, its bound and the certified gap between them. The status is
"optimal" if the gap that was asked for is reached, else "stopped"; the exit
status is 0, or 1 if no policy that keeps the limits was found by then. Reading
the problem does not count. With intervals of probabilities the status is
"feasible" where the best plan keeps the limits in every model, and else
"undecided"; the report says that the time was over.

With --simulator plan asks a program about every choice, --sample times, in the
place of a model, and plans for what it saw; learn --env-command says more.

On Ctrl-C plan stops and exits with status 1.`,
		Example: `  cmdpsolve plan frozenlake8
  cmdpsolve plan inventory --policy policy.csv
  cmdpsolve plan delivery.yaml --format json
  cmdpsolve plan inventory --at-most cost=4
  cmdpsolve plan inventory --sweep cost=2:5:0.5 --plot sweep.svg
  cmdpsolve plan two-rooms.yaml --log visits.csv --pool --credible 0.95`,
		Args: oneProblem,
		RunE: onProblem(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.policy, "policy", "", "write the policy to `FILE`: .csv, .json, .npz, or .c or .go for a controller")
	f.StringVar(&c.opponentPolicy, "opponent-policy", "", "in a game, write the opponent's policy to `FILE`")
	c.showOptions.addFlags(f)
	c.deterministicOptions.addFlags(f)
	f.BoolVar(&c.secondOpinion, "second-opinion", false,
		"solve the explicit linear program of a small problem with GLPK too, and compare (in builds with -tags glpk)")
	f.BoolVar(&c.distribution, "distribution", false,
		"also how returns vary over episodes (as with simulate --distribution; --plot draws it)")
	f.DurationVar(&c.budget, "budget", 0,
		"give the best answer after this `TIME`, such as 30s or 5m, with the gap that is certified by then")
	c.what.addFlags(f)
	c.sweep.addFlags(f)
	addSafety(f, &c.safety)
	c.credible.addFlags(f)
	c.addInterval(f)
	c.worst.addFlags(f)
	c.samples.addPlanFlags(f)
	c.memoryOptions.addFlags(f)
	c.planOptions.addFlags(f)
	c.format = addFormat(f)
	return cmd
}

// check refuses what no problem can make right.
func (c *planCommand) check() error {
	if err := cmp.Or(c.planOptions.check(), c.credible.check(), c.worst.check(), c.deterministicOptions.check(),
		c.sweep.check(), c.samples.checkPlan(), checkSafety(c.safety), policyFile("--policy", c.policy)); err != nil {
		return err
	}
	switch swept, logged := len(c.sweep.over) > 0, c.credible.log != ""; {
	case c.safety > 0 && (swept || c.budget > 0):
		return usage("--safety goes with neither --sweep nor --budget")
	case c.deterministic && (c.secondOpinion || logged || swept):
		return usage("--deterministic goes with none of --second-opinion, --log and --sweep")
	case c.distribution && (logged || swept):
		return usage("--distribution goes with neither --log nor --sweep")
	case c.show && (logged || swept):
		return usage("--show goes with neither --log nor --sweep")
	case c.budget < 0:
		return usage("--budget %v: want a time above 0", c.budget)
	case c.budget > 0 && (logged || swept):
		return usage("--budget goes with neither --log nor --sweep")
	case c.secondOpinion && c.resolution > 0:
		return usage("--second-opinion goes not with --resolution")
	case c.secondOpinion:
		return glpkBuilt("--second-opinion")
	}
	return nil
}

// drawsNothing returns an error for a plot of a single plan of one agent, which has no curve.
func (c *planCommand) drawsNothing() error {
	if c.sweep.plot != "" && !c.distribution && len(c.sweep.over) == 0 {
		return usage("--plot %s: a single plan has no curve; give --sweep or --distribution too", c.sweep.plot)
	}
	return nil
}

// run plans in the way that the options and the problem ask for.
func (c *planCommand) run(ctx context.Context, name string) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.samples.simulator.command != "" {
		c.samples.format, c.samples.files.policy, c.samples.settings.Seed = c.format, c.policy, c.credible.seed
		return c.samples.planSamples(ctx, name)
	}
	controller := slices.Contains([]string{".c", ".go"}, filepath.Ext(c.policy)) // with the rows of all steps as tables
	c.stored = c.secondOpinion || c.deterministic || c.credible.log != "" || controller
	c.fleets = true
	c.each = true // thresholds are tried for the problem that is varied
	p, err := c.load(ctx, c.streams, name)
	if err != nil {
		return err
	}
	if p.isFleet() {
		if err := c.checkFleet(p); err != nil {
			return err
		}
	} else if err := c.drawsNothing(); err != nil {
		return err
	} else if c.safety > 0 {
		return usage("--safety: %s is no fleet", p.name)
	}
	wide := c.policy != "" || c.show || c.distribution || c.deterministic || c.secondOpinion
	if wide && p.Remembers() && p.Model.States() >= manyPairs {
		n := p.Model.States()
		c.say("%s: %d pairs of a state and what is remembered, each with an action at every step: what was asked "+
			"for goes through the rows of all. That takes many times as long as the optimum alone, for which give "+
			"none of --policy, --show, --distribution, --deterministic and --second-opinion", p.name, n)
	}
	if note := newMissingRows(p).note(); note != nil {
		c.say("%s", strings.Join(note, " "))
	}
	p, err = p.vary(ctx, &c.what)
	if err != nil {
		return err
	}
	p, err = c.search(ctx, p)
	if err != nil {
		return err
	}
	if err := c.showOptions.check(p); err != nil {
		return err
	}
	switch {
	case len(c.sweep.over) > 0 && (p.Uncertain() || c.sweep.over.widths(p)):
		return c.planRobustSweep(ctx, p)
	case len(c.sweep.over) > 0:
		return c.planSweep(ctx, p)
	case c.opponentPolicy != "" && c.credible.log == "" && !p.isGame():
		return usage("--opponent-policy %s: %s has one player", c.opponentPolicy, p.name)
	case p.Task.Cost == nil && p.Task.Target == nil:
		if over := p.Problem.TradeOff; over != nil {
			return usage("%s: the property has %d optima: front trades them off", p.name, len(over))
		}
		return usage("%s: nothing to plan for: want a goal or a limit, by --minimize RETURN, --at-most RETURN=X and the "+
			"like, or in a problem file; of a model in a language also by --property", p.name)
	case p.isFleet():
		return c.planFleet(ctx, p)
	case c.credible.confidence > 0:
		return c.planConfident(ctx, p)
	case c.credible.log != "":
		return c.planLogged(ctx, p)
	case p.Uncertain():
		return c.planRobust(ctx, p, nil)
	case c.worst.worst != "":
		return usage("--worst %s: the probabilities of %s are exact: give --interval, or intervals in the file",
			c.worst.worst, p.name)
	case p.isGame():
		return c.planGame(ctx, p)
	case c.deterministic:
		return c.planDeterministic(ctx, p)
	}
	return c.planBest(ctx, p)
}

// search returns the problem with the thresholds of the worst episodes that are best for it, as far as they are
// found in time.
func (c *planCommand) search(ctx context.Context, p *loaded) (*loaded, error) {
	begin := time.Now()
	q, err := p.BestWithin(ctx, c.budget)
	c.searched = time.Since(begin)
	if err != nil {
		return nil, unread(p.name, err)
	}
	return p.as(q), nil
}

// solving is the time that is left for one plan, 0 for any.
func (c *planCommand) solving() time.Duration {
	if c.budget == 0 {
		return 0
	}
	return max(1, c.budget-c.searched)
}

// planBest plans for one player who knows the model and may draw.
func (c *planCommand) planBest(ctx context.Context, p *loaded) error {
	opinion, err := c.askGLPK(ctx, p)
	if err != nil {
		return err
	}
	opts, progress := c.exact(c.status, p.transitions(), p.Sense())
	opts.NoNearest, opts.Budget = p.Horizon() == 0 && !c.show, c.solving()
	begin := time.Now()
	r, err := p.Solve(ctx, opts)
	var clash []conflictReport
	verdict := time.Now()
	if err == nil && r.Status == exact.Infeasible {
		clash, err = c.conflict(ctx, p, conflictOptions(p, opts, r.Iterations), begin)
		r.Phases = append(r.Phases, exact.Phase{Name: "conflict", Time: time.Since(verdict)})
	}
	progress.line.forgets()
	if err == nil {
		p, err = p.remembering(r.Product)
	}
	if err != nil {
		return p.stopped(err)
	}
	d := newPlanReport(p, r, c.searched+time.Since(begin))
	d.Conflict = clash
	d.SecondOpinion = newOpinionReport(p, opinion, r)
	return c.conclude(ctx, p, d, r, c.undecided(p, r))
}

// conflict returns the limits that are in conflict, none if there is no time to find them.
func (c *planCommand) conflict(ctx context.Context, p *loaded, opts exact.Options,
	begin time.Time) ([]conflictReport, error) {
	if c.budget == 0 {
		return findConflict(ctx, p, opts)
	}
	within, cancel := context.WithDeadline(ctx, begin.Add(c.solving()))
	defer cancel()
	clash, err := findConflict(within, p, opts)
	if within.Err() != nil && ctx.Err() == nil {
		c.say("which limits are in conflict was not found within %v (see --budget)", c.budget)
		return nil, nil
	}
	return clash, err
}

// conclude writes report and policy of a plan. undecided says what stopped the solver, if it could not decide.
func (c *planCommand) conclude(ctx context.Context, p *loaded, d *planReport, r *exact.Result,
	undecided error) (err error) {
	d.policy, err = c.shownPolicy(ctx, p, r)
	if err != nil {
		return p.stopped(err)
	}
	d.Distribution, err = c.distributed(ctx, p, r)
	if err != nil {
		return p.stopped(err)
	}
	return c.finish(p, d, r, c.writePolicy(p, r), undecided)
}

// finish writes the report of a plan whose files are written, and gives the exit status.
func (c *planCommand) finish(p *loaded, d *planReport, r *exact.Result, files, undecided error) error {
	switch {
	case r.Status == exact.Stopped && !r.HasPolicy():
		undecided = failed(fmt.Errorf("stopped: neither a policy that keeps every limit nor a proof that there is "+
			"none was found within %v (see --budget)", c.budget))
	case r.Status != exact.Undecided:
		undecided = p.verdict(r.Status, c.iterations)
	}
	return cmp.Or(c.write(d.report(p, r.Returns), *c.format), failed(files),
		failed(d.SecondOpinion.contradiction(d)), undecided)
}

// writePolicy writes the policy if it is asked for and keeps what was asked for. One that only comes nearest is shown,
// but not written: whoever plays what is in the file may rely on its limits.
func (c *planCommand) writePolicy(p *loaded, r *exact.Result) error {
	switch {
	case c.policy == "":
		return nil
	case !slices.Contains([]exact.Verdict{exact.Optimal, exact.Unbounded, exact.Stopped}, r.Status) ||
		r.Policy == nil && r.Mixture == nil:
		c.notWritten(c.policy, "none is known to be what is wanted")
		return nil
	}
	return c.writeRows(c.policy, p.Process, p.PlanRows(r.Policy, r.Mixture))
}

// notWritten says that a policy is not written, and that one of before would be taken for it.
func (c *planCommand) notWritten(path, why string) {
	c.say("no policy is written to %s: %s", path, why)
	if _, err := os.Lstat(path); err == nil {
		c.say("the file that is there is older, and is left as it is")
	}
}

// verdict is the error that gives the exit status of an answer.
func (p *loaded) verdict(status exact.Verdict, iterations int) error {
	switch {
	case status == exact.Infeasible:
		return &exitError{exitInfeasible, nil}
	case status == exact.Undecided && p.Rounded():
		return p.undecidedByRounding()
	case status == exact.Undecided:
		return failed(fmt.Errorf(noOptimum+"The answer lies within rounding of the limits, or takes more than "+
			"%s\n(see --iterations and --gap)",
			count(iterations, "value iteration")))
	}
	return nil
}

// evaluationsPerIteration is how many value iterations a search for the gap of a game may
// take for each that an optimum may.
const evaluationsPerIteration = 10

// gapOptions returns the options of a search for the gap.
func (o *planOptions) gapOptions(p *loaded) exact.GapOptions {
	return exact.GapOptions{Tolerance: o.gap * p.extent(), Evaluations: evaluationsPerIteration * o.iterations}
}

// planGame plans in a game: the minimax value of a goal, or the gap of a target.
func (c *planCommand) planGame(ctx context.Context, p *loaded) error {
	flag := firstGiven(option{"--second-opinion", c.secondOpinion}, option{"--distribution", c.distribution},
		option{"--deterministic", c.deterministic}, option{"--budget", c.budget > 0})
	if flag != "" {
		return usage("%s: %s: a game: want a problem with one player", flag, p.name)
	}
	if err := policyFile("--opponent-policy", c.opponentPolicy); err != nil {
		return err
	}
	if p.Task.Target != nil && p.Task.Cost != nil {
		c.say("a goal within a target cannot be pursued against an opponent; what follows is about the target alone")
	}
	begin := time.Now()
	rep, agent, opponent, status, err := solveGame(ctx, p, c.gapOptions(p))
	if err != nil {
		return err
	}
	rep.Seconds = report.Number(time.Since(begin).Seconds())
	rep.addPolicies(p, agent, opponent)
	writeErr := c.writePlayers(p, agent, opponent)
	return cmp.Or(c.write(rep.report(p), *c.format), failed(writeErr), gapVerdict(status, rep.Iterations))
}

// solveGame computes the minimax value of the goal or, with a target, its gap. A policy is nil if none does
// what its player wants.
func solveGame(ctx context.Context, p *loaded,
	opts exact.GapOptions) (rep *gameReport, agent, opponent *cmdp.Randomized, status exact.GapStatus, err error) {
	rep = newGameReport(p)
	if p.Task.Target == nil {
		v, err := exact.SolveGame(ctx, p.Model, p.Task)
		switch {
		case ctx.Err() != nil:
			return nil, nil, nil, 0, stopped(ctx.Err())
		case err != nil:
			return nil, nil, nil, 0, usage("%s: %w", p.name, err)
		}
		rep.value(p, v)
		return rep, v.Agent, v.Opponent, exact.Approachable, nil
	}
	g, err := exact.ApproachabilityGap(ctx, p.Model, cmdp.Task{Target: p.Task.Target}, opts)
	if err != nil {
		return nil, nil, nil, 0, stopped(err)
	}
	if g.Status == exact.NotApproachable {
		opponent = g.Opponent
	}
	rep.gap(p, g)
	return rep, nil, opponent, g.Status, nil
}

// gapVerdict is the error that gives the exit status of an answer about a gap.
func gapVerdict(status exact.GapStatus, evaluations int) error {
	switch status {
	case exact.NotApproachable:
		return &exitError{exitInfeasible, nil}
	case exact.GapUndecided:
		return failed(fmt.Errorf("undecided: after %s the bounds of the gap do not tell whether the target\n"+
			"can be approached (see --iterations and --gap)", count(evaluations, "value iteration")))
	}
	return nil
}

// writePlayers writes the policies that are asked for and known.
func (c *planCommand) writePlayers(p *loaded, agent, opponent *cmdp.Randomized) error {
	var errs []error
	for _, w := range []struct {
		path   string
		policy *cmdp.Randomized
		player problem.Player
	}{{c.policy, agent, problem.Agent}, {c.opponentPolicy, opponent, problem.Adversary}} {
		switch {
		case w.path == "":
		case w.policy == nil && w.player == problem.Agent:
			c.notWritten(w.path, "a target is approached by adapting to the opponent, as learn does, and not by one policy")
		case w.policy == nil:
			c.notWritten(w.path, "the opponent has none that keeps the returns from the target")
		default:
			errs = append(errs, c.writeRows(w.path, p.Process, p.PolicyRows(w.policy, w.player)))
		}
	}
	return errors.Join(errs...)
}
