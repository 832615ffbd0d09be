package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// window is how far from a state its successors lie at most in a local model.
const window = 500

// localProblem draws a model as instance.Garnet does, but for two things. The
// successors of state s are drawn from the states s−500 to s+500 modulo S, so
// that the same states are met again while a cache of any size still holds them. And
// episodes start in every state with the same probability: from a single one, 20 steps
// would reach the same number of states in a model of any size.
func (j job) localProblem(ctx context.Context) (*problem.Problem, error) {
	k := drawLocal(rand.New(cmdp.Stream(j.Seed, "local")), j.States)
	start := make([]cmdp.StartState, j.States)
	for s := range start {
		start[s] = cmdp.StartState{State: s, Probability: 1 / float64(j.States)}
	}
	m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: horizon, Dim: dim, Start: start, Kernels: []cmdp.Kernel{k}})
	if err != nil {
		return nil, err
	}
	p := &problem.Problem{Name: fmt.Sprintf("local:S=%d", j.States), Goal: problem.Goal{Minimize: "r0"}, Model: m}
	best, err := least(ctx, m, []float64{1, 0, 0})
	if err != nil {
		return nil, err
	}
	cautious, err := least(ctx, m, []float64{0, 1, 1})
	if err != nil {
		return nil, err
	}
	for i := range dim {
		p.Returns = append(p.Returns, fmt.Sprintf("r%d", i))
		if i > 0 {
			bound := cautious[i] + 0.5*max(0, best[i]-cautious[i])
			p.Constraints = append(p.Constraints, problem.Limit{Return: p.Returns[i], AtMost: &bound})
		}
	}
	return p, nil
}

func drawLocal(rng *rand.Rand, states int) cmdp.Kernel {
	k := emptyKernel(states, states*actions, states*actions*successors, dim)
	places, later := min(states, 2*window+1), make([]float64, dim) // returns are drawn last
	for s := range states {
		for range actions {
			next := make([]int32, 0, successors)
			for len(next) < successors {
				n := int32((s + states - places/2 + rng.IntN(places)) % states)
				if !slices.Contains(next, n) {
					next = append(next, n)
				}
			}
			slices.Sort(next)
			k.Append(next, gaps(rng), later)
		}
		k.EndState()
	}
	for i := range k.Returns {
		k.Returns[i] = rng.Float64()
	}
	return k
}

// gaps returns the lengths of the parts into which random points cut [0, 1].
func gaps(rng *rand.Rand) []float64 {
	cuts := make([]float64, successors+1)
	cuts[successors] = 1
	for i := 1; i < successors; i++ {
		cuts[i] = rng.Float64()
	}
	slices.Sort(cuts)
	for i := range successors {
		cuts[i] = cuts[i+1] - cuts[i]
	}
	return cuts[:successors]
}

// least returns the returns of a policy with the least weighted sum of them.
func least(ctx context.Context, m *cmdp.Model, weights []float64) ([]float64, error) {
	lower, upper := m.Shape().Totals()
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		return nil, err
	}
	sum, err := cost.NewLinear(weights, box)
	if err != nil {
		return nil, err
	}
	r, err := exact.Solve(ctx, m, cmdp.Task{Cost: sum}, exact.Options{Workers: 1})
	if err != nil {
		return nil, err
	}
	return r.Returns, nil
}
