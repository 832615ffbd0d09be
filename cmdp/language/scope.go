package language

import (
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Limits of what expressions may grow to. Formulas that use formulas can double at every step.
const (
	maxNodes = 4_000_000
	maxDepth = 10_000
)

// A Scope knows what names mean: constants, variables and formulas. It is made by one goroutine.
type Scope struct {
	definitions map[string]*definition
	nodes       int
}

type kind uint8

const (
	constant kind = iota
	variable
	formula
)

func (k kind) String() string { return [...]string{"constant", "variable", "formula"}[k] }

type definition struct {
	kind  kind
	typ   Type
	at    Pos
	expr  *Expr // of a constant or formula; nil for a constant without value
	index int   // of a variable
	value *Expr // of a constant, once it is known
	open  bool  // it is being resolved
}

// NewScope returns a scope without names.
func NewScope() *Scope { return &Scope{definitions: make(map[string]*definition)} }

func (s *Scope) define(name string, d *definition) error {
	if old := s.definitions[name]; old != nil {
		return wrong(d.at, "%s is defined twice: it is a %s in line %d too", name, old.kind, old.at.Line)
	}
	s.definitions[name] = d
	return nil
}

// Constant defines a constant. Its value is an expression, or nil if it is given from outside.
func (s *Scope) Constant(at Pos, name string, t Type, value *Expr) error {
	return s.define(name, &definition{kind: constant, typ: t, at: at, expr: value})
}

// Formula defines a name that stands for an expression.
func (s *Scope) Formula(at Pos, name string, e *Expr) error {
	return s.define(name, &definition{kind: formula, at: at, expr: e})
}

// Variable defines a variable by its number.
func (s *Scope) Variable(at Pos, name string, t Type, index int) error {
	return s.define(name, &definition{kind: variable, typ: t, at: at, index: index})
}

// IsFormula reports whether a name stands for an expression.
func (s *Scope) IsFormula(name string) bool {
	d := s.definitions[name]
	return d != nil && d.kind == formula
}

// IndexOf returns the number of a variable.
func (s *Scope) IndexOf(name string) (int, bool) {
	d := s.definitions[name]
	if d == nil || d.kind != variable {
		return 0, false
	}
	return d.index, true
}

// Resolve returns a typed copy of an expression: names stand for what they mean, constants are
// computed. Names in rename stand for other names, also within formulas; rename may be nil.
func (s *Scope) Resolve(e *Expr, rename map[string]string) (*Expr, error) {
	return s.resolve(e, rename, 0)
}

// ResolveAs is Resolve for an expression of a known type.
func (s *Scope) ResolveAs(t Type, e *Expr, rename map[string]string) (*Expr, error) {
	r, err := s.Resolve(e, rename)
	if err != nil {
		return nil, err
	}
	if t == Double {
		r = asDouble(r)
	}
	if r.Type != t {
		return nil, wrong(e.At, "the expression is of type %s: want %s", r.Type, t)
	}
	return r, nil
}

// Compute returns the value of an expression of constants, as a literal of the given type.
func (s *Scope) Compute(t Type, e *Expr, rename map[string]string) (*Expr, error) {
	r, err := s.ResolveAs(t, e, rename)
	if err != nil || r.Op == Literal {
		return r, err
	}
	used := make(map[int]bool)
	if r.variables(used); len(used) > 0 {
		return nil, wrong(e.At, "the value depends on variables: want constants alone")
	}
	return r.compute()
}

func (s *Scope) resolve(e *Expr, rename map[string]string, depth int) (*Expr, error) {
	if s.nodes++; s.nodes > maxNodes {
		return nil, wrong(e.At, "the expressions have more than %d operators once formulas are put in", maxNodes)
	}
	if depth > maxDepth {
		return nil, wrong(e.At, "expressions and formulas are nested more than %d deep", maxDepth)
	}
	switch e.Op {
	case Literal, Var:
		return e, nil
	case Name:
		return s.named(e, rename, depth)
	}
	r := &Expr{Op: e.Op, At: e.At, Args: make([]*Expr, len(e.Args))}
	if other, ok := rename[e.Op.String()]; ok {
		if op, known := Functions[other]; known {
			r.Op = op
		}
	}
	for i, a := range e.Args {
		var err error
		if r.Args[i], err = s.resolve(a, rename, depth+1); err != nil {
			return nil, err
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r.fold(), nil
}

func (s *Scope) named(e *Expr, rename map[string]string, depth int) (*Expr, error) {
	name := e.Name
	if other, ok := rename[name]; ok && !s.IsFormula(name) {
		name = other
	}
	d := s.definitions[name]
	if d == nil {
		return nil, wrong(e.At, "unknown name %s%s", shorten(name), nearest(name, slices.Collect(maps.Keys(s.definitions))))
	}
	if d.kind == variable {
		return &Expr{Op: Var, Type: d.typ, At: e.At, Int: int64(d.index)}, nil
	}
	if d.value != nil {
		value := *d.value
		value.At = e.At
		return &value, nil
	}
	if d.open {
		return nil, wrong(d.at, "%s %s is defined by itself", d.kind, name)
	}
	if d.expr == nil {
		return nil, wrong(e.At, "constant %s has no value", name)
	}
	d.open = true
	defer func() { d.open = false }()
	if d.kind == formula {
		return s.resolve(d.expr, rename, depth+1)
	}
	r, err := s.resolve(d.expr, nil, depth+1)
	if err != nil {
		return nil, err
	}
	value, err := s.constantValue(d, r)
	if err != nil {
		return nil, err
	}
	d.value = value
	return value, nil
}

func (s *Scope) constantValue(d *definition, r *Expr) (*Expr, error) {
	if d.typ == Double {
		r = asDouble(r)
	}
	if r.Type != d.typ {
		return nil, wrong(d.expr.At, "the value is of type %s: want %s", r.Type, d.typ)
	}
	if r.Op == Literal {
		return r, nil
	}
	used := make(map[int]bool)
	if r.variables(used); len(used) > 0 {
		return nil, wrong(d.expr.At, "the value of a constant depends on variables")
	}
	return r.compute()
}

func shorten(name string) string {
	const most = 60
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}

// nearest suggests a known name for one that is not.
func nearest(name string, known []string) string {
	if len(name) > 60 || len(known) > 10_000 {
		return ""
	}
	slices.Sort(known)
	best, least := "", 3
	for _, k := range known {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}
