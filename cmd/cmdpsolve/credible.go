package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/problem"

	"github.com/spf13/pflag"
)

// credibleOptions are the options of plan for planning from logged data.
type credibleOptions struct {
	flags   *pflag.FlagSet
	log     string
	level   float64
	models  int
	seed    uint64
	pool    bool
	returns string
	support string
	// confidence asks for intervals in the place of credible models; 0 if it is not given.
	confidence float64
}

func (o *credibleOptions) addFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringVar(&o.log, "log", "", "plan from the transitions of `FILE`, .csv or .jsonl, in the place of the model")
	f.Float64Var(&o.level, "credible", 0.95,
		"with --log: share of the models that the data leaves possible in which the limits are to hold")
	f.Float64Var(&o.confidence, "confidence", 0,
		"with --log: make intervals of the log that are all right with this probability, and keep the limits in "+
			"every model between them")
	f.IntVar(&o.models, "models", 1000, "with --log: models drawn to choose the policy, and again to judge it")
	f.Uint64Var(&o.seed, "seed", 1, "with --log or --simulator: seed of the draws")
	f.BoolVar(&o.pool, "pool", false,
		"with --log: pool counts over steps (only if the model is the same at every step)")
	f.StringVar(&o.returns, "returns", "known",
		"with --log: expected one-step returns: known (the problem's), unknown (from the log)")
	f.StringVar(&o.support, "support", "none",
		"with --log: auto takes from the problem which successors each choice can have, none does not")
}

// check refuses what no log can make right.
func (o *credibleOptions) check() error {
	if err := o.checkConfidence(); err != nil {
		return err
	}
	switch {
	case o.log == "":
		for _, name := range []string{"credible", "models", "seed", "pool", "returns", "support"} {
			if o.flags.Changed(name) && !(name == "seed" && o.flags.Changed("simulator")) {
				return usage("--%s is for plans from data: give --log too", name)
			}
		}
	case !(o.level > 0 && o.level < 1):
		return usage("--credible %g: want between 0 and 1", o.level)
	case o.models < baseline.ModelsNeeded(o.level):
		return usage("--models %d: too few to tell a share of %g: want at least %d", o.models, o.level,
			baseline.ModelsNeeded(o.level))
	case o.returns != "known" && o.returns != "unknown":
		return usage("--returns %s: want known or unknown", o.returns)
	case o.support != "none" && o.support != "auto":
		return usage("--support %s: want none or auto", o.support)
	}
	return nil
}

// fitsLogged refuses what makes no sense for a plan from a log.
func (c *planCommand) fitsLogged(p *loaded) error {
	if flag := firstGiven(option{"--second-opinion", c.secondOpinion},
		option{"--opponent-policy", c.opponentPolicy != ""}, option{"--gap", c.gap != 0}); flag != "" {
		return usage("%s is for models that are known: leave it or --log out", flag)
	}
	if p.Model.Shape() == nil {
		return usage("log %s: a plan from a log is for episodes, and the problem has no horizon", c.credible.log)
	}
	return p.onePlayer()
}

// badFile is what is wrong with the file of an option. Errors in a file name it themselves.
func badFile(option string, err error) error {
	if inFile, ok := errors.AsType[problem.Errors](err); ok {
		return &exitError{exitUsage, inFile}
	}
	return usage("%s: %w", option, err)
}

func (c *planCommand) planLogged(ctx context.Context, p *loaded) error {
	o := &c.credible
	if err := c.fitsLogged(p); err != nil {
		return err
	}
	data := contest.Log{Path: o.log, Pool: o.pool, Returns: o.returns == "unknown", Support: o.support == "auto"}
	counts, size, err := data.Read(p.Process)
	if err != nil {
		return badFile("--log", err)
	}
	begin := time.Now()
	plan, err := data.Plan(ctx, p.Query, counts, o.level, o.models, o.seed)
	switch {
	case errors.Is(err, context.Canceled):
		return stopped(err)
	case err != nil:
		return usage("%s: %w", p.name, err)
	}
	d := c.credibleReport(p, plan, size, time.Since(begin))
	var writeErr error
	if c.policy != "" {
		writeErr = c.writeRows(c.policy, p.Process, p.PlanRows(plan.Policy, nil))
	}
	if err := c.write(d.report(p), *c.format); err != nil {
		return err
	}
	switch {
	case writeErr != nil:
		return failed(writeErr)
	case !plan.Promised:
		return &exitError{exitInfeasible, nil}
	}
	return nil
}

// loggedReport is the data of a plan from a log. Returns, objective and violation are those
// of the mean model.
type loggedReport struct {
	subject
	Status     string         `json:"status" csv:"status"`
	Objective  report.Number  `json:"objective" csv:"objective"`
	Returns    named          `json:"returns" csv:"return"`
	Violation  report.Number  `json:"violation" csv:"violation"`
	Iterations int            `json:"iterations" csv:"iterations"`
	Seconds    report.Number  `json:"seconds"`
	Credible   credibleReport `json:"credible" csv:"credible"`
	Log        logReport      `json:"log" csv:"log"`
	pooled     bool
}

// logReport says how much was logged.
type logReport struct {
	File        string `json:"file"`
	Episodes    int    `json:"episodes" csv:"episodes"`
	Transitions int    `json:"transitions" csv:"transitions"`
}

// credibleReport is what the data promises.
type credibleReport struct {
	Level    report.Number `json:"level" csv:"level"`
	Models   int           `json:"models" csv:"models"`
	Promised bool          `json:"promised" csv:"promised"`
	Share    report.Number `json:"share" csv:"share"`
	// Returns holds the central credible intervals.
	Returns report.Named[[2]report.Number] `json:"returns"`
	Low     named                          `json:"-" csv:"low"`
	High    named                          `json:"-" csv:"high"`
	// MeanOptimum is the optimum of the mean model, Price how much worse the plan is there.
	MeanOptimum report.Number `json:"mean_optimum" csv:"mean_optimum"`
	Price       report.Number `json:"price" csv:"price"`
	// Margins says by how much the plan stays within each limit in the mean model.
	Margins named          `json:"margins" csv:"margin"`
	Unsure  []unsureReport `json:"unsure"`
}

// unsureReport is a choice about which the data says too little. Step counts from 1; there is none
// if counts are pooled.
type unsureReport struct {
	Step       int           `json:"step,omitempty"`
	State      string        `json:"state"`
	Action     string        `json:"action"`
	Visits     report.Number `json:"visits"`
	PerEpisode report.Number `json:"per_episode"`
	Share      report.Number `json:"share"`
}

func (c *planCommand) credibleReport(p *loaded, plan *baseline.Credible, size problem.LogSize,
	took time.Duration) *loggedReport {
	d := &loggedReport{
		subject: p.subject(), Status: "credible", Objective: report.Number(p.Sense() * plan.Objective),
		Returns:    p.named(plan.Returns),
		Iterations: plan.Iterations, Seconds: report.Number(took.Seconds()), pooled: c.credible.pool,
		Log: logReport{c.credible.log, size.Episodes, size.Transitions},
		Credible: credibleReport{Level: report.Number(c.credible.level), Models: c.credible.models,
			Promised: plan.Promised, Share: report.Number(plan.Share),
			Low: p.named(plan.Low), High: p.named(plan.High), MeanOptimum: report.Number(p.Sense() * plan.Optimum),
			Price: report.Number(plan.Objective - plan.Optimum), Margins: p.named([]float64{}),
			Unsure: []unsureReport{}},
	}
	if !plan.Promised {
		d.Status = "not credible"
	}
	if !p.Keeps(plan.Returns) {
		d.Violation = report.Number(p.Task.Violation(plan.Returns))
	}
	r := &d.Credible
	r.Returns.Names, r.Margins.Names = p.Returns, nil
	for i, low := range plan.Low {
		r.Returns.Values = append(r.Returns.Values, [2]report.Number{report.Number(low), report.Number(plan.High[i])})
	}
	for i, row := range plan.Rows {
		r.Margins.Names = append(r.Margins.Names, row.Name)
		r.Margins.Values = append(r.Margins.Values, report.Number(plan.Margins[i]))
	}
	for _, u := range plan.Unsure {
		r.Unsure = append(r.Unsure, unsureReport{u.Step + 1, p.StateName(u.State),
			p.ActionName(max(0, u.Step), u.State, u.Action),
			report.Number(u.Visits), report.Number(u.PerEpisode), report.Number(u.Share)})
	}
	return d
}

func (d *loggedReport) report(p *loaded) *report.Report {
	r := &d.Credible
	from := fmt.Sprintf("planned from %s of %s", count(d.Log.Transitions, "transition"), d.Log.File)
	if d.Log.Episodes > 0 {
		from = fmt.Sprintf("planned from %s (%s) of %s", count(d.Log.Episodes, "episode"),
			count(d.Log.Transitions, "transition"), d.Log.File)
	}
	if d.pooled {
		from += ", counts pooled over steps"
	}
	values := report.NewTable("", "mean model", fmt.Sprintf("%s%% credible interval", report.Short(100*r.Level)))
	sides := p.Scale()
	for i, name := range p.Returns {
		low, high := r.Low.Values[i], r.High.Values[i]
		values.Add(name, d.Returns.Values[i], report.Rounded(low, sides[i])+" to "+report.Rounded(high, sides[i]))
	}
	if !math.IsNaN(float64(d.Objective)) {
		values.Add("objective", d.Objective, "")
		values.Add("optimum of the mean model", r.MeanOptimum, "")
		values.Add("price of not knowing", report.Rounded(r.Price, float64(d.Objective)), "")
	}
	limits := report.NewTable("constraint", "margin in the mean model")
	for i, m := range r.Margins.Values {
		limits.Add(r.Margins.Names[i], m)
	}
	return &report.Report{Data: d, Sections: []report.Section{
		p.heading(fmt.Sprintf("%s: the limits hold in %s of %s", d.Status, percent(r.Share), count(r.Models, "model")),
			fmt.Sprintf("%s, %.3g s", from, d.Seconds)),
		values, limits, d.unsure(), d.notes(len(p.Limits) > 0),
	}}
}

func percent(x report.Number) string { return report.Brief(100*x) + "%" }

// unsure lists the choices about which the data says too little.
func (d *loggedReport) unsure() *report.Table {
	titles := []string{"state", "action", "visits", "per episode", "share"}
	if !d.pooled {
		titles = append([]string{"step"}, titles...)
	}
	t := report.NewTable(titles...)
	for _, u := range d.Credible.Unsure {
		row := []any{u.State, u.Action, u.Visits, report.Brief(u.PerEpisode),
			fmt.Sprintf("%.0f%%", 100*float64(u.Share))}
		if !d.pooled {
			row = append([]any{u.Step}, row...)
		}
		t.Add(row...)
	}
	return t
}

// notes says what the numbers mean. limited tells whether the problem has limits, of which none may be broken if there
// are no margins.
func (d *loggedReport) notes(limited bool) report.Note {
	r := &d.Credible
	var notes report.Note
	switch {
	case len(r.Margins.Values) == 0 && limited:
		notes = append(notes, "Returns cannot break the limits: the policy is the best of the mean model.")
	case len(r.Margins.Values) == 0:
		notes = append(notes, "There are no limits to keep: the policy is the best of the mean model.")
	case r.Promised:
		notes = append(notes, "The limits are tightened until they hold in enough of the models that the data "+
			"leaves possible. The price of not knowing is what that costs in the mean model.")
	default:
		notes = append(notes, fmt.Sprintf("No policy that was tried keeps its limits in %s of the models that the "+
			"data leaves possible. This one does in %s of them, the largest share found.", percent(r.Level),
			percent(r.Share)))
	}
	if len(r.Unsure) > 0 {
		notes = append(notes, "The last table has the choices of which the data says too little: the share is that "+
			"of the returns' uncertainty, visits are those in the log, and per episode those of the plan.")
	}
	return notes
}
