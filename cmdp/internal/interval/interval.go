// Package interval has what distributions between bounds have in common, wherever the bounds come from.
package interval

import (
	"fmt"
	"math"
)

// Check returns an error unless there are distributions between the bounds: 0 ≤ lower ≤ upper ≤ 1 for each, lower
// bounds that sum to at most 1 and upper bounds that sum to at least 1, all within a tolerance.
func Check(lower, upper []float64, tolerance float64) error {
	if len(lower) != len(upper) {
		return fmt.Errorf("%d lower and %d upper bounds: want as many", len(lower), len(upper))
	}
	least, most := 0.0, 0.0
	for i, l := range lower {
		switch u := upper[i]; {
		case !(l >= 0 && l <= 1+tolerance && u >= 0 && u <= 1+tolerance):
			return fmt.Errorf("[%g, %g]: want bounds of a probability, from 0 to 1", l, u)
		case l > u:
			return fmt.Errorf("[%g, %g]: the lower bound is above the upper one", l, u)
		}
		least += l
		most += upper[i]
	}
	switch {
	case least > 1+tolerance:
		return fmt.Errorf("the lower bounds sum to %.12g: want at most 1", least)
	case most < 1-tolerance:
		return fmt.Errorf("the upper bounds sum to %.12g: want at least 1", most)
	}
	return nil
}

// Nominal sets dst to the distribution between the bounds that lies at the same share of each interval: the midpoints
// where these sum to 1. It is positive wherever some distribution is.
func Nominal(dst, lower, upper []float64) {
	least, most := 0.0, 0.0
	for i, l := range lower {
		least += l
		most += upper[i]
	}
	share := 0.0
	if most > least {
		share = min(1, max(0, (1-least)/(most-least)))
	}
	for i, l := range lower {
		u := upper[i]
		dst[i] = min(u, l+share*(u-l))
		if math.Abs(share-0.5) < 1e-12 {
			dst[i] = (l + u) / 2 // without the rounding of the share
		}
	}
}
