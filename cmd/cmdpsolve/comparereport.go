package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
)

// A compareReport is what a comparison on one problem found.
type compareReport struct {
	Name string `json:"name,omitempty"` // in a suite that gives it one
	subject
	contest.Settings
	Steps       int           `json:"steps,omitempty"` // of endless runs
	Exact       *exactReport  `json:"exact"`
	Interrupted bool          `json:"interrupted"`
	Rows        []*compareRow `json:"rows"`
	heading     report.Heading
	regretless  report.Note // why there is no regret, or nothing
}

// A compareRow is one learner with the means over its runs of all metrics.
type compareRow struct {
	*contest.Entrant
	status, reason string // done, partial, or refused; why, or what is peculiar about what was done
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

func estimateOf(n int, of func(i int) float64) estimate {
	x := make([]float64, n)
	for i := range x {
		x[i] = of(i)
	}
	if n == 0 {
		return estimate{report.NaN, report.NaN}
	}
	mean, half := contest.MeanInterval(x)
	return estimate{report.Number(mean), report.Number(half)}
}

// report summarises the runs that are done.
func (c *event) report(times bool) *compareReport {
	rep := &compareReport{Name: c.Name, subject: subject{Problem: c.Title, Wanted: c.p.wanted()}, Settings: c.Settings,
		Exact: newExactReport(c.p, &c.Answer), heading: c.heading(), regretless: c.regretless()}
	if c.Endless() {
		rep.Steps = c.Episodes
	}
	for _, e := range c.Entrants {
		row := c.row(e, times)
		rep.Interrupted = rep.Interrupted || row.status == "partial"
		rep.Rows = append(rep.Rows, row)
	}
	return rep
}

// regretless says why there is no regret where there was nothing to go wrong.
func (c *event) regretless() report.Note {
	switch {
	case c.Task.Cost == nil:
		return report.Note{"No regret: the problem has no goal."}
	case c.p.isGame() && c.Task.Target != nil:
		return report.Note{"No regret: what a goal can reach within a target against an opponent is not known."}
	}
	return nil
}

// title is what tells the comparison from others.
func (rep *compareReport) title() string {
	if rep.Name == "" || rep.Name == rep.Problem {
		return rep.Problem
	}
	return rep.Name + ": " + rep.Problem
}

// heading says what was compared.
func (c *event) heading() report.Heading {
	lines := c.p.heading()
	if c.Name != "" && c.Name != c.Title {
		lines[0] = c.Name + ", " + lines[0]
	}
	if e := newExactReport(c.p, &c.Answer); e != nil {
		switch {
		case e.Status == "minimax":
			lines = append(lines, "value "+report.Short(e.Objective)+", which the agent can force")
		case e.Status == "infeasible":
			lines = append(lines, "no policy meets the target, the nearest return is "+report.Short(e.Distance)+
				" away from it")
		case e.Objective == e.Objective:
			lines = append(lines, "optimum "+report.Short(e.Objective))
		}
	}
	return append(lines, settingWords(&c.Settings, unit(c.Contest), c.p.isGame()))
}

func (c *event) row(e *contest.Entrant, times bool) *compareRow {
	row := &compareRow{Entrant: e, status: "done", seeds: []report.Object{}, history: []rowRecord{}}
	if e.Refused != "" {
		row.status, row.reason = "refused", e.Refused
		return row
	}
	var done []*contest.RunResult
	for _, r := range e.Results {
		if r != nil {
			done = append(done, r)
		}
	}
	row.runs = len(done)
	if row.runs < c.Seeds {
		row.status, row.reason = "partial", fmt.Sprintf("%d of %d runs", row.runs, c.Seeds)
	} else if c.p.Remembers() && e.ModelFree {
		row.reason = fmt.Sprintf("learns each of %d pairs of a state and what is remembered by itself",
			c.p.Model.States())
	}
	kept := contest.Metrics()
	if !times {
		kept = slices.DeleteFunc(kept, func(m contest.Metric) bool { return m.Key == contest.SecondsKey })
	}
	row.metrics = estimates(kept, row.runs, func(i int) contest.Values { return done[i].Metrics })
	if row.runs == 0 {
		return row
	}
	row.average.Names = c.p.Returns
	for i := range c.p.Returns {
		row.average.Values = append(row.average.Values,
			estimateOf(row.runs, func(j int) float64 { return done[j].Average[i] }))
	}
	for _, r := range done {
		values := contest.Values{}
		for _, m := range kept {
			values[m.Key] = r.Metrics[m.Key]
		}
		row.seeds = append(row.seeds, report.Object{{Key: "seed", Value: r.Seed}, {Key: "metrics", Value: values}})
	}
	for i, rec := range done[0].History {
		row.history = append(row.history, rowRecord{rec.Episode,
			estimates(contest.Drawn(), row.runs, func(j int) contest.Values { return done[j].History[i].Metrics })})
	}
	return row
}

func estimates(list []contest.Metric, n int, of func(i int) contest.Values) map[string]estimate {
	values := make(map[string]estimate, len(list))
	for _, m := range list {
		values[m.Key] = estimateOf(n, func(i int) float64 { return of(i)[m.Key] })
	}
	return values
}

// members returns metrics as members of an object, in their order.
func members(values map[string]estimate) (list report.Object) {
	for _, m := range contest.Metrics() {
		if x, ok := values[m.Key]; ok {
			list = append(list, report.Member{Key: m.Key, Value: x})
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
		{Key: "runs", Value: r.runs}, {Key: "nonlinear_cost", Value: r.NonlinearCost},
		{Key: "nonlinear_constraints", Value: r.NonlinearConstraints},
		{Key: "efficient", Value: r.Efficient}, {Key: "guarantee", Value: r.Guarantee},
		{Key: "source", Value: r.Source}, {Key: "planner", Value: r.Planner},
		{Key: "needs", Value: append([]string{}, r.Needs...)}, {Key: "told", Value: r.Told},
		{Key: "homogeneous", Value: r.Homogeneous},
	}...)
	if r.Published != "" {
		o = append(o, report.Member{Key: "published", Value: r.Published})
	}
	o = append(o, report.Member{Key: "certainty", Value: r.Certainty})
	o = append(o, members(r.metrics)...)
	if !r.average.IsZero() {
		o = append(o, report.Member{Key: "average", Value: r.average})
	}
	return append(o, report.Member{Key: "seeds", Value: r.seeds},
		report.Member{Key: "history", Value: r.history}).MarshalJSON()
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
	case len(r.Told) > 0 && r.status == "done":
		return "was told: " + strings.Join(r.Told, ", ")
	}
	return r.reason
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

// scaled returns a function that writes a multiple of a mean.
func scaled(factor float64, digits int, unit string) func(estimate) string {
	return func(e estimate) string {
		if e.Mean != e.Mean {
			return "–"
		}
		return strconv.FormatFloat(factor*float64(e.Mean), 'g', digits, 64) + unit
	}
}

// settingWords describes settings in a line, of a game without what is told of models
// that have one player.
func settingWords(c *contest.Settings, unit string, game bool) string {
	text := fmt.Sprintf("%s, %s of each learner (seed %d)", count(c.Episodes, unit), count(c.Seeds, "run"), c.Seed)
	if c.Seeds > 1 {
		text = fmt.Sprintf("%s, %d runs of each learner (seeds %d to %d), means ± 95%% intervals",
			count(c.Episodes, unit), c.Seeds, c.Seed, c.Seed+uint64(c.Seeds)-1)
	}
	text += ", " + bonusWords(c.Bonus.String())
	if c.Failure != contest.Defaults().Failure {
		text += fmt.Sprintf(", failure probability %g", c.Failure)
	}
	if c.Rho.Rule != cmdp.PenaltyDoubling {
		text += ", rho " + c.Rho.String()
	}
	if c.Planner != cmdp.DefaultPlanner(game) && !game {
		text += ", planner " + c.Planner
	}
	if c.Opponent != "" && game {
		text += ", against " + string(c.Opponent)
	}
	if c.Pool {
		text += ", counts pooled over steps"
	}
	if c.Returns == "unknown" {
		text += ", returns learned"
	}
	if c.Changing != (contest.Changing{}) {
		text += ", returns change: " + c.Changing.String()
	}
	if c.Lazy {
		text += ", programs solved when a count has doubled"
	}
	if c.Margin != baseline.DefaultKnapsackMargin {
		text += fmt.Sprintf(", %g of the budgets set aside", c.Margin)
	}
	for _, k := range []struct{ what, value string }{{"Slater constant", c.Slater}, {"safe policy", c.Safe},
		{"null policy", c.Null}, {"possible successors", c.Support}} {
		switch {
		case k.value == "none" || game:
		case k.value == "auto":
			text += ", " + k.what + " from the model"
		default:
			text += ", " + k.what + " " + k.value
		}
	}
	return text
}
