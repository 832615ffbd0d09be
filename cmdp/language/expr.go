// Package language explores models that are given as programs: variables of finite ranges, commands
// with guards and probabilistic updates that synchronise by vectors, rewards and labels, all of them
// typed expressions. It knows no concrete language. The packages below it parse one each and make a
// [Program] of it; [Explore] hands the reachable states with their choices to a [Sink].
package language

import (
	"fmt"
	"math"
	"strconv"
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

// A Pos is a place in a text, line and column from 1; 0 if it is not known.
type Pos struct{ Line, Column int32 }

// An Error says what is wrong in a text and where.
type Error struct {
	File    string
	At      Pos
	Message string
}

func (e *Error) Error() string {
	text := e.File
	if e.At.Line > 0 {
		text += ":" + strconv.Itoa(int(e.At.Line))
	}
	if e.At.Column > 0 {
		text += ":" + strconv.Itoa(int(e.At.Column))
	}
	return text + ": " + e.Message
}

func wrong(at Pos, format string, args ...any) error {
	return &Error{At: at, Message: fmt.Sprintf(format, args...)}
}

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

var opNames = [...]string{"name", "literal", "variable", "-", "!", "+", "-", "*", "/", "pow", "mod", "log", "min", "max", "floor", "ceil", "round",
	"=", "!=", "<", "<=", ">", ">=", "&", "|", "=>", "<=>", "?", "double"}

func (o Op) String() string { return opNames[o] }

// Functions are the operators that are written as functions.
var Functions = map[string]Op{"min": Min, "max": Max, "floor": Floor, "ceil": Ceil, "round": Round, "pow": Pow, "mod": Mod, "log": Log}

// An Expr is an expression: a parser fills all but Type, and [Scope.Resolve] makes a typed one of it.
type Expr struct {
	Op   Op
	Type Type
	At   Pos
	Name string
	// Int is the value of a literal of type Int or, as 0 and 1, Bool; or the number of a variable.
	Int int64
	// Num is the value of a literal of type Double.
	Num  float64
	Args []*Expr
}

// NewInt, NewBool and NewDouble return literals.
func NewInt(at Pos, x int64) *Expr      { return &Expr{Op: Literal, Type: Int, At: at, Int: x} }
func NewDouble(at Pos, x float64) *Expr { return &Expr{Op: Literal, Type: Double, At: at, Num: x} }
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

// Value writes the value of a literal.
func (e *Expr) Value() string {
	switch e.Type {
	case Bool:
		return strconv.FormatBool(e.Int != 0)
	case Int:
		return strconv.FormatInt(e.Int, 10)
	}
	return strconv.FormatFloat(e.Num, 'g', -1, 64)
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
func (e *Expr) check() error {
	least, most := arity(e.Op)
	if n := len(e.Args); n < least || most > 0 && n > most {
		return wrong(e.At, "%s has %d arguments: want %s", e.Op, n, number(least, most))
	}
	switch e.Op {
	case Not, And, Or, Implies, Iff:
		e.Type = Bool
		return e.want(Bool, e.Args...)
	case Neg, Add, Sub, Mul, Min, Max, Pow:
		e.Type = e.common(e.Args)
		return e.want(e.Type, e.Args...)
	case Div, Log:
		e.Type = Double
		return e.want(Double, e.Args...)
	case Mod:
		e.Type = Int
		return e.want(Int, e.Args...)
	case Floor, Ceil, Round:
		e.Type = Int
		if e.Args[0].Type == Int {
			return nil
		}
		return e.want(Double, e.Args...)
	case Lt, Le, Gt, Ge:
		e.Type = Bool
		return e.want(e.common(e.Args), e.Args...)
	case Eq, Ne:
		e.Type = Bool
		if e.Args[0].Type == Bool {
			return e.want(Bool, e.Args...)
		}
		return e.want(e.common(e.Args), e.Args...)
	case If:
		if err := e.want(Bool, e.Args[0]); err != nil {
			return err
		}
		branches := e.Args[1:]
		e.Type = Bool
		if branches[0].Type != Bool {
			e.Type = e.common(branches)
		}
		return e.want(e.Type, branches...)
	}
	return nil
}

// common is Double if one of the arguments is, else Int.
func (e *Expr) common(args []*Expr) Type {
	for _, a := range args {
		if a.Type == Double {
			return Double
		}
	}
	return Int
}

// want checks that arguments have a type. It replaces those of type Int where Double is wanted, in
// the slice, which is e.Args or a part of it.
func (e *Expr) want(t Type, args ...*Expr) error {
	for _, a := range args {
		if a.Type == t || t == Double && a.Type == Int {
			continue
		}
		wanted := t.String()
		if t != Bool && e.Op != Mod {
			wanted = "a number"
		}
		return wrong(a.At, "the argument of %s is of type %s: want %s", e.Op, a.Type, wanted)
	}
	if t == Double {
		for i, a := range e.Args {
			if a.Type == Int {
				e.Args[i] = asDouble(a)
			}
		}
	}
	return nil
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

// arity returns how many arguments an operator has; most is 0 without a bound.
func arity(op Op) (least, most int) {
	switch op {
	case Name, Literal, Var:
		return 0, 0
	case Neg, Not, Floor, Ceil, Round, toDouble:
		return 1, 1
	case Min, Max, And, Or, Add, Mul:
		return 1, 0
	case If:
		return 3, 3
	}
	return 2, 2
}

func number(least, most int) string {
	if most == 0 {
		return strconv.Itoa(least) + " or more"
	}
	return strconv.Itoa(least)
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
		if len(kept) == 0 {
			return NewBool(e.At, !decides)
		}
		if len(kept) == 1 {
			return kept[0]
		}
	case If:
		if e.Args[0].Op == Literal {
			if e.Args[0].is(true) {
				return e.Args[1]
			}
			return e.Args[2]
		}
	case Implies:
		if e.Args[0].is(false) {
			return NewBool(e.At, true)
		}
		if e.Args[0].is(true) {
			return e.Args[1]
		}
	}
	for _, a := range e.Args {
		if a.Op != Literal {
			return e
		}
	}
	if len(e.Args) == 0 {
		return e
	}
	if value, err := e.compute(); err == nil {
		return value
	}
	return e
}

// compute returns the value of an expression without variables as a literal.
func (e *Expr) compute() (value *Expr, err error) {
	defer recoverEval(&err)
	switch e.Type {
	case Bool:
		return NewBool(e.At, compileBool(e)(nil)), nil
	case Int:
		return NewInt(e.At, compileInt(e)(nil)), nil
	}
	return NewDouble(e.At, compileDouble(e)(nil)), nil
}

// toInt is x as an integer, if it is one.
func toInt(at Pos, x float64) int64 {
	if !(x >= -1<<63 && x < 1<<63) {
		fail(at, "%g is no integer that can be stored", x)
	}
	return int64(x)
}

func roundHalfUp(x float64) float64 { return math.Floor(x + 0.5) }
