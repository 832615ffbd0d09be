package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/internal/available"

	"github.com/spf13/pflag"
)

// memoryOptions say how what happens along the way is remembered.
type memoryOptions struct {
	resolution float64
	interval   float64 // by which probabilities are widened
	// rows are stored however many there are, for learners and searches that go through them again and again
	stored  bool
	each    bool // threshold of the worst episodes is gone through later: none is planned for here
	fleets  bool // the command takes problems of many agents
	workers int  // of a value iteration, 0 for one for each processor
}

// manyPairs is the number of pairs of a state and what is remembered from which on their rows are generated,
// see query.CompileOptions.
var manyPairs = 1 << 16

// fewBytes are taken however little memory there seems to be.
const fewBytes = 1 << 20

// mostBytes bounds the memory of a model: half of what this process may still have, since planning takes about
// as much again.
func mostBytes() int { return int(max(fewBytes, min(available.Bytes()/2, math.MaxInt))) }

func (o *memoryOptions) addFlags(f *pflag.FlagSet) {
	f.Float64Var(&o.resolution, "resolution", 0,
		"grid to which totals are rounded, down and up, where an episode's total of a return has a limit and its "+
			"values are multiples of nothing as large (default: none)")
}

// open reads a problem.
func (s streams) open(ctx context.Context, name string) (*loaded, error) {
	return (&memoryOptions{stored: true}).load(ctx, s, name)
}

// load reads a problem that may ask about the course of episodes.
func (o *memoryOptions) load(ctx context.Context, s streams, name string) (*loaded, error) {
	if !(o.resolution >= 0) || o.resolution > 1e300 {
		return nil, usage("--resolution %g: want a number above 0", o.resolution)
	}
	return interruptible(ctx, 0, func() (*loaded, error) { return o.build(ctx, s, name) })
}

// build reads the problem and builds its model.
func (o *memoryOptions) build(ctx context.Context, s streams, name string) (*loaded, error) {
	opts := *s.problem
	opts.Bytes = mostBytes()
	opts.Context = ctx
	p, err := read(name, opts)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if err := s.files.check(); err != nil {
		return nil, err
	}
	return o.compile(ctx, p, name)
}

// compile compiles a problem that was read, with the thresholds of the worst episodes that are best for it.
func (o *memoryOptions) compile(ctx context.Context, p *problem.Problem, name string) (*loaded, error) {
	p, err := o.widened(p, name)
	if err != nil {
		return nil, err
	}
	opts := query.CompileOptions{Resolution: o.resolution, Generate: manyPairs,
		Bytes:   min(mostBytes(), monitor.DefaultBytes),
		Workers: o.workers}
	if o.stored {
		opts.Generate = 0
	}
	q, err := query.New(ctx, p, opts)
	if err == nil && !o.each {
		q, err = q.Best(ctx)
	}
	if err != nil {
		return nil, unread(name, err)
	}
	if q.Fleet() != nil && !o.fleets {
		return nil, usage("%s: a fleet: want a problem of one agent here, such as one of its models; plan, front, "+
			"check, simulate and explore take fleets", name)
	}
	return &loaded{Query: q, name: name}, nil
}

// unread is what is wrong with a problem that cannot be compiled. Errors of a file name it themselves.
func unread(name string, err error) error {
	var inFile problem.Errors
	var large *cmdp.MemoryError
	switch {
	case errors.As(err, &large):
		return failed(fmt.Errorf("%s: %w", name, large))
	case errors.Is(err, context.Canceled):
		return stopped(err)
	case errors.As(err, &inFile):
		return &exitError{exitUsage, inFile}
	}
	return usage("%s: %w", name, err)
}

// memoryReport is what a policy remembers, and the thresholds of constraints on the worst episodes.
type memoryReport struct {
	Memory     []monitor.Remembered `json:"memory,omitempty"`
	Thresholds []thresholdReport    `json:"thresholds,omitempty"`
}

func memoryOf(p *loaded) memoryReport { return memoryReport{p.Product.Remembered(), thresholdsOf(p)} }

// thresholdReport is where the worst episodes of a constraint on their mean begin.
type thresholdReport struct {
	Constraint string        `json:"constraint"`
	Threshold  report.Number `json:"threshold"`
	Tried      int           `json:"tried"`
	// Early tells that the time was over before all were tried that may be better.
	Early bool `json:"early,omitempty"`
}

// thresholdsOf lists the thresholds of constraints on the worst episodes.
func thresholdsOf(p *loaded) []thresholdReport {
	var out []thresholdReport
	for _, l := range p.Of(query.WorstEpisodes) {
		out = append(out, thresholdReport{l.Name, report.Number(l.Threshold), len(l.Thresholds), p.Early()})
	}
	return out
}

// memoryNotes explains what is remembered and what constraints on episodes came to.
func (p *loaded) memoryNotes() report.Note {
	notes := p.notes()
	for _, t := range thresholdsOf(p) {
		best := "the best of"
		if t.Early {
			best = "the best that was found in time of"
		}
		notes = append(notes, fmt.Sprintf("The %s is asked for with the threshold %s, %s %d.", t.Constraint,
			report.Short(t.Threshold), best, t.Tried))
	}
	var parts []string
	for _, r := range p.Product.Remembered() {
		parts = append(parts, fmt.Sprintf("%s (%s)", r.Name, fewValues(r.Values)))
	}
	if parts != nil {
		notes = append(notes, "A policy remembers: "+strings.Join(parts, "; ")+".")
	}
	return notes
}

// notes says what limits on episodes came to, and what rounded totals are worth.
func (p *loaded) notes() report.Note {
	notes := slices.Clone(report.Note(p.Notes))
	if p.Rounded() {
		notes = append(notes, p.roundedNote())
	}
	return notes
}

// roundedNote says what an answer with rounded totals is worth.
func (p *loaded) roundedNote() string {
	const others = "Totals are rounded (see --resolution). Prices and what is said of other policies are about rounded " +
		"totals"
	if p.Uncertain() {
		return others + "."
	}
	return others + "; bound, gap and status of a plan and the error of a curve are about exact ones."
}

// fewValues lists values, the first and last of many.
func fewValues(values []string) string {
	const most = 6
	if len(values) <= most {
		return strings.Join(values, ", ")
	}
	return fmt.Sprintf("%s, … %s, %d values", strings.Join(values[:most-2], ", "), values[len(values)-1], len(values))
}
