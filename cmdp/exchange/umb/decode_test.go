package umb

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestRationalRoundsOnce compares with exact arithmetic where numerator or
// denominator have more digits than a float64.
func TestRationalRoundsOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		num, den := int64(rng.Uint64())>>rng.IntN(64), rng.Uint64()>>rng.IntN(63)|1
		b := order.AppendUint64(order.AppendUint64(nil, uint64(num)), den)
		want, _ := new(big.Rat).SetFrac(big.NewInt(num), new(big.Int).SetUint64(den)).Float64()
		if x, ok := rational(b); !ok || x != want {
			t.Fatalf("%d/%d: got %g: want %g", num, den, x, want)
		}
	}
}
