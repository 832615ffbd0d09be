package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cmdp/robust"

	"github.com/spf13/pflag"
)

func (o *memoryOptions) addInterval(f *pflag.FlagSet) {
	f.Float64Var(&o.interval, "interval", 0,
		"take every probability for known up to this `WIDTH` on each side only; see cmdpsolve help intervals")
}

// widened returns the problem with probabilities that are known up to what --interval says.
func (o *memoryOptions) widened(p *problem.Problem, name string) (*problem.Problem, error) {
	switch {
	case !(o.interval >= 0 && o.interval <= 1):
		return nil, usage("--interval %g: want 0 to 1", o.interval)
	case o.interval == 0:
		return p, nil
	case p.Model == nil:
		return nil, usage("--interval: %s is a simulator, whose probabilities nobody knows", name)
	}
	wider, err := p.Widened(o.interval)
	if err != nil {
		return nil, usage("--interval: %s: %w", name, trim(err))
	}
	return wider, nil
}

// set returns the set of models of an uncertain problem.
func (p *loaded) set(spec robust.Spec) (*robust.Set, error) {
	set, err := p.Set(spec)
	if err != nil {
		return nil, usage("%s: %w", p.name, trim(err))
	}
	return set, nil
}

// exactly refuses a problem with intervals where exact probabilities are needed.
func (p *loaded) exactly(what string) error {
	if p.Uncertain() {
		return usage("%s: %s has intervals of probabilities: want exact ones", what, p.name)
	}
	return nil
}

// nominally says that the nominal model stands for a problem with intervals.
func (s streams) nominally(p *loaded, what string) {
	if p.Uncertain() {
		s.say("%s has intervals of probabilities: %s the nominal model, "+
			"whose probabilities lie at the same share of each interval", p.name, what)
	}
}

// worstOptions ask for a model that is worst for a plan.
type worstOptions struct {
	worst string
	of    string
}

func (o *worstOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.worst, "worst", "",
		"with intervals, write the model of the set that is worst for the plan to `FILE`, .yaml; "+
			"where no policy keeps the limits, the model that proves it")
	f.StringVar(&o.of, "worst-for", "",
		"what --worst is about: goal, or the `RETURN` of a limit (default: the limit that binds most, else the goal)")
}

func (o *worstOptions) check() error {
	switch {
	case o.of != "" && o.worst == "":
		return usage("--worst-for %s: give --worst FILE too", o.of)
	case o.worst != "" && !isProblemFile(o.worst):
		return usage("--worst %s: want a problem file, .yaml", o.worst)
	}
	return nil
}

// uncertaintyReport says how much is not known of the probabilities.
type uncertaintyReport struct {
	// Each is step or model, Choices how many choices have intervals, Width the longest.
	Each    problem.Each  `json:"each"`
	Choices int           `json:"choices" csv:"choices"`
	Width   report.Number `json:"width" csv:"width"`
}

func newUncertaintyReport(p *loaded) *uncertaintyReport {
	if !p.Uncertain() {
		return nil
	}
	iv := p.Problem.Intervals
	return &uncertaintyReport{cmp.Or(p.Problem.Uncertainty.Each, problem.EachStep), iv.Rows(),
		report.Number(iv.Width())}
}

// String describes the intervals in a line.
func (u *uncertaintyReport) String() string {
	when := "different at every visit"
	if u.Each == problem.EachModel {
		when = "the same at every visit"
	}
	return fmt.Sprintf("%s with intervals of probabilities, up to %s wide, %s",
		count(u.Choices, "choice"), report.Short(u.Width), when)
}

// boundsReport is what a return can be over a set.
type boundsReport struct {
	Least    report.Number `json:"least" csv:"least"`
	Greatest report.Number `json:"greatest" csv:"greatest"`
}

// text writes the bounds with four digits, 0 for what is zero up to rounding beside others of the size scale.
func (b *boundsReport) text(scale float64) string {
	digits := func(x report.Number) string {
		if math.Abs(float64(x)) <= 1e-12*scale {
			x = 0
		}
		return strconv.FormatFloat(float64(x), 'g', 4, 64)
	}
	return digits(b.Least) + " to " + digits(b.Greatest)
}

func boundsOf(p *loaded, b robust.Bounds) report.Named[boundsReport] {
	out := report.Named[boundsReport]{Names: p.Returns}
	for i := range b.Least {
		out.Values = append(out.Values, boundsReport{report.Number(b.Least[i]), report.Number(b.Greatest[i])})
	}
	return out
}

// robustReport is the data of a plan for a set of models. Objective is the worst over the set, in the user's sense.
type robustReport struct {
	subject
	Status string `json:"status" csv:"status"`
	planWorth
	// Returns are those over the set, Nominal those in the nominal model, whose own optimum is NominalOptimum.
	Returns        report.Named[boundsReport] `json:"returns" csv:"return"`
	Nominal        named                      `json:"nominal" csv:"nominal"`
	NominalOptimum report.Number              `json:"nominal_optimum" csv:"nominal_optimum"`
	planLimits                                // in the worst model
	Uncertainty    *uncertaintyReport         `json:"uncertainty" csv:"uncertainty"`
	planDraws
	// Drawn are the policies, there if one of several is drawn.
	Drawn       []drawnReport    `json:"drawn,omitempty"`
	Certificate *planCertificate `json:"certificate" csv:"certificate"`
	memoryReport
	// Worst is there with --worst.
	Worst *worstReport `json:"worst,omitempty" csv:"worst"`
	// Confidence is there for intervals from a log.
	Confidence *confidenceReport `json:"confidence,omitempty" csv:"confidence"`
	Iterations int               `json:"iterations" csv:"iterations"`
	// Stopped says that the time of --budget was over before the search was.
	Stopped bool             `json:"stopped,omitempty"`
	Seconds report.Number    `json:"seconds"`
	policy  []report.Section // with --show
	found   bool             // there is a plan, whose returns are known
}

// drawnReport is a policy that is drawn at the start.
type drawnReport struct {
	Probability report.Number              `json:"probability"`
	Returns     report.Named[boundsReport] `json:"returns"`
	// Breaks names the limits that it breaks in some model of the set.
	Breaks []string `json:"breaks"`
}

// newDrawnReports computes what the returns of each policy that a plan draws can be.
func newDrawnReports(ctx context.Context, p *loaded, set *robust.Set, r *robust.Result) ([]drawnReport, error) {
	var out []drawnReport
	for _, c := range r.Mixture {
		b, err := set.Evaluate(ctx, c.Policy)
		if err != nil {
			return nil, p.stopped(err)
		}
		d := drawnReport{Probability: report.Number(c.Weight), Returns: boundsOf(p, b), Breaks: []string{}}
		for k, l := range p.Rows() {
			if r.Limits[k].Excess(b.Least, b.Greatest) > r.Tolerance {
				d.Breaks = append(d.Breaks, l.Name)
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// drawnTable lists the policies that are drawn at the start, the first of many.
func (d *robustReport) drawnTable(p *loaded) *report.Table {
	t := report.NewTable("drawn", "probability")
	t.Head(p.Returns...)
	t.Head("breaks")
	sides := p.Scale()
	for n, of := range d.Drawn[:min(len(d.Drawn), mostBranches)] {
		row := []any{n + 1, of.Probability}
		for i, b := range of.Returns.Values {
			row = append(row, b.text(sides[i]))
		}
		t.Add(append(row, cmp.Or(strings.Join(of.Breaks, ", "), "none"))...)
	}
	return t
}

// worstReport says which model was written.
type worstReport struct {
	File string `json:"file"`
	// For is what the model is worst for, and Returns are those of the plan there.
	For     string `json:"for"`
	Returns named  `json:"returns" csv:"return"`
}

func (c *planCommand) planRobust(ctx context.Context, p *loaded, from *confidenceReport) error {
	if err := c.fitsRobust(p); err != nil {
		return err
	}
	begin := time.Now()
	r, set, err := c.solveRobust(ctx, p, p.Task, c.robustOptions(), c.status)
	if err != nil {
		return err
	}
	d := newRobustReport(p, r, time.Since(begin))
	d.Confidence = from
	d.Drawn, err = newDrawnReports(ctx, p, set, r)
	if err != nil {
		return err
	}
	answer := &exact.Result{Status: exact.Optimal, Policy: r.Policy, Mixture: r.Mixture, Returns: r.Returns}
	kept := r.Status == robust.Optimal || r.Status == robust.Feasible
	if !kept {
		answer.Status = exact.Undecided
	}
	d.policy, err = c.shownPolicy(ctx, p, answer)
	if err != nil {
		return p.stopped(err)
	}
	d.Worst, err = c.writeWorst(ctx, p, set, r)
	if err != nil {
		return err
	}
	writeErr := c.writePolicy(p, answer)
	return cmp.Or(c.write(d.report(p), *c.format), failed(writeErr), robustVerdict(r.Status))
}

// fitsRobust refuses what makes no sense over a set of models.
func (c *planCommand) fitsRobust(p *loaded) error {
	if flag := firstGiven(option{"--second-opinion", c.secondOpinion}, option{"--distribution", c.distribution},
		option{"--opponent-policy", c.opponentPolicy != ""}); flag != "" {
		return p.exactly(flag)
	}
	if len(p.Of(query.WorstEpisodes)) > 0 {
		return usage("%s: limits on the mean of the worst episodes (cvar) and intervals of probabilities: "+
			"want one of them", p.name)
	}
	return p.onePlayer()
}

// robustOptions are the options of a search over a set of models.
func (o *planOptions) robustOptions() robust.SolveOptions {
	opts := robust.SolveOptions{Gap: o.gap, Exact: o.solver(nil), Budget: o.budget}
	opts.Exact.Gap = 0
	return opts
}

func (c *planCommand) robustOptions() robust.SolveOptions {
	opts := c.planOptions.robustOptions()
	opts.Deterministic = c.deterministic
	if opts.Deterministic {
		opts.Nodes = c.nodes
	}
	return opts
}

// solveRobust plans for a task over the set of a problem. The line shows how far that is.
func (o *planOptions) solveRobust(
	ctx context.Context, p *loaded, task cmdp.Task, opts robust.SolveOptions, line *statusLine,
) (*robust.Result, *robust.Set, error) {
	set, err := p.set(robust.Spec{Workers: o.parallel})
	if err != nil {
		return nil, nil, err
	}
	opts.Progress = func(rounds int, bound, objective float64) { line.round(p.Sense(), rounds, bound, objective) }
	defer line.forgets()
	r, err := robust.Solve(ctx, set, task, opts)
	if err != nil {
		return nil, nil, p.stopped(err)
	}
	if p.Rounded() && r.Status == robust.Infeasible {
		r.Status, r.Certificate = robust.Undecided, nil
	}
	return r, set, nil
}

// robustVerdict is the error that gives the exit status.
func robustVerdict(status robust.Status) error {
	switch status {
	case robust.Infeasible:
		return &exitError{exitInfeasible, nil}
	case robust.Undecided:
		return failed(errors.New("undecided: no plan was found that keeps the limits in every model of the " +
			"intervals,\n" +
			"and no model in which no policy keeps them"))
	}
	return nil
}

func newRobustReport(p *loaded, r *robust.Result, took time.Duration) *robustReport {
	d := &robustReport{
		subject:        p.subject(),
		Status:         r.Status.String(),
		planWorth:      planWorth{report.NaN, report.NaN, report.NaN},
		NominalOptimum: report.NaN,
		Returns:        boundsOf(p, r.Bounds),
		Nominal:        p.named(r.Returns),
		planLimits: planLimits{report.Number(r.Violation), report.Number(r.Tolerance), []report.Number{},
			[]limitReport{}},
		// A log of sure choices has none.
		Uncertainty:  cmp.Or(newUncertaintyReport(p), &uncertaintyReport{Each: problem.EachStep}),
		planDraws:    planDraws{r.Policy.Randomized(), len(r.Mixture)},
		memoryReport: memoryOf(p),
		Iterations:   r.Rounds,
		Seconds:      report.Number(took.Seconds()),
		Stopped:      r.Stopped,
		found:        r.Returns != nil,
	}
	for _, c := range r.Mixture {
		d.Randomized += c.Policy.Randomized()
	}
	if p.Task.Cost != nil && d.found {
		d.Objective = report.Number(p.Sense() * r.Objective)
		d.Bound = report.Number(p.Sense() * r.Bound)
		d.Gap = report.Number(r.Gap)
	}
	if p.Task.Cost != nil && r.Nominal != nil && r.Nominal.Status == exact.Optimal {
		d.NominalOptimum = report.Number(p.Sense() * r.Nominal.Objective)
	}
	if r.Status == robust.Infeasible {
		d.Violation = report.NaN
		d.Tolerance = report.NaN
	}
	d.addLimits(p, r)
	if c := r.Certificate; c != nil {
		d.Certificate = certificateOf(p, c)
	}
	return d
}

// addLimits lists the limits with what the worst model leaves of them.
func (d *robustReport) addLimits(p *loaded, r *robust.Result) {
	rows, sides := p.Rows(), p.Scale()
	for k, limit := range r.Limits {
		if k >= len(rows) {
			break
		}
		l := rows[k]
		scale := 0.0
		for i, n := range limit.Normal {
			scale += math.Abs(n) * sides[i]
		}
		c := newLimitReport(l)
		c.Slack = report.Number(l.Slack(limit.Slack()))
		c.scale = l.Slack(scale)
		if p.Task.Cost != nil {
			c.shown = l.Price(limit.Price)
			c.Price = report.Number(c.shown)
		}
		d.add(c)
	}
	for _, l := range p.Of(query.EveryEpisode) {
		d.add(newLimitReport(l))
	}
}

func (d *robustReport) report(p *loaded) *report.Report {
	heading := []string{d.Uncertainty.String()}
	if d.Confidence != nil {
		heading = append(heading, d.Confidence.String())
	}
	sections := []report.Section{
		p.heading(append(heading, fmt.Sprintf("%s, %s, %.3g s", d.Status, count(d.Iterations, "round"), d.Seconds))...),
		d.values(p), d.answer(p), d.table(d.Constraints),
	}
	if len(d.Drawn) > 0 {
		sections = append(sections, d.drawnTable(p))
	}
	sections = append(sections, append(d.notes(p), p.memoryNotes()...))
	return &report.Report{Data: d, Sections: append(sections, d.policy...)}
}

// values lists what returns can be.
func (d *robustReport) values(p *loaded) *report.Table {
	t := report.NewTable("", "nominal", "least", "greatest")
	sides := p.Scale()
	for i, b := range d.Returns.Values {
		nominal := report.Rounded(d.Nominal.Values[i], sides[i])
		t.Add(p.Returns[i], nominal, report.Rounded(b.Least, sides[i]), report.Rounded(b.Greatest, sides[i]))
	}
	return t
}

// answer lists what the plan is worth, and what no policy can beat.
func (d *robustReport) answer(p *loaded) *report.Table {
	t := report.NewTable("", "worst case")
	if d.found && p.Task.Target != nil {
		missed := report.Short(d.Violation)
		if d.Violation <= d.Tolerance {
			missed = "0"
		}
		t.Add("violation", missed)
	}
	if d.Objective == d.Objective {
		d.planWorth.addTo(t, p, report.Small(d.Gap))
		t.Add("optimum of the nominal model", d.NominalOptimum)
	}
	return t
}

// noneKeeps says why a set is infeasible.
const noneKeeps = "In one of the models no policy keeps every limit, so none keeps them in all."

// notes says what was proved.
func (d *robustReport) notes(p *loaded) report.Note {
	switch d.Status {
	case robust.Infeasible.String():
		notes := report.Note{noneKeeps, d.Certificate.explain(p)}
		return append(notes, d.Worst.notes()...)
	case robust.Undecided.String():
		return report.Note{"No plan was found that keeps every limit in every model of the intervals, " +
			"nor a model in which none does. " + d.nearest()}
	}
	var notes report.Note
	if d.Stopped {
		notes = append(notes, timeOver)
	}
	notes = append(notes, "The plan keeps every limit in every model of the intervals; "+
		"least and greatest are what nature can make of a return.")
	if d.Status == robust.Feasible.String() && d.Objective == d.Objective {
		notes = append(notes, fmt.Sprintf(
			"Better plans may exist, by %s at most: a model of the intervals has that optimum.", report.Small(d.Gap)))
	}
	if d.Components > 0 {
		notes = append(notes, fmt.Sprintf(
			"The policy draws one of %d components at the start and plays it for good.", d.Components))
	}
	notes = append(notes,
		leftOut(d.Drawn, "component", func(of drawnReport) report.Number { return of.Probability })...)
	if d.Randomized == 0 && d.Components == 0 {
		notes = append(notes, "The policy is deterministic.")
	}
	if slices.ContainsFunc(d.Constraints, func(c limitReport) bool { return c.shown > 0 }) {
		notes = append(notes, "The price of a limit is how much the bound improves for each unit by which it is relaxed.")
	}
	return append(notes, d.Worst.notes()...)
}

// timeOver says why a search ended early.
const timeOver = "The time of --budget was over before the search was."

// nearest says what there is where no plan keeps every limit.
func (d *robustReport) nearest() string {
	switch {
	case d.Stopped && !d.found:
		return timeOver
	case d.Stopped:
		return timeOver + " The plan above comes nearest."
	}
	return "The plan above comes nearest."
}

func (w *worstReport) notes() report.Note {
	if w == nil {
		return nil
	}
	return report.Note{fmt.Sprintf("%s has the model that is worst for %s.", w.File, w.For)}
}

// writeWorst writes the worst model, if it is asked for.
func (c *planCommand) writeWorst(
	ctx context.Context, p *loaded, set *robust.Set, r *robust.Result,
) (*worstReport, error) {
	if c.worst.worst == "" {
		return nil, nil
	}
	w := &worstReport{File: c.worst.worst, Returns: named{}}
	answer := r.Model
	if r.Status == robust.Infeasible {
		w.For = "every policy: none keeps the limits there"
	} else {
		dir, of, err := c.worst.direction(p, r)
		if err != nil {
			return nil, err
		}
		var returns []float64
		answer, returns, err = set.Worst(ctx, r.Plan(), dir)
		if err != nil {
			return nil, p.stopped(err)
		}
		w.For, w.Returns = of, p.named(returns)
	}
	m := p.Model
	if answer != nil {
		var err error
		m, err = answer.Model()
		if err != nil {
			return nil, failed(err)
		}
	}
	of := p.Ordinary(m)
	of.Name = p.title() + ", worst model"
	err := c.writeFile(ctx, c.worst.worst, func(out io.Writer) error { return problem.Write(out, of) })
	if err != nil {
		return nil, failed(fmt.Errorf("%s: %w", c.worst.worst, trim(err)))
	}
	return w, nil
}

// direction returns the direction in which the model is to be worst, and what it is in words.
func (o *worstOptions) direction(p *loaded, r *robust.Result) ([]float64, string, error) {
	goal := func() []float64 {
		dir := make([]float64, len(p.Returns))
		p.Task.Cost.Subgradient(dir, make([]float64, len(dir)))
		return dir
	}
	rows := p.Rows()
	tightest := -1
	for k, l := range r.Limits {
		asked := k < len(rows) && (o.of == "" || rows[k].Return == o.of)
		if asked && (tightest < 0 || l.Slack() < r.Limits[tightest].Slack()) {
			tightest = k
		}
	}
	switch {
	case o.of == "goal" && p.Task.Cost == nil:
		return nil, "", usage("--worst-for goal: %s has no goal", p.name)
	case o.of == "goal" || o.of == "" && tightest < 0:
		return goal(), "the goal", nil
	case tightest >= 0:
		return r.Limits[tightest].Normal, "the limit " + rows[tightest].Name, nil
	}
	i := slices.Index(p.Returns, o.of)
	if i < 0 {
		return nil, "", usage("--worst-for %s: unknown: want goal, or one of %v", o.of, p.Returns)
	}
	return nil, "", usage("--worst-for %s: the problem has no limit on it", o.of)
}

// notDefined says why a return is not defined over a set.
func notDefined(p *loaded, e *robust.NotDefinedError) string {
	what := "the total"
	does := "never comes to rest"
	if e.Mean {
		what, does = "the long-run mean", "comes to stay in different places"
	}
	because := ""
	if e.Zero {
		because = ", where a lower bound is 0"
	}
	const most = 8 // named choices
	var by []string
	for _, at := range e.At[:min(most, len(e.At))] {
		name := fmt.Sprintf("action %s of state %s", p.ActionName(0, at.State, at.Choice), p.StateName(at.State))
		if where := p.IntervalsAt(at.State, at.Choice); where != "" {
			name += " (" + where + ")"
		}
		by = append(by, name)
	}
	if more := len(e.At) - len(by); more > 0 {
		by = append(by, fmt.Sprintf("%d more", more))
	}
	if !p.Uncertain() {
		return fmt.Sprintf("%s is not defined under the policy: by %s, the process %s", what, strings.Join(by, ", "), does)
	}
	return fmt.Sprintf("%s is not defined in every model of the intervals: by %s%s, "+
		"the process may be such that it %s: want lower bounds above 0 there",
		what, strings.Join(by, ", "), because, does)
}
