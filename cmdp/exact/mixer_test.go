package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// hull is the convex hull of some points, and remembers which answered to a number.
type hull struct {
	points [][]float64
	found  []int
	asked  int
}

func (h *hull) Dim() int { return len(h.points[0]) }

func (h *hull) Extent(lower, upper []float64) {
	copy(lower, h.points[0])
	copy(upper, h.points[0])
	for _, v := range h.points {
		for i, x := range v {
			lower[i], upper[i] = min(lower[i], x), max(upper[i], x)
		}
	}
}

func (h *hull) Least(number int, dir []float64) []float64 {
	h.asked++
	for number >= len(h.found) {
		h.found = append(h.found, 0)
	}
	least := math.Inf(1)
	for i, v := range h.points {
		if x := floats.Dot(dir, v); x < least {
			least, h.found[number] = x, i
		}
	}
	return h.points[h.found[number]]
}

func randomHull(rng *rand.Rand, n, d int) *hull {
	h := &hull{}
	for range n {
		v := make([]float64, d)
		for i := range v {
			v[i] = 4*rng.Float64() - 1
		}
		h.points = append(h.points, v)
	}
	return h
}

// checkMixture wants the point of a mixture to be that of its numbers and weights.
func checkMixture(t *testing.T, h *hull, x *Mixer) {
	t.Helper()
	point, sum := make([]float64, h.Dim()), 0.0
	for j, n := range x.Numbers {
		floats.AddScaled(point, x.Weights[j], h.points[h.found[n]])
		sum += x.Weights[j]
	}
	if math.Abs(sum-1) > 1e-9 || !floats.EqualApprox(point, x.Point, 1e-9) {
		t.Errorf("weights sum to %v, the points to %v: want 1 and %v", sum, point, x.Point)
	}
}

// TestLinearMixer compares both ways to solve a linear program over the hull of random
// points with the program over the weights of all of them, while the limits move.
func TestLinearMixer(t *testing.T) {
	infeasible := 0
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 41))
		d := 1 + rng.IntN(4)
		h := randomHull(rng, 3+rng.IntN(20), d)
		goal := make([]float64, d)
		for i := range goal {
			goal[i] = rng.NormFloat64()
		}
		ties := seed%3 == 0 // of many points, in what limits are about
		var rows []cmdp.Constraint
		for range rng.IntN(4) {
			r := cmdp.Constraint{Normal: make([]float64, d)}
			for i := range d {
				r.Normal[i] = rng.NormFloat64()
			}
			if ties {
				r.Normal = axis(d, 0, math.Copysign(1, r.Normal[0]))
			}
			rows = append(rows, r)
		}
		for _, v := range h.points {
			if ties {
				v[0] = math.Round(v[0])
			}
		}
		small, general := NewLinearMixer(h, goal, rows), NewLinearMixer(h, goal, rows)
		for range 5 {
			for i := range rows {
				rows[i].Offset = rng.NormFloat64()
			}
			p := lp.Problem{Rows: []lp.Constraint{{Lower: 1, Upper: 1}}}
			for _, r := range rows {
				p.Rows = append(p.Rows, lp.AtMost(nil, r.Offset))
			}
			for _, v := range h.points {
				p.Minimize, p.Rows[0].Coef = append(p.Minimize, floats.Dot(goal, v)), append(p.Rows[0].Coef, 1)
				for i, r := range rows {
					p.Rows[i+1].Coef = append(p.Rows[i+1].Coef, floats.Dot(r.Normal, v))
				}
			}
			want, err := lp.Solve(&p)
			if err != nil {
				t.Fatal(err)
			}
			feasible, ok := small.solveLinear(t.Context())
			if !ok {
				t.Fatalf("seed %d: the small program gave up", seed)
			}
			if feasible != (want.Status == lp.Optimal) || feasible && math.Abs(small.Value-want.Objective) > 1e-7 {
				t.Errorf("seed %d: %v with %v, the explicit program %v with %v", seed, feasible, small.Value,
					want.Status, want.Objective)
			}
			if !feasible {
				infeasible++
			} else {
				checkMixture(t, h, small)
			}
			lower, upper := make([]float64, d), make([]float64, d)
			h.Extent(lower, upper)
			box, err := geometry.NewBox(lower, upper)
			if err != nil {
				t.Fatal(err)
			}
			f, err := cost.NewLinear(goal, box)
			if err != nil {
				t.Fatal(err)
			}
			other, err := general.solve(t.Context(), cmdp.Task{Cost: f}, rows)
			if err != nil || other != feasible || feasible && math.Abs(general.Value-want.Objective) > 1e-6 {
				t.Errorf("seed %d: in general %v with %v, %v: want %v with %v", seed, other, general.Value, err,
					feasible, want.Objective)
			} else if feasible {
				checkMixture(t, h, general)
			}
		}
	}
	if infeasible < 100 {
		t.Errorf("%d infeasible programs: the test says little", infeasible)
	}
}

// TestMixerWarm wants a program that is solved again to need no more directions than the
// points of its mixture and one to prove it, and one that stays infeasible to need one.
func TestMixerWarm(t *testing.T) {
	h := randomHull(rand.New(rand.NewPCG(1, 42)), 200, 3)
	rows := []cmdp.Constraint{{Normal: []float64{0, 1, 0}, Offset: 0.5}, {Normal: []float64{0, 0, 1}, Offset: 0.2}}
	x := NewLinearMixer(h, []float64{-1, -1, -1}, rows)
	for i, limit := range []float64{0.5, -3} {
		rows[0].Offset = limit
		if _, err := x.Solve(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.asked = 0
		feasible, err := x.Solve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if most := len(x.Numbers) + 1; feasible && h.asked > most || !feasible && h.asked > 1 || feasible != (i == 0) {
			t.Errorf("feasible %v: %d directions", feasible, h.asked)
		}
	}
}

// TestCurvedMixer wants the point of a hull that is nearest to a centre, within a ball, to
// satisfy the optimality condition (v − c)·(w − v) ≥ 0 for all w in both sets, and again when
// the points have moved a little.
func TestCurvedMixer(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 43))
		h := randomHull(rng, 30, 2+int(seed%2))
		d := h.Dim()
		center, middle := make([]float64, d), make([]float64, d)
		for i := range d {
			center[i], middle[i] = 6*rng.Float64()-2, 1
		}
		radius := 1 + rng.Float64()
		ball, err := geometry.NewBall(middle, radius)
		if err != nil {
			t.Fatal(err)
		}
		low, high := make([]float64, d), make([]float64, d)
		for i := range d {
			low[i], high[i] = -2, 4
		}
		box, err := geometry.NewBox(low, high)
		if err != nil {
			t.Fatal(err)
		}
		weights := make([]float64, d)
		floats.AddConst(1, weights)
		squared, err := cost.NewSquared(center, weights, box)
		if err != nil {
			t.Fatal(err)
		}
		x := NewMixer(h, cmdp.Task{Cost: squared, Target: ball}, low, high)
		for range 3 {
			feasible, err := x.Solve(t.Context())
			if err != nil || !feasible {
				t.Fatalf("seed %d: feasible %v, %v", seed, feasible, err)
			}
			checkMixture(t, h, x)
			gradient := make([]float64, d)
			floats.SubTo(gradient, x.Point, center)
			// Random points of both sets, drawn from the hull and kept if inside the ball.
			for range 500 {
				w, sum := make([]float64, d), 0.0
				for _, v := range h.points {
					y := -math.Log(rng.Float64())
					floats.AddScaled(w, y, v)
					sum += y
				}
				floats.Scale(1/sum, w)
				floats.AddScaledTo(w, x.Point, 0.5, subtract(w, x.Point))
				if floats.Distance(w, middle, 2) > radius {
					continue
				}
				if floats.Dot(gradient, subtract(w, x.Point)) < -1e-4 {
					t.Errorf("seed %d: %v is nearer to %v than %v", seed, w, center, x.Point)
				}
			}
			if floats.Distance(x.Point, middle, 2) > radius+1e-6 {
				t.Errorf("seed %d: %v lies outside the ball", seed, x.Point)
			}
			for _, v := range h.points {
				v[0] += 0.01
			}
		}
	}
}

func subtract(a, b []float64) []float64 { return floats.SubTo(make([]float64, len(a)), a, b) }

// TestMixerWidened wants a point that widens the tolerance, so that the excess of the
// first phase counts as none, not to end the program before the second phase.
func TestMixerWidened(t *testing.T) {
	h := &hull{points: [][]float64{{1, 5e-9, 0}, {0, -9e-8, 0.5}, {1000, -1e-7, 0.5}}} // found in the order 1, 3, 2
	x := NewLinearMixer(h, []float64{1, 0, 0}, []cmdp.Constraint{{Normal: []float64{0, 1, 0}},
		{Normal: []float64{0, 0, 1}, Offset: 1}})
	x.Warm.Directions = [][]float64{{0, 0, 1}}
	if feasible, ok := x.solveLinear(t.Context()); !feasible || !ok || math.Abs(x.Point[0]) > 1e-6 ||
		math.Abs(x.Value-x.Point[0]) > 1e-6 {
		t.Errorf("feasible %v, %v, cost %g at %v: want 0 at %v", feasible, ok, x.Value, x.Point, h.points[1])
	}
}

// TestPolyhedralMixer wants a task with an affine cost and a box to be solved as a linear
// program, with the same answer in returns of very different units.
func TestPolyhedralMixer(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 44))
		h, unit := randomHull(rng, 12, 3), []float64{1e6, 1, 1e-5}
		low, high, side := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		for i := range unit {
			for _, v := range h.points {
				v[i] *= unit[i]
			}
			low[i], high[i], side[i] = -2*unit[i], 4*unit[i], (rng.Float64()+0.5)*unit[i]
		}
		box, err := geometry.NewBox(low, high)
		if err != nil {
			t.Fatal(err)
		}
		side[0] = high[0]
		within, err := geometry.NewBox(low, side)
		if err != nil {
			t.Fatal(err)
		}
		target, err := within.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		goal, err := cost.NewAffine([]float64{-1 / unit[0], 0, 0.3 / unit[2]}, rng.NormFloat64(), box)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Cost: goal, Target: target}
		x := NewMixer(h, task, low, high)
		if !x.linear || len(x.rows) != 2 {
			t.Fatalf("linear %v with %d rows: want 2", x.linear, len(x.rows))
		}
		feasible, err := x.Solve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		other := &Mixer{points: h, task: task, Point: make([]float64, 3)}
		also, err := other.Solve(t.Context())
		if err != nil || also != feasible || feasible &&
			(math.Abs(x.Value-other.Value) > 1e-6 || math.Abs(x.Value-goal.Value(x.Point)) > 1e-9) {
			t.Errorf("seed %d: %v with %v, in general %v with %v, %v", seed, feasible, x.Value, also, other.Value, err)
		}
		again, err := x.solveInGeneral(t.Context())
		if err != nil || again != feasible || feasible && math.Abs(x.Value-goal.Value(x.Point)) > 1e-6 {
			t.Errorf("seed %d: %v with %v of %v after rounding, %v", seed, again, x.Value, goal.Value(x.Point), err)
		}
	}
}
