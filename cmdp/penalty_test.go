package cmdp

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cost"
	"cmdpsolve/geometry"

	"gonum.org/v1/gonum/floats"
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

// A plainDual is TermsDual for an affine cost and a box, by the formulas, with a doubling rule that keeps all that it
// looks at.
type plainDual struct {
	lower, upper, low, up []float64 // the box X and the target
	gradient              []float64 // of the cost
	offset                float64
	dual                  []float64 // ϕ
	episodes              int
	rho                   float64
	doubled, since        int
	given                 bool // the target is taken to be out of reach
	window                []penaltySample
}

type penaltySample struct {
	value            []float64
	estimate, excess float64
	gap              bool
}

// observe returns the bound and the gap of an episode.
func (u *plainDual) observe(value []float64, best float64) (optimum, gap float64) {
	conjugate, most, size, wide, norm := 0.0, 0.0, 0.0, 0.0, 0.0
	next, dir, along := make([]float64, len(value)), make([]float64, len(value)), make([]float64, len(value))
	u.episodes++
	for i, x := range u.dual {
		conjugate += math.Max(x*u.low[i], x*u.up[i])
		most += math.Max(u.gradient[i]*u.lower[i], u.gradient[i]*u.upper[i])
		size += x * x
		dir[i], along[i] = u.gradient[i]+u.rho*x, u.gradient[i]+u.rho/2*x
		if u.low[i] > u.lower[i] || u.up[i] < u.upper[i] {
			far := max(u.upper[i]-u.low[i], u.up[i]-u.lower[i])
			wide += far * far
		}
	}
	for i, x := range u.dual {
		y := min(max(value[i], u.low[i]), u.up[i]) // that of the target nearest to the value, of the extreme ones
		if x > 0 {
			y = u.up[i]
		} else if x < 0 {
			y = u.low[i]
		}
		next[i] = x + (value[i]-y)/math.Sqrt(wide*float64(u.episodes))
		norm += next[i] * next[i]
	}
	norm = math.Sqrt(norm)
	optimum, gap = best-u.rho*conjugate+u.offset, math.Inf(-1)
	if size > 0 {
		gap = (best - most - u.rho*conjugate) / (u.rho * math.Sqrt(size))
	}
	floats.ScaleTo(u.dual, 1/max(1, norm), next)
	if u.given || u.since == 0 && norm < 1-1e-9 {
		return optimum, gap
	}
	u.since++
	estimate := optimum + 0.75*(floats.Dot(dir, value)-best)
	u.window = append(u.window, penaltySample{value, estimate, floats.Dot(along, value) - estimate, gap > 0})
	if len(u.window) >= max(64, u.since/5) {
		u.look()
	}
	return optimum, gap
}

// look doubles ρ, or gives up, after what was seen since the last look.
func (u *plainDual) look() {
	n, gaps, estimate, excess, square := float64(len(u.window)), 0.0, 0.0, 0.0, 0.0
	mean, off := make([]float64, len(u.low)), 0.0
	for _, w := range u.window {
		if w.gap {
			gaps++
		}
		estimate += w.estimate / n
		excess += w.excess / n
		square += w.excess * w.excess / n
		floats.AddScaled(mean, 1/n, w.value)
	}
	for i, x := range mean {
		off = math.Hypot(off, max(x-u.up[i], u.low[i]-x, 0))
	}
	noise := math.Sqrt(max(0, square-excess*excess) / n)
	switch {
	case 2*gaps > n:
		u.given = true
	case floats.Dot(u.gradient, mean)+u.offset+u.rho/2*off+noise < estimate:
		u.rho, u.doubled, u.since = 2*u.rho, u.doubled+1, 0
	}
	u.window = nil
}

// TestDualByDefinition compares the double dual update, with its doubling rule, with the plain one, on random tasks and
// episodes, in directions, bounds, gaps and weights.
func TestDualByDefinition(t *testing.T) {
	doublings, infeasible := 0, 0
	for trial := range uint64(80) {
		rng := rand.New(rand.NewPCG(7, trial))
		p := &plainDual{dual: make([]float64, 2), offset: rng.NormFloat64()}
		for range 2 {
			at, wide := rng.NormFloat64(), 0.5+rng.Float64()
			p.lower, p.upper = append(p.lower, at), append(p.upper, at+wide)
			low, up := at+wide*rng.Float64()/2, at+wide*(1+rng.Float64())/2
			switch rng.IntN(3) {
			case 0:
				low = at // nothing is asked on one side
			case 1:
				up = at + wide
			}
			p.low, p.up = append(p.low, low), append(p.up, up)
			p.gradient = append(p.gradient, rng.NormFloat64())
		}
		sh := try(NewShape(ShapeSpec{Horizon: 1, Dim: 2, Start: []StartState{{0, 1}}, First: [][]int32{{0, 2}},
			Returns: []Interval{{p.lower, p.upper}}}))(t)
		task := Task{Cost: try(cost.NewAffine(p.gradient, p.offset, boxOf(t, sh)))(t),
			Target: try(try(geometry.NewBox(p.low, p.up))(t).Bounded())(t)}
		u := try(NewTermsDual(sh, task, nil))(t)
		p.rho = floats.Norm(p.gradient, 2)
		bias, center := rng.NormFloat64(), []float64{rng.Float64(), rng.Float64()}
		for k := range 1500 {
			value, dir := make([]float64, 2), make([]float64, 2)
			for i, c := range center {
				value[i] = p.lower[i] + (p.upper[i]-p.lower[i])*(c+rng.Float64()/4)/1.25
			}
			floats.AddScaledTo(dir, p.gradient, p.rho, p.dual)
			rho, doubled, given := u.Rho(), u.Doublings(), u.state.Penalty.Infeasible
			if !floats.EqualApprox(u.Direction(), dir, 1e-6*(1+p.rho)) || rho != p.rho || doubled != p.doubled ||
				given != p.given {
				t.Fatalf("trial %d, episode %d: direction %v, rho %g after %d doublings, given up %v; want %v, %g, %d, %v",
					trial, k, u.Direction(), rho, doubled, given, dir, p.rho, p.doubled, p.given)
			}
			copy(p.dual, u.state.Target) // what rounding has left
			low := floats.Dot(u.Direction(), value) + (bias+rng.NormFloat64())*p.rho/4
			ev := u.Observe(value, low)
			optimum, gap := p.observe(value, low)
			slack, proved := 1e-9*(1+p.rho), !math.IsInf(gap, -1)
			if math.Abs(ev.Optimum-optimum) > slack || proved != !math.IsInf(ev.Gap, -1) ||
				proved && !(math.Abs(ev.Gap-gap) <= slack/floats.Norm(ev.Direction, 2)) {
				t.Fatalf("trial %d, episode %d: bound %g and gap %g: want %g, %g", trial, k, ev.Optimum, ev.Gap, optimum, gap)
			}
		}
		doublings += p.doubled
		if p.given {
			infeasible++
		}
	}
	if doublings < 100 || infeasible < 5 || infeasible > 75 {
		t.Errorf("%d doublings, %d runs given up: want many of both", doublings, infeasible)
	}
}
