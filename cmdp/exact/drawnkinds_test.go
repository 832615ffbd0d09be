package exact

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// drawKind draws a small model, with returns in one of some units. Totals come to an end, and beside means they do
// before the recurrent part.
func drawKind(t *testing.T, rng *rand.Rand, name string, units ...float64) *kind {
	t.Helper()
	k := &kind{t: t, dim: 2, unit: 1}
	spec := cmdp.ModelSpec{Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}
	if rng.IntN(2) == 0 {
		spec.Start = []cmdp.StartState{{State: 0, Probability: 0.25}, {State: 1, Probability: 0.75}}
	}
	finite := spec
	finite.Horizon = 3
	if name != "tally" && name != "epochs" {
		k.unit = units[rng.IntN(len(units))]
	}
	switch name {
	case "horizon":
		k.m = drawRows(t, rng, finite, k.unit, 3, false)
	case "steps":
		k.m = drawRows(t, rng, finite, k.unit, 3, true)
	case "discount":
		spec.Discount = 0.8
		k.m = drawRows(t, rng, spec, k.unit, 3, false)
	case "totals":
		spec.Discount = 1
		k.m = drawRows(t, rng, spec, k.unit, 4, false)
	case "means":
		spec.Discount, spec.Means = 1, []bool{true, true}
		k.m = drawRows(t, rng, spec, k.unit, 4, false)
	case "mixed":
		spec.Discount, spec.Means = 1, []bool{true, false}
		k.m = drawRows(t, rng, spec, k.unit, 5, false)
	case "tally":
		k.m = drawCounted(t, rng, drawRows(t, rng, finite, k.unit, 2, rng.IntN(2) == 0))
	case "epochs":
		k.m = drawEpochs(t, rng)
	case "sum":
		for range 1 + rng.IntN(3) {
			k.parts = append(k.parts, Part{Model: drawRows(t, rng, finite, k.unit, 2, rng.IntN(2) == 0),
				Weight: float64(1 + rng.IntN(3)), Returns: [][]int{{0, 1}, {1, 0}, {1, -1}, {1, 1}}[rng.IntN(4)]})
		}
		k.dim += finite.Horizon
	}
	k.planner = k.fresh()
	if k.m != nil {
		k.pure = k.neverDrawing()
	}
	if slices.Contains([]string{"totals", "means", "mixed", "discount"}, name) {
		k.vertices = k.pure
	}
	return k
}

// drawRows draws a model with the rows of all steps or, where each has its own, of every step, at which other states
// rest. Its last state always rests without a horizon, and is come to with totals. Of totals beside means states 0 and
// 1 alone return some, which are left for good.
func drawRows(t *testing.T, rng *rand.Rand, spec cmdp.ModelSpec, unit float64, states int, each bool) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(spec, states)
	steps := []int{cmdp.EveryStep}
	if each {
		steps = []int{1, 2, 3}
	}
	totals := spec.Discount == 1 && spec.Means == nil
	mixed := spec.Means != nil && !spec.Means[1]
	shape, alike := rng, each && rng.IntN(2) == 0 // steps that differ in numbers alone
	seed := rng.Uint64()
	for _, h := range steps {
		if alike {
			shape = rand.New(rand.NewPCG(seed, 1))
		}
		for s := range states {
			if s > 0 && shape.IntN(4) == 0 || totals && s == states-1 {
				continue
			}
			for a := range 1 + shape.IntN(3) {
				row := cmdp.Row{Step: h, State: s, Action: a, Returns: make([]float64, spec.Dim)}
				for i := range row.Returns {
					row.Returns[i] = unit * float64(rng.IntN(9)-4) / 4
				}
				least := 0
				if mixed {
					least = min(s+1, 2)
					if s > 1 {
						row.Returns[1] = 0
					}
				}
				one, other := least+shape.IntN(states-least), least+shape.IntN(states-least)
				p := 0.25 * float64(1+rng.IntN(3))
				if totals {
					other = states - 1
				}
				row.Next = []cmdp.Transition{{Next: one, Probability: p}, {Next: other, Probability: 1 - p}}
				if one == other {
					row.Next = []cmdp.Transition{{Next: one, Probability: 1}}
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

// drawCounted draws a tally of a model: its first return, and one that depends on a count at the end.
func drawCounted(t *testing.T, rng *rand.Rand, base *cmdp.Model) *cmdp.Model {
	t.Helper()
	line := func() cmdp.Line { return cmdp.Line{At0: float64(rng.IntN(5)) / 2, Slope: float64(rng.IntN(3)-1) / 2} }
	spec := cmdp.TallySpec{Base: base, Columns: []int{0, 2},
		Final: []cmdp.FinalReturn{{Cut: rng.Int32N(4) - 1, Low: line(), High: line()}}}
	for h := range kernels(base) {
		amounts := make([]int32, len(base.Kernel(h).Next))
		for e := range amounts {
			amounts[e] = rng.Int32N(4) - 1
		}
		spec.Amount = append(spec.Amount, amounts)
	}
	if bound := rng.Int32N(3); rng.IntN(3) > 0 {
		spec.AtMost = &bound
	}
	tally, err := cmdp.NewTally(spec)
	if errors.Is(err, cmdp.ErrBroken) {
		spec.AtMost = nil
		tally, err = cmdp.NewTally(spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := tally.Model(cmdp.Interval{Lower: []float64{-100, -100}, Upper: []float64{100, 100}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// storedRows returns a model of totals with the rows that it generates.
func storedRows(t *testing.T, m *cmdp.Model) *cmdp.Model {
	t.Helper()
	rows, out := m.Rows(0), cmdp.NewKernel()
	for s := range m.States() {
		for c, end := rows.Choices(s); c < end; c++ {
			if next, prob := rows.Row(c); len(next) > 0 {
				out.Append(next, prob, rows.Returns(c))
			}
		}
		out.EndState()
	}
	stored, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: m.Dim(), Start: m.StartStates(),
		Kernels: []cmdp.Kernel{out}})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// drawLimits draws limits, some of which no policy keeps, and some that leave room.
func (k *kind) drawLimits(rng *rand.Rand) (rows []cmdp.Constraint) {
	k.t.Helper()
	for range rng.IntN(4) {
		normal := axis(k.dim, rng.IntN(k.dim), float64(1-2*rng.IntN(2)))
		if rng.IntN(2) == 0 {
			for i := range normal {
				normal[i] = float64(rng.IntN(5) - 2)
			}
		}
		if floats.Norm(normal, 1) == 0 {
			continue
		}
		least := k.least(normal, nil)
		extent := max(0.1*k.unit, -k.least(scaled(-1, normal), nil)-least)
		at := []float64{0.5, 0.1, 0.01, -0.2, 0.9}[rng.IntN(5)] + 0.01*rng.Float64()
		rows = append(rows, cmdp.Constraint{Normal: normal, Offset: least + at*extent})
	}
	return rows
}
