package exact

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/cmdptest"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// drawTotal draws a small model of totals in which end components of all kinds are
// common: free ones, ones that cost, that pay, and that do both.
func drawTotal(t *testing.T, rng *rand.Rand, dim int) *cmdp.Model {
	t.Helper()
	states := 2 + rng.IntN(3)
	k := cmdptest.DrawKernel(rng, states)
	for range len(k.Offset) - 1 {
		for range dim {
			r := float64(rng.IntN(3) - 1)
			if rng.IntN(3) == 0 {
				r = math.Round(4*rng.NormFloat64()) / 4
			}
			k.Returns = append(k.Returns, r)
		}
	}
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: dim, Kernels: []cmdp.Kernel{*k},
		Start: []cmdp.StartState{{State: 0, Probability: 0.75}, {State: 1, Probability: 0.25}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDirectionsInAnyOrder asks one pricer for directions of all signs, that of zeros too. Episodes end with
// probability 1/4 in every step, so that totals are discounted sums, whose values are found in rational numbers.
func TestDirectionsInAnyOrder(t *testing.T) {
	bothSizes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(23, 9))
		for trial := range 60 {
			start := []cmdp.StartState{{State: 0, Probability: 1}}
			sums := cmdp.NewBuilder(cmdp.ModelSpec{Dim: 2, Start: start, Discount: 0.75}, 3)
			totals := cmdp.NewBuilder(cmdp.ModelSpec{Dim: 2, Start: start, Discount: 1}, 4)
			for c := range 6 {
				to := rng.Perm(3)
				row := cmdp.Row{Step: cmdp.EveryStep, State: c / 2, Action: c % 2,
					Returns: []float64{float64(rng.IntN(3)), float64(rng.IntN(3) - 1)},
					Next:    []cmdp.Transition{{Next: to[0], Probability: 0.5}, {Next: to[1], Probability: 0.5}}}
				if err := sums.Add(row); err != nil {
					t.Fatal(err)
				}
				row.Next = []cmdp.Transition{{Next: to[0], Probability: 0.375}, {Next: to[1], Probability: 0.375},
					{Next: 3, Probability: 0.25}}
				if err := totals.Add(row); err != nil {
					t.Fatal(err)
				}
			}
			m, err := sums.Build()
			if err != nil {
				t.Fatal(err)
			}
			n, err := totals.Build()
			if err != nil {
				t.Fatal(err)
			}
			p, err := newInfiniteHorizon(t.Context(), n, 1, allRelevant(2), nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 6 {
				dir := []float64{float64(rng.IntN(3) - 1), float64(rng.IntN(3) - 1)}
				exactly, err := RationalValue(t.Context(), m, []*big.Rat{rational(dir[0]), rational(dir[1])})
				if err != nil {
					t.Fatal(err)
				}
				want, _ := exactly.Float64()
				if got, _, err := p.recheck(t.Context(), dir); err != nil || math.Abs(got-want) > 1e-9 {
					t.Errorf("trial %d, direction %v: value %.15g, error %v: want %.15g", trial, dir, got, err, want)
				}
				z, _, _, _, err := p.solve(t.Context(), dir, 0, true)
				if err != nil {
					t.Fatal(err)
				}
				late, cancel := context.WithCancel(t.Context())
				cancel()
				_, _, err = p.solveRational(late, z, dir, 0)
				if len(z.Quotient.Component) > 1 && !errors.Is(err, context.Canceled) {
					t.Fatalf("trial %d: error %v of rational values: want the end of the context", trial, err)
				}
				v := p.rationalValues(t.Context(), z, []*big.Rat{rational(dir[0]), rational(dir[1])})
				if v == nil {
					t.Fatalf("trial %d, direction %v: no rational values", trial, dir)
				}
				if got, _ := startValue(p.m, v).Float64(); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
					t.Errorf("trial %d, direction %v: rational values come to %g: want %g", trial, dir, got, want)
				}
			}
		}
	})
}

// TestDigitsOfLongChains: the digits of values do not grow from one state of a chain to the next, and values stay at
// most the true ones.
func TestDigitsOfLongChains(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 91))
	for trial := range 12 {
		const states = 200
		k := cmdp.NewKernel()
		sign := float64(1 - 2*(trial%2))
		exactly := rational(sign)
		for s := range states {
			x := 0.1 + 0.2*rng.Float64()
			next := []int32{int32(s + 1), states, int32(s)}
			k.Append(next, []float64{x, 0.75 - x, 0.25}, []float64{map[bool]float64{true: sign}[s == states-1]})
			k.EndState()
			if s < states-1 {
				exactly.Mul(exactly, rational(x))
			}
			exactly.Quo(exactly, new(big.Rat).Add(rational(x), rational(0.75-x)))
		}
		k.EndState()
		m := totalsOf(t, k, 1)
		p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		z, err := p.solverFor(t.Context(), []float64{1})
		if err != nil {
			t.Fatal(err)
		}
		v := p.rationalValues(t.Context(), z, []*big.Rat{rational(1)})
		if v == nil {
			t.Fatalf("trial %d: no rational values", trial)
		}
		lost := new(big.Rat).Sub(exactly, v(0))
		part, _ := new(big.Rat).Quo(lost, exactly).Float64()
		if lost.Sign() < 0 || math.Abs(part) > 1e-300 {
			t.Errorf("trial %d: a part of %g is missing from the value", trial, part)
		}
		if digits := v(0).Num().BitLen(); digits > lowDigits {
			t.Errorf("trial %d: the value has %d digits", trial, digits)
		}
	}
}

// TestExtentHoldsAllReturns: the box around all returns has those of every policy that are finite, of means, of totals
// beside them and of discounted sums. States at rest are common.
func TestExtentHoldsAllReturns(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 48))
	for trial := range 200 {
		of := drawTotal(t, rng, 2)
		spec := cmdp.ModelSpec{Discount: 1, Dim: 2, Start: of.StartStates(),
			Kernels: []cmdp.Kernel{*of.Kernel(0).Plain(2)}}
		switch trial % 4 {
		case 0:
			spec.Discount = 0.9
		case 1:
			spec.Means = []bool{true, true}
		case 2:
			spec.Means = []bool{true, false}
		}
		m, err := cmdp.NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlanner(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		lower, upper, err := p.Extent(t.Context())
		if errors.Is(err, ErrNoTotal) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		k := m.Kernel(0)
		everyPolicy(m, func(policy []int32) {
			actions := make([]int32, len(policy))
			for s, c := range policy {
				actions[s] = max(0, c-k.First[s])
			}
			e, err := Evaluate(t.Context(), m, cmdp.Deterministic{actions})
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range e.Returns {
				if math.IsInf(x, 0) { // of a policy that need not come to an end
					continue
				}
				if x < lower[i]-1e-9 && lower[i] > -Boundless || x > upper[i]+1e-9 && upper[i] < Boundless {
					t.Errorf("trial %d: return %d is %g: want it between %g and %g", trial, i, x, lower[i], upper[i])
				}
			}
		})
	}
}

// A brute is what a deterministic policy comes to, found with dense matrices.
type brute struct {
	ends  bool    // it comes to rest, or goes on for ever without returns
	value float64 // of its total then
	pays  bool    // some part that is reached goes on at a negative return
}

// bruteForce evaluates a policy, a choice for each state, −1 where there is none.
func bruteForce(m *cmdp.Model, theta []float64, policy []int32, up, down []bool) brute {
	k, n := m.Kernel(0).Plain(m.Dim()), m.States()
	r := closure(k, policy)
	reward := func(s int) float64 { return floats.Dot(theta, k.Returns[int(policy[s])*m.Dim():][:m.Dim()]) }
	start := func(s int) bool {
		return slices.ContainsFunc(m.StartStates(), func(st cmdp.StartState) bool { return r[st.State][s] })
	}
	out := brute{ends: true}
	closed := make([]bool, n)
	for s := range n {
		closed[s] = policy[s] >= 0
		for o := range n {
			closed[s] = closed[s] && (!r[s][o] || r[o][s])
		}
		if !closed[s] || !start(s) {
			continue
		}
		// The gain g of the class from g + h = r + Ph, with g in the place of h(s) = 0.
		a, b := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
		for o := range n {
			a.Set(o, o, 1)
			if !r[s][o] {
				continue
			}
			b.SetVec(o, reward(o))
			for e := k.Offset[policy[o]]; e < k.Offset[policy[o]+1]; e++ {
				a.Set(o, int(k.Next[e]), a.At(o, int(k.Next[e]))-k.Prob[e])
			}
		}
		for o := range n {
			a.Set(o, s, 0)
			if r[s][o] {
				a.Set(o, s, 1)
			}
		}
		var h mat.VecDense
		if err := h.SolveVec(a, b); err != nil {
			panic(err)
		}
		if h.AtVec(s) < -1e-9 {
			out.pays = true
		}
		for o := range n {
			for i := range m.Dim() {
				x := 0.0
				if policy[o] >= 0 {
					x = k.Returns[int(policy[o])*m.Dim()+i]
				}
				if r[s][o] && (theta[i] != 0 && x != 0 || x > 0 && up[i] || x < 0 && down[i]) {
					out.ends = false
				}
			}
		}
	}
	if !out.ends {
		return out
	}
	a, b := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	for s := range n {
		a.Set(s, s, 1)
		if policy[s] < 0 || closed[s] || !start(s) {
			continue
		}
		b.SetVec(s, reward(s))
		for e := k.Offset[policy[s]]; e < k.Offset[policy[s]+1]; e++ {
			a.Set(s, int(k.Next[e]), a.At(s, int(k.Next[e]))-k.Prob[e])
		}
	}
	var v mat.VecDense
	if err := v.SolveVec(a, b); err != nil {
		panic(err)
	}
	for _, st := range m.StartStates() {
		out.value += st.Probability * v.AtVec(st.State)
	}
	return out
}

// everyPolicy calls f with all deterministic policies.
func everyPolicy(m *cmdp.Model, f func(policy []int32)) {
	k := m.Kernel(0).Plain(m.Dim())
	policy := make([]int32, m.States())
	var next func(s int)
	next = func(s int) {
		if s == len(policy) {
			f(policy)
			return
		}
		policy[s] = -1
		if k.First[s] == k.First[s+1] {
			next(s + 1)
		}
		for c := k.First[s]; c < k.First[s+1]; c++ {
			policy[s] = c
			next(s + 1)
		}
	}
	next(0)
}

// TestTotalsAgreeWithAllPolicies goes through all deterministic policies of small models
// with end components of every kind: the least total of those that end is V*, unless a
// policy can go on for ever at a negative return.
func TestTotalsAgreeWithAllPolicies(t *testing.T) { bothSizes(t, totalsAgreeWithAllPolicies) }

func totalsAgreeWithAllPolicies(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 3))
	finite, rays, refused, open := 0, 0, 0, 0
	for trial := range 3000 {
		dim := 1 + rng.IntN(2)
		m := drawTotal(t, rng, dim)
		theta := make([]float64, dim)
		for i := range theta {
			if rng.IntN(4) > 0 {
				theta[i] = math.Copysign(0.3+rng.Float64(), rng.NormFloat64())
			}
		}
		c := relevanceOf(dim, cmdp.Task{}, theta)
		for i := range dim { // a limit that has no price
			c.up[i] = c.up[i] || rng.IntN(3) == 0
			c.down[i] = c.down[i] || rng.IntN(6) == 0
		}
		least, pays := math.Inf(1), false
		everyPolicy(m, func(policy []int32) {
			b := bruteForce(m, theta, policy, c.up, c.down)
			pays = pays || b.pays
			if b.ends {
				least = math.Min(least, b.value)
			}
		})
		p, err := newInfiniteHorizon(t.Context(), m, 1, c, nil)
		if errors.Is(err, ErrNoTotal) {
			if refused++; !math.IsInf(least, 1) {
				t.Fatalf("trial %d: refused, but a policy has %g: %v", trial, least, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.price(context.Background(), theta, 0)
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if got.ray != nil {
			gain := floats.Dot(theta, got.returns)
			if rays++; !(gain < 0) || !pays {
				t.Fatalf("trial %d: a ray of gain %g, but no policy goes on at a negative return; the least total "+
					"is %g", trial, floats.Dot(theta, got.returns), least)
			}
			checkRay(t, m, got)
			continue
		}
		finite++
		if math.IsInf(least, 1) {
			continue // rests by drawing, or pays for ever, where all is lost
		}
		if value := floats.Dot(theta, got.returns); math.Abs(value-least) >= 1e-9*(1+math.Abs(least)) {
			t.Fatalf("trial %d: %g, want %g", trial, value, least)
		}
		if !(got.value-got.margin <= least+1e-12*math.Abs(least)) {
			t.Fatalf("trial %d: the bound %g is above the least total %g", trial, got.value-got.margin, least)
		}
		if !(got.value-got.margin >= least-1e-9*(1+math.Abs(least))) {
			open++ // a loop whose returns cancel out
		}
	}
	t.Logf("%d finite, %d of them without a bound, %d rays, %d refused", finite, open, rays, refused)
	if finite < 500 || rays < 200 || refused < 200 || open > finite/500 {
		t.Errorf("%d finite, %d of them without a bound, %d rays, %d refused: want many of each, and bounds", finite,
			open, rays, refused)
	}
}

// checkRay checks that a place is never left, and its gain by playing.
func checkRay(t *testing.T, m *cmdp.Model, got pricedPolicy) {
	t.Helper()
	k, r := m.Kernel(0).Plain(m.Dim()), got.ray
	x, gain := make([]float64, m.States()), make([]float64, m.Dim())
	for j, s := range r.states {
		x[s] = r.share[j]
	}
	next := make([]float64, len(x))
	for s, y := range x {
		if y == 0 {
			continue
		}
		probs, ok := r.policy.Mixed[int32(s)]
		if !ok {
			probs = make([]float64, k.First[s+1]-k.First[s])
			probs[r.policy.Actions.At(s)] = 1
		}
		for a, p := range probs {
			propagateMass(k, int(k.First[s])+a, y*p, next)
			floats.AddScaled(gain, y*p, k.Returns[(int(k.First[s])+a)*m.Dim():][:m.Dim()])
		}
	}
	for s := range x {
		if math.Abs(x[s]-next[s]) > 1e-12 {
			t.Fatalf("shares %v become %v in a step", x, next)
		}
	}
	for i := range gain {
		if math.Abs(gain[i]-got.returns[i]) > 1e-12 {
			t.Fatalf("gain %v, want %v", got.returns, gain)
		}
	}
}

// TestLowerBoundTrustsNoValues gives the check of a bound values that are not one: above
// their backups, or above 0 where the process may stay for nothing.
func TestLowerBoundTrustsNoValues(t *testing.T) {
	// State 0 waits for nothing or leaves for 5.
	k := cmdp.Kernel{First: []int32{0, 2, 2}, Offset: []int{0, 1, 2}, Next: []int32{0, 1}, Prob: []float64{1, 1},
		Returns: []float64{0, 5}}
	m := totalsOf(t, k, 1)
	p, err := newInfiniteHorizon(t.Context(), m, 1, relevance{up: []bool{true}, down: []bool{false}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	z, err := p.solverFor(t.Context(), []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		v     []float64
		holds bool
	}{{[]float64{0, 0}, true}, {[]float64{-1, 0}, true}, {[]float64{5, 0}, false}, {[]float64{6, 0}, false},
		{[]float64{0, 1}, false}} {
		low := &lowerValues{p: p, dir: []float64{1}, v: test.v}
		if _, margin := low.bound(z.Quotient); math.IsInf(margin, 1) == test.holds {
			t.Errorf("values %v: margin %g", test.v, margin)
		}
	}
}

// TestLowerValuesOfDiscounts: whatever values are at hand, no policy is below the bound that they show, be the discount
// near 1 or the states rare where they lack something; and the bound is at most as far off as if all lacked as much.
func TestLowerValuesOfDiscounts(t *testing.T) {
	sharper := 0
	for trial := range 200 {
		rng := rand.New(rand.NewPCG(uint64(trial), 40))
		spec := cmdp.ModelSpec{Dim: 2, Discount: []float64{0.8, 0.999, 0.99999}[trial%3],
			Start: []cmdp.StartState{{State: 0, Probability: 0.25}, {State: 1, Probability: 0.75}}}
		m := drawRows(t, rng, spec, 1, 4, false)
		p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(2), nil)
		if err != nil {
			t.Fatal(err)
		}
		dir := []float64{rng.NormFloat64(), rng.NormFloat64()}
		z, _, _, _, err := p.solve(t.Context(), dir, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		low := &lowerValues{p: p, dir: dir, v: p.liftValues(nil, z)}
		for s := range low.v {
			if rng.IntN(2) == 0 && p.k.First[s] < p.k.First[s+1] {
				low.v[s] += math.Pow(10, -float64(rng.IntN(7))) * rng.NormFloat64()
			}
		}
		if rng.IntN(2) == 0 { // the same values as a rough part and a small one
			low.small = make([]float64, len(low.v))
			for s := range low.v {
				if p.k.First[s] < p.k.First[s+1] {
					low.small[s] = rng.NormFloat64()
					low.v[s] -= low.small[s]
				}
			}
		}
		value, margin := low.bound(z.Quotient)
		least, most := math.Inf(1), 0.0
		everyPolicy(m, func(policy []int32) {
			actions := make([]int32, len(policy))
			for s, c := range policy {
				actions[s] = max(0, c-p.k.First[s])
				if c >= 0 {
					most = max(most, low.shortfall(s, int(c)))
				}
			}
			e, err := Evaluate(t.Context(), m, cmdp.Deterministic{actions})
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, floats.Dot(dir, e.Returns))
		})
		rounding := 1e-9 * (1 + math.Abs(least))
		if far := most / (1 - m.Discount()); value-margin > least+rounding || margin > 1.01*far+rounding {
			t.Errorf("trial %d: values %v show %g ± %g: the least is %g, and states lack %g at most", trial, low.v, value,
				margin, least, most)
		} else if margin < 0.9*far {
			sharper++
		}
	}
	if sharper < 20 {
		t.Errorf("%d bounds are sharper than those of the largest lack: want more", sharper)
	}
}

// TestPlannerOfTotals: a planner that goes from task to task, and comes back, has the answers of plans made one
// by one, also where totals may go on for ever.
func TestPlannerOfTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 28))
	optimal, other, recurrent := 0, 0, 0
	for trial := range 60 {
		m := drawTotal(t, rng, 2)
		p, err := NewPlanner(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		box, err := geometry.NewBox([]float64{-1e99, -1e99}, []float64{1e99, 1e99})
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			goal, err := cost.NewLinear([]float64{float64(rng.IntN(5) - 2), rng.NormFloat64()}, box)
			if err != nil {
				t.Fatal(err)
			}
			limit := float64(rng.IntN(5) - 2)
			half, err := geometry.NewBox([]float64{-1e99, -1e99}, []float64{limit, 1e99})
			if err != nil {
				t.Fatal(err)
			}
			target, err := half.Bounded()
			if err != nil {
				t.Fatal(err)
			}
			task := cmdp.Task{Cost: goal, Target: target}
			got, err := p.Solve(t.Context(), task, Options{})
			want, alone := Solve(t.Context(), m, task, Options{})
			if (err == nil) != (alone == nil) {
				t.Fatalf("trial %d: error %v: alone it is %v", trial, err, alone)
			}
			if err != nil { // no total is well-defined
				continue
			}
			if p.pricer.traits().relevanceOnly {
				recurrent++
			}
			if want.Status != Optimal {
				other++
			} else {
				optimal++
			}
			if got.Status != want.Status || want.Status == Optimal &&
				math.Abs(got.Objective-want.Objective) > 1e-8*(1+math.Abs(want.Objective)) {
				t.Errorf("trial %d: %v with %v: alone it is %v with %v", trial, got.Status, got.Objective, want.Status,
					want.Objective)
			}
		}
	}
	if optimal < 50 || other < 50 || recurrent < 50 {
		t.Errorf("%d optimal, %d others, %d on models that may go on: the test says little", optimal, other, recurrent)
	}
}

// TestLongTotals asks for totals that take very many steps: a loop with probability
// 1 − 1e-9, and two states between which the process goes to and fro for 2e9 steps. The
// first has to be found to nearly all digits, since a state's way to itself cancels.
func TestLongTotals(t *testing.T) {
	for _, test := range []struct {
		name        string
		next        [][]cmdp.Transition
		want, error float64
	}{
		{"a loop", [][]cmdp.Transition{{{Next: 0, Probability: 1 - 1e-9}, {Next: 2, Probability: 1e-9}}}, 1e9, 1e-9},
		{"to and fro", [][]cmdp.Transition{{{Next: 1, Probability: 1}},
			{{Next: 0, Probability: 1 - 1e-9}, {Next: 2, Probability: 1e-9}}}, 2e9, 1e-4},
	} {
		b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
			3)
		for s, next := range test.next {
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Returns: []float64{1}, Next: next}); err != nil {
				t.Fatal(err)
			}
		}
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		lower, upper, err := PlannerOf(t, m).Ranges(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !(lower[0] <= test.want*(1+1e-4) && upper[0] >= test.want*(1-1e-4) &&
			upper[0]-lower[0] <= test.error*test.want) {
			t.Errorf("%s: %.17g to %.17g, want %g", test.name, lower[0], upper[0], test.want)
		}
	}
}

// closure returns which states lead to which under a policy, a choice for each state, −1 for none. Every state
// leads to itself.
func closure(k *cmdp.Kernel, policy []int32) [][]bool {
	r := make([][]bool, len(policy))
	for s := range r {
		r[s] = make([]bool, len(r))
		r[s][s] = true
		for c := policy[s]; c >= 0; c = -1 {
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				r[s][k.Next[e]] = r[s][k.Next[e]] || k.Prob[e] > 0
			}
		}
	}
	for m := range r {
		for s := range r {
			for n := range r {
				r[s][n] = r[s][n] || r[s][m] && r[m][n]
			}
		}
	}
	return r
}

// TestTotalsBeyondNumbers: a total of 1e310 is refused, not taken for one of a policy that stays somewhere for ever.
func TestTotalsBeyondNumbers(t *testing.T) {
	k := cmdp.NewKernel()
	k.Append([]int32{0, 1}, []float64{1, 1e-300}, []float64{1e10})
	k.EndState()
	k.EndState()
	m := totalsOf(t, k, 1)
	p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.price(t.Context(), []float64{1}, 0); !errors.Is(err, markov.ErrSingular) {
		t.Errorf("error %v", err)
	}
}
