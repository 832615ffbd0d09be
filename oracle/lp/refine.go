package lp

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// refinements bounds the steps of iterative refinement; with a good inverse two suffice.
const refinements = 6

// refinePrimal recomputes the basic variables from the bounds at which the
// nonbasic ones rest. Residuals of A·x − r = 0 are summed in twice the working
// precision, so that the result is nearly the correctly rounded one as long as the
// inverse is any good; if it is not, the corrections fail to shrink and the
// basis is factorised afresh.
func (s *simplex) refinePrimal() error {
	for attempt := 0; ; attempt++ {
		if s.refinePrimalOnce() {
			break
		}
		if attempt == 2 {
			return s.checkFinite()
		}
		s.refactor()
	}
	s.magnitude = 0
	for _, kind := range []*variables{&s.col, &s.row} {
		for i, x := range kind.x {
			if kind.pos[i] < 0 {
				s.magnitude = math.Max(s.magnitude, math.Abs(x))
			}
		}
	}
	s.magnitude = math.Max(s.magnitude, floats.Norm(s.xB, math.Inf(1)))
	dropDust(s.xB, s.magnitude)
	s.estimateDoubt()
	s.exact = true
	return s.checkFinite()
}

func (s *simplex) refinePrimalOnce() bool {
	m := len(s.head)
	previous := math.Inf(1)
	for range refinements {
		s.residual()
		change, size := 0.0, 0.0
		for k := range s.xB {
			row, sum := s.inverseRow(k)[:m], 0.0
			for i, v := range row {
				sum += v * s.rhs[i]
			}
			s.xB[k] -= sum
			change, size = math.Max(change, math.Abs(sum)), math.Max(size, math.Abs(s.xB[k]))
		}
		if change <= 1e-15*size {
			return true
		}
		if !(change < previous/8) {
			return change <= 1e-13*size
		}
		previous = change
	}
	return false
}

// estimateDoubt sets doubt to how far the basic variables move when coefficients
// and bounds change in their last digits: with size = |A|·|x| + |r| it is a few
// units of rounding times |B⁻¹|·size. Unlike a fixed tolerance this bears any
// scale: it knows that 0 = 1e-17 is no contradiction beside numbers near 1.
func (s *simplex) estimateDoubt() {
	size := s.rhs
	for i, x := range s.row.x {
		if k := s.row.pos[i]; k >= 0 {
			x = s.xB[k]
		}
		size[i] = math.Abs(x)
	}
	for j, rows := range s.index {
		x := s.col.x[j]
		if k := s.col.pos[j]; k >= 0 {
			x = s.xB[k]
		}
		if x == 0 {
			continue
		}
		for t, i := range rows {
			size[i] += math.Abs(s.value[j][t] * x)
		}
	}
	for k := range s.doubt {
		sum := 0.0
		for i, v := range s.inverseRow(k)[:len(size)] {
			sum += math.Abs(v) * size[i]
		}
		s.doubt[k] = 8 * epsilon * sum
	}
}

// dropDust zeroes what refinement has left of values that are zero: entries that
// are tiny beside size. In a Farkas ray such dust would meet infinite bounds.
func dropDust(x []float64, size float64) {
	for i, v := range x {
		if math.Abs(v) < dust*size {
			x[i] = 0
		}
	}
}

// residual sets rhs to A·x − r, summed as pairs of high and low parts.
func (s *simplex) residual() {
	high, low := s.rhs, s.rhsLow
	clear(high)
	clear(low)
	for j, rows := range s.index {
		x := s.col.x[j]
		if k := s.col.pos[j]; k >= 0 {
			x = s.xB[k]
		}
		if x == 0 {
			continue
		}
		value := s.value[j]
		for t, i := range rows {
			high[i], low[i] = addProduct(high[i], low[i], value[t], x)
		}
	}
	for i, x := range s.row.x {
		if k := s.row.pos[i]; k >= 0 {
			x = s.xB[k]
		}
		high[i], low[i] = addProduct(high[i], low[i], -1, x)
		high[i] += low[i]
	}
}

// addProduct adds a·b to high+low and returns the new pair.
func addProduct(high, low, a, b float64) (float64, float64) {
	p := a * b
	e := math.FMA(a, b, -p)
	sum := high + p
	t := sum - high
	return sum, low + ((high - (sum - t)) + (p - t)) + e
}

// multipliers sets y to the solution of Bᵀy = costB.
func (s *simplex) multipliers() {
	clear(s.y)
	m := len(s.head)
	for k, c := range s.costB {
		if c != 0 {
			floats.AddScaled(s.y, c, s.inverseRow(k)[:m])
		}
	}
}

// refineMultipliers improves y until Bᵀy = costB holds to working precision.
func (s *simplex) refineMultipliers() {
	m := len(s.head)
	previous := math.Inf(1)
	for range refinements {
		for k, v := range s.head {
			high, low := s.costB[k], 0.0
			if v < 0 {
				high += s.y[^v]
			} else {
				value := s.value[v]
				for t, i := range s.index[v] {
					high, low = addProduct(high, low, -value[t], s.y[i])
				}
			}
			s.rhs[k] = high + low
		}
		size := floats.Norm(s.rhs, math.Inf(1))
		if size == 0 || !(size < previous/8) {
			return
		}
		previous = size
		for k, e := range s.rhs {
			if e != 0 {
				floats.AddScaled(s.y, e, s.inverseRow(k)[:m])
			}
		}
	}
}
