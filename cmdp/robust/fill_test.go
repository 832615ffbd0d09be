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
// values that are alike or of all magnitudes, rooms of 0, and several directions. The difference is within the bound of
// rounding errors.
func TestFill(t *testing.T) {
	t.Run("default", testFill)
	vector := pivots
	pivots = nil
	t.Cleanup(func() { pivots = vector })
	t.Run("plain", testFill)
}

func testFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range 4000 {
		n, dirs := 1+rng.IntN([]int{3, 8, 40, 200}[i%4]), 1+rng.IntN(3)
		stride := n + lanes + rng.IntN(5)
		values, rooms, total := make([]float64, dirs*stride), make([]float64, n+lanes), 0.0
		for k := range values {
			values[k] = rng.NormFloat64()
			switch rng.IntN(4) {
			case 0:
				values[k] = float64(rng.IntN(3))
			case 1:
				values[k] = math.Exp(20 * values[k])
			}
		}
		for k := range n {
			if rng.IntN(5) > 0 {
				rooms[k] = rng.Float64()
			}
			total += rooms[k]
		}
		free := total * []float64{1e-9, 0.01, 0.5, rng.Float64(), 1}[rng.IntN(5)]
		if free == 0 {
			continue
		}
		got := make([]float64, dirs)
		fill(got, values, stride, make([]float64, n+lanes), rooms, n, free)
		for j, x := range got {
			of := values[j*stride:][:n]
			off, most := offBy(x, of, rooms[:n], free)
			if math.Abs(off) > unit*filled(n)*total*most {
				t.Fatalf("case %d: %d successors, %g of %g free, direction %d of %d: gain %.17g is wrong by %g", i, n,
					free, total, j, dirs, x, off)
			}
		}
	}
}

// offBy returns how much more than a gain what is free gains, and the magnitude of the largest value.
func offBy(gain float64, values, rooms []float64, free float64) (off, most float64) {
	order := make([]int, len(values))
	for k, v := range values {
		order[k] = k
		most = math.Max(most, math.Abs(v))
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	precise := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	want, left := precise(0), precise(free)
	for _, k := range order {
		x := precise(rooms[k])
		if left.Cmp(x) < 0 {
			x.Set(left)
		}
		left.Sub(left, x)
		want.Add(want, x.Mul(x, precise(values[k])))
	}
	off, _ = want.Sub(want, precise(gain)).Float64()
	return off, most
}

// TestLoad loads values of successors in any number of directions.
func TestLoad(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	const states = 50
	for n := 1; n < 10; n++ {
		b := &backup{dirs: make([][]float64, n), gamma: 0.5, stride: 40, values: make([]float64, 40*n)}
		v := make([]float64, states*n)
		for i := range v {
			v[i] = rng.Float64()
		}
		for range 37 {
			b.next = append(b.next, rng.Int32N(states))
		}
		b.load(v)
		for j := range n {
			for i, x := range b.direction(j) {
				if want := 0.5 * v[int(b.next[i])*n+j]; x != want {
					t.Fatalf("value %d in direction %d of %d is %g: want %g", i, j, n, x, want)
				}
			}
		}
	}
}
