package cost_test

import (
	"math/rand/v2"
	"testing"

	"cmdpsolve/cost"
)

// BenchmarkConjugateSubgradient asks every kind of cost of the registry, in four
// dimensions, at duals as a learner meets them.
func BenchmarkConjugateSubgradient(b *testing.B) {
	box := newBox(b, []float64{0, 0, 0, 0}, []float64{20, 20, 20, 20})
	for _, entry := range cost.Registry() {
		b.Run("cost="+entry.Name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			c, err := entry.Random(box, rng)
			if err != nil {
				b.Fatal(err)
			}
			duals, near := make([][]float64, 64), []float64{3, 7, 11, 19}
			for k := range duals {
				x := make([]float64, 4)
				for i := range x {
					x[i] = 20 * rng.Float64()
				}
				c.Subgradient(x, x)
				duals[k] = x
			}
			dst := make([]float64, 4)
			b.ReportAllocs()
			for k := 0; b.Loop(); k++ {
				c.ConjugateSubgradient(dst, duals[k%len(duals)], near)
			}
		})
	}
}

// BenchmarkValue and BenchmarkSubgradient are what a report and a level method ask.
func BenchmarkValue(b *testing.B) {
	box := newBox(b, []float64{0, 0, 0, 0}, []float64{20, 20, 20, 20})
	for _, entry := range cost.Registry() {
		b.Run("cost="+entry.Name, func(b *testing.B) {
			c, err := entry.Random(box, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				c.Value([]float64{3, 7, 11, 19})
			}
		})
	}
}

func BenchmarkSubgradient(b *testing.B) {
	box := newBox(b, []float64{0, 0, 0, 0}, []float64{20, 20, 20, 20})
	for _, entry := range cost.Registry() {
		b.Run("cost="+entry.Name, func(b *testing.B) {
			c, err := entry.Random(box, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]float64, 4)
			b.ReportAllocs()
			for b.Loop() {
				c.Subgradient(dst, []float64{3, 7, 11, 19})
			}
		})
	}
}
