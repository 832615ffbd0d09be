package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

// A Planner plans one task after the other for a fleet, see [exact.Planner]: it keeps the policies that it
// finds. It may be used concurrently; calls wait for each other.
type Planner struct {
	fleet *Fleet
	exact *exact.Planner
}

// NewPlanner returns a Planner, or an error that says what is wrong with the fleet. workers bounds the
// goroutines, 0 stands for GOMAXPROCS; results do not depend on it.
func NewPlanner(f *Fleet, workers int) (*Planner, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	p, err := exact.NewSumPlanner(f.parts(), len(f.Returns), f.EachStep, workers)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return &Planner{fleet: f, exact: p}, nil
}

func (f *Fleet) parts() []exact.Part {
	parts := make([]exact.Part, len(f.Types))
	for k, t := range f.Types {
		parts[k] = exact.Part{Model: t.Model, Weight: float64(t.Count), Returns: t.Returns}
	}
	return parts
}

// Exact returns the planner for the sum over all agents, which knows trade-off curves, conflicts and the like.
func (p *Planner) Exact() *exact.Planner { return p.exact }

// Solve minimises the cost of a task about the coordinates of the fleet, see [Fleet.Coordinate], within its
// limits, which hold in expectation. Errors are those of [exact.Solve]; "infeasible" is an answer.
func (p *Planner) Solve(ctx context.Context, task cmdp.Task, opts exact.Options) (*Plan, error) {
	r, err := p.exact.Solve(ctx, task, opts)
	if err != nil {
		return nil, err
	}
	return p.fleet.plan(r), nil
}

// SecondOpinion solves a task by GLPK as one linear program of the occupancies of all types, see [exact.SecondOpinion].
func (p *Planner) SecondOpinion(ctx context.Context, task cmdp.Task) (*exact.Opinion, error) {
	return exact.SecondOpinionOfSum(ctx, p.fleet.parts(), len(p.fleet.Returns), p.fleet.EachStep, task)
}

// Plan says what an answer of [Planner.Exact] means for each type.
func (p *Planner) Plan(r *exact.Result) *Plan { return p.fleet.plan(r) }

// plan says what an answer of exact planning means for each type.
func (f *Fleet) plan(r *exact.Result) *Plan {
	plan := &Plan{Result: r}
	for _, x := range r.Parts {
		t := TypePlan{Returns: make([]float64, f.Dim())}
		for j, c := range x.Mixture {
			t.Policies = append(t.Policies, Assignment{Share: c.Weight, Policy: c.Policy, Returns: x.Returns[j]})
			for i, y := range x.Returns[j] {
				t.Returns[i] += float64(c.Weight * y)
			}
		}
		slices.SortStableFunc(t.Policies, func(a, b Assignment) int { return cmp.Compare(b.Share, a.Share) })
		plan.Types = append(plan.Types, t)
	}
	f.assign(plan)
	return plan
}
