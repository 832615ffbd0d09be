package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/contest"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/simulator"

	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/floats"
)

// sampleOptions are the options of learn for planning from samples of every choice.
type sampleOptions struct {
	each     int
	accuracy float64
	strict   bool
	span     float64
}

func (o *sampleOptions) addFlags(f *pflag.FlagSet) {
	f.Var((*wholeNumber)(&o.each), "sample",
		"in the place of playing, sample every choice so many times and plan for what was seen")
	f.Float64Var(&o.accuracy, "accuracy", 0,
		"sample as often as it takes to know all returns to within so much, with probability 1 - failure")
	f.BoolVar(&o.strict, "strict", false,
		"with --sample or --accuracy: keep the limits for sure, where otherwise they may be missed by twice the accuracy")
	f.Float64Var(&o.span, "span", 0,
		"with --sample or --accuracy, for long-run means: good policies lose no more, wherever they begin, than `B` steps "+
			"that are as bad as can be (the span of their relative values)")
}

func (o *sampleOptions) asked(f *pflag.FlagSet) bool {
	return f.Changed("sample") || f.Changed("accuracy")
}

// check refuses options that are not for sampling.
func (o *sampleOptions) check(f *pflag.FlagSet) error {
	if !o.asked(f) {
		for _, name := range []string{"strict", "span"} {
			if f.Changed(name) {
				return usage("--%s is for plans from samples: give --sample or --accuracy too", name)
			}
		}
		return nil
	}
	if f.Changed("span") && (!(o.span > 0) || math.IsInf(o.span, 1)) {
		return usage("--span %v: want a positive number of steps", o.span)
	}
	for _, name := range []string{"learner", "episodes", "steps", "seeds", "save", "save-every", "resume", "mixture",
		"plot", "log", "expected", "planner", "dual", "rho",
		"bonus-scale", "opponent", "parallel"} {
		if f.Changed(name) {
			return usage("--%s: nothing is played where every choice is sampled: leave it out, or --sample and --accuracy", name)
		}
	}
	if f.Changed("sample") && o.each < 1 {
		return usage("--sample %d: want at least 1", o.each)
	}
	return nil
}

// sampledReport is the data of a plan from samples. Returns, objective and violation are those in the estimated model.
type sampledReport struct {
	subject
	Status    string        `json:"status"`
	Seed      uint64        `json:"seed"`
	Failure   float64       `json:"failure"`
	Sample    samplesReport `json:"sample"`
	Objective report.Number `json:"objective"`
	Bound     report.Number `json:"bound"` // that the objective of no policy is beyond
	Returns   named         `json:"returns"`
	// True are the returns of the policy in the problem's model, which a simulator does not have.
	True    *learnedPolicy `json:"true,omitempty"`
	Exact   *exactReport   `json:"exact"`
	Seconds report.Number  `json:"seconds"`
}

// samplesReport says how much was sampled, and how exact that is.
type samplesReport struct {
	Each     int           `json:"each"`
	Samples  int           `json:"samples"`
	Strict   bool          `json:"strict"`
	Accuracy report.Number `json:"accuracy"` // that was asked for
	Needed   int           `json:"needed,omitempty"`
	Error    named         `json:"error"`
	vague    []string      // returns of which the samples say nothing
	// The true returns of the policy lie between these.
	AtLeast *named `json:"at_least,omitempty"`
	AtMost  *named `json:"at_most,omitempty"`
	// Of long-run means: the bound on the span, the spans of the policy, and to within what its returns are known.
	Span     report.Number `json:"span,omitempty"`
	PlanSpan *named        `json:"plan_span,omitempty"`
	Known    *named        `json:"known,omitempty"`
	Joined   *joinedReport `json:"joined,omitempty"` // where the policy joins groups of states
}

// addPlanFlags declares those options of plan that are for samples of a simulator.
func (c *learnCommand) addPlanFlags(f *pflag.FlagSet) {
	c.flags, c.simulator.flags = f, f
	f.StringVar(&c.simulator.command, "simulator", "",
		"in the place of a model, sample every choice of the simulator that the shell starts with `CMD`, as learn "+
			"does with --env-command; give --sample or --accuracy too")
	c.simulator.timeout = time.Minute
	c.sample.addFlags(f)
}

// planOptionsOfSamples are those that plan takes together with --simulator.
var planOptionsOfSamples = []string{"simulator", "sample", "accuracy", "strict", "span", "seed", "policy",
	"format"}

// checkPlan refuses options of plan that do not go together with samples.
func (c *learnCommand) checkPlan() (err error) {
	switch sampling := c.sample.asked(c.flags); {
	case c.simulator.command == "" && (sampling || c.sample.strict || c.flags.Changed("span")):
		return usage("--sample, --accuracy, --strict and --span are for --simulator; learn takes them for a model")
	case c.simulator.command == "":
		return nil
	case !sampling:
		return usage("--simulator: give --sample or --accuracy too")
	}
	c.flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(planOptionsOfSamples, f.Name) && err == nil {
			err = usage("--%s: this needs a model, and a simulator has none", f.Name)
		}
	})
	if err != nil {
		return err
	}
	return c.sample.check(c.flags)
}

func (c *learnCommand) planSamples(ctx context.Context, name string) error {
	c.simulator.samples = true
	p, err := c.simulator.load(ctx, name, c.streams, true, c.open)
	defer c.simulator.close()
	if err != nil {
		return err
	}
	if err := c.files.check(p, 1); err != nil {
		return err
	}
	return c.runSampled(ctx, p)
}

func (c *learnCommand) runSampled(ctx context.Context, p *loaded) error {
	cfg, env, err := c.sampled(p)
	if err != nil {
		return err
	}
	d := &sampledReport{subject: p.subject(), Seed: c.settings.Seed, Failure: c.settings.Failure,
		Sample: samplesReport{Each: c.sample.each, Strict: c.sample.strict, Accuracy: report.NaN,
			Span: report.Number(c.sample.span)}}
	if c.flags.Changed("accuracy") {
		d.Sample.Accuracy = report.Number(c.sample.accuracy)
		d.Sample.Needed, err = baseline.SamplesFor(cfg, c.sample.accuracy)
		if err != nil {
			return usage("--accuracy: %w", err)
		}
		if !c.flags.Changed("sample") {
			d.Sample.Each = d.Sample.Needed
		}
	}
	bounds, err := baseline.SampleError(cfg, d.Sample.Each)
	if err != nil {
		return usage("%s: %w", p.name, err)
	}
	d.Sample.Error = p.named(bounds)
	lower, upper := cfg.Shape.Totals()
	for i, name := range p.Returns {
		if w := upper[i] - lower[i]; w > 0 && bounds[i] >= w {
			d.Sample.vague = append(d.Sample.vague, name)
		}
	}
	c.say("%s", d.promise())
	begin := time.Now()
	plan, err := baseline.PlanSampled(ctx, env, cfg, d.Sample.Each, c.sample.strict,
		rand.New(cmdp.Stream(c.settings.Seed, "samples")))
	c.simulator.close()
	fallible, _ := env.(cmdp.Fallible)
	switch {
	case errors.Is(err, context.Canceled):
		return stopped(err)
	case fallible != nil && fallible.Err() != nil:
		return failed(fmt.Errorf("%s: %w", p.name, err))
	case err != nil:
		return usage("%s: %w", p.name, err)
	}
	d.Seconds = report.Number(time.Since(begin).Seconds())
	return c.concludeSampled(ctx, p, plan, d)
}

// sampled is what is told of the problem, and the environment that is asked.
func (c *learnCommand) sampled(p *loaded) (cfg baseline.Config, env cmdp.Environment, err error) {
	s := &c.settings
	if p.Task.Cost == nil && p.Task.Target == nil {
		return cfg, nil, usage("%s: nothing to learn for: give a goal, constraints or a target", p.name)
	}
	switch {
	case p.endless() == 1 && c.sample.span == 0:
		return cfg, nil, usage("%s: to sample for long-run means give --span, a bound on the span of the relative "+
			"values of good policies: see cmdpsolve help command", p.name)
	case p.hello != nil && !p.hello.Settable:
		return cfg, nil, usage("--sample: the simulator cannot be asked anywhere: its hello must say \"set_state\": true")
	case p.hello != nil && p.hello.Start == nil:
		return cfg, nil, usage("--sample: the simulator must say where episodes begin: its hello has no \"start\"")
	case p.endless() == 1 && p.hello != nil && p.hello.Terminates:
		return cfg, nil, usage("--sample: long-run means of a simulator that may end by itself, as its hello says: want " +
			"one that goes on")
	case p.hello == nil && p.endless() == 0 && p.Shape() == nil:
		return cfg, nil, usage("%s: a plan from samples needs a horizon or a discount; this problem asks for totals",
			p.name)
	case p.hello != nil:
		cfg, env, err = c.sampledSimulator(p)
	default:
		cfg, env, err = contest.Told(p.Query, s.Returns == "known", s.Support == "auto")
		if err != nil {
			err = usage("%s: %w", p.name, err)
		}
	}
	if err != nil {
		return cfg, nil, err
	}
	cfg.Pooled, cfg.Knowledge.Span = s.Pool || p.hello != nil, c.sample.span
	cfg.Confidence = cmdp.Confidence{Episodes: 1, Failure: s.Failure}
	return cfg, env, nil
}

// sampledSimulator is what is told of a simulator, and the simulator.
func (c *learnCommand) sampledSimulator(p *loaded) (baseline.Config, cmdp.Environment, error) {
	cfg := baseline.Config{Shape: p.Shape(), Task: p.Task}
	if p.endless() > 0 {
		cfg.Endless = &baseline.Endless{Discount: p.Problem.SimulatedDiscount}
	}
	program, err := c.simulator.source.Simulator(p.hello, p.steps())
	if err != nil || p.endless() == 0 || cfg.Endless.Discount == 1 {
		return cfg, program, err
	}
	return cfg, &discountedSimulator{Simulator: program, scale: 1 / (1 - cfg.Endless.Discount)}, nil
}

// A discountedSimulator has returns that are divided by 1 − γ, as those of [cmdp.Endless] are.
type discountedSimulator struct {
	*simulator.Simulator
	scale float64
}

// Step takes a step of the program.
func (s *discountedSimulator) Step(returns []float64, rng *rand.Rand, h, state, action int) int {
	next := s.Simulator.Step(returns, rng, h, state, action)
	floats.Scale(s.scale, returns)
	return next
}

// promise says, before anything is sampled, what the samples will be good for.
func (d *sampledReport) promise() string {
	var within []string
	for i, name := range d.Sample.Error.Names {
		within = append(within, name+" "+report.Brief(d.Sample.Error.Values[i]))
	}
	which := ""
	if d.Sample.Span > 0 {
		which = fmt.Sprintf(" with relative values of span %s at most", report.Brief(d.Sample.Span))
	}
	text := fmt.Sprintf("%s of each choice: with probability %s the returns of every policy%s are known to within %s",
		count(d.Sample.Each, "sample"), report.Short(1-d.Failure), which, strings.Join(within, ", "))
	if d.Sample.Needed > d.Sample.Each {
		text += fmt.Sprintf("; to within %s they are with %d", report.Brief(d.Sample.Accuracy), d.Sample.Needed)
	}
	if len(d.Sample.vague) > 0 {
		text += "; that is all that they can be: too few samples to say anything of " + strings.Join(d.Sample.vague, ", ")
	}
	return text
}

// concludeSampled writes the policy and the report.
func (c *learnCommand) concludeSampled(ctx context.Context, p *loaded, plan *baseline.Sampled, d *sampledReport) error {
	d.Status = "sampled"
	if plan.Status == exact.Infeasible || plan.Policy == nil {
		d.Status = "infeasible"
	}
	d.Sample.Samples = plan.Samples
	if plan.Span != nil {
		spans, known := p.named(plan.Span), p.named(plan.Known)
		d.Sample.PlanSpan, d.Sample.Known, d.Sample.Joined = &spans, &known, newJoinedReport(plan.Joined)
	}
	if plan.Known != nil {
		least, most := p.named(plan.Lower), p.named(plan.Upper)
		d.Sample.AtLeast, d.Sample.AtMost = &least, &most
	}
	d.Objective, d.Bound = report.NaN, report.Number(p.Sense()*plan.Bound)
	if plan.Returns == nil {
		plan.Returns = slices.Repeat([]float64{math.NaN()}, len(p.Returns))
	}
	d.Returns = p.named(plan.Returns)
	if p.Task.Cost != nil {
		d.Objective = report.Number(p.Objective(plan.Returns))
	}
	if p.Model != nil && plan.Policy != nil {
		learned, err := worth(ctx, p, plan.Policy)
		if err != nil {
			return failed(err)
		}
		d.True = &learned
	}
	if p.Model != nil && c.exact {
		best, err := p.Solve(ctx, exact.Options{})
		if err != nil {
			return failed(err)
		}
		d.Exact = newExactReport(p, &contest.Answer{Best: best})
	}
	var writeErr error
	if c.files.policy != "" && d.Status == "sampled" {
		writeErr = c.writeRows(c.files.policy, p.Process, p.PlanRows(plan.Policy, nil))
	}
	if err := c.write(d.report(p), *c.format); err != nil {
		return err
	}
	if writeErr == nil && d.Status == "infeasible" {
		return &exitError{exitInfeasible, nil}
	}
	return failed(writeErr)
}

func (d *sampledReport) report(p *loaded) *report.Report {
	how := "relaxed limits"
	if d.Sample.Strict {
		how = "strict limits"
	}
	heading := p.heading(fmt.Sprintf("plan from %s of each choice, %s, %s", count(d.Sample.Each, "sample"),
		count(d.Sample.Samples, "step"), how),
		fmt.Sprintf("seed %d, %.3g s", d.Seed, d.Seconds))
	t := report.NewTable("", "estimated", "at least", "at most", "true", "optimum")
	best := &exactReport{Objective: report.NaN, Returns: named{}}
	if d.Exact != nil {
		best = d.Exact
	}
	cell := func(of func() any) any {
		if d.True == nil {
			return "–"
		}
		return of()
	}
	least, most := d.Sample.AtLeast, d.Sample.AtMost
	for i, name := range p.Returns {
		optimum, ok := best.Returns.Of(name)
		if !ok {
			optimum = report.NaN
		}
		row := []any{name, d.Returns.Values[i], "–", "–", cell(func() any { return d.True.Returns.Values[i] }), optimum}
		if least != nil {
			row[2], row[3] = least.Values[i], most.Values[i]
		}
		t.Add(row...)
	}
	if p.Task.Cost != nil {
		t.Add("objective", d.Objective, "", "", cell(func() any { return d.True.Objective }), best.Objective)
	}
	if p.Task.Target != nil {
		t.Add("violation", "", "", "", cell(func() any { return d.True.Violation }), "")
	}
	return &report.Report{Data: d, Sections: []report.Section{heading, t, d.notes(p)}}
}

// wider reports whether the returns of the policy are known less well than those of policies with the span that
// was said.
func (s *samplesReport) wider() bool {
	if s.Known == nil {
		return false
	}
	for i, x := range s.Known.Values {
		if x > s.Error.Values[i] {
			return true
		}
	}
	return false
}

// notes says what the plan promises.
func (d *sampledReport) notes(p *loaded) report.Note {
	sure := "With probability " + report.Short(1-d.Failure)
	spanning, note := "", report.Note(nil)
	if s := &d.Sample; s.Span > 0 {
		spanning = ", with relative values of span " + report.Brief(s.Span) + " at most,"
		if s.PlanSpan != nil {
			note = append(s.Joined.note(), "The relative values of the policy have a span of "+
				report.Brief(slices.Max(s.PlanSpan.Values))+".")
		}
		if s.wider() {
			note = append(note, "That is more than --span: its returns are known less well than was said before sampling.")
		}
	}
	switch {
	case d.Status == "infeasible" && d.Sample.Strict && d.Sample.wider():
		return append(note, "No policy was found that is sure to keep the limits. Take more samples, give a --span that "+
			"holds for this policy too, or leave --strict out.")
	case d.Status == "infeasible" && d.Sample.Strict:
		return report.Note{"No policy was found that is sure to keep the limits. Take more samples, or leave " +
			"--strict out."}
	case d.Status == "infeasible":
		return report.Note{sure + " no policy" + spanning +
			" keeps the limits: none does even with the limits loosened by what the samples leave open."}
	}
	return append(note, d.guarantee(p, sure, spanning))
}

// guarantee says of a plan within the limits how good it surely is.
func (d *sampledReport) guarantee(p *loaded, sure, spanning string) string {
	others, text := "no policy", sure+" the returns of the policy lie between these bounds"
	limited := p.Task.Target != nil
	if limited && d.Sample.Strict {
		text = sure + " the policy keeps the limits, its returns lie between these bounds"
		others += " that keeps each limit with room for twice the error said before sampling"
	} else if limited {
		others += " within the limits"
	}
	if p.Task.Cost != nil {
		text += ", and the objective of " + others + spanning + " is " +
			map[bool]string{true: "above ", false: "below "}[p.Sense() < 0] + report.Short(d.Bound)
	}
	if limited && !d.Sample.Strict {
		text += ". The policy misses the limits by no more than these bounds say"
	}
	return text + "."
}
