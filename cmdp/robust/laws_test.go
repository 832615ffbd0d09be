package robust_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/robust"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
)

// TestWidthZero: over a set of one model the answer is that of exact planning, and bounds of returns are the returns.
func TestWidthZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for i := range 30 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		iv, err := cmdp.Widen(c.model, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if iv.Rows() != 0 || iv.Width() != 0 {
			t.Fatalf("%d choices with intervals of width %g: want none", iv.Rows(), iv.Width())
		}
		set, err := robust.New(robust.Spec{Model: c.model, Intervals: iv})
		if err != nil {
			t.Fatal(err)
		}
		policy := randomPolicy(t, rng, c.model, c.model.Horizon())
		b, err := set.Evaluate(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float64, 2)
		cmdp.NewEvaluator(c.model).Returns(v, policy)
		for j := range v {
			if b.Least[j] > v[j]+1e-15 || b.Greatest[j] < v[j]-1e-15 || b.Greatest[j]-b.Least[j] > 1e-12 {
				t.Errorf("case %d: return %d is %.17g, between %.17g and %.17g", i, j, v[j], b.Least[j], b.Greatest[j])
			}
		}
		lower, upper := make([]float64, 2), make([]float64, 2)
		c.model.Shape().ReturnToGo(lower, upper, 0)
		c.wanted(t, v[1]+0.05*rng.NormFloat64(), lower, upper)
		r, err := robust.Solve(t.Context(), set, c.task, robust.SolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := exact.Solve(t.Context(), c.model, c.task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case (r.Status == robust.Infeasible) != (want.Status == exact.Infeasible):
			t.Errorf("case %d: %v: want %v", i, r.Status, want.Status)
		case want.Status == exact.Optimal && (r.Status != robust.Optimal ||
			math.Abs(r.Objective-want.Objective) > 1e-9):
			t.Errorf("case %d: %v, objective %.12g: want %.12g", i, r.Status, r.Objective, want.Objective)
		}
	}
}

// TestMonotone: bounds of the returns of a policy widen with the intervals, of which those of single successors stay
// as they are.
func TestMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	for i := range 30 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		policy := randomPolicy(t, rng, c.model, c.model.Horizon())
		var before robust.Bounds
		for k, width := range []float64{0, 0.01, 0.1, 0.3, 1} {
			iv, err := cmdp.Widen(c.model, c.iv, width)
			if err != nil {
				t.Fatal(err)
			}
			checkWidth(t, c.model, iv, c.iv)
			set, err := robust.New(robust.Spec{Model: c.model, Intervals: iv})
			if err != nil {
				t.Fatal(err)
			}
			b, err := set.Evaluate(t.Context(), policy)
			if err != nil {
				t.Fatal(err)
			}
			for j := range 2 {
				if k > 0 && (b.Greatest[j] < before.Greatest[j]-1e-13 || b.Least[j] > before.Least[j]+1e-13) {
					t.Errorf("case %d: width %g: return %d between %g and %g, before %g and %g", i, width, j,
						b.Least[j], b.Greatest[j], before.Least[j], before.Greatest[j])
				}
			}
			before = b
		}
	}
}

// checkWidth compares what wider intervals say of themselves with their rows.
func checkWidth(t *testing.T, m *cmdp.Model, iv, before *cmdp.Intervals) {
	t.Helper()
	inexact, widest := 0, 0.0
	for h := range m.Kernels() {
		rows := m.Rows(h)
		for s := range m.States() {
			for c, end := rows.Choices(s); c < end; c++ {
				lower, upper := iv.Row(h, c)
				low, up := before.Row(h, c)
				if next, _ := rows.Row(c); len(next) == 1 && !(slices.Equal(lower, low) && slices.Equal(upper, up)) {
					t.Errorf("choice %d of kernel %d has one successor, between %v and %v: want %v and %v", c, h, lower,
						upper, low, up)
				}
				inexact += min(1, len(lower))
				for i, l := range lower {
					widest = max(widest, upper[i]-l)
				}
			}
		}
	}
	if iv.Rows() != inexact || iv.Width() != widest {
		t.Errorf("%d choices up to %g wide: want %d up to %g", iv.Rows(), iv.Width(), inexact, widest)
	}
}

// TestWeakDuality: for random prices of the limit no policy that keeps it in all models has a worst case below the
// bound of the prices, which is the worst case of the best policy in the weighted direction.
func TestWeakDuality(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	tried := 0
	for i := range 60 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		b, err := c.set.Evaluate(t.Context(), randomPolicy(t, rng, c.model, c.model.Horizon()))
		if err != nil {
			t.Fatal(err)
		}
		limit := b.Greatest[1]
		price := rng.ExpFloat64()
		lower, upper := []float64{-1e3, -1e3}, []float64{1e3, 1e3}
		c.wanted(t, limit, lower, upper)
		weighted := c.task
		weighted.Target, weighted.Constraints = nil, nil
		weighted.Cost = linear(t, []float64{1, price}, lower, upper)
		r, err := robust.Solve(t.Context(), c.set, weighted, robust.SolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != robust.Optimal {
			t.Errorf("case %d: %v: a single direction has no gap", i, r.Status)
		}
		if bound := r.Bound - price*limit; b.Greatest[0] < bound-1e-9 {
			t.Errorf("case %d: a policy that keeps the limit has a worst case of %g, below the bound %g of the price %g", i, b.Greatest[0], bound, price)
		}
		tried++
	}
	if tried == 0 {
		t.Error("nothing was tried")
	}
}

// TestRoundingAddsUp: over many steps rounding errors add up, and bounds enclose the return in rational numbers, but
// not by much more: where one successor is sure, where nature chooses among two, where what they return cancels, and
// where there are many starts, which return the same.
func TestRoundingAddsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 1))
	for i, steps := range []int{3000, 300, 300, 300, 300, 1} {
		k, states := cmdp.NewKernel(), 3
		start := []cmdp.StartState{{State: 0, Probability: 1}}
		if steps == 1 {
			states, start = 3000, nil
			for s := range states {
				start = append(start, cmdp.StartState{State: s, Probability: 1 / float64(states)})
			}
		}
		lower, upper := []float64{0.25, 0.125}, []float64{0.75, 0.875}
		for s := range states {
			next, r := []int32{int32((s + 1) % states), int32(s)}, rng.Float64()
			switch {
			case i == 0:
				k.Append(next[:1], []float64{1}, []float64{r})
			case steps == 1:
				k.Append(next[:1], []float64{1}, []float64{0.7})
			case i%2 == 0:
				k.Append(next, []float64{0.25, 0.75}, []float64{r})
			default:
				k.AppendRandom(next, []float64{0.25, 0.75}, []float64{0.25*r - 0.75*(r/3)}, []float64{r, -r / 3})
			}
			k.EndState()
		}
		m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: steps, Dim: 1, Start: start, Kernels: []cmdp.Kernel{k}})
		if err != nil {
			t.Fatal(err)
		}
		spec := robust.Spec{Model: m}
		if i == 3 || i == 4 {
			spec.Intervals, err = cmdp.NewIntervals(m, func(_, _ int) ([]float64, []float64) { return lower, upper })
			if err != nil {
				t.Fatal(err)
			}
		}
		set, err := robust.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		policy := exactPolicy(rng, m)
		b, err := set.Evaluate(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		for sign, stated := range map[float64]float64{1: b.Greatest[0], -1: -b.Least[0]} {
			want, err := set.RationalGreatest(policy, []float64{sign})
			if err != nil {
				t.Fatal(err)
			}
			near, _ := want.Float64()
			if want.Cmp(new(big.Rat).SetFloat64(stated)) > 0 || stated > near+1e-7 {
				t.Errorf("case %d: a greatest return of %.17g in direction %g: bound %.17g", i, near, sign, stated)
			}
		}
	}
}

// TestSearchGainsGround: from round to round the bound does not fall nor the objective rise, and the last ones are
// those of the result. A limit that is given twice has the price of both once, and without it the model of the bound is
// no better by a unit than that price.
func TestSearchGainsGround(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 1))
	priced := 0
	for i := range 40 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], i%4 == 3)
		lower, upper := make([]float64, 2), make([]float64, 2)
		c.model.Shape().ReturnToGo(lower, upper, 0)
		b, err := c.set.Evaluate(t.Context(), randomPolicy(t, rng, c.model, c.model.Horizon()))
		if err != nil {
			t.Fatal(err)
		}
		c.wanted(t, b.Greatest[1]-0.1*rng.Float64(), lower, upper)
		var results []*robust.Result
		for range 2 {
			bound, objective, rounds := math.Inf(-1), math.Inf(1), 0
			opts := robust.SolveOptions{Progress: func(n int, b, o float64) {
				// One policy may take the place of a draw that is as good.
				if n <= rounds || b < bound || o > objective+1e-8 {
					t.Errorf("case %d, round %d: bound %g, objective %g, after %d, %g and %g", i, n, b, o, rounds, bound,
						objective)
				}
				bound, objective, rounds = b, o, n
			}}
			r, err := robust.Solve(t.Context(), c.set, c.task, opts)
			if err != nil {
				t.Fatal(err)
			}
			if r.Bound < bound && r.Status != robust.Infeasible ||
				r.Objective > objective+1e-8 && r.Status <= robust.Feasible {
				t.Errorf("case %d: %v, bound %g, objective %g, after %g and %g", i, r.Status, r.Bound, r.Objective,
					bound, objective)
			}
			if r.Rounds < rounds {
				t.Errorf("case %d: %d rounds: want %d at least", i, r.Rounds, rounds)
			}
			results = append(results, r)
			c.task.Constraints = append(c.task.Constraints, c.task.Constraints[0])
		}
		if r := results[0]; r.Status <= robust.Feasible {
			c.checkPrices(t, i, r)
			c.checkTold(t, i, r)
		}
		var prices [2]float64
		for k, r := range results {
			for _, l := range r.Limits {
				prices[k] += l.Price
			}
		}
		if math.Abs(prices[0]-prices[1]) > 1e-6*math.Max(1, prices[0]) {
			t.Errorf("case %d: a limit has the price %g, and if given twice %g", i, prices[0], prices[1])
		}
		if prices[0] > 0 {
			priced++
		}
	}
	if priced < 5 {
		t.Errorf("%d limits have a price: want some", priced)
	}
}

// checkTold: a bound that is told beforehand and is below the one that is found changes nothing, proof included.
func (c *randomCase) checkTold(t *testing.T, i int, r *robust.Result) {
	t.Helper()
	task, least := c.task, r.Bound-1
	task.Constraints = task.Constraints[:len(r.Limits)]
	told, err := robust.Solve(t.Context(), c.set, task, robust.SolveOptions{Least: &least})
	if err == nil {
		err = robust.Verify(t.Context(), c.set, task, told)
	}
	if err != nil || told.Status != r.Status || told.Bound != r.Bound || told.Objective != r.Objective ||
		(told.Proof == nil) != (r.Proof == nil) {
		t.Errorf("case %d: %v between %g and %g, error %v, where a bound of %g was told: want %v between %g and %g", i,
			told.Status, told.Bound, told.Objective, err, least, r.Status, r.Bound, r.Objective)
	}
}

// TestNoGapWithoutLimits: where only a goal counts, there is no gap, as nature's answers make up one model that is
// worst for all policies: so without a horizon, also where the best policies leave out most of the states, and where
// models are too large to be planned for. The optimum is that of value iteration.
func TestNoGapWithoutLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 3))
	for i := range 90 {
		x := []shape{{discount: 0.9}, {discount: 0.9, home: true}, {discount: 1, home: true},
			{average: true, home: true}}[i%4]
		x.states, x.actions, x.successors, x.width, x.outcomes = 25, 3, 2, 0.6, i%3 == 0
		c, dir := newCase(t, rng, x, false), []float64{1, -0.3}
		if i%8 >= 4 {
			dir = []float64{-1, 2}
		}
		far := []float64{1e5, 1e5}
		task := cmdp.Task{Cost: linear(t, dir, []float64{-1e5, -1e5}, far)}
		restore := func() {}
		if i%5 == 0 {
			restore = noModels()
		}
		r, err := robust.Solve(t.Context(), c.set, task, robust.SolveOptions{})
		restore()
		if err != nil {
			t.Fatal(err)
		}
		want := c.optimum(dir)
		if math.Abs(r.Objective-want) > 1e-7 || math.Abs(r.Bound-want) > 1e-7 {
			t.Errorf("case %d: %v between %.12g and %.12g: want %.12g", i, r.Status, r.Bound, r.Objective, want)
		}
	}
}

// TestSlowMeans: nature's answers are the worst for a long-run mean, too, where the process changes between two states
// once in a million steps, and what it gains at once by another answer is lost later.
func TestSlowMeans(t *testing.T) {
	t.Cleanup(noModels())
	const seldom, gain = 1e-6, -3e5
	k := cmdp.NewKernel()
	k.AppendRandom([]int32{0, 1}, []float64{1 - seldom, seldom}, []float64{seldom * gain}, []float64{0, gain})
	k.EndState()
	k.Append([]int32{0, 1}, []float64{seldom, 1 - seldom}, []float64{1})
	k.EndState()
	m, err := cmdp.NewModel(cmdp.ModelSpec{Average: true, Dim: 1, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	iv, err := cmdp.NewIntervals(m, func(_, choice int) (lower, upper []float64) {
		if choice == 0 {
			lower, upper = []float64{1 - 2*seldom, seldom}, []float64{1 - seldom, 2 * seldom}
		}
		return lower, upper
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := robust.New(robust.Spec{Model: m, Intervals: iv})
	if err != nil {
		t.Fatal(err)
	}
	task := cmdp.Task{Cost: linear(t, []float64{1}, []float64{-9}, []float64{9})}
	r, err := robust.Solve(t.Context(), set, task, robust.SolveOptions{})
	want := (2 + 2*seldom*gain) / 3 // two of three steps are in the second state
	if err != nil || math.Abs(r.Objective-want) > 1e-6 || math.Abs(r.Bound-want) > 1e-6 {
		t.Errorf("error %v, %+v: want a mean of %g", err, r, want)
	}
}

// checkPrices moves limits in the model of a bound: for each unit its optimum changes by no more than the price, where
// the limit is wider, and by no less where it is narrower.
func (c *randomCase) checkPrices(t *testing.T, i int, r *robust.Result) {
	t.Helper()
	m := c.model
	if r.Model != nil {
		var err error
		m, err = r.Model.Model()
		if err != nil {
			t.Fatal(err)
		}
	}
	price, limit := 0.0, c.task.Constraints[0].Offset
	for _, l := range r.Limits {
		if slices.Equal(l.Normal, c.task.Constraints[0].Normal) {
			price += l.Price
		}
	}
	lower, upper := c.task.Box.Lower(), c.task.Box.Upper()
	for _, by := range []float64{-0.1, -0.01, 0.01, 0.1} {
		moved := &randomCase{model: c.model}
		moved.wanted(t, limit+by, lower, upper)
		e, err := exact.Solve(t.Context(), m, moved.task, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := r.Bound - price*by
		if e.Status == exact.Optimal && e.Objective < want-1e-7*math.Max(1, math.Abs(want)) {
			t.Errorf("case %d: a limit with price %g moved by %g: %.12g, want %.12g at least", i, price, by, e.Objective, want)
		}
	}
}

// TestUnitsDoNotMatter: with a return in another unit the search goes the same way, and finds the same plan, bounds and
// prices in that unit.
func TestUnitsDoNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 1))
	for i := range 40 {
		unit := []float64{1 << 20, 1.0 / (1 << 20)}[i%2]
		var c *randomCase
		if i%4 < 2 {
			c = newCase(t, rng, finiteShapes[i/4%len(finiteShapes)], false)
		} else {
			c = endlessCase(t, rng, 0.9, false, false)
		}
		policy := randomPolicy(t, rng, c.model, max(1, c.model.Horizon()))
		b, err := c.set.Evaluate(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		limit := b.Greatest[1] + 0.1*rng.NormFloat64()
		other := c.changed(t, func(k *cmdp.Kernel) {
			for _, of := range []*[]float64{&k.Returns, &k.Outcomes} {
				*of = slices.Clone(*of)
				for at := 1; at < len(*of); at += 2 {
					(*of)[at] *= unit
				}
			}
		})
		c.wanted(t, limit, []float64{-1e3, -1e3}, []float64{1e3, 1e3})
		other.wanted(t, limit*unit, []float64{-1e3, -1e3 * unit}, []float64{1e3, 1e3 * unit})
		restore := func() {}
		if i%8 < 4 {
			restore = noModels()
		}
		r, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		of, err := robust.Solve(t.Context(), other.set, other.task, robust.SolveOptions{})
		restore()
		if err != nil {
			t.Fatal(err)
		}
		if of.Status != r.Status || len(of.Limits) != len(r.Limits) {
			t.Errorf("case %d: %v in units of %g: want %v", i, of.Status, unit, r.Status)
			continue
		}
		same := func(what string, x, y float64) {
			if math.Abs(x-y) >= 1e-9*math.Max(1, math.Abs(x)) {
				t.Errorf("case %d: %s in units of %g: %g: want %g", i, what, unit, y, x)
			}
		}
		if r.Policy == nil && r.Mixture == nil {
			continue
		}
		c.checkGoalInUnits(t, i, r)
		same("objective", r.Objective, of.Objective)
		same("violation", r.Violation, of.Violation/unit)
		same("tolerance", r.Tolerance, of.Tolerance/unit)
		if !math.IsInf(r.Bound, -1) {
			same("bound", r.Bound, of.Bound)
		}
		for k, l := range of.Limits {
			same("greatest", r.Limits[k].Greatest, l.Greatest/unit)
			same("price", r.Limits[k].Price, l.Price*unit)
			same("price of a bound", r.Limits[k].BoundPrice, l.BoundPrice*unit)
		}
	}
}

// checkGoalInUnits plans for a goal in a smaller unit: plan and bound are as good, and what counts as optimal is
// relative to the objective.
func (c *randomCase) checkGoalInUnits(t *testing.T, i int, r *robust.Result) {
	t.Helper()
	const unit = 1 << 30
	other := c.changed(t, func(k *cmdp.Kernel) {
		for _, of := range []*[]float64{&k.Returns, &k.Outcomes} {
			*of = slices.Clone(*of)
			for at := 0; at < len(*of); at += 2 {
				(*of)[at] *= unit
			}
		}
	})
	other.wanted(t, c.task.Constraints[0].Offset, []float64{-1e3 * unit, -1e3}, []float64{1e3 * unit, 1e3})
	of, err := robust.Solve(t.Context(), other.set, other.task, robust.SolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if of.Status > robust.Feasible {
		if r.Status <= robust.Feasible {
			t.Errorf("case %d: %v with a goal in units of 2^-30: want %v", i, of.Status, r.Status)
		}
		return
	}
	other.checkVerdict(t, i, of)
	objective, bound := (of.Objective-constant)/unit+constant, (of.Bound-constant)/unit+constant
	if r.Status == robust.Optimal && (of.Status == robust.Feasible && math.Abs(r.Objective-constant) > 1e-3 ||
		math.Abs(objective-r.Objective) > 1e-8) || bound > r.Objective+1e-8 || r.Bound > objective+1e-8 {
		t.Errorf("case %d: with a goal in units of 2^-30 %v between %g and %g: want %v between %g and %g", i, of.Status,
			bound, objective, r.Status, r.Bound, r.Objective)
	}
}

// TestImpossibleSuccessors: with successors that never come up in any model, of which nature would keep the process in
// one for ever, bounds of returns are the same.
func TestImpossibleSuccessors(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 1))
	for i := range 40 {
		x := criteria[i%len(criteria)]
		c := endlessCase(t, rng, x.discount, x.average, false)
		trapped, rows := c.withTrap(t), c.model.Rows(0)
		actions := make([]int32, trapped.model.States())
		for s := range c.model.States() {
			if first, end := rows.Choices(s); first < end {
				actions[s] = int32(rng.IntN(end - first))
			}
		}
		want, err := c.set.Evaluate(t.Context(), cmdp.Deterministic{actions[:c.model.States()]})
		if err != nil {
			t.Fatal(err)
		}
		got, err := trapped.set.Evaluate(t.Context(), cmdp.Deterministic{actions})
		if err != nil || floats.Distance(got.Least, want.Least, 1) > 1e-6 ||
			floats.Distance(got.Greatest, want.Greatest, 1) > 1e-6 {
			t.Errorf("case %d, %s: %v, error %v: want %v", i, x.name, got, err, want)
		}
	}
}

// TestLimitsOnNothing: limits at 0 on a return that is earned nowhere but where no policy comes to make no difference,
// whatever a policy may do there: it is 0, not what rounding leaves room for.
func TestLimitsOnNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 2))
	for i := range 80 {
		sh := []shape{{horizon: 4}, {discount: 0.9}, {discount: 1, home: true}, {average: true, home: true}}[i%4]
		sh.states, sh.actions, sh.successors, sh.width = 4, 2, 2, 0.4
		c := newCase(t, rng, sh, false).changed(t, func(k *cmdp.Kernel) {
			k.Returns = slices.Clone(k.Returns)
			for i := 1; i < len(k.Returns); i += 2 {
				k.Returns[i] = 0
			}
		}).withTrap(t)
		lower, upper := []float64{-1e5, -1e5}, []float64{1e5, 1e5}
		task := cmdp.Task{Cost: linear(t, []float64{1, 0}, lower, upper)}
		opts := robust.SolveOptions{Deterministic: i%8 >= 4}
		want, err := robust.Solve(t.Context(), c.set, task, opts)
		if err != nil {
			t.Fatal(err)
		}
		if i%3 > 0 {
			lower[1] = 0
		}
		if i%3 < 2 {
			upper[1] = 0
		}
		limits, err := geometry.NewBox(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		if task.Target, err = limits.Bounded(); err != nil {
			t.Fatal(err)
		}
		got, err := robust.Solve(t.Context(), c.set, task, opts)
		if err != nil || got.Status != want.Status || math.Abs(got.Objective-want.Objective) > 1e-9 ||
			!(got.Violation <= min(got.Tolerance, 1e-12)) {
			t.Errorf("case %d: %+v, error %v: want %v %g", i, got, err, want.Status, want.Objective)
		}
	}
}

// TestLimitsThatTouch: a limit at the least that policies come to is kept within the tolerance, however little they
// differ in what it is on.
func TestLimitsThatTouch(t *testing.T) {
	for i := range 22 {
		apart, k := math.Pow(10, -float64(i/2)), cmdp.NewKernel()
		k.Append([]int32{1, 2}, []float64{0.3, 0.7}, []float64{1, 1.0 / 3})
		k.Append([]int32{1}, []float64{1}, []float64{0, 1.0/3 + apart})
		k.EndState()
		for s := range int32(2) {
			k.Append([]int32{s + 1}, []float64{1}, []float64{0, 0})
			k.EndState()
		}
		m, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: 2, Dim: 2, Kernels: []cmdp.Kernel{k},
			Start: []cmdp.StartState{{State: 0, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		iv, err := cmdp.NewIntervals(m, func(_, _ int) ([]float64, []float64) { return nil, nil })
		if err != nil {
			t.Fatal(err)
		}
		set, err := robust.New(robust.Spec{Model: m, Intervals: iv})
		if err != nil {
			t.Fatal(err)
		}
		limits, err := geometry.NewBox([]float64{-9, -9}, []float64{9, 1.0 / 3})
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Cost: linear(t, []float64{1, 0}, []float64{-9, -9}, []float64{9, 9})}
		if task.Target, err = limits.Bounded(); err != nil {
			t.Fatal(err)
		}
		r, err := robust.Solve(t.Context(), set, task, robust.SolveOptions{Deterministic: i%2 > 0})
		if err != nil || r.Status != robust.Optimal && r.Status != robust.Feasible || !(r.Violation <= r.Tolerance) ||
			!(r.Tolerance <= 2e-10) {
			t.Errorf("%g apart: %+v, error %v", apart, r, err)
		}
	}
}

// withTrap returns the case with a state to which every choice leads with probability 0 in all models, where the
// process stays for ever and each step returns (1, 1).
func (c *randomCase) withTrap(t *testing.T) *randomCase {
	t.Helper()
	k := cmdp.NewKernel()
	var lower, upper [][]float64
	rows := c.model.Rows(0)
	trap := int32(c.model.States())
	for s := range c.model.States() {
		first, end := rows.Choices(s)
		for choice := first; choice < end; choice++ {
			next, prob := rows.Row(choice)
			k.Append(append(slices.Clone(next), trap), append(slices.Clone(prob), 0), rows.Returns(choice))
			least, most := c.iv.Row(0, choice)
			if least != nil {
				least, most = append(slices.Clone(least), 0), append(slices.Clone(most), 0)
			}
			lower, upper = append(lower, least), append(upper, most)
		}
		k.EndState()
	}
	k.Append([]int32{trap}, []float64{1}, []float64{1, 1})
	k.EndState()
	lower, upper = append(lower, nil), append(upper, nil)
	spec := specOf(c.model)
	spec.Kernels = []cmdp.Kernel{k}
	return newRandomCase(t, spec, func(_, c int) ([]float64, []float64) { return lower[c], upper[c] }, false)
}

// specOf returns what a model is made of, but for its kernels.
func specOf(m *cmdp.Model) cmdp.ModelSpec {
	spec := cmdp.ModelSpec{Horizon: m.Horizon(), Discount: m.Discount(), Average: m.Average(), Dim: m.Dim(),
		Start: m.StartStates()}
	if spec.Horizon > 0 || spec.Average {
		spec.Discount = 0
	}
	return spec
}

// changed returns a set whose kernels are changed.
func (c *randomCase) changed(t *testing.T, edit func(k *cmdp.Kernel)) *randomCase {
	t.Helper()
	m, spec := c.model, specOf(c.model)
	for h := range m.Kernels() {
		k := *m.Kernel(h)
		edit(&k)
		spec.Kernels = append(spec.Kernels, k)
	}
	return newRandomCase(t, spec, c.iv.Row, false)
}
