package exact_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// TestPricesAtKinks puts limits where policies are, at which the optimum improves at another rate than it worsens. The
// price of each is the first rate, by programs over all policies, and no more than its multiplier, of which those
// of all limits together make up the proof.
func TestPricesAtKinks(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 3))
	differ := 0
	for trial := range 150 {
		m := randomModel(t, rng, shapeOf{states: 2, actions: 3, horizon: 2, dim: 3, successors: 2,
			integer: trial%2 == 0})
		policies := everyPolicy(m)
		at := policies[rng.IntN(len(policies))]
		most := []float64{math.Inf(1), at[1], at[2]}
		if trial%3 == 0 { // where a limit cannot be tightened
			most[2] = slices.MinFunc(policies, func(a, b []float64) int { return int(math.Copysign(1, a[2]-b[2])) })[2]
			most[1] = math.Inf(1)
		}
		asked, err := geometry.NewBox(slices.Repeat([]float64{math.Inf(-1)}, 3), most)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Cost: linear(t, box(t, m), []float64{1, 0, 0}), Box: box(t, m)}
		if err := task.Within(asked, nil); err != nil {
			t.Fatal(err)
		}
		for i, x := range most {
			if !math.IsInf(x, 1) {
				normal := make([]float64, 3)
				normal[i] = 1
				task.Constraints = append(task.Constraints, cmdp.Constraint{Normal: normal, Offset: x})
			}
		}
		r, err := exact.Solve(context.Background(), m, task, exact.Options{})
		if err != nil || r.Status != exact.Optimal {
			t.Fatalf("trial %d: %v, %v", trial, r, err)
		}
		exact.Fits(t, m, task, r)
		for _, p := range r.Prices[:len(task.Constraints)] {
			const little = 1e-5
			i := slices.Index(p.Normal, 1)
			looser := slices.Clone(most)
			looser[i] += little
			rate := (leastCost(t, policies, most) - leastCost(t, policies, looser)) / little
			if math.Abs(p.Value-rate) > 1e-4*(1+rate) || p.Value > p.Multiplier {
				t.Errorf("trial %d: price %g, multiplier %g of return %d: the optimum improves by %g", trial, p.Value,
					p.Multiplier, i, rate)
			}
			if p.Multiplier > p.Value+1e-3 {
				differ++
			}
		}
		if r.Proof != nil {
			if _, err := exact.VerifyBound(context.Background(), m, task, r.Proof); err != nil {
				t.Errorf("trial %d: %v", trial, err)
			}
		}
	}
	if differ < 10 {
		t.Errorf("%d prices differ from their multipliers: want 10", differ)
	}
}

// TestPricesOfCurvedGoals does the same for costs that are curved, that have kinks of their own, or both.
func TestPricesOfCurvedGoals(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 3))
	differ := 0
	for trial := range 150 {
		d := 3 + trial%3/2
		m := randomModel(t, rng, shapeOf{states: 2, actions: 3, horizon: 2, dim: d, successors: 2,
			integer: trial%2 == 0})
		policies, x := everyPolicy(m), box(t, m)
		at := policies[rng.IntN(len(policies))]
		most := slices.Clone(at)
		most[0] = math.Inf(1)
		asked, err := geometry.NewBox(slices.Repeat([]float64{math.Inf(-1)}, d), most)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Cost: randomCost(t, rng, x), Box: x}
		if trial%2 == 1 { // curved in one return: multipliers of both limits may be many
			center := make([]float64, d)
			center[0] = x.Lower()[0] - 1
			task.Cost, err = cost.NewSquared(center, unitVector(d, 0), x)
			if err != nil {
				t.Fatal(err)
			}
		}
		if trial%4 == 0 { // a kink just where the limits are
			center := slices.Clone(at)
			center[0] = x.Lower()[0] - rng.Float64()
			task.Cost, err = cost.NewNorm(1, center, x)
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := task.Within(asked, nil); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < d; i++ {
			task.Constraints = append(task.Constraints, cmdp.Constraint{Normal: unitVector(d, i), Offset: most[i]})
		}
		opts := exact.Options{}
		square, share := trial%2 == 1, 1e-3
		if square {
			share = 1e-4
		}
		if trial%4 == 1 { // the looser a gap, the more the multipliers near the optimum differ from those of it
			opts.Gap, share = 1e-5, 3e-3
		}
		r, err := exact.Solve(context.Background(), m, task, opts)
		if err != nil || r.Status != exact.Optimal {
			t.Fatalf("trial %d: %v, %v", trial, r, err)
		}
		exact.Fits(t, m, task, r)
		for _, p := range r.Prices[:d-1] {
			const little = 1e-5
			i := slices.Index(p.Normal, 1)
			looser := slices.Clone(most)
			looser[i] += little
			rate := (leastOf(t, task.Cost, policies, most) - leastOf(t, task.Cost, policies, looser)) / little
			if square {
				at, then := leastCost(t, policies, most)-x.Lower()[0]+1, leastCost(t, policies, looser)-x.Lower()[0]+1
				rate = (at*at - then*then) / little
			}
			if math.Abs(p.Value-rate) > share*(1+rate) || p.Value > p.Multiplier {
				t.Errorf("trial %d, %T: price %g, multiplier %g of return %d: the optimum improves by %g", trial, task.Cost,
					p.Value, p.Multiplier, i, rate)
			}
			if p.Multiplier > p.Value+1e-3 {
				differ++
			}
		}
	}
	if differ < 10 {
		t.Errorf("%d prices differ from their multipliers: want 10", differ)
	}
}

// leastOf returns the least cost of the mixtures of points that are nowhere more than most, by tangents (Kelley 1960).
func leastOf(t *testing.T, g cost.Cost, points [][]float64, most []float64) float64 {
	t.Helper()
	p := &lp.Problem{Minimize: make([]float64, len(points)+1)}
	p.Minimize[len(points)] = 1
	p.Lower, p.Upper = lp.Free(len(points) + 1)
	sum := lp.Equal(make([]float64, len(points)+1), 1)
	for j := range points {
		p.Lower[j], sum.Coef[j] = 0, 1
	}
	p.Rows = []lp.Constraint{sum}
	for i, x := range most {
		row := lp.AtMost(make([]float64, len(points)+1), x)
		for j, v := range points {
			row.Coef[j] = v[i]
		}
		p.Rows = append(p.Rows, row)
	}
	at, slope, best := points[0], make([]float64, len(most)), math.Inf(1)
	for range 100 {
		g.Subgradient(slope, at)
		cut := lp.AtMost(make([]float64, len(points)+1), floats.Dot(slope, at)-g.Value(at))
		cut.Coef[len(points)] = -1
		for j, v := range points {
			cut.Coef[j] = floats.Dot(slope, v)
		}
		p.Rows = append(p.Rows, cut)
		sol, err := lp.Solve(p)
		if err != nil || sol.Status != lp.Optimal {
			t.Fatalf("%v, %v", sol, err)
		}
		at = make([]float64, len(most))
		for j, v := range points {
			floats.AddScaled(at, sol.X[j], v)
		}
		best = min(best, g.Value(at))
		if best-sol.Objective < 1e-9 {
			break
		}
	}
	return best
}

// leastCost returns the least of the first return of the mixtures of points that are nowhere more than most.
func leastCost(t *testing.T, points [][]float64, most []float64) float64 {
	t.Helper()
	p := &lp.Problem{}
	sum, rows := lp.Equal(nil, 1), make([]lp.Constraint, len(most))
	for i, x := range most {
		rows[i] = lp.AtMost(nil, x)
	}
	for _, v := range points {
		p.Minimize, sum.Coef = append(p.Minimize, v[0]), append(sum.Coef, 1)
		for i, x := range v {
			rows[i].Coef = append(rows[i].Coef, x)
		}
	}
	p.Rows = append(rows, sum)
	sol, err := lp.Solve(p)
	if err != nil || sol.Status != lp.Optimal {
		t.Fatalf("%v, %v", sol, err)
	}
	return sol.Objective
}
