package markov

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestBackup: vector instructions give the digits of plain Go, of numbers that are none or infinite too, and of any
// number of returns and successors.
func TestBackup(t *testing.T) {
	if !vectors {
		t.Skip("no vector instructions")
	}
	defer func() { vectors = true }()
	rng := rand.New(rand.NewPCG(26, 12))
	special := []float64{0, math.Copysign(0, -1), 1e300, 1e-310, math.Inf(1), math.Inf(-1), math.NaN()}
	draw := func() float64 {
		if i := rng.IntN(40); i < len(special) {
			return special[i]
		}
		return rng.NormFloat64()
	}
	lanes := func(n int) []Lanes {
		out := make([]Lanes, n)
		for i := range out {
			out[i] = Lanes{draw(), draw(), draw(), draw()}
		}
		return out
	}
	for i := range 20_000 {
		states := 1 + rng.IntN(8)
		returns, prob := make([]float64, rng.IntN(5)), make([]float64, rng.IntN(6))
		next := make([]int32, len(prob))
		for j := range returns {
			returns[j] = draw()
		}
		for j := range next {
			next[j], prob[j] = int32(rng.IntN(states)), rng.Float64()
		}
		s, lo := int32(rng.IntN(states)), int32(rng.IntN(states))
		hi := lo + int32(rng.IntN(states))
		directions, values, base := lanes(len(returns)), lanes(states), lanes(1)
		backup := func(of bool) string {
			vectors = of
			sum, size, out := Backup(directions, returns, values, next, prob, s, lo, hi, &base[0])
			return fmt.Sprint(sum, size, out)
		}
		if got, want := backup(true), backup(false); got != want {
			t.Fatalf("%d returns and %d successors, number %d: %s by vector instructions: want %s", len(returns),
				len(next), i, got, want)
		}
	}
}
