package language

import "math"

// An eval is a compiled expression: a function of the values of all variables. Booleans are 0 and 1 and doubles their
// bits, in what it takes and gives.
type eval = func(v []int64) int64

// holds reports whether a compiled condition does.
func (e *Expr) holds(v []int64) bool { return e.eval(v) != 0 }

// compile compiles a typed expression. Conjunctions and disjunctions look at their arguments in order until one
// decides.
func compile(e *Expr) eval {
	args := make([]eval, len(e.Args), len(e.Args)+1)
	for i, a := range e.Args {
		args[i] = compile(a)
	}
	switch e.Op {
	case Literal:
		return e.eval
	case Var:
		i := e.Int
		return func(v []int64) int64 { return v[i] }
	case And, Or:
		decides := toInt(e.Op == Or)
		if len(args) == 2 { // as most have
			a, b := args[0], args[1]
			return func(v []int64) int64 {
				if a(v) == decides {
					return decides
				}
				return b(v)
			}
		}
		return func(v []int64) int64 {
			for _, a := range args {
				if a(v) == decides {
					return decides
				}
			}
			return 1 - decides
		}
	case If:
		return func(v []int64) int64 {
			if args[0](v) != 0 {
				return args[1](v)
			}
			return args[2](v)
		}
	}
	o, at := &operators[e.Op], e.At
	if o.result == Bool && o.most == 2 && e.Args[0].Type != Double {
		return compare(e.Op, args[0], args[1])
	}
	if o.most == 1 {
		args = append(args, func([]int64) int64 { return 0 })
	}
	all := args[0]
	for i, b := range args[1:] {
		a, ints, doubles := all, o.ints, o.doubles
		switch {
		case e.Args[0].Type == Double:
			all = func(v []int64) int64 { return doubles(at, fromBits(a(v)), fromBits(b(v))) }
		case e.Op == Add && e.Args[i+1].Op == Literal: // what models have most
			y := e.Args[i+1].Int
			all = func(v []int64) int64 { return add(at, a(v), y) }
		case o.most != 1 && e.Args[i+1].Op == Literal:
			y := e.Args[i+1].Int
			all = func(v []int64) int64 { return ints(at, a(v), y) }
		default:
			all = func(v []int64) int64 { return ints(at, a(v), b(v)) }
		}
	}
	return all
}

// compare compiles a comparison of integers, which guards have most, without a call of its operator.
func compare(op Op, a, b eval) eval {
	switch op {
	case Eq:
		return func(v []int64) int64 { return toInt(a(v) == b(v)) }
	case Ne:
		return func(v []int64) int64 { return toInt(a(v) != b(v)) }
	case Lt:
		return func(v []int64) int64 { return toInt(a(v) < b(v)) }
	case Le:
		return func(v []int64) int64 { return toInt(a(v) <= b(v)) }
	case Gt:
		return func(v []int64) int64 { return toInt(a(v) > b(v)) }
	}
	return func(v []int64) int64 { return toInt(a(v) >= b(v)) }
}

func toBits(x float64) int64   { return int64(math.Float64bits(x)) }
func fromBits(x int64) float64 { return math.Float64frombits(uint64(x)) }

func toInt(x bool) int64 {
	if x {
		return 1
	}
	return 0
}

type numeric interface{ int64 | float64 }

func equal[T numeric](_ Pos, x, y T) int64   { return toInt(x == y) }
func differs[T numeric](_ Pos, x, y T) int64 { return toInt(x != y) }
func less[T numeric](_ Pos, x, y T) int64    { return toInt(x < y) }
func atMost[T numeric](_ Pos, x, y T) int64  { return toInt(x <= y) }
func more[T numeric](_ Pos, x, y T) int64    { return toInt(x > y) }
func atLeast[T numeric](_ Pos, x, y T) int64 { return toInt(x >= y) }

func smaller(_ Pos, x, y int64) int64   { return min(x, y) }
func larger(_ Pos, x, y int64) int64    { return max(x, y) }
func unchanged(_ Pos, x, _ int64) int64 { return x }
func negate(at Pos, x, _ int64) int64   { return subtract(at, 0, x) }

// inBits makes an operator that gives bits of one that gives a double.
func inBits(apply func(x, y float64) float64) func(at Pos, x, y float64) int64 {
	return func(_ Pos, x, y float64) int64 { return toBits(apply(x, y)) }
}

// rounding makes an operator that gives an integer of one that rounds.
func rounding(round func(x float64) float64) func(at Pos, x, y float64) int64 {
	return func(at Pos, x, _ float64) int64 {
		x = round(x)
		if !(x >= -1<<63 && x < 1<<63) {
			Fail(at, "%g is no integer that can be stored", x)
		}
		return int64(x)
	}
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
	z := x * y
	if x != 0 && (z/x != y || x == -1 && y == math.MinInt64) {
		Fail(at, "overflow: %d * %d", x, y)
	}
	return z
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
	x %= n
	if x < 0 {
		x += n
	}
	return x
}
