package language

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"cmdpsolve/internal/nearest"
)

// Limits of what expressions may grow to. Formulas that use formulas can double at every step.
const (
	maxNodes = 4_000_000
	maxDepth = 10_000
)

// LabelPrefix makes the name of a label one that nothing else has.
const LabelPrefix = "label "

// A Scope knows what names mean: constants, variables and formulas. It is made by one goroutine. What is wrong fails,
// see [Fail].
type Scope struct {
	definitions map[string]*definition
	replaced    map[int64]*Expr // what stands for variables, by their numbers
	nodes       int
}

// Kinds of definitions, as errors call them.
const (
	constant = "constant"
	variable = "variable"
	formula  = "formula"
)

type definition struct {
	kind  string
	typ   Type
	at    Pos
	expr  *Expr // of a constant or formula; nil for a constant without value
	index int   // of a variable
	value *Expr // of a constant, once it is known
	open  bool  // it is being resolved
}

// NewScope returns a scope without names.
func NewScope() *Scope { return &Scope{definitions: make(map[string]*definition)} }

func (s *Scope) define(name string, d *definition) {
	if old := s.definitions[name]; old != nil {
		Fail(d.at, "%s is defined twice: it is a %s in line %d too", name, old.kind, old.at.Line)
	}
	s.definitions[name] = d
}

// Constant defines a constant. Its value is an expression, or nil if it is given from outside.
func (s *Scope) Constant(at Pos, name string, t Type, value *Expr) {
	s.define(name, &definition{kind: constant, typ: t, at: at, expr: value})
}

// Formula defines a name that stands for an expression.
func (s *Scope) Formula(at Pos, name string, e *Expr) {
	s.define(name, &definition{kind: formula, at: at, expr: e})
}

// Variable defines a variable by its number.
func (s *Scope) Variable(at Pos, name string, t Type, index int) {
	s.define(name, &definition{kind: variable, typ: t, at: at, index: index})
}

// Defines reports whether a name means something.
func (s *Scope) Defines(name string) bool { return s.definitions[name] != nil }

// IndexOf returns the number of a variable.
func (s *Scope) IndexOf(name string) (int, bool) {
	d := s.definitions[name]
	if d == nil || d.kind != variable {
		return 0, false
	}
	return d.index, true
}

// Renamed returns what a name is renamed to, which is itself if it is not.
func Renamed(rename map[string]string, name string) string {
	if other, ok := rename[name]; ok {
		return other
	}
	return name
}

// ResolveAs returns a compiled copy of an expression of a known type: names stand for what they mean, constants are
// computed. Names in rename stand for other names, also within formulas; rename may be nil.
func (s *Scope) ResolveAs(t Type, e *Expr, rename map[string]string) *Expr {
	r := as(t, s.resolve(e, rename, 0), e.At)
	r.eval = compile(r)
	return r
}

// as returns a resolved expression that stands at a place as one of a type.
func as(t Type, e *Expr, at Pos) *Expr {
	if t == Double {
		e = asDouble(e)
	}
	if e.Type != t {
		Fail(at, "the expression is of type %s: want %s", e.Type, t)
	}
	return e
}

// Compute returns the value of an expression of constants, as a literal of the given type.
func (s *Scope) Compute(t Type, e *Expr, rename map[string]string) *Expr {
	return literal(t, s.resolve(e, rename, 0), e.At)
}

// literal returns the value of a resolved expression that stands at a place.
func literal(t Type, e *Expr, at Pos) *Expr {
	e = as(t, e, at)
	if e.Op == Literal {
		return e
	}
	if len(e.variables()) > 0 {
		Fail(at, "the value depends on variables: want constants alone")
	}
	return e.compute()
}

func (s *Scope) resolve(e *Expr, rename map[string]string, depth int) *Expr {
	s.nodes++
	if s.nodes > maxNodes {
		Fail(e.At, "the expressions have more than %d operators once formulas are put in", maxNodes)
	}
	if depth > maxDepth {
		Fail(e.At, "expressions and formulas are nested more than %d deep", maxDepth)
	}
	switch e.Op {
	case Literal:
		return e
	case Var:
		return cmp.Or(s.replaced[e.Int], e)
	case Name:
		return s.named(e, rename, depth)
	}
	r := &Expr{Op: e.Op, At: e.At, Args: make([]*Expr, len(e.Args))}
	if op, ok := Functions[rename[e.Op.String()]]; ok {
		r.Op = op
	}
	for i, a := range e.Args {
		r.Args[i] = s.resolve(a, rename, depth+1)
	}
	r.check()
	return r.fold()
}

// unknown fails with the most similar name, or label where that was asked for.
func (s *Scope) unknown(at Pos, name string) {
	known := slices.Sorted(maps.Keys(s.definitions))
	label, isLabel := strings.CutPrefix(name, LabelPrefix)
	if !isLabel {
		Fail(at, "unknown name %s%s", Shorten(name), nearest.Name(Shorten(name), known))
	}
	var labels []string
	for _, name := range known {
		if other, ok := strings.CutPrefix(name, LabelPrefix); ok {
			labels = append(labels, other)
		}
	}
	Fail(at, "unknown label %q%s", Shorten(label), nearest.Name(Shorten(label), labels))
}

func (s *Scope) named(e *Expr, rename map[string]string, depth int) *Expr {
	name := e.Name
	d := s.definitions[name]
	if d == nil || d.kind != formula {
		name = Renamed(rename, name)
		d = s.definitions[name]
	}
	switch {
	case d == nil:
		s.unknown(e.At, name)
	case d.kind == variable:
		return &Expr{Op: Var, Type: d.typ, At: e.At, Int: int64(d.index)}
	case d.value != nil:
		value := *d.value
		value.At = e.At
		return &value
	case d.open:
		Fail(d.at, "%s %s is defined by itself", d.kind, name)
	case d.expr == nil:
		Fail(e.At, "constant %s has no value", name)
	}
	d.open = true
	defer func() { d.open = false }()
	if d.kind == formula {
		return s.resolve(d.expr, rename, depth+1)
	}
	d.value = literal(d.typ, s.resolve(d.expr, nil, depth+1), d.expr.At)
	return d.value
}
