package exact

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestDirectionsShareValues asks for directions between two others up to an error, as of a large model. Their values
// are raised from those of the others, as a rule. Policies and bounds are compared with policy iteration by dense
// matrices.
func TestDirectionsShareValues(t *testing.T) {
	t.Cleanup(threshold.Lower())
	threshold.Stretch = 16 // sweeps go over all states
	rng := rand.New(rand.NewPCG(26, 40))
	raised, asked := 0, 0
	for trial := range 18 {
		threshold.Windows = 1000 // none, but where each direction is solved by itself
		if trial >= 12 {
			threshold.Windows = 1
		}
		m := grid{width: 4 + rng.IntN(4), height: 4 + rng.IntN(4), ahead: 0.8, slips: true, sure: 0.6,
			jumps: 0.2 * float64(rng.IntN(2))}.model(t, rng)
		p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(2), nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 8 {
			share := rng.Float64()
			if n < 2 {
				share = 0.98*float64(n) + 0.01
			}
			dir := []float64{share, 1 - share}
			v, _ := howard(t, m, func(c int32) float64 { return floats.Dot(dir, p.k.ReturnsOf(int(c), 2)) })
			aim := v[0] * math.Pow(10, -2-6*rng.Float64())
			got, err := p.price(t.Context(), dir, aim)
			if err != nil {
				t.Fatal(err)
			}
			found, rounding := floats.Dot(dir, got.returns), 1e-11*v[0]
			if got.withInfinite != nil || got.value > v[0]+rounding || found < v[0]-rounding {
				t.Errorf("direction %v: a policy at %.15g, bound %.15g: want them around %.15g", dir, found, got.value,
					v[0])
			}
			if n > 0 && found-got.value > aim+rounding {
				t.Errorf("direction %v: bound %.15g of a policy at %.15g: want at most %g between them", dir, got.value,
					found, aim)
			}
			if n < 2 || trial >= 12 {
				continue
			}
			_, ok, err := p.raise(t.Context(), dir, aim, true)
			if err != nil {
				t.Fatal(err)
			}
			asked++
			if ok {
				raised++
			}
		}
	}
	if raised < asked*3/4 {
		t.Errorf("%d of %d directions were raised", raised, asked)
	}
}

// TestDirectionsNearTheStart asks for directions of walks that begin close to their end. Values are found near the
// start alone, as long as that is enough, for the first two and for those between them. They are compared with policy
// iteration by dense matrices, and the returns of policies with those of all their visits. No policy goes round and
// round far away, where it hardly comes.
func TestDirectionsNearTheStart(t *testing.T) {
	t.Cleanup(threshold.Lower())
	threshold.Stretch = 16 // sweeps go over all states
	rng := rand.New(rand.NewPCG(26, 41))
	near, wide := 0, 0
	for range 12 {
		m := grid{width: 2 + rng.IntN(2), height: 40, ahead: 0.8, slips: true, sure: 0.3}.model(t, rng)
		start := m.States() - 2 - rng.IntN(3)
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 2, Kernels: []cmdp.Kernel{*m.Kernel(0)},
			Start: []cmdp.StartState{{State: start, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(2), nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 8 {
			share, enough := rng.Float64(), 0.0
			if n < 2 {
				share, enough = float64(1-n), 1e-5
			}
			dir := []float64{share + 0.05, 1 - share} // steps ahead have only the first return
			v, _ := howard(t, m, func(c int32) float64 { return floats.Dot(dir, p.k.ReturnsOf(int(c), 2)) })
			aim := v[start] * math.Pow(10, -2-4*rng.Float64())
			p.configure(nil, enough, true)
			asked := aim
			if n < 2 {
				asked, aim = 0, 2e-4*v[start]
			}
			got, err := p.price(t.Context(), dir, asked)
			if err != nil {
				t.Fatal(err)
			}
			if p.visitor.Near != nil {
				near++
			} else {
				wide++
			}
			found, rounding := floats.Dot(dir, got.returns), 1e-9*v[start]
			if !(got.margin <= rounding) || got.value-got.margin > v[start] || found < v[start]-rounding ||
				found-got.value > aim+rounding {
				t.Errorf("direction %v: a policy at %.15g, bound %.15g: want them around %.15g, at most %g between them",
					dir, found, got.value, v[start], aim)
			}
			exact, _, err := p.returns(t.Context(), &markov.Rule{Actions: *got.policy.actions()}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if n := longestWay(t, m, got.policy.actions()); n > 500 {
				t.Errorf("direction %v: the policy goes on for %g steps from some state", dir, n)
			}
			if missed := floats.Distance(exact, got.returns, 1); missed > 1e-8*floats.Norm(exact, 1) {
				t.Errorf("direction %v: returns %v: want %v", dir, got.returns, exact)
			}
			if n > 0 && rng.IntN(4) > 0 {
				continue
			}
			value, margin, err := p.recheck(t.Context(), dir)
			if err != nil || !(math.Abs(value-v[start]) <= rounding) {
				t.Errorf("direction %v: bound %.15g, margin %g, error %v: want %.15g", dir, value, margin, err,
					v[start])
			}
		}
	}
	if near < 10 || wide < 20 {
		t.Errorf("values were found near the start %d times, and %d times anywhere: want many of both", near, wide)
	}
}

// longestWay returns how many steps a policy takes from the worst state to the last one.
func longestWay(t *testing.T, m *cmdp.Model, policy *markov.Actions) float64 {
	t.Helper()
	k, n := m.Kernel(0).Plain(m.Dim()), m.States()-1
	a, ones := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	for s := range n {
		ones.SetVec(s, 1)
		a.Set(s, s, a.At(s, s)+1)
		c := int(k.First[s]) + policy.At(s)
		for e := k.Offset[c]; e < k.Offset[c+1]; e++ {
			if to := int(k.Next[e]); to < n {
				a.Set(s, to, a.At(s, to)-k.Prob[e])
			}
		}
	}
	var x mat.VecDense
	if err := x.SolveVec(a, ones); err != nil {
		t.Fatal(err)
	}
	return floats.Norm(x.RawVector().Data, math.Inf(1))
}

// TestVisitsOfReturnsThatCancel raises values in a direction in which two returns of a million a step cancel out but
// for a millionth. Visits to ten digits would miss the returns by more than the aim.
func TestVisitsOfReturnsThatCancel(t *testing.T) {
	t.Cleanup(threshold.Lower())
	threshold.Stretch = 16 // sweeps go over all states
	const large = 1e6
	rng := rand.New(rand.NewPCG(5, 26))
	m := grid{width: 7, height: 7, ahead: 0.8, slips: true, sure: 0.6}.model(t, rng)
	k := *m.Kernel(0).Plain(2)
	k.Returns = slices.Clone(k.Returns)
	for c := range k.Choices() {
		k.Returns[2*c] += large
		k.Returns[2*c+1] -= large
	}
	m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 2, Start: m.StartStates(), Kernels: []cmdp.Kernel{k}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(2), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.configure(nil, 0, true)
	for n, share := range []float64{0.5, 0.5 + 1e-6, 0.5 + 2e-7, 0.5 + 4e-7, 0.5 + 7e-7} {
		dir := []float64{share, 1 - share}
		aim := 4e-5 * floats.Dot(dir, k.ReturnsOf(0, 2))
		got, err := p.price(t.Context(), dir, aim)
		if err != nil {
			t.Fatal(err)
		}
		exact, _, err := p.returns(t.Context(), &markov.Rule{Actions: *got.policy.actions()}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range exact {
			if missed := math.Abs(got.returns[i] - x); missed > aim {
				t.Errorf("direction %d: return %d is %.15g: want %.15g to %g", n, i, got.returns[i], x, aim)
			}
		}
	}
}
