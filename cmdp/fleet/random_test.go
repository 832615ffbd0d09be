package fleet_test

import (
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/fleet"
)

// shape says which random fleets to draw.
type shape struct {
	types, agents, states, actions, successors, horizon, resources int
	stepwise                                                       bool // models with a kernel for each step
}

// random draws a fleet that gains a value, return 0, with resources, the other returns, that are used at each step.
func random(t testing.TB, rng *rand.Rand, sh shape) *fleet.Fleet {
	t.Helper()
	f := &fleet.Fleet{Returns: []string{"value"}}
	for i := range sh.resources {
		f.Returns = append(f.Returns, "resource"+string(rune('a'+i)))
		f.EachStep = append(f.EachStep, i+1)
	}
	for k := range sh.types {
		m := randomModel(t, rng, sh)
		into := make([]int, m.Dim())
		for i := range into {
			into[i] = i
		}
		f.Types = append(f.Types, fleet.Type{Name: "type" + string(rune('a'+k%26)), Count: 1 + rng.IntN(max(1, 2*sh.agents-1)), Model: m, Returns: into})
	}
	return f
}

// randomModel draws a model in which action 0 uses nothing and others use some resources for a larger value.
func randomModel(t testing.TB, rng *rand.Rand, sh shape) *cmdp.Model {
	t.Helper()
	d := 1 + sh.resources
	start := []cmdp.StartState{{State: rng.IntN(sh.states), Probability: 1}}
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: sh.horizon, Dim: d, Start: start}, sh.states)
	steps := []int{cmdp.EveryStep}
	if sh.stepwise {
		steps = nil
		for h := range sh.horizon {
			steps = append(steps, h+1)
		}
	}
	for _, h := range steps {
		for s := range sh.states {
			for a := range 1 + rng.IntN(sh.actions) {
				row := cmdp.Row{Step: h, State: s, Action: a, Returns: make([]float64, d)}
				row.Returns[0] = rng.Float64()
				if a > 0 {
					row.Returns[0] += rng.Float64()
					row.Returns[1+rng.IntN(sh.resources)] = 0.5 + rng.Float64()
				}
				n, sum := 1+rng.IntN(sh.successors), 0.0
				for range n {
					p := 0.05 + rng.ExpFloat64()
					sum += p
					row.Next = append(row.Next, cmdp.Transition{Next: rng.IntN(sh.states), Probability: p})
				}
				for i := range row.Next {
					row.Next[i].Probability /= sum
				}
				if err := b.Add(row); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
