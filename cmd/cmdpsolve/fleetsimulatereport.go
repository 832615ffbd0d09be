package main

import (
	"fmt"
	"math"
	"strconv"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/chart"
	"cmdpsolve/cmdp/fleet"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// fleetSimulation is the data of what simulate found for a fleet. Returns, Objective and Violation are those of
// the first of Ways.
type fleetSimulation struct {
	subject
	Policy    string                   `json:"policy,omitempty"`
	Agents    int                      `json:"agents"`
	Episodes  int                      `json:"episodes"`
	Seed      uint64                   `json:"seed"`
	Bound     report.Number            `json:"bound"` // of the plan: no way to play the fleet does better in the mean
	Returns   report.Named[meanReport] `json:"returns"`
	Objective report.Number            `json:"objective"`
	Violation report.Number            `json:"violation"`
	Ways      []wayReport              `json:"ways"`
	// Truncation is there without a horizon.
	Truncation *truncationReport `json:"truncation,omitempty"`
	// Distribution is that of the first way, with --distribution.
	Distribution distributions `json:"distribution,omitzero"`
	Seconds      report.Number `json:"seconds"`
}

// wayReport is what came of one way to play the fleet. Objective is that of single episodes.
type wayReport struct {
	Way       string                   `json:"way"`
	Objective estimate                 `json:"objective"`
	Returns   report.Named[meanReport] `json:"returns"`
	// Kept is the share of the episodes that keep all limits, KeptSteps of those that keep the limits of single steps.
	Kept      shareReport         `json:"kept"`
	KeptSteps shareReport         `json:"kept_steps"`
	Limits    []limitPlayedReport `json:"limits"`
	Use       perStep             `json:"use,omitzero"`
	Safety    *safetyReport       `json:"safety,omitempty"`
}

// shareReport is a share of the episodes with the ends of its 95% confidence interval.
type shareReport struct {
	Share report.Number `json:"share"`
	Low   report.Number `json:"low"`
	High  report.Number `json:"high"`
}

func newShareReport(s fleet.Share) shareReport {
	return shareReport{report.Number(s.Share), report.Number(s.Low), report.Number(s.High)}
}

// limitPlayedReport says how a limit was kept. Step is 0 for the episode. Value is the mean of what is limited.
// Excess is the mean by which it is broken where it is, and Most the greatest. Exact is the probability with
// which it is broken, of agents on their own where their use can be counted.
type limitPlayedReport struct {
	Constraint string        `json:"constraint"`
	Return     string        `json:"return"`
	Step       int           `json:"step,omitempty"`
	Limit      report.Number `json:"limit"`
	Value      estimate      `json:"value"`
	Broken     shareReport   `json:"broken"`
	Excess     report.Number `json:"excess"`
	Most       report.Number `json:"most"`
	Exact      *exactBroken  `json:"exact,omitempty"`

	constraint int
	atLeast    bool
}

// exactBroken is the probability with which a limit is broken, and the mean by which it is where it is.
type exactBroken struct {
	Broken report.Number `json:"broken"`
	Excess report.Number `json:"excess"`
}

// safetyReport says what margins make the limits hold with a probability. Without is the objective of the plan
// without them.
type safetyReport struct {
	Probability report.Number  `json:"probability"`
	Met         bool           `json:"met"`
	Rounds      int            `json:"rounds"`
	Objective   report.Number  `json:"objective"`
	Without     report.Number  `json:"without"`
	Margins     []marginReport `json:"margins"`
}

// marginReport is the margin of a limit, and the probability with which it holds. Episodes were played to find
// that, 0 if it was computed.
type marginReport struct {
	Constraint string        `json:"constraint"`
	Margin     report.Number `json:"margin"`
	Holds      report.Number `json:"holds"`
	Episodes   int           `json:"episodes,omitempty"`
}

func newFleetSimulation(p *loaded, plan *fleet.Plan, c *simulateCommand) *fleetSimulation {
	rep := &fleetSimulation{subject: p.subject(), Policy: c.policy, Agents: p.Fleet().Agents(), Episodes: c.episodes,
		Seed: c.seed, Bound: report.NaN}
	if p.Task.Cost != nil {
		rep.Bound = report.Number(p.Sense() * plan.Bound)
	}
	return rep
}

// add adds what came of a way to play the fleet. Sums are the distributions of the limits, nil where they are
// not known.
func (rep *fleetSimulation) add(p *loaded, way fleetWay, played *fleet.Played, sums []*fleet.Sum) {
	f := p.Fleet()
	w := wayReport{Way: way.name, Objective: estimate{report.NaN, report.NaN},
		Returns: report.Named[meanReport]{Names: f.Returns},
		Kept:    newShareReport(played.Kept), KeptSteps: newShareReport(played.KeptSteps),
		Limits: []limitPlayedReport{}}
	if p.Task.Cost != nil {
		w.Objective = estimate{report.Number(p.Sense() * played.Each.Mean), report.Number(played.Each.Half)}
	}
	for i := range f.Returns {
		w.Returns.Values = append(w.Returns.Values, meanReport{Mean: report.Number(played.Mean[i]),
			CI95: report.Number(played.Half[i]), Expected: report.NaN})
	}
	for k, use := range f.Use(played.Mean) {
		w.Use.Names = append(w.Use.Names, f.Returns[f.EachStep[k]])
		w.Use.Values = append(w.Use.Values, report.Numbers(use))
	}
	rows := p.Rows()
	for k, l := range played.Limits {
		if k >= len(rows) { // a side of the target
			break
		}
		var sum *fleet.Sum
		if sums != nil {
			sum = sums[k]
		}
		w.Limits = append(w.Limits, newLimitPlayed(p, rows[k], l, sum))
	}
	if way.safe != nil {
		w.Safety = newSafetyReport(p, way.safe)
	}
	if len(rep.Ways) == 0 {
		rep.Returns = w.Returns
		rep.Objective = report.Number(p.Objective(played.Mean))
		rep.Violation = report.Number(p.Task.Violation(played.Mean))
	}
	rep.Ways = append(rep.Ways, w)
}

func newLimitPlayed(p *loaded, l *query.Limit, played fleet.LimitPlayed, sum *fleet.Sum) limitPlayedReport {
	sign := 1.0
	if l.AtLeast {
		sign = -1
	}
	out := limitPlayedReport{Constraint: l.Name, Return: l.Return, Step: l.Step, Limit: report.Number(l.Bound),
		Value:  estimate{report.Number(sign * played.Value.Mean), report.Number(played.Value.Half)},
		Broken: newShareReport(played.Broken), Excess: report.Number(played.Excess), Most: report.Number(played.Most),
		constraint: l.Constraint, atLeast: l.AtLeast}
	if l.Constraint >= 0 {
		out.Return = p.Problem.Constraints[l.Constraint].Return
	}
	if sum != nil {
		broken, excess := sum.Above(played.Offset), sum.Excess(played.Offset)
		if broken > 0 {
			excess /= broken
		}
		out.Exact = &exactBroken{report.Number(broken), report.Number(excess)}
	}
	return out
}

func newSafetyReport(p *loaded, s *fleet.Safe) *safetyReport {
	out := &safetyReport{Met: s.Met, Rounds: s.Rounds, Objective: report.NaN, Without: report.NaN,
		Margins: []marginReport{}}
	out.Probability = report.Number(s.Probability)
	if p.Task.Cost != nil {
		out.Objective = report.Number(p.Sense() * s.Objective)
		out.Without = report.Number(p.Sense() * s.Without.Objective)
	}
	for k, l := range p.Rows() {
		m := marginReport{Constraint: l.Name, Margin: report.Number(s.Margins[k]), Holds: report.NaN}
		if s.Holds != nil {
			m.Holds = report.Number(s.Holds[k].Probability)
			m.Episodes = s.Holds[k].Episodes
		}
		out.Margins = append(out.Margins, m)
	}
	return out
}

// sections say by how much each limit is tightened; there are none without margins.
func (s *safetyReport) sections() []report.Section {
	if s == nil {
		return nil
	}
	t := report.NewTable("constraint", "margin", "holds")
	for _, m := range s.Margins {
		if len(s.Margins) <= mostSteps || m.Margin > 0 && len(t.Rows) < mostSteps {
			t.Add(m.Constraint, m.Margin, percent(m.Holds))
		}
	}
	return []report.Section{t, s.notes()}
}

// notes say what the margins do.
func (s *safetyReport) notes() report.Note {
	if !s.Met {
		return report.Note{fmt.Sprintf("No margins were found with which each limit holds with probability %s.",
			report.Short(s.Probability))}
	}
	note := fmt.Sprintf("With margins each limit holds with probability %s or more, where agents are on their own.",
		report.Short(s.Probability))
	if !math.IsNaN(float64(s.Objective)) {
		note += fmt.Sprintf(" They change the objective of the plan from %s to %s.", report.Short(s.Without),
			report.Short(s.Objective))
	}
	return report.Note{note}
}

func (rep *fleetSimulation) report(p *loaded) *report.Report {
	heading := p.heading(fmt.Sprintf("%s, seed %d, %.3g s", count(rep.Episodes, "episode"), rep.Seed, rep.Seconds))
	sections := []report.Section{heading}
	for _, t := range []*report.Table{rep.comparison(p), rep.returnsTable(p), rep.groups(), rep.steps()} {
		sections = append(sections, report.Only(t, report.Terminal, report.Markdown, report.LaTeX))
	}
	sections = append(sections, report.Only(rep.everything(p), report.CSV), rep.notes(p))
	return &report.Report{Data: rep, Sections: append(sections,
		distributionSections(rep.Distribution, rep.Episodes, false)...)}
}

// figure draws for each return with limits at single steps in how many episodes they are broken, and the mean
// by which they are where they are, a curve for each way to play.
func (rep *fleetSimulation) figure(p *loaded) *chart.Figure {
	f := &chart.Figure{Title: p.title() + ": limits that episodes break",
		Notes: []string{"Bands are 95% confidence intervals. Of several limits at a step the one is drawn that is " +
			"broken most often."}}
	for _, use := range rep.Ways[0].Use.Names {
		often := chart.Panel{X: chart.Axis{Title: "step"}, Y: chart.Axis{Title: "episodes that break " + use}}
		much := chart.Panel{X: chart.Axis{Title: "step"}, Y: chart.Axis{Title: "excess of " + use}}
		for _, w := range rep.Ways {
			share := chart.Curve{Name: w.Way, Marks: true}
			excess := share
			for h := range p.Horizon() {
				worst := limitPlayedReport{Broken: shareReport{report.NaN, report.NaN, report.NaN}, Excess: report.NaN}
				for _, l := range w.Limits {
					if l.Return == use && l.Step == h+1 && !(l.Broken.Share <= worst.Broken.Share) {
						worst = l
					}
				}
				share.X = append(share.X, float64(h+1))
				share.Y = append(share.Y, float64(worst.Broken.Share))
				share.Low = append(share.Low, float64(worst.Broken.Low))
				share.High = append(share.High, float64(worst.Broken.High))
				excess.Y = append(excess.Y, float64(worst.Excess))
			}
			excess.X = share.X
			often.Curves = append(often.Curves, share)
			much.Curves = append(much.Curves, excess)
		}
		f.Panels = append(f.Panels, often, much)
	}
	return f
}

// everything is the table for programs: what each way comes to, and how it keeps each limit.
func (rep *fleetSimulation) everything(p *loaded) *report.Table {
	t := report.NewTable("way", "quantity", "mean", "ci95", "broken", "low", "high", "excess", "most", "exact")
	for _, w := range rep.Ways {
		if p.Task.Cost != nil {
			t.Add(w.Way, "objective", w.Objective.Mean, w.Objective.CI95, "", "", "", "", "", "")
		}
		for i, m := range w.Returns.Values {
			t.Add(w.Way, w.Returns.Names[i], m.Mean, m.CI95, "", "", "", "", "", "")
		}
		t.Add(w.Way, "all limits", "", "", 1-w.Kept.Share, 1-w.Kept.High, 1-w.Kept.Low, "", "", "")
		for _, l := range w.Limits {
			var exactly any = ""
			if l.Exact != nil {
				exactly = l.Exact.Broken
			}
			t.Add(w.Way, l.Constraint, l.Value.Mean, l.Value.CI95, l.Broken.Share, l.Broken.Low, l.Broken.High,
				l.Excess, l.Most, exactly)
		}
	}
	return t
}

// comparison compares the ways: goal reached, limits kept.
func (rep *fleetSimulation) comparison(p *loaded) *report.Table {
	t := report.NewTable("way", "objective", "ci95", "of bound", "all kept", "steps kept")
	for _, w := range rep.Ways {
		t.Add(w.Way, w.Objective.Mean, report.Rough(w.Objective.CI95),
			percentOf(float64(w.Objective.Mean), float64(rep.Bound)), percent(w.Kept.Share), percent(w.KeptSteps.Share))
	}
	if p.Task.Cost != nil {
		t.Add("bound", rep.Bound, "", "", "", "")
	}
	return t
}

// returnsTable has the mean returns of each way.
func (rep *fleetSimulation) returnsTable(p *loaded) *report.Table {
	t := report.NewTable("way")
	for _, name := range p.Fleet().Returns {
		t.Head(name, "ci95")
	}
	const most = 3 // returns that fit on a line
	if len(p.Fleet().Returns) > most {
		t = report.NewTable("way", "return", "mean", "ci95")
	}
	for _, w := range rep.Ways {
		row := []any{w.Way}
		for i, m := range w.Returns.Values {
			if len(w.Returns.Values) > most {
				t.Add(w.Way, w.Returns.Names[i], m.Mean, report.Rough(m.CI95))
				continue
			}
			row = append(row, m.Mean, report.Rough(m.CI95))
		}
		if len(w.Returns.Values) <= most {
			t.Add(row...)
		}
	}
	return t
}

func percentOf(part, whole float64) string {
	if !(math.Abs(whole) > 1e-6*(1+math.Abs(part))) { // rounding, or no number
		return ""
	}
	return strconv.FormatFloat(100*part/whole, 'f', 2, 64) + "%"
}

// groups lists, for each constraint and way, how the worst of its steps was kept.
func (rep *fleetSimulation) groups() *report.Table {
	t := report.NewTable("constraint", "way", "broken most often", "in", "excess", "most")
	if len(rep.Ways) < 2 {
		return t
	}
	for first := 0; first < len(rep.Ways[0].Limits); {
		end := first + 1
		limits := rep.Ways[0].Limits
		for end < len(limits) && limits[first].Step > 0 && limits[end].constraint == limits[first].constraint &&
			limits[end].atLeast == limits[first].atLeast {
			end++
		}
		for _, w := range rep.Ways {
			worst := w.Limits[first]
			for _, l := range w.Limits[first:end] {
				if l.Broken.Share > worst.Broken.Share {
					worst = l
				}
			}
			where := "the episode"
			if worst.Step > 0 {
				where = fmt.Sprintf("step %d", worst.Step)
			}
			limit := worst.Return + " " + problem.Relation(worst.atLeast) + " " + report.Short(worst.Limit)
			t.Add(limit, w.Way, where, percent(worst.Broken.Share), report.Rough(worst.Excess),
				report.Rough(worst.Most))
		}
		first = end
	}
	return t
}

// steps lists how each limit was kept when agents play the first way, those that were never broken left out
// where there are many.
func (rep *fleetSimulation) steps() *report.Table {
	t := report.NewTable("constraint", "broken", "low", "high", "exact", "excess", "most")
	if len(rep.Ways) == 0 {
		return t
	}
	limits := rep.Ways[0].Limits
	for _, l := range limits {
		if len(limits) > mostSteps && l.Broken.Share == 0 || len(t.Rows) >= mostSteps {
			continue
		}
		exactly := ""
		if l.Exact != nil {
			exactly = percent(l.Exact.Broken)
		}
		t.Add(l.Constraint, percent(l.Broken.Share), percent(l.Broken.Low), percent(l.Broken.High), exactly,
			report.Rough(l.Excess), report.Rough(l.Most))
	}
	return t
}

// notes says what the tables mean.
func (rep *fleetSimulation) notes(p *loaded) report.Note {
	notes := report.Note{}
	if p.Task.Cost != nil {
		notes = append(notes, "The bound is for every way to control the fleet that keeps the limits in "+
			"expectation. All kept are the episodes that keep every limit, steps kept those that keep the limits of "+
			"single steps.")
	}
	if len(p.Rows()) > 0 {
		notes = append(notes, fmt.Sprintf("The last table is about %q, where agents are on their own: low and high "+
			"are the ends of the 95%% confidence interval of broken, exact is its probability, excess the mean by "+
			"which a limit is broken where it is.", rep.Ways[0].Way))
	}
	if t := rep.Truncation; t != nil {
		notes = append(notes, fmt.Sprintf("Episodes are cut after %s: that changes an expected return by at most %s.",
			count(t.Steps, "step"), report.Short(t.Error)))
	}
	for _, w := range rep.Ways {
		if w.Safety != nil {
			notes = append(notes, w.Safety.notes()...)
		}
	}
	return notes
}
