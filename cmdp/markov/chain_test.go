package markov

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cmdp/internal/threshold"

	"gonum.org/v1/gonum/mat"
)

// drawChain draws a chain in which every state leads to some that are at most reach away on a ring.
func drawChain(rng *rand.Rand, n, reach int) *Chain {
	y := new(Chain)
	y.Reset()
	for s := range n {
		for range 1 + rng.IntN(3) {
			if next := (s + n + rng.IntN(2*reach+1) - reach) % n; next != s {
				y.next, y.prob = append(y.next, int32(next)), append(y.prob, rng.Float64())
			}
		}
		y.EndRow(math.Pow(10, -4*rng.Float64()))
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
				if y.factors, y.iterative = nil, way == "iteration"; way == "band" {
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
				if err := y.Solve(context.Background(), x, right, transposed, 0); err != nil {
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
