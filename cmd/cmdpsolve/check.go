package main

import (
	"context"
	"errors"
	"math"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/robust"

	"github.com/spf13/cobra"
)

// checkCommand is one call of check.
type checkCommand struct {
	streams
	planOptions
	memoryOptions
	format *report.Format
	what   variation
	policy string
}

func newCheck(s streams) *cobra.Command {
	c := &checkCommand{streams: s}
	cmd := &cobra.Command{
		Use:   "check PROBLEM",
		Short: "Read and judge a problem: sizes, ranges, feasibility, slack",
		Long: `Reads PROBLEM and reports its sizes, between which numbers each expected return
can be brought, whether some policy keeps the constraints and the target, how
far inside it can stay (the Slater ball), and the weight rho that learn needs.

If no policy keeps them (exit status 3), gap_lower and gap_upper bound the
distance of the returns of the best policy from the target; else both are 0. In
a game they bound the distance at which an opponent can keep the mean return,
and ranges are what the agent can force whatever the opponent does.`,
		Example: `  cmdpsolve check inventory
  cmdpsolve check delivery.yaml
  cmdpsolve check two-rooms.yaml --format json`,
		Args: oneProblem,
		RunE: onProblem(c.run),
	}
	f := cmd.Flags()
	c.what.addFlags(f)
	f.StringVar(&c.policy, "policy", "",
		"also say what the returns of the policy of `FILE` can be, and whether it keeps the limits")
	c.addInterval(f)
	c.memoryOptions.addFlags(f)
	c.planOptions.addFlags(f)
	c.format = addFormat(f)
	return cmd
}

func (c *checkCommand) run(ctx context.Context, name string) error {
	if err := c.planOptions.check(); err != nil {
		return err
	}
	c.stored, c.each, c.fleets = c.policy != "", true, true
	p, err := c.load(ctx, c.streams, name)
	if err != nil {
		return err
	}
	p, err = p.varied(ctx, &c.what)
	if err != nil {
		return err
	}
	switch {
	case c.policy != "" && p.isFleet():
		return p.oneAgent("--policy " + c.policy)
	case c.policy != "" && p.isGame():
		return usage("--policy %s: %s: a game: want a problem with one player", c.policy, p.name)
	case p.isGame():
		return c.checkGame(ctx, p)
	}
	begin := time.Now()
	var known *policyBounds
	if c.policy != "" {
		p, known, err = readPolicyBounds(ctx, p, c.policy)
		if err != nil {
			return err
		}
	}
	judge := c.judge
	if p.Uncertain() {
		judge = c.judgeRobust
	}
	rep, err := judge(ctx, p)
	if err != nil {
		return p.stopped(err)
	}
	rep.Policy, rep.Uncertainty = known, newUncertaintyReport(p)
	rep.Seconds = report.Number(time.Since(begin).Seconds())
	if err := c.write(rep.report(p), *c.format); err != nil {
		return err
	}
	switch {
	case rep.Feasible == nil && rep.Uncertainty != nil:
		return robustVerdict(robust.Undecided)
	case rep.Feasible == nil:
		return p.verdict(exact.Undecided, c.iterations)
	case !*rep.Feasible:
		return p.verdict(exact.Infeasible, c.iterations)
	}
	return nil
}

// newRangesReport reports sizes and ranges of a problem, and no verdict.
func newRangesReport(ctx context.Context, p *loaded) (*checkReport, error) {
	planner, err := p.Planner()
	if err != nil {
		return nil, err
	}
	lower, upper, err := planner.Ranges(ctx)
	if err != nil {
		return nil, err
	}
	rep := newCheckReport(p, lower, upper)
	rep.compareLimits(p)
	return rep, nil
}

// judgeRobust answers them about a problem with intervals. Ranges are those in the nominal model.
func (c *checkCommand) judgeRobust(ctx context.Context, p *loaded) (*checkReport, error) {
	rep, err := newRangesReport(ctx, p)
	if err != nil {
		return nil, err
	}
	rep.GapLower, rep.GapUpper = report.NaN, report.NaN
	if p.Task.Target == nil {
		rep.Feasible = new(true)
		return rep, nil
	}
	task := p.Task
	task.Cost = nil
	r, _, err := c.solveRobust(ctx, p, task, c.robustOptions(), c.status)
	if err != nil {
		return nil, err
	}
	switch r.Status {
	case robust.Optimal, robust.Feasible:
		rep.Feasible = new(true)
	case robust.Infeasible:
		rep.Feasible = new(false)
		rep.Certificate = certificateOf(p, r.Certificate)
	}
	return rep, nil
}

// judge answers all questions about a problem.
func (c *checkCommand) judge(ctx context.Context, p *loaded) (*checkReport, error) {
	opts, progress := c.exact(c.status, p.transitions(), p.Sense())
	defer progress.line.forgets()
	rep, err := newRangesReport(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.Task.Target == nil {
		rep.Feasible = new(true)
		return rep, nil
	}
	planner, err := p.Planner()
	if err != nil {
		return nil, err
	}
	d, err := planner.Distance(ctx, p.Task, opts)
	if err != nil {
		return nil, err
	}
	rep.GapLower, rep.GapUpper, rep.Tolerance = report.Number(d.Lower), report.Number(d.Upper),
		report.Number(d.Tolerance)
	rep.Nearest = p.named(d.Returns)
	switch {
	case d.Upper == 0:
		rep.Feasible = new(true)
	case d.Lower > 0 && p.Rounded():
		rep.GapLower = 0
		return rep, nil
	case d.Lower > 0:
		rep.Feasible = new(false)
		rep.Certificate = newCertificate(p, d.Direction, d.Support, d.Support+d.Lower, d.Upper)
		rep.Certificate.Possible, rep.Certificate.Finite = !d.Whole, d.Finite
		rep.Conflict, err = findConflict(ctx, p, conflictOptions(p, opts, d.Iterations))
		return rep, err
	default:
		return rep, nil
	}
	rep.Nearest = named{}
	return rep, c.slack(ctx, p, rep, opts)
}

// slack finds the policy deepest in the target, and the multiplier of the goal.
func (c *checkCommand) slack(ctx context.Context, p *loaded, rep *checkReport, opts exact.Options) error {
	planner, err := p.Planner()
	if err != nil {
		return err
	}
	s, err := planner.Slack(ctx, p.Task, opts)
	if err != nil {
		return err
	}
	rep.Slater = &slaterReport{report.Number(s.Radius), report.Number(s.Bound), p.named(s.Returns), report.NaN}
	if p.Task.Cost == nil {
		return nil
	}
	best, err := planner.Solve(ctx, p.Task, opts)
	if errors.Is(err, exact.ErrNoTotal) { // the limits can be judged all the same
		c.say("the weight rho is not known: %v", p.stopped(err))
		return nil
	}
	if err != nil {
		return err
	}
	if best.Status == exact.Unbounded {
		c.say("the weight rho is not known: the goal has no bound")
		return nil
	}
	if best.Status != exact.Optimal {
		c.say("the weight rho is not known: no optimum within the gap was found in %s",
			count(c.iterations, "value iteration"))
		return nil
	}
	rep.Rho = report.Number(best.Rho)
	if s.Radius > 0 && !math.IsInf(s.Radius, 1) {
		// Twice the bound (g(v) − min g)/r of the multiplier by the ball (erratum E-09).
		rep.Slater.Rho = report.Number(2 * (p.Task.Cost.Value(s.Returns) - best.Bound) / s.Radius)
	}
	return nil
}

func (c *checkCommand) checkGame(ctx context.Context, p *loaded) error {
	begin := time.Now()
	lower, upper, err := forced(ctx, p.Model)
	if err != nil {
		return stopped(err)
	}
	d := newGameCheck(p, lower, upper)
	status := exact.Approachable
	if p.Task.Target != nil {
		g, err := exact.ApproachabilityGap(ctx, p.Model, cmdp.Task{Target: p.Task.Target}, c.gapOptions(p))
		if err != nil {
			return stopped(err)
		}
		status = g.Status
		d.GapLower, d.GapUpper, d.Iterations = report.Number(g.Lower), report.Number(g.Upper), g.Evaluations
		if status == exact.NotApproachable {
			d.Certificate = gapCertificate(p, g)
			d.Opponent, _ = policyRows(p, g.Opponent, problem.Adversary)
		}
	}
	d.Verdict = status.String()
	switch status {
	case exact.Approachable:
		d.Feasible = new(true)
	case exact.NotApproachable:
		d.Feasible = new(false)
	}
	d.Seconds = report.Number(time.Since(begin).Seconds())
	if err := c.write(d.report(p), *c.format); err != nil {
		return err
	}
	return gapVerdict(status, d.Iterations)
}

// forced returns what the agent can force each return down to, and up to.
func forced(ctx context.Context, m *cmdp.Model) (down, up []float64, err error) {
	g, err := cmdp.NewMinimax(m)
	if err != nil {
		return nil, nil, err
	}
	down, up = make([]float64, m.Dim()), make([]float64, m.Dim())
	dir := make([]float64, m.Dim())
	for i := range dir {
		clear(dir)
		dir[i] = 1
		_, down[i], err = g.Solve(ctx, dir)
		if err != nil {
			return nil, nil, err
		}
		dir[i] = -1
		_, least, err := g.Solve(ctx, dir)
		if err != nil {
			return nil, nil, err
		}
		up[i] = 0 - least
	}
	return down, up, nil
}
