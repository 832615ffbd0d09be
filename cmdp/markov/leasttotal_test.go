package markov

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync"
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
				z.Weight[i] = float64(min(1, rng.IntN(4)))                 // of 0 there is no more to be returned
				z.Reward[i] = float64(rng.IntN(3)-1) * 1e-14 * z.Weight[i] // which is what rounding leaves of 1
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
			if c := l.Choices[0]; len(l.Choices) == 1 && z.Weight[index[c]] == 0 {
				t.Fatalf("choice %d is a loop: it returns nothing", c)
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
				if leaves || z.Reward[i] > 1e-13 || z.Weight[i] == 0 {
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

// policyOf returns the matrix of the policy of a program between the states that are looked at, and its rewards.
func policyOf(z *LeastTotal, looked []bool) (p *mat.Dense, reward []float64) {
	n := int(z.Quotient.Rest)
	p, reward = mat.NewDense(n, n, nil), make([]float64, n)
	for s, i := range z.Policy {
		if i < 0 || !looked[s] {
			continue
		}
		reward[s] = z.Reward[i]
		next, prob := z.Quotient.Row(i)
		for j, to := range next {
			if looked[to] {
				p.Set(s, int(to), p.At(s, int(to))+prob[j])
			}
		}
	}
	return p, reward
}

// rests reports of each state of a program whether its policy, or any if open, may come to rest or to a state that is
// not looked at.
func rests(z *LeastTotal, looked []bool, open bool) []bool {
	out := make([]bool, z.Quotient.Rest)
	for range out {
		for s := range out {
			for i := z.Quotient.First[s]; i < z.Quotient.First[s+1]; i++ {
				if !open && z.Policy[s] != i {
					continue
				}
				next, prob := z.Quotient.Row(i)
				out[s] = out[s] || len(next) == 0
				for j, to := range next {
					out[s] = out[s] || prob[j] > 0 && (!looked[to] || out[to])
				}
			}
		}
	}
	return out
}

// looksAt returns the states that a program looks at, of its Rest too.
func looksAt(z *LeastTotal) []bool {
	looked := make([]bool, z.Quotient.Rest+1)
	for i := range z.Quotient.Component[1:] {
		for s := z.Quotient.Component[i]; s < z.end(i); s++ {
			looked[s] = true
		}
	}
	return looked
}

// checkProof solves a program and checks its answer by what proves it, however many policies there are: values are at
// most their backups, and the policy comes to rest and returns what they say, but for what choices are made cheaper by.
// Where totals have no bound, the policy gains in the states returned, which it does not leave, or no policy leaves
// them.
func checkProof(t *testing.T, z *LeastTotal) (finite bool) {
	t.Helper()
	endless, err := z.Solve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return checkSolved(t, z, endless)
}

// checkSolved is checkProof of what a program has found.
func checkSolved(t *testing.T, z *LeastTotal, endless []int32) (finite bool) {
	t.Helper()
	widest := int32(0)
	for i, hi := range z.Quotient.Component[1:] {
		widest = max(widest, hi-z.Quotient.Component[i])
	}
	if z.Iterates() != (int(widest) > threshold.Eliminated) {
		t.Fatalf("the largest component has %d states: it may be iterated: %t", widest, z.Iterates())
	}
	looked := looksAt(z)
	if endless != nil {
		checkEndless(t, z, endless, looked)
		return false
	}
	for s := range z.Quotient.Rest {
		if !looked[s] && z.Values[s] != 0 {
			t.Fatalf("state %d, which is not looked at, has the value %g", s, z.Values[s])
		}
	}
	if z.gamma == 1 && slices.Contains(rests(z, looked, false), false) {
		t.Fatalf("the policy %v does not come to rest", z.Policy)
	}
	for i := range z.cancelling { // what is not made cheaper is told
		c := z.Quotient.Choice[i]
		if !slices.ContainsFunc(z.Loops, func(l Loop) bool { return slices.Contains(l.Choices, c) }) {
			t.Fatalf("choice %d cancels out in a loop, but not in %v", c, z.Loops)
		}
	}
	for i, hi := range z.Quotient.Component[1:] { // policy iteration leaves choices that gain no more than that
		lo := z.Quotient.Component[i]
		least := z.backupTolerance(lo, hi)
		if n := int(hi - lo); z.gamma < 1 && n > 1 && n <= threshold.Eliminated && z.Shortfall < least {
			t.Fatalf("backups fall short by %g: want %g at least", z.Shortfall, least)
		}
	}
	p, reward := policyOf(z, looked)
	a := minus(p, z.gamma, nil)
	if mat.Cond(a, 1) > 1e9 {
		return true
	}
	weight := make([]float64, len(reward))
	for s, i := range z.Policy {
		weight[s] = z.Weight[i]
	}
	sizes := append(denseSolve(t, a, weight), 0) // of what values are the sums of, and of Rest
	checkBackups(t, z, looked, sizes)
	if z.near != nil { // it may go where it does not look, or to rest instead
		return true
	}
	size := 1 + floats.Norm(sizes, math.Inf(1))
	for s := range reward { // by as much choices are made cheaper
		reward[s] -= 5*z.Allowance() + 4*z.roundingShare()*size
	}
	most := 1e-9 * size
	if z.gamma < 1 { // the errors of components add up
		most = (float64(1+len(z.Quotient.Component))*z.Tolerance + 1e-12/(1-z.gamma)) * size
	}
	for s, x := range denseSolve(t, a, reward) {
		if looked[s] && z.Values[s] < x-most {
			t.Fatalf("γ = %g, error %g: the value of state %d is %.15g: want what the policy returns, %.15g", z.gamma,
				z.Tolerance, s, z.Values[s], x)
		}
	}
	return true
}

// checkBackups wants no value to be above a backup, but for the rounding of sums of such sizes.
func checkBackups(t *testing.T, z *LeastTotal, looked []bool, sizes []float64) {
	t.Helper()
	v, rounding, least := z.Values, 1e-14, 0.0
	if z.Cancels() { // what is in a loop is not made cheaper
		rounding = 1e-12
	}
	if len(z.iterative) > 0 || z.gamma < 1 { // and what is iterated has a residual of the largest values
		least = 1e-12 * floats.Norm(sizes, math.Inf(1))
	}
	for s := range z.Quotient.Rest {
		for i := z.Quotient.First[s]; i < z.Quotient.First[s+1] && looked[s]; i++ {
			backup, size := z.Reward[i]-(1-z.gamma)*v[s], z.Weight[i]+math.Abs(v[s])+sizes[s]
			next, prob := z.Quotient.Row(i)
			if len(next) == 0 {
				backup = z.Reward[i] - v[s]
			}
			for j, to := range next {
				backup += z.gamma * prob[j] * (v[to] - v[s])
				size = max(size, math.Abs(v[to])+sizes[to])
			}
			if backup < -max(rounding*size, least)-z.Shortfall {
				t.Fatalf("γ = %g, error %g: the value %.15g of state %d is above the backup of choice %d by %g", z.gamma,
					z.Tolerance, v[s], s, i, -backup)
			}
		}
	}
}

// checkEndless is checkProof where totals have no bound.
func checkEndless(t *testing.T, z *LeastTotal, endless []int32, looked []bool) {
	t.Helper()
	if open := rests(z, looked, true); !slices.ContainsFunc(endless, func(s int32) bool {
		return z.Policy[s] >= 0 || open[s]
	}) {
		return
	}
	p, reward := policyOf(z, looked)
	class, sum, size := make([]int, len(endless)), 0.0, 0.0
	for j, s := range endless {
		class[j] = int(s)
	}
	for i, share := range denseShares(t, p, class) {
		stays := 0.0
		for _, to := range class {
			stays += p.At(class[i], to)
		}
		if math.Abs(stays-1) > 1e-12 {
			t.Fatalf("the policy leaves the states %v", endless)
		}
		sum += share * reward[class[i]]
		size += share * z.Weight[z.Policy[class[i]]]
	}
	least := -0x1p-50 * size
	rare := slices.ContainsFunc(z.Quotient.Kernel.Prob, func(x float64) bool { return x > 0 && x < 1e-3 })
	if rare || len(z.iterative) > 0 {
		least = -least // a loop that is hardly ever left magnifies what is rounding, and iteration leaves more of it
	}
	if !(sum < least) {
		t.Fatalf("going on in %v returns %g a step, a sum of %g: want a gain", endless, sum, size)
	}
}

// drawPairs draws a walk in which the states of each pair lead to one another, surely, or to a pair nearby or to rest:
// policies may go round in several places.
func drawPairs(rng *rand.Rand, pairs int) *cmdp.Kernel {
	k := cmdp.NewKernel()
	last, near := int32(2*pairs), rng.IntN(2) == 0
	for s := range last {
		k.Append([]int32{s ^ 1}, []float64{1}, []float64{1})
		for range 1 + rng.IntN(2) {
			ahead, back := min(last, s+1+rng.Int32N(3)), max(0, s-rng.Int32N(4))
			if near { // to rest, as often as not
				ahead, back = last, (s+2)%last
			}
			k.Append([]int32{ahead, back}, []float64{0.75, 0.25}, []float64{1})
		}
		k.EndState()
	}
	k.EndState()
	return &k
}

// drawRewards draws rewards of all sizes, most of them prices, which are sums of numbers that cancel now and then. Or
// what is sure costs and returns as much as often, and what is not costs more.
func drawRewards(rng *rand.Rand, z *LeastTotal) {
	prizes, even := []int{1, 1, 1, 20, 3}[rng.IntN(5)], rng.IntN(3) == 0
	for i, c := range z.Quotient.Choice {
		r := float64(rng.IntN(9)+1) / 2
		if rng.IntN(3) == 0 {
			r *= math.Pow(10, -5*rng.Float64())
		}
		next, _ := z.Quotient.Row(int32(i))
		if even {
			r = []float64{5, 1, 1, 1, 1.5}[rng.IntN(5)]
			if len(next) > 1 {
				r = 5
			}
		}
		z.Weight[i] = r
		switch {
		case c == Stay:
			r, z.Weight[i] = 0, 0
		case prizes > 1 && r < 5 && rng.IntN(prizes) == 0:
			r = -r
		case prizes > 1 && !even && rng.IntN(4) == 0:
			r *= float64(rng.IntN(3)-1) * 0x1p-54
		}
		z.Reward[i] = r
	}
	z.LowerBound = math.Inf(-1)
	if floats.Min(append(z.Reward, 0)) >= 0 {
		z.LowerBound = 0
	}
	tolerances := []float64{0, 1e-8, 1e-3, 0.1}
	if z.gamma < 1 {
		tolerances = tolerances[:3]
	}
	z.Reset(tolerances[rng.IntN(len(tolerances))])
}

// checkBegin wants a policy that comes to rest where policy iteration is to begin with it, and no other elsewhere: any
// with a discount, or else that of a fresh program.
func checkBegin(t *testing.T, rng *rand.Rand, z *LeastTotal) {
	t.Helper()
	q := z.Quotient
	begin := NewLeastTotal(q, z.gamma, 1, new(Chain)).Policy
	if slices.Contains(begin, -1) {
		return
	}
	for n := range begin {
		if first, end := q.First[n], q.First[n+1]; z.gamma < 1 {
			begin[n] = first + rng.Int32N(end-first)
		}
	}
	before, policy := slices.Clone(z.Policy), NewActions(len(q.Number), 256)
	q.Lift(begin, func(s, c int32) { policy.Set(int(s), int(c-q.Kernel.First[s])) })
	z.Begin(&policy)
	for i, hi := range q.Component[1:] {
		lo, want := q.Component[i], before
		if n := int(hi - lo); q.Origin != nil && n > 1 && n <= threshold.Swept {
			want = begin
		}
		if !slices.Equal(z.Policy[lo:hi], want[lo:hi]) {
			t.Fatalf("begins with %v in the component of %d: want %v", z.Policy[lo:hi], lo, want[lo:hi])
		}
	}
}

// held returns a copy of what a program is asked and has found.
func held(z *LeastTotal) *LeastTotal {
	return &LeastTotal{Reward: slices.Clone(z.Reward), Weight: slices.Clone(z.Weight), Values: slices.Clone(z.Values),
		Policy: slices.Clone(z.Policy), Loops: slices.Clone(z.Loops), Tolerance: z.Tolerance, LowerBound: z.LowerBound,
		Shortfall: z.Shortfall, looked: slices.Clone(z.looked), cancelling: maps.Clone(z.cancelling)}
}

// TestProvedTotals asks programs of two models for several rewards each, in turn, in the memory of one chain. Each
// takes over what another one has left, and a twin goes on where its program does.
func TestProvedTotals(t *testing.T) {
	for _, large := range []bool{false, true} {
		if large {
			t.Cleanup(threshold.Lower())
		}
		rng, chain := rand.New(rand.NewPCG(27, map[bool]uint64{true: 42, false: 44}[large])), new(Chain)
		finite, unbounded := 0, 0
		for trial := range 500 {
			var programs []*LeastTotal
			states := 1 + rng.IntN(24)
			for len(programs) < 2 {
				gamma := []float64{1, 1, 1, 0.9, 0.999}[rng.IntN(5)]
				k := drawModel(rng, states)
				if rng.IntN(4) == 0 {
					k = drawPairs(rng, 1+rng.IntN(25))
				}
				z := leastTotalOf(k.Plain(1), gamma, 1, 1+trial%2)
				z.chain = chain
				if states++; z.Quotient.Rest > 0 {
					programs = append(programs, z)
				}
			}
			if rng.IntN(2) == 0 {
				programs = append(programs, programs[0].Twin(new(Chain)))
			}
			for range 6 {
				z := programs[rng.IntN(len(programs))]
				others := make([]*LeastTotal, len(programs))
				for j, other := range programs {
					others[j] = held(other)
				}
				drawRewards(rng, z)
				switch rng.IntN(8) { // how exact, and from where, is no matter
				case 0:
					if before := z.allowanceShare; before > 0 {
						if z.Sharpen(); z.allowanceShare >= before {
							t.Fatalf("the allowance of %g is sharpened to %g", before, z.allowanceShare)
						}
					}
				case 1:
					if before := z.allowanceShare; before < 256 {
						if z.Relax(); z.allowanceShare <= before {
							t.Fatalf("the allowance of %g is relaxed to %g", before, z.allowanceShare)
						}
					}
				case 2:
					z.SetWorkers(2)
				case 3:
					checkBegin(t, rng, z)
				}
				if checkProof(t, z) {
					finite++
					for i, hi := range z.Quotient.Component[1:] { // once more
						if lo := z.Quotient.Component[i]; hi == lo+1 {
							z.solveState(lo)
						} else if endless, err := z.SolveComponent(t.Context(), i); err != nil || endless != nil {
							t.Fatalf("component %d: endless %v, error %v: want totals as before", i, endless, err)
						}
					}
					checkSolved(t, z, nil)
				} else {
					unbounded++
				}
				for j, other := range programs { // what each is asked and has found is its own
					if got := held(other); other != z && !reflect.DeepEqual(got, others[j]) {
						t.Fatalf("another program has changed %+v to %+v", others[j], got)
					}
				}
			}
		}
		if finite < 200 || unbounded < 50 {
			t.Errorf("%d finite totals and %d without a bound: want many of both", finite, unbounded)
		}
	}
}

// without is the program of a model without the choices of some states, which are at rest then.
func without(z *LeastTotal, rest func(s int32) bool) *LeastTotal {
	k, in := z.Quotient.Kernel, z.Quotient.Number
	out, reward := &cmdp.Kernel{First: []int32{0}, Offset: []int{0}}, make(map[int32]float64)
	for i, c := range z.Quotient.Choice {
		reward[c] = z.Reward[i]
	}
	for s := range int32(len(in)) {
		for c := k.First[s]; c < k.First[s+1] && !rest(s); c++ {
			next, prob := k.Row(int(c))
			out.Next, out.Prob = append(out.Next, next...), append(out.Prob, prob...)
			out.Offset, out.Returns = append(out.Offset, len(out.Next)), append(out.Returns, reward[c])
		}
		out.First = append(out.First, int32(len(out.Offset)-1))
	}
	return leastTotalOf(out, 1, 1, 1)
}

// TestLookNear: programs that look at the first states of some components alone find what is left where the others are
// at rest, name the states that they look at, and have a policy that comes to rest in all of them.
func TestLookNear(t *testing.T) {
	t.Cleanup(threshold.Lower())
	rng, parts := rand.New(rand.NewPCG(27, 44)), 0
	for range 300 {
		k := drawModel(rng, 2+rng.IntN(14))
		for c := range k.Returns { // nothing is merged
			k.Returns[c] = 1
		}
		z := leastTotalOf(k, 1, 1, 1)
		whole := looksAt(z)
		if z.Quotient.Rest == 0 || slices.Contains(rests(z, whole, false), false) {
			continue
		}
		for range 4 {
			drawRewards(rng, z)
			for i, r := range z.Reward {
				z.Reward[i] = max(math.Abs(r), 1e-6) // so that going round costs
			}
			z.LowerBound = 0
			few, want := drawFew(rng, z, whole)
			parts += len(few)
			twin, before := z.Twin(new(Chain)), looksAt(z)
			z.LookNear(few)
			checkLooked(t, z, want)
			checkLooked(t, twin, before)
			if !checkProof(t, z) {
				t.Fatal("no choice has a prize: want totals")
			}
			if z.Tolerance == 0 {
				other := without(z, func(s int32) bool { return !want[z.Quotient.Number[s]] })
				checkProof(t, other)
				for s, n := range z.Quotient.Number {
					if x := other.Values[other.Quotient.Number[s]]; !near(z.Values[n], x, 1e-6) {
						t.Fatalf("value %g of state %d: want %g", z.Values[n], s, x)
					}
				}
			}
			if slices.Contains(rests(z, whole, false), false) {
				t.Fatalf("the policy %v does not come to rest", z.Policy)
			}
			shorter := make(map[int32]int32)
			for lo, n := range few {
				shorter[lo] = rng.Int32N(n + 1)
			}
			z.RestBeyond(shorter)
			if slices.Contains(rests(z, whole, false), false) {
				t.Fatalf("beyond the first %v the policy %v does not come to rest", shorter, z.Policy)
			}
			if z.LookNear(few); few != nil && !allZero(z.Values) {
				t.Fatalf("values %v: want them to be forgotten where the same states are looked at", z.Values)
			}
		}
	}
	if parts < 100 {
		t.Errorf("%d components are looked at in part: want many", parts)
	}
}

// checkLooked wants the states that are looked at to be named in order.
func checkLooked(t *testing.T, z *LeastTotal, want []bool) {
	t.Helper()
	got, end := make([]bool, len(want)), int32(0)
	for _, at := range z.Looked() {
		if at[0] < end || at[1] < at[0] {
			t.Fatalf("states %v: want them in order", z.Looked())
		}
		for end = at[0]; end < at[1]; end++ {
			got[end] = true
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("looks at %v of the components that begin at %v: want %t", z.Looked(), z.Quotient.Component, want)
	}
}

// drawFew draws of how many states of some components a program is to look at, and returns which these are.
func drawFew(rng *rand.Rand, z *LeastTotal, whole []bool) (few map[int32]int32, looked []bool) {
	looked = slices.Clone(whole)
	for i, hi := range z.Quotient.Component[1:] {
		if lo := z.Quotient.Component[i]; rng.IntN(3) > 0 && hi > lo+1 {
			if few == nil {
				few = make(map[int32]int32)
			}
			few[lo] = 1 + rng.Int32N(hi-lo-1)
			clear(looked[lo+few[lo] : hi])
		}
	}
	return few, looked
}

// TestMemoryIsNoMatter gives programs of one model the same rewards in turn: one that works alone, one whose states are
// shared by workers, one whose memory another program has used in between, and a twin, all at the same time. What they
// find is the same, bit by bit, raised values, and those of a part of the states, included.
func TestMemoryIsNoMatter(t *testing.T) {
	t.Cleanup(threshold.Lower())
	threshold.Level, threshold.Sorted = 6, 1000 // levels are sorted
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	rng := rand.New(rand.NewPCG(27, 14))
	raised, parts, levels := 0, 0, 0
	for trial := range 160 {
		k := drawModel(rng, 2+rng.IntN(30))
		switch trial % 4 {
		case 0:
			k = drawPairs(rng, 1+rng.IntN(25)).Plain(1)
		case 1:
			k = walk(2 + rng.IntN(60))
		case 2:
			for trial%8 == 2 && (len(k.First) < 50 || len(k.First) > 500) {
				k = drawLayers(rng, 1, trial%16 == 2).Plain(1)
			}
		}
		for c := range k.Returns { // nothing is merged
			k.Returns[c] = 1
		}
		gamma := []float64{1, 1, 0.9}[rng.IntN(3)]
		alone := leastTotalOf(k, gamma, 1, 1)
		all := []*LeastTotal{alone, leastTotalOf(k, gamma, 1, 3), leastTotalOf(k, gamma, 1, 1)}
		other := leastTotalOf(drawPairs(rng, 3).Plain(1), 1, 1, 1)
		other.chain = all[2].chain
		whole := looksAt(alone)
		proper := alone.Quotient.Rest > 0 && !slices.Contains(rests(alone, whole, false), false)
		for n := range 6 {
			if n == 3 {
				all = append(all, alone.Twin(new(Chain)))
			}
			seed, sweeps, within, few := rng.Uint64(), 0, map[int32]int32(nil), map[int32]int32(nil)
			priced := gamma == 1 && proper && rng.IntN(3) > 0
			if priced {
				within, _ = drawFew(rng, alone, whole)
				if sweeps = rng.IntN(4); rng.IntN(2) == 0 {
					few, _ = drawFew(rng, alone, whole)
				}
				if within == nil {
					within = few
				}
			}
			endless := make([][]int32, len(all))
			var at sync.WaitGroup
			for j, z := range all {
				rng := rand.New(rand.NewPCG(seed, 0))
				drawRewards(rng, z)
				if priced {
					z.LowerBound = 0
					for i, r := range z.Reward {
						z.Reward[i] = max(math.Abs(r), 1e-6)
					}
				}
				z.LookNear(few)
				z.Sweeps, z.Within = sweeps, within
				at.Go(func() {
					var err error
					if endless[j], err = z.Solve(t.Context()); err != nil {
						t.Error(err)
					}
					if z.Sweeps > 0 && n%2 == 0 {
						z.Mend()
					}
					if j == 2 {
						drawRewards(rng, other)
						other.Sweeps = rng.IntN(3)
						if _, err := other.Solve(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			at.Wait()
			if all[1].order != nil {
				levels++
			}
			raised += min(1, sweeps)
			parts += len(few)
			for j, z := range all[1:] {
				same := slices.Equal(z.Values, alone.Values) && slices.Equal(z.Policy, alone.Policy) &&
					z.Fell == alone.Fell && len(z.Loops) == len(alone.Loops)
				if !slices.Equal(endless[0], endless[j+1]) || endless[0] == nil && !same {
					t.Fatalf("trial %d, rewards %d: program %d finds %v by %v, fell %v: want %v by %v, fell %v", trial, n,
						j+1, z.Values, z.Policy, z.Fell, alone.Values, alone.Policy, alone.Fell)
				}
			}
		}
	}
	if raised < 150 || parts < 80 || levels < 10 {
		t.Errorf("values are raised %d times, parts are looked at %d times, and levels are sorted %d times: want more",
			raised, parts, levels)
	}
}
