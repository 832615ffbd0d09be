package exact

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// wide is a model of one component that is too wide to be eliminated: a way on which one step in ten
// fails and leads back. It ends at rest for totals, else at its beginning.
func wide(t *testing.T, spec cmdp.ModelSpec, states int) *cmdp.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(15, 7))
	spec.Dim, spec.Start = 2, []cmdp.StartState{{State: 0, Probability: 1}}
	b := cmdp.NewBuilder(spec, states)
	for s := range states - 1 {
		for a := range 2 {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{rng.Float64(), rng.Float64()}}
			for _, p := range []float64{0.3, 0.3, 0.3, 0.1} {
				n := min(states-1, s+1+rng.IntN(20))
				if p == 0.1 {
					n = rng.IntN(s + 1)
				}
				row.Next = append(row.Next, cmdp.Transition{Next: n, Probability: p})
			}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if spec.Discount < 1 {
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: states - 1, Returns: []float64{1, 1},
			Next: []cmdp.Transition{{Next: 0, Probability: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestCoarseGap compares answers with coarse gaps, for which prices need not be found to rounding, with the
// exact one, and wants their bounds to be proved all the same.
func TestCoarseGap(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for name, spec := range map[string]cmdp.ModelSpec{"discounted": {Discount: 0.98}, "totals": {Discount: 1},
		"means": {Average: true}} {
		m := wide(t, spec, 400)
		box, err := geometry.NewBox([]float64{0, 0}, []float64{1e4, 1e4})
		if err != nil {
			t.Fatal(err)
		}
		solve := func(g []float64, target geometry.Compact, gap float64) (*Result, cmdp.Task) {
			t.Helper()
			goal, err := cost.NewLinear(g, box)
			if err != nil {
				t.Fatal(err)
			}
			task := cmdp.Task{Cost: goal, Target: target}
			r, err := Solve(t.Context(), m, task, Options{Gap: gap, Workers: 1})
			if err != nil || r.Status != Optimal {
				t.Fatalf("%s, gap %g: %+v, %v", name, gap, r, err)
			}
			Fits(t, m, task, r)
			return r, task
		}
		one, _ := solve([]float64{1, 0}, nil, 0)
		two, _ := solve([]float64{0, 1}, nil, 0)
		limit, err := geometry.NewBox([]float64{0, 0}, []float64{1e4, (one.Returns[1] + two.Returns[1]) / 2})
		if err != nil {
			t.Fatal(err)
		}
		target, err := limit.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		best, _ := solve([]float64{1, 0}, target, 0)
		rounding := 1e-9 * best.Objective
		for _, gap := range []float64{1e-2, 1e-4, 1e-6, 1e-8} {
			r, task := solve([]float64{1, 0}, target, gap)
			if r.Bound > best.Objective+rounding || r.Objective < best.Bound-rounding ||
				r.Gap > gap*two.Returns[0]+rounding {
				t.Errorf("%s, gap %g: between %v and %v, the exact optimum is %v", name, gap, r.Bound, r.Objective,
					best.Objective)
			}
			if bound, err := VerifyBound(t.Context(), m, task, r.Proof); err != nil ||
				math.Abs(bound-r.Bound) > rounding {
				t.Errorf("%s, gap %g: bound %v, verified %v, %v", name, gap, r.Bound, bound, err)
			}
			forged := *r.Proof
			for _, x := range []*float64{&forged.Value, &forged.Bound} {
				*x += 0.01 * gap * math.Abs(forged.Value)
			}
			if bound, err := VerifyBound(t.Context(), m, task, &forged); !errors.Is(err, ErrNotProved) {
				t.Error(fmt.Sprintf("%s, gap %g: bound %v raised to %v:", name, gap, r.Bound, forged.Bound), bound, err)
			}
		}
	}
}

// TestCoarseGapOfFewStates: systems that are eliminated are solved up to rounding, whatever was asked of them.
// Here the first policy of a direction is the best, so that nothing was asked yet.
func TestCoarseGapOfFewStates(t *testing.T) {
	box, err := geometry.NewBox([]float64{0, 0}, []float64{100, 100})
	if err != nil {
		t.Fatal(err)
	}
	limit, err := geometry.NewBox([]float64{0, 0}, []float64{100, 6})
	if err != nil {
		t.Fatal(err)
	}
	target, err := limit.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	goal, err := cost.NewLinear([]float64{-1, 0}, box)
	if err != nil {
		t.Fatal(err)
	}
	spec := cmdp.ModelSpec{Discount: 0.95, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}
	m := modelOf(t, spec, 2, []cmdp.Row{
		{State: 0, Action: 0, Returns: []float64{0.1, 0}, Next: []cmdp.Transition{{Next: 0, Probability: 1}}},
		{State: 0, Action: 1, Returns: []float64{0.3, 0.5},
			Next: []cmdp.Transition{{Next: 0, Probability: 0.5}, {Next: 1, Probability: 0.5}}},
		{State: 1, Action: 0, Returns: []float64{1, 0.1},
			Next: []cmdp.Transition{{Next: 1, Probability: 0.8}, {Next: 0, Probability: 0.2}}},
		{State: 1, Action: 1, Returns: []float64{1.5, 1}, Next: []cmdp.Transition{{Next: 1, Probability: 1}}},
	})
	var best float64
	for _, gap := range []float64{0, 1e-8, 1e-4} {
		r, err := Solve(t.Context(), m, cmdp.Task{Cost: goal, Target: target}, Options{Gap: gap, Workers: 1})
		if err != nil || r.Status != Optimal {
			t.Fatalf("gap %g: %+v, %v", gap, r, err)
		}
		if gap == 0 {
			best = r.Objective
		}
		if math.Abs(r.Objective-best) > gap*math.Abs(best) {
			t.Errorf("gap %g: %g, want %g", gap, r.Objective, best)
		}
	}
}

// TestCoarseReturns compares the returns that prices of a coarse gap find with exact ones. What is missing in the
// visits of a model that mixes has the same sign in all states and adds up.
func TestCoarseReturns(t *testing.T) {
	const states, successors = 3000, 5
	rng := rand.New(rand.NewPCG(15, 8))
	k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for range states {
		for range successors {
			k.Next, k.Prob = append(k.Next, rng.Int32N(states)), append(k.Prob, 1.0/successors)
		}
		k.Offset, k.First, k.Returns = append(k.Offset, len(k.Next)), append(k.First, int32(len(k.First))),
			append(k.Returns, rng.Float64())
	}
	for _, discount := range []float64{0.9, 0.95, 0.99, 0.995, 0.999} {
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: discount, Dim: 1, Kernels: []cmdp.Kernel{k},
			Start: []cmdp.StartState{{State: 0, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		st := &markov.Rule{Actions: markov.NewActions(states, 1)}
		p.tolerance = 1e-8
		rough, _, err := p.returns(t.Context(), st, tenDigits)
		if err != nil {
			t.Fatal(err)
		}
		exact, err := p.evaluate(t.Context(), &Policy{steps: []markov.Rule{*st}})
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(rough[0] - exact[0]); off > 1e-11/(1-discount) { // a tenth of what a target may be missed by
			t.Errorf("discount %v: returns %v, exact %v, off by %v of the extent", discount, rough[0], exact[0],
				off*(1-discount))
		}
	}
}
