package main

import (
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/robust"

	"gonum.org/v1/gonum/floats"
)

// simulateReport is the data of what simulate found. Violation is the distance
// of the mean returns from the target.
type simulateReport struct {
	subject
	Simulator  string                   `json:"env_command,omitempty"`
	Policy     string                   `json:"policy"`
	Components int                      `json:"components,omitempty"`
	Episodes   int                      `json:"episodes"`
	Seed       uint64                   `json:"seed"`
	Returns    report.Named[meanReport] `json:"returns"`
	Objective  report.Number            `json:"objective"`
	Violation  report.Number            `json:"violation"`
	Expected   expectedReport           `json:"expected"`
	Truncation *truncationReport        `json:"truncation"`
	// Branches are there if endless runs of the policy differ in their long-run means.
	Branches branchReports `json:"branches,omitempty"`
	// Distribution is there with --distribution.
	Distribution distributions      `json:"distribution,omitzero"`
	Uncertainty  *uncertaintyReport `json:"uncertainty,omitempty"`
	Seconds      report.Number      `json:"seconds"`
	keeps, kept  bool               // whether the policy and the mean returns keep the limits, up to rounding
}

// meanReport is a mean over the episodes, the half-width of its 95% confidence
// interval, and the exact expected value, NaN in a simulator. Stopping, of a long-run mean, bounds by how much
// the mean of the steps played is expected to differ from it.
type meanReport struct {
	Mean     report.Number  `json:"mean"`
	CI95     report.Number  `json:"ci95"`
	Expected report.Number  `json:"expected"`
	Stopping *report.Number `json:"stopping,omitempty"`
	// Least and Greatest are the extremes over the intervals of probabilities, if there are some.
	Least    *report.Number `json:"least,omitempty"`
	Greatest *report.Number `json:"greatest,omitempty"`
}

// over adds what expected returns can be over the intervals of a problem.
func (rep *simulateReport) over(p *loaded, b robust.Bounds) {
	for i := range rep.Returns.Values {
		least, greatest := report.Number(b.Least[i]), report.Number(b.Greatest[i])
		rep.Returns.Values[i].Least, rep.Returns.Values[i].Greatest = &least, &greatest
	}
	rep.Uncertainty = newUncertaintyReport(p)
}

// expectedReport holds what the exact expected returns amount to.
type expectedReport struct {
	Objective report.Number `json:"objective"`
	Violation report.Number `json:"violation"`
}

// truncationReport says after how many steps episodes without a horizon are cut,
// and what that may change of an expected return at most.
type truncationReport struct {
	Steps int           `json:"steps"`
	Error report.Number `json:"error"`
}

// withinBox returns a mean over episodes, moved into the box of possible returns. Episodes that are cut can return
// less, or more, than any that goes on: that breaks no limit.
func withinBox(p *loaded, mean []float64) []float64 {
	if p.Model == nil || p.Model.Horizon() > 0 || p.Task.Box == nil {
		return mean
	}
	possible := make([]float64, len(mean))
	p.Task.Box.Project(possible, mean)
	return possible
}

func newSimulateReport(p *loaded, s *query.Simulation, expected, stopping []float64) *simulateReport {
	rep := &simulateReport{
		subject: p.subject(), Episodes: s.Episodes, Returns: report.Named[meanReport]{Names: p.Returns},
		Objective: report.Number(p.Objective(s.Mean)), Violation: report.Number(p.Task.Violation(s.Mean)),
		Expected: expectedReport{report.Number(p.Objective(expected)), report.Number(p.Task.Violation(expected))},
	}
	if p.Model != nil {
		rep.keeps, rep.kept = p.Keeps(expected), p.Keeps(withinBox(p, s.Mean))
	}
	for i, x := range expected {
		m := meanReport{Mean: report.Number(s.Mean[i]), CI95: report.Number(s.Half(i)), Expected: report.Number(x)}
		if s.MeanSteps > 0 && p.Model.Mean(i) {
			m.Stopping = new(report.Number)
			*m.Stopping = report.Number(stopping[i])
		}
		rep.Returns.Values = append(rep.Returns.Values, m)
	}
	if n := len(s.Mixture); n > 1 {
		rep.Components = n
	}
	switch {
	case s.MeanSteps > 0:
		rep.Truncation = &truncationReport{s.MeanSteps, report.Number(floats.Max(stopping))}
	case s.Ends() && p.Model.Discount() < 1:
		rep.Truncation = &truncationReport{s.Steps,
			report.Number(math.Pow(p.Model.Discount(), float64(s.Steps)) * largestReturn(p))}
	}
	return rep
}

// largestReturn is the largest magnitude of a possible return.
func largestReturn(p *loaded) float64 {
	box, most := p.Task.Box, 0.0
	for i, x := range box.Lower() {
		most = max(most, math.Abs(x), math.Abs(box.Upper()[i]))
	}
	return most
}

func (rep *simulateReport) report(p *loaded) *report.Report {
	sections := []report.Section{
		p.heading(fmt.Sprintf("%s, seed %d, %.3g s", count(rep.Episodes, "episode"), rep.Seed, rep.Seconds)),
		report.Only(rep.means(p, report.Terminal), report.Terminal, report.Markdown, report.LaTeX),
		report.Only(rep.means(p, report.CSV), report.CSV), rep.notes(p),
	}
	for _, s := range rep.Branches.sections(p) {
		sections = append(sections, report.Only(s, report.Terminal, report.Markdown, report.LaTeX))
	}
	return &report.Report{Data: rep, Sections: append(sections,
		distributionSections(rep.Distribution, rep.Episodes, true)...)}
}

// means lists what the episodes gave beside what is to be expected. People do not see a
// violation that is rounding.
func (rep *simulateReport) means(p *loaded, f report.Format) *report.Table {
	columns := []string{"quantity", "mean", "ci95", "exact", "stopping"}
	switch {
	case p.Model == nil:
		columns = columns[:3]
	case !p.Model.Means():
		columns = columns[:4]
	}
	n := len(columns)
	if rep.Uncertainty != nil {
		columns = append(slices.Clip(columns), "least", "greatest")
	}
	t := report.NewTable(columns...)
	bounds := []any{"", ""}
	add := func(cells ...any) { t.Add(append(slices.Clip(cells[:n]), bounds[:len(columns)-n]...)...) }
	for i, m := range rep.Returns.Values {
		if m.Least != nil {
			bounds = []any{*m.Least, *m.Greatest}
		}
		var stopping any = ""
		if m.Stopping != nil {
			stopping = report.Rough(*m.Stopping)
		}
		add(p.Returns[i], m.Mean, report.Rough(m.CI95), m.Expected, stopping)
	}
	bounds = []any{"", ""}
	if p.Task.Cost != nil {
		add("objective", rep.Objective, "", rep.Expected.Objective, "")
	}
	if p.Task.Target != nil {
		met, expected := rep.Violation, rep.Expected.Violation
		if rep.kept && f != report.CSV {
			met = 0
		}
		if rep.keeps && f != report.CSV {
			expected = 0
		}
		add("violation", met, "", expected, "")
	}
	return t
}

// notes says in sentences what the table means.
func (rep *simulateReport) notes(p *loaded) report.Note {
	notes := report.Note{"The mean over the episodes has ± ci95 as its 95% confidence interval; exact is the " +
		"expected return of the policy."}
	if rep.Uncertainty != nil {
		notes = append(notes, "Episodes are those of the nominal model; least and greatest are what the expected "+
			"return can be over the intervals.")
	}
	switch {
	case p.Model == nil:
		notes = report.Note{"The mean over the episodes has ± ci95 as its 95% confidence interval; what is expected " +
			"of the policy in a simulator is not known."}
	case p.Task.Target == nil:
	case rep.keeps && rep.Branches.breaking():
		notes = append(notes, "The policy keeps every limit in the mean over all runs, but not in each of them.")
	case rep.keeps && rep.Uncertainty != nil:
		notes = append(notes, "In the nominal model the policy keeps every limit; cmdpsolve check --policy says "+
			"whether it does in every model.")
	case rep.keeps:
		notes = append(notes, "The policy keeps every limit.")
	default:
		notes = append(notes, fmt.Sprintf("The policy misses what is allowed by %s.",
			report.Short(rep.Expected.Violation)))
	}
	if rep.Components > 0 {
		notes = append(notes, fmt.Sprintf("Every episode draws one of the policy's %d components.", rep.Components))
	}
	switch t := rep.Truncation; {
	case t == nil:
	case p.Model.Means():
		notes = append(notes, fmt.Sprintf("An episode is %s; stopping there changes the expected mean by at most "+
			"what the column stopping says.", count(t.Steps, "step")))
	default:
		notes = append(notes, fmt.Sprintf("Episodes are cut after %s, which changes a return by at most %s.",
			count(t.Steps, "step"), report.Brief(t.Error)))
	}
	return notes
}
