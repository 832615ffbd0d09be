package cmdp

import "testing"

// segmentRun plays the double dual update against a planner that knows that exactly
// the returns (price·(1 − x), x) with x in [0, 1] can be had, where x must not exceed
// 0.2. For the first burnIn episodes the planner knows nothing: it plays x = 0 and its
// lower bound is 0. The result is ρ after each episode.
func segmentRun(t *testing.T, price float64, burnIn, episodes int) []float64 {
	t.Helper()
	sh, err := NewShape(ShapeSpec{Horizon: 1, Dim: 2, Start: []StartState{{0, 1}}, First: [][]int32{{0, 2}},
		Returns: []Interval{{Lower: []float64{0, 0}, Upper: []float64{price, 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewTermsDual(sh, Task{Cost: linear(t, sh, 1, 0), Target: atMost(t, sh, 1, 0.2)}, &Penalty{PenaltyDoubling, 0})
	if err != nil {
		t.Fatal(err)
	}
	rho := make([]float64, episodes)
	for k := range rho {
		dir := u.Direction()
		x := 0.0
		if k >= burnIn && dir[1] < price*dir[0] {
			x = 1
		}
		low := 0.0
		if k >= burnIn {
			low = dir[0]*price*(1-x) + dir[1]*x
		}
		u.Observe([]float64{price * (1 - x), x}, low)
		rho[k] = u.Rho()
	}
	return rho
}

// TestDoublingStopsAtASufficientPenalty: ρ has to exceed the price, and the rule
// leaves it alone when it does.
func TestDoublingStopsAtASufficientPenalty(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing concurrent in it")
	}
	for price, want := range map[float64]float64{0.4: 1, 0.9: 1, 1.5: 2, 3: 4, 30: 32} {
		for _, burnIn := range []int{0, 100, 5000} {
			rho := segmentRun(t, price, burnIn, 100000)
			if got := rho[len(rho)-1]; got != want {
				t.Errorf("price %g, burn-in of %d: rho %g, want %g", price, burnIn, got, want)
			}
		}
	}
}

// TestDoublingForgetsTheBurnIn: what was played before anything was known does not
// hide for long that ρ is too small.
func TestDoublingForgetsTheBurnIn(t *testing.T) {
	const burnIn = 20000
	rho := segmentRun(t, 3, burnIn, 2*burnIn)
	if rho[burnIn-1] != 1 {
		t.Errorf("rho %g before anything was known, want 1", rho[burnIn-1])
	}
	if got := rho[burnIn*3/2]; got != 4 {
		t.Errorf("rho %g at half as many episodes again, want 4", got)
	}
}
