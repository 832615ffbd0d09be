package cost

import "math"

// euclidean is ‖x − center‖₂.
type euclidean struct{ centered }

// Value returns ‖x − center‖₂.
func (c *euclidean) Value(x []float64) float64 {
	checkDim(c.Dim(), len(x))
	sum := 0.0
	for i, v := range x {
		sum = math.Hypot(sum, v-c.center[i])
	}
	return sum
}

// Subgradient sets dst to the unit vector from the center to x, zero at the center.
func (c *euclidean) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	size, unit := c.Value(x), 1.0
	if size < tiny {
		// Lengths below the normal range have few digits, or one: measure longer ones.
		unit = 1 / tiny
		size = 0
		for i, v := range x {
			size = math.Hypot(size, (v-c.center[i])*unit)
		}
	}
	for i, v := range x {
		dst[i] = 0
		if size > 0 {
			dst[i] = (v - c.center[i]) * unit / size
		}
	}
}

// tiny is a power of two so far above the least normal number that numbers above it
// keep their digits in sums and quotients, and that dividing by it is exact.
const tiny = 0x1p-900

// ConjugateSubgradient uses ‖z‖ = min_t ‖z‖²/(2t) + t/2: for a given length t the
// maximiser is the dual, stretched by t and clamped to the domain, and the
// problem that is left is concave in t. For duals in the unit ball and a center
// in the domain the answer is the center.
func (c *euclidean) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	longest, excess := 0.0, -1.0
	for i, d := range dual {
		l, u := c.sides(i)
		excess += d * d
		longest = math.Hypot(longest, math.Max(math.Abs(l), math.Abs(u)))
	}
	// Sides add what differs from the square of the dual, so that the slope is
	// exactly zero where no side is met and the dual is a unit vector.
	excess = snap(excess)
	t := nearestLevel(0, longest, 0,
		func(t float64) float64 {
			slope := excess
			for i, d := range dual {
				l, u := c.sides(i)
				r := stretchRatio(t, d, l, u)
				slope += (r - d) * (r + d)
			}
			return slope
		},
		func(t float64) float64 {
			pull := 0.0
			for i, d := range dual {
				l, u := c.sides(i)
				if (d > 0 && l <= t*d && t*d < u) || (d < 0 && l < t*d && t*d <= u) {
					pull += d * (t*d - (near[i] - c.center[i]))
				}
			}
			return pull
		})
	for i, d := range dual {
		l, u := c.sides(i)
		dst[i] = c.pointAt(i, clamp(t*d, l, u))
	}
}

// stretchRatio returns clamp(t·d, l, u)/t, and its limit at t = 0.
func stretchRatio(t, d, l, u float64) float64 {
	bound := 0.0
	switch {
	case t*d > u || (d > 0 && t*d == u):
		bound = u
	case t*d < l || (d < 0 && t*d == l):
		bound = l
	default:
		return d
	}
	if bound == 0 {
		return 0
	}
	return bound / t
}
