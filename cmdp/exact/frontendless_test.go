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
	"cmdpsolve/geometry"
	"cmdpsolve/internal/threshold"
	"cmdpsolve/oracle/lp"
)

// everyStationaryPolicy returns the returns of all deterministic policies of a small
// discounted model: their hull is the achievable set.
func everyStationaryPolicy(m *cmdp.Model) [][]float64 {
	k, policy := m.Kernel(0), make([]int, m.States())
	var all [][]float64
	for {
		v := make([]float64, m.Dim())
		for i := range v {
			dir := make([]*big.Rat, m.Dim())
			for j := range dir {
				dir[j] = new(big.Rat)
			}
			dir[i].SetInt64(1)
			v[i], _ = discountedValue(m, dir, policy).Float64()
		}
		all = append(all, v)
		s := 0
		for ; s < len(policy); s++ {
			if policy[s]++; policy[s] < int(k.First[s+1]-k.First[s]) {
				break
			}
			policy[s] = 0
		}
		if s == len(policy) {
			return all
		}
	}
}

// TestFrontWithoutHorizon compares the trade-off curves of discounted models, and of
// those with the same totals until absorption, within a bound on a third return or
// without, with the mixtures of all stationary policies: no weights may find them
// outside the outer set, and what they find is within the certified error of the
// points. Totals are priced several directions at once.
func TestFrontWithoutHorizon(t *testing.T) {
	defer func(n int) { threshold.Simultaneous = n }(threshold.Simultaneous)
	threshold.Simultaneous = 1
	rng := rand.New(rand.NewPCG(13, 4))
	points, bounded := 0, 0
	for trial := range 24 {
		discounted := randomModel(t, rng, shapeOf{states: 3, actions: 3, dim: 3, successors: 3,
			discount: []float64{0.5, 0.95}[trial%2], integer: trial%5 == 0})
		vertices := everyStationaryPolicy(discounted)
		for _, m := range []*cmdp.Model{discounted, ending(t, discounted)} {
			opts := exact.FrontOptions{Error: 1e-3, Over: [][]float64{{1, 0, 0}, {0, -1, 0.5}}}
			bound := math.Inf(1)
			var target geometry.Compact
			if trial%3 > 0 {
				bound = (vertices[0][2] + vertices[len(vertices)-1][2]) / 2
				target = atMost(t, box(t, m), []float64{math.Inf(1), math.Inf(1), bound})
				bounded++
			}
			f, err := exact.Front(context.Background(), m, cmdp.Task{Target: target}, opts)
			if err != nil || f.Status != exact.Optimal || f.Relative > 1e-3 {
				t.Fatalf("trial %d: %v %+v", trial, err, f)
			}
			points += len(f.Points)
			for _, angle := range []float64{0.01, 0.3, math.Pi / 4, 1.2, 1.56} {
				w := []float64{math.Cos(angle), math.Sin(angle)}
				best := bestMixture(t, vertices, opts.Over, w, bound)
				outer := math.Inf(1)
				for _, z := range f.Corners {
					outer = min(outer, product(w, z))
				}
				if least := product(w, best); outer > least+1e-8 {
					t.Errorf("trial %d: weights %v: policies reach %.12g, outside the outer set, which begins at %.12g",
						trial, w, least, outer)
				}
				if off := farBehind(t, f.Points, best); off > f.Error+1e-8 {
					t.Errorf("trial %d: %v can be reached, and the points stay %g behind: want at most %g", trial, best,
						off, f.Error)
				}
			}
			for _, z := range f.Points {
				if z.Returns[2] > bound+1e-8 {
					t.Errorf("trial %d: point %v breaks the bound %g", trial, z.Returns, bound)
				}
				// A point is a mixture of policies, no weights can deny it.
				if off := beyondHull(t, vertices, z.Returns); off > 1e-8 {
					t.Errorf("trial %d: point %v is %g away from what policies reach", trial, z.Returns, off)
				}
			}
		}
	}
	if points < 80 || bounded < 20 {
		t.Errorf("%d points, %d bounds: want many", points, bounded)
	}
}

// solveMixture solves a program over mixtures λ of n things and one free variable, which
// comes last.
func solveMixture(t *testing.T, n int, costs []float64, rows ...lp.Constraint) *lp.Solution {
	t.Helper()
	p := &lp.Problem{Minimize: costs, Rows: rows}
	p.Lower, p.Upper = lp.Free(n + 1)
	ones := make([]float64, n+1)
	for j := range n {
		ones[j], p.Lower[j] = 1, 0
	}
	p.Rows = append(p.Rows, lp.Equal(ones, 1))
	sol, err := lp.Solve(p)
	if err != nil || sol.Status != lp.Optimal {
		t.Fatalf("%v %+v", err, sol)
	}
	return sol
}

// bestMixture returns the objectives of the mixture of returns with the least weighted
// sum, the third return being bounded.
func bestMixture(t *testing.T, vertices, over [][]float64, w []float64, bound float64) []float64 {
	t.Helper()
	n := len(vertices)
	costs, limit := make([]float64, n+1), make([]float64, n+1)
	for j, v := range vertices {
		costs[j], limit[j] = w[0]*product(over[0], v)+w[1]*product(over[1], v), v[2]
	}
	row := lp.Constraint{Coef: limit, Lower: math.Inf(-1), Upper: bound}
	if math.IsInf(bound, 1) {
		row = lp.AtMost(make([]float64, n+1), 0)
	}
	sol := solveMixture(t, n, costs, row, lp.Equal(unitVector(n+1, n), 0))
	out := make([]float64, len(over))
	for j, v := range vertices {
		for k, c := range over {
			out[k] += sol.X[j] * product(c, v)
		}
	}
	return out
}

func unitVector(n, i int) []float64 {
	x := make([]float64, n)
	x[i] = 1
	return x
}

// farBehind returns the least u such that a mixture of points is at most u worse than y
// in each objective, which is at most their Euclidean distance.
func farBehind(t *testing.T, points []exact.FrontPoint, y []float64) float64 {
	t.Helper()
	n := len(points)
	var rows []lp.Constraint
	for k, x := range y {
		coef := make([]float64, n+1)
		for j, z := range points {
			coef[j] = z.Objectives[k]
		}
		coef[n] = -1
		rows = append(rows, lp.AtMost(coef, x))
	}
	return solveMixture(t, n, unitVector(n+1, n), rows...).X[n]
}

// beyondHull returns how far v is from a mixture of vertices, in its farthest coordinate.
func beyondHull(t *testing.T, vertices [][]float64, v []float64) float64 {
	t.Helper()
	n := len(vertices)
	var rows []lp.Constraint
	for i, x := range v {
		for _, sign := range []float64{1, -1} {
			coef := make([]float64, n+1)
			for j, z := range vertices {
				coef[j] = sign * z[i]
			}
			coef[n] = -1
			rows = append(rows, lp.AtMost(coef, sign*x))
		}
	}
	return solveMixture(t, n, unitVector(n+1, n), rows...).X[n]
}

// TestFrontAtAnyPrice: from state 0 a policy stays for nothing, or goes at a cost of 1 to where a total grows for
// ever. A least cost of 0.5 can be kept, though at no finite total, and one of 2 cannot, by 1.
func TestFrontAtAnyPrice(t *testing.T) {
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 2, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 2)
	for _, row := range []cmdp.Row{
		{State: 0, Action: 0, Next: []cmdp.Transition{{Next: 0, Probability: 1}}, Returns: []float64{0, 0}},
		{State: 0, Action: 1, Next: []cmdp.Transition{{Next: 1, Probability: 1}}, Returns: []float64{0, 1}},
		{State: 1, Action: 0, Next: []cmdp.Transition{{Next: 1, Probability: 1}}, Returns: []float64{1, 0}},
	} {
		row.Step = cmdp.EveryStep
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, least := range []float64{0.5, 2} {
		asked, err := geometry.NewBox([]float64{math.Inf(-1), least}, []float64{math.Inf(1), math.Inf(1)})
		if err != nil {
			t.Fatal(err)
		}
		possible, err := geometry.NewBox([]float64{0, 0}, []float64{exact.Boundless, 2})
		if err != nil {
			t.Fatal(err)
		}
		target, err := geometry.Restrict(asked, possible)
		if err != nil {
			t.Fatal(err)
		}
		task := cmdp.Task{Target: target, Whole: asked, Box: possible}
		f, err := exact.Front(context.Background(), m, task, exact.FrontOptions{Over: [][]float64{{1, 0}, {0, 1}}})
		var no *exact.NoTotalError
		switch {
		case least < 1 && (!errors.As(err, &no) || no.Return != 0 || no.State != 1):
			t.Errorf("at least %g: %+v, %v: want that return 0 is infinite in state 1", least, f, err)
		case least > 1 && (err != nil || f.Status != exact.Infeasible || math.Abs(f.Certificate.Value+1) > 1e-9):
			t.Errorf("at least %g: %+v, %v: want that 1 is the most", least, f, err)
		}
	}
}

// randomCourier draws a courier who goes round either of two loops or quits: what comes with the model are the flows
// through its states, and its returns, by the visits of its choices.
func randomCourier(t *testing.T, rng *rand.Rand) (m *cmdp.Model, flows, totals [][]float64) {
	t.Helper()
	p, q := 0.6+0.1*float64(rng.IntN(4)), 0.6+0.1*float64(rng.IntN(4))
	b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 3, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 4)
	for range 3 {
		flows, totals = append(flows, make([]float64, 6)), append(totals, make([]float64, 6))
	}
	for c, choice := range []struct {
		state int
		next  []float64
		most  [3]int
	}{
		{0, []float64{0, 1}, [3]int{0, 3, 3}},        // load
		{0, []float64{0, 0, 0, 1}, [3]int{}},         // quit
		{1, []float64{1 - p, 0, p}, [3]int{0, 4, 4}}, // fast
		{1, []float64{1 - q, 0, q}, [3]int{0, 4, 4}}, // slow
		{2, []float64{1}, [3]int{9, 1, 2}},           // sell
		{2, []float64{0, 0, 0, 1}, [3]int{6, 0, 0}},  // leave
	} {
		row := cmdp.Row{Step: cmdp.EveryStep, State: choice.state, Action: c % 2, Returns: make([]float64, 3)}
		for i, most := range choice.most {
			if most > 0 {
				row.Returns[i] = float64(1 + rng.IntN(most))
			}
			totals[i][c] = row.Returns[i]
		}
		flows[choice.state][c]++
		for to, x := range choice.next {
			if x > 0 {
				row.Next = append(row.Next, cmdp.Transition{Next: to, Probability: x})
			}
			if to < 3 {
				flows[to][c] -= x
			}
		}
		if err := b.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m, flows, totals
}

// TestFrontOfLoops: couriers go round two loops as often as limits on two totals allow. A face of the curve of three
// totals in which both loops lie has weights at which what they give cancels out, and no limit has a price. Points are
// held against linear programs of visits.
func TestFrontOfLoops(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 11))
	for trial := range 40 {
		m, flows, totals := randomCourier(t, rng)
		bounds := []float64{math.Inf(1), float64(3 + rng.IntN(15)), float64(3 + rng.IntN(15))}
		most := []float64{exact.Boundless, exact.Boundless, exact.Boundless}
		possible, err := geometry.NewBox(make([]float64, 3), most)
		if err != nil {
			t.Fatal(err)
		}
		f, err := exact.Front(context.Background(), m, cmdp.Task{Target: atMost(t, possible, bounds), Box: possible},
			exact.FrontOptions{Over: [][]float64{{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}}})
		if err != nil || f.Status != exact.Optimal {
			t.Errorf("trial %d: %v, %+v: want a curve", trial, err, f)
			continue
		}
		for range 5 {
			w := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
			visits := &lp.Problem{Minimize: make([]float64, 6), Lower: make([]float64, 6), Rows: []lp.Constraint{
				lp.Equal(flows[0], 1), lp.Equal(flows[1], 0), lp.Equal(flows[2], 0), lp.AtMost(totals[1], bounds[1]),
				lp.AtMost(totals[2], bounds[2])}}
			_, visits.Upper = lp.Free(6)
			for c := range 6 {
				visits.Minimize[c] = -w[0]*totals[0][c] + w[1]*totals[1][c] + w[2]*totals[2][c]
			}
			sol, err := lp.Solve(visits)
			if err != nil || sol.Status != lp.Optimal {
				t.Fatalf("trial %d: %v %+v", trial, err, sol)
			}
			least := math.Inf(1)
			for _, z := range f.Points {
				least = min(least, product(w, z.Objectives))
			}
			if least < sol.Objective-1e-8 || least > sol.Objective+1e-8+2*f.Error {
				t.Errorf("trial %d: weights %v: the points reach %g: want %g within %g", trial, w, least, sol.Objective,
					f.Error)
			}
		}
	}
}
