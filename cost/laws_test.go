package cost_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"cmdpsolve/cost"
	"cmdpsolve/cost/costtest"
	"cmdpsolve/geometry"
)

// domains are the boxes on which every cost is tried: one dimension, small and
// large sides, negative returns, a side of length 0, sides of different size.
var domains = map[string][2][]float64{
	"unit interval": {{0}, {1}},
	"square":        {{0, 0}, {1, 1}},
	"horizon":       {{0, 0, 0}, {20, 20, 20}},
	"negative":      {{-3, -5, -1, -2}, {-1, 2, -0.5, 3}},
	"flat side":     {{0, 1, -1}, {2, 1, 1}},
	"uneven":        {{-100, 0}, {0.01, 3}},
	"point":         {{0.5, 2}, {0.5, 2}},
	"large":         {{-1e6, 2e7}, {1e6, 3e8}},
	"far away":      {{1e6, -1e6}, {1e6 + 1, -1e6 + 2}},
}

func newBox(t testing.TB, lower, upper []float64) *geometry.Box {
	t.Helper()
	box, err := geometry.NewBox(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestLaws(t *testing.T) {
	for _, entry := range cost.Registry() {
		t.Run(entry.Name, func(t *testing.T) {
			for name, sides := range domains {
				instances, rounds := 12, 30
				if !entry.Closed {
					instances, rounds = 2, 5
				}
				if testing.Short() {
					instances, rounds = (instances+3)/4, 5
				}
				for seed := range instances {
					label := fmt.Sprintf("%s, seed %d", name, seed)
					box := newBox(t, sides[0], sides[1])
					c, err := entry.Random(box, rand.New(rand.NewPCG(uint64(seed), uint64(len(name)))))
					if err != nil {
						t.Fatalf("%s: %v", label, err)
					}
					check := costtest.Case{
						Cost: c, Domain: box, Seed: uint64(seed), Rounds: rounds,
						NearestTies: entry.Closed, AllocationFree: entry.Closed && seed == 0,
					}
					if d, ok := c.(*cost.Distance); ok {
						check.Range = d.Set()
					}
					if !entry.Closed {
						check.Tolerance = 1e-7
					}
					if err := costtest.Check(check); err != nil {
						t.Errorf("%s: %T: %v", label, c, err)
					}
				}
			}
		})
	}
}
