package markov

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"cmdpsolve/cmdp"
	"cmdpsolve/internal/threshold"
)

// drawMixing draws a kernel whose states lead anywhere in their half; from the first half, three steps in ten lead
// to the second. So it has two components, of which the second is closed.
func drawMixing(half int) *cmdp.Kernel {
	rng := rand.New(rand.NewPCG(15, 11))
	k := &cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for s := range 2 * half {
		for range 3 {
			k.Next, k.Prob = append(k.Next, int32(half+rng.IntN(half))), append(k.Prob, 0.3)
			for _, p := range []float64{0.1, 0.1, 0.2, 0.3} {
				k.Next, k.Prob = append(k.Next, int32(s/half*half+rng.IntN(half))), append(k.Prob, p)
			}
			k.Offset, k.Returns = append(k.Offset, len(k.Next)), append(k.Returns, rng.Float64()-0.5*rng.NormFloat64())
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	return k
}

// TestModifiedPolicyIteration wants values found by sweeps to be at most their backups, and near the returns of
// the policy, which a dense system gives; and the visits of the policy to solve the transposed system. Sweeps
// are not to be given up where all mixes.
func TestModifiedPolicyIteration(t *testing.T) {
	const half = 250
	k := drawMixing(half)
	for _, gamma := range []float64{0.9, 0.9999} {
		for _, tolerance := range []float64{0, 1e-8} {
			z := leastTotalOf(k, gamma, 1, 1)
			z.Reset(tolerance)
			if endless, err := z.Solve(t.Context()); err != nil || endless != nil {
				t.Fatal(endless, err)
			}
			v, size := make([]float64, 2*half), 0.0
			for s, n := range z.Quotient.Number {
				v[s] = z.Values[n]
				size = math.Max(size, math.Abs(v[s]))
			}
			for s := range v {
				for c := k.First[s]; c < k.First[s+1]; c++ {
					x := k.Returns[c] - v[s]
					for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
						x += gamma * k.Prob[e] * v[k.Next[e]]
					}
					if x < -1e-14*size {
						t.Errorf("γ = %g, error %g: state %d: the value %g is above a backup by %g", gamma, tolerance,
							s, v[s], -x)
					}
				}
			}
			st := ruleOf(z, k)
			p, reward := transition(k, st)
			a, start := minus(p, gamma, nil), make([]float64, 2*half)
			start[0] = 1
			for s, x := range denseSolve(t, a, reward) {
				if more := x - v[s]; more > (2*tolerance+1e-12/(1-gamma))*size {
					t.Errorf("γ = %g, error %g: state %d: the policy returns %g, more than the value by %g", gamma,
						tolerance, s, x, more)
				}
			}
			visits, q := visitsOf(k, gamma)
			mass := make([]float64, q.Rest+1)
			mass[q.Number[0]] = 1
			found, err := visits.Solve(t.Context(), st, mass, 0)
			if err != nil {
				t.Fatal(err)
			}
			for s, want := range denseSolve(t, a.T(), start) {
				if x := found.Counts[q.Number[s]]; math.Abs(x-want) > 1e-11*(1+want) {
					t.Errorf("γ = %g: state %d is visited %g times: want %g", gamma, s, x, want)
				}
			}
			if len(z.slow) != 0 || len(visits.slow) != 2 || visits.slow[0] || visits.slow[half] {
				t.Errorf("γ = %g: sweeps were given up: %v, %v", gamma, z.slow, visits.slow)
			}
		}
	}
}

// A walk forwards, that every tenth step leads back from, takes 1.25 steps for each state on its way. Another
// choice costs as much and gets nowhere. Where some choice leads back from the end to the start, sweeps are
// given up if the answer is to be exact to rounding, or else the policy is evaluated between them, and the
// answer is the same.
func TestGaussSeidel(t *testing.T) {
	const states = 2 << 14
	for _, far := range []bool{false, true} {
		k := &cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
		row := func(back, ahead int32, p float64) {
			k.Next, k.Prob, k.Returns = append(k.Next, back, ahead), append(k.Prob, 1-p, p), append(k.Returns, 1)
			k.Offset = append(k.Offset, len(k.Next))
		}
		for s := range int32(states - 1) {
			row(max(0, s-1), s+1, 0.5)
			row(max(0, s-1), s+1, 0.9)
			if far && s == states-2 {
				row(0, s+1, 0.9)
			}
			k.First = append(k.First, int32(len(k.Offset)-1))
		}
		k.First = append(k.First, k.First[states-1])
		for _, tolerance := range []float64{0, 1e-8} {
			z := leastTotalOf(k, 1, 1, 1)
			z.Reset(tolerance)
			if endless, err := z.Solve(t.Context()); err != nil || endless != nil {
				t.Fatal(endless, err)
			}
			// Where the walk is turned round, at state 0, it loses what it would win back there.
			const start = 100
			want := (states - 1 - start) * 1.25
			if x := z.Values[z.Quotient.Number[start]]; x > want*(1+1e-12) || x < want*(1-10*tolerance-1e-9) {
				t.Errorf("far %v, error %g: value %.15g: want %.15g", far, tolerance, x, want)
			}
			st := ruleOf(z, k)
			for s := range states - 1 {
				if a := st.Actions.At(s); a != 1 {
					t.Fatalf("far %v, error %g: action %d in state %d", far, tolerance, a, s)
				}
			}
			if gone := len(z.slow) > 0; gone != (far && tolerance == 0) || !far && z.chain.States() > 0 {
				t.Errorf("far %v, error %g: sweeps were given up: %v", far, tolerance, gone)
			}
		}
	}
}

// Twenty steps in a row are to succeed, each with the probability q; a failure leads back to the first step on
// the next of many ways. Steps back are then so wide that all states are swept at a time, and these are more
// than a window holds. A second choice of each state does the same for twice the price. From the start it takes
// (q⁻²⁰ − 1)/(1 − q) steps, and the i-th step is taken q^(i−20) times.
func TestWideGaussSeidel(t *testing.T) {
	const ways, steps, q = 1 << 11, 20, 0.99
	k := &cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for s := range int32(ways * steps) {
		for c := range 2 {
			k.Next, k.Prob, k.Returns = append(k.Next, (s+1)%ways, min(s+ways, ways*steps)), append(k.Prob, 1-q, q),
				append(k.Returns, float64(1+c))
			k.Offset = append(k.Offset, len(k.Next))
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	k.First = append(k.First, k.First[ways*steps])
	z := leastTotalOf(k, 1, 1, 1)
	if endless, err := z.Solve(t.Context()); err != nil || endless != nil {
		t.Fatal(endless, err)
	}
	st := ruleOf(z, k)
	visits, number := visitsOf(k, 1)
	mass := make([]float64, number.Rest+1)
	for s := range ways {
		mass[number.Number[s]] = 1.0 / ways
	}
	found, err := visits.Solve(t.Context(), st, mass, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(z.slow) > 0 || z.chain.States() > 0 || visits.chain.States() > 0 {
		t.Error("sweeps were given up")
	}
	whole := (math.Pow(q, -steps) - 1) / (1 - q)
	for s := range ways * steps {
		i := s / ways
		success := math.Pow(q, float64(steps-i))
		if want, x := (1-success)/(1-q)+(1-success)*whole,
			z.Values[z.Quotient.Number[s]]; math.Abs(x-want) > 1e-11*want {
			t.Fatalf("value %.15g of state %d: want %.15g", x, s, want)
		}
		if want, y := math.Pow(q, float64(i-steps))/ways,
			found.Counts[number.Number[s]]; math.Abs(y-want) > 1e-12*want {
			t.Fatalf("%.15g visits of state %d: want %.15g", y, s, want)
		}
		if st.Actions.At(s) != 0 {
			t.Fatalf("state %d takes the dear choice", s)
		}
	}
}

// A walk through layers of some states each goes on to any state of the next layer with the probability p, back with q,
// and sideways otherwise. A second choice does the same for twice the price. Sweeps over all states carry values on by
// (p−q)/q layers each, so that they are given up on a long way, and windows of states are not. The net flow from each
// layer to the next is 1: hence the visits of a layer, and the steps from one to the next.
func TestWindows(t *testing.T) {
	const layers, width, p, q = 400, 3, 0.65, 0.3
	rng := rand.New(rand.NewPCG(26, 51))
	k := &cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for s := range int32(layers * width) {
		layer := s / width
		any := func(layer int32) int32 { return min(max(0, layer)*width+rng.Int32N(width), layers*width) }
		for c := range 2 {
			k.Next = append(k.Next, any(layer+1), any(layer-1), any(layer))
			k.Prob, k.Returns = append(k.Prob, p, q, 1-p-q), append(k.Returns, float64(1+c))
			k.Offset = append(k.Offset, len(k.Next))
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	k.First = append(k.First, k.First[layers*width])
	steps, visits := make([]float64, layers), make([]float64, layers+1)
	for i := range layers {
		steps[i] = 1 / p
		if i > 0 {
			steps[i] = (1 + q*steps[i-1]) / p
		}
		visits[layers-1-i] = (1 + q*visits[layers-i]) / p
	}
	t.Cleanup(threshold.Lower())
	threshold.Stretch = layers * width // no blocks
	for _, windows := range []int{16, layers * width} {
		threshold.Windows = windows
		for _, tolerance := range []float64{0, 1e-8} {
			z := leastTotalOf(k, 1, 1, 1)
			z.Reset(tolerance)
			if endless, err := z.Solve(t.Context()); err != nil || endless != nil {
				t.Fatal(endless, err)
			}
			want := 0.0
			for i := layers - 1; i >= 0; i-- {
				want += steps[i]
				x := z.Values[z.Quotient.Number[width*i]]
				if x > want*(1+1e-12) || x < want*(1-10*tolerance-1e-9) {
					t.Fatalf("windows %d, error %g: value %.15g of layer %d: want %.15g", windows, tolerance, x, i, want)
				}
			}
			v, number := visitsOf(k, 1)
			mass := make([]float64, number.Rest+1)
			mass[number.Number[0]] = 1
			found, err := v.Solve(t.Context(), ruleOf(z, k), mass, tolerance)
			if err != nil {
				t.Fatal(err)
			}
			for i := range layers {
				sum := 0.0
				for j := range width {
					sum += found.Counts[number.Number[width*i+j]]
				}
				if math.Abs(sum-visits[i]) > (1e-11+tolerance)*10*visits[i] {
					t.Fatalf("windows %d, error %g: %.15g visits of layer %d: want %.15g", windows, tolerance, sum, i,
						visits[i])
				}
			}
			swept := z.chain.States() == 0 && v.chain.States() == 0
			if swept != (windows == 16) {
				t.Errorf("windows %d, error %g: all was swept: %v", windows, tolerance, swept)
			}
		}
	}
}

// A policy that goes round in a circle for ever never gets out, wherever the circle is. A snake, which runs
// against the order of the numbers here and there, does.
func TestReachesExit(t *testing.T) {
	all := func(next []int32) bool {
		return reachesExit(make([]bool, len(next)), func(s int32, visit func(n int32) bool) { visit(next[s]) })
	}
	for _, next := range [][]int32{{4, 0, 1, 2}, {1, 2, 3, 4}, {4, 0, 0, 0}} {
		if !all(next) {
			t.Errorf("%v: want true", next)
		}
	}
	for _, next := range [][]int32{{1, 0, 4, 2}, {4, 0, 3, 2}, {0, 4, 4, 4}} {
		if all(next) {
			t.Errorf("%v: want false", next)
		}
	}
	rng := rand.New(rand.NewPCG(8, 2))
	for range 50 {
		const states = 60
		order, next := rng.Perm(states), make([]int32, states)
		for i, s := range order {
			next[s] = states
			if i > 0 {
				next[s] = int32(order[i-1])
			}
		}
		if !all(next) {
			t.Fatalf("%v: want true", next)
		}
		at := rng.IntN(states)
		next[order[at]] = int32(order[at+rng.IntN(states-at)])
		if all(next) {
			t.Fatalf("%v: want false", next)
		}
	}
}

// TestPipeline: both sweeps go over all states in their order, and while the second is at some, the first is done with
// those that lead to them, and with those that lead to these.
func TestPipeline(t *testing.T) {
	t.Cleanup(threshold.Lower())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	rng := rand.New(rand.NewPCG(27, 15))
	parts := 0
	for range 50 {
		n, span := 1+rng.Int32N(80), rng.Int32N(6)
		var first atomic.Int32
		second := int32(0)
		pipeline(1+rng.IntN(3), n, span, func(again bool, a, b int32) {
			if !again {
				time.Sleep(10 * time.Microsecond)
				if !first.CompareAndSwap(a, b) {
					t.Errorf("the first sweep is at %d before it is at %d", first.Load(), a)
				}
				return
			}
			if done := first.Load(); a != second || done < min(n, b+2*span) {
				t.Errorf("the second sweep goes on from %d with [%d, %d) of %d when the first is at %d: want it to be %d ahead",
					second, a, b, n, done, 2*span)
			}
			second = b
			parts++
		})
		if first.Load() != n || second != n {
			t.Errorf("sweeps end at %d and %d of %d states", first.Load(), second, n)
		}
	}
	if parts < 200 {
		t.Errorf("%d parts: want more", parts)
	}
}

// TestSpan wants the span of a component to be that of its longest transition.
func TestSpan(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 16))
	for range 200 {
		z := leastTotalOf(drawModel(rng, 2+rng.IntN(12)), 0.9, 1, 2)
		q := z.Quotient
		for i, hi := range q.Component[1:] {
			lo, longest := q.Component[i], int32(0)
			for s := lo; s < hi; s++ {
				for c := q.First[s]; c < q.First[s+1]; c++ {
					next, _ := q.Row(c)
					for _, n := range next {
						if n >= lo && n < hi {
							longest = max(longest, n-s, s-n)
						}
					}
				}
			}
			if got := z.span(lo, hi); got != longest {
				t.Fatalf("the states of [%d, %d) lead by %d: want %d", lo, hi, got, longest)
			}
		}
	}
}

// walk is a model of states in a row, with a step ahead and one back from each. The process ends at the last.
func walk(states int) *cmdp.Kernel {
	k := cmdp.NewKernel()
	for s := range int32(states - 1) {
		k.Append([]int32{s + 1}, []float64{1}, []float64{2})
		if s > 0 {
			k.Append([]int32{s - 1}, []float64{1}, []float64{1})
		}
		k.EndState()
	}
	k.EndState()
	return k.Plain(1)
}

// TestRaises: a component in which steps are short is swept block by block, or by windows, and its values are not
// raised, unless few of its states are looked at.
func TestRaises(t *testing.T) {
	t.Cleanup(threshold.Lower())
	for _, by := range []struct{ stretch, windows int }{{1, 1000}, {1000, 10}} {
		threshold.Stretch, threshold.Windows = by.stretch, by.windows
		z := leastTotalOf(walk(50), 1, 1, 1)
		for _, near := range []map[int32]int32{nil, {0: 3}, {0: 30}, {0: 4}, nil} {
			if z.LookNear(near); z.Raises() != (near != nil && near[0] < 10) {
				t.Errorf("%+v: values are raised where %v states are looked at: %v", by, near, z.Raises())
			}
		}
	}
}

// On a walk to an end a step ahead costs 2 and one back 1. Sweeps raise values of 0 until they are what is left of
// the way. Before that the policy that they show turns round somewhere, unless it is mended. At first sweeps go over
// some states alone, and leave the others as they are.
func TestRaisedValues(t *testing.T) {
	t.Cleanup(threshold.Lower())
	threshold.Stretch = 50 // all states are swept
	const states = 50
	z := leastTotalOf(walk(states), 1, 1, 1)
	z.Sweeps = 2
	proper := func() bool { return z.isProper(0, states-1, make([]bool, states-1)) }
	turned, most := 0, 0.0
	for n := range 3 * states {
		z.Within = nil
		if n < states {
			z.Within = map[int32]int32{0: states / 2}
		}
		if endless, err := z.Solve(t.Context()); endless != nil || err != nil || z.Fell {
			t.Fatal(endless, err, z.Fell)
		}
		if !proper() {
			turned++
		}
		z.Mend()
		if !proper() {
			t.Fatal("the policy does not come to the end")
		}
		most = 0
		if z.Within != nil && (z.Values[0] == 0 || !allZero(z.Values[states/2:])) {
			t.Fatalf("values %v: want only those of the first %d states to rise", z.Values, states/2)
		}
		for s := range states - 1 {
			left := 2*float64(states-1-s) - z.Values[z.Quotient.Number[s]]
			if left < 0 {
				t.Fatalf("the value of state %d is above the least total by %g", s, -left)
			}
			most = max(most, left)
		}
	}
	if turned == 0 || most > 1e-10 {
		t.Errorf("the policy turned round %d times, and a value is too low by %g in the end", turned, most)
	}
}

// TestRaisedParts raises any values by one sweep, in two models side by side: where no value is said to have fallen,
// none is above its backups.
func TestRaisedParts(t *testing.T) {
	t.Cleanup(threshold.Lower())
	rng := rand.New(rand.NewPCG(24, 5))
	fell, above, again := 0, 0, 0
	for range 1000 {
		k := beside(drawModel(rng, 4), drawModel(rng, 4))
		for c, r := range k.Returns {
			k.Returns[c] = math.Abs(r)
		}
		z := leastTotalOf(k, 1, 1, 1)
		for n := range z.Quotient.Rest {
			z.Values[n] = 3 * rng.Float64()
		}
		z.Sweeps = 1
		many := z.Twin(new(Chain))
		endless, err := z.Solve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if endless != nil {
			continue
		}
		lacks := false
		for n := range z.Quotient.Rest {
			for i := z.Quotient.First[n]; i < z.Quotient.First[n+1]; i++ {
				x := z.Reward[i] - z.Values[n]
				next, prob := z.Quotient.Row(i)
				for j, to := range next {
					x += prob[j] * z.Values[to]
				}
				lacks = lacks || x < -1e-12*(1+z.Values[n])
			}
		}
		if lacks && !z.Fell {
			t.Fatal("values are above their backups: want to be told that one fell")
		}
		if z.Fell {
			fell++
		}
		for many.Sweeps = 2 + rng.IntN(4); z.Sweeps < many.Sweeps; z.Sweeps++ { // they are sweeps one by one
			one := z.Sweeps
			z.Sweeps = 1
			if _, err := z.Solve(t.Context()); err != nil {
				t.Fatal(err)
			}
			z.Sweeps = one
		}
		if _, err := many.Solve(t.Context()); err != nil {
			t.Fatal(err)
		}
		large := 0 // where one component may lead to another, its values are others
		for i, hi := range z.Quotient.Component[1:] {
			large += min(1, int(hi-z.Quotient.Component[i])-1)
		}
		if again += large % 2; large == 1 && (!slices.Equal(many.Values, z.Values) || many.Fell != z.Fell) {
			t.Fatalf("%d sweeps lead to %v, fell %v: want %v, fell %v", many.Sweeps, many.Values, many.Fell, z.Values, z.Fell)
		}
		if lacks {
			above++
		}
	}
	if fell < 50 || above < 30 || again < 50 {
		t.Errorf("values fell %d times, were above their backups %d times, and %d times there was one component: want more",
			fell, above, again)
	}
}
