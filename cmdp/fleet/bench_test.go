package fleet_test

import (
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/fleet"
)

// capacities limits each resource at each step to a share of what the fleet uses that takes no notice of limits.
func capacities(t testing.TB, p *fleet.Planner, f *fleet.Fleet, share float64) []fleet.Limit {
	goal, err := p.Maximize(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	task, err := p.Task(t.Context(), goal, nil)
	if err != nil {
		t.Fatal(err)
	}
	free, err := p.Solve(t.Context(), task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var limits []fleet.Limit
	for i, use := range f.Use(free.Returns) {
		sum := 0.0
		for _, x := range use {
			sum += x
		}
		for h := range use {
			limits = append(limits, fleet.Limit{Return: f.EachStep[i], Step: h, Bound: share * sum / float64(len(use))})
		}
	}
	return limits
}

var iterations = 2000

func BenchmarkFleet(b *testing.B) {
	for _, of := range []struct {
		name string
		sh   shape
	}{
		{"100types", shape{types: 100, agents: 1000, states: 50, actions: 3, successors: 3, horizon: 50, resources: 3}},
		{"1000types", shape{types: 1000, agents: 1, states: 75, actions: 3, successors: 3, horizon: 50, resources: 3}},
	} {
		b.Run(of.name, func(b *testing.B) {
			f := random(b, rand.New(rand.NewPCG(1, 2)), of.sh)
			for b.Loop() {
				p, err := fleet.NewPlanner(f, 0)
				if err != nil {
					b.Fatal(err)
				}
				limits := capacities(b, p, f, 0.7)
				goal, err := p.Maximize(b.Context(), 0)
				if err != nil {
					b.Fatal(err)
				}
				task, err := p.Task(b.Context(), goal, limits)
				if err != nil {
					b.Fatal(err)
				}
				plan, err := p.Solve(b.Context(), task, exact.Options{Gap: 1e-6, Iterations: iterations, Progress: func(n int, bound, objective float64) {
					b.Log(n, bound, objective)
				}})
				if err != nil {
					b.Fatal(err)
				}
				b.Log(plan.Status, plan.Objective, plan.Bound, plan.Gap/-plan.Objective, plan.Iterations)
			}
		})
	}
}
