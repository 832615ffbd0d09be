package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/internal/threshold"
	"cmdpsolve/oracle/lp"
)

// lottery returns a model of totals in which each state of a ring chooses between steps on, of random returns, and is
// done now and then. Of many choices some are nearly as good as the best one, which are what a loose error finds.
func lottery(t *testing.T, rng *rand.Rand, states int32, choices int) *cmdp.Model {
	t.Helper()
	k := cmdp.Kernel{First: []int32{0}, Offset: []int{0}}
	for s := range states {
		for range choices {
			p, x := 0.02+0.02*rng.Float64(), rng.Float64()
			k.Append([]int32{states, (s + 1 + rng.Int32N(states-1)) % states}, []float64{p, 1 - p},
				[]float64{x, 1 - x + 0.1*rng.Float64()})
		}
		k.EndState()
	}
	k.EndState() // rest
	m := totalsOf(t, k, 2)
	return m
}

// A curve with an error, relative or in units of the returns, lies within that of the exact one, which is found
// by the methods for small models: each of its vertices is no better than what a mixture of points has, but for
// the error. Points are returns of policies that exist, and the policies that are made of them have these.
func TestFrontLooseErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and shorter tests run what is concurrent in it")
	}
	rng := rand.New(rand.NewPCG(26, 7))
	over := [][]float64{{1, 0}, {0, 1}}
	exact, loose := 0, 0 // points, in all
	for trial := range 6 {
		m := lottery(t, rng, 40, []int{2, 30}[trial%2])
		want, err := Front(t.Context(), m, cmdp.Task{}, FrontOptions{Over: over, Error: 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		restore := threshold.Lower()
		for i, opts := range []FrontOptions{{Error: 1e-9}, {Error: 1e-2}, {Error: 0.1},
			{Absolute: []float64{0.3, 0.05}}, {Absolute: []float64{0, 0.2}, Error: 1e-2},
			{Absolute: []float64{0.01, 0.01}, Error: 0.5}} {
			opts.Over = over
			got, err := Front(t.Context(), m, cmdp.Task{}, opts)
			if err != nil || got.Status != Optimal {
				t.Fatal(got, err)
			}
			switch i {
			case 0:
				exact += len(got.Points)
			case 2:
				loose += len(got.Points)
			}
			var allowed []float64
			for k := range over {
				allowed = append(allowed, max(opts.Error, 1e-6)*(rangeOf(want, k)[1]-rangeOf(want, k)[0]))
				if opts.Absolute != nil && opts.Absolute[k] > 0 {
					allowed[k] = opts.Absolute[k]
				}
			}
			missing := 1e-8 // of the returns of points
			if i > 0 {
				missing = 1e-6 // where eight directions are solved at once, see docs/exact.md
			}
			checkWithin(t, got, want, allowed, missing)
			for _, p := range got.Points {
				if p.Policy != nil {
					t.Error("a policy was made that nobody asked for")
				}
				again := p
				if err := again.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				e, err := Evaluate(t.Context(), m, again.Policy)
				if err != nil {
					t.Fatal(err)
				}
				for i, x := range e.Returns {
					if math.Abs(x-p.Returns[i]) >= missing*(1+math.Abs(x)) {
						t.Errorf("policy returns %v: want %v", e.Returns, p.Returns)
					}
				}
			}
		}
		restore()
	}
	if loose >= exact {
		t.Errorf("%d points with a loose error: want fewer than %d", loose, exact)
	}
}

func rangeOf(r *FrontResult, k int) [2]float64 {
	out := [2]float64{math.Inf(1), math.Inf(-1)}
	for _, p := range r.Points {
		out[0], out[1] = min(out[0], p.Objectives[k]), max(out[1], p.Objectives[k])
	}
	return out
}

// checkWithin checks by its half-spaces that nothing is better than a curve says, that its points are no better
// than what is possible, and that no vertex of the exact curve is better than every mixture of its points by
// more than is allowed. A share of the returns of points may be missing.
func checkWithin(t *testing.T, got, want *FrontResult, allowed []float64, missing float64) {
	t.Helper()
	inside := func(what string, points []FrontPoint, rows []cmdp.Constraint, missing float64) {
		for _, v := range points {
			for _, row := range rows {
				if x := row.Normal[0]*v.Objectives[0] + row.Normal[1]*v.Objectives[1] - row.Offset; x > missing*(1+
					math.Abs(row.Offset)) {
					t.Errorf("%s %v is outside by %g", what, v.Objectives, x)
				}
			}
		}
	}
	inside("vertex", want.Points, got.Outer, 1e-8)
	inside("point", got.Points, want.Outer, missing)
	n := len(got.Points)
	for _, v := range want.Points { // min t with Σ λ y ≤ v + t·allowed
		p := &lp.Problem{Minimize: make([]float64, n+1)}
		p.Minimize[n] = 1
		p.Lower, p.Upper = lp.Free(n + 1)
		sum := make([]float64, n+1)
		for j := range n {
			p.Lower[j], sum[j] = 0, 1
		}
		for k, x := range allowed {
			row := make([]float64, n+1)
			row[n] = -1
			for j, q := range got.Points {
				row[j] = (q.Objectives[k] - v.Objectives[k]) / x
			}
			p.Rows = append(p.Rows, lp.AtMost(row, 0))
		}
		p.Rows = append(p.Rows, lp.Equal(sum, 1))
		sol, err := lp.Solve(p)
		if err != nil {
			t.Fatal(err)
		}
		if sol.Objective > 1+1e-3 {
			t.Errorf("vertex %v is missed by %g of what is allowed, %v", v.Objectives, sol.Objective, allowed)
		}
	}
}
