package exact

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// randomMixed is randomAverage with a loss in return 1, a total, that is 0 in most choices.
func randomMixed(t testing.TB, seed uint64, states int) *cmdp.Model {
	t.Helper()
	of := randomAverage(t, seed, states, 3)
	k, rng := *of.Kernel(0).Plain(of.Dim()), rand.New(rand.NewPCG(seed, 61))
	for c := range len(k.Offset) - 1 {
		if k.Returns[3*c+1] = 0; rng.IntN(3) == 0 {
			k.Returns[3*c+1] = 1 + math.Round(4*rng.Float64())
		}
	}
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 3, Means: []bool{true, false, true},
		Start: of.StartStates(), Kernels: []cmdp.Kernel{k}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// totals returns the total returns of a deterministic stationary policy, those of 2, 4, 8, … steps by
// squaring its matrix; what grows for ever is infinite.
func totals(m *cmdp.Model, policy []int) []float64 {
	n, d, k := m.States(), m.Dim(), m.Kernel(0).Plain(m.Dim())
	p, sum := mat.NewDense(n, n, nil), mat.NewDense(n, d, nil)
	for s := range n {
		if k.First[s] == k.First[s+1] {
			p.Set(s, s, 1)
			continue
		}
		c := int(k.First[s]) + policy[s]
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			p.Set(s, int(k.Next[e]), p.At(s, int(k.Next[e]))+k.Prob[e])
		}
		sum.SetRow(s, k.Returns[c*d:(c+1)*d])
	}
	for range 45 {
		var more, q mat.Dense
		more.Mul(p, sum)
		sum.Add(sum, &more)
		q.Mul(p, p)
		for s := range n {
			floats.Scale(1/floats.Sum(q.RawRowView(s)), q.RawRowView(s))
		}
		p = &q
	}
	out := make([]float64, d)
	for _, st := range m.StartStates() {
		floats.AddScaled(out, st.Probability, sum.RawRowView(st.State))
	}
	for i, x := range out {
		if math.Abs(x) > 1e8 {
			out[i] = math.Inf(int(math.Copysign(1, x)))
		}
	}
	return out
}

// mixedReturns returns what the model means by the returns of a policy.
func mixedReturns(m *cmdp.Model, policy []int) []float64 {
	out := longRun(m, policy)
	for i, x := range totals(m, policy) {
		if !m.Mean(i) {
			out[i] = x
		}
	}
	return out
}

// TestMixedPrice compares prices of means and a total with all deterministic stationary policies
// whose total is finite.
func TestMixedPrice(t *testing.T) {
	models := uint64(200)
	if testing.Short() {
		models /= 20
	}
	refused, matters := uint64(0), uint64(0)
	for seed := range models {
		rng := rand.New(rand.NewPCG(seed, 62))
		m := randomMixed(t, seed, 2+rng.IntN(5))
		var all [][]float64
		everyStationary(m, func(policy []int) {
			if v := mixedReturns(m, policy); !math.IsInf(v[1], 0) {
				all = append(all, v)
			}
		})
		important := relevance{up: []bool{true, true, true}, down: []bool{true, false, true}}
		p, err := newAverageReward(t.Context(), m, 1, important, nil)
		if err != nil {
			if refused++; len(all) > 0 || !errors.Is(err, ErrNoTotal) {
				t.Errorf("seed %d: %v: %d policies have a total", seed, err, len(all))
			}
			continue
		}
		for n := range 4 { // the later ones from where the first ended
			dir := []float64{rng.NormFloat64(), math.Abs(rng.NormFloat64()), rng.NormFloat64()}
			if n == 2 {
				dir[1] = 0
			}
			want := math.Inf(1)
			for _, v := range all {
				want = math.Min(want, floats.Dot(dir, v))
			}
			got, err := p.price(t.Context(), dir, 0)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			scale := 1 + math.Abs(want)
			if math.Abs(got.value-want) > 1e-9*scale || got.value-got.margin > want+1e-12*scale ||
				got.margin > 1e-9*scale {
				t.Errorf("seed %d: %v with margin %v: want %v", seed, got.value, got.margin, want)
			}
			policy := make([]int, m.States())
			for s := range policy {
				policy[s] = got.policy.actions().At(s)
			}
			v := mixedReturns(m, policy)
			if got.returns[1] > 0 {
				matters++
			}
			if math.Abs(floats.Dot(dir, got.returns)-want) > 1e-8*scale ||
				dir[1] > 0 && !floats.EqualApprox(v, got.returns, 1e-7*scale) {
				t.Errorf("seed %d: the policy returns %v, by its matrix %v: want %v in direction %v", seed, got.returns,
					v, want, dir)
			}
			if value, margin, err := p.recheck(t.Context(), dir); err != nil || math.Abs(value-want) > 1e-9*scale ||
				margin > 1e-9*scale {
				t.Errorf("seed %d: checked again %v with margin %v, %v: want %v", seed, value, margin, err, want)
			}
			w, value, _, err := p.solve(t.Context(), dir)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			means, totals := p.splitDirection(dir)
			infinite := p.liftValues(nil, w.LeastTotal) // on the way to the ends
			for s := range infinite {
				if p.ends.Of[s] < 0 && p.k.First[s] < p.k.First[s+1] {
					infinite[s] = math.Inf(1)
				}
			}
			for _, st := range m.StartStates() {
				infinite[st.State] = want + scale
			}
			if low, margin := p.bound(means, totals, infinite, nil); low-margin > want+1e-9*scale {
				t.Errorf("seed %d: a bound of %v by infinite values: want none above %v", seed, low-margin, want)
			}
			raised := p.liftValues(nil, w.LeastTotal) // of ends, on the way and at rest
			for range 1 + rng.IntN(3) {
				raised[rng.IntN(len(raised))] += rng.ExpFloat64()
			}
			if low, margin := p.bound(means, totals, raised, nil); low-margin > want+1e-9*scale {
				t.Errorf("seed %d: a bound of %v by raised values: want none above %v", seed, low-margin, want)
			}
			value, margin, err := p.solveRational(t.Context(), w, dir, value)
			if err != nil || value-margin > want+1e-12*scale || value-margin < want-1e-9*scale {
				t.Errorf("seed %d: in rational arithmetic %v with margin %v, %v: want %v", seed, value, margin, err, want)
			}
			exact := []*big.Rat{rational(dir[0]), rational(dir[1]), rational(dir[2])}
			bound, loss, err := rationalValue(t.Context(), m, exact, important)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if x, _ := bound.Float64(); x > want+1e-13*scale || x < want-1e-9*scale || loss > 1e-9*scale {
				t.Errorf("seed %d: rational bound %v, loss %v: want %v", seed, x, loss, want)
			}
		}
	}
	if refused < models/50 || matters < models/4 {
		t.Errorf("%d models refused, %d totals above 0: the test says little", refused, matters)
	}
}

// TestGrowthIsNamed: where a total grows without limit beside means, a choice is named that is offered and returns it.
func TestGrowthIsNamed(t *testing.T) {
	both := slices.Repeat([]bool{true}, 3)
	for _, ends := range []bool{true, false} { // in ends where a policy may stay, or on the way there
		named := 0
		for seed := range uint64(100) {
			m := randomMixed(t, seed, 2+int(seed%5))
			up := slices.Repeat([]bool{!ends}, 3)
			p, err := newAverageReward(t.Context(), m, 1, relevance{up: up, down: both}, nil)
			if err == nil {
				_, err = p.price(t.Context(), []float64{1, -1, 0.5}, 0)
			}
			var no *NoTotalError
			if err != nil && !errors.As(err, &no) {
				t.Fatal(err)
			}
			if err == nil || !no.Wanted {
				continue
			}
			named++
			k := m.Kernel(0)
			first, end := int(k.First[no.State]), int(k.First[no.State+1])
			if no.Return != 1 || no.Action >= end-first || k.ReturnsOf(first+no.Action, 3)[1] == 0 {
				t.Errorf("seed %d: %v: want a choice that returns 1", seed, no)
			}
		}
		if named < 10 {
			t.Errorf("in ends %v: %d totals grow: the test says little", ends, named)
		}
	}
}

// TestMixedSolve compares constrained optima over means and a total with the linear program over all
// deterministic stationary policies whose total is finite.
func TestMixedSolve(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	drawn, infeasible := 0, 0
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 63))
		m := randomMixed(t, seed+1000, 3+rng.IntN(4))
		low, high := []float64{-4, -1e6, -4}, []float64{6, 3 * rng.Float64(), 2*rng.Float64() - 0.5}
		gradient := []float64{rng.NormFloat64(), 0.3 * math.Abs(rng.NormFloat64()), rng.NormFloat64()}
		within, err := geometry.NewBox(low, high)
		if err != nil {
			t.Fatal(err)
		}
		target, err := within.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		wide, err := geometry.NewBox(low, []float64{6, 1e6, 6})
		if err != nil {
			t.Fatal(err)
		}
		goal, err := cost.NewLinear(gradient, wide)
		if err != nil {
			t.Fatal(err)
		}
		p := &lp.Problem{Rows: []lp.Constraint{{Lower: 1, Upper: 1}, {Lower: math.Inf(-1), Upper: high[1]},
			{Lower: math.Inf(-1), Upper: high[2]}}}
		everyStationary(m, func(policy []int) {
			if v := mixedReturns(m, policy); !math.IsInf(v[1], 0) {
				for i, x := range []float64{1, v[1], v[2]} {
					p.Rows[i].Index, p.Rows[i].Coef = append(p.Rows[i].Index, len(p.Minimize)),
						append(p.Rows[i].Coef, x)
				}
				p.Minimize = append(p.Minimize, floats.Dot(gradient, v))
			}
		})
		if len(p.Minimize) == 0 {
			continue
		}
		sol, err := lp.Solve(p)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Cost: goal, Target: target}
		// The lower side of the total says nothing, and would be minded.
		r, err := Solve(t.Context(), m, task, Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		Fits(t, m, task, r)
		if sol.Status != lp.Optimal {
			infeasible++
			if err := Verify(t.Context(), m, task, r.Certificate); r.Status != Infeasible || err != nil {
				t.Errorf("seed %d: %v, %v: want infeasible with a certificate that holds", seed, r.Status, err)
			} else if err := VerifyRational(t.Context(), m, task, r.Certificate); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			continue
		}
		if r.Status != Optimal || math.Abs(r.Objective-sol.Objective) > 2e-5 || r.Bound > sol.Objective+1e-7 {
			t.Errorf("seed %d: %v %v, bound %v: want %v", seed, r.Status, r.Objective, r.Bound, sol.Objective)
			continue
		}
		if bound, err := VerifyBound(t.Context(), m, task, r.Proof); err != nil ||
			math.Abs(bound-sol.Objective) > 2e-5 {
			t.Errorf("seed %d: bound %v, %v: want %v", seed, bound, err, sol.Objective)
		}
		if _, err := VerifyBoundRational(t.Context(), m, task, r.Proof); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		components := r.Mixture
		if r.Policy != nil {
			components = []WeightedPolicy{{1, r.Policy}}
		} else {
			drawn++
		}
		sum := make([]float64, 3)
		for _, c := range components {
			e, err := Evaluate(t.Context(), m, c.Policy)
			if err != nil {
				t.Fatal(err)
			}
			process, err := inducedProcess(t.Context(), m, c.Policy)
			if err != nil {
				t.Fatal(err)
			}
			v := totals(process, make([]int, m.States()))
			for i := range v {
				if m.Mean(i) {
					v[i] = 0
				}
			}
			for _, b := range denseBranches(t, m, c.Policy) {
				for i, x := range b.Returns {
					if m.Mean(i) {
						v[i] += b.Probability * x
					}
				}
			}
			if !floats.EqualApprox(v, e.Returns, 1e-7) {
				t.Errorf("seed %d: a component returns %v, evaluated %v", seed, v, e.Returns)
			}
			floats.AddScaled(sum, c.Weight, v)
		}
		if !floats.EqualApprox(sum, r.Returns, 1e-7) || sum[1] > high[1]+1e-6 || sum[2] > high[2]+1e-6 {
			t.Errorf("seed %d: the policies return %v: said %v, limits %v", seed, sum, r.Returns, high[1:])
		}
	}
	if drawn < 3 || infeasible < 5 {
		t.Errorf("%d mixtures and %d infeasible problems: the test says little", drawn, infeasible)
	}
}

// TestAverageRational compares rational bounds of long-run means with all deterministic policies.
func TestAverageRational(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 64))
		m := randomAverage(t, seed, 2+rng.IntN(5), 2)
		dir, want := []float64{rng.NormFloat64(), rng.NormFloat64()}, math.Inf(1)
		everyStationary(m, func(policy []int) { want = math.Min(want, floats.Dot(dir, longRun(m, policy))) })
		got, err := RationalValue(t.Context(), m, []*big.Rat{rational(dir[0]), rational(dir[1])})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if x, _ := got.Float64(); x > want+1e-13 || x < want-1e-9 {
			t.Errorf("seed %d: rational bound %v: want %v", seed, x, want)
		}
	}
}

// TestMixedUnbounded wants a policy that shows a total without limit beside a mean.
func TestMixedUnbounded(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 2, Means: []bool{true, false},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 4)
	add := func(state, action, next int, mean, total float64) {
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: state, Action: action, Returns: []float64{mean, total},
			Next: []cmdp.Transition{{Next: next, Probability: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	add(0, 0, 1, 0, 0)
	add(0, 1, 2, 5, 0)
	add(1, 0, 1, 1, -1) // a gain in each step, for ever
	add(1, 1, 3, 1, 1)  // a faster loop, which goes up and down
	add(3, 0, 1, 1, -5)
	add(2, 0, 2, 3, 0)
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	box, err := geometry.NewBox([]float64{-10, -10}, []float64{10, 10})
	if err != nil {
		t.Fatal(err)
	}
	gap := 0.0
	solve := func(most []float64, gradient ...float64) (*Result, error) {
		goal, err := cost.NewLinear(gradient, box)
		if err != nil {
			t.Fatal(err)
		}
		within, err := geometry.NewBox([]float64{-10, -Boundless}, most)
		if err != nil {
			t.Fatal(err)
		}
		target, err := within.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		return Solve(t.Context(), m, cmdp.Task{Cost: goal, Target: target}, Options{Gap: gap})
	}
	free := []float64{10, Boundless}
	for _, mean := range []float64{10, 1} { // the loop has the mean 1
		r, err := solve([]float64{mean, Boundless}, 1, 1)
		if err != nil || r.Status != Unbounded || r.Return != 1 || r.Policy == nil || r.Policy.Choose(nil, 0, 0) != 0 ||
			r.Returns[0] != 1 || !math.IsInf(r.Returns[1], -1) {
			t.Errorf("%+v, %v: want that return 1 is unbounded by action 0 in states 0 and 1", r, err)
		}
	}
	// A limit that asks for what grows for ever is kept for free: of the best policy, or of one that is drawn as seldom
	// as the gap asks. That costs something.
	for _, gap = range []float64{0, 0.1} {
		for sign, want := range map[float64]float64{1: 1, -1: -3} {
			r, err := solve([]float64{10, -5}, sign, 0)
			if err != nil || r.Status != Optimal || math.Abs(r.Objective-want) > 1e-9+gap*math.Abs(want) ||
				math.Abs(r.Objective-sign*r.Returns[0]) > 1e-12 || !math.IsInf(r.Returns[1], -1) {
				t.Errorf("gap %g: %+v, %v: want the mean %g and a total without limit", gap, r, err, sign*want)
			}
		}
	}
	gap = 0
	for _, mean := range []float64{0.5, -3} { // below what any policy comes to
		r, err := solve([]float64{mean, Boundless}, 1, 1)
		if err != nil || r.Status != Infeasible || r.Certificate == nil ||
			math.Abs(r.Certificate.Distance-(1-mean)) > 1e-9 {
			t.Errorf("%+v, %v: want that a mean of %g is out of reach, by %g", r, err, mean, 1-mean)
		}
	}
	// Where a loss is unwanted, or nothing to the question, there is a best policy.
	if r, err := solve(free, 1, -1); err != nil || r.Status != Optimal || math.Abs(r.Objective-3) > 1e-9 {
		t.Errorf("%+v, %v: want 3 of the loop without a total", r, err)
	}
	if r, err := solve(free, 1, 0); err != nil || r.Status != Optimal || math.Abs(r.Objective-1) > 1e-9 {
		t.Errorf("%+v, %v: want 1, whatever the total is", r, err)
	}
}

// TestGrowthBesideEqualMeans: a total falls for ever while a mean, which is 0 whatever is done, is to be just
// that, or just 1. The total and the other mean have no limits.
func TestGrowthBesideEqualMeans(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 3, Means: []bool{true, false, true},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	err := b.Add(cmdp.Row{Step: cmdp.EveryStep, Returns: []float64{0, -1, 0},
		Next: []cmdp.Transition{{Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	box, err := geometry.NewBox([]float64{0, -Boundless, 0}, []float64{0, Boundless, 0})
	if err != nil {
		t.Fatal(err)
	}
	goal, err := cost.NewLinear([]float64{0, 1, 0}, box)
	if err != nil {
		t.Fatal(err)
	}
	for _, mean := range []float64{0, 1} {
		allowed, err := geometry.NewBox([]float64{mean, -Boundless, -Boundless}, []float64{mean, Boundless, Boundless})
		if err != nil {
			t.Fatal(err)
		}
		target, err := allowed.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(t.Context(), m, cmdp.Task{Cost: goal, Target: target, Box: box}, Options{})
		var no *NoTotalError
		switch {
		case mean == 0 && (err != nil || r.Status != Unbounded || !math.IsInf(r.Returns[1], -1)):
			t.Errorf("mean 0: %+v, %v: want unbounded", r, err)
		case mean == 1 && !errors.As(err, &no) && (err != nil || r.Status != Infeasible):
			t.Errorf("mean 1: %+v, %v: want no policy", r, err)
		}
	}
}

// TestGrowthCosts limits a total that grows by work alone, which uses fuel for ever: a mean is as good as without the
// limit, up to the gap that is asked for, of the mean or of what work makes it lose, and fuel is not.
func TestGrowthCosts(t *testing.T) {
	box, err := geometry.NewBox(slices.Repeat([]float64{-Boundless}, 3), slices.Repeat([]float64{Boundless}, 3))
	if err != nil {
		t.Fatal(err)
	}
	within, err := geometry.NewBox(box.Lower(), []float64{Boundless, Boundless, -1})
	if err != nil {
		t.Fatal(err)
	}
	target, err := within.Bounded()
	if err != nil {
		t.Fatal(err)
	}
	for trial := range 9 {
		size, loss := math.Pow(100, float64(trial%3-1)), math.Pow(100, float64(trial/3-1))
		b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 3, Means: []bool{true, false, false},
			Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
		// Work or rest: a mean, fuel, goods.
		for action, returns := range [][]float64{{loss - size, 1, -1}, {-size, 0, 0}} {
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, Action: action, Returns: returns,
				Next: []cmdp.Transition{{Probability: 1}}}); err != nil {
				t.Fatal(err)
			}
		}
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range []float64{-size, 1} {
			goal, err := cost.NewLinear(axis(3, k, 1), box)
			if err != nil {
				t.Fatal(err)
			}
			for _, gap := range []float64{0, 1e-3, 0.3} {
				task := cmdp.Task{Cost: goal, Target: target}
				r, err := Solve(t.Context(), m, task, Options{Gap: gap})
				if errors.Is(err, ErrNoTotal) && k == 1 {
					continue
				}
				if err != nil || r.Status != Optimal ||
					!(math.Abs(r.Objective-want) <= max(gap, 1e-9)*max(math.Abs(want), loss)) {
					t.Errorf("size %g, loss %g, return %d, gap %g: %+v, %v: want %g", size, loss, k, gap, r, err, want)
					continue
				}
				Fits(t, m, task, r)
			}
		}
	}
}
