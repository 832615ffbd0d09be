package robust_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/robust"

	"gonum.org/v1/gonum/floats"
)

// endlessCase returns a random set without a horizon. Totals have bounds that let the process come to rest, and means
// a state that is always come back to in each of one or two recurrent classes, or rest, so that both are defined in all
// models.
func endlessCase(t *testing.T, rng *rand.Rand, discount float64, average, outcomes bool) *randomCase {
	t.Helper()
	return endlessCaseOf(t, rng, discount, average, outcomes, false)
}

// endlessCaseOf is like endlessCase. If farther is set, totals may also have a state to which the nominal model never
// comes.
func endlessCaseOf(t *testing.T, rng *rand.Rand, discount float64, average, outcomes, farther bool) *randomCase {
	t.Helper()
	const dim = 2
	states := 3
	all := []int{0, 1, 2}
	successors := [][]int{all, all, all}
	home := []int{states - 1, states - 1, states - 1}
	resting, hidden := states-1, -1
	if farther && !average {
		hidden, states = states, states+1
		successors, home = append(successors, []int{0, 1}), append(home, resting)
	}
	if average {
		home, resting = slices.Repeat([]int{rng.IntN(3)}, 3), -1
		switch rng.IntN(4) {
		case 0, 1: // from state 1 to one of two classes
			states = 5
			successors = [][]int{{0, 2}, {1, 0, 3}, {0, 2}, {3, 4}, {3, 4}}
			one, other := 2*rng.IntN(2), 3+rng.IntN(2)
			successors[1] = []int{1, one, other}
			home = []int{one, other, one, other, other}
		case 2: // from state 1 to a state that rests
			successors = [][]int{{0}, {1, 2}, nil}
			home, resting = []int{0, 2, 2}, 2
		}
	}
	k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	if outcomes {
		k.Outcomes = []float64{}
	}
	cancel := outcomes && rng.IntN(3) == 0 // in the nominal model, what every choice returns
	var lower, upper [][]float64
	for s := range states {
		actions := 1 + rng.IntN(2)
		switch s {
		case resting:
			actions = 0
		case hidden:
			actions = 1
		}
		for range actions {
			to := slices.Clone(successors[s])
			rng.Shuffle(len(to), func(i, j int) { to[i], to[j] = to[j], to[i] })
			to = to[:1+rng.IntN(len(to))]
			if !slices.Contains(to, home[s]) {
				to = append(to, home[s])
			}
			p, lo, up := randomRow(rng, len(to), 0.3)
			lo[slices.Index(to, home[s])] = max(lo[slices.Index(to, home[s])], 0.05)
			if farther {
				p = atCorner(rng, p, lo, up)
			}
			if hidden > s && len(to) < 3 {
				to, p, lo, up = append(to, hidden), append(p, 0), append(lo, 0), append(up, 0.3*rng.Float64())
			}
			for i, n := range to {
				k.Next, k.Prob = append(k.Next, int32(n)), append(k.Prob, p[i])
			}
			mean := []float64{rng.Float64()*2 - 1, rng.Float64()}
			if rng.IntN(4) == 0 {
				clear(mean)
			}
			if rng.IntN(4) == 0 || s == hidden { // exact, with the digits of a file, which miss a little of 1
				lo, up = nil, nil
				for i := range to {
					k.Prob[len(k.Prob)-1-i] = math.Floor(1e10*k.Prob[len(k.Prob)-1-i]) / 1e10
				}
			}
			if outcomes {
				clear(mean)
				prob := k.Prob[len(k.Prob)-len(to):]
				for i := range to {
					for j := range dim {
						r := rng.Float64()*2 - 1
						switch {
						case !cancel || len(to) > 1 && prob[1] == 0:
							mean[j] += prob[i] * r
						case i == 1:
							r = -k.Outcomes[len(k.Outcomes)-dim] * prob[0] / prob[1]
						case i > 1 || len(to) == 1:
							r = 0
						}
						k.Outcomes = append(k.Outcomes, r)
					}
				}
			}
			k.Returns = append(k.Returns, mean...)
			k.Offset = append(k.Offset, len(k.Next))
			lower, upper = append(lower, lo), append(upper, up)
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	spec := cmdp.ModelSpec{Discount: discount, Average: average, Dim: dim,
		Start: []cmdp.StartState{{State: 0, Probability: 0.5}, {State: 1, Probability: 0.5}}, Kernels: []cmdp.Kernel{k}}
	return newRandomCase(t, spec, func(_, c int) ([]float64, []float64) { return lower[c], upper[c] }, false)
}

// corners calls visit with every model of the set whose probabilities are corners.
func (c *randomCase) corners(t *testing.T, visit func(m *cmdp.Model)) {
	t.Helper()
	base := c.model.Kernel(0)
	k := *base
	k.Prob = append([]float64(nil), k.Prob...)
	var walk func(choice int)
	walk = func(choice int) {
		if choice == len(k.Offset)-1 {
			of := k
			of.Prob = append([]float64(nil), k.Prob...)
			d := c.model.Dim()
			if of.Outcomes != nil {
				of.Returns = make([]float64, len(k.Returns))
				for a := range len(k.Offset) - 1 {
					for e := k.Offset[a]; e < k.Offset[a+1]; e++ {
						for i := range d {
							of.Returns[a*d+i] += of.Prob[e] * of.Outcomes[e*d+i]
						}
					}
				}
			}
			spec := cmdp.ModelSpec{Discount: c.model.Discount(), Dim: d, Start: c.model.StartStates(),
				Kernels: []cmdp.Kernel{of}, Average: c.model.Average()}
			if spec.Average {
				spec.Discount = 0
			}
			m, err := cmdp.NewModel(spec)
			if err != nil {
				t.Fatal(err)
			}
			visit(m)
			return
		}
		lower, upper := c.iv.Row(0, choice)
		if lower == nil {
			walk(choice + 1)
			return
		}
		for _, p := range vertices(lower, upper) {
			for i := range p {
				p[i] = math.Max(p[i], 0)
			}
			copy(k.Prob[k.Offset[choice]:], p)
			walk(choice + 1)
		}
	}
	walk(0)
}

var criteria = []struct {
	name     string
	discount float64
	average  bool
}{{"discounted", 0.9, false}, {"far", 0.999, false}, {"total", 1, false}, {"mean", 0, true}}

// TestEndlessAgainstCorners compares bounds of returns of stationary policies with the models whose probabilities are
// corners: without a horizon one of them is the worst for a direction.
func TestEndlessAgainstCorners(t *testing.T) {
	for _, x := range criteria {
		t.Run(x.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			for i := range 25 {
				c := endlessCaseOf(t, rng, x.discount, x.average, i%3 == 0, i%2 == 1)
				policy := randomPolicy(t, rng, c.model, 1)
				b, err := c.set.Evaluate(t.Context(), policy)
				if err != nil {
					t.Fatalf("case %d: %v", i, err)
				}
				least, greatest := []float64{math.Inf(1), math.Inf(1)}, []float64{math.Inf(-1), math.Inf(-1)}
				c.corners(t, func(m *cmdp.Model) {
					e, err := exact.Evaluate(t.Context(), m, policy)
					if err != nil {
						t.Fatal(err)
					}
					for j, v := range e.Returns {
						least[j], greatest[j] = math.Min(least[j], v), math.Max(greatest[j], v)
					}
				})
				room := 1e-11
				if x.discount == 0.999 {
					room = 1e-7
				}
				for j := range 2 {
					room := room * math.Max(1, math.Max(-least[j], greatest[j]))
					if b.Greatest[j] < greatest[j]-1e-13*math.Max(1, math.Abs(greatest[j])) ||
						b.Greatest[j] > greatest[j]+room {
						t.Errorf("case %d: greatest return %d is %.17g: want %.17g", i, j, b.Greatest[j], greatest[j])
					}
					if b.Least[j] > least[j]+1e-13*math.Max(1, math.Abs(least[j])) || b.Least[j] < least[j]-room {
						t.Errorf("case %d: least return %d is %.17g: want %.17g", i, j, b.Least[j], least[j])
					}
				}
			}
		})
	}
}

// TestEndlessEnclosesRational: bounds of discounted returns and totals enclose, whatever is rounded, those of
// every model whose probabilities are corners, in rational arithmetic.
func TestEndlessEnclosesRational(t *testing.T) {
	for _, discount := range []float64{0.9, 0.999, 1} {
		rng := rand.New(rand.NewPCG(13, 14))
		for i := range 12 {
			c := endlessCase(t, rng, discount, false, i%3 == 0)
			policy := randomPolicy(t, rng, c.model, 1)
			b, err := c.set.Evaluate(t.Context(), policy)
			if err != nil {
				t.Fatal(err)
			}
			for range 40 {
				for j, x := range c.rationalReturns(rng, policy) {
					if x.Cmp(new(big.Rat).SetFloat64(b.Greatest[j])) > 0 ||
						x.Cmp(new(big.Rat).SetFloat64(b.Least[j])) < 0 {
						near, _ := x.Float64()
						t.Fatalf("discount %g, case %d: return %d is %.17g, not between %.17g and %.17g", discount, i,
							j, near, b.Least[j], b.Greatest[j])
					}
				}
			}
		}
	}
}

// TestSmallGains: a choice of nature that gains less in a step than rounding lets it see gains a lot over a million
// steps. Bounds hold all the same: from state 0, in which a step counts 1, nature goes to state 1 and stays there, in
// which it counts a little more.
func TestSmallGains(t *testing.T) {
	for _, more := range []float64{1e-3, 1e-6, 1e-7, 1e-8, 1e-10} {
		for _, leaves := range []float64{0, 1.0 / (1 << 20)} { // a discount, or a total until the process leaves
			k := cmdp.NewKernel()
			var lower, upper []float64
			for s := range 2 {
				k.Append([]int32{0, 1, 2}, []float64{(1 - leaves) / 2, (1 - leaves) / 2, leaves},
					[]float64{1 + more*float64(s)})
				k.EndState()
				lower, upper = []float64{0, 0, leaves}, []float64{1 - leaves, 1 - leaves, leaves}
			}
			k.EndState()
			stays := 1 - leaves
			spec := cmdp.ModelSpec{Discount: 1, Dim: 1, Kernels: []cmdp.Kernel{k},
				Start: []cmdp.StartState{{State: 0, Probability: 1}}}
			if leaves == 0 {
				stays = 1 - 1.0/(1<<20)
				spec.Discount = stays
			}
			m, err := cmdp.NewModel(spec)
			if err != nil {
				t.Fatal(err)
			}
			iv, err := cmdp.NewIntervals(m, func(_, _ int) ([]float64, []float64) { return lower, upper })
			if err != nil {
				t.Fatal(err)
			}
			set, err := robust.New(robust.Spec{Model: m, Intervals: iv})
			if err != nil {
				t.Fatal(err)
			}
			b, err := set.Evaluate(t.Context(), cmdp.Deterministic{{0, 0, 0}})
			if err != nil {
				t.Fatal(err)
			}
			want := 1 + stays*(1+more)/(1-stays)
			if b.Greatest[0] < want-1e-9 || b.Greatest[0] > want+1 {
				t.Errorf("a gain of %g, with %g: at most %.12g: want %.12g", more, leaves, b.Greatest[0], want)
			}
		}
	}
}

// rationalReturns returns the returns of a policy in one of the models whose probabilities are corners.
func (c *randomCase) rationalReturns(rng *rand.Rand, policy cmdp.Policy) []*big.Rat {
	m := c.model
	n, d := m.States(), m.Dim()
	rational := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	times := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	// The rows of (I − γP)v = r, with the right sides in the last columns.
	a := make([][]*big.Rat, n)
	rows := m.Rows(0)
	for s := range a {
		a[s] = make([]*big.Rat, n+d)
		for j := range a[s] {
			a[s][j] = new(big.Rat)
		}
		a[s][s].SetInt64(1)
		first, end := rows.Choices(s)
		if first == end {
			continue
		}
		probs := make([]float64, end-first)
		policy.Distribution(probs, 0, s)
		for k, x := range probs {
			next, nominal := rows.Row(first + k)
			prob := make([]*big.Rat, len(next))
			for e := range prob {
				prob[e] = rational(nominal[e])
			}
			if lower, upper := c.iv.Row(0, first+k); lower != nil {
				all := vertices(lower, upper)
				corner := all[rng.IntN(len(all))]
				rest, free := rational(1), 0
				for e, p := range corner {
					if p != lower[e] && p != upper[e] {
						free = e
					}
				}
				for e, p := range corner {
					prob[e] = rational(p)
					if e != free {
						rest.Sub(rest, prob[e])
					}
				}
				if rest.Cmp(rational(lower[free])) < 0 || rest.Cmp(rational(upper[free])) > 0 {
					return nil // not one of the set, by rounding
				}
				prob[free] = rest
			}
			missing := rational(1) // the state keeps it
			for e := range next {
				missing.Sub(missing, prob[e])
			}
			a[s][s].Sub(a[s][s], times(times(rational(m.Discount()), rational(x)), missing))
			for e, to := range next {
				p := times(rational(x), prob[e])
				a[s][to].Sub(a[s][to], times(rational(m.Discount()), p))
				for j, r := range rows.Outcome(first+k, e) {
					if rows.Random() || e == 0 {
						of := p
						if !rows.Random() {
							of = rational(x)
						}
						a[s][n+j].Add(a[s][n+j], times(of, rational(r)))
					}
				}
			}
		}
	}
	for s := range a { // Gauss and Jordan
		for i := range a {
			if i == s || a[i][s].Sign() == 0 {
				continue
			}
			f := new(big.Rat).Quo(a[i][s], a[s][s])
			for j := range a[i] {
				a[i][j].Sub(a[i][j], times(f, a[s][j]))
			}
		}
	}
	out := make([]*big.Rat, d)
	for j := range out {
		out[j] = new(big.Rat)
		for _, st := range m.StartStates() {
			out[j].Add(out[j], times(rational(st.Probability),
				new(big.Rat).Quo(a[st.State][n+j], a[st.State][st.State])))
		}
	}
	return out
}

// TestSolveEndless plans without a horizon: limits hold in every model that is drawn.
func TestSolveEndless(t *testing.T) {
	for _, x := range criteria {
		t.Run(x.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			counts := make(map[robust.Status]int)
			for i := range 25 {
				c := endlessCase(t, rng, x.discount, x.average, i%3 == 0)
				policy := randomPolicy(t, rng, c.model, 1)
				b, err := c.set.Evaluate(t.Context(), policy)
				if err != nil {
					t.Fatal(err)
				}
				size := math.Abs(b.Greatest[1]) + 0.1
				limit := b.Greatest[1] + 0.2*size*rng.NormFloat64()
				far := 1e6
				c.wanted(t, limit, []float64{-far, -far}, []float64{far, far})
				if i%2 == 0 {
					c.second(t, rng, b)
				}
				restore := func() {}
				if i%4 >= 2 {
					restore = noModels()
				}
				r, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{})
				restore()
				if err != nil {
					t.Fatalf("case %d: %v", i, err)
				}
				counts[r.Status]++
				switch r.Status {
				case robust.Infeasible:
					c.checkInfeasible(t, i, r)
					if c.keeps(b) {
						t.Errorf("case %d: infeasible, but a policy keeps the limit", i)
					}
				case robust.Optimal, robust.Feasible:
					c.checkStationary(t, rng, i, r, limit)
					if x.average && r.Policy == nil {
						t.Errorf("case %d: a draw at the start, which would go on for ever", i)
					}
					if c.keeps(b) && b.Greatest[0]+constant < r.Bound-1e-9*size {
						t.Errorf("case %d: a policy that keeps the limit has a cost of at most %g: below the bound %g",
							i, b.Greatest[0]+constant, r.Bound)
					}
				}
			}
			t.Log(counts)
			if counts[robust.Optimal] < 10 || counts[robust.Feasible] < 1 || counts[robust.Infeasible] < 1 {
				t.Errorf("verdicts %v: want best plans, and proofs that there is none", counts)
			}
		})
	}
}

// TestTogether: what is put together of a mixture returns in the nominal model what the mixture does, with a horizon
// and without, also where one of its policies draws actions.
func TestTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 2))
	for i := range 60 {
		c := newCase(t, rng, finiteShapes[i/3%len(finiteShapes)], false)
		if discount := []float64{0, 0.9, 1}[i%3]; discount > 0 {
			c = endlessCase(t, rng, discount, false, i%2 == 0)
		}
		sum := make([]float64, 2)
		var parts []exact.WeightedPolicy
		for _, weight := range []float64{0.25, 0.5, 0.25} {
			pure := exactPolicy(rng, c.model)
			parts = append(parts, exact.WeightedPolicy{Weight: weight, Policy: pure})
			floats.AddScaled(sum, weight, returnsOf(t, c.model, pure))
		}
		first, err := c.set.Together(t.Context(), parts[:2])
		if err == nil {
			first, err = c.set.Together(t.Context(), []exact.WeightedPolicy{{Weight: 0.75, Policy: first}, parts[2]})
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := returnsOf(t, c.model, first); !floats.EqualApprox(got, sum, 1e-9) {
			t.Errorf("case %d: %v together: want %v", i, got, sum)
		}
		alone := exact.WeightedPolicy{Weight: 0.5, Policy: parts[0].Policy}
		same, err := c.set.Together(t.Context(), []exact.WeightedPolicy{alone, alone})
		if err != nil {
			t.Fatal(err)
		}
		for h := range max(1, c.model.Horizon()) {
			for s := range c.model.States() {
				first, end := c.model.Rows(h).Choices(s)
				if first == end {
					continue
				}
				got, want := make([]float64, end-first), make([]float64, end-first)
				same.Distribution(got, h, s)
				alone.Policy.Distribution(want, h, s)
				if !floats.EqualApprox(got, want, 1e-12) {
					t.Errorf("case %d: step %d, state %d: %v, put together with itself %v", i, h+1, s, want, got)
				}
			}
		}
	}
}

// TestTrySingle: a policy takes the place of a mixture if it keeps the limits and costs no more, and else never does.
func TestTrySingle(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 3))
	kept, refused := 0, 0
	for i := range 150 {
		c := newCase(t, rng, finiteShapes[i%len(finiteShapes)], false)
		lower, upper := make([]float64, 2), make([]float64, 2)
		c.model.Shape().ReturnToGo(lower, upper, 0)
		var policies []*exact.Policy
		var parts []exact.WeightedPolicy
		limit := 0.0
		for range 4 {
			p := exactPolicy(rng, c.model)
			policies, parts = append(policies, p), append(parts, exact.WeightedPolicy{Weight: 0.25, Policy: p})
			limit += 0.25 * c.worst(p, []float64{0, 1})
		}
		c.wanted(t, limit, lower, upper)
		one, err := c.set.Together(t.Context(), parts)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			one = exactPolicy(rng, c.model)
		}
		before, after, count, err := c.set.TrySingle(t.Context(), c.task, policies, one)
		if err != nil {
			t.Fatal(err)
		}
		cost, used := c.worst(one, []float64{1, 0}), c.worst(one, []float64{0, 1})
		switch {
		case before == nil:
		case used < limit-1e-6 && cost < before[0]-1e-6:
			kept++
			if count != 1 || math.Abs(after[0]-cost) > 1e-9 {
				t.Errorf("case %d: a plan of %d policies that costs %g: want one that costs %g", i, count, after[0], cost)
			}
		case used > limit+1e-6 || cost > before[0]+1e-6:
			refused++
			if !slices.Equal(after, before) {
				t.Errorf("case %d: %v where a policy has %g and %g, limit %g: want %v", i, after, cost, used, limit, before)
			}
		}
	}
	if kept < 3 || refused < 10 {
		t.Errorf("%d policies were kept, %d not: want some of each", kept, refused)
	}
}

func (c *randomCase) checkStationary(t *testing.T, rng *rand.Rand, i int, r *robust.Result, limit float64) {
	t.Helper()
	c.checkVerdict(t, i, r)
	if r.Bounds.Greatest[1] > limit+r.Tolerance {
		t.Errorf("case %d: the limit %g is missed by %g, greatest %g", i, limit, r.Violation, r.Bounds.Greatest[1])
	}
	if r.Bound > r.Objective+1e-7*math.Max(1, math.Abs(r.Objective)) {
		t.Errorf("case %d: objective %g below the bound %g", i, r.Objective, r.Bound)
	}
	for range 10 {
		k := *c.model.Kernel(0)
		k.Prob = append([]float64(nil), k.Prob...)
		for choice := range len(k.Offset) - 1 {
			if lower, upper := c.iv.Row(0, choice); lower != nil {
				copy(k.Prob[k.Offset[choice]:], draw(rng, lower, upper))
			}
		}
		one := &randomCase{model: c.model, iv: c.iv, task: c.task}
		one.compare(t, i, &k, r, limit)
	}
}

// compare evaluates a plan in one model of the set.
func (c *randomCase) compare(t *testing.T, i int, k *cmdp.Kernel, r *robust.Result, limit float64) {
	t.Helper()
	d := c.model.Dim()
	if k.Outcomes != nil {
		k.Returns = make([]float64, len(k.Returns))
		for a := range len(k.Offset) - 1 {
			for e := k.Offset[a]; e < k.Offset[a+1]; e++ {
				for j := range d {
					k.Returns[a*d+j] += k.Prob[e] * k.Outcomes[e*d+j]
				}
			}
		}
	}
	spec := cmdp.ModelSpec{Discount: c.model.Discount(), Dim: d, Start: c.model.StartStates(),
		Kernels: []cmdp.Kernel{*k}, Average: c.model.Average()}
	if spec.Average {
		spec.Discount = 0
	}
	m, err := cmdp.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float64, d)
	for _, part := range r.Plan() {
		e, err := exact.Evaluate(t.Context(), m, part.Policy)
		if err != nil {
			t.Fatal(err)
		}
		for j, x := range e.Returns {
			v[j] += part.Weight * x
		}
	}
	if room := 1e-9 * math.Max(1, math.Abs(v[1])); v[1] > limit+room || v[0]+constant > r.Objective+room ||
		c.task.Violation(v) > room {
		t.Errorf("case %d: a model of the set gives %v: limit %g, objective at most %g", i, v, limit, r.Objective)
	}
}

// TestTotalsBesideMeans: a set whose returns are of both kinds is refused, whatever is asked of it.
func TestTotalsBesideMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 17))
	c := endlessCase(t, rng, 1, false, false)
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 2, Means: []bool{true, false},
		Start: c.model.StartStates(), Kernels: []cmdp.Kernel{*c.model.Kernel(0)}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := robust.New(robust.Spec{Model: m, Intervals: c.iv})
	if err != nil {
		t.Fatal(err)
	}
	c.wanted(t, 1, []float64{-9, -9}, []float64{9, 9})
	policy := exactPolicy(rng, m)
	_, err = set.Evaluate(t.Context(), policy)
	_, planned := robust.Solve(t.Context(), set, c.task, robust.SolveOptions{})
	_, _, worst := set.Worst(t.Context(), []exact.WeightedPolicy{{Weight: 1, Policy: policy}}, []float64{1, 0})
	for _, err := range []error{err, planned, worst} {
		if err == nil || !strings.Contains(err.Error(), "beside long-run means") {
			t.Errorf("totals beside means: %v", err)
		}
	}
}

// TestLongChain bounds the total of a chain of many states whose exit is at the end: it goes on with a probability
// between 0.4 and 0.6 at each, and so takes 1/0.6 to 1/0.4 steps on average. What looks at all states until nothing
// changes any more would take minutes.
func TestLongChain(t *testing.T) {
	const n = 20000
	k := cmdp.NewKernel()
	for s := range n {
		k.Append([]int32{int32(s), int32(s + 1)}, []float64{0.5, 0.5}, []float64{1})
		k.EndState()
	}
	k.EndState()
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1, Kernels: []cmdp.Kernel{k},
		Start: []cmdp.StartState{{State: 0, Probability: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	iv, err := cmdp.Widen(m, nil, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	set, err := robust.New(robust.Spec{Model: m, Intervals: iv})
	if err != nil {
		t.Fatal(err)
	}
	b, err := set.Evaluate(t.Context(), cmdp.Deterministic{make([]int32, n+1)})
	if err != nil {
		t.Fatal(err)
	}
	if b.Least[0] > n/0.6 || b.Least[0] < n/0.6-1e-3 || b.Greatest[0] < n/0.4 || b.Greatest[0] > n/0.4+1e-3 {
		t.Errorf("total between %v and %v: want %g and %g", b.Least, b.Greatest, n/0.6, n/0.4)
	}
}

// TestManyClasses bounds the long-run mean where the first state leads to one of many recurrent classes. Each has a
// state that returns something and is left with a probability p between 0.4 and 0.6, for one that leads back surely; so
// it is there in 1/(1+p) of all steps. What looks at all states for each class would take minutes.
func TestManyClasses(t *testing.T) {
	const classes = 10000
	var start []cmdp.StartState
	k := cmdp.NewKernel()
	for c := range classes {
		first, gain := int32(2*c), float64(c%7)-2
		k.Append([]int32{first, first + 1}, []float64{0.5, 0.5}, []float64{gain})
		k.EndState()
		k.Append([]int32{first}, []float64{1}, []float64{0})
		k.EndState()
		start = append(start, cmdp.StartState{State: int(first), Probability: 1. / classes})
	}
	m, err := cmdp.NewModel(cmdp.ModelSpec{Average: true, Dim: 1, Kernels: []cmdp.Kernel{k}, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	iv, err := cmdp.Widen(m, nil, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	set, err := robust.New(robust.Spec{Model: m, Intervals: iv})
	if err != nil {
		t.Fatal(err)
	}
	b, err := set.Evaluate(t.Context(), cmdp.Deterministic{make([]int32, 2*classes)})
	if err != nil {
		t.Fatal(err)
	}
	least, greatest := 0.0, 0.0
	for c := range classes {
		gain := float64(c%7) - 2
		least += min(gain/1.4, gain/1.6) / classes
		greatest += max(gain/1.4, gain/1.6) / classes
	}
	if b.Least[0] > least+1e-12 || b.Least[0] < least-1e-9 || b.Greatest[0] < greatest-1e-12 ||
		b.Greatest[0] > greatest+1e-9 {
		t.Errorf("mean between %v and %v: want %g and %g", b.Least, b.Greatest, least, greatest)
	}
}

// TestBudget stops a search before, while and after it has a plan. Whatever it returns keeps what it says.
func TestBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	c := endlessCase(t, rng, 0.9, false, false)
	b, err := c.set.Evaluate(t.Context(), randomPolicy(t, rng, c.model, 1))
	if err != nil {
		t.Fatal(err)
	}
	c.wanted(t, b.Greatest[1], []float64{-1e6, -1e6}, []float64{1e6, 1e6})
	solve := func(budget time.Duration) *robust.Result {
		r, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	free, late := solve(0), 50*time.Millisecond
	r, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{Budget: late, Least: &free.Objective,
		Progress: func(_ int, bound, objective float64) {
			if objective-bound < 1e-12 { // the time is over after the gap is closed
				time.Sleep(late)
			}
		}})
	if err != nil || r.Stopped && r.Status == robust.Optimal {
		t.Errorf("error %v, %v, and stopped", err, r.Status)
	}
	for _, budget := range []time.Duration{1, 100 * time.Microsecond, time.Millisecond, time.Hour} {
		r := solve(budget)
		switch {
		case r.Stopped && (r.Status == robust.Optimal || r.Status == robust.Infeasible):
			t.Errorf("%v: stopped, and %v", budget, r.Status)
		case budget == 1 && !r.Stopped:
			t.Errorf("%v: not stopped", budget)
		case budget == time.Hour && (r.Stopped || r.Objective != free.Objective || r.Bound != free.Bound):
			t.Errorf("%v: stopped %v, %g to %g: want %g to %g", budget, r.Stopped, r.Bound, r.Objective, free.Bound,
				free.Objective)
		case r.Returns != nil && r.Bound > r.Objective+1e-9:
			t.Errorf("%v: an objective of %g and a bound of %g", budget, r.Objective, r.Bound)
		}
	}
}

// TestBudgetInLooks ends searches after any number of looks at the clock: what is said of the plan is proved, and no
// verdict is another one than with more time.
func TestBudgetInLooks(t *testing.T) {
	planned, empty := 0, 0
	for trial := range uint64(24) {
		rng := rand.New(rand.NewPCG(trial, 79))
		var c *randomCase
		lower, upper := []float64{-1e6, -1e6}, []float64{1e6, 1e6}
		horizon := 1
		if x := trial % 4; x < 3 {
			of := criteria[int(x)%len(criteria)]
			c = endlessCase(t, rng, of.discount, of.average, false)
		} else {
			c = newCase(t, rng, finiteShapes[int(trial)%len(finiteShapes)], false)
			c.model.Shape().ReturnToGo(lower, upper, 0)
			horizon = c.model.Horizon()
		}
		b, err := c.set.Evaluate(t.Context(), randomPolicy(t, rng, c.model, horizon))
		if err != nil {
			t.Fatal(err)
		}
		c.wanted(t, b.Greatest[1]+0.1*rng.NormFloat64(), lower, upper)
		want, err := robust.Solve(t.Context(), c.set, c.task, robust.SolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for looks := int64(1); looks < 20_000; looks += 1 + looks/4 {
			r, err := robust.SolveInLooks(t.Context(), c.set, c.task, looks)
			if err == nil {
				err = robust.Verify(t.Context(), c.set, c.task, r)
			}
			if err != nil {
				t.Errorf("case %d, %d looks: %v", trial, looks, err)
				continue
			}
			switch {
			case !r.Stopped && r.Status != want.Status, r.Returns != nil && r.Bound > r.Objective+1e-9,
				r.Stopped && (r.Status == robust.Optimal || r.Status == robust.Infeasible):
				t.Errorf("case %d, %d looks: %v, %g to %g, stopped %v: want %v", trial, looks, r.Status, r.Bound,
					r.Objective, r.Stopped, want.Status)
			case r.Stopped && r.Status == robust.Feasible:
				planned++
			case r.Stopped:
				empty++
			}
		}
	}
	if planned < 50 || empty < 50 {
		t.Errorf("%d searches were stopped with a plan, and %d without: want more", planned, empty)
	}
}
