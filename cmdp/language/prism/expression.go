package prism

import (
	"errors"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/language"
)

// maxNested bounds how deep expressions may be nested.
const maxNested = 1000

// LabelPrefix makes the name of what stands in quotes one that nothing else has.
const LabelPrefix = "label "

// A parser reads tokens by recursive descent.
type parser struct {
	tokens []token
	at     int
	depth  int
	labels bool // labels may stand in expressions
}

// keywords are the names that models cannot use.
var keywords = make(map[string]bool)

func init() {
	const all = "A bool clock const ctmc C double dtmc E endinit endinvariant endmodule endobservables endrewards endsystem false formula filter func F" +
		" global G init invariant I int label max mdp min module X nondeterministic observable observables Pmax Pmin P pomdp popta probabilistic prob" +
		" pta rate rewards Rmax Rmin R S stochastic system true U W"
	for _, k := range strings.Fields(all) {
		keywords[k] = true
	}
}

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

func (p *parser) expect(text string) error {
	if t := p.peek(); !t.is(text) {
		return wrong(t.at, "got %s: want %s", t, text)
	}
	p.next()
	return nil
}

// name takes an identifier.
func (p *parser) name(what string) (token, error) {
	t := p.peek()
	switch {
	case t.kind != identifier:
		return t, wrong(t.at, "got %s: want %s", t, what)
	case keywords[t.text]:
		return t, wrong(t.at, "got the keyword %s: want %s", t, what)
	}
	return p.next(), nil
}

// quotedName takes a name in quotes.
func (p *parser) quotedName(what string) (token, error) {
	t := p.peek()
	if t.kind != quoted {
		return t, wrong(t.at, `got %s: want %s in quotes`, t, what)
	}
	if t.text == "" || isDigit(t.text[0]) || span(t.text, isWord) < len(t.text) {
		return t, wrong(t.at, "%s is no name: want letters, digits and _", t)
	}
	return p.next(), nil
}

// levels are the operators with two arguments that group from the left, from those that bind least. The
// operator ! stands between levels 2 and 3.
var levels = [][]struct {
	text string
	op   language.Op
}{
	{{"<=>", language.Iff}},
	{{"|", language.Or}},
	{{"&", language.And}},
	{{"=", language.Eq}, {"!=", language.Ne}},
	{{"<=", language.Le}, {">=", language.Ge}, {"<", language.Lt}, {">", language.Gt}},
	{{"+", language.Add}, {"-", language.Sub}},
	{{"*", language.Mul}, {"/", language.Div}},
}

const levelOfNot = 3

// expression parses an expression: a condition with two cases, which groups from the right, or less.
func (p *parser) expression() (*language.Expr, error) {
	e, err := p.implication()
	if err != nil || !p.peek().is("?") {
		return e, err
	}
	at := p.next().at
	yes, err := p.implication()
	if err != nil {
		return nil, err
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	if err := p.deeper(at); err != nil {
		return nil, err
	}
	no, err := p.expression()
	p.depth--
	return language.New(language.If, at, e, yes, no), err
}

func (p *parser) deeper(at language.Pos) error {
	if p.depth++; p.depth > maxNested {
		return wrong(at, "expressions are nested more than %d deep", maxNested)
	}
	return nil
}

func (p *parser) implication() (*language.Expr, error) {
	e, err := p.level(0)
	if err != nil || !p.peek().is("=>") {
		return e, err
	}
	at := p.next().at
	if err := p.deeper(at); err != nil {
		return nil, err
	}
	then, err := p.implication()
	p.depth--
	return language.New(language.Implies, at, e, then), err
}

// level parses operators of a level and of those above it.
func (p *parser) level(n int) (*language.Expr, error) {
	if n == len(levels) {
		return p.power()
	}
	if n == levelOfNot && p.peek().is("!") {
		at := p.next().at
		if err := p.deeper(at); err != nil {
			return nil, err
		}
		e, err := p.level(n)
		p.depth--
		return language.New(language.Not, at, e), err
	}
	e, err := p.level(n + 1)
	for err == nil {
		op, at, ok := p.operator(n)
		if !ok {
			break
		}
		var right *language.Expr
		if right, err = p.level(n + 1); err == nil {
			e = join(op, at, e, right)
		}
	}
	return e, err
}

// operator takes an operator of a level.
func (p *parser) operator(n int) (language.Op, language.Pos, bool) {
	for _, o := range levels[n] {
		if p.peek().is(o.text) {
			return o.op, p.next().at, true
		}
	}
	return 0, language.Pos{}, false
}

// join makes one operator of several that group from the left, so that long sums are not nested.
func join(op language.Op, at language.Pos, left, right *language.Expr) *language.Expr {
	switch op {
	case language.And, language.Or, language.Add, language.Mul:
		if left.Op == op {
			left.Args = append(left.Args, right)
			return left
		}
	}
	return language.New(op, at, left, right)
}

// power parses ^, which groups from the right and binds less than the sign of its base.
func (p *parser) power() (*language.Expr, error) {
	e, err := p.signed()
	if err != nil || !p.peek().is("^") {
		return e, err
	}
	at := p.next().at
	if err := p.deeper(at); err != nil {
		return nil, err
	}
	exponent, err := p.power()
	p.depth--
	return language.New(language.Pow, at, e, exponent), err
}

func (p *parser) signed() (*language.Expr, error) {
	if !p.peek().is("-") {
		return p.primary()
	}
	at := p.next().at
	if err := p.deeper(at); err != nil {
		return nil, err
	}
	e, err := p.signed()
	p.depth--
	return language.New(language.Neg, at, e), err
}

func (p *parser) primary() (*language.Expr, error) {
	t := p.peek()
	switch {
	case t.kind == integer:
		p.next()
		x, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return nil, wrong(t.at, "the number %s is too large", t)
		}
		return language.NewInt(t.at, x), nil
	case t.kind == double:
		p.next()
		x, err := strconv.ParseFloat(t.text, 64)
		if errors.Is(err, strconv.ErrRange) && x != 0 {
			return nil, wrong(t.at, "the number %s is too large", t)
		}
		return language.NewDouble(t.at, x), nil
	case t.is("true"), t.is("false"):
		p.next()
		return language.NewBool(t.at, t.text == "true"), nil
	case t.is("("):
		p.next()
		if err := p.deeper(t.at); err != nil {
			return nil, err
		}
		e, err := p.expression()
		p.depth--
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case t.is("func"):
		p.next()
		if err := p.expect("("); err != nil {
			return nil, err
		}
		name := p.next()
		if err := p.expect(","); err != nil {
			return nil, err
		}
		return p.call(name)
	case t.kind == identifier && p.ahead(1).is("("):
		p.next()
		p.next()
		return p.call(t)
	case t.kind == quoted && p.labels:
		p.next()
		return language.NewName(t.at, LabelPrefix+t.text), nil
	case t.kind == quoted:
		return nil, wrong(t.at, "got the label %s: labels stand in properties", t)
	}
	if _, err := p.name("an expression"); err != nil {
		return nil, err
	}
	return language.NewName(t.at, t.text), nil
}

// call parses the arguments of a function, up to the closing parenthesis.
func (p *parser) call(name token) (*language.Expr, error) {
	op, ok := language.Functions[name.text]
	if !ok {
		return nil, wrong(name.at, "unknown function %s: want min, max, floor, ceil, round, pow, mod or log", name)
	}
	if err := p.deeper(name.at); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	e := language.New(op, name.at)
	for {
		a, err := p.expression()
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, a)
		if !p.accept(",") {
			return e, p.expect(")")
		}
	}
}
