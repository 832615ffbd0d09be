package exact

import (
	"math"
	"slices"

	"cmdpsolve/cmdp"
)

// dot forms long sums in four parts, which do not wait for each other.
func dot(a, b []float64) float64 {
	sum := 0.0
	if len(a) >= 64 {
		var x, y, z, w float64
		for ; len(a) >= 4; a, b = a[4:], b[4:] {
			b := b[:4]
			x += a[0] * b[0]
			y += a[1] * b[1]
			z += a[2] * b[2]
			w += a[3] * b[3]
		}
		sum = (x + y) + (z + w)
	}
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// axpy adds a·x to dst.
func axpy(dst []float64, a float64, x []float64) {
	for i, v := range x {
		dst[i] += a * v
	}
}

// norm is the Euclidean norm, free of overflow.
func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum = math.Hypot(sum, v)
	}
	return sum
}

// allFinite reports whether all numbers are finite.
func allFinite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// between returns a + t·(b−a).
func between(a, b []float64, t float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + t*(b[i]-a[i])
	}
	return out
}

func minus(a, b []float64) []float64 {
	out := slices.Clone(a)
	axpy(out, -1, b)
	return out
}

func scaled(a float64, x []float64) []float64 {
	out := slices.Clone(x)
	for i := range out {
		out[i] *= a
	}
	return out
}

// unit is half the distance from 1 to the next float64, the relative error of one
// rounding.
const unit = 0x1p-53

// smallest is the least magnitude with relative rounding. Smaller numbers lose digits,
// and their inverses overflow.
const smallest = 0x1p-1022 / unit

// startError times the largest magnitude of a value bounds the error of atStart: 2 units
// for the sum, one for the products, and the start sums to 1 within rounding; see Higham,
// Accuracy and Stability of Numerical Algorithms, §4.3.
const startError = 4.001 * unit

// atStart returns the mean of v at the start. It is summed as Kahan does, because starts
// may be as many as states and the bound of a plain sum grows with their number.
func atStart(m *cmdp.Model, v []float64) float64 {
	sum, lost := 0.0, 0.0
	for _, st := range m.StartStates() {
		x := float64(st.Probability*v[st.State]) - lost
		next := sum + x
		lost = (next - sum) - x
		sum = next
	}
	return sum
}

// axis returns the i-th unit vector times sign.
func axis(dim, i int, sign float64) []float64 {
	n := make([]float64, dim)
	n[i] = sign
	return n
}
