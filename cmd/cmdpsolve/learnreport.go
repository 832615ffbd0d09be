package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/contest"

	"gonum.org/v1/gonum/floats"
)

// learnReport is the data of what learn found. With several seeds the
// numbers are means over the runs, and ci95 holds the half-widths of their 95%
// confidence intervals.
type learnReport struct {
	subject
	Algorithm  string                   `json:"algorithm"`
	Planner    string                   `json:"planner,omitempty"`
	Dual       string                   `json:"dual,omitempty"`
	Bonus      string                   `json:"bonus_scale,omitempty"`
	Guarantee  string                   `json:"guarantee"`
	Guaranteed bool                     `json:"guaranteed"`
	Failure    float64                  `json:"failure"`
	Returns    string                   `json:"returns"`
	Pooled     bool                     `json:"pooled"`
	Log        string                   `json:"log,omitempty"`
	RhoRule    string                   `json:"rho_rule"`
	Opponent   string                   `json:"opponent,omitempty"`
	Steps      int                      `json:"steps,omitempty"` // of endless runs
	Exact      *exactReport             `json:"exact"`
	Seeds      int                      `json:"seeds"`
	runReport                           // of the single run, or the means
	CI95       map[string]report.Number `json:"ci95,omitempty"`
	Runs       []*runReport             `json:"runs,omitempty"`
	Policies   []learnedPolicy          `json:"policies,omitempty"`
}

// runReport is what one run found.
type runReport struct {
	Episodes    int    `json:"episodes"`
	Interrupted bool   `json:"interrupted"`
	Seed        uint64 `json:"seed"`
	learned
	BestBound   report.Number      `json:"bound_best"`
	Certificate *certificateReport `json:"certificate"`
	Doublings   int                `json:"doublings"`
	Seconds     report.Number      `json:"seconds"`
	History     []recordReport     `json:"history"`
}

// certificateReport is a direction that separates the target from all that can
// be achieved, as far as the run can tell.
type certificateReport struct {
	*planCertificate
	Episode int           `json:"episode"`
	Share   report.Number `json:"share"`
}

// recordReport is what a run had found after an episode.
type recordReport struct {
	Episode int `json:"episode"`
	learned
}

// learned holds the numbers of a run, in the user's sense.
type learned struct {
	Average   named         `json:"average"`
	Expected  named         `json:"expected,omitzero"`
	Objective report.Number `json:"objective"`
	Violation report.Number `json:"violation"`
	Regret    report.Number `json:"regret"`
	Bound     report.Number `json:"bound"`
	Gap       report.Number `json:"gap"`
	Rho       report.Number `json:"rho"`
}

// report declares what the session found, whether or not it came to its end.
func (s *session) report(d *learnReport) *report.Report {
	return &report.Report{Data: d, Sections: []report.Section{
		s.heading(d), s.resultTable(d),
		report.Only(s.historyTable(d.History), report.Markdown, report.LaTeX, report.CSV),
		report.Only(s.historyTable(decades(d.History)), report.Terminal),
		s.notes(d), s.advise(d),
	}}
}

func (s *session) summary() *learnReport {
	rep := &learnReport{
		subject: s.p.subject(), Algorithm: s.Settings.Algorithms[0], Guarantee: s.Entrants[0].Guarantee,
		Failure: s.Failure, Returns: s.Returns, Pooled: s.Pool, Log: s.Log, RhoRule: string(s.rule()),
		Exact: newExactReport(s.p, &s.Answer), Seeds: s.Seeds,
	}
	if s.moma() {
		rep.Planner = s.Planner
		rep.Dual = s.Dual
		rep.Bonus = s.Bonus.String()
		rep.Guaranteed = s.Guaranteed()
	}
	if s.p.isGame() {
		rep.Opponent = s.Against.Policy
	}
	for _, t := range s.trials {
		rep.Runs = append(rep.Runs, s.runReport(t.Run))
	}
	rep.runReport = *rep.Runs[0]
	if s.Seeds == 1 {
		rep.Runs = nil
	} else {
		rep.average()
	}
	if s.Endless() {
		rep.Steps = rep.Episodes
	}
	return rep
}

// moma reports whether MOMA learns, which alone has bounds and a rho.
func (s *session) moma() bool { return s.Settings.Algorithms[0] == "moma" }

// rule is how rho is chosen.
func (s *session) rule() cmdp.PenaltyRule {
	if s.Task.Cost == nil || s.Task.Target == nil || s.Dual != "double" || !s.moma() {
		return cmdp.PenaltyNone
	}
	return s.Rho.Rule
}

func (s *session) runReport(r *contest.Run) *runReport {
	f := cmdp.Findings{Bound: math.NaN(), BestBound: math.NaN(), Gap: math.NaN(), Rho: math.NaN()}
	if finder, ok := r.Learner.(contest.Finder); ok {
		f = finder.Findings()
	}
	now := s.record(contest.Record{Episode: r.Runner.Episodes(), Average: r.Runner.Average(),
		Expected: r.Runner.Expected(),
		Metrics:  contest.Values{"bound": f.Bound, "gap": f.Gap, "rho": f.Rho}})
	rep := &runReport{
		Episodes: now.Episode, Interrupted: now.Episode < s.Episodes, Seed: r.Seed(), learned: now.learned,
		BestBound: report.Number(s.p.Sense() * f.BestBound), Certificate: s.certificate(f), Doublings: f.Doublings,
		Seconds: report.Number(r.Spent.Seconds()), History: []recordReport{},
	}
	for _, rec := range r.History {
		rep.History = append(rep.History, s.record(rec))
	}
	return rep
}

// record returns a record in the user's sense. Before the first episode there is nothing.
func (s *session) record(rec contest.Record) recordReport {
	out := recordReport{rec.Episode, learned{s.p.named(rec.Average), s.p.named(rec.Expected), report.NaN, report.NaN,
		report.NaN, report.NaN, report.NaN, report.NaN}}
	if s.moma() {
		out.Bound, out.Gap, out.Rho = report.Number(s.p.Sense()*rec.Metrics["bound"]),
			report.Number(rec.Metrics["gap"]), report.Number(rec.Metrics["rho"])
	}
	if rec.Episode == 0 {
		return out
	}
	out.Objective, out.Violation = report.Number(s.p.Objective(rec.Average)),
		report.Number(s.Task.Violation(rec.Average))
	if s.Task.Cost != nil {
		out.Regret = report.Number(s.Task.Cost.Value(rec.Average) - s.Answer.Optimum(s.Task))
	}
	return out
}

// certificate returns what the run says about the target being out of reach, nil
// if it says nothing. Without theory bonuses the largest estimate of the gap
// exceeds zero now and then by chance; it is reported only if most of the recent
// episodes agree.
func (s *session) certificate(f cmdp.Findings) *certificateReport {
	if !(f.Gap > 0) || !s.Guaranteed() && f.GapShare < 0.5 {
		return nil
	}
	y := make([]float64, len(f.GapDirection))
	s.Task.Target.MaximizeLinear(y, f.GapDirection)
	support := floats.Dot(f.GapDirection, y)
	return &certificateReport{newCertificate(s.p, f.GapDirection, support, support+f.Gap, f.Gap), f.GapEpisode,
		report.Number(f.GapShare)}
}

// learnerTitles say who learns where it is not MOMA.
var learnerTitles = map[string]string{
	"posterior": "posterior sampling with correction", "moma-posterior": "MOMA with drawn models",
	"posterior-safe": "posterior sampling held to the limits in 95% of the drawn models",
	"psconrl":        "PSConRL, posterior sampling without correction", "c-ucrl2": "C-UCRL with estimated transitions",
	"fha": "finite-horizon approximation",
}

// bonusWords describes a scale of bonuses.
func bonusWords(scale string) string {
	if _, err := strconv.ParseFloat(scale, 64); err == nil {
		return scale + " times the bonus of theory"
	}
	return scale + " bonus"
}

// heading says in a few lines what was run.
func (s *session) heading(rep *learnReport) report.Heading {
	text := learnerTitles[rep.Algorithm]
	if s.Support == "auto" {
		text += ", told the possible successors"
	}
	if s.moma() {
		text = fmt.Sprintf("MOMA, %s dual update, %s, %s, ", cmdp.Duals.Title(rep.Dual),
			cmdp.Planners.Title(rep.Planner), bonusWords(rep.Bonus))
		if rep.Guaranteed {
			text += fmt.Sprintf("bounds hold with probability %s", report.Short(1-rep.Failure))
		} else {
			text += "bounds not guaranteed"
		}
	}
	if s.Endless() {
		text += ", one run without end"
		if gamma := s.p.endless(); gamma < 1 {
			text += fmt.Sprintf(" that starts anew after each step with probability %s", report.Short(1-gamma))
		}
	}
	if rep.Pooled {
		text += ", counts pooled over steps"
	}
	if rep.Returns == "unknown" {
		text += ", returns learned"
	}
	if s.Log != "" {
		text += fmt.Sprintf(", started from %s of %s", count(s.Logged.Transitions, "transition"), s.Log)
	}
	if rep.Opponent != "" {
		text += ", against " + describeOpponent(s.Against)
	}
	played := fmt.Sprintf("%s, seed %d", count(rep.Episodes, unit(s.Contest)), rep.Seed)
	if rep.Seeds > 1 {
		played = fmt.Sprintf("%s in each of %d runs, seeds %d to %d, means ± 95%% intervals",
			count(rep.Episodes, unit(s.Contest)), rep.Seeds, s.Seed, s.Seed+uint64(s.Seeds)-1)
	}
	if rep.Interrupted {
		played += fmt.Sprintf(", interrupted (of %d)", s.Episodes)
	}
	return s.p.heading(text, fmt.Sprintf("%s, %.3g s", played, rep.Seconds))
}

// resultTable compares what was learned with the exact answer, which only a model has.
func (s *session) resultTable(rep *learnReport) *report.Table {
	t, policies := report.NewTable("", "learned", "exact"), rep.Policies
	if s.p.hello != nil {
		t, policies = report.NewTable("", "learned"), nil
	}
	for _, p := range policies {
		t.Head(p.Policy)
	}
	add := func(of func(learnedPolicy) any, row ...any) {
		for _, p := range policies {
			row = append(row, of(p))
		}
		t.Add(row[:len(t.Columns)]...)
	}
	none := func(learnedPolicy) any { return "" }
	cell := func(key string, x report.Number) any {
		if half, ok := rep.CI95[key]; ok && half == half {
			return report.Short(x) + " ± " + report.Brief(half)
		}
		return x
	}
	best := &exactReport{Objective: report.NaN, Distance: report.NaN}
	if rep.Exact != nil {
		best = rep.Exact
	}
	for i, name := range s.p.Returns {
		x, ok := best.Returns.Of(name)
		if !ok {
			x = report.NaN
		}
		add(func(p learnedPolicy) any { return p.Returns.Values[i] }, name, cell(name, rep.Average.Values[i]), x)
	}
	if s.Task.Cost != nil {
		add(func(p learnedPolicy) any { return p.Objective }, "objective", cell("objective", rep.Objective),
			best.Objective)
		if s.p.hello == nil {
			add(none, "regret", cell("regret", rep.Regret), "")
		}
	}
	if s.Task.Target != nil {
		add(func(p learnedPolicy) any { return p.Violation }, "violation", cell("violation", rep.Violation),
			best.distance())
	}
	if s.moma() && s.Dual == "double" {
		bound := map[bool]string{true: "optimum at most", false: "optimum at least"}[s.p.Sense() < 0]
		add(none, bound, cell("bound", rep.Bound), best.Objective)
	}
	return t
}

// historyTable lists records. The mean return stands in CSV alone.
func (s *session) historyTable(records []recordReport) *report.Table {
	t := report.NewTable(unit(s.Contest))
	for _, name := range s.p.Returns {
		t.Columns = append(t.Columns, report.Column{Title: name, In: []report.Format{report.CSV}})
	}
	t.Head("objective", "violation", "regret")
	if s.p.hello != nil { // programs find the column of regret, empty
		t.Columns[len(t.Columns)-1].In = []report.Format{report.CSV}
	}
	if s.moma() {
		t.Head("bound", "rho")
	}
	for _, rec := range records {
		row := append([]any{rec.Episode}, report.Cells(rec.Average.Values)...)
		row = append(row, rec.Objective, rec.Violation, rec.Regret)
		if s.moma() {
			row = append(row, rec.Bound, rec.Rho)
		}
		t.Add(row...)
	}
	return t
}

// decades keeps the records of episodes 1, 10, 100, … and of the last.
func decades(records []recordReport) []recordReport {
	var out []recordReport
	for i, rec := range records {
		if math.Mod(math.Log10(float64(rec.Episode)), 1) == 0 || i == len(records)-1 {
			out = append(out, rec)
		}
	}
	return out
}

// notes says what the tables do not.
func (s *session) notes(rep *learnReport) report.Note {
	if !s.moma() {
		return report.Note{"Guarantee: " + rep.Guarantee + "."}
	}
	var notes report.Note
	if rule := s.rule(); rule != cmdp.PenaltyNone {
		how := map[cmdp.PenaltyRule]string{
			cmdp.PenaltyGiven:    ", as given",
			cmdp.PenaltySlater:   ", from the Slater radius",
			cmdp.PenaltyModel:    ", twice the exact multiplier of the model",
			cmdp.PenaltyDoubling: " after " + count(rep.Doublings, "doubling"),
		}[rule]
		if rep.Seeds > 1 && rule == cmdp.PenaltyDoubling {
			how = " after doublings, on average over the runs"
		}
		notes = append(notes, fmt.Sprintf("The weight rho of the distance to the target is %s%s.",
			report.Short(rep.Rho), how))
	}
	if c := rep.Certificate; c != nil {
		sure := "Certificate: no policy meets the target; every one"
		if rep.Opponent != "" {
			sure = "Certificate: an opponent can keep the return from the target; it"
		}
		if !rep.Guaranteed {
			sure = "The target looks out of reach (not guaranteed with this bonus): every policy"
			if rep.Opponent != "" {
				sure = "An opponent looks able to keep the return from the target (not guaranteed with this bonus): it"
			}
		}
		notes = append(notes, fmt.Sprintf("%s stays at least %s away from it, found in episode %d in the direction %s.",
			sure, report.Short(c.Distance), c.Episode, s.direction(c.Direction)))
	} else if s.Task.Target != nil {
		notes = append(notes, "No certificate that the target is out of reach was found.")
	}
	return notes
}

func (s *session) direction(dir named) string {
	var parts []string
	for i, x := range dir.Values {
		if math.Abs(float64(x)) > 1e-12 {
			parts = append(parts, fmt.Sprintf("%s: %s", dir.Names[i], report.Brief(x)))
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
