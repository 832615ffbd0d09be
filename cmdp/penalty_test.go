package cmdp

import (
	"math"
	"math/rand/v2"
	"testing"
)

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
	u, err := NewTermsDual(sh, Task{Cost: linear(t, sh, 1, 0), Target: atMost(t, sh, 1, 0.2)},
		&Penalty{Rule: PenaltyDoubling})
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
		t.Skip("long, and shorter tests run what is concurrent in it")
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

// TestPenaltyRule compares the rule with one that keeps all that it looks at, on random episodes.
func TestPenaltyRule(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	sh, err := NewShape(ShapeSpec{Horizon: 1, Dim: 2, Start: []StartState{{0, 1}}, First: [][]int32{{0, 2}},
		Returns: []Interval{{Lower: []float64{0, 0}, Upper: []float64{1, 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewTermsDual(sh, Task{Cost: linear(t, sh, 1, 0), Target: atMost(t, sh, 1, 0.2)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	doublings, infeasible := 0, 0
	for range 60 {
		st := u.penalty.start(u.cost.f)
		rho, since, doubled, given := st.Rho, 0, 0, false
		type seen struct {
			value            []float64
			estimate, excess float64
			gap              bool
		}
		var window []seen
		better, far := rng.Float64()*1.4-0.9, rng.Float64()*0.6
		for k := range 1500 {
			value := []float64{rng.Float64(), rng.Float64() * 0.5}
			ep := &penaltyEpisode{cost: u.cost, target: u.target, costDual: []float64{1, 0},
				targetDual: []float64{0, rng.Float64()}, value: value,
				low: rng.Float64(), mean: make([]float64, 2), now: []float64{0, 1}}
			ep.dir = []float64{1, rho * ep.targetDual[1]}
			ep.evidence = Evidence{Optimum: 0.5 + better + rng.Float64(), Gap: rng.Float64() - 1 + far}
			if rng.IntN(30) > 0 && since == 0 {
				ep.now[1] = 0.99 // not yet pressed against its ball
			}
			u.penalty.observe(&st, ep)

			pressed := ep.now[1] == 1
			if given || since == 0 && !pressed {
				continue
			}
			since++
			estimate := ep.evidence.Optimum + 0.75*(value[0]+ep.dir[1]*value[1]-ep.low)
			window = append(window, seen{value, estimate, value[0] + rho/2*ep.targetDual[1]*value[1] - estimate,
				ep.evidence.Gap > 0})
			if n := float64(len(window)); len(window) >= max(64, since/5) {
				gaps, optimum, mean, excess, square := 0.0, 0.0, [2]float64{}, 0.0, 0.0
				for _, w := range window {
					if w.gap {
						gaps++
					}
					optimum += w.estimate / n
					excess += w.excess / n
					square += w.excess * w.excess / n
					mean[0] += w.value[0] / n
					mean[1] += w.value[1] / n
				}
				noise := math.Sqrt(max(0, square-excess*excess) / n)
				switch {
				case 2*gaps > n:
					given = true
				case mean[0]+rho/2*max(0, mean[1]-0.2)+noise < optimum:
					rho, doubled, since = 2*rho, doubled+1, 0
				}
				window = nil
			}
			if st.Rho != rho || st.Doublings != doubled || st.Infeasible != given {
				t.Fatalf("episode %d: rho %g after %d doublings, given up %v; want %g, %d, %v", k, st.Rho, st.Doublings,
					st.Infeasible, rho, doubled, given)
			}
		}
		doublings += doubled
		if given {
			infeasible++
		}
	}
	if doublings < 50 || infeasible < 5 || infeasible > 55 {
		t.Errorf("%d doublings, %d runs given up: want many of both", doublings, infeasible)
	}
}
