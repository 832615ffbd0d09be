package exact

import (
	"math"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/markov"
)

// A walk forwards, that every tenth step leads back from, takes 1.25 steps for each state on its way, and sees
// each state ahead 1.25 times. Another choice costs as much and gets nowhere. Where some choice leads back from
// the end to the start, sweeps are given up, and the answer is the same.
func TestSweepsOfTotals(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
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
		m, err := cmdp.NewModel(cmdp.ModelSpec{Discount: 1, Dim: 2, Kernels: []cmdp.Kernel{k},
			Start: []cmdp.StartState{{State: start, Probability: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, enough := range []float64{0, 1e-8} {
			p, err := newInfiniteHorizon(t.Context(), m, 1, allRelevant(2), nil)
			if err != nil {
				t.Fatal(err)
			}
			p.tolerance = enough
			found, err := p.price(t.Context(), []float64{1, 0}, 0)
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
			if value, margin, err := p.recheck(t.Context(), []float64{1, 0}); err != nil || !(margin <= 1e-12*want) ||
				math.Abs(value-want) > 1e-9*want {
				t.Errorf("far %v: value %.15g, margin %g, error %v: want %.15g", far, value, margin, err, want)
			}
			for s := range states - 1 {
				if a := found.policy.actions().At(s); a != 1 {
					t.Fatalf("far %v, error %g: action %d in state %d", far, enough, a, s)
				}
			}
			x, err := p.visits(t.Context(), &markov.Rule{Actions: *found.policy.actions()}, 0)
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
				if y := p.visitsTo(x, s); math.Abs(y-want) > 1e-12 {
					t.Fatalf("far %v: %.15g visits of state %d: want %.15g", far, y, s, want)
				}
			}
		}
	}
}
