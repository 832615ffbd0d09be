package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/robust"

	"gonum.org/v1/gonum/stat/combin"
)

// widthName stands for the width of intervals where --sweep has the name of a return.
const widthName = "interval"

// widths reports whether the width of intervals is swept. A return of that name is one.
func (s sweepFlags) widths(p *loaded) bool {
	isWidth := func(l query.Span) bool { return l.Return == widthName }
	return !slices.Contains(p.Limitable(), widthName) && slices.ContainsFunc(s, isWidth)
}

// robustSweep is the data of a sweep over sets of models.
type robustSweep struct {
	subject
	Over    []string       `json:"over"` // the limits, such as "cost ≤", or "interval"
	Plans   []*robustSwept `json:"plans"`
	Seconds report.Number  `json:"seconds"`
	results []*robust.Result
}

// robustSwept is one plan of such a sweep.
type robustSwept struct {
	Limits []report.Number `json:"limits"` // in the order of Over
	robustReport
}

// planRobustSweep plans at each point of a grid of limits and widths. Widths are added to what is uncertain already.
func (c *planCommand) planRobustSweep(ctx context.Context, p *loaded) error {
	switch {
	case c.policy != "":
		return usage("--policy %s: a sweep has a policy for each plan, and over intervals none is written: "+
			"plan for one width", c.policy)
	case c.sweep.policies != "":
		return usage("--policies %s: a sweep over intervals writes no policies: plan for one width with --policy",
			c.sweep.policies)
	case c.worst.worst != "":
		return usage("--worst %s: a sweep writes no models: plan for one width", c.worst.worst)
	}
	if err := c.fitsRobust(p); err != nil {
		return err
	}
	over := slices.Clone(c.sweep.over)
	limits := sweepFlags(slices.DeleteFunc(slices.Clone(over),
		func(l query.Span) bool { return l.Return == widthName }))
	if len(over)-len(limits) > 1 {
		return usage("--sweep: interval is given twice")
	}
	if err := limits.chooseSides(p); err != nil {
		return err
	}
	rep := &robustSweep{subject: subject{Problem: p.title(), Wanted: p.wanted()}, Plans: []*robustSwept{}}
	begin := time.Now()
	var counts []int
	for i, l := range over {
		if k := slices.IndexFunc(limits, func(m query.Span) bool { return m.Return == l.Return }); k >= 0 {
			over[i] = limits[k]
		}
		words := widthName
		if l.Return != widthName {
			words = overWords(over[i])
		}
		rep.Over = append(rep.Over, words)
		counts = append(counts, len(l.Values))
	}
	for grid := combin.NewCartesianGenerator(counts); grid.Next(); {
		if err := c.addRobustSwept(ctx, p, over, grid.Product(nil), rep); err != nil {
			return err
		}
	}
	rep.Seconds = report.Number(time.Since(begin).Seconds())
	if err := c.drawSweep(rep.figure(p.title())); err != nil {
		return err
	}
	if err := c.write(rep.report(p), *c.format); err != nil {
		return err
	}
	status := func(one *robustSwept) string { return one.Status }
	return sweptVerdict(rep.Plans, status, robustVerdict(robust.Undecided))
}

// addRobustSwept plans at one point. It starts from the policies of the plan before.
func (c *planCommand) addRobustSwept(
	ctx context.Context, p *loaded, over []query.Span, at []int, rep *robustSweep,
) error {
	one := &robustSwept{}
	var change variation
	for i, l := range over {
		x := l.Values[at[i]]
		one.Limits = append(one.Limits, report.Number(x))
		if l.Return == widthName {
			change.Widen = x
		} else {
			change.Bounds = append(change.Bounds, query.Bound{Return: l.Return, Kind: l.Kind, Value: x})
		}
	}
	of, err := p.vary(ctx, &change)
	if err != nil {
		return err
	}
	begin := time.Now()
	opts := c.robustOptions()
	if n := len(rep.results); n > 0 {
		for _, part := range rep.results[n-1].Plan() {
			opts.Start = append(opts.Start, part.Policy)
		}
	}
	r, _, err := c.solveRobust(ctx, of, of.Task, opts, c.status)
	if err != nil {
		return err
	}
	one.robustReport = *newRobustReport(of, r, time.Since(begin))
	rep.Plans = append(rep.Plans, one)
	rep.results = append(rep.results, r)
	return nil
}

// report declares the sweep as one table, which has a column for each bound in CSV.
func (rep *robustSweep) report(p *loaded) *report.Report {
	t, list := report.NewTable(rep.Over...), report.NewTable(rep.Over...)
	t.Head("objective", "bound", "status")
	t.Head(p.Returns...)
	list.Head("objective", "bound", "status")
	for _, name := range p.Returns {
		list.Head("least "+name, "greatest "+name)
	}
	scale := p.Scale()
	for _, one := range rep.Plans {
		row := append(report.Cells(one.Limits), one.Objective, one.Bound, one.Status)
		short := slices.Clone(row)
		for i := range p.Returns {
			least, greatest, both := report.NaN, report.NaN, "–"
			if one.found {
				b := one.Returns.Values[i]
				least, greatest = report.Nonzero(b.Least, scale[i]), report.Nonzero(b.Greatest, scale[i])
				both = b.text(scale[i])
			}
			row, short = append(row, least, greatest), append(short, both)
		}
		t.Add(short...)
		list.Add(row...)
	}
	notes := report.Note{"Objective is what the plan reaches in the worst model, bound what no policy beats in " +
		"every model. The returns are from the least to the greatest."}
	return &report.Report{Data: rep, Sections: []report.Section{
		p.headed(rep.Wanted+", swept over "+strings.Join(rep.Over, ", "),
			fmt.Sprintf("%s, %.3g s", count(len(rep.Plans), "plan"), rep.Seconds)),
		t, notes, report.Only(list, report.CSV),
	}}
}

// figure draws objective and bound against what is swept first.
func (rep *robustSweep) figure(title string) *chart.Figure {
	panel := chart.Panel{X: chart.Axis{Title: rep.Over[0]}, Y: chart.Axis{Title: "objective in the worst model"}}
	plan, bound := chart.Curve{Name: "plan", Marks: true}, chart.Curve{Name: "bound", Marks: true}
	for _, one := range rep.Plans {
		x := float64(one.Limits[0])
		add := func(c *chart.Curve, y report.Number) {
			if !math.IsNaN(float64(y)) && !math.IsInf(float64(y), 0) {
				c.X, c.Y = append(c.X, x), append(c.Y, float64(y))
			}
		}
		if one.Status == robust.Optimal.String() || one.Status == robust.Feasible.String() {
			add(&plan, one.Objective)
			add(&bound, one.Bound)
		}
	}
	for _, c := range []chart.Curve{plan, bound} {
		rising(&c)
		if len(c.X) > 0 {
			panel.Curves = append(panel.Curves, c)
		}
	}
	return &chart.Figure{Title: title + ": " + strings.Join(rep.Over, ", ") + " swept", Panels: []chart.Panel{panel}}
}
