package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"github.com/spf13/pflag"
)

// sweepOptions ask for a plan at each of many values of a limit, or of several: a grid.
type sweepOptions struct {
	over     sweepFlags
	plot     string
	policies string
}

func (o *sweepOptions) addFlags(f *pflag.FlagSet) {
	f.Func("sweep", "a plan for each value from A to B of a limit, by STEP (may be repeated: a grid)", o.over.add)
	placeholder(f, "sweep", "RETURN=A:B:STEP")
	f.StringVar(&o.plot, "plot", "", "draw --sweep, --distribution or a fleet's use to `FILE`, .svg, .png or .pdf")
	f.StringVar(&o.policies, "policies", "",
		"with --sweep, write the policies to the new folder `DIR`, as plan-1.csv and so on, or as DIR/NAME-1.json "+
			"for DIR/NAME.json and like endings")
}

func (o *sweepOptions) check() error {
	if len(o.over) == 0 {
		if o.policies != "" {
			return usage("--policies %s: a single plan has one policy; give --policy, or --sweep too", o.policies)
		}
		return drawable(o.plot)
	}
	if n := o.over.plans(); n > mostSwept {
		return usage("--sweep: %d plans: want at most %d", n, mostSwept)
	}
	return cmp.Or(drawable(o.plot), policyFolder(o.policies))
}

// mostSwept bounds the plans of a sweep.
const mostSwept = 10_000

// overWords writes a limit that is swept.
func overWords(s query.Span) string {
	return s.Return + " " + problem.Relation(s.Kind == query.AtLeast)
}

// sweepFlags are the values of --sweep.
type sweepFlags []query.Span

// add reads RETURN=FROM:TO:STEP.
func (s *sweepFlags) add(text string) error {
	name, span, ok := cutLast(text, "=")
	parts := strings.Split(span, ":")
	if !ok || len(parts) != 3 {
		return errors.New("want RETURN=FROM:TO:STEP, such as cost=2:5:0.5")
	}
	var x [3]*big.Rat // as they are written: 2 + 3·0.1 is 2.3, and three steps of 0.1 lead from 2 to 2.3
	for i, part := range parts {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%q: want a number", part)
		}
		x[i] = new(big.Rat)
		if v != 0 { // also 1e-999999999, whose digits nobody wants
			x[i].SetString(part)
		}
	}
	if x[2].Sign() == 0 || new(big.Rat).Sub(x[1], x[0]).Sign()*x[2].Sign() < 0 {
		return fmt.Errorf("steps of %s never lead from %s to %s", parts[2], parts[0], parts[1])
	}
	steps := new(big.Rat).Sub(x[1], x[0])
	steps.Quo(steps, x[2])
	steps.Add(steps, big.NewRat(1, 1e9)) // three steps of 0.3333333334 lead to 1
	count := new(big.Int).Quo(steps.Num(), steps.Denom())
	if count.Cmp(big.NewInt(mostSwept)) >= 0 {
		many, _ := steps.Float64()
		return fmt.Errorf("%.6g values: want at most %d", many, mostSwept)
	}
	l := query.Span{Return: name}
	for i := range count.Int64() + 1 {
		at := new(big.Rat).Mul(big.NewRat(i, 1), x[2])
		at.Add(at, x[0])
		if at.Cmp(x[1])*x[2].Sign() > 0 {
			at = x[1]
		}
		v, _ := at.Float64()
		l.Values = append(l.Values, v)
	}
	*s = append(*s, l)
	return nil
}

func (s sweepFlags) plans() int {
	n := 1
	for _, l := range s {
		n *= len(l.Values)
		if n > mostSwept {
			break
		}
	}
	return n
}

// sweepReport is the data of a sweep.
type sweepReport struct {
	subject
	Over    []string       `json:"over"` // the limits, such as "cost ≤"
	Plans   []*sweptReport `json:"plans"`
	Seconds report.Number  `json:"seconds"`
}

// sweptReport is one plan of a sweep.
type sweptReport struct {
	Limits []report.Number `json:"limits"` // in the order of Over
	// Prices are those of the limits that are moved.
	Prices []report.Number `json:"limit_prices"`
	Policy string          `json:"policy,omitempty"`
	planReport
}

// keeps reports whether there is a policy that keeps every limit: with rounded totals one need not be the best.
func (r *sweptReport) keeps() bool {
	return r.Status == exact.Optimal.String() || r.Status == exact.Stopped.String()
}

// planSweep plans for every value, each plan starting from the policies of those before.
func (c *planCommand) planSweep(ctx context.Context, p *loaded) error {
	switch {
	case p.isGame():
		return usage("--sweep: %s: a game: want a problem with one player", p.name)
	case c.policy != "":
		return usage("--policy %s: a sweep has a policy for each plan; give --policies DIR", c.policy)
	case c.secondOpinion || c.credible.log != "":
		return usage("--sweep goes with neither --second-opinion nor --log")
	}
	if _, err := p.Planner(); err != nil {
		return usage("%s: %w", p.name, err)
	}
	if err := c.sweep.over.chooseSides(p); err != nil {
		return err
	}
	rep, begin := &sweepReport{subject: p.subject(), Plans: []*sweptReport{}}, time.Now()
	rep.Wanted = c.sweep.over.wanted(ctx, p)
	for _, l := range c.sweep.over {
		rep.Over = append(rep.Over, overWords(l))
	}
	opts, progress := c.exact(c.status, p.transitions(), p.Sense())
	opts.NoNearest = p.Horizon() == 0
	since := time.Now()
	for one, err := range p.Sweep(ctx, c.sweep.over, opts) {
		switch {
		case err != nil && one.Query == nil:
			return p.unvaried(err)
		case err != nil:
			return p.stopped(err)
		}
		if err := c.addSwept(p, one, time.Since(since), rep); err != nil {
			return err
		}
		since = time.Now()
	}
	progress.line.forgets()
	rep.Seconds = report.Number(time.Since(begin).Seconds())
	if err := c.drawSweep(rep.figure(p.title())); err != nil {
		return err
	}
	if err := c.write(rep.report(p), *c.format); err != nil {
		return err
	}
	status := func(one *sweptReport) string { return one.Status }
	return sweptVerdict(rep.Plans, status, p.verdict(exact.Undecided, c.iterations))
}

// drawSweep draws a sweep if that is asked for and a plan was found.
func (c *planCommand) drawSweep(f *chart.Figure) error {
	switch {
	case c.sweep.plot == "":
		return nil
	case len(f.Panels[0].Curves) == 0:
		c.say("nothing is drawn to %s: no plan was found", c.sweep.plot)
		return nil
	}
	return failed(f.Save(c.sweep.plot))
}

// chooseSides has each limit on the side that the problem limits, above if it limits none.
func (s sweepFlags) chooseSides(p *loaded) (err error) {
	for i := range s {
		l := &s[i]
		if slices.ContainsFunc(s[:i], func(k query.Span) bool { return k.Return == l.Return }) {
			return usage("--sweep: %s is given twice", l.Return)
		}
		l.Kind, err = p.Side(l.Return)
		switch {
		case err == nil:
		case errors.Is(err, query.ErrSides):
			return usage("--sweep: %w; take one away with --at-least %s=none or --at-most %s=none", err, l.Return,
				l.Return)
		case slices.ContainsFunc(p.Problem.Constants(), func(k problem.Constant) bool { return k.Name == l.Return }):
			return usage("--sweep: %s is a constant, which --set %s=VALUE sets for one plan", l.Return, l.Return)
		default:
			return usage("--sweep: %w", err)
		}
	}
	return nil
}

// add adds a plan of the sweep to its report, and writes its policy.
func (c *planCommand) addSwept(p *loaded, s *query.Swept, took time.Duration, rep *sweepReport) error {
	q := p.as(s.Query)
	one := &sweptReport{Limits: report.Numbers(s.Values), Prices: report.Numbers(s.Prices),
		planReport: *newPlanReport(q, s.Result, took)}
	rep.Plans = append(rep.Plans, one)
	if c.sweep.policies == "" || s.Result.Status != exact.Optimal && s.Result.Status != exact.Stopped {
		return nil
	}
	one.Policy = numberedPolicy(c.sweep.policies, "plan", len(rep.Plans), c.sweep.over.plans())
	if err := os.MkdirAll(filepath.Dir(one.Policy), 0o777); err != nil {
		return failed(err)
	}
	return failed(c.writeAnswer(q, one.Policy, s.Result.Policy, s.Result.Mixture, s.Result.Parts))
}

// sweptVerdict is infeasible if limits can be kept in none of the plans, and undecided if one of them is.
func sweptVerdict[P any](plans []P, status func(P) string, undecided error) error {
	is := func(s exact.Verdict) func(P) bool { return func(one P) bool { return status(one) == s.String() } }
	switch {
	case slices.ContainsFunc(plans, is(exact.Undecided)):
		return undecided
	case !slices.ContainsFunc(plans, func(one P) bool { return !is(exact.Infeasible)(one) }):
		return &exitError{exitInfeasible, nil}
	}
	return nil
}

// wanted describes goal and limits in a line. The limits that are swept stand
// without a number.
func (s sweepFlags) wanted(ctx context.Context, p *loaded) string {
	free, over := &variation{}, make([]string, len(s))
	for i, l := range s {
		for _, kind := range []string{query.AtLeast, query.AtMost} {
			free.Bounds = append(free.Bounds, query.Bound{Return: l.Return, Kind: kind, Value: math.Inf(1)})
		}
		over[i] = overWords(l)
	}
	rest, err := p.vary(ctx, free)
	if err != nil {
		rest = p
	}
	return rest.wanted() + ", swept over " + strings.Join(over, ", ")
}

// report declares the sweep as one table.
func (rep *sweepReport) report(p *loaded) *report.Report {
	t := report.NewTable(rep.Over...)
	shown := p.declared()
	if thresholdsOf(p) != nil { // which excess is looked at differs from plan to plan
		shown = p.Problem.Returns
	}
	t.Head("objective")
	t.Head(shown...)
	for _, l := range rep.Over {
		title := "price of " + strings.TrimRight(l, " ≤≥")
		if long := p.isFleet() || len(title) > 32; long && len(rep.Over) == 1 { // such as those of limits at each step
			title = "price"
		}
		t.Head(title)
	}
	scale, iterations := p.Scale(), 0
	for _, one := range rep.Plans {
		iterations += one.Iterations
		row, kept := report.Cells(one.Limits), one.keeps()
		if kept {
			row = append(row, one.Objective)
		} else {
			row = append(row, one.Status)
		}
		for i, name := range shown {
			// A chance that is limited to 0 or 1 is no return: its limit holds in every episode.
			j := slices.Index(one.Returns.Names, name)
			if kept && j >= 0 {
				row = append(row, report.Nonzero(one.Returns.Values[j], scale[i]))
			} else {
				row = append(row, report.NaN)
			}
		}
		t.Add(append(row, report.Cells(one.Prices)...)...)
	}
	notes := report.Note{priceNote}
	if p.Rounded() {
		notes = append(notes, p.roundedNote(), "The objectives are those of policies that keep the limits; JSON has the "+
			"bounds.")
	}
	return &report.Report{Data: rep, Sections: []report.Section{
		p.headed(rep.Wanted, fmt.Sprintf("%s, %s, %.3g s", count(len(rep.Plans), "plan"),
			count(iterations, "value iteration"), rep.Seconds)),
		t, notes, report.Only(t, report.CSV),
	}}
}

// rising turns a curve round that goes from the right to the left.
func rising(c *chart.Curve) {
	if n := len(c.X); n > 1 && c.X[0] > c.X[n-1] {
		slices.Reverse(c.X)
		slices.Reverse(c.Y)
	}
}

// figure draws optimum and prices against the first limit, a curve for each value of the
// others.
func (rep *sweepReport) figure(title string) *chart.Figure {
	name := strings.TrimRight(rep.Over[0], " ≤≥")
	panels := make([]chart.Panel, 1+len(rep.Over))
	panels[0] = chart.Panel{X: chart.Axis{Title: "limit on " + name}, Y: chart.Axis{Title: "objective"}}
	for i, l := range rep.Over {
		panels[1+i] = chart.Panel{X: chart.Axis{Title: "limit on " + name},
			Y: chart.Axis{Title: "price of " + strings.TrimRight(l, " ≤≥")}}
	}
	of := map[string]int{}
	for _, one := range rep.Plans {
		if !one.keeps() {
			continue
		}
		var others []string
		for i, x := range one.Limits[1:] {
			others = append(others, rep.Over[1+i]+" "+report.Short(x))
		}
		key := strings.Join(others, ", ")
		k, ok := of[key]
		if !ok {
			k = len(of)
			of[key] = k
			for i := range panels {
				panels[i].Curves = append(panels[i].Curves, chart.Curve{Name: key, Marks: true})
			}
		}
		for i := range panels {
			y := one.Objective
			if i > 0 {
				y = one.Prices[i-1]
			}
			curve := &panels[i].Curves[k]
			curve.X, curve.Y = append(curve.X, float64(one.Limits[0])), append(curve.Y, float64(y))
		}
	}
	f := &chart.Figure{Title: title + ": " + strings.Join(rep.Over, ", ") + " swept"}
	for _, panel := range panels {
		for k := range panel.Curves {
			rising(&panel.Curves[k])
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}
