// Package language explores models that are given as programs: variables of finite ranges, commands
// with guards and probabilistic updates that synchronise by vectors, rewards and labels, all of them
// typed expressions. It knows no concrete language. The packages below it parse one each and make a
// [Program] of it; [Explore] hands the reachable states with their choices to a [Sink].
package language

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Type is the type of an expression. An Int may stand wherever a Double may.
type Type uint8

// The types.
const (
	Bool Type = iota + 1
	Int
	Double
)

func (t Type) String() string { return [...]string{"?", "bool", "int", "double"}[t] }

// An Op is what an expression does with its arguments.
type Op uint8

// The operators and functions. Name is an identifier that has not been resolved, Var a variable.
const (
	Name Op = iota
	Literal
	Var
	Neg
	Not
	Add
	Sub
	Mul
	Div
	Pow
	Mod
	Log
	Min
	Max
	Floor
	Ceil
	Round
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	And
	Or
	Implies
	Iff
	If
	toDouble
)

// An operator has a name, takes from least to most arguments, without a bound where most is 0, and gives a result. It
// combines two values of arguments of type Int or Bool by ints, of type Double by doubles, and further ones one after
// the other. Where it takes one, the second does not count. Doubles are given as their bits in results.
type operator struct {
	name         string
	least, most  int
	args, result Type
	ints         func(at Pos, x, y int64) int64
	doubles      func(at Pos, x, y float64) int64
}

// In the table of operators a number is of type Int, or of type Double where one of the arguments is; what is alike
// is Boolean or a number, as the first argument is.
const (
	number Type = iota + Double + 1
	alike
)

// operators has all of them. The first argument of If is a condition, which does not count as one.
var operators = [...]operator{
	Name:     {name: "name"},
	Literal:  {name: "literal"},
	Var:      {name: "variable"},
	Neg:      {"-", 1, 1, number, number, negate, inBits(func(x, _ float64) float64 { return -x })},
	Not:      {"!", 1, 1, Bool, Bool, func(_ Pos, x, _ int64) int64 { return 1 - x }, nil},
	Add:      {"+", 1, 0, number, number, add, inBits(func(x, y float64) float64 { return x + y })},
	Sub:      {"-", 2, 2, number, number, subtract, inBits(func(x, y float64) float64 { return x - y })},
	Mul:      {"*", 1, 0, number, number, multiply, inBits(func(x, y float64) float64 { return x * y })},
	Div:      {"/", 2, 2, Double, Double, nil, inBits(func(x, y float64) float64 { return x / y })},
	Pow:      {"pow", 2, 2, number, number, power, inBits(math.Pow)},
	Mod:      {"mod", 2, 2, Int, Int, modulo, nil},
	Log:      {"log", 2, 2, Double, Double, nil, inBits(func(x, y float64) float64 { return math.Log(x) / math.Log(y) })},
	Min:      {"min", 1, 0, number, number, smaller, inBits(func(x, y float64) float64 { return min(x, y) })},
	Max:      {"max", 1, 0, number, number, larger, inBits(func(x, y float64) float64 { return max(x, y) })},
	Floor:    {"floor", 1, 1, number, Int, unchanged, rounding(math.Floor)},
	Ceil:     {"ceil", 1, 1, number, Int, unchanged, rounding(math.Ceil)},
	Round:    {"round", 1, 1, number, Int, unchanged, rounding(func(x float64) float64 { return math.Floor(x + 0.5) })},
	Eq:       {"=", 2, 2, alike, Bool, equal[int64], equal[float64]},
	Ne:       {"!=", 2, 2, alike, Bool, differs[int64], differs[float64]},
	Lt:       {"<", 2, 2, number, Bool, less[int64], less[float64]},
	Le:       {"<=", 2, 2, number, Bool, atMost[int64], atMost[float64]},
	Gt:       {">", 2, 2, number, Bool, more[int64], more[float64]},
	Ge:       {">=", 2, 2, number, Bool, atLeast[int64], atLeast[float64]},
	And:      {name: "&", least: 1, args: Bool, result: Bool},
	Or:       {name: "|", least: 1, args: Bool, result: Bool},
	Implies:  {name: "=>", least: 2, most: 2, args: Bool, result: Bool},
	Iff:      {name: "<=>", least: 2, most: 2, args: Bool, result: Bool},
	If:       {name: "?", least: 3, most: 3, args: alike, result: alike},
	toDouble: {"double", 1, 1, Int, Double, func(_ Pos, x, _ int64) int64 { return toBits(float64(x)) }, nil},
}

func (o Op) String() string { return operators[o].name }

// Functions are the operators that are written as functions.
var Functions = map[string]Op{
	"min": Min, "max": Max, "floor": Floor, "ceil": Ceil, "round": Round, "pow": Pow, "mod": Mod, "log": Log,
}

// An Expr is an expression: a parser fills all but Type, and [Scope.ResolveAs] makes a typed one of it.
type Expr struct {
	Op   Op
	Type Type
	At   Pos
	Name string
	// Int is the value of a literal, false and true as 0 and 1 and a Double as its bits; or the number of a variable.
	Int  int64
	Args []*Expr
	eval eval // set in literals, and in what a Scope returns
}

// NewInt, NewBool and NewDouble return literals.
func NewInt(at Pos, x int64) *Expr      { return newLiteral(at, Int, x) }
func NewDouble(at Pos, x float64) *Expr { return newLiteral(at, Double, toBits(x)) }
func NewBool(at Pos, x bool) *Expr      { return newLiteral(at, Bool, toInt(x)) }

func newLiteral(at Pos, t Type, x int64) *Expr {
	return &Expr{Op: Literal, Type: t, At: at, Int: x, eval: func([]int64) int64 { return x }}
}

// NewName returns an identifier, which is yet to be resolved.
func NewName(at Pos, name string) *Expr { return &Expr{Op: Name, At: at, Name: name} }

// New returns an operator or function with its arguments.
func New(op Op, at Pos, args ...*Expr) *Expr { return &Expr{Op: op, At: at, Args: args} }

// Join makes one operator of those that group from the left, so that long sums are not nested.
func Join(op Op, at Pos, left, right *Expr) *Expr {
	if left.Op == op && operators[op].most == 0 {
		left.Args = append(left.Args, right)
		return left
	}
	return New(op, at, left, right)
}

// NewNumber returns the literal of a number in decimals. One with leading zeros is a double, as in PRISM.
func NewNumber(at Pos, text string) *Expr {
	if !strings.ContainsAny(text, ".eE") && (text[0] != '0' || text == "0") {
		x, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			Fail(at, "the number %s is too large", Shorten(text))
		}
		return NewInt(at, x)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && x != 0 {
		Fail(at, "the number %s is too large", Shorten(text))
	}
	return NewDouble(at, x)
}

// Num returns the value of a literal of type Double.
func (e *Expr) Num() float64 { return fromBits(e.Int) }

// Value writes the value of a literal.
func (e *Expr) Value() string {
	switch e.Type {
	case Bool:
		return strconv.FormatBool(e.Int != 0)
	case Int:
		return strconv.FormatInt(e.Int, 10)
	}
	return strconv.FormatFloat(e.Num(), 'g', -1, 64)
}

// is reports whether e is the Boolean literal of the given value.
func (e *Expr) is(value bool) bool {
	return e.Op == Literal && e.Type == Bool && (e.Int != 0) == value
}

// walk visits an expression and all of its parts.
func (e *Expr) walk(visit func(e *Expr)) {
	visit(e)
	for _, a := range e.Args {
		a.walk(visit)
	}
}

// variables returns the variables of a resolved expression in order.
func (e *Expr) variables() (used []int) {
	e.walk(func(e *Expr) {
		if e.Op == Var {
			used = append(used, int(e.Int))
		}
	})
	return set(used)
}

// check gives an expression whose arguments are typed its own type, and turns arguments of type Int
// into Double where the operator wants that.
func (e *Expr) check() {
	o := &operators[e.Op]
	if n := len(e.Args); n < o.least || o.most > 0 && n > o.most {
		wanted := strconv.Itoa(o.least)
		if o.most == 0 {
			wanted += " or more"
		}
		Fail(e.At, "%s has %d arguments: want %s", e.Op, n, wanted)
	}
	args, wanted := e.Args, o.args
	if e.Op == If {
		e.want(Bool, args[:1])
		args = args[1:]
	}
	switch {
	case wanted == alike && args[0].Type == Bool:
		wanted = Bool
	case wanted == alike || wanted == number:
		wanted = Int
		if slices.ContainsFunc(args, func(a *Expr) bool { return a.Type == Double }) {
			wanted = Double
		}
	}
	e.want(wanted, args)
	e.Type = o.result
	if e.Type > Double {
		e.Type = wanted
	}
}

// want checks that arguments have a type. It replaces those of type Int where Double is wanted.
func (e *Expr) want(t Type, args []*Expr) {
	for i, a := range args {
		if t == Double {
			args[i] = asDouble(a)
		}
		if args[i].Type == t {
			continue
		}
		wanted := t.String()
		if t != Bool && e.Op != Mod {
			wanted = "a number"
		}
		Fail(a.At, "the argument of %s is of type %s: want %s", e.Op, a.Type, wanted)
	}
}

// asDouble turns an expression of type Int into one of type Double.
func asDouble(e *Expr) *Expr {
	if e.Type != Int {
		return e
	}
	if e.Op == Literal {
		return NewDouble(e.At, float64(e.Int))
	}
	return &Expr{Op: toDouble, Type: Double, At: e.At, Args: []*Expr{e}}
}

// fold computes an expression whose arguments are literals, as far as that is possible, and leaves
// out what literals decide. What has no value is left for the state in which it is asked for.
func (e *Expr) fold() *Expr {
	switch e.Op {
	case And, Or:
		decides := e.Op == Or
		kept := e.Args[:0]
		for _, a := range e.Args {
			if a.is(decides) {
				return NewBool(e.At, decides)
			}
			if !a.is(!decides) {
				kept = append(kept, a)
			}
		}
		e.Args = kept
		switch len(kept) {
		case 0:
			return NewBool(e.At, !decides)
		case 1:
			return kept[0]
		}
	case If:
		switch {
		case e.Args[0].is(true):
			return e.Args[1]
		case e.Args[0].is(false):
			return e.Args[2]
		}
	case Implies:
		not := &Expr{Op: Not, Type: Bool, At: e.At, Args: e.Args[:1]}
		return (&Expr{Op: Or, Type: Bool, At: e.At, Args: []*Expr{not.fold(), e.Args[1]}}).fold()
	case Iff:
		e.Op = Eq
	}
	if len(e.Args) == 0 || slices.ContainsFunc(e.Args, func(a *Expr) bool { return a.Op != Literal }) {
		return e
	}
	value := e
	_ = Try("", func() { value = e.compute() })
	return value
}

// compute returns the value of an expression without variables as a literal.
func (e *Expr) compute() *Expr { return newLiteral(e.At, e.Type, compile(e)(nil)) }
