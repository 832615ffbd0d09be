package lp

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// A step is how far the entering variable moves and what stops it.
type step struct {
	length float64 // ≥ 0, +Inf if nothing stops it
	leave  int     // basis position of the variable that stops it, −1 if its own other bound does
	bound  float64 // the value at which that variable comes to rest
}

// ratio finds the longest step of entering variable q with reduced cost d that keeps
// feasible variables feasible, and stops when an infeasible one becomes feasible. Harris's
// two passes: the first finds the longest step if bounds may be overstepped by a small
// slack, the second takes the largest pivot among the variables met before that. After a
// stall Bland's rule takes the first variable among those that are exactly tied.
func (s *simplex) ratio(q int, d float64, phaseOne bool) step {
	direction := -math.Copysign(1, d)
	bland := s.bland()
	smallest := s.smallestPivot()
	// reach returns how far the variable at position k lets q go, and where it comes to rest.
	reach := func(k int) (length, target float64, stops bool) {
		a := s.alpha[k]
		if math.Abs(a) <= smallest {
			return 0, 0, false
		}
		// Slack allows that the variable has passed the target already.
		target, stops = s.target(k, -direction*a, phaseOne)
		if stops && !((target-s.xB[k])*-direction*a < 0) {
			length = math.Abs(target-s.xB[k]) / math.Abs(a)
		}
		return length, target, stops
	}
	limit := math.Inf(1)
	for k, a := range s.alpha {
		if length, target, stops := reach(k); stops {
			if !bland {
				length += s.slack(k, target) / 8 / math.Abs(a)
			}
			limit = math.Min(limit, length)
		}
	}
	best := step{length: math.Inf(1), leave: -1}
	pivot := 0.0
	for k, a := range s.alpha {
		better := math.Abs(a) > pivot
		if bland {
			better = best.leave < 0 || order(s.head[k]) < order(s.head[best.leave])
		}
		if !better {
			continue
		}
		if length, target, stops := reach(k); stops && length <= limit {
			best, pivot = step{length, k, target}, math.Abs(a)
		}
	}
	kind, i := s.at(q)
	if width := kind.upper[i] - kind.lower[i]; width <= best.length {
		opposite := kind.upper[i]
		if direction < 0 {
			opposite = kind.lower[i]
		}
		if !math.IsInf(opposite, 0) && !math.IsInf(width, 0) {
			best = step{math.Abs(opposite - kind.x[i]), -1, opposite}
		}
	}
	return best
}

// smallestPivot returns the size below which an entry of alpha is rounding error.
func (s *simplex) smallestPivot() float64 {
	return 1e-11 * math.Max(1, floats.Norm(s.alpha, math.Inf(1)))
}

// target returns the bound that the basic variable at position k meets when it
// moves in the direction of sign, and false if there is none.
func (s *simplex) target(k int, sign float64, phaseOne bool) (float64, bool) {
	lower, upper := s.bounds(s.head[k])
	near, far := lower, upper
	if sign > 0 {
		near, far = upper, lower
	}
	if phaseOne && s.costB[k] != 0 {
		if s.costB[k] == math.Copysign(1, sign) {
			return 0, false // moves away from its violated bound, at a cost already counted
		}
		near = far // moves back to the bound that it violates
	}
	return near, !math.IsInf(near, 0)
}

// order numbers the variables for Bland's rule: columns in turn with rows.
func order(v int) int {
	if v >= 0 {
		return 2 * v
	}
	return 2*^v + 1
}

// move carries the step out.
func (s *simplex) move(q int, d float64, st step) {
	direction := -math.Copysign(1, d)
	floats.AddScaled(s.xB, -direction*st.length, s.alpha)
	if st.length*math.Abs(d) > 0 && st.length > 1e-13*s.magnitude {
		s.stalled = 0
	} else {
		s.stalled++
	}
	s.exact = false
	kind, i := s.at(q)
	if st.leave < 0 {
		kind.x[i] = st.bound
		return
	}
	value := kind.x[i] + direction*st.length
	s.magnitude = math.Max(s.magnitude, math.Abs(value))
	s.devex.pivoted(s, q, st.leave)
	s.leave(st.leave, st.bound)
	s.pivot(s.alpha, st.leave)
	s.enter(q, st.leave)
	s.xB[st.leave] = value
}
