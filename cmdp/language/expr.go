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

// An operator has a name, takes from least to most arguments, without a bound where most is 0, and gives a result.
type operator struct {
	name         string
	least, most  int
	args, result Type
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
	Neg:      {"-", 1, 1, number, number},
	Not:      {"!", 1, 1, Bool, Bool},
	Add:      {"+", 1, 0, number, number},
	Sub:      {"-", 2, 2, number, number},
	Mul:      {"*", 1, 0, number, number},
	Div:      {"/", 2, 2, Double, Double},
	Pow:      {"pow", 2, 2, number, number},
	Mod:      {"mod", 2, 2, Int, Int},
	Log:      {"log", 2, 2, Double, Double},
	Min:      {"min", 1, 0, number, number},
	Max:      {"max", 1, 0, number, number},
	Floor:    {"floor", 1, 1, number, Int},
	Ceil:     {"ceil", 1, 1, number, Int},
	Round:    {"round", 1, 1, number, Int},
	Eq:       {"=", 2, 2, alike, Bool},
	Ne:       {"!=", 2, 2, alike, Bool},
	Lt:       {"<", 2, 2, number, Bool},
	Le:       {"<=", 2, 2, number, Bool},
	Gt:       {">", 2, 2, number, Bool},
	Ge:       {">=", 2, 2, number, Bool},
	And:      {"&", 1, 0, Bool, Bool},
	Or:       {"|", 1, 0, Bool, Bool},
	Implies:  {"=>", 2, 2, Bool, Bool},
	Iff:      {"<=>", 2, 2, Bool, Bool},
	If:       {"?", 3, 3, alike, alike},
	toDouble: {"double", 1, 1, Int, Double},
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
}

// NewInt, NewBool and NewDouble return literals.
func NewInt(at Pos, x int64) *Expr { return &Expr{Op: Literal, Type: Int, At: at, Int: x} }
func NewDouble(at Pos, x float64) *Expr {
	return &Expr{Op: Literal, Type: Double, At: at, Int: int64(math.Float64bits(x))}
}
func NewBool(at Pos, x bool) *Expr {
	e := &Expr{Op: Literal, Type: Bool, At: at}
	if x {
		e.Int = 1
	}
	return e
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
func (e *Expr) Num() float64 { return math.Float64frombits(uint64(e.Int)) }

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

// variables adds the variables of a resolved expression to a set.
func (e *Expr) variables(in map[int]bool) {
	if e.Op == Var {
		in[int(e.Int)] = true
	}
	for _, a := range e.Args {
		a.variables(in)
	}
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
func (e *Expr) compute() *Expr {
	return &Expr{Op: Literal, Type: e.Type, At: e.At, Int: compileValue(e)(nil)}
}
