package exact_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/geometry"
)

// everyPolicy returns the returns of all deterministic policies of a small model:
// their hull is the achievable set.
func everyPolicy(m *cmdp.Model) [][]float64 {
	p := make(cmdp.Deterministic, m.Horizon())
	for h := range p {
		p[h] = make([]int32, m.States())
	}
	var all [][]float64
	e := cmdp.NewEvaluator(m)
	var visit func(h, s int)
	visit = func(h, s int) {
		if s == m.States() {
			h, s = h+1, 0
		}
		if h == m.Horizon() {
			v := make([]float64, m.Dim())
			e.Returns(v, p)
			all = append(all, v)
			return
		}
		for a := range max(1, m.Shape().Actions(h, s)) {
			p[h][s] = int32(a)
			visit(h, s+1)
		}
	}
	visit(0, 0)
	return all
}

// TestRanges compares with all deterministic policies.
func TestRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	for trial := range 40 {
		m := randomModel(t, rng, shapeOf{states: 2, actions: 3, horizon: 2, dim: 1 + rng.IntN(3), successors: 2,
			rests: trial%2 == 0})
		lower, upper, err := exact.PlannerOf(t, m).Ranges(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i := range lower {
			least, most := math.Inf(1), math.Inf(-1)
			for _, v := range everyPolicy(m) {
				least, most = min(least, v[i]), max(most, v[i])
			}
			if math.Abs(least-lower[i]) > 1e-12 || math.Abs(most-upper[i]) > 1e-12 {
				t.Errorf("trial %d: coordinate %d: [%g, %g], want [%g, %g]", trial, i, lower[i], upper[i], least, most)
			}
		}
	}
}

// TestDistance compares with the projection on the hull of all policies.
func TestDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 4))
	for trial := range 60 {
		m := randomModel(t, rng, shapeOf{states: 2, actions: 2, horizon: 2, dim: 1 + rng.IntN(3), successors: 2})
		hull, err := geometry.NewHull(everyPolicy(m))
		if err != nil {
			t.Fatal(err)
		}
		center, near := make([]float64, m.Dim()), make([]float64, m.Dim())
		for i := range center {
			center[i] = 3 * rng.Float64()
		}
		radius := 0.3 * rng.Float64()
		ball, err := geometry.NewBall(center, radius)
		if err != nil {
			t.Fatal(err)
		}
		hull.Project(near, center)
		want := 0.0
		for i := range near {
			want = math.Hypot(want, near[i]-center[i])
		}
		want = math.Max(0, want-radius)
		r, err := exact.PlannerOf(t, m).Distance(context.Background(), cmdp.Task{Target: ball}, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Lower > want+1e-9 || r.Upper < want-1e-8 || r.Upper-r.Lower > 1e-7 {
			t.Errorf("trial %d: distance in [%.12g, %.12g], want %.12g", trial, r.Lower, r.Upper, want)
		}
	}
}

// slackAfterFew checks that after fewer value iterations than a slack took its bounds hold, and only get better.
func slackAfterFew(t *testing.T, m *cmdp.Model, target geometry.Compact, whole *exact.SlackResult) {
	t.Helper()
	bound := math.Inf(1)
	for n := 1; n < whole.Iterations; n++ {
		r, err := exact.PlannerOf(t, m).Slack(t.Context(), cmdp.Task{Target: target}, exact.Options{Iterations: n})
		if err != nil {
			t.Fatal(err)
		}
		if r.Bound > bound || r.Bound < whole.Radius-1e-9 || r.Radius > whole.Bound+1e-9 ||
			r.Iterations > whole.Iterations {
			t.Errorf("radius %g ≤ %g after %d of %d value iterations, before %g: want %g ≤ %g", r.Radius, r.Bound,
				r.Iterations, whole.Iterations, bound, whole.Radius, whole.Bound)
		}
		bound = r.Bound
	}
}

// TestSlack compares with a known answer: a box around the returns of one policy,
// and a ball.
func TestSlack(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 4))
	ctx := context.Background()
	for trial := range 60 {
		m := randomModel(t, rng, shapeOf{states: 3, actions: 3, horizon: 3, dim: 1 + rng.IntN(3), successors: 3})
		at, lower, upper := randomReturns(m, rng), make([]float64, m.Dim()), make([]float64, m.Dim())
		for i := range at {
			lower[i], upper[i] = at[i]-0.25, at[i]+0.25
		}
		b, err := geometry.NewBox(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		target, err := b.Bounded()
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.PlannerOf(t, m).Slack(ctx, cmdp.Task{Target: target}, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, loose := box(t, m), false // sides beyond all returns bound nothing
		for i := range at {
			loose = loose || lower[i] <= x.Lower()[i] || upper[i] >= x.Upper()[i]
		}
		if r.Radius < 0.25-1e-9 || !loose && r.Radius > 0.25+1e-9 || math.Abs(r.Bound-r.Radius) > 1e-9 {
			t.Errorf("trial %d: box: radius %g, bound %g, want 0.25", trial, r.Radius, r.Bound)
		}
		slackAfterFew(t, m, target, r)
		ball, err := geometry.NewBall(at, 0.25)
		if err != nil {
			t.Fatal(err)
		}
		r, err = exact.PlannerOf(t, m).Slack(ctx, cmdp.Task{Target: ball}, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		slackAfterFew(t, m, ball, r)
		if root := math.Sqrt(float64(m.Dim())); r.Radius > 0.25+1e-9 || r.Radius < 0.25/root-1e-6 ||
			r.Bound < 0.25-1e-9 {
			t.Errorf("trial %d: ball: radius %g, bound %g, want 0.25", trial, r.Radius, r.Bound)
		}
		for range 20 { // the ball around the returns lies in the target
			at := append([]float64(nil), r.Returns...)
			step, length := make([]float64, len(at)), 0.0
			for i := range step {
				step[i] = rng.NormFloat64()
				length = math.Hypot(length, step[i])
			}
			for i := range at {
				at[i] += step[i] / length * r.Radius
			}
			if !geometry.Contains(ball, at, 1e-8) {
				t.Errorf("trial %d: %v is outside", trial, at)
			}
		}
	}
}

// TestSlackExtremes has no target, and one out of reach.
func TestSlackExtremes(t *testing.T) {
	ctx := context.Background()
	m := randomModel(t, rand.New(rand.NewPCG(9, 5)), shapeOf{states: 3, actions: 3, horizon: 3, dim: 2, successors: 3})
	r, err := exact.PlannerOf(t, m).Slack(ctx, cmdp.Task{}, exact.Options{})
	if err != nil || !math.IsInf(r.Radius, 1) {
		t.Errorf("no target: %+v, %v", r, err)
	}
	far, err := geometry.NewPoint([]float64{-5, -5})
	if err != nil {
		t.Fatal(err)
	}
	r, err = exact.PlannerOf(t, m).Slack(ctx, cmdp.Task{Target: far}, exact.Options{})
	if err != nil || r.Radius != 0 {
		t.Errorf("out of reach: %+v, %v", r, err)
	}
}

// TestPrices compares dual prices with the change of the optimum.
func TestPrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 4))
	ctx, binding := context.Background(), 0
	const step = 1e-5
	for trial := range 150 {
		m := randomModel(t, rng, shapeOf{states: 3, actions: 3, horizon: 3, dim: 3, successors: 3,
			stepwise: trial%2 == 0})
		x := box(t, m)
		cost := linear(t, x, []float64{1, rng.NormFloat64() / 4, 0})
		bounds := randomReturns(m, rng)
		bounds[0] = math.Inf(1)
		for i, l := range x.Lower() {
			bounds[i] = max(bounds[i], l+0.01)
		}
		optimum := func(i int, shift float64) *exact.Result {
			b := append([]float64(nil), bounds...)
			if i >= 0 {
				b[i] += shift
			}
			r, err := exact.Solve(ctx, m, cmdp.Task{Cost: cost, Target: atMost(t, x, b)}, exact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := optimum(-1, 0)
		if r.Status != exact.Optimal {
			continue
		}
		norm := 0.0
		for _, p := range r.Prices {
			i := 1
			if p.Normal[2] != 0 {
				i = 2
			}
			norm = math.Hypot(norm, p.Multiplier)
			down, up := optimum(i, -step), optimum(i, step)
			if down.Status != exact.Optimal {
				continue
			}
			// At a kink any multiplier between the slopes is right.
			left, right := (down.Objective-r.Objective)/step, (r.Objective-up.Objective)/step
			if p.Multiplier > left+1e-5 || math.Abs(p.Value-right) > 1e-5 || p.Value > p.Multiplier {
				t.Errorf("trial %d: price %g, multiplier %g, slopes %g and %g", trial, p.Value, p.Multiplier, left, right)
			}
			if p.Value > 1e-6 {
				binding++
			}
		}
		if len(r.Prices) == 2 && math.Abs(norm-r.DualNorm) > 1e-9*(1+norm) || r.Rho != 2*r.DualNorm {
			t.Errorf("trial %d: dual of norm %g and rho %g, prices of norm %g", trial, r.DualNorm, r.Rho, norm)
		}
	}
	if binding < 50 {
		t.Errorf("only %d binding constraints", binding)
	}
}

// TestWhole has a half-space that is met outside the box of possible returns only:
// with Whole the distance is that from the half-space itself.
func TestWhole(t *testing.T) {
	ctx := context.Background()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	for a, r := range [][]float64{{0, 0}, {1, 1}} {
		if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, Action: a, Next: []cmdp.Transition{{Next: 0, Probability: 1}},
			Returns: r}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	half, err := geometry.NewHalfspace([]float64{-1, 0.2}, -0.95)
	if err != nil {
		t.Fatal(err)
	}
	target, err := geometry.Restrict(half, box(t, m))
	if err != nil {
		t.Fatal(err)
	}
	for _, whole := range []geometry.Set{nil, half} {
		want, support := 0.375*math.Sqrt2, -0.75/math.Sqrt2
		if whole != nil {
			want, support = 0.15/math.Hypot(1, 0.2), -0.95/math.Hypot(1, 0.2)
		}
		r, err := exact.PlannerOf(t, m).Distance(ctx, cmdp.Task{Target: target, Whole: whole}, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.Upper-want) > 1e-9 || math.Abs(r.Lower-want) > 1e-9 || math.Abs(r.Support-support) > 1e-9 ||
			r.Whole != (whole != nil) {
			t.Errorf("whole %v: %+v, want distance %g and support %g", whole, r, want, support)
		}
		s, err := exact.Solve(ctx, m, cmdp.Task{Target: target, Whole: whole}, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := exact.Verify(ctx, m, cmdp.Task{Target: target}, s.Certificate); err != nil {
			t.Errorf("whole %v: %v", whole, err)
		}
		if err := exact.VerifyRational(ctx, m, cmdp.Task{Target: target}, s.Certificate); err != nil {
			t.Errorf("whole %v: %v", whole, err)
		}
	}
}
