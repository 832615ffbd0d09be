package robust

import (
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFill compares the gain of what is free with a full sort and sums of 300 bits, on few and many successors, with
// values that are alike or of all magnitudes, and rooms of 0. The difference is within the bound of rounding errors.
func TestFill(t *testing.T) {
	t.Run("default", testFill)
	vector := compare
	compare = nil
	t.Cleanup(func() { compare = vector })
	t.Run("plain", testFill)
}

func testFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range 4000 {
		n := 1 + rng.IntN([]int{3, 8, 40, 200}[i%4])
		values, rooms := make([]float64, n+lanes), make([]float64, n+lanes)
		order, total := make([]int, n), 0.0
		for k := range order {
			order[k], values[k] = k, rng.NormFloat64()
			switch rng.IntN(4) {
			case 0:
				values[k] = float64(rng.IntN(3))
			case 1:
				values[k] = math.Exp(20 * values[k])
			}
			if rng.IntN(5) > 0 {
				rooms[k] = rng.Float64()
			}
			total += rooms[k]
		}
		for k := range lanes {
			values[n+k] = 10 * rng.NormFloat64()
		}
		free := total * []float64{1e-9, 0.01, 0.5, rng.Float64(), 1}[rng.IntN(5)]
		if free == 0 {
			continue
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
		precise := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
		want, left, most := precise(0), precise(free), 0.0
		for _, k := range order {
			x := precise(rooms[k])
			if left.Cmp(x) < 0 {
				x.Set(left)
			}
			left.Sub(left, x)
			want.Add(want, x.Mul(x, precise(values[k])))
			most = max(most, math.Abs(values[k]))
		}
		got := fill(values, make([]float64, n+lanes), rooms, n, free)
		off, _ := want.Sub(precise(got), want).Float64()
		if math.Abs(off) > unit*filled(n)*total*most {
			t.Fatalf("case %d: %d successors, %g of %g free: gain %.17g is wrong by %g", i, n, free, total, got, off)
		}
	}
}
