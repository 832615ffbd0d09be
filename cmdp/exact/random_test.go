package exact_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// shapeOf says which random models to draw.
type shapeOf struct {
	states, actions, horizon, dim, successors int
	stepwise                                  bool // a kernel for each step
	rests                                     bool // some states have no choice
	integer                                   bool // small integer returns and few successors: many ties
	discount                                  float64
	unit                                      float64 // of returns, 0 for 1
}

// randomModel draws a model.
func randomModel(t testing.TB, rng *rand.Rand, sh shapeOf) *cmdp.Model {
	t.Helper()
	start := []cmdp.StartState{{State: 0, Probability: 1}}
	if sh.states > 1 && rng.IntN(3) == 0 {
		start = []cmdp.StartState{{State: 0, Probability: 0.25}, {State: 1, Probability: 0.75}}
	}
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: sh.horizon, Discount: sh.discount, Dim: sh.dim, Start: start},
		sh.states)
	steps := []int{cmdp.EveryStep}
	if sh.stepwise {
		steps = nil
		for h := range sh.horizon {
			steps = append(steps, h+1)
		}
	}
	for _, h := range steps {
		for s := range sh.states {
			if sh.rests && s > 0 && rng.IntN(4) == 0 {
				continue
			}
			for a := range 1 + rng.IntN(sh.actions) {
				addRow(t, rng, b, sh, h, s, a)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func addRow(t testing.TB, rng *rand.Rand, b *cmdp.Builder, sh shapeOf, h, s, a int) {
	t.Helper()
	row := cmdp.Row{Step: h, State: s, Action: a, Returns: make([]float64, sh.dim)}
	n := min(sh.states, 1+rng.IntN(sh.successors))
	sum := 0.0
	first, stride := rng.IntN(sh.states), 1+rng.IntN(max(1, (sh.states-1)/max(1, n)))
	for i := range n {
		next := (first + i*stride) % sh.states
		p := 0.05 + rng.ExpFloat64()
		if sh.integer {
			p = 1
		}
		row.Next = append(row.Next, cmdp.Transition{Next: next, Probability: p})
		sum += p
	}
	for i := range row.Next {
		row.Next[i].Probability /= sum
	}
	for i := range row.Returns {
		row.Returns[i] = rng.Float64()
		if sh.integer {
			row.Returns[i] = float64(rng.IntN(3) - 1)
		}
		if sh.unit > 0 {
			row.Returns[i] *= sh.unit
		}
	}
	if err := b.Add(row); err != nil {
		t.Fatal(err)
	}
}

// box is the box of possible returns of a model with a finite horizon.
func box(t testing.TB, m *cmdp.Model) *geometry.Box {
	t.Helper()
	lower, upper := make([]float64, m.Dim()), make([]float64, m.Dim())
	if m.Horizon() > 0 {
		m.Shape().ReturnToGo(lower, upper, 0)
	} else {
		for i := range lower {
			lower[i], upper[i] = -1e3, 1e3
		}
	}
	b, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// atMost returns the target {v_i ≤ bounds[i]} within the box; +Inf is no bound.
func atMost(t testing.TB, x *geometry.Box, bounds []float64) geometry.Compact {
	t.Helper()
	lower := make([]float64, len(bounds))
	for i := range lower {
		lower[i] = math.Inf(-1)
	}
	b, err := geometry.NewBox(lower, bounds)
	if err != nil {
		t.Fatal(err)
	}
	c, err := geometry.Restrict(b, x)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// values draws one return vector of a random deterministic policy.
func randomReturns(m *cmdp.Model, rng *rand.Rand) []float64 {
	v := make([]float64, m.Dim())
	p := make(cmdp.Deterministic, m.Horizon())
	for h := range p {
		p[h] = make([]int32, m.States())
		for s := range p[h] {
			if n := m.Shape().Actions(h, s); n > 0 {
				p[h][s] = int32(rng.IntN(n))
			}
		}
	}
	cmdp.NewEvaluator(m).Returns(v, p)
	return v
}

func linear(t testing.TB, x *geometry.Box, c []float64) cost.Cost {
	t.Helper()
	g, err := cost.NewLinear(c, x)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
