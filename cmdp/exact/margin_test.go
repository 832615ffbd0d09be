package exact_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// TestRoundingDoesNotProve has pairs of a model and a target that meet, of which one is
// computed with rounding errors far above the other's: the returns cancel over the steps,
// or the ball is large and far away. Rounding alone must not separate them, not even for
// a certificate whose numbers are each wrong by as much as rounding may make them.
func TestRoundingDoesNotProve(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 4))
	ctx := context.Background()
	bites := map[string]int{}
	for trial := range 200 {
		sin, cos := math.Sincos(2 * math.Pi * rng.Float64())
		n := []float64{cos, sin}
		for _, kind := range []struct {
			name string
			size float64
		}{{"cancelling returns", 0.5}, {"large ball", 1e8}} {
			name, size := kind.name, kind.size
			m := bandit(t, []float64{rng.Float64(), rng.Float64()})
			if size < 1 {
				m = cancelling(t, rng)
			}
			v := make([]float64, 2)
			cmdp.NewEvaluator(m).Returns(v, cmdp.Uniform{Shape: m.Shape()})
			center := []float64{v[0] - size*cos, v[1] - size*sin}
			ball, err := geometry.NewBall(center, size)
			if err != nil {
				t.Fatal(err)
			}
			support := touchingTarget{set: ball, corners: [][]float64{center}, radius: size}.support(n)
			truth, _ := new(big.Float).Sub(rationalOptimum(t, m, n), support).Float64()
			if truth > 0 {
				continue // they are apart
			}
			proved, forged, err := exact.Separates(ctx, m, ball, n)
			if err != nil {
				t.Fatal(err)
			}
			if proved {
				t.Errorf("trial %d: %s: a direction that separates by %g counts as a proof", trial, name, truth)
			}
			if err := exact.Verify(ctx, m, cmdp.Task{Target: ball}, forged); !errors.Is(err, exact.ErrNotProved) {
				t.Errorf("trial %d: %s: %+v passes where the truth is %g: %v", trial, name, forged, truth, err)
			}
			if forged.Value-forged.Support > 2*forged.Margin {
				bites[name]++
			}
		}
	}
	if bites["cancelling returns"] < 20 || bites["large ball"] < 20 {
		t.Errorf("%v: want many where rounding matters", bites)
	}
}

// cancelling is a model of one policy, whose returns of 1e8 cancel.
func cancelling(t *testing.T, rng *rand.Rand) *cmdp.Model {
	t.Helper()
	b := cmdp.NewBuilder(cmdp.ModelSpec{Horizon: 3, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 1)
	large := []float64{1e8 * rng.Float64(), 1e8 * rng.Float64()}
	for h, r := range [][]float64{large, {rng.Float64(), rng.Float64()}, {-large[0], -large[1]}} {
		if err := b.Add(cmdp.Row{Step: h + 1, Returns: r, Next: []cmdp.Transition{{Next: 0, Probability: 1}}}); err !=
			nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestHalfspacesThatCutByLittle states half-spaces of a ball that cut off less of it than
// the verifiers let pass: they must not prove more than the ball does.
func TestHalfspacesThatCutByLittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 4))
	ctx := context.Background()
	for trial := range 100 {
		sin, cos := math.Sincos(2 * math.Pi * rng.Float64())
		n, center := []float64{cos, sin}, []float64{100 * rng.NormFloat64(), 100 * rng.NormFloat64()}
		ball, err := geometry.NewBall(center, 1)
		if err != nil {
			t.Fatal(err)
		}
		// One return, inside the ball by 1e-11 of its coordinates.
		h := cos*center[0] + sin*center[1] + 1
		deep := 1e-11 * math.Abs(h)
		v := []float64{center[0] + (1-deep)*cos, center[1] + (1-deep)*sin}
		m := bandit(t, v)
		cut := cmdp.Constraint{Normal: n, Offset: h - 1e-10*math.Abs(h)}
		c := &exact.Certificate{Direction: n, Rows: []cmdp.Constraint{cut}, Weights: []float64{1}}
		if err := exact.VerifyRational(ctx, m, cmdp.Task{Target: ball}, c); !errors.Is(err, exact.ErrNotProved) {
			t.Errorf("trial %d: the target contains the only return, yet is out of reach: %v", trial, err)
		}
		// The cost −n·v is least at −h; the cut half-space would prove 1e-10 more.
		x, err := geometry.NewBox([]float64{-1e3, -1e3}, []float64{1e3, 1e3})
		if err != nil {
			t.Fatal(err)
		}
		g, err := cost.NewLinear([]float64{-cos, -sin}, x)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Cost: g, Target: ball}
		p := &exact.Proof{Rows: []cmdp.Constraint{cut}, Prices: []float64{1}, Bound: -cut.Offset}
		if bound, err := exact.VerifyBoundRational(ctx, m, task, p); !errors.Is(err, exact.ErrNotProved) {
			t.Errorf("trial %d: bound %v of %v, %v", trial, bound, -h, err)
		}
		// A support that is too small by less than VerifyBound lets pass moves its bound by nothing.
		cut.Offset = h - 5e-13*math.Abs(h)
		p = &exact.Proof{Points: [][]float64{{0, 0}}, Subgradients: [][]float64{{-cos, -sin}}, Values: []float64{0},
			Weights: []float64{1},
			Psi:     n, Support: cut.Offset, Rows: []cmdp.Constraint{cut}, Prices: []float64{1},
			Margin: 1e-14 * math.Abs(h)}
		p.Bound = p.Value - p.Support - p.Margin
		if bound, err := exact.VerifyBound(ctx, m, task, p); err == nil && bound > -h {
			t.Errorf("trial %d: bound %v above the optimum, %v", trial, bound, -h)
		}
	}
}

// TestNegativeWeights has a sum of tangents of (v−1/2)² with a negative weight, which
// lies above it: 2·0 − (1/4 − v) = 1/4 at the only return, v = 1/2, where the cost is 0.
func TestNegativeWeights(t *testing.T) {
	m := bandit(t, []float64{0.5})
	g, err := cost.NewSquared([]float64{0.5}, []float64{1}, mustBox(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	p := &exact.Proof{Points: [][]float64{{0.5}, {0}},
		Values: []float64{g.Value([]float64{0.5}), g.Value([]float64{0})}, Weights: []float64{2, -1}, Psi: []float64{0}}
	theta, conjugate := 0.0, 0.0
	for i, x := range p.Points {
		s := make([]float64, 1)
		g.Subgradient(s, x)
		p.Subgradients = append(p.Subgradients, s)
		theta, conjugate = theta+p.Weights[i]*s[0], conjugate+p.Weights[i]*(s[0]*x[0]-p.Values[i])
	}
	p.Value, p.Margin = theta*0.5, 1e-12
	p.Bound = p.Value - conjugate - p.Margin
	if p.Bound <= 0 {
		t.Fatalf("bound %g: want one above the optimum", p.Bound)
	}
	if bound, err := exact.VerifyBound(context.Background(), m, cmdp.Task{Cost: g}, p); !errors.Is(err,
		exact.ErrNotProved) {
		t.Errorf("bound %g of a cost that is 0: %v", bound, err)
	}
}

// TestWeightsAreDividedOut has weights that sum to 1 within the tolerance, but not to 1:
// tangents of a cost of 1e6 must not prove 1e-10 more than that.
func TestWeightsAreDividedOut(t *testing.T) {
	m := bandit(t, []float64{0})
	g, err := cost.NewAffine([]float64{1}, 1e6, mustBox(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	p := &exact.Proof{Points: [][]float64{{0}}, Subgradients: [][]float64{{1}}, Values: []float64{1e6},
		Weights: []float64{1 + 1e-10}, Psi: []float64{0}, Margin: 1e-8}
	p.Bound = 1e6*p.Weights[0] - p.Margin
	if bound, err := exact.VerifyBound(context.Background(), m, cmdp.Task{Cost: g}, p); err == nil && bound > 1e6 {
		t.Errorf("bound %.17g of a cost of 1e6", bound)
	}
}

// TestLongDiscount has γ = 0.999, where values are a thousand times the returns of a
// step: the limit on how often (0, 1) may be had instead of (1, 0) prices one for one, and
// a target is out of reach as soon as it is missed by more than rounding.
func TestLongDiscount(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 0.999, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}},
		2)
	for s := range 2 {
		for a, r := range [][]float64{{1, 0}, {0, 1}} {
			row := cmdp.Row{Step: cmdp.EveryStep, State: s, Action: a, Returns: r,
				Next: []cmdp.Transition{{Next: s, Probability: 0.5}, {Next: 1 - s, Probability: 0.5}}}
			if err := b.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	x, err := geometry.NewBox([]float64{-10, -10}, []float64{2000, 2000})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r, err := exact.Solve(ctx, m, cmdp.Task{Cost: linear(t, x, []float64{0, -1}),
		Target: atMost(t, x, []float64{math.Inf(1), 700})}, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != exact.Optimal || math.Abs(r.Objective+700) > 1e-7 || math.Abs(r.Returns[0]-300) > 1e-6 ||
		math.Abs(r.Prices[0].Value-1) > 1e-9 || r.Bound > -700+1e-9 || r.Gap > 1e-7 {
		t.Errorf("%+v: want returns (300, 700) with price 1", r)
	}
	// Every policy has the sum 1000, up to the rounding of 0.999.
	for _, short := range []float64{1e-5, 1e-6, 1e-8, 1e-10, 0, -1e-10, -1e-8} {
		half, err := geometry.NewHalfspace([]float64{1, 1}, 1/(1-0.999)-short)
		if err != nil {
			t.Fatal(err)
		}
		target, err := geometry.Restrict(half, x)
		if err != nil {
			t.Fatal(err)
		}
		checkLongDiscount(t, m, cmdp.Task{Target: target}, short)
	}
}

// checkLongDiscount judges the verdict on a target that all policies miss by short.
func checkLongDiscount(t *testing.T, m *cmdp.Model, task cmdp.Task, short float64) {
	t.Helper()
	ctx := context.Background()
	r, err := exact.Solve(ctx, m, task, exact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Tolerance > 3e-10*1000*math.Sqrt2 {
		t.Errorf("missed by %g: tolerance %g", short, r.Tolerance)
	}
	switch r.Status {
	case exact.Optimal:
		if short > 1e-6 || short > 0 && r.Violation < 0.9*short/math.Sqrt2-1e-11 || r.Violation > r.Tolerance {
			t.Errorf("missed by %g: optimal with a violation of %g", short, r.Violation)
		}
	case exact.Infeasible:
		if err := exact.Verify(ctx, m, task, r.Certificate); err != nil || short <= 0 {
			t.Errorf("missed by %g: infeasible, %v", short, err)
		}
		if want := short / math.Sqrt2; short >= 1e-6 && math.Abs(r.Certificate.Distance-want) > 1e-3*want {
			t.Errorf("missed by %g: distance %g, want %g", short, r.Certificate.Distance, want)
		}
	default:
		t.Errorf("missed by %g: %v", short, r.Status)
	}
	if short >= 1e-6 {
		if err := exact.VerifyRational(ctx, m, task, r.Certificate); err != nil {
			t.Errorf("missed by %g: %v", short, err)
		}
	}
}

// TestObliqueSlaterBall works out the deepest point by hand: the returns are the triangle
// of (0, 0), (4, 0) and (0, 4), of which 3x+4y ≤ 10 and 4x+3y ≥ 2 leave a strip. Both
// sides are equally far where x+y = 12/7, and farthest at (12/7, 0): by 34/35.
func TestObliqueSlaterBall(t *testing.T) {
	m := bandit(t, []float64{0, 0}, []float64{4, 0}, []float64{0, 4})
	must := func(s geometry.Set, err error) geometry.Set {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	wide, err := geometry.NewBox([]float64{-50, -50}, []float64{50, 50})
	if err != nil {
		t.Fatal(err)
	}
	upper, lower := must(geometry.NewHalfspace([]float64{3, 4}, 10)), must(geometry.NewHalfspace([]float64{-8, -6}, -4))
	disc := must(geometry.NewBall([]float64{1, 1}, 1))
	below := must(geometry.NewHalfspace([]float64{1, 1}, 2))
	for name, test := range map[string]struct {
		sets  []geometry.Set
		want  float64
		exact bool
		at    []float64
	}{
		"strip":     {[]geometry.Set{upper, lower}, 34.0 / 35, true, []float64{12.0 / 7, 0}},
		"half":      {[]geometry.Set{upper}, 2, true, []float64{0, 0}},
		"half disc": {[]geometry.Set{disc, below}, 0.5, false, []float64{1 - 0.5/math.Sqrt2, 1 - 0.5/math.Sqrt2}},
	} {
		set := test.sets[0]
		if len(test.sets) > 1 {
			set = must(geometry.NewIntersection(test.sets...))
		}
		target, err := geometry.Restrict(set, wide)
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.PlannerOf(t, m).Slack(context.Background(), cmdp.Task{Target: target}, exact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if test.exact {
			if math.Abs(r.Radius-test.want) > 1e-9 || math.Abs(r.Bound-test.want) > 1e-9 ||
				math.Hypot(r.Returns[0]-test.at[0], r.Returns[1]-test.at[1]) > 1e-8 {
				t.Errorf("%s: radius %.12g, bound %.12g at %v: want %.12g at %v", name, r.Radius, r.Bound, r.Returns,
					test.want, test.at)
			}
			continue
		}
		// The cross-polytope that is asked for has its flat sides where the half disc has its
		// flat side: only that ball fits that stands on it, up to the factor of the bound.
		if r.Radius > test.want+1e-9 || r.Radius < test.want/math.Sqrt2-1e-6 || r.Bound < test.want-1e-9 {
			t.Errorf("%s: radius %.12g, bound %.12g at %v: want about %.12g", name, r.Radius, r.Bound, r.Returns,
				test.want)
		}
		for i := range 360 {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / 360)
			at := []float64{r.Returns[0] + r.Radius*cos, r.Returns[1] + r.Radius*sin}
			if math.Hypot(at[0]-1, at[1]-1) > 1+1e-8 || at[0]+at[1] > 2+1e-8 {
				t.Errorf("%s: %v is in the ball, but not in the target", name, at)
			}
		}
	}
}
