package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/monitor"
	"cmdpsolve/cmdp/problem"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/pflag"
)

// memoryOptions say how what happens along the way is remembered.
type memoryOptions struct {
	resolution float64
	generate   int  // see problem.MemoryOptions
	each       bool // threshold of the worst episodes is gone through later: none is planned for here
}

// manyPairs is the number of pairs of a state and what is remembered from which on planning generates them.
const manyPairs = 1 << 16

// mostBytes bounds the memory of a problem with what it remembers: half of what this process may have, since planning takes about as
// much again.
func mostBytes() int {
	has, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		has = math.MaxInt64 // nobody knows
	}
	return int(min(has, uint64(debug.SetMemoryLimit(-1)), 2*monitor.DefaultBytes) / 2)
}

func (o *memoryOptions) addFlags(f *pflag.FlagSet) {
	f.Float64Var(&o.resolution, "resolution", 0, "grid to which totals are rounded, down and up, where an episode's total of a return has a limit and its values are multiples of nothing as large (default: none)")
}

// open reads a problem.
func (s streams) open(ctx context.Context, name string) (*loaded, error) {
	return (&memoryOptions{}).load(ctx, s, name)
}

// load reads a problem that may ask about the course of episodes.
func (o *memoryOptions) load(ctx context.Context, s streams, name string) (*loaded, error) {
	if !(o.resolution >= 0) || o.resolution > 1e300 {
		return nil, usage("--resolution %g: want a number above 0", o.resolution)
	}
	opts := *s.problem
	opts.Memory = problem.MemoryOptions{Resolution: o.resolution, Generate: o.generate, Bytes: mostBytes()}
	p, err := read(name, opts)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if !o.each {
		if p, err = bestThresholds(ctx, p, nil); err != nil {
			return nil, stopped(err)
		}
	}
	return wanting(p, name)
}

// bestThresholds returns a problem, with changes, with the thresholds of the worst episodes that are best for it.
func bestThresholds(ctx context.Context, p *problem.Problem, changes []*variation) (*problem.Problem, error) {
	if len(tails(p)) == 0 {
		return p, nil
	}
	best, _, err := p.BestThresholds(func(thresholds []float64) (*problem.Problem, *exact.Result, error) {
		q, err := p.At(thresholds)
		if err != nil {
			return nil, nil, err
		}
		for _, v := range changes {
			if q, err = v.apply(q); err != nil {
				return nil, nil, nil // it is about another threshold
			}
		}
		task, err := q.Task()
		if err != nil {
			return nil, nil, err
		}
		r, err := exact.Solve(ctx, q.Model, task, exact.Options{})
		return q, r, err
	})
	if err == nil && best == nil {
		best = p
	}
	return best, err
}

// rethought returns a problem whose goal or limits were varied with the thresholds that are best for them.
func (p *loaded) rethought(ctx context.Context) (*loaded, error) {
	if len(p.changes) == 0 || len(tails(p.Problem)) == 0 {
		return p, nil
	}
	best, err := bestThresholds(ctx, p.Problem, p.changes)
	if err != nil {
		return nil, stopped(err)
	}
	q, err := wanting(best, p.name)
	if err == nil {
		q.changes = p.changes
	}
	return q, err
}

// readPolicy reads a policy, and returns with it the problem with the thresholds for which it keeps the limits best: they decide
// what is remembered.
func (p *loaded) readPolicy(ctx context.Context, path string) (*loaded, []drawn, error) {
	var best *loaded
	var policies []drawn
	var first error
	least := math.Inf(1)
	err := p.EachThreshold(func(q *problem.Problem) error {
		components, err := problem.ReadComponents(path, q)
		if err != nil { // it may be for another threshold
			if first == nil {
				first = err
			}
			return nil
		}
		of, read := p, []drawn(nil)
		if q != p.Problem {
			if of, err = wanting(q, p.name); err != nil {
				return err
			}
		}
		for _, c := range components {
			read = append(read, drawn{c.Weight, c.Policy})
		}
		missed := 0.0
		if q != p.Problem {
			returns, _, err := newSimulation(of, read, 1, 1000).expected(ctx)
			if err != nil {
				return err
			}
			missed = of.task.Violation(returns)
		}
		if missed < least {
			best, policies, least = of, read, missed
		}
		return nil
	})
	if best == nil {
		err = cmp.Or(err, first)
	}
	return best, policies, err
}

// thresholdReport is where the worst episodes of a constraint on their mean begin.
type thresholdReport struct {
	Constraint string        `json:"constraint"`
	Threshold  report.Number `json:"threshold"`
	Tried      int           `json:"tried"`
}

// remembered lists what a policy remembers.
func (p *loaded) remembered() []monitor.Remembered {
	if p.Memory == nil {
		return nil
	}
	return p.Memory.Remembered()
}

// thresholds lists the thresholds of constraints on the worst episodes.
func (p *loaded) thresholds() []thresholdReport {
	var out []thresholdReport
	for _, t := range tails(p.Problem) {
		out = append(out, thresholdReport{t.Name, report.Number(t.Threshold), len(t.Thresholds)})
	}
	return out
}

// limitNotes says what is peculiar about limits of totals.
func (p *loaded) limitNotes() report.Note {
	if p.Memory == nil {
		return nil
	}
	return slices.Clone(p.Memory.Notes)
}

// memoryNotes explains what is remembered and what constraints on episodes came to.
func (p *loaded) memoryNotes() report.Note {
	if p.Memory == nil {
		return nil
	}
	notes := report.Note(p.limitNotes())
	for _, t := range p.thresholds() {
		notes = append(notes, fmt.Sprintf("The %s is asked for with the threshold %s, the best of %d.", t.Constraint, report.Short(t.Threshold), t.Tried))
	}
	var parts []string
	for _, r := range p.remembered() {
		parts = append(parts, fmt.Sprintf("%s (%s)", r.Name, fewValues(r.Values)))
	}
	if parts != nil {
		notes = append(notes, "A policy remembers: "+strings.Join(parts, "; ")+".")
	}
	return notes
}

// fewValues lists values, the first and last of many.
func fewValues(values []string) string {
	const most = 6
	if len(values) <= most {
		return strings.Join(values, ", ")
	}
	return fmt.Sprintf("%s, … %s, %d values", strings.Join(values[:most-2], ", "), values[len(values)-1], len(values))
}
