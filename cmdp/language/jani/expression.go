package jani

import (
	"math"
	"strings"

	"cmdpsolve/cmdp/language"
)

type expr = language.Expr

// maxInlined bounds the operators of all expressions, with functions written out.
const maxInlined = 2_000_000

// A context says what names mean in an expression.
type context struct {
	owner      string            // in messages
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
	context    *context
	open       bool
}

// stepPrefix makes the name of a transient variable in a step one that nothing else has.
const stepPrefix = "step "

// operators are those of expressions by their names.
var operators = map[string]language.Op{
	"∨": language.Or, "∧": language.And, "⇒": language.Implies, "¬": language.Not, "ite": language.If,
	"=": language.Eq, "≠": language.Ne, "<": language.Lt, "≤": language.Le, ">": language.Gt, "≥": language.Ge,
	"+": language.Add, "-": language.Sub, "*": language.Mul, "/": language.Div, "%": language.Mod,
	"pow": language.Pow, "log": language.Log, "min": language.Min, "max": language.Max,
	"floor": language.Floor, "ceil": language.Ceil,
}

// keysOf returns the keys under which the arguments of an operator stand.
func keysOf(op language.Op) []string {
	switch op {
	case language.Not, language.Floor, language.Ceil:
		return []string{"exp"}
	case language.If:
		return []string{"if", "then", "else"}
	}
	return []string{"left", "right"}
}

// expression reads an expression. Names in it are those of the program.
func (b *builder) expression(n *node, c *context) *expr {
	b.inlined++
	if b.inlined > maxInlined {
		fail(n.at, "the expressions have more than %d operators once functions are put in", maxInlined)
	}
	switch n.kind {
	case "a number":
		return language.NewNumber(n.at, n.text)
	case "true or false":
		return language.NewBool(n.at, n.text == "true")
	case "a string":
		return b.identifier(n, c)
	case "an object":
		return b.operation(n, c)
	}
	fail(n.at, "got %s: want an expression", n)
	return nil
}

// inner reads the expression that stands as exp in the item of a key, nil if there is none.
func (b *builder) inner(n *node, key string, c *context) *expr {
	item := n.get(key)
	if item == nil {
		return nil
	}
	item.object(key, "exp")
	return b.expression(item.get("exp"), c)
}

// nameOf returns what an identifier is called in the program.
func (c *context) nameOf(name string) string { return language.Renamed(c.local, name) }

func (b *builder) identifier(n *node, c *context) *expr {
	if value, ok := c.parameters[n.text]; ok {
		return value
	}
	name := c.nameOf(n.text)
	if c.step && b.transient[name] != nil {
		name = stepPrefix + name
	}
	return language.NewName(n.at, name)
}

func (b *builder) operation(n *node, c *context) *expr {
	name := n.word("op")
	if op, ok := operators[name]; ok {
		args := b.arguments(n, c, keysOf(op)...)
		if n.get("left").word("op") == name { // no parameter, which stands elsewhere too
			return language.Join(op, n.at, args[0], args[1])
		}
		return language.New(op, n.at, args...)
	}
	switch name {
	case "abs", "sgn", "trc":
		return signed(name, n.at, b.arguments(n, c, "exp")[0])
	case "call":
		return b.call(n, c)
	}
	if value, ok := map[string]float64{"e": math.E, "π": math.Pi}[n.word("constant")]; ok && name == "" {
		return language.NewDouble(n.at, value)
	}
	fail(n.at, "the operator %q is not supported in an expression", shorten(name))
	return nil
}

// signed writes a function that looks at the sign of its argument in the operators that there are.
func signed(name string, at language.Pos, x *expr) *expr {
	zero := language.NewInt(at, 0)
	negative := language.New(language.Lt, at, x, zero)
	switch name {
	case "abs":
		return language.New(language.Max, at, x, language.New(language.Neg, at, x))
	case "sgn":
		positive := language.New(language.If, at, language.New(language.Gt, at, x, zero), language.NewInt(at, 1), zero)
		return language.New(language.If, at, negative, language.NewInt(at, -1), positive)
	}
	return language.New(language.If, at, negative, language.New(language.Ceil, at, x),
		language.New(language.Floor, at, x))
}

// arguments reads the items of an operator.
func (b *builder) arguments(n *node, c *context, keys ...string) []*expr {
	n.object("an operator", "op "+strings.Join(keys, " "))
	args := make([]*expr, len(keys))
	for i, key := range keys {
		args[i] = b.expression(n.get(key), c)
	}
	return args
}

// call puts the body of a function in the place of its call.
func (b *builder) call(n *node, c *context) *expr {
	n.object("a call", "op function args")
	name, args := n.word("function"), n.list("args")
	f := c.functions[name]
	if f == nil {
		f = b.global.functions[name]
	}
	switch {
	case f == nil:
		fail(n.at, "unknown function %s", shorten(name))
	case f.open:
		fail(n.at, "function %s calls itself: recursion is not supported", shorten(name))
	case len(args) != len(f.parameters):
		fail(n.at, "%d arguments for function %s: want %d", len(args), shorten(name), len(f.parameters))
	}
	inner := *f.context
	inner.step = c.step
	inner.parameters = make(map[string]*expr, len(args))
	for i, a := range args {
		inner.parameters[f.parameters[i]] = b.expression(a, c)
	}
	f.open = true
	defer func() { f.open = false }()
	return b.expression(f.body, &inner)
}

// declareFunctions adds functions to a context, which may call each other.
func (b *builder) declareFunctions(list []*node, c *context) {
	c.functions = make(map[string]*function)
	for _, d := range list {
		d.object("a function", "name type parameters body")
		typeOf(d.get("type"))
		f := &function{body: d.get("body"), context: c}
		for _, p := range d.list("parameters") {
			p.object("a parameter", "name type")
			typeOf(p.get("type"))
			f.parameters = append(f.parameters, p.word("name"))
		}
		b.Once(d.at, "function", d.word("name")+c.owner)
		c.functions[d.word("name")] = f
	}
}
