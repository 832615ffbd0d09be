package main

import (
	"context"
	"math"
	"slices"

	"cmdpsolve/cmd/cmdpsolve/internal/report"
	"cmdpsolve/cmdp/fleet"
)

// aboutFleet is what the page has to know of a fleet.
type aboutFleet struct {
	Types []aboutType `json:"types"`
	// Resources are the returns with limits at single steps.
	Resources []string `json:"resources"`
}

type aboutType struct {
	Name   string `json:"name"`
	Agents int    `json:"agents"`
}

// usedReport is what a fleet uses of a return at each step, with the limits there, null for none, and their prices.
type usedReport struct {
	Name    string          `json:"name"`
	Use     []report.Number `json:"use"`
	AtMost  []report.Number `json:"at_most"`
	AtLeast []report.Number `json:"at_least"`
	Prices  []report.Number `json:"prices"`
}

// describeFleet adds what is only of fleets: the types, and the limits at single steps, which are moved together.
func (e *explorer) describeFleet(a *aboutReport, low, high []float64) {
	f := e.Fleet()
	a.Fleet = &aboutFleet{Types: []aboutType{}, Resources: []string{}}
	for _, t := range f.Types {
		a.Fleet.Types = append(a.Fleet.Types, aboutType{t.Name, t.Count})
	}
	for _, i := range f.EachStep {
		a.Fleet.Resources = append(a.Fleet.Resources, f.Returns[i])
	}
	known := make(map[string]bool)
	for _, l := range e.Limits {
		if l.Step == 0 || known[l.Return] {
			continue
		}
		known[l.Return] = true
		r := aboutReturn{Name: l.Return, Min: report.Number(math.Inf(1)), Max: report.Number(math.Inf(-1))}
		for _, other := range e.Limits {
			if other.Step > 0 && other.Return == l.Return {
				i := f.Coordinate(returnOf(e.loaded, other.Constraint), other.Step-1)
				r.Min = min(r.Min, report.Number(low[i]))
				r.Max = max(r.Max, report.Number(high[i]))
			}
		}
		a.Tails = append(a.Tails, r)
	}
}

// returnOf is the number of the return that a constraint is about.
func returnOf(p *loaded, constraint int) int {
	return slices.Index(p.Problem.Returns, p.Problem.Constraints[constraint].Return)
}

func (e *explorer) planFleet(ctx context.Context, p *loaded, keep []int, progress func(any)) (*planAnswer, error) {
	opts := e.options.solver(shown(p.Sense(), progress))
	opts.NoNearest, opts.Budget = true, e.options.budget
	r, err := p.SolveFleet(ctx, opts)
	if err != nil {
		return nil, err
	}
	a, err := e.answer(ctx, p, r.Result, keep)
	if err != nil || r.Types == nil {
		return a, err
	}
	d := newPlanReport(p, r.Result, 0)
	d.addFleet(p, r)
	a.Report = d
	a.Notes = append(a.Notes, d.fleetNotes(p)...)
	for k, name := range d.Use.Names {
		u := usedReport{Name: name, Use: d.Use.Values[k], Prices: d.StepPrices.Values[k]}
		for h := range p.Horizon() {
			u.AtMost = append(u.AtMost, boundAt(p, name, h+1, false))
			u.AtLeast = append(u.AtLeast, boundAt(p, name, h+1, true))
		}
		a.Used = append(a.Used, u)
	}
	a.ID = e.remember(&played{of: p, types: r, returns: r.Returns}, keep)
	return a, nil
}

// boundAt is the narrowest limit on a return at a step, counted from 1, NaN for none.
func boundAt(p *loaded, name string, step int, atLeast bool) report.Number {
	l := limitAt(p, name, step, atLeast)
	if l == nil {
		return report.NaN
	}
	return report.Number(l.Bound)
}

// agentOf is the plan of one agent of a type, to show.
func (p *played) agentOf(kind int) *played {
	of := &played{of: p.of.member(kind)}
	of.policy, of.mixture = mixtureOf(&p.types.Types[kind])
	if of.policy != nil {
		of.agent = of.policy
	}
	return of
}

// playFleet tells how the returns of a fleet vary from episode to episode, by playing it.
func (e *explorer) playFleet(ctx context.Context, plan *played, q *episodesQuestion) (*episodesAnswer, error) {
	f := plan.of.Fleet().Fleet
	player, err := fleet.NewIndependent(f, plan.types)
	if err != nil {
		return nil, err
	}
	a := &episodesAnswer{Returns: make([]variedReturn, len(f.Returns))}
	a.Played = min(mostEpisodes, max(200, q.Count))
	played, err := fleet.Play(ctx, f, plan.of.Task, player,
		fleet.PlayOptions{Episodes: a.Played, Seed: q.Seed, Each: func(v []float64) {
			for i := range a.Returns {
				r := &a.Returns[i]
				r.Values = append(r.Values, report.Number(v[i]))
				r.Shares = append(r.Shares, 1/report.Number(a.Played))
			}
		}})
	if err != nil {
		return nil, err
	}
	for i := range a.Returns {
		a.Returns[i].Mean = report.Number(played.Mean[i])
		a.Returns[i].Half = report.Number(played.Half[i])
	}
	return a, nil
}
