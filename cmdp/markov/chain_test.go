package markov

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cmdpsolve/internal/threshold"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// drawChain draws a chain in which every state leads to some that are at most reach away on a ring, in half of the
// chains seldom back.
func drawChain(rng *rand.Rand, n, reach int) *Chain {
	ahead := rng.IntN(2) == 0
	y := new(Chain)
	y.Reset()
	for s := range n {
		for range 1 + rng.IntN(3) {
			if next := (s + n + rng.IntN(2*reach+1) - reach) % n; next > s || next < s && !(ahead && rng.IntN(8) > 0) {
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
			for _, way := range []string{"blocks", "iteration", "band", "feedback", "dense"} {
				y.factors, y.iterative = nil, way == "iteration"
				switch way {
				case "blocks":
					y.factors = y.blocks.factorize(t.Context(), y, math.Inf(1), math.Inf(1))
				case "dense":
					if n > denseStates {
						continue
					}
					if y.dense.factorize(y) {
						y.factors = &y.dense
					}
				case "feedback":
					if y.feedback.factorize(t.Context(), y, n) {
						y.factors = &y.feedback
					}
				case "band":
					if y.band.factorize(t.Context(), y) {
						y.factors = &y.band
					} else if y.band.width > threshold.Band {
						continue
					}
				}
				if y.factors == nil && way != "iteration" {
					t.Fatalf("trial %d: by %s: it cannot be solved", trial, way)
				}
				x := make([]float64, n)
				for s := range x {
					x[s] = rng.Float64()
				}
				if rest := rng.Float64(); way == "iteration" { // no more than that is missing in any equation
					if err := y.Solve(context.Background(), x, right, transposed, rest); err != nil {
						t.Fatal(err)
					}
					left := mat.NewVecDense(n, nil)
					if left.MulVec(a, mat.NewVecDense(n, x)); transposed {
						left.MulVec(a.T(), mat.NewVecDense(n, x))
					}
					left.SubVec(left, mat.NewVecDense(n, right))
					if most := mat.Norm(left, math.Inf(1)); most > rest*(1+1e-9)+1e-12 {
						t.Fatalf("trial %d, transposed %v: %g is missing: want %g at most", trial, transposed, most, rest)
					}
				}
				if err := y.Solve(context.Background(), x, right, transposed, 0); err != nil {
					t.Fatal(err)
				}
				size := mat.Norm(&want, math.Inf(1))
				for s := range x {
					if math.Abs(x[s]-want.AtVec(s)) > 1e-9*size {
						t.Fatalf("trial %d, transposed %v, by %s: x[%d] = %g, want %g", trial, transposed, way, s, x[s],
							want.AtVec(s))
					}
				}
			}
		}
	}
}

// chainOf returns the chain of a matrix, what is missing in a row being the leak.
func chainOf(p *mat.Dense) *Chain {
	n, _ := p.Dims()
	y := new(Chain)
	y.Reset()
	for s := range n {
		leak := 1 - mat.Sum(p.RowView(s))
		for to := range n {
			if x := p.At(s, to); x > 0 && to != s {
				y.Add(int32(to), x)
			}
		}
		y.EndRow(max(0, leak*math.Round(math.Min(1, leak*1e6)))) // none by rounding
	}
	return y
}

// TestClosedSets compares recurrent classes and the shares of time in them with dense ones, in chains with
// several classes, periodic ones, and states that leak.
func TestClosedSets(t *testing.T) {
	for _, large := range []bool{false, true} {
		if large {
			t.Cleanup(threshold.Lower())
		}
		rng := rand.New(rand.NewPCG(22, 7))
		several := 0
		for range 500 {
			k := drawModel(rng, 1+rng.IntN(8))
			p, _ := transition(k, drawRule(rng, k))
			rec, r := recurrent(k, p), closure(p)
			y := chainOf(p)
			sets := y.ClosedSets()
			if len(sets) > 1 {
				several++
			}
			if i := slices.IndexFunc(sets, func(set []int32) bool { return len(set) > 1 }); i >= 0 && len(sets) > 1 {
				both := slices.Concat(sets[i], sets[(i+1)%len(sets)])
				share, err := y.StationaryShares(t.Context(), both)
				for i := range share { // if any, those of one of them
					left := share[i]
					for j, from := range both {
						left -= share[j] * p.At(int(from), int(both[i]))
					}
					if err == nil && math.Abs(left) > 1e-9 {
						t.Fatalf("two closed sets have the shares %v", share)
					}
				}
			}
			met := make([]bool, len(rec))
			for _, set := range sets {
				class := make([]int, len(set))
				for j, s := range set {
					class[j], met[s] = int(s), true
					if !rec[s] || !r[set[0]][s] {
						t.Fatalf("closed sets %v: state %d is in none, or in another", sets, s)
					}
				}
				share, err := y.StationaryShares(t.Context(), set)
				if err != nil {
					t.Fatal(err)
				}
				for j, want := range denseShares(t, p, class) {
					if math.Abs(share[j]-want) > 1e-8 {
						t.Fatalf("state %d has the share %.15g of the time: want %.15g", set[j], share[j], want)
					}
				}
			}
			for s, in := range rec {
				if in != met[s] {
					t.Fatalf("closed sets %v: state %d recurrent %v", sets, s, in)
				}
			}
			right, x := make([]float64, len(rec)), make([]float64, len(rec))
			right[rng.IntN(len(rec))] = 1
			if err := y.Solve(t.Context(), x, right, false, 0); len(sets) > 0 && err == nil {
				for s := range x { // it may have a solution by chance, as where nothing leads to a class
					got := y.diag[s] * x[s]
					for e := y.first[s]; e < y.first[s+1]; e++ {
						got -= y.prob[e] * x[y.next[e]]
					}
					if math.Abs(got-right[s]) > 1e-9*(1+math.Abs(x[s])) {
						t.Fatalf("a singular system was solved, with an error of %g", got-right[s])
					}
				}
			} else if len(sets) == 0 && err != nil {
				t.Fatal(err)
			}
		}
		if several < 50 {
			t.Errorf("%d chains with several classes: want many", several)
		}
	}
}

// TestNearlySingular solves systems that leak hardly ever, whose answers are known: from each state of a ring
// of n states the process goes on with probability 1 − ε to the next one. Elimination subtracts nothing, so
// that all digits are right.
func TestNearlySingular(t *testing.T) {
	for _, n := range []int{1, 2, 7, 500} {
		for _, epsilon := range []float64{1e-3, 1e-9, 1e-15, 1e-30} {
			y := new(Chain)
			y.Reset()
			for s := range n {
				if n > 1 {
					y.Add(int32((s+1)%n), 1)
				}
				leak := 0.0
				if s == 0 {
					leak = epsilon
				}
				y.EndRow(leak)
			}
			right, x := make([]float64, n), make([]float64, n)
			right[n-1] = 1 // each round
			for _, transposed := range []bool{false, true} {
				if err := y.Solve(t.Context(), x, right, transposed, 0); err != nil {
					t.Fatal(err)
				}
				// From state 0 the process sees the last state 1/ε times, from the others once more. From the
				// last state on it sees each state 1/ε times, and the last one once more.
				want := slices.Repeat([]float64{1 / epsilon}, n)
				for s := 1; s < n; s++ {
					if !transposed || s == n-1 {
						want[s]++
					}
				}
				for s := range x {
					if math.Abs(x[s]-want[s]) > 1e-13*want[s] {
						t.Fatalf("%d states, ε = %g, transposed %v: x[%d] = %.17g: want %.17g", n, epsilon, transposed,
							s, x[s], want[s])
					}
				}
			}
		}
	}
}

// TestRescaledSweeps compares visits found by sweeps with a dense system.
func TestRescaledSweeps(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 8))
	solved := 0
	for trial := range 200 {
		k := drawModel(rng, 1+rng.IntN(30))
		if trial%4 == 0 {
			k = drawTangle(rng, 20)
		}
		p, _ := transition(k, drawRule(rng, k))
		for s := 0; trial%4 == 0 && s < 20; s++ { // nobody stays, so that a sweep makes as much leak as arrives
			next := (s + 1) % 20
			p.Set(s, next, p.At(s, next)+p.At(s, s))
			p.Set(s, s, 0)
		}
		gamma, n := 0.2+0.75*rng.Float64(), len(k.First)-1
		p.Scale(gamma, p)
		arrivals, x := make([]float64, n), make([]float64, n)
		for s := range x {
			arrivals[s], x[s] = rng.Float64(), 3*rng.NormFloat64()
		}
		y, rest := chainOf(p), []float64{0, 0.1 * rng.Float64()}[rng.IntN(2)]
		if !y.rescaledSweeps(t.Context(), x, arrivals, rest) {
			continue
		}
		solved++
		if rest > 0 { // as much leaks as arrives, and no more than rest is missing where it is on its way
			left, all := slices.Clone(arrivals), floats.Sum(arrivals)
			for s, v := range x {
				left[s] -= y.diag[s] * v
				for e := y.first[s]; e < y.first[s+1]; e++ {
					left[y.next[e]] += y.prob[e] * v
				}
			}
			if leaks := floats.Dot(x, y.leak); math.Abs(leaks-all) > 1e-12*all || floats.Norm(left, 1) > rest+1e-12 {
				t.Fatalf("%g arrive and %g leak, and %g is on its way: want %g", all, leaks, floats.Norm(left, 1), rest)
			}
			continue
		}
		for s, want := range denseSolve(t, minus(p, 1, nil).T(), arrivals) {
			if math.Abs(x[s]-want) > 1e-11*(1+want) {
				t.Fatalf("%.15g visits of state %d: want %.15g", x[s], s, want)
			}
		}
	}
	if solved < 100 {
		t.Errorf("%d systems were solved: want most of 200", solved)
	}
}
