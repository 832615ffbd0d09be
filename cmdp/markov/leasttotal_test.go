package markov

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// leastTotalOf returns the dynamic program of a kernel whose end components without rewards are merged, if
// there is no discount: a policy may stay there. Rewards are the first of dim returns.
func leastTotalOf(k *cmdp.Kernel, gamma float64, dim, workers int) *LeastTotal {
	g := &Graph{Kernel: k}
	components := partsOf(g)
	var q *Quotient
	if gamma < 1 {
		q = g.Number(components, nil)
		q.Fill(g, q.Origin, nil)
	} else {
		free := make([]bool, len(k.Offset)-1)
		for c := range free {
			free[c] = k.Returns[c*dim] == 0
		}
		q = g.Quotient(components, endsOf(g.Only(free)), func(int32) bool { return true })
	}
	z := NewLeastTotal(q, gamma, workers, new(Chain))
	for i, c := range q.Choice {
		if c != Stay {
			z.Reward[i] = k.Returns[int(c)*dim]
			z.Weight[i] = math.Abs(z.Reward[i])
		}
	}
	return z
}

// ruleOf returns the policy of the kernel that a solved dynamic program has found.
func ruleOf(z *LeastTotal, k *cmdp.Kernel) *Rule {
	st := &Rule{Actions: NewActions(len(k.First)-1, 256)}
	z.Quotient.Lift(z.Policy, func(s, c int32) { st.Actions.Set(int(s), int(c-k.First[s])) })
	return st
}

// askAgain solves a program for the opposite rewards first, then makes its rewards sums of numbers that cancel.
func askAgain(t *testing.T, z *LeastTotal) {
	t.Helper()
	rewards := z.Reward
	z.Reward = make([]float64, len(rewards))
	for i, r := range rewards {
		z.Reward[i] = -r
	}
	if _, err := z.Solve(t.Context()); err != nil {
		t.Fatal(err)
	}
	z.Reset(0)
	if z.Cancels() || z.Loops != nil {
		t.Fatal("loops of the rewards before are kept")
	}
	z.Reward = rewards
	more := func(i int32) float64 {
		if z.Quotient.Choice[i] == Stay {
			return 0
		}
		return float64(i % 7)
	}
	for i := range rewards {
		x := more(int32(i))
		rewards[i] = (rewards[i] + 0.1*x*3) - 0.3*x
		z.Weight[i] = math.Abs(rewards[i]) + 0.6*x
	}
}

// denseTotal returns the expected total of a rule from each state: NaN where rewards of both signs go on for
// ever in some recurrent class that is reached, −Inf or +Inf where they go on with a mean that is not 0.
func denseTotal(t *testing.T, k *cmdp.Kernel, st *Rule) []float64 {
	t.Helper()
	p, reward := transition(k, st)
	rec, r := recurrent(k, p), closure(p)
	gain := denseGain(t, k, st)
	a := minus(p, 1, rec)
	if mat.Cond(a, 1) > 1e9 {
		return nil
	}
	b := slices.Clone(reward)
	for s := range b {
		if rec[s] {
			b[s] = 0
		}
	}
	out := denseSolve(t, a, b)
	for s := range out {
		for to := range out {
			if !r[s][to] || !rec[to] {
				continue
			}
			switch {
			case gain[to] < -1e-9:
				out[s] = math.Inf(-1)
			case gain[to] > 1e-9 && !math.IsInf(out[s], -1):
				out[s] = math.Inf(1)
			case reward[to] != 0 && !math.IsInf(out[s], 0):
				out[s] = math.NaN()
			}
		}
	}
	return out
}

// checkDiscounted compares with all deterministic policies, whose values are found by dense systems.
func checkDiscounted(t *testing.T, k *cmdp.Kernel, gamma float64, workers int) {
	t.Helper()
	n := len(k.First) - 1
	want := slices.Repeat([]float64{math.Inf(1)}, n)
	deterministic(k, func(st *Rule) {
		p, reward := transition(k, st)
		for s, x := range denseSolve(t, minus(p, gamma, nil), reward) {
			want[s] = min(want[s], x)
		}
	})
	z := leastTotalOf(k, gamma, 1, workers)
	askAgain(t, z)
	if endless, err := z.Solve(t.Context()); err != nil || endless != nil {
		t.Fatalf("γ = %g: endless %v, error %v", gamma, endless, err)
	}
	p, reward := transition(k, ruleOf(z, k))
	of, size := denseSolve(t, minus(p, gamma, nil), reward), 0.1+floats.Norm(want, math.Inf(1))
	for s, i := range z.Quotient.Number {
		if x := z.Values[i]; math.Abs(x-want[s]) > 1e-11*size || math.Abs(of[s]-want[s]) > 1e-11*size {
			t.Fatalf("γ = %g: state %d: value %.15g, of the policy %.15g: want %.15g", gamma, s, x, of[s], want[s])
		}
	}
}

// checkTotal compares with all deterministic policies for which the total exists. Where one gains in every
// step, the states in which the policy found does so have to be returned.
func checkTotal(t *testing.T, k *cmdp.Kernel, workers int) (finite, unbounded bool) {
	t.Helper()
	n := len(k.First) - 1
	want := slices.Repeat([]float64{math.Inf(1)}, n)
	known := true
	deterministic(k, func(st *Rule) {
		total := denseTotal(t, k, st)
		known = known && total != nil
		for s, x := range total {
			if !math.IsNaN(x) {
				want[s] = min(want[s], x)
			}
		}
	})
	if !known || slices.Contains(want, math.Inf(1)) { // no policy comes to rest from somewhere
		return false, false
	}
	z := leastTotalOf(k, 1, 1, workers)
	askAgain(t, z)
	if slices.Min(want) >= 0 {
		z.LowerBound = 0
	}
	endless, err := z.Solve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if unbounded = slices.Contains(want, math.Inf(-1)); unbounded != (endless != nil) {
		t.Fatalf("the process goes on for ever in %v: want totals %v", endless, want)
	}
	if unbounded {
		return false, true
	}
	for s, i := range z.Quotient.Number {
		if x := z.Values[i]; !near(x, want[s], 1e-6) || x < z.LowerBound {
			t.Fatalf("state %d: value %.15g: want %.15g", s, x, want[s])
		}
		for c := k.First[s]; c < k.First[s+1]; c++ {
			gain, size := k.Returns[c], math.Abs(k.Returns[c])+4
			for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
				x := k.Prob[e] * (z.Values[z.Quotient.Number[k.Next[e]]] - z.Values[i])
				gain += x
				size += math.Abs(x)
			}
			if gain < -1e-15*size && !z.Cancels() {
				t.Fatalf("state %d: the value is above the backup of choice %d by %g", s, c, -gain)
			}
		}
	}
	return true, false
}

// TestLeastTotal compares with all deterministic policies of small models.
func TestLeastTotal(t *testing.T) {
	for _, large := range []bool{false, true} { // by the methods for large models too
		if large {
			t.Cleanup(threshold.Lower())
		}
		rng := rand.New(rand.NewPCG(22, 5))
		finite, unbounded := 0, 0
		for trial := range 500 {
			k := drawModel(rng, 1+rng.IntN(5))
			checkDiscounted(t, k, []float64{0.3, 0.9, 0.999}[trial%3], 1+trial%2)
			if trial%2 > 0 { // so that totals are more often finite
				for c, r := range k.Returns {
					k.Returns[c] = math.Abs(r)
				}
			}
			f, u := checkTotal(t, k, 1+trial%2)
			if f {
				finite++
			}
			if u {
				unbounded++
			}
		}
		if finite < 100 || unbounded < 50 {
			t.Errorf("%d finite totals and %d without a bound: want many of both", finite, unbounded)
		}
	}
}

// TestImproper: where choices are left out, states that cannot leave their component are named, and no others.
func TestImproper(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 5))
	some := 0
	for range 2000 {
		k := drawModel(rng, 2+rng.IntN(5))
		g := &Graph{Kernel: k, Allowed: make([]bool, k.Choices())}
		for c := range g.Allowed {
			g.Allowed[c] = rng.IntN(3) > 0
		}
		q := g.Number(partsOf(&Graph{Kernel: k}), nil)
		q.Fill(g, q.Origin, nil)
		z := NewLeastTotal(q, 1, 1, new(Chain))
		floats.AddConst(1, z.Reward)
		endless, err := z.Solve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var want []int32
		r := g.reach(all)
		for i := 0; i < len(q.Component)-1 && want == nil; i++ {
			for n := q.Component[i]; n < q.Component[i+1]; n++ {
				leaves := false
				for to, leads := range r[q.Origin[n]] {
					in := q.Number[to] >= q.Component[i] && q.Number[to] < q.Component[i+1]
					leaves = leaves || leads && !in
				}
				if !leaves {
					want = append(want, n)
				}
			}
		}
		if !slices.Equal(endless, want) {
			t.Fatalf("states %v cannot rest: want %v", endless, want)
		}
		some += min(1, max(0, len(want)-1))
	}
	if some < 30 {
		t.Errorf("several states cannot rest in %d models: the test says little", some)
	}
}

// TestLoops wants loops to be what they are said to be: a state is left as often as it is come to, and going round does
// not pay. Every choice that stays in a state to which no way leads back is one.
func TestLoops(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 5))
	alone, several := 0, 0
	for range 2000 {
		z := leastTotalOf(drawModel(rng, 1+rng.IntN(5)), 1, 1, 1)
		q, index := z.Quotient, make(map[int32]int32)
		for i, c := range q.Choice {
			index[c] = int32(i)
			if z.Reward[i] = math.Abs(z.Reward[i]); c != Stay && rng.IntN(2) == 0 {
				z.Reward[i], z.Weight[i] = 0, 1
			}
		}
		endless, err := z.Solve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if endless != nil {
			continue
		}
		found := make(map[int32]bool)
		for n, l := range z.Loops {
			if slices.ContainsFunc(z.Loops[:n], func(o Loop) bool { return slices.Equal(o.Choices, l.Choices) }) {
				t.Fatalf("loops %+v: want each once", z.Loops)
			}
			gain, flow := 0.0, make([]float64, q.Rest+1)
			for j, c := range l.Choices {
				gain += l.Share[j] * z.Reward[index[c]]
				flow[q.Number[q.Owner(c)]] -= l.Share[j]
				next, prob := q.Row(index[c])
				for e, to := range next {
					flow[to] += l.Share[j] * prob[e]
				}
				found[c] = found[c] || len(l.Choices) == 1
			}
			if math.Abs(floats.Sum(l.Share)-1) > 1e-9 || floats.Norm(flow, 1) > 1e-6 || gain < -1e-6 {
				t.Fatalf("loop %+v returns %g, with the flow %v: want shares of one that does not pay", l, gain, flow)
			}
			if len(l.Choices) > 1 {
				several++
			}
		}
		for j, end := range q.Component[1:] {
			n := q.Component[j]
			for i := q.First[n]; end == n+1 && i < q.First[n+1]; i++ {
				next, prob := q.Row(i)
				leaves := len(next) == 0
				for e, to := range next {
					leaves = leaves || prob[e] > 0 && to != n
				}
				if leaves || z.Reward[i] > 0 {
					continue
				}
				if alone++; !found[q.Choice[i]] {
					t.Fatalf("loops %+v: want choice %d, which stays for nothing", z.Loops, q.Choice[i])
				}
			}
		}
	}
	if alone < 30 || several < 30 {
		t.Errorf("%d choices that stay and %d longer loops: the test says little", alone, several)
	}
}
