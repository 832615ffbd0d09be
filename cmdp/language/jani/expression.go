package jani

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/language"
)

type expr = language.Expr

// maxInlined bounds the operators of all expressions, with functions written out.
const maxInlined = 4_000_000

// A context says what names mean in an expression.
type context struct {
	local      map[string]string // names of an automaton's variables in the program
	functions  map[string]*function
	parameters map[string]*expr // of a function
	// step is set where transient variables have the value of the step; else it is that of the locations.
	step bool
}

// A function is put where it is called.
type function struct {
	parameters []string
	body       *node
	context    context // without parameters
	open       bool
}

// stepPrefix makes the name of a transient variable in a step one that nothing else has.
const stepPrefix = "step "

// binary are the operators with left and right, unary those with exp.
var binary = map[string]language.Op{"∨": language.Or, "∧": language.And, "⇒": language.Implies, "=": language.Eq, "≠": language.Ne,
	"<": language.Lt, "≤": language.Le, ">": language.Gt, "≥": language.Ge, "+": language.Add, "-": language.Sub, "*": language.Mul,
	"/": language.Div, "%": language.Mod, "pow": language.Pow, "log": language.Log, "min": language.Min, "max": language.Max}

var unary = map[string]language.Op{"¬": language.Not, "floor": language.Floor, "ceil": language.Ceil, "abs": language.Max, "sgn": language.If, "trc": language.If}

// expression reads an expression. Names in it are those of the program.
func (b *builder) expression(n *node, c *context) (*expr, error) {
	if b.inlined++; b.inlined > maxInlined {
		return nil, wrong(n.at, "the expressions have more than %d operators once functions are put in", maxInlined)
	}
	switch n.kind {
	case "a number":
		return number(n)
	case "true or false":
		return language.NewBool(n.at, n.text == "true"), nil
	case "a string":
		return b.identifier(n, c)
	case "an object":
		if n.get("constant") != nil {
			value, ok := map[string]float64{"e": math.E, "π": math.Pi}[n.word("constant")]
			if !ok {
				return nil, wrong(n.at, "unknown constant %s: want e or π", n.get("constant").describe())
			}
			return language.NewDouble(n.at, value), nil
		}
		return b.operation(n, c)
	}
	return nil, wrong(n.at, "got %s: want an expression", n.kind)
}

func number(n *node) (*expr, error) {
	if !strings.ContainsAny(n.text, ".eE") {
		x, err := strconv.ParseInt(n.text, 10, 64)
		if err != nil {
			return nil, wrong(n.at, "the number %s is too large", shorten(n.text))
		}
		return language.NewInt(n.at, x), nil
	}
	x, err := strconv.ParseFloat(n.text, 64)
	if errors.Is(err, strconv.ErrRange) && x != 0 {
		return nil, wrong(n.at, "the number %s is too large", shorten(n.text))
	}
	return language.NewDouble(n.at, x), nil
}

// nameOf returns what an identifier is called in the program.
func (c *context) nameOf(name string) string {
	if local, ok := c.local[name]; ok {
		return local
	}
	return name
}

func (b *builder) identifier(n *node, c *context) (*expr, error) {
	if value, ok := c.parameters[n.text]; ok {
		return value, nil
	}
	name := c.nameOf(n.text)
	if c.step && b.transient[name] != nil {
		name = stepPrefix + name
	}
	return language.NewName(n.at, name), nil
}

func (b *builder) operation(n *node, c *context) (*expr, error) {
	op := n.get("op")
	if op == nil {
		return nil, wrong(n.at, "got an object without op: want an expression")
	}
	if two, ok := binary[op.text]; ok {
		args, err := b.arguments(n, c, "left", "right")
		if err != nil {
			return nil, err
		}
		left := args[0]
		isOwn := n.get("left").word("op") == op.text // no parameter, which stands elsewhere too
		if isOwn && (two == language.And || two == language.Or || two == language.Add || two == language.Mul) {
			left.Args = append(left.Args, args[1])
			return left, nil
		}
		return language.New(two, n.at, args...), nil
	}
	if one, ok := unary[op.text]; ok {
		args, err := b.arguments(n, c, "exp")
		if err != nil {
			return nil, err
		}
		return derived(op.text, one, n.at, args[0]), nil
	}
	switch op.text {
	case "ite":
		args, err := b.arguments(n, c, "if", "then", "else")
		return language.New(language.If, n.at, args...), err
	case "call":
		return b.call(n, c)
	}
	return nil, wrong(n.at, "the operator %s is not supported in an expression", shorten(op.text))
}

// derived writes an operator with one argument in those that there are.
func derived(name string, op language.Op, at language.Pos, x *expr) *expr {
	zero := language.NewInt(at, 0)
	negative := language.New(language.Lt, at, x, zero)
	switch name {
	case "abs":
		return language.New(op, at, x, language.New(language.Neg, at, x))
	case "sgn":
		positive := language.New(language.If, at, language.New(language.Gt, at, x, zero), language.NewInt(at, 1), zero)
		return language.New(op, at, negative, language.NewInt(at, -1), positive)
	case "trc":
		return language.New(op, at, negative, language.New(language.Ceil, at, x), language.New(language.Floor, at, x))
	}
	return language.New(op, at, x)
}

// arguments reads the items of an operator.
func (b *builder) arguments(n *node, c *context, keys ...string) ([]*expr, error) {
	if err := n.object("an operator", "op "+strings.Join(keys, " ")); err != nil {
		return nil, err
	}
	args := make([]*expr, len(keys))
	for i, key := range keys {
		var err error
		if args[i], err = b.expression(n.get(key), c); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// call puts the body of a function in the place of its call.
func (b *builder) call(n *node, c *context) (*expr, error) {
	if err := n.object("a call", "op function args"); err != nil {
		return nil, err
	}
	name := n.word("function")
	f := c.functions[name]
	if f == nil {
		f = b.global.functions[name]
	}
	args := n.get("args").list()
	switch {
	case f == nil:
		return nil, wrong(n.at, "unknown function %s", shorten(name))
	case f.open:
		return nil, wrong(n.at, "function %s calls itself: recursion is not supported", shorten(name))
	case len(args) != len(f.parameters):
		return nil, wrong(n.at, "%d arguments for function %s: want %d", len(args), shorten(name), len(f.parameters))
	}
	inner := f.context
	inner.step = c.step
	inner.parameters = make(map[string]*expr, len(args))
	for i, a := range args {
		value, err := b.expression(a, c)
		if err != nil {
			return nil, err
		}
		inner.parameters[f.parameters[i]] = value
	}
	f.open = true
	defer func() { f.open = false }()
	return b.expression(f.body, &inner)
}

// declareFunctions returns functions, which may call each other.
func (b *builder) declareFunctions(n *node, c *context) error {
	c.functions = make(map[string]*function)
	for _, d := range n.list() {
		if err := d.object("a function", "name type parameters body"); err != nil {
			return err
		}
		name := d.word("name")
		if c.functions[name] != nil {
			return wrong(d.at, "function %s is defined twice", shorten(name))
		}
		if _, err := b.typeOf(d.get("type")); err != nil {
			return err
		}
		f := &function{body: d.get("body"), context: *c}
		for _, p := range d.get("parameters").list() {
			if err := p.object("a parameter", "name type"); err != nil {
				return err
			}
			if _, err := b.typeOf(p.get("type")); err != nil {
				return err
			}
			f.parameters = append(f.parameters, p.word("name"))
		}
		c.functions[name] = f
	}
	return nil
}
