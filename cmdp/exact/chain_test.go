package exact

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/threshold"

	"gonum.org/v1/gonum/mat"
)

// drawChain draws a chain in which every state leads to some that are at most reach away on a ring.
func drawChain(rng *rand.Rand, n, reach int) *chain {
	y := new(chain)
	y.reset()
	for s := range n {
		for range 1 + rng.IntN(3) {
			if next := (s + n + rng.IntN(2*reach+1) - reach) % n; next != s {
				y.next, y.prob = append(y.next, int32(next)), append(y.prob, rng.Float64())
			}
		}
		y.end(math.Pow(10, -4*rng.Float64()))
	}
	return y
}

// TestChain compares all ways to solve a system, and its transpose, with a dense one.
func TestChain(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 5))
	for trial := range 300 {
		n := 1 + rng.IntN(60)
		y := drawChain(rng, n, 1+rng.IntN(n))
		a := mat.NewDense(n, n, nil)
		for s := range n {
			a.Set(s, s, a.At(s, s)+y.leak[s])
			for e := y.first[s]; e < y.first[s+1]; e++ {
				a.Set(s, s, a.At(s, s)+y.prob[e])
				a.Set(s, int(y.next[e]), a.At(s, int(y.next[e]))-y.prob[e])
			}
		}
		right := make([]float64, n)
		for s := range right {
			right[s] = rng.NormFloat64()
		}
		for _, transposed := range []bool{false, true} {
			var want mat.VecDense
			var err error
			if transposed {
				err = want.SolveVec(a.T(), mat.NewVecDense(n, right))
			} else {
				err = want.SolveVec(a, mat.NewVecDense(n, right))
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, way := range []string{"elimination", "iteration", "band"} {
				if y.factors, y.spilled = nil, way == "iteration"; way == "band" {
					if y.band.factorize(y) {
						y.factors = &y.band
					} else if y.band.width <= threshold.Band {
						t.Fatalf("trial %d: a band of width %d cannot be solved", trial, y.band.width)
					} else {
						continue
					}
				}
				x := make([]float64, n)
				for s := range x {
					x[s] = rng.Float64()
				}
				if err := y.solve(context.Background(), x, right, transposed, 0); err != nil {
					t.Fatal(err)
				}
				size := mat.Norm(&want, math.Inf(1))
				for s := range x {
					if math.Abs(x[s]-want.AtVec(s)) > 1e-9*size {
						t.Fatalf("trial %d, transposed %v, by %s: x[%d] = %g, want %g", trial, transposed, way, s, x[s], want.AtVec(s))
					}
				}
			}
		}
	}
}

// TestLongTotals asks for totals that take very many steps: a loop with probability
// 1 − 1e-9, and two states between which the process goes to and fro for 2e9 steps. The
// first has to be found to nearly all digits, since a state's way to itself cancels.
func TestLongTotals(t *testing.T) {
	for _, test := range []struct {
		name        string
		next        [][]cmdp.Transition
		want, error float64
	}{
		{"a loop", [][]cmdp.Transition{{{Next: 0, Probability: 1 - 1e-9}, {Next: 2, Probability: 1e-9}}}, 1e9, 1e-9},
		{"to and fro", [][]cmdp.Transition{{{Next: 1, Probability: 1}}, {{Next: 0, Probability: 1 - 1e-9}, {Next: 2, Probability: 1e-9}}}, 2e9, 1e-4},
	} {
		b := cmdp.NewBuilder(cmdp.ModelSpec{Discount: 1, Dim: 1, Start: []cmdp.StartState{{State: 0, Probability: 1}}}, 3)
		for s, next := range test.next {
			if err := b.Add(cmdp.Row{Step: cmdp.EveryStep, State: s, Returns: []float64{1}, Next: next}); err != nil {
				t.Fatal(err)
			}
		}
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		lower, upper, err := Ranges(context.Background(), m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !(lower[0] <= test.want*(1+1e-4) && upper[0] >= test.want*(1-1e-4) && upper[0]-lower[0] <= test.error*test.want) {
			t.Errorf("%s: %.17g to %.17g, want %g", test.name, lower[0], upper[0], test.want)
		}
	}
}
