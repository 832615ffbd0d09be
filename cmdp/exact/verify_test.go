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
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
)

// TestCertificates checks that every infeasible verdict is confirmed by the verifiers,
// that distance and separation agree, and that spoilt certificates are refused.
func TestCertificates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 4))
	ctx, count := context.Background(), 0
	for trial := range 200 {
		sh := shapeOf{states: 1 + rng.IntN(4), actions: 3, horizon: 1 + rng.IntN(4), dim: 1 + rng.IntN(3),
			successors: 3, integer: trial%5 == 0}
		if trial%4 == 0 {
			sh.horizon, sh.discount = 0, 0.9
		}
		m := randomModel(t, rng, sh)
		task := cmdp.Task{Target: farTarget(t, rng, m)}
		r, err := exact.Solve(ctx, m, task, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		exact.Fits(t, m, task, r)
		if r.Status != exact.Infeasible {
			continue
		}
		count++
		c := r.Certificate
		if err := exact.Verify(ctx, m, task, c); err != nil {
			t.Errorf("trial %d: %v", trial, err)
		}
		if err := exact.VerifyRational(ctx, m, task, c); err != nil {
			t.Errorf("trial %d: %v", trial, err)
		}
		if below := c.Value - c.Support; below > c.Distance+1e-9 || below < c.Distance-1e-6*(1+c.Distance) {
			t.Errorf("trial %d: separation %.12g, distance %.12g", trial, below, c.Distance)
		}
		if math.Abs(r.Violation-c.Distance) > 1e-9*(1+c.Distance) {
			t.Errorf("trial %d: violation %g, distance %g", trial, r.Violation, c.Distance)
		}
		spoil(t, trial, m, task, c)
	}
	if count < 100 {
		t.Errorf("only %d infeasible problems", count)
	}
}

// farTarget draws a ball, box or point that few policies reach.
func farTarget(t *testing.T, rng *rand.Rand, m *cmdp.Model) geometry.Compact {
	t.Helper()
	at, lower, upper := make([]float64, m.Dim()), make([]float64, m.Dim()), make([]float64, m.Dim())
	for i := range at {
		at[i] = 3 * rng.NormFloat64()
		lower[i], upper[i] = at[i]-0.1, at[i]+0.2
	}
	var c geometry.Compact
	var err error
	switch rng.IntN(3) {
	case 0:
		c, err = geometry.NewBall(at, 0.2)
	case 1:
		var b *geometry.Box
		if b, err = geometry.NewBox(lower, upper); err == nil {
			c, err = b.Bounded()
		}
	default:
		c, err = geometry.NewPoint(at)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func spoil(t *testing.T, trial int, m *cmdp.Model, task cmdp.Task, good *exact.Certificate) {
	t.Helper()
	ctx := context.Background()
	flipped, short, heavy := *good, *good, *good
	flipped.Direction = append([]float64(nil), good.Direction...)
	for i := range flipped.Direction {
		flipped.Direction[i] *= -1
	}
	short.Direction = good.Direction[1:]
	for name, c := range map[string]*exact.Certificate{"flipped": &flipped, "short": &short, "missing": nil} {
		if err := exact.Verify(ctx, m, task, c); !errors.Is(err, exact.ErrNotProved) {
			t.Errorf("trial %d: %s certificate: %v", trial, name, err)
		}
	}
	heavy.Rows = append([]cmdp.Constraint(nil), good.Rows...)
	heavy.Rows[0].Offset -= 1 // no longer contains the target
	if err := exact.VerifyRational(ctx, m, task, &heavy); !errors.Is(err, exact.ErrNotProved) {
		t.Errorf("trial %d: a half-space that cuts the target: %v", trial, err)
	}
	none := *good
	none.Rows, none.Weights = nil, nil
	if err := exact.VerifyRational(ctx, m, task, &none); !errors.Is(err, exact.ErrNotProved) {
		t.Errorf("trial %d: no half-spaces: %v", trial, err)
	}
}

// TestBounds checks the bounds of optimal results without the solver, and those of
// linear problems in rational arithmetic.
func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 4))
	ctx := context.Background()
	for trial := range 100 {
		sh := shapeOf{states: 1 + rng.IntN(4), actions: 3, horizon: 1 + rng.IntN(4), dim: 1 + rng.IntN(3),
			successors: 3, stepwise: trial%2 == 0}
		m := randomModel(t, rng, sh)
		x := box(t, m)
		task := cmdp.Task{Cost: randomCost(t, rng, x),
			Target: randomTarget(t, rng, x, randomReturns(m, rng), randomReturns(m, rng))}
		r, err := exact.Solve(ctx, m, task, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if r.Status != exact.Optimal {
			continue
		}
		bound, err := exact.VerifyBound(ctx, m, task, r.Proof)
		if err != nil || math.Abs(bound-r.Bound) >= 1e-9*(1+math.Abs(bound)) {
			t.Errorf("trial %d: bound %.12g, verified %.12g: %v", trial, r.Bound, bound, err)
		}
		bad := *r.Proof
		bad.Values = append([]float64{r.Proof.Values[0] + 1}, r.Proof.Values[1:]...)
		if _, err := exact.VerifyBound(ctx, m, task, &bad); !errors.Is(err, exact.ErrNotProved) {
			t.Errorf("trial %d: a tangent above the cost: %v", trial, err)
		}
		checkRational(t, trial, m, r.Proof)
	}
}

// checkRational compares V* in floating point with V* in rational arithmetic.
func checkRational(t *testing.T, trial int, m *cmdp.Model, p *exact.Proof) {
	t.Helper()
	theta := make([]*big.Rat, m.Dim())
	for i := range theta {
		sum := p.Psi[i]
		for j, w := range p.Weights {
			sum += w * p.Subgradients[j][i]
		}
		theta[i] = new(big.Rat).SetFloat64(sum)
	}
	v, err := exact.RationalValue(context.Background(), m, theta)
	if err != nil {
		t.Fatal(err)
	}
	value, _ := v.Float64()
	if math.Abs(value-p.Value) > p.Margin {
		t.Errorf("trial %d: V* %.17g, in rational arithmetic %.17g, margin %g", trial, p.Value, value, p.Margin)
	}
}

// TestRationalBounds proves the bounds of linear problems in rational arithmetic: they
// are at least those of the solver, within its margin, and not above the optimum.
func TestRationalBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 4))
	ctx, priced := context.Background(), 0
	for trial := range 120 {
		sh := shapeOf{states: 1 + rng.IntN(4), actions: 3, horizon: 1 + rng.IntN(5), dim: 1 + rng.IntN(3),
			successors: 3, integer: trial%5 == 0}
		if trial%4 == 0 {
			sh.horizon, sh.discount = 0, 0.9
		}
		m := randomModel(t, rng, sh)
		x := box(t, m)
		c := make([]float64, sh.dim)
		for i := range c {
			c[i] = rng.NormFloat64()
		}
		affine, err := cost.NewAffine(c, rng.NormFloat64(), x)
		if err != nil {
			t.Fatal(err)
		}
		var task cmdp.Task
		if m.Horizon() == 0 {
			task, _ = randomStationaryTask(t, rng, m, c)
		} else {
			task, _ = randomTask(t, rng, m, x, c)
		}
		task.Cost = affine
		r, err := exact.Solve(ctx, m, task, exact.Options{})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if r.Status != exact.Optimal {
			continue
		}
		bound, err := exact.VerifyBoundRational(ctx, m, task, r.Proof)
		if err != nil {
			t.Errorf("trial %d: %v", trial, err)
			continue
		}
		own := new(big.Rat).SetFloat64(r.Proof.Bound)
		above, _ := new(big.Rat).Sub(bound, own).Float64()
		most, rounding := 2*r.Proof.Margin, 1e-15*(1+math.Abs(r.Objective))
		if m.Horizon() == 0 { // a bound of the accuracy of float64 instead of V*
			above, rounding = math.Abs(above), 1e-11
			most += rounding
		}
		if !(above >= 0 && above <= most) {
			t.Errorf("trial %d: bound %v, in rational arithmetic higher by %g: want at least 0 and at most %g", trial,
				r.Proof.Bound, above, most)
		}
		if x, _ := bound.Float64(); x > r.Objective+r.DualNorm*r.Tolerance+rounding {
			t.Errorf("trial %d: bound %v above the objective %v", trial, x, r.Objective)
		}
		spoilBound(t, trial, m, task, r.Proof)
		if r.DualNorm > 0 {
			priced++
		}
	}
	if priced < 20 {
		t.Errorf("only %d problems with a price", priced)
	}
}

// TestRationalValuesOfTotals compares values in rational arithmetic, of models with traps and places where totals grow,
// with the optimum in floating point, in directions of either sign. There is none where that has no bound.
func TestRationalValuesOfTotals(t *testing.T) {
	found := make(map[string]int)
	for trial := range 400 {
		rng := rand.New(rand.NewPCG(uint64(trial), 24))
		p := drawEndless(t, rng, false)
		p.Goal, p.Constraints, p.Target = problem.Goal{}, nil, nil
		task, err := query.TaskOf(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		dir := make([]float64, p.Model.Dim())
		theta := make([]*big.Rat, len(dir))
		for i := range dir {
			dir[i] = []float64{-1, 0, 0, 0.5, 1}[rng.IntN(5)]
			theta[i] = new(big.Rat).SetFloat64(dir[i])
		}
		task.Cost, err = cost.NewLinear(dir, task.Box)
		if err != nil {
			t.Fatal(err)
		}
		r, err := exact.Solve(t.Context(), p.Model, task, exact.Options{Workers: 1})
		v, none := exact.RationalValue(t.Context(), p.Model, theta)
		switch {
		case err != nil || r.Status == exact.Unbounded:
			found["none"]++
			if none == nil || errors.Is(none, exact.ErrNoTotal) != errors.Is(err, exact.ErrNoTotal) {
				t.Errorf("trial %d: %v, %v in rational arithmetic: want none (%v)", trial, v, none, err)
			}
		case none != nil:
			t.Errorf("trial %d: %v: want %v", trial, none, r.Objective)
		default:
			found["value"]++
			if x, _ := v.Float64(); x > r.Objective+1e-12*(1+math.Abs(r.Objective)) ||
				x < r.Objective-1e-9*(1+math.Abs(r.Objective)) {
				t.Errorf("trial %d: V* is at least %.17g in rational arithmetic: want %.17g", trial, x, r.Objective)
			}
		}
	}
	if found["none"] < 50 || found["value"] < 100 {
		t.Errorf("%v: want many of both", found)
	}
}

func spoilBound(t *testing.T, trial int, m *cmdp.Model, task cmdp.Task, good *exact.Proof) {
	t.Helper()
	curved, err := cost.NewSquared(make([]float64, m.Dim()), ones(m.Dim()), box(t, m))
	if err != nil {
		t.Fatal(err)
	}
	short, cut, negative := *good, *good, *good
	short.Prices = append([]float64{1}, good.Prices...)
	for name, check := range map[string]struct {
		task  cmdp.Task
		proof *exact.Proof
	}{
		"no proof": {task, nil}, "a curved cost": {cmdp.Task{Cost: curved, Target: task.Target}, good},
		"prices without rows": {task, &short},
	} {
		if _, err := exact.VerifyBoundRational(context.Background(), m, check.task, check.proof); !errors.Is(err,
			exact.ErrNotProved) {
			t.Errorf("trial %d: %s: %v", trial, name, err)
		}
	}
	if len(good.Rows) == 0 {
		return
	}
	cut.Rows = append([]cmdp.Constraint(nil), good.Rows...)
	cut.Rows[0].Offset--
	negative.Prices = append([]float64{-1}, good.Prices[1:]...)
	for name, p := range map[string]*exact.Proof{"a half-space that cuts the target": &cut,
		"a negative price": &negative} {
		if _, err := exact.VerifyBoundRational(context.Background(), m, task, p); !errors.Is(err, exact.ErrNotProved) {
			t.Errorf("trial %d: %s: %v", trial, name, err)
		}
	}
}

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}
