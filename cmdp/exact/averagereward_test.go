package exact

import (
	"math"
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

// randomAverage draws a model of long-run averages with several end components: few
// successors, states without choices, loops, and periodic ways.
func randomAverage(t testing.TB, seed uint64, states, dim int) *cmdp.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 51))
	b := cmdp.NewBuilder(cmdp.ModelSpec{Average: true, Dim: dim,
		Start: []cmdp.StartState{{State: 0, Probability: 0.75}, {State: states - 1, Probability: 0.25}}}, states)
	for s := range states {
		if s > 0 && rng.IntN(8) == 0 {
			continue
		}
		for a := range 1 + rng.IntN(3) {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: make([]float64, dim)}
			for i := range row.Returns {
				row.Returns[i] = math.Round(8*rng.Float64() - 3)
			}
			one, other := rng.IntN(states), rng.IntN(states)
			if rng.IntN(3) == 0 || one == other {
				row.Next = []cmdp.Transition{{Next: one, Probability: 1}}
			} else {
				p := 0.1 + 0.8*rng.Float64()
				row.Next = []cmdp.Transition{{Next: one, Probability: p}, {Next: other, Probability: 1 - p}}
			}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// longRun returns the long-run mean returns of a deterministic stationary policy by
// squaring (I + P)/2 until it no longer changes: the chain that waits every other step has
// the same averages and no periods.
func longRun(m *cmdp.Model, policy []int) []float64 {
	n, d, k := m.States(), m.Dim(), m.Kernel(0).Plain(m.Dim())
	p := mat.NewDense(n, n, nil)
	r := mat.NewDense(n, d, nil)
	for s := range n {
		p.Set(s, s, 0.5)
		if k.First[s] == k.First[s+1] {
			p.Set(s, s, 1)
			continue
		}
		c := int(k.First[s]) + policy[s]
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			p.Set(s, int(k.Next[e]), p.At(s, int(k.Next[e]))+k.Prob[e]/2)
		}
		r.SetRow(s, k.Returns[c*d:(c+1)*d])
	}
	for range 40 {
		var q mat.Dense
		q.Mul(p, p)
		for s := range n { // rounding would double with every square
			floats.Scale(1/floats.Sum(q.RawRowView(s)), q.RawRowView(s))
		}
		p = &q
	}
	var v mat.Dense
	v.Mul(p, r)
	out := make([]float64, d)
	for _, st := range m.StartStates() {
		floats.AddScaled(out, st.Probability, v.RawRowView(st.State))
	}
	return out
}

// everyStationary calls f with all deterministic stationary policies.
func everyStationary(m *cmdp.Model, f func(policy []int)) {
	k, policy := m.Kernel(0).Plain(m.Dim()), make([]int, m.States())
	for {
		f(policy)
		s := 0
		for ; s < len(policy); s++ {
			if policy[s]++; policy[s] < int(k.First[s+1]-k.First[s]) {
				break
			}
			policy[s] = 0
		}
		if s == len(policy) {
			return
		}
	}
}

// TestAveragePrice compares the least average in a direction with that of all
// deterministic stationary policies, one of which is best.
func TestAveragePrice(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 52))
		m := randomAverage(t, seed, 2+rng.IntN(5), 2)
		p, err := newAverageReward(t.Context(), m, 1, allRelevant(m.Dim()), nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // the later ones from where the first ended
			dir := []float64{rng.NormFloat64(), rng.NormFloat64()}
			if rng.IntN(4) == 0 {
				dir[rng.IntN(2)] = 0
			}
			want := math.Inf(1)
			everyStationary(m, func(policy []int) { want = math.Min(want, floats.Dot(dir, longRun(m, policy))) })
			got, err := p.price(t.Context(), dir, 0)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if math.Abs(got.value-want) > 1e-9 || got.value-got.margin > want+1e-12 || got.margin > 1e-9 {
				t.Errorf("seed %d: %v with margin %v: want %v", seed, got.value, got.margin, want)
			}
			policy := make([]int, m.States())
			for s := range policy {
				policy[s] = got.policy.actions().At(s)
			}
			if v := longRun(m, policy); !floats.EqualApprox(v, got.returns, 1e-9) ||
				math.Abs(floats.Dot(dir, v)-want) > 1e-9 {
				t.Errorf("seed %d: the policy returns %v, by simulation of its matrix %v", seed, got.returns, v)
			}
			if value, margin, err := p.recheck(t.Context(), dir); err != nil || math.Abs(value-want) > 1e-9 ||
				margin > 1e-9 {
				t.Errorf("seed %d: checked again %v with margin %v, %v: want %v", seed, value, margin, err, want)
			}
		}
	}
}

// kallenberg returns the least cost·V subject to rows by the linear program of Kallenberg
// (1983) for several chains: x are the long-run frequencies of the choices, y where they
// come from.
func kallenberg(t *testing.T, m *cmdp.Model, dir []float64, rows []cmdp.Constraint) (float64, bool) {
	t.Helper()
	k, n, d := m.Kernel(0).Plain(m.Dim()), m.States(), m.Dim()
	p := &lp.Problem{Rows: make([]lp.Constraint, 2*n+len(rows))}
	for i := range p.Rows {
		p.Rows[i].Index = []int{}
	}
	for _, st := range m.StartStates() {
		p.Rows[n+st.State].Lower += st.Probability
		p.Rows[n+st.State].Upper += st.Probability
	}
	for i, r := range rows {
		p.Rows[2*n+i].Lower, p.Rows[2*n+i].Upper = math.Inf(-1), r.Offset
	}
	add := func(row int, x float64) {
		r := &p.Rows[row]
		if l := len(r.Index); l > 0 && r.Index[l-1] == len(p.Minimize) {
			r.Coef[l-1] += x
			return
		}
		r.Index, r.Coef = append(r.Index, len(p.Minimize)), append(r.Coef, x)
	}
	for _, transient := range []bool{false, true} {
		for s := range n {
			choices := int(k.First[s+1] - k.First[s])
			for a := range max(1, choices) {
				flow := make(map[int]float64)
				flow[s]++
				c := int(k.First[s]) + a
				var returns []float64
				if choices > 0 {
					for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
						flow[int(k.Next[e])] -= k.Prob[e]
					}
					returns = k.Returns[c*d : (c+1)*d]
				} else {
					flow[s]--
				}
				if !transient {
					for j := range n {
						add(j, flow[j])
					}
					add(n+s, 1)
					for i, r := range rows {
						if returns != nil {
							add(2*n+i, floats.Dot(r.Normal, returns))
						}
					}
				} else {
					for j := range n {
						add(n+j, flow[j])
					}
				}
				x := 0.0
				if !transient && returns != nil {
					x = floats.Dot(dir, returns)
				}
				p.Minimize = append(p.Minimize, x)
			}
		}
	}
	sol, err := lp.Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	return sol.Objective, sol.Status == lp.Optimal
}

// TestAverageSolve compares constrained optima with Kallenberg's linear program, and the
// returns with those of the policies drawn at the start.
func TestAverageSolve(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	drawn, infeasible := 0, 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 53))
		m := randomAverage(t, seed+1000, 3+rng.IntN(6), 3)
		gap := 0.0
		if seed >= 80 { // half of them to a coarse gap
			m, gap = slowRing(t, rng, 30), float64(seed/2%2)*1e-6
		}
		low, high := []float64{-4, -4, -4}, []float64{6, 6, 6}
		box, err := geometry.NewBox(low, high)
		if err != nil {
			t.Fatal(err)
		}
		gradient := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		goal, err := cost.NewLinear(gradient, box)
		if err != nil {
			t.Fatal(err)
		}
		rows := []cmdp.Constraint{{Normal: []float64{0, 1, 0}, Offset: 2*rng.Float64() - 0.5},
			{Normal: []float64{0, 0, 1}, Offset: 2*rng.Float64() - 0.5}}
		high[1], high[2] = rows[0].Offset, rows[1].Offset
		within, err := geometry.NewBox(low, high)
		if err != nil {
			t.Fatal(err)
		}
		target, err := within.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Cost: goal, Target: target}
		r, err := Solve(t.Context(), m, task, Options{Gap: gap})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		Fits(t, m, task, r)
		want, feasible := kallenberg(t, m, gradient, rows)
		if !feasible {
			infeasible++
			if err := Verify(t.Context(), m, task, r.Certificate); r.Status != Infeasible || err != nil {
				t.Errorf("seed %d: %v, %v: want infeasible with a certificate that holds", seed, r.Status, err)
			}
			continue
		}
		if r.Status != Optimal || math.Abs(r.Objective-want) > 1e-5 || r.Objective-r.Bound > r.Gap+1e-12 ||
			r.Bound > want+1e-7 {
			t.Errorf("seed %d: %v %v, bound %v: want %v", seed, r.Status, r.Objective, r.Bound, want)
			continue
		}
		if bound, err := VerifyBound(t.Context(), m, task, r.Proof); err != nil || math.Abs(bound-want) > 1e-5 {
			t.Errorf("seed %d: bound %v, %v: want %v", seed, bound, err, want)
		}
		checkOwnMargin(t, m, task, r.Proof)
		components := r.Mixture
		if r.Policy != nil {
			components = []WeightedPolicy{{1, r.Policy}}
		} else {
			drawn++
		}
		total, weight := make([]float64, 3), 0.0
		for _, c := range components {
			for _, b := range denseBranches(t, m, c.Policy) {
				floats.AddScaled(total, c.Weight*b.Probability, b.Returns)
			}
			weight += c.Weight
		}
		if math.Abs(weight-1) > 1e-9 || !floats.EqualApprox(total, r.Returns, 1e-8) || total[1] > high[1]+1e-7 ||
			total[2] > high[2]+1e-7 {
			t.Errorf("seed %d: the policies return %v: said %v, limits %v", seed, total, r.Returns, high[1:])
		}
		checkShares(t, m, r)
	}
	if drawn < 5 || infeasible < 5 {
		t.Errorf("%d draws and %d infeasible problems: the test says little", drawn, infeasible)
	}
}

// checkOwnMargin states ever smaller margins: once one is below what rounding may take, a smaller one does not
// prove more.
func checkOwnMargin(t *testing.T, m *cmdp.Model, task cmdp.Task, p *Proof) {
	t.Helper()
	var bounds []float64
	for range 12 {
		bound, err := VerifyBound(t.Context(), m, task, p)
		if err != nil {
			break
		}
		less := *p
		less.Margin /= 2
		less.Bound += less.Margin
		p, bounds = &less, append(bounds, bound)
	}
	if n := len(bounds); n < 2 || bounds[n-1] != bounds[n-2] {
		t.Errorf("bounds %v of margins that are halved: want that the last ones are the same", bounds)
	}
}

// checkShares: the shares of time that an answer spends in each state add up, with the
// returns of a step there, to its returns.
func checkShares(t *testing.T, m *cmdp.Model, r *Result) {
	t.Helper()
	total := make([]float64, m.Dim())
	for _, c := range append(slices.Clone(r.Mixture), WeightedPolicy{1, r.Policy}) {
		if c.Policy == nil {
			continue
		}
		share, err := Visits(t.Context(), m, c.Policy, nil)
		if err != nil {
			t.Fatal(err)
		}
		for s, x := range share {
			if k := m.Kernel(0).Plain(m.Dim()); x > 0 && k.First[s] < k.First[s+1] {
				probs := make([]float64, k.First[s+1]-k.First[s])
				c.Policy.Distribution(probs, 0, s)
				for a, y := range probs {
					at := (int(k.First[s]) + a) * m.Dim()
					floats.AddScaled(total, c.Weight*x*y, k.Returns[at:at+m.Dim()])
				}
			}
		}
	}
	if !floats.EqualApprox(total, r.Returns, 1e-8) {
		t.Errorf("shares of time return %v: want %v", total, r.Returns)
	}
}

// slowRing is a model of a ring on which each choice leads to two states nearby, so that hardly anything mixes.
func slowRing(t testing.TB, rng *rand.Rand, n int) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Average: true, Dim: 3, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, n)
	for s := range n {
		for a := range 2 {
			p := 0.2 + 0.6*rng.Float64()
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a,
				Returns: []float64{rng.Float64(), 2*rng.Float64() - 0.5, 2*rng.Float64() - 0.5},
				Next: []cmdp.Transition{{Next: (s + 1) % n, Probability: p},
					{Next: (s + n - 1 - rng.IntN(2)) % n, Probability: 1 - p}}}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
