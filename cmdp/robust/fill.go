package robust

import (
	"cmp"
	"math"
	"slices"
)

// A filler finds the distribution between bounds that makes an expectation greatest: every successor gets its lower
// bound, and what is left goes to the best ones, up to their upper bounds (Givan, Leach, Dean 2000). Where the bounds
// allow no sum of 1 by rounding, the sum is the nearest one. It must not be used concurrently.
type filler struct {
	sides [2]sides
	order []int32
}

func newFiller(longest int) filler {
	f := filler{order: make([]int32, longest)}
	for i := range f.sides {
		f.sides[i] = sides{newSide(longest), newSide(longest)}
	}
	return f
}

// few is up to how many successors the best ones are looked for one by one.
const few = 16

// passes is how many times as many successors as there are may be divided until the best ones are looked for one by
// one, so that rounding errors are bounded. Hardly any row needs more than 4.
const passes = 8

// divided bounds the rounding error of what fill returns, in units of the roundoff, for each successor, of all room and
// of the greatest magnitude of a value: those of the sums of what is divided, of the sums of its room, which say where
// what is free runs out, and of what is taken one by one.
const divided = 2 * (passes + 4)

// fill returns what is gained by giving away what is free to successors with room, to those of the greatest values
// first, and the last value that gets something. As in quickselect they are divided at a pivot, and only those on the
// side where what is free runs out are looked at again. If that is the better side, all there get what they have room
// for, and the excess is taken back, from the worst ones first: the same task with the opposite values. The first pivot
// is given: the closer it is to the last value, the faster this is. Those after are one of the values.
func (f *filler) fill(values, rooms []float64, free, pivot float64) (gain, last float64) {
	// Costs are the opposite values: processors find the least of some numbers without a branch.
	costs, sign, pivot, opposite := values, -1.0, -pivot, true
	cost, left := 0.0, passes*len(values)
	for i := 0; ; i++ {
		to := &f.sides[i%2]
		better, room, sum := to.divide(costs, rooms, sign, pivot)
		if better == 0 && i > 0 { // the pivot is the least cost
			better, room, sum = to.divide(costs, rooms, sign, math.Nextafter(pivot, math.Inf(1)))
			if better == len(costs) { // all costs are alike
				cost += min(free, room) * pivot
				last = pivot
				break
			}
		}
		sign = 1 // what was divided has the right sign
		left -= len(costs)
		cost += sum
		if room <= free {
			free -= room
			costs, rooms = to.others.first(len(costs) - better)
		} else {
			free = room - free
			costs, rooms = to.better.first(better)
			opposite, pivot = !opposite, -pivot
		}
		if len(costs) <= few || left <= 0 {
			sum, last = take(costs, rooms, free, pivot)
			cost += sum
			break
		}
		a, b, c := costs[0], costs[len(costs)/2], costs[len(costs)-1]
		pivot = max(min(a, b), min(max(a, b), c)) // their median
	}
	if opposite {
		last = -last
	}
	return -cost, last
}

// take returns what it costs to give away what is free, to the least costs first, and the last one of them, or what
// was given away last if nothing is free. The costs and rooms are lost.
func take(costs, rooms []float64, free, before float64) (sum, last float64) {
	last = before
	for free > 0 && len(costs) > 0 {
		last = costs[0]
		for _, c := range costs {
			last = min(last, c)
		}
		at, end := 0, len(costs)-1
		for at < end && costs[at] != last {
			at++
		}
		x := rooms[at]
		if free < x {
			x = free
		}
		sum += x * last
		free -= x
		costs[at], rooms[at] = costs[end], rooms[end]
		costs, rooms = costs[:end], rooms[:end]
	}
	return sum, last
}

// A side is some successors, with their costs and how much their probabilities may grow above the lower bounds.
type side struct{ costs, rooms []float64 }

func newSide(longest int) side { return side{make([]float64, longest), make([]float64, longest)} }

// first returns the first n successors.
func (s *side) first(n int) (costs, rooms []float64) { return s.costs[:n], s.rooms[:n] }

// Sides are successors on both sides of a pivot, the better ones with the opposite costs.
type sides struct{ better, others side }

// divide copies successors whose costs, times a sign, are below a pivot to the better side, and the others to the
// other one, and returns how many the former are, how much room they have, and what it costs to fill it. Each is
// copied to both sides, and where it does not belong it is overwritten by the next one, so that there is no branch
// that nobody can predict.
func (d *sides) divide(costs, rooms []float64, sign, pivot float64) (better int, room, sum float64) {
	n := len(costs)
	rooms = rooms[:n]
	betterCosts, betterRooms := d.better.first(n)
	otherCosts, otherRooms := d.others.first(n)
	for i, c := range costs {
		c *= sign
		r := rooms[i]
		betterCosts[better], betterRooms[better] = -c, r
		otherCosts[i-better], otherRooms[i-better] = c, r
		mask := int64(math.Float64bits(c-pivot)) >> 63 // all bits if the cost is below the pivot, and else none
		r = math.Float64frombits(math.Float64bits(r) & uint64(mask))
		room += r
		sum += r * c
		better -= int(mask)
	}
	return better, room, sum
}

// answer sets prob to a distribution between bounds whose expectation of values is the greatest.
func (f *filler) answer(prob, lower, upper, values []float64) {
	order := f.order[:len(values)]
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
