package robust

import (
	"cmp"
	"math"
	"slices"
)

// fill sets dst to the greatest expectations of values, one of each direction, over distributions between bounds:
// every successor gets its lower bound, and what is left goes to the best ones, up to their upper bounds (Givan, Leach,
// Dean 2000). Rooms are how much each probability may grow above the lower bound, and free, positive and at most their
// sum, is what is left. By the duality of linear programs an expectation is the least of
//
//	Σ lower·value + free·t + Σ rooms·max(value − t, 0)
//
// over t, and the best t is the value of the successor at which what is left runs out. Each t gives a bound, so that
// rounding in the search for t cannot make it too low. Values of the n successors in direction j begin at j*stride. The
// successors are followed by zeros in lower and rooms, and by any finite numbers in values, to a multiple of lanes.
func fill(dst, values []float64, stride int, lower, rooms []float64, n int, free float64) {
	if pivots != nil && n <= few {
		pivots(&dst[0], &values[0], stride, len(dst), &rooms[0], n, free)
		sums(&dst[0], &values[0], stride, len(dst), &lower[0], &rooms[0], n, free)
		return
	}
	for j := range dst {
		of := values[j*stride:][:n]
		dst[j] = dot(lower[:n], of) + cut(of, rooms[:n], free)
	}
}

// What processors have instructions for; nil where they have none.
var (
	// pivots sets t to the best t of each direction. Each successor is compared with each.
	pivots func(t, values *float64, stride, dirs int, rooms *float64, n int, free float64)
	// sums replaces the t of each direction by the sum that it gives.
	sums func(t, values *float64, stride, dirs int, lower, rooms *float64, n int, free float64)
	// prefetch begins to bring the values of successors in n directions into the cache.
	prefetch func(v *float64, n int, next *int32, successors int)
)

// few is up to how many successors comparing each with each is the faster way.
const few = 64

// lanes is how many successors are compared side by side, at most.
const lanes = 24

// filled bounds the rounding error of fill, in units of the roundoff, of all room and of the greatest magnitude of a
// value, for n successors. That of the sum of the lower bounds is not in it.
func filled(n int) float64 { return float64(6*n + 8) }

// A tangent touches, at t, the convex function of t that fill minimizes. Its slope is what is free less a mass.
type tangent struct{ mass, t, value float64 }

// cut returns the least of free·t + Σ rooms·max(value − t, 0) over t, by cutting planes (Kelley 1960): the next t is
// where the tangents on both sides of the least value meet. It is the best one if no value lies between it and one of
// the two, and else fewer values lie between the next two.
func cut(values, rooms []float64, free float64) float64 {
	least, greatest := slices.Min(values), slices.Max(values)
	mass, excess := above(values, rooms, least)
	left, right := tangent{mass, least, free*least + excess}, tangent{0, greatest, free * greatest}
	for {
		t := left.t + (left.value-right.value-(free-right.mass)*(left.t-right.t))/(left.mass-right.mass)
		t = max(left.t, min(t, right.t))
		mass, excess := above(values, rooms, t)
		at := tangent{mass, t, free*t + excess}
		switch {
		case mass == free || mass == left.mass || mass == right.mass:
			return at.value
		case mass > free:
			left = at
		default:
			right = at
		}
	}
}

// above returns the room of the successors whose values are at least t, and the sum of how much they are above it,
// times their rooms.
func above(values, rooms []float64, t float64) (mass, excess float64) {
	for i, v := range values {
		d := v - t
		not := uint64(int64(math.Float64bits(d)) >> 63) // all bits if the value is below t, and else none
		r := math.Float64frombits(math.Float64bits(rooms[i]) &^ not)
		mass += r
		excess += r * d
	}
	return mass, excess
}

// answer sets prob to a distribution between bounds whose expectation of values is the greatest. Where the bounds allow
// no sum of 1 by rounding, the sum is the nearest one. order is overwritten.
func answer(prob, lower, upper, values []float64, order []int32) {
	order = order[:len(values)]
	free := 1.0
	for i := range values {
		prob[i] = lower[i]
		free -= lower[i]
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(values[b], values[a]) })
	for _, i := range order {
		if free <= 0 {
			return
		}
		x := min(free, upper[i]-lower[i])
		prob[i] = min(upper[i], prob[i]+x)
		free -= x
	}
}
