package monitor

import (
	"math"
	"math/big"
	"strconv"
)

// Unit returns the largest number that divides all the values, 1 if all are 0. A value is
// taken as the shortest decimal that reads back as it.
func Unit(values []float64) *big.Rat {
	unit := new(big.Rat)
	for _, x := range values {
		unit = rationalGCD(unit, Decimal(x))
	}
	if unit.Sign() == 0 {
		return big.NewRat(1, 1)
	}
	return unit
}

// Decimal returns the shortest decimal that reads back as x. It panics if x is not finite.
func Decimal(x float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		panic("monitor: a value is not finite")
	}
	return r
}

// rationalGCD returns the greatest common divisor of two rationals a/b and c/d, which is
// gcd(a·d, c·b)/(b·d).
func rationalGCD(x, y *big.Rat) *big.Rat {
	a := new(big.Int).Mul(x.Num(), y.Denom())
	b := new(big.Int).Mul(y.Num(), x.Denom())
	g := new(big.Int).GCD(nil, nil, a.Abs(a), b.Abs(b))
	return new(big.Rat).SetFrac(g, new(big.Int).Mul(x.Denom(), y.Denom()))
}

// floorUnits returns x/unit, rounded down, and whether it is whole. Where it is beyond ±2⁵² it is
// ±2⁵².
func floorUnits(x float64, unit *big.Rat) (i int, whole bool) {
	q := new(big.Rat).Quo(Decimal(x), unit)
	floor := new(big.Int).Div(q.Num(), q.Denom()) // Euclid's, and the denominator is positive
	if !floor.IsInt64() || floor.Int64() < -mostUnits || floor.Int64() > mostUnits {
		if q.Sign() < 0 {
			return -mostUnits, false
		}
		return mostUnits, false
	}
	return int(floor.Int64()), q.IsInt()
}

// mostUnits is the largest number of units that is told from others.
const mostUnits = min(1<<52, math.MaxInt/8)

// formatUnits writes i units as a decimal.
func formatUnits(i int, unit *big.Rat) string {
	r := new(big.Rat).Mul(big.NewRat(int64(i), 1), unit)
	x, _ := r.Float64()
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// saturatingAdd adds numbers of units of which ±unbounded stand for ±∞.
func saturatingAdd(a, b int) int {
	if a == -unbounded || b == -unbounded {
		return -unbounded
	}
	if a == unbounded || b == unbounded {
		return unbounded
	}
	return a + b
}

const unbounded = math.MaxInt
