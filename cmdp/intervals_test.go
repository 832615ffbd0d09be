package cmdp

import (
	"math"
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
				if i := len(lower); seed%4 == 0 && h > 0 { // as in the step before, but for one side of a choice
					l, u = p, p
					if before := given[c]; before[0] != nil {
						l, u = before[0][i], before[1][i]
					}
					if c == 1 && seed%8 == 0 {
						u = (u + 1) / 2
					} else if c == 1 {
						l /= 2
					}
				}
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

// TestWidenByDefinition widens probabilities, and what is wide already: every bound moves by the width, as far as 0 and
// 1, but for successors that are sure.
func TestWidenByDefinition(t *testing.T) {
	rng := generator(10)
	for seed := range uint64(30) {
		m := randomModel(t, seed, 3, 2, 1, seed%2 == 0)
		var iv *Intervals
		total := 0.0
		for range 1 + rng.IntN(2) {
			width := 0.3 * rng.Float64()
			var err error
			if iv, err = Widen(m, iv, width); err != nil {
				t.Fatal(err)
			}
			total += width
		}
		for h := range m.Kernels() {
			for c := range m.Kernel(h).Choices() {
				_, prob := m.Rows(h).Row(c)
				lower, upper := iv.Row(h, c)
				if (lower == nil) != (len(prob) == 1) {
					t.Errorf("model %d, choice %d of %d successors: %v to %v", seed, c, len(prob), lower, upper)
				}
				for i := range lower {
					least, most := max(0, prob[i]-total), min(1, prob[i]+total)
					if math.Abs(lower[i]-least) > 1e-12 || math.Abs(upper[i]-most) > 1e-12 {
						t.Errorf("model %d: %g wider by %g is %g to %g", seed, prob[i], total, lower[i], upper[i])
					}
				}
			}
		}
	}
}

// TestIntervalsRefuseBadInput spoils the bounds of one successor, of choices that have several.
func TestIntervalsRefuseBadInput(t *testing.T) {
	m := randomModel(t, 1, 3, 2, 1, true)
	for i, spoil := range []func(lower, upper []float64, p float64) ([]float64, []float64){
		func(lower, upper []float64, _ float64) ([]float64, []float64) { return lower[1:], upper },
		func(lower, _ []float64, _ float64) ([]float64, []float64) { return lower, nil },
		func(lower, upper []float64, p float64) ([]float64, []float64) {
			lower[0] = p + 1e-6
			return lower, upper
		},
		func(lower, upper []float64, p float64) ([]float64, []float64) {
			upper[0] = p - 1e-6
			return lower, upper
		},
		func(lower, upper []float64, _ float64) ([]float64, []float64) {
			lower[0] = math.NaN()
			return lower, upper
		},
		func(lower, upper []float64, _ float64) ([]float64, []float64) {
			upper[0] = math.NaN()
			return lower, upper
		},
		func(lower, upper []float64, _ float64) ([]float64, []float64) { lower[0] = -0.5; return lower, upper },
		func(lower, upper []float64, _ float64) ([]float64, []float64) { upper[0] = 1.5; return lower, upper },
	} {
		if _, err := NewIntervals(m, func(h, c int) ([]float64, []float64) {
			_, prob := m.Rows(h).Row(c)
			if len(prob) == 1 {
				return nil, nil
			}
			return spoil(make([]float64, len(prob)), slices.Repeat([]float64{1}, len(prob)), prob[0])
		}); err == nil {
			t.Errorf("spoilt intervals %d were accepted", i)
		}
	}
	for _, width := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := Widen(m, nil, width); err == nil {
			t.Errorf("intervals wider by %g", width)
		}
	}
}
