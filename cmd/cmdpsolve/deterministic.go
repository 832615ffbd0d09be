package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/query"

	"github.com/spf13/pflag"
)

// deterministicOptions ask for policies that never draw.
type deterministicOptions struct {
	deterministic bool
	nodes         int
}

func (o *deterministicOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.deterministic, "deterministic", false,
		"only policies that never draw an action; the search takes long in all but small problems")
	f.IntVar(&o.nodes, "nodes", usualNodes, "with --deterministic, most problems to solve in a search")
}

func (o *deterministicOptions) check() error {
	switch {
	case o.nodes < 1:
		return usage("--nodes %d: want at least 1", o.nodes)
	case o.nodes != usualNodes && !o.deterministic:
		return usage("--nodes is for policies that never draw: give --deterministic too")
	}
	return nil
}

// usualNodes is how many problems a search solves at most unless it is told otherwise.
const usualNodes = 10_000

// neverReport describes the search for a policy that never draws.
type neverReport struct {
	Nodes int `json:"nodes"`
	// Relaxed is the optimum over policies that may draw.
	Relaxed report.Number `json:"relaxed"`
	// Finite says that only policies whose totals are finite were looked at: without a horizon others may be endless.
	Finite bool `json:"finite,omitempty"`

	found bool // a policy that never draws
}

// planDeterministic plans for a policy that never draws.
func (c *planCommand) planDeterministic(ctx context.Context, p *loaded) error {
	opts, progress := c.exact(c.status, p.transitions(), p.Sense())
	opts.Budget = c.solving()
	begin := time.Now()
	q, found, err := p.SolveDeterministic(ctx, exact.DeterministicOptions{Options: opts, Nodes: c.nodes})
	progress.line.forgets()
	if q != nil {
		p = p.as(q)
	}
	if err != nil {
		return p.stopped(err)
	}
	r := *found.Relaxed
	if found.Policy != nil {
		r = exact.Result{Objective: found.Objective, Bound: found.Bound, Gap: found.Gap, Returns: found.Returns,
			Dual: make([]float64, len(p.Returns)), Violation: found.Violation, Tolerance: found.Tolerance,
			Policy: found.Policy, Return: found.Relaxed.Return}
		for _, constraint := range p.Task.Constraints {
			r.Prices = append(r.Prices, exact.Price{Constraint: constraint, Value: math.NaN()})
		}
	}
	r.Status, r.Iterations = found.Status, found.Iterations
	if found.Policy == nil && r.Status != exact.Infeasible { // that of the relaxed problem is no answer
		r.Policy, r.Mixture = nil, nil
		r.Objective, r.Bound, r.Gap = math.NaN(), found.Bound, found.Gap
	}
	if p.Rounded() {
		r = *p.Unproved(&r)
	}
	if found.Policy != nil && p.Model.Means() {
		r.Branches, err = exact.Branches(ctx, p.Model, []cmdp.Policy{found.Policy}, []float64{1})
		if err != nil {
			return p.stopped(err)
		}
	}
	d := newPlanReport(p, &r, time.Since(begin))
	d.Never = &neverReport{Nodes: found.Nodes, Relaxed: report.NaN, found: found.Policy != nil,
		Finite: p.Horizon() == 0 && p.Model.Discount() == 1 && !p.Model.Average()}
	if p.Task.Cost != nil && found.Relaxed.Status == exact.Optimal {
		d.Never.Relaxed = report.Number(p.Sense() * found.Relaxed.Objective)
	}
	d.Rho = report.NaN // the search has no prices
	undecided := fmt.Errorf("undecided: the best policy and the bound are not within the gap after %s (see --nodes "+
		"and --gap)", count(found.Nodes, "problem"))
	if ctx.Err() != nil {
		undecided = fmt.Errorf("%w: the best policy and the bound are not within the gap after %s", errInterrupted,
			count(found.Nodes, "problem"))
	}
	if found.Policy == nil { // one that draws, however near, is not asked for
		r.Policy, r.Mixture = nil, nil
	}
	return c.conclude(ctx, p, d, &r, failed(undecided))
}

// notes says what was searched.
func (n *neverReport) notes(status string) report.Note {
	notes := report.Note{fmt.Sprintf("The search for a policy that never draws solved %s.", count(n.Nodes, "problem"))}
	if status == exact.Stopped.String() && n.found {
		notes = append(notes, "It was cut: the gap is certified, and others may be better by it.")
	}
	if status == exact.Infeasible.String() {
		such := "such policy"
		if n.Finite {
			such += " whose totals are finite"
		}
		return append(notes, "No "+such+" keeps every limit: the returns above are those of one that draws.")
	}
	if n.Relaxed == n.Relaxed {
		if !n.found {
			notes = append(notes, "None was found that keeps every limit: the returns above are those of one that draws.")
		}
		notes = append(notes, fmt.Sprintf("Policies that may draw reach %s.", report.Short(n.Relaxed)))
	}
	return notes
}

// frontDeterministic computes the trade-off curve of policies that never draw, as that of points.
func (c *frontCommand) frontDeterministic(ctx context.Context, p *loaded, over []objective) error {
	if len(over) != 2 {
		return usage("--deterministic: --over has %s: want two", count(len(over), "return"))
	}
	if len(p.Of(query.WorstEpisodes)) > 0 {
		return usage("--deterministic: %s limits the mean of the worst episodes: want a front of policies that may draw", p.name)
	}
	if c.plot != "" {
		return usage("--deterministic: --plot draws convex curves alone: save the points with --format csv")
	}
	opts, progress := c.exact(c.status, p.transitions(), 1)
	opts.Budget = c.budget
	begin := time.Now()
	f, err := p.DeterministicFront(ctx, [2]query.Objective{over[0].wanted(), over[1].wanted()},
		exact.DeterministicOptions{Options: opts, Nodes: c.nodes,
			Each: func(exact.DeterministicPoint) { progress.point(exact.FrontPoint{}) }})
	progress.line.forgets()
	if err != nil {
		return p.stopped(err)
	}
	rep := newFrontReport(p, over, f, time.Since(begin))
	rep.Never = true
	undecided := fmt.Sprintf("undecided: some search took more than %s (see --nodes)", count(c.nodes, "problem"))
	if ctx.Err() != nil {
		undecided = errInterrupted.Error()
	}
	return c.conclude(ctx, p, rep, nil, undecided)
}
