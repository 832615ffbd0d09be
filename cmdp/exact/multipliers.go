package exact

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// supportMargin bounds the rounding error of Σ ν_k h_k, and by how much φ + Σ ν_k n_k·v, rounded to (φ+ψ)·v, can
// change at returns v; φ is nil where there is none. An entry that comes from one row, times 1 or −1, is not rounded.
func (m *master) supportMargin(nu, phi, lower, upper []float64) float64 {
	sum := 0.0
	for k, y := range nu {
		sum += y * math.Abs(m.rows[k].Offset)
	}
	for i := range lower {
		size, exact := 0.0, phi == nil || phi[i] == 0
		for k, y := range nu {
			x := m.rows[k].Normal[i]
			if y == 0 || x == 0 {
				continue
			}
			exact = exact && size == 0 && math.Abs(x) == 1
			size += y * math.Abs(x)
		}
		if size > 0 && !exact {
			sum += size * math.Max(math.Abs(lower[i]), math.Abs(upper[i]))
		}
	}
	return float64(len(nu)+4) * roundoff * sum
}

// withoutCancelling returns multipliers at which the entries of φ + ψ that cancel out up to rounding are 0, where a row
// of one return can make them so. A loop that returns it on either side would pay otherwise.
func (m *master) withoutCancelling(phi, nu []float64) []float64 {
	out, changed := nu, false
	for i := range phi {
		for range 3 {
			sum, size, at := phi[i], math.Abs(phi[i]), -1
			for k, y := range out {
				if n := m.rows[k].Normal; y != 0 && n[i] != 0 {
					sum += y * n[i]
					size += math.Abs(y * n[i])
					if _, x := singleEntry(n); x != 0 && (at < 0 || y > out[at]) {
						at = k
					}
				}
			}
			if sum == 0 || at < 0 || !(math.Abs(sum) <= 1e-13*size) {
				break
			}
			if !changed {
				out, changed = slices.Clone(nu), true
			}
			out[at] = math.Max(0, out[at]-sum/m.rows[at].Normal[i])
		}
	}
	return out
}

// perturbed returns multipliers that are a little larger for rows that loops of the given gains break, and for
// rays of the master that do the same, and a little smaller for those that they help to keep.
func (m *master) perturbed(nu []float64, gains [][]float64, raise float64) []float64 {
	out := slices.Clone(nu)
	for k, y := range nu {
		up, down := false, false
		for _, g := range gains {
			x := floats.Dot(m.rows[k].Normal, g)
			up, down = up || x > 0, down || x < 0
		}
		if up && !down {
			out[k] = y * (1 + raise)
		}
		if down && !up {
			out[k] = y * (1 - raise)
		}
	}
	return out
}
