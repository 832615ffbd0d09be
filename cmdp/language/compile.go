package language

import (
	"math"
	"math/bits"
)

// Compiled expressions are functions of the values of all variables, Booleans as 0 and 1 and doubles as their bits.
type (
	boolFunc   = func(v []int64) bool
	intFunc    = func(v []int64) int64
	doubleFunc = func(v []int64) float64
)

// compileIf compiles a condition with two cases.
func compileIf[T any](e *Expr, compile func(*Expr) func(v []int64) T) func(v []int64) T {
	holds, a, b := compileBool(e.Args[0]), compile(e.Args[1]), compile(e.Args[2])
	return func(v []int64) T {
		if holds(v) {
			return a(v)
		}
		return b(v)
	}
}

// compileValue compiles an expression of any type.
func compileValue(e *Expr) intFunc {
	switch e.Type {
	case Bool:
		holds := compileBool(e)
		return func(v []int64) int64 {
			if holds(v) {
				return 1
			}
			return 0
		}
	case Double:
		value := compileDouble(e)
		return func(v []int64) int64 { return int64(math.Float64bits(value(v))) }
	}
	return compileInt(e)
}

func compileBool(e *Expr) boolFunc {
	switch e.Op {
	case Literal:
		value := e.Int != 0
		return func([]int64) bool { return value }
	case Var:
		i := e.Int
		return func(v []int64) bool { return v[i] != 0 }
	case Not:
		a := compileBool(e.Args[0])
		return func(v []int64) bool { return !a(v) }
	case And, Or:
		return compileJunction(e)
	case If:
		return compileIf(e, compileBool)
	}
	switch e.Args[0].Type {
	case Bool:
		a, b, same := compileBool(e.Args[0]), compileBool(e.Args[1]), e.Op == Eq
		return func(v []int64) bool { return (a(v) == b(v)) == same }
	case Int:
		return compare(e.Op, compileInt(e.Args[0]), compileInt(e.Args[1]))
	}
	return compare(e.Op, compileDouble(e.Args[0]), compileDouble(e.Args[1]))
}

// compileJunction compiles a conjunction or disjunction, which looks at its arguments in order until
// one decides.
func compileJunction(e *Expr) boolFunc {
	decides := e.Op == Or
	if len(e.Args) == 2 {
		a, b := compileBool(e.Args[0]), compileBool(e.Args[1])
		if decides {
			return func(v []int64) bool { return a(v) || b(v) }
		}
		return func(v []int64) bool { return a(v) && b(v) }
	}
	parts := make([]boolFunc, len(e.Args))
	for i, a := range e.Args {
		parts[i] = compileBool(a)
	}
	return func(v []int64) bool {
		for _, part := range parts {
			if part(v) == decides {
				return decides
			}
		}
		return !decides
	}
}

// compare compiles a comparison of numbers.
func compare[T int64 | float64](op Op, a, b func(v []int64) T) boolFunc {
	switch op {
	case Eq:
		return func(v []int64) bool { return a(v) == b(v) }
	case Ne:
		return func(v []int64) bool { return a(v) != b(v) }
	case Lt:
		return func(v []int64) bool { return a(v) < b(v) }
	case Le:
		return func(v []int64) bool { return a(v) <= b(v) }
	case Gt:
		return func(v []int64) bool { return a(v) > b(v) }
	}
	return func(v []int64) bool { return a(v) >= b(v) }
}

// integers and doubles are the operators on two numbers, roundings the functions that make an integer of one.
var (
	integers = map[Op]func(at Pos, x, y int64) int64{
		Add: add, Sub: subtract, Mul: multiply, Pow: power, Mod: modulo,
		Min: func(_ Pos, x, y int64) int64 { return min(x, y) },
		Max: func(_ Pos, x, y int64) int64 { return max(x, y) },
	}
	doubles = map[Op]func(x, y float64) float64{
		Add: func(x, y float64) float64 { return x + y },
		Sub: func(x, y float64) float64 { return x - y },
		Mul: func(x, y float64) float64 { return x * y },
		Div: func(x, y float64) float64 { return x / y },
		Min: func(x, y float64) float64 { return min(x, y) },
		Max: func(x, y float64) float64 { return max(x, y) },
		Log: func(x, y float64) float64 { return math.Log(x) / math.Log(y) },
		Pow: math.Pow,
	}
	roundings = map[Op]func(x float64) float64{
		Floor: math.Floor, Ceil: math.Ceil, Round: func(x float64) float64 { return math.Floor(x + 0.5) },
	}
)

func compileInt(e *Expr) intFunc {
	at, first := e.At, e
	if len(e.Args) > 0 {
		first = e.Args[0]
	}
	switch round := roundings[e.Op]; {
	case e.Op == Literal:
		value := e.Int
		return func([]int64) int64 { return value }
	case e.Op == Var:
		i := e.Int
		return func(v []int64) int64 { return v[i] }
	case e.Op == If:
		return compileIf(e, compileInt)
	case e.Op == Neg:
		a := compileInt(first)
		return func(v []int64) int64 { return subtract(at, 0, a(v)) }
	case round != nil && first.Type == Double:
		a := compileDouble(first)
		return func(v []int64) int64 { return toInt(at, round(a(v))) }
	}
	all := compileInt(first)
	for _, second := range e.Args[min(1, len(e.Args)):] {
		a, b, apply := all, compileInt(second), integers[e.Op]
		if c := second.Int; e.Op == Add && second.Op == Literal { // what models have most
			all = func(v []int64) int64 { return add(at, a(v), c) }
		} else {
			all = func(v []int64) int64 { return apply(at, a(v), b(v)) }
		}
	}
	return all
}

// toInt is x as an integer, if it is one.
func toInt(at Pos, x float64) int64 {
	if !(x >= -1<<63 && x < 1<<63) {
		Fail(at, "%g is no integer that can be stored", x)
	}
	return int64(x)
}

func add(at Pos, x, y int64) int64 {
	z := x + y
	if (z > x) != (y > 0) {
		Fail(at, "overflow: %d + %d", x, y)
	}
	return z
}

func subtract(at Pos, x, y int64) int64 {
	z := x - y
	if (z < x) != (y > 0) {
		Fail(at, "overflow: %d - %d", x, y)
	}
	return z
}

func multiply(at Pos, x, y int64) int64 {
	ux, uy := uint64(max(x, -x)), uint64(max(y, -y)) // of the least integer the right one too
	high, low := bits.Mul64(ux, uy)
	negative := (x < 0) != (y < 0)
	if high != 0 || !negative && low > math.MaxInt64 || negative && low > 1<<63 {
		Fail(at, "overflow: %d * %d", x, y)
	}
	if negative {
		return -int64(low)
	}
	return int64(low)
}

// power is x to the power of y by repeated squares.
func power(at Pos, x, y int64) int64 {
	if y < 0 {
		Fail(at, "%d to the power of %d: a negative exponent wants a base of type double", x, y)
	}
	z := int64(1)
	for ; y > 0; y >>= 1 {
		if y&1 != 0 {
			z = multiply(at, z, x)
		}
		if y > 1 {
			x = multiply(at, x, x)
		}
	}
	return z
}

// modulo is the rest from 0 to n−1.
func modulo(at Pos, x, n int64) int64 {
	if n <= 0 {
		Fail(at, "mod(%d, %d): want a positive divisor", x, n)
	}
	if x %= n; x < 0 {
		x += n
	}
	return x
}

func compileDouble(e *Expr) doubleFunc {
	switch {
	case e.Type == Int:
		a := compileInt(e)
		return func(v []int64) float64 { return float64(a(v)) }
	case e.Op == Literal:
		value := e.Num()
		return func([]int64) float64 { return value }
	case e.Op == Var:
		i := e.Int
		return func(v []int64) float64 { return math.Float64frombits(uint64(v[i])) }
	case e.Op == If:
		return compileIf(e, compileDouble)
	}
	all := compileDouble(e.Args[0])
	if e.Op == Neg {
		return func(v []int64) float64 { return -all(v) }
	}
	for _, second := range e.Args[1:] {
		a, b, apply := all, compileDouble(second), doubles[e.Op]
		all = func(v []int64) float64 { return apply(a(v), b(v)) }
	}
	return all
}
