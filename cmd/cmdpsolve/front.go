package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/query"

	"github.com/spf13/cobra"
)

// frontCommand is one call of front.
type frontCommand struct {
	streams
	planOptions
	memoryOptions
	deterministicOptions
	format   *report.Format
	over     string
	error    string
	points   int
	plot     string
	policies string
	all      bool
	what     variation
}

func newFront(s streams) *cobra.Command {
	c := &frontCommand{streams: s, memoryOptions: memoryOptions{each: true}}
	cmd := &cobra.Command{
		Use:   "front PROBLEM --over +a,-b[,…]",
		Short: "Compute the trade-off curve between returns of a known model",
		Long: `Computes how much of some returns must be given up for more of others: the
expected returns that some policy has and none improves on in all of them,
among the policies that keep the constraints of PROBLEM and its target. Its
goal has no part in it.

The curve is convex; its vertices are returns of single policies, and mixtures
of neighbours give what lies between them. The error is certified: no policy
lies beyond the curve by more.

--policies writes the policy of each vertex; --plot draws the curve with the
band in which the true one lies, of three returns for some bounds on the third,
of more with an axis for each return.
If no policy keeps the constraints the exit status is 3.`,
		Example: `  cmdpsolve front inventory --over -shortage,-cost
  cmdpsolve front frozenlake8 --over +goal,-hole --plot front.svg
  cmdpsolve front two-rooms.yaml --over reward,-cost --policies vertices`,
		Args: oneProblem,
		RunE: onProblem(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.over, "over", "",
		"the `RETURNS` to trade off, separated by commas: + or nothing before one that is to be large, - before one "+
			"that is to be small")
	f.StringVar(&c.error, "error", "1e-4",
		"certified `ERROR` to reach: a fraction of the range of each return over the curve, or like '0.5 NAME' in "+
			"the unit of a return; several separated by commas")
	f.DurationVar(&c.budget, "budget", 0,
		"give the curve as far as it is known after this `TIME`, such as 30s or 5m, with the error that is certified by then")
	f.IntVar(&c.points, "points", 1000, "most points to compute")
	f.StringVar(&c.plot, "plot", "", "draw the curve to `FILE`, as SVG, PNG or PDF by its ending")
	f.StringVar(&c.policies, "policies", "",
		"write the policies of the vertices to the new folder `DIR`, as vertex-1.csv and so on, or as "+
			"DIR/NAME-1.json for DIR/NAME.json and like endings")
	f.BoolVar(&c.all, "all", false, "list vertices that differ in digits that are not shown, too")
	c.what.addFlags(f)
	c.deterministicOptions.addFlags(f)
	c.memoryOptions.addFlags(f)
	c.planOptions.addFlags(f)
	c.format = addFormat(f)
	return cmd
}

// An objective is a return of a trade-off, with sign 1 if it is to be large.
type objective struct {
	index int
	name  string
	sign  float64
}

// wanted is the objective for the library.
func (o objective) wanted() query.Objective {
	return query.Objective{Return: o.name, Maximize: o.sign > 0}
}

func parseOver(p *loaded, list string) ([]objective, error) {
	var out []objective
	returns := p.declared()
	for item := range strings.SplitSeq(list, ",") {
		name, sign := strings.TrimSpace(item), 1.0
		if !slices.Contains(returns, name) {
			if rest, ok := strings.CutPrefix(name, "-"); ok {
				name, sign = strings.TrimSpace(rest), -1
			} else if rest, ok := strings.CutPrefix(name, "+"); ok {
				name = strings.TrimSpace(rest)
			}
		}
		i := slices.Index(returns, name)
		if i < 0 {
			return nil, usage("--over %s: unknown return %q: want %s, with + or - before them", list, name,
				strings.Join(returns, ", "))
		}
		if slices.ContainsFunc(out, func(o objective) bool { return o.index == i }) {
			return nil, usage("--over %s: %s is given twice", list, name)
		}
		out = append(out, objective{i, name, sign})
	}
	if len(out) < 2 {
		return nil, usage("--over %s: want two returns or more to trade off", list)
	}
	return out, nil
}

// plainError writes --error as it is named in messages.
func plainError(list string) string {
	x, err := strconv.ParseFloat(list, 64)
	if err != nil {
		return list
	}
	return fmt.Sprintf("%g", x)
}

// parseErrors reads the list of --error: a fraction, and errors of returns in their own units.
func parseErrors(list string, over []objective) (fraction float64, absolute []float64, err error) {
	fraction = 1e-4
	given := false
	for item := range strings.SplitSeq(list, ",") {
		number, name, named := strings.Cut(strings.TrimSpace(item), " ")
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, nil, usage("--error %s: %q is no number", list, number)
		}
		if !named {
			if !(x > 0 && x < 1) {
				return 0, nil, usage("--error %s: want above 0 and below 1, or an error in the unit of a return "+
					"like '0.5 %s'", list, over[0].name)
			}
			if given {
				return 0, nil, usage("--error %s: want one fraction", list)
			}
			fraction, given = x, true
			continue
		}
		name = strings.TrimSpace(name)
		k := slices.IndexFunc(over, func(o objective) bool { return o.name == name })
		switch {
		case k < 0:
			return 0, nil, usage("--error %s: %q is no return of the trade-off: want one of those of --over", list,
				name)
		case !(x > 0) || math.IsInf(x, 1):
			return 0, nil, usage("--error %s: want an error of %s above 0", list, name)
		case absolute != nil && absolute[k] > 0:
			return 0, nil, usage("--error %s: %s is given twice", list, name)
		}
		if absolute == nil {
			absolute = make([]float64, len(over))
		}
		absolute[k] = x
	}
	return fraction, absolute, nil
}

func (c *frontCommand) check() error {
	return cmp.Or(c.planOptions.check(), c.deterministicOptions.check(),
		wantUnless(c.budget >= 0, "--budget", c.budget, "a time above 0"),
		wantUnless(c.points >= 1, "--points", c.points, "at least 1"),
		drawable(c.plot), policyFolder(c.policies))
}

// tradedOff lists the first returns, at most two, with a minus before those that are to be small.
func tradedOff(p *loaded) []string {
	var out []string
	for _, name := range p.Returns[:min(2, len(p.declared()))] {
		sign := "+"
		if _, limited := p.Given(query.AtMost, name); limited && p.Problem.Goal.Maximize != name ||
			p.Problem.Goal.Minimize == name {
			sign = "-"
		}
		out = append(out, sign+name)
	}
	return out
}

func (c *frontCommand) run(ctx context.Context, name string) error {
	if err := c.check(); err != nil {
		return err
	}
	c.stored = c.deterministic
	c.fleets = true
	p, err := c.load(ctx, c.streams, name)
	if err != nil {
		return err
	}
	c.nominally(p, "the curve is that of")
	p, err = p.vary(ctx, &c.what)
	if err != nil {
		return err
	}
	if err := p.onePlayer(); err != nil {
		return err
	}
	if c.deterministic {
		if err := p.oneAgent("--deterministic"); err != nil {
			return err
		}
	}
	if c.over == "" {
		c.over = strings.Join(p.Problem.TradeOff, ",")
	}
	if c.over == "" {
		return usage("front needs the returns to trade off: give --over, such as --over %s",
			strings.Join(tradedOff(p), ","))
	}
	over, err := parseOver(p, c.over)
	if err != nil {
		return err
	}
	opts, progress := c.options(p)
	opts.Error, opts.Absolute, err = parseErrors(c.error, over)
	if err != nil {
		return err
	}
	if c.deterministic {
		return c.frontDeterministic(ctx, p, over)
	}
	if len(p.Of(query.WorstEpisodes)) > 0 && slices.ContainsFunc(over,
		func(o objective) bool { return o.index >= len(p.Problem.Returns) }) {
		return usage("--over %s: it depends on where the worst episodes begin: want %v", c.over, p.Problem.Returns)
	}
	wanted := make([]query.Objective, len(over))
	for k, o := range over {
		wanted[k] = o.wanted()
	}
	begin := time.Now()
	f, err := p.Front(ctx, wanted, opts)
	progress.line.forgets()
	if err != nil {
		return p.stopped(err)
	}
	if p.Rounded() { // the safe sides of rounded returns are those of the trade-off
		p = p.as(f.Parts[0].Query)
	}
	rep := newFrontReport(p, over, f, time.Since(begin))
	rep.all = c.all
	if *c.format == report.JSON {
		within, done := ctx, context.CancelFunc(func() {})
		if c.budget > 0 {
			within, done = context.WithDeadline(ctx, begin.Add(c.budget))
		}
		defer done()
		if err := rep.recoverMixed(ctx, within); err != nil {
			return p.stopped(err)
		}
	}
	undecided, figure := "", func() *chart.Figure { return frontFigure(p, rep, f.Parts[0].Result) }
	switch {
	case rep.Union > 0:
		undecided = fmt.Sprintf("the error %s was not reached (see --error, --points and --gap)", plainError(c.error))
		figure = func() *chart.Figure { return unionFigure(p, rep, f) }
	case len(f.Points) > 0:
		found := rep.Relative
		if opts.Absolute != nil {
			found = rep.Error
		}
		undecided = fmt.Sprintf("the error %s was not reached: the points have the error %s\n(see --error, --points "+
			"and --gap)", plainError(c.error), report.Brief(found))
	}
	return c.conclude(ctx, p.as(f.Parts[0].Query), rep, figure, undecided)
}

// conclude writes a curve with its policies and picture. undecided says why it is not what was asked for, if it
// could not be decided and there is more to say than of a plan.
func (c *frontCommand) conclude(ctx context.Context, p *loaded, rep *frontReport, figure func() *chart.Figure,
	undecided string) error {
	files, end := c.writeFiles(ctx, p, rep, figure), p.verdict(rep.status, c.iterations)
	if rep.status == exact.Stopped && ctx.Err() != nil {
		end = failed(errInterrupted)
	}
	if rep.status == exact.Stopped && len(rep.Points) == 0 {
		end = failed(errors.New("the time was over before a point of the curve was known (see --budget)"))
	}
	if rep.status == exact.Undecided && undecided != "" {
		end = failed(errors.New(undecided))
	}
	return cmp.Or(c.write(rep.report(p), *c.format), failed(files), end)
}

// options returns the options of a curve, and its progress.
func (c *frontCommand) options(p *loaded) (exact.FrontOptions, *planProgress) {
	opts := exact.FrontOptions{Points: c.points}
	var progress *planProgress
	opts.Options, progress = c.exact(c.status, p.transitions(), 1)
	opts.Budget = c.budget
	opts.Each = progress.point
	return opts, progress
}

// writeFiles writes policies and plot, where there is a curve.
func (c *frontCommand) writeFiles(ctx context.Context, p *loaded, rep *frontReport, figure func() *chart.Figure) error {
	if len(rep.Vertices) == 0 {
		for _, path := range []string{c.policies, c.plot} {
			if path != "" {
				c.say("nothing is written to %s: no point of the curve is known", path)
			}
		}
		return nil
	}
	if c.policies != "" {
		for i, v := range rep.Vertices {
			v.File = numberedPolicy(c.policies, "vertex", i+1, len(rep.Vertices))
			if err := os.MkdirAll(filepath.Dir(v.File), 0o777); err != nil {
				return err
			}
			if err := v.at.Recover(ctx); err != nil {
				return err
			}
			if err := c.writeAnswer(p.as(v.at.Query), v.File, v.at.Policy, v.at.Mixture, v.at.Parts); err != nil {
				return err
			}
		}
	}
	if c.plot != "" {
		return figure().Save(c.plot)
	}
	return nil
}
