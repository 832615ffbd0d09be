package cmdp

import (
	"slices"
	"testing"
)

// TestIntervalsAreKept: bounds are those that were given, also where they touch the probabilities of the model on one
// side, and a choice is exact where they do on both.
func TestIntervalsAreKept(t *testing.T) {
	rng := generator(9)
	for seed := range uint64(20) {
		m := randomModel(t, seed, 3, 2, 1, seed%2 == 0)
		if seed%4 == 0 { // steps may share a kernel, and differ in their bounds
			var err error
			m, err = NewModel(ModelSpec{Horizon: 2, Dim: 1, Start: m.StartStates(),
				Kernels: []Kernel{*m.Kernel(0), *m.Kernel(0)}})
			if err != nil {
				t.Fatal(err)
			}
		}
		var given [][2][]float64
		rows, widest := 0, 0.0
		iv, err := NewIntervals(m, func(h, c int) (lower, upper []float64) {
			_, prob := m.Rows(h).Row(c)
			exact, low, high := true, float64(rng.IntN(2)), float64(rng.IntN(2))
			for _, p := range prob {
				l, u := p-low*p*rng.Float64(), p+high*(1-p)*rng.Float64()
				exact, widest = exact && l == p && u == p, max(widest, u-l)
				lower, upper = append(lower, l), append(upper, u)
			}
			if exact {
				given = append(given, [2][]float64{})
			} else {
				given, rows = append(given, [2][]float64{lower, upper}), rows+1
			}
			return lower, upper
		})
		if err != nil {
			t.Fatal(err)
		}
		if iv.Rows() != rows || iv.Width() != widest {
			t.Errorf("model %d: %d rows up to %g: want %d and %g", seed, iv.Rows(), iv.Width(), rows, widest)
		}
		at := 0
		for h := range m.Kernels() {
			for c := range m.Kernel(h).Choices() {
				lower, upper := iv.Row(h, c)
				if !slices.Equal(lower, given[at][0]) || !slices.Equal(upper, given[at][1]) {
					t.Errorf("model %d, step %d, choice %d: %v to %v: want %v", seed, h+1, c, lower, upper, given[at])
				}
				at++
			}
		}
	}
}
