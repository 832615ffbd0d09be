package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/query"
)

// distributions holds how each return varies from one episode to the next.
type distributions = report.Named[distributionReport]

// A distributionReport says how a return varies from one episode to the next. Exact tells that it was
// computed; else it is that of the episodes played, and CI95 holds the half-widths of 95% confidence intervals.
type distributionReport struct {
	Exact bool `json:"exact" csv:"exact"`
	// Episodes is how many were played, 0 where it was computed.
	Episodes int `json:"episodes,omitempty"`
	spread
	CI95      *spread     `json:"ci95,omitempty" csv:"ci95"`
	Histogram []binReport `json:"histogram"`
}

// spread is a mean, a standard deviation and what the returns of single episodes are like.
type spread struct {
	Mean      report.Number  `json:"mean" csv:"mean"`
	SD        report.Number  `json:"sd" csv:"sd"`
	Quantiles quantileReport `json:"quantiles" csv:"quantile"`
	CVaR      tailReport     `json:"cvar" csv:"cvar"`
}

// quantileReport holds quantiles: the least values that are not passed with these probabilities.
type quantileReport struct {
	P05 report.Number `json:"0.05" csv:"0.05"`
	P25 report.Number `json:"0.25" csv:"0.25"`
	P50 report.Number `json:"0.5" csv:"0.5"`
	P75 report.Number `json:"0.75" csv:"0.75"`
	P95 report.Number `json:"0.95" csv:"0.95"`
}

// tailReport holds the means of the twentieth of the episodes with the least and the greatest returns.
type tailReport struct {
	Lowest  report.Number `json:"lowest_0.05" csv:"lowest_0.05"`
	Highest report.Number `json:"highest_0.05" csv:"highest_0.05"`
}

// binReport is the probability of the values from From to To. CI95 is the half-width of its 95% confidence
// interval, 0 where it was computed.
type binReport struct {
	From        report.Number `json:"from"`
	To          report.Number `json:"to"`
	Probability report.Number `json:"probability"`
	CI95        report.Number `json:"ci95"`
}

// distributionsOf describes the returns of the policies of a simulation, see [query.Simulation.Distributions].
func distributionsOf(ctx context.Context, s *query.Simulation, names []string, episodes int) (distributions, error) {
	found, err := s.Distributions(ctx, episodes)
	return newDistributions(names, found), err
}

func newDistributions(names []string, found []query.Distribution) distributions {
	out := distributions{Names: names}
	for _, d := range found {
		out.Values = append(out.Values, newDistributionReport(&d))
	}
	return out
}

func newDistributionReport(d *query.Distribution) distributionReport {
	r := distributionReport{Exact: d.Episodes == 0, Episodes: d.Episodes, spread: newSpread(&d.Spread),
		Histogram: []binReport{}}
	if d.CI95 != nil {
		half := newSpread(d.CI95)
		r.CI95 = &half
	}
	for _, b := range d.Histogram {
		r.Histogram = append(r.Histogram, binReport{report.Number(b.From), report.Number(b.To),
			report.Number(b.Probability), report.Number(b.CI95)})
	}
	return r
}

func newSpread(s *query.Spread) spread {
	q := report.Numbers(s.Quantiles[:])
	return spread{report.Number(s.Mean), report.Number(s.SD), quantileReport{q[0], q[1], q[2], q[3], q[4]},
		tailReport{report.Number(s.Lowest), report.Number(s.Highest)}}
}

// checkEnds returns an error if one of the expected returns of a policy is infinite, or none: its episodes do not end.
func checkEnds(names []string, expected []float64) error {
	for i, x := range expected {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return fmt.Errorf("under this policy the total %s does not end, and neither does an episode", names[i])
		}
	}
	return nil
}

// episodesOfPlans is the number of episodes played for a return of a plan whose distribution cannot be computed.
const episodesOfPlans = 10_000

// distributed returns how the returns vary of a plan that is what is wanted, and writes the picture that is asked for.
func (c *planCommand) distributed(ctx context.Context, p *loaded, r *exact.Result) (d distributions, err error) {
	switch {
	case !c.distribution:
		return d, nil
	case r.Status != exact.Optimal && !stoppedWithPolicy(r):
		c.say("no distribution is shown: no policy is known that is optimal")
		return d, nil
	}
	sim := query.NewSimulation(p.Query, query.Draws(r.Policy, r.Mixture), 1, 1000)
	if err := checkEnds(p.Returns, r.Returns); err != nil && sim.Ends() {
		c.say("no distribution is shown: %v", err)
		return d, nil
	}
	d, err = distributionsOf(ctx, sim, p.Returns, episodesOfPlans)
	if err == nil && c.sweep.plot != "" {
		err = distributionFigure(p.title(), d).Save(c.sweep.plot)
	}
	return d, err
}

// distributionSections shows distributions to people, with a table for CSV too where csv says so.
func distributionSections(d distributions, episodes int, csv bool) []report.Section {
	if d.IsZero() {
		return nil
	}
	t := report.NewTable("per episode", "sd", "5%", "median", "95%", "lowest 5%", "highest 5%", "how")
	t.Columns[7].In = []report.Format{report.CSV}
	sampled := false
	for i, r := range d.Values {
		add := func(name, how string, s *spread, cell func(report.Number) any) {
			t.Add(name, cell(s.SD), cell(s.Quantiles.P05), cell(s.Quantiles.P50), cell(s.Quantiles.P95),
				cell(s.CVaR.Lowest), cell(s.CVaR.Highest), how)
		}
		add(d.Names[i], map[bool]string{true: "exact", false: "sampled"}[r.Exact], &r.spread,
			func(x report.Number) any { return x })
		if r.CI95 != nil {
			add("± 95%", "ci95", r.CI95, func(x report.Number) any { return report.Rough(x) })
			sampled = true
		}
	}
	note := "This table is about single episodes: lowest and highest 5% are the means of the least and the greatest " +
		"twentieth. "
	switch exact := slices.ContainsFunc(d.Values, func(r distributionReport) bool { return r.Exact }); {
	case !sampled:
		note += "All is computed exactly."
	case exact:
		note += fmt.Sprintf("Rows with a ± below them are sampled, in %s, and have 95%% confidence intervals; the "+
			"others are computed exactly.", count(episodes, "episode"))
	default:
		note += fmt.Sprintf("All is sampled, in %s, with 95%% confidence intervals.", count(episodes, "episode"))
	}
	sections := []report.Section{t, report.Note{note}}
	if csv {
		sections = append(sections, report.Only(t, report.CSV))
	}
	for i, r := range d.Values {
		sections = append(sections, report.Only(r.bars(d.Names[i]), report.Terminal, report.Markdown, report.LaTeX))
	}
	return sections
}

// bars is the histogram as a table.
func (r *distributionReport) bars(name string) *report.Table {
	const longest = 40
	t := &report.Table{Columns: []report.Column{{Title: name}, {Title: "probability"},
		{Align: report.Left, In: []report.Format{report.Terminal, report.Markdown}}}}
	most := report.Number(0)
	for _, b := range r.Histogram {
		most = max(most, b.Probability)
	}
	for _, b := range r.Histogram {
		at := report.Short(b.From)
		if b.To > b.From {
			at += " to " + report.Short(b.To)
		}
		p := report.Brief(b.Probability)
		if b.CI95 > 0 {
			p += " ± " + report.Brief(b.CI95)
		}
		eighths := int(math.Round(longest * 8 * float64(b.Probability/most)))
		if eighths == 0 && b.Probability > 0 {
			eighths = 1
		}
		t.Add(at, p, strings.Repeat("█", eighths/8)+strings.TrimSpace(string([]rune(" ▏▎▍▌▋▊▉")[eighths%8])))
	}
	return t
}

func distributionFigure(title string, d distributions) *chart.Figure {
	f := &chart.Figure{Title: title + ": returns of single episodes",
		Notes: []string{"Of many values the first and the last bar hold those beyond them too."}}
	for i, r := range d.Values {
		f.Panels = append(f.Panels, chart.Panel{X: chart.Axis{Title: d.Names[i]}, Y: chart.Axis{Title: "probability"},
			Curves: []chart.Curve{r.outline()}})
	}
	return f
}

// outline is the outline of the bars, over a band that fills them. All are of the same width, that of a value
// being half the least distance between values.
func (r *distributionReport) outline() chart.Curve {
	h, width, few := r.Histogram, math.Inf(1), r.Histogram[0].From == r.Histogram[0].To
	for i := range h[1:] {
		width = min(width, float64(h[i+1].From-h[i].From)/2)
	}
	if math.IsInf(width, 1) {
		width = 1
	}
	if !few {
		second := h[min(1, len(h)-1)] // a file may have any
		width = float64(second.To - second.From)
	}
	var c chart.Curve
	for i, b := range h {
		from, to, p := float64(b.From), float64(b.To), float64(b.Probability)
		switch {
		case few:
			from, to = from-width/2, to+width/2
		case i == 0:
			from = to - width
		case i == len(h)-1:
			to = from + width
		}
		c.X, c.Y = append(c.X, from, from, to, to), append(c.Y, 0, p, p, 0)
	}
	c.Low, c.High = make([]float64, len(c.X)), slices.Clone(c.Y)
	return c
}
