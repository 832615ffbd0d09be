package exact

import (
	"math"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

// interpolated returns a + t·(b−a).
func interpolated(a, b []float64, t float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + t*(b[i]-a[i])
	}
	return out
}

func minus(a, b []float64) []float64 {
	return floats.SubTo(make([]float64, len(a)), a, b)
}

func scaled(a float64, x []float64) []float64 {
	return floats.ScaleTo(make([]float64, len(x)), a, x)
}

// roundoff is half the distance from 1 to the next float64, the relative error of one
// rounding.
const roundoff = 0x1p-53

// leastNormal is the least magnitude with relative rounding. Smaller numbers lose digits,
// and their inverses overflow.
const leastNormal = 0x1p-1022 / roundoff

// startError times the mean magnitude of what is summed bounds the error of atStart: 2 units
// for the sum, one for the products, and the start sums to 1 within rounding; see Higham,
// Accuracy and Stability of Numerical Algorithms, §4.3.
const startError = 4.001 * roundoff

// startMean returns the mean of v at the start, and a bound of its rounding error. It is summed as Kahan does,
// because starts may be as many as states and the bound of a plain sum grows with their number.
func startMean(m *cmdp.Model, v []float64) (mean, margin float64) {
	return meanOver(m.StartStates(), v)
}

// meanOver is startMean for another start.
func meanOver(start []cmdp.StartState, v []float64) (mean, margin float64) {
	sum, lost, size := 0.0, 0.0, 0.0
	for _, st := range start {
		term := float64(st.Probability * v[st.State])
		size += math.Abs(term)
		x := term - lost
		next := sum + x
		lost = (next - sum) - x
		sum = next
	}
	return sum, startError * size
}

// axis returns the i-th unit vector times sign.
func axis(dim, i int, sign float64) []float64 {
	n := make([]float64, dim)
	n[i] = sign
	return n
}

// dot returns form·v, in which 0·∞ is 0: what does not matter to a form counts for nothing in it.
func dot(form, v []float64) float64 {
	sum := 0.0
	for i, x := range form {
		if x != 0 {
			sum += float64(x * v[i])
		}
	}
	return sum
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
