package cost

import "math"

// maximumNorm is ‖x − center‖_∞.
type maximumNorm struct{ centered }

// Value returns max_i |x_i − center_i|.
func (c *maximumNorm) Value(x []float64) float64 {
	checkDim(c.Dim(), len(x))
	largest := 0.0
	for i, v := range x {
		largest = math.Max(largest, math.Abs(v-c.center[i]))
	}
	return largest
}

// Subgradient sets dst to the signed unit vector of the first coordinate that
// attains the norm, zero at the center.
func (c *maximumNorm) Subgradient(dst, x []float64) {
	checkDim(c.Dim(), len(dst), len(x))
	at, largest := -1, 0.0
	for i, v := range x {
		if r := v - c.center[i]; math.Abs(r) > math.Abs(largest) {
			at, largest = i, r
		}
	}
	clear(dst)
	if at >= 0 {
		dst[at] = math.Copysign(1, largest)
	}
}

// ConjugateSubgradient solves for the largest deviation t. Given t, each
// coordinate with a dual that is not zero goes as far as t and the domain
// allow. The slope in t is the sum of the duals of the coordinates that t holds
// back, less 1.
func (c *maximumNorm) ConjugateSubgradient(dst, dual, near []float64) {
	checkDim(c.Dim(), len(dst), len(dual), len(near))
	least, most := 0.0, 0.0
	for i := range c.center {
		l, u := c.sides(i)
		least = math.Max(least, math.Max(l, -u))
		most = math.Max(most, math.Max(-l, u))
	}
	t := nearestLevel(least, most, slack,
		func(t float64) float64 {
			slope := -1.0
			for i, d := range dual {
				d = snap(d)
				l, u := c.sides(i)
				if (d > 0 && t < u) || (d < 0 && t < -l) {
					slope += math.Abs(d)
				}
			}
			return slope
		},
		func(t float64) float64 {
			pull := 0.0
			for i, d := range dual {
				d = snap(d)
				l, u := c.sides(i)
				q := near[i] - c.center[i]
				if t < u && (d > 0 || (d == 0 && q > t)) {
					pull += t - q
				}
				if t < -l && (d < 0 || (d == 0 && q < -t)) {
					pull += t + q
				}
			}
			return pull
		})
	for i, d := range dual {
		l, u := c.sides(i)
		z := clamp(near[i]-c.center[i], -t, t)
		d = snap(d)
		if d != 0 {
			z = math.Copysign(t, d)
		}
		dst[i] = c.pointAt(i, clamp(z, l, u))
	}
}
