package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// drawMixing draws a model whose states lead anywhere in their half; from the first half, three steps in ten lead
// to the second. So it has two components, of which the second is closed.
func drawMixing(t *testing.T, gamma float64, half int) *cmdp.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(15, 11))
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: gamma, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 2*half)
	for s := range 2 * half {
		for a := range 3 {
			base := s / half * half
			next := []cmdp.Transition{{Next: half + rng.IntN(half), Probability: 0.3}}
			for _, p := range []float64{0.1, 0.1, 0.2, 0.3} {
				next = append(next, cmdp.Transition{Next: base + rng.IntN(half), Probability: p})
			}
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: []float64{rng.Float64(), rng.NormFloat64()}, Next: next}); err != nil {
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

// TestSweep wants values found by sweeps to be at most their backups, and so bounds, and near the returns of the policy,
// which a dense system gives; and the visits of the policy to solve the transposed system.
func TestSweep(t *testing.T) {
	const half = 250
	for _, gamma := range []float64{0.9, 0.9999} {
		for _, enough := range []float64{0, 1e-8} {
			m := drawMixing(t, gamma, half)
			p, err := newStationary(m, 1, everything(2), nil)
			if err != nil {
				t.Fatal(err)
			}
			p.enough = enough
			dir := []float64{1, -0.5}
			z := p.scalar(dir)
			if _, _, _, err := p.solve(t.Context(), z, dir, true); err != nil {
				t.Fatal(err)
			}
			v, k, size := p.spread(nil, z), m.Kernel(0), 0.0
			for _, x := range v {
				size = math.Max(size, math.Abs(x))
			}
			policy := newActions(m.States(), p.mostActions)
			z.q.lift(z.pick, func(s, c int32) { policy.set(int(s), int(c-k.First[s])) })
			a, right := mat.NewDense(2*half, 2*half, nil), mat.NewVecDense(2*half, nil)
			for s := range 2 * half {
				for c := k.First[s]; c < k.First[s+1]; c++ {
					reward := floats.Dot(dir, k.Returns[2*c:2*c+2])
					x := reward - v[s]
					for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
						x += gamma * k.Prob[e] * v[k.Next[e]]
						if int(c-k.First[s]) == policy.at(s) {
							a.Set(s, int(k.Next[e]), a.At(s, int(k.Next[e]))-gamma*k.Prob[e])
						}
					}
					if x < -1e-14*size {
						t.Errorf("γ = %g, error %g: state %d: the value %g is above a backup by %g", gamma, enough, s, v[s], -x)
					}
					if int(c-k.First[s]) == policy.at(s) {
						right.SetVec(s, reward)
					}
				}
				a.Set(s, s, a.At(s, s)+1)
			}
			var returns, visits mat.VecDense
			if err := returns.SolveVec(a, right); err != nil {
				t.Fatal(err)
			}
			start := mat.NewVecDense(2*half, nil)
			start.SetVec(0, 1)
			if err := visits.SolveVec(a.T(), start); err != nil {
				t.Fatal(err)
			}
			found, err := p.visits(t.Context(), &stepPolicy{actions: policy}, false)
			if err != nil {
				t.Fatal(err)
			}
			for s, x := range v {
				if more := returns.AtVec(s) - x; more > (2*enough+1e-12/(1-gamma))*size {
					t.Errorf("γ = %g, error %g: state %d: the policy returns %g, more than the value by %g", gamma, enough, s, x+more, more)
				}
				if diff := p.seen(found, int32(s)) - visits.AtVec(s); math.Abs(diff) > 1e-11*(1+visits.AtVec(s)) {
					t.Errorf("γ = %g: state %d is visited %g times: want %g", gamma, s, p.seen(found, int32(s)), visits.AtVec(s))
				}
			}
			if len(z.slow) != 0 || len(p.visitor.slow) != 2 || p.visitor.slow[0] || p.visitor.slow[half] {
				t.Errorf("γ = %g: sweeps were given up: %v, %v", gamma, z.slow, p.visitor.slow)
			}
		}
	}
}

// A walk forwards, that every tenth step leads back from, takes 1.25 steps for each state on its way, and sees each state ahead
// 1.25 times. Another choice costs as much and gets nowhere. Where some choice leads back from the end to the start, sweeps are
// given up, and the answer is the same.
func TestSweepsOfTotals(t *testing.T) {
	const states, start = 2 << 14, 100
	for _, far := range []bool{false, true} {
		k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
		row := func(back, ahead int32, p float64) {
			k.Next, k.Prob, k.Returns = append(k.Next, back, ahead), append(k.Prob, 1-p, p), append(k.Returns, 1, 0)
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
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 2, Kernels: []cmdp.Kernel{k}, Start: []cmdp.StartState{{State: start, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, enough := range []float64{0, 1e-8} {
			p, err := newStationary(m, 1, everything(2), nil)
			if err != nil {
				t.Fatal(err)
			}
			p.enough = enough
			found, err := p.price(t.Context(), []float64{1, 0})
			if err != nil {
				t.Fatal(err)
			}
			// Where the walk is turned round, at state 0, it loses what it would win back there.
			want := (states - 1 - start) * 1.25
			if steps := found.returns[0]; math.Abs(steps-want) > 1e-9*want {
				t.Errorf("far %v, error %g: %.15g steps: want %.15g", far, enough, steps, want)
			}
			if found.value > want*(1+1e-12) || found.value < want*(1-10*enough-1e-9) {
				t.Errorf("far %v, error %g: value %.15g: want %.15g", far, enough, found.value, want)
			}
			if value, margin, err := p.recheck(t.Context(), []float64{1, 0}); err != nil || !(margin <= 1e-12*want) || math.Abs(value-want) > 1e-9*want {
				t.Errorf("far %v: value %.15g, margin %g, error %v: want %.15g", far, value, margin, err, want)
			}
			for s := range states - 1 {
				if a := found.policy.at(s); a != 1 {
					t.Fatalf("far %v, error %g: action %d in state %d", far, enough, a, s)
				}
			}
			x, err := p.visits(t.Context(), &stepPolicy{actions: *found.policy}, false)
			if err != nil {
				t.Fatal(err)
			}
			for s := range int32(states - 1) {
				want := 1.25
				if s < start {
					want *= math.Pow(1.0/9, float64(start-s))
				} else if s == states-2 {
					want = 1 / 0.9
				} else if d := float64(states - 1 - s); d < 50 {
					want *= 1 - math.Pow(1.0/9, d)
				}
				if y := p.seen(x, s); math.Abs(y-want) > 1e-12 {
					t.Fatalf("far %v: %.15g visits of state %d: want %.15g", far, y, s, want)
				}
			}
			if gone := len(p.scalar([]float64{1, 0}).slow) > 0; gone != far || !far && len(p.chain.leak) > 0 {
				t.Errorf("far %v: sweeps were given up: %v", far, gone)
			}
		}
	}
}

// Twenty steps in a row are to succeed, each with the probability q; a failure leads back to the first step on the next of many
// ways. Steps back are then so wide that all states are swept at a time, and these are more than a window holds. A second choice
// of each state does the same for twice the price. From the start it takes (q⁻²⁰ − 1)/(1 − q) steps, and the i-th step is taken
// q^(i−20) times.
func TestWideSweepsOfTotals(t *testing.T) {
	const ways, steps, q = 1 << 11, 20, 0.99
	k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for s := range int32(ways * steps) {
		for c := range 2 {
			k.Next, k.Prob, k.Returns = append(k.Next, (s+1)%ways, min(s+ways, ways*steps)), append(k.Prob, 1-q, q), append(k.Returns, float64(1+c))
			k.Offset = append(k.Offset, len(k.Next))
		}
		k.First = append(k.First, int32(len(k.Offset)-1))
	}
	k.First = append(k.First, k.First[ways*steps])
	var start []cmdp.StartState
	for s := range ways {
		start = append(start, cmdp.StartState{State: s, Probability: 1.0 / ways})
	}
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 1, Kernels: []cmdp.Kernel{k}, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newStationary(m, 1, everything(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.price(t.Context(), []float64{1}); err != nil {
		t.Fatal(err)
	}
	z := p.scalar([]float64{1})
	policy := newActions(m.States(), 2)
	z.q.lift(z.pick, func(s, c int32) { policy.set(int(s), int(c-p.k.First[s])) })
	x, err := p.visits(t.Context(), &stepPolicy{actions: policy}, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(z.slow) > 0 || len(p.chain.leak) > 0 {
		t.Error("sweeps were given up")
	}
	v, whole := p.spread(nil, z), (math.Pow(q, -steps)-1)/(1-q)
	for s := range ways * steps {
		i := s / ways
		success := math.Pow(q, float64(steps-i))
		if want := (1-success)/(1-q) + (1-success)*whole; math.Abs(v[s]-want) > 1e-11*want {
			t.Fatalf("value %.15g of state %d: want %.15g", v[s], s, want)
		}
		if want, y := math.Pow(q, float64(i-steps))/ways, p.seen(x, int32(s)); math.Abs(y-want) > 1e-12*want {
			t.Fatalf("%.15g visits of state %d: want %.15g", y, s, want)
		}
		if policy.at(s) != 0 {
			t.Fatalf("state %d takes the dear choice", s)
		}
	}
}

// A policy that goes round in a circle for ever does not drain, wherever the circle is. A snake, which runs against the order
// of the numbers here and there, does.
func TestDrains(t *testing.T) {
	all := func(next []int32) bool {
		return drains(make([]bool, len(next)), func(s int32, visit func(n int32) bool) { visit(next[s]) })
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
