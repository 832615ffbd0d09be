package prism

import (
	"slices"
	"strings"

	"cmdpsolve/cmdp/language"
)

// maxNested bounds how deep expressions may be nested.
const maxNested = 1000

// A parser reads tokens by recursive descent.
type parser struct {
	tokens []token
	at     int
	depth  int
	labels bool // labels may stand in expressions
}

// keywords are the names that models cannot use.
var keywords = strings.Fields(`A bool clock const ctmc C double dtmc E endinit endinvariant endmodule endobservables endrewards endsystem
		false formula filter func F global G init invariant I int label max mdp min module X nondeterministic observable
		observables Pmax Pmin P pomdp popta probabilistic prob pta rate rewards Rmax Rmin R S stochastic system true U W`)

func (p *parser) peek() token { return p.tokens[p.at] }

// ahead returns the token n places on.
func (p *parser) ahead(n int) token { return p.tokens[min(p.at+n, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.peek()
	if t.kind != endOfFile {
		p.at++
	}
	return t
}

// is reports whether a token is a symbol or keyword.
func (t token) is(text string) bool {
	return t.text == text && (t.kind == symbol || t.kind == identifier)
}

// accept takes the next token if it is the given one.
func (p *parser) accept(text string) bool {
	if !p.peek().is(text) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) {
	if t := p.peek(); !t.is(text) {
		fail(t.at, "got %s: want %s", t, text)
	}
	p.next()
}

// list parses items between commas, up to a closing sign.
func (p *parser) list(end string, item func()) {
	item()
	for p.accept(",") {
		item()
	}
	p.expect(end)
}

// name takes an identifier.
func (p *parser) name(what string) token {
	t := p.peek()
	switch {
	case t.kind != identifier:
		fail(t.at, "got %s: want %s", t, what)
	case slices.Contains(keywords, t.text):
		fail(t.at, "got the keyword %s: want %s", t, what)
	}
	return p.next()
}

func (p *parser) quotedName(what string) token {
	t := p.peek()
	if t.kind != quoted {
		fail(t.at, `got %s: want %s in quotes`, t, what)
	}
	if !word.MatchString(t.text) {
		fail(t.at, "%s is no name: want letters, digits and _", t)
	}
	return p.next()
}

// An infixOp stands between two arguments. Those of a higher level bind more strongly. The sign ! stands between and
// and equality, - before anything but ^.
type infixOp struct {
	op    language.Op
	level int
}

const (
	levelOfEqual = 4
	levelOfPlus  = 6
)

var infix = map[string]infixOp{"^": {language.Pow, 8}}

func init() {
	for level, ops := range [...][]language.Op{
		{language.Implies}, {language.Iff}, {language.Or}, {language.And},
		levelOfEqual: {language.Eq, language.Ne}, {language.Lt, language.Le, language.Gt, language.Ge},
		levelOfPlus: {language.Add, language.Sub}, {language.Mul, language.Div},
	} {
		for _, op := range ops {
			infix[op.String()] = infixOp{op, level}
		}
	}
}

// expression parses an expression: a condition with two cases, which groups from the right, or less.
func (p *parser) expression() *expr {
	e := p.level(0)
	if !p.peek().is("?") {
		return e
	}
	at := p.next().at
	yes := p.level(0)
	p.expect(":")
	return language.New(language.If, at, e, yes, p.nested(at, p.expression))
}

// nested parses a part of an expression, which is nested in what stands at a place.
func (p *parser) nested(at language.Pos, parse func() *expr) *expr {
	p.depth++
	if p.depth > maxNested {
		fail(at, "expressions are nested more than %d deep", maxNested)
	}
	e := parse()
	p.depth--
	return e
}

// level parses operators that bind at least as strongly as a level says (precedence climbing).
func (p *parser) level(least int) *expr {
	var e *expr
	if at := p.peek().at; least <= levelOfEqual && p.accept("!") {
		e = language.New(language.Not, at, p.nested(at, func() *expr { return p.level(levelOfEqual) }))
	} else {
		e = p.signed()
	}
	for {
		t := p.peek()
		o, known := infix[t.text]
		if !known || t.kind != symbol || o.level < least {
			return e
		}
		p.next()
		if o.op == language.Implies || o.op == language.Pow { // they group from the right
			right := p.nested(t.at, func() *expr { return p.level(o.level) })
			e = language.New(o.op, t.at, e, right)
		} else {
			e = language.Join(o.op, t.at, e, p.level(o.level+1))
		}
	}
}

func (p *parser) signed() *expr {
	at := p.peek().at
	if !p.accept("-") {
		return p.primary()
	}
	return language.New(language.Neg, at, p.nested(at, p.signed))
}

func (p *parser) primary() *expr {
	t := p.peek()
	switch {
	case t.kind == number:
		p.next()
		return language.NewNumber(t.at, t.text)
	case t.is("true"), t.is("false"):
		p.next()
		return language.NewBool(t.at, t.text == "true")
	case t.is("("):
		p.next()
		e := p.nested(t.at, p.expression)
		p.expect(")")
		return e
	case t.is("func"):
		p.next()
		p.expect("(")
		name := p.next()
		p.expect(",")
		return p.call(name)
	case t.kind == identifier && p.ahead(1).is("("):
		p.next()
		p.next()
		return p.call(t)
	case t.kind == quoted && p.labels:
		p.next()
		return language.NewName(t.at, language.LabelPrefix+t.text)
	case t.kind == quoted:
		fail(t.at, "got the label %s: labels stand in properties", t)
	}
	p.name("an expression")
	return language.NewName(t.at, t.text)
}

// call parses the arguments of a function, up to the closing parenthesis.
func (p *parser) call(name token) *expr {
	op, ok := language.Functions[name.text]
	if !ok {
		fail(name.at, "unknown function %s: want min, max, floor, ceil, round, pow, mod or log", name)
	}
	e := language.New(op, name.at)
	p.list(")", func() { e.Args = append(e.Args, p.nested(name.at, p.expression)) })
	return e
}
