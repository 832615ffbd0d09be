package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A compareReport is what a comparison on one problem found.
type compareReport struct {
	Name    string `json:"name,omitempty"` // in a suite that gives it one
	Problem string `json:"problem"`
	compareSettings
	Exact       *exactReport  `json:"exact"`
	Interrupted bool          `json:"interrupted"`
	Rows        []*compareRow `json:"rows"`
	heading     report.Heading
}

// A compareRow is one learner with the means over its runs of all metrics.
type compareRow struct {
	*entrant
	status, reason string // done, partial, or refused
	runs           int
	metrics        map[string]estimate
	average        report.Named[estimate]
	seeds          []report.Object
	history        []rowRecord
}

// A rowRecord has the means of those metrics that are drawn, after an episode.
type rowRecord struct {
	Episode int
	metrics map[string]estimate
}

// An estimate is a mean over runs with the half-width of its 95% interval.
type estimate struct {
	Mean report.Number `json:"mean"`
	CI95 report.Number `json:"ci95"`
}

func estimateOf(n int, of func(i int) report.Number) estimate {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(of(i))
	}
	if n == 0 {
		return estimate{report.NaN, report.NaN}
	}
	mean, half := meanCI(x)
	return estimate{report.Number(mean), report.Number(half)}
}

// meanCI returns the mean and the half-width of its 95% confidence interval by
// Student's t; NaN for less than two numbers.
func meanCI(x []float64) (mean, half float64) {
	mean, sd := stat.MeanStdDev(x, nil)
	n := float64(len(x))
	if n < 2 {
		return mean, math.NaN()
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return mean, t * sd / math.Sqrt(n)
}

// report summarises the runs that are done.
func (c *contest) report(times bool) *compareReport {
	rep := &compareReport{Name: c.name, Problem: c.p.title(), compareSettings: c.compareSettings, Exact: c.exactReport(), heading: c.heading()}
	for _, e := range c.entrants {
		row := c.row(e, times)
		rep.Interrupted = rep.Interrupted || row.status == "partial"
		rep.Rows = append(rep.Rows, row)
	}
	return rep
}

// title is what tells the comparison from others.
func (rep *compareReport) title() string {
	if rep.Name == "" || rep.Name == rep.Problem {
		return rep.Problem
	}
	return rep.Name + ": " + rep.Problem
}

func (c *contest) exactReport() *exactReport {
	s := session{p: c.p, best: c.best}
	return s.exactReport()
}

// heading says what was compared.
func (c *contest) heading() report.Heading {
	lines := c.p.heading()
	if c.name != "" && c.name != c.p.title() {
		lines[0] = c.name + ", " + lines[0]
	}
	if c.best != nil {
		switch e := c.exactReport(); {
		case e.Status == "infeasible":
			lines = append(lines, "no policy meets the target, the nearest return is "+report.Short(e.Distance)+" away from it")
		case e.Objective == e.Objective:
			lines = append(lines, "optimum "+report.Short(e.Objective))
		}
	}
	return append(lines, c.words(c.p.isGame()))
}

func (c *contest) row(e *entrant, times bool) *compareRow {
	row := &compareRow{entrant: e, status: "done", seeds: []report.Object{}, history: []rowRecord{}}
	if e.refused != "" {
		row.status, row.reason = "refused", e.refused
		return row
	}
	var done []*trialResult
	for _, r := range e.results {
		if r != nil {
			done = append(done, r)
		}
	}
	row.runs = len(done)
	if row.runs < c.Seeds {
		row.status, row.reason = "partial", fmt.Sprintf("%d of %d runs", row.runs, c.Seeds)
	}
	kept := slices.Clone(metrics)
	if !times {
		kept = slices.DeleteFunc(kept, func(m metric) bool { return m.key == secondsKey })
	}
	row.metrics = estimates(kept, row.runs, func(i int) map[string]report.Number { return done[i].Metrics })
	if row.runs == 0 {
		return row
	}
	row.average.Names = c.p.Returns
	for i := range c.p.Returns {
		row.average.Values = append(row.average.Values, estimateOf(row.runs, func(j int) report.Number { return done[j].Average[i] }))
	}
	for _, r := range done {
		values := map[string]report.Number{}
		for _, m := range kept {
			values[m.key] = r.Metrics[m.key]
		}
		row.seeds = append(row.seeds, report.Object{{Key: "seed", Value: r.Seed}, {Key: "metrics", Value: values}})
	}
	for i, rec := range done[0].History {
		row.history = append(row.history, rowRecord{rec.Episode,
			estimates(metrics[:drawn], row.runs, func(j int) map[string]report.Number { return done[j].History[i].Metrics })})
	}
	return row
}

func estimates(list []metric, n int, of func(i int) map[string]report.Number) map[string]estimate {
	values := make(map[string]estimate, len(list))
	for _, m := range list {
		values[m.key] = estimateOf(n, func(i int) report.Number { return of(i)[m.key] })
	}
	return values
}

// members returns metrics as members of an object, in their order.
func members(values map[string]estimate) (list report.Object) {
	for _, m := range metrics {
		if x, ok := values[m.key]; ok {
			list = append(list, report.Member{Key: m.key, Value: x})
		}
	}
	return list
}

// MarshalJSON puts the metrics between what the learner can do and the history.
func (r *compareRow) MarshalJSON() ([]byte, error) {
	o := report.Object{{Key: "algorithm", Value: r.Name}, {Key: "status", Value: r.status}}
	if r.reason != "" {
		o = append(o, report.Member{Key: "reason", Value: r.reason})
	}
	o = append(o, report.Object{
		{Key: "runs", Value: r.runs}, {Key: "nonlinear_cost", Value: r.NonlinearCost}, {Key: "nonlinear_constraints", Value: r.NonlinearConstraints},
		{Key: "efficient", Value: r.Efficient}, {Key: "guarantee", Value: r.Guarantee}, {Key: "source", Value: r.Source}, {Key: "planner", Value: r.Planner},
		{Key: "needs", Value: append([]string{}, r.Needs...)}, {Key: "told", Value: r.told}, {Key: "homogeneous", Value: r.Homogeneous},
	}...)
	if r.Published != "" {
		o = append(o, report.Member{Key: "published", Value: r.Published})
	}
	o = append(o, report.Member{Key: "certainty", Value: r.Certainty})
	o = append(o, members(r.metrics)...)
	if !r.average.IsZero() {
		o = append(o, report.Member{Key: "average", Value: r.average})
	}
	return append(o, report.Member{Key: "seeds", Value: r.seeds}, report.Member{Key: "history", Value: r.history}).MarshalJSON()
}

// MarshalJSON puts the metrics beside the episode.
func (r rowRecord) MarshalJSON() ([]byte, error) {
	return append(report.Object{{Key: "episode", Value: r.Episode}}, members(r.metrics)...).MarshalJSON()
}

// note says what is particular about a row.
func (r *compareRow) note() string {
	switch {
	case r.status == "refused":
		return "not run: " + r.reason
	case r.status == "partial":
		return r.reason
	case len(r.told) > 0:
		return "was told: " + strings.Join(r.told, ", ")
	}
	return ""
}

// cell writes an estimate for people.
func (e estimate) cell() string {
	switch {
	case math.IsNaN(float64(e.Mean)) || math.IsInf(float64(e.Mean), 0):
		return "–"
	case e.CI95 != e.CI95:
		return report.Brief(e.Mean)
	}
	return report.Brief(e.Mean) + " ± " + strconv.FormatFloat(float64(e.CI95), 'g', 2, 64)
}

// percent writes a share.
func (e estimate) percent() string {
	if e.Mean == e.Mean {
		return strconv.FormatFloat(100*float64(e.Mean), 'g', 3, 64) + "%"
	}
	return "–"
}

// milliseconds writes seconds as such.
func (e estimate) milliseconds() string {
	if e.Mean == e.Mean {
		return strconv.FormatFloat(1000*float64(e.Mean), 'g', 2, 64)
	}
	return "–"
}
