package prism

import (
	"maps"
	"slices"
	"strings"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/property"
)

// ReadProperties reads properties in PRISM's language. Name is that of their file, for errors. Given are the
// values of constants, those of the model too. What the file defines, constants and labels, is put where its names
// stand in conditions. Defined are the names of the constants that it defines.
func ReadProperties(name, text string, given map[string]string) (list []property.Property, defined []string, err error) {
	err = try(name, func() { list, defined = readProperties(text, given) })
	return list, defined, err
}

func readProperties(text string, given map[string]string) ([]property.Property, []string) {
	tokens := lex(text)
	p := &properties{parser: parser{tokens: tokens}, given: given, scope: language.NewScope(), constants: make(map[string]string), defined: make(map[string]string)}
	for p.peek().kind != endOfFile {
		if p.accept(";") {
			continue
		}
		p.top()
	}
	if len(p.list) == 0 {
		fail(p.peek().at, "no property: want P, R, S or multi(…)")
	}
	return p.list, slices.Sorted(maps.Keys(p.constants))
}

type properties struct {
	parser
	list      []property.Property
	scope     *language.Scope
	given     map[string]string
	constants map[string]string // their values
	defined   map[string]string // conditions of labels
}

func (p *properties) top() {
	t := p.peek()
	switch {
	case t.is("const"):
		p.define()
		return
	case t.is("label"):
		s := new(source)
		begin := p.at
		p.definition(s)
		p.defined[s.labels[0].name.text] = p.text(begin+3, p.at-1)
		return
	}
	asked := property.Property{At: t.at}
	if t.kind == quoted && p.ahead(1).is(":") {
		asked.Name = t.text
		p.next()
		p.next()
	}
	if p.peek().text == "multi" && p.ahead(1).is("(") {
		p.next()
		p.next()
		for {
			f := p.formula()
			asked.Formulas = append(asked.Formulas, f)
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
	} else {
		f := p.formula()
		asked.Formulas = []property.Formula{f}
	}
	p.list = append(p.list, asked)
	if t := p.peek(); t.kind != endOfFile && !t.is(";") {
		fail(t.at, "got %s: want ; after a property: formulas are joined by multi(…) alone", t)
	}
}

// define reads a constant. Its value is put where its name stands in conditions.
func (p *properties) define() {
	s := new(source)
	p.constant(s)
	c := s.constants[0]
	value := c.Value
	if text, ok := p.given[c.Name]; ok && value == nil {
		value = must(parseValue(c, text))
	}
	if value == nil {
		fail(c.At, "constant %s has no value: give it by --const", c.Name)
	}
	check(p.scope.Constant(c.At, c.Name, c.Type, value))
	literal := must(p.scope.Compute(c.Type, language.NewName(c.At, c.Name), nil))
	p.constants[c.Name] = literal.Value()
}

// text writes the tokens from begin to end−1 with the values of constants.
func (p *properties) text(begin, end int) string {
	var b strings.Builder
	for i, t := range p.tokens[begin:end] {
		if i > 0 {
			b.WriteByte(' ')
		}
		value, ok := p.constants[t.text]
		condition, isLabel := p.defined[t.text]
		switch {
		case t.kind == quoted && isLabel:
			b.WriteString("(" + condition + ")")
		case t.kind == quoted:
			b.WriteString(t.String())
		case ok && t.kind == identifier:
			b.WriteString("(" + value + ")")
		default:
			b.WriteString(t.text)
		}
	}
	return b.String()
}

// bounds are what may follow P and R.
var bounds = map[string]bool{">=": true, "<=": true, "max": true, "min": true, "=": true}

func (p *properties) formula() (f property.Formula) {
	f.Coalition = p.coalition()
	t := p.next()
	f.At = t.at
	f.Within = -1
	kind, bound := t.text, ""
	for _, b := range []string{"max", "min"} {
		if k, ok := strings.CutSuffix(kind, b); ok && len(k) == 1 {
			kind, bound = k, b
		}
	}
	switch kind {
	case "P", "R", "S":
		f.Kind = kind[0]
	case "LRA":
		f.Kind = 'S'
	default:
		fail(t.at, "got %s: want a formula P, R, S or multi(…); filters, nesting, E, A, T and strategies are not supported", t)
	}
	if f.Kind == 'R' && p.accept("{") {
		name := p.quotedName("the name of rewards")
		f.Reward = name.text
		p.expect("}")
	}
	if bound == "" {
		if b := p.peek(); bounds[b.text] && b.kind != quoted {
			bound = p.next().text
		} else {
			fail(b.at, "got %s: want >=, <=, max=?, min=? or =?", b)
		}
	}
	f.Bound = bound
	if bound == ">=" || bound == "<=" {
		f.Value = p.number(language.Double)
	} else {
		p.optimum(bound)
	}
	p.expect("[")
	p.path(&f)
	p.expect("]")
	return f
}

// coalition takes the players of a formula, as in <<one>>; nil without any.
func (p *properties) coalition() []string {
	if !p.peek().is("<") || !p.ahead(1).is("<") {
		return nil
	}
	at := p.next().at
	p.next()
	players := []string{}
	for !p.peek().is(">") {
		t := p.next()
		if t.kind != identifier && t.kind != integer {
			fail(at, "got %s: want players, as in <<one>>", t)
		}
		players = append(players, t.text)
		if !p.accept(",") {
			break
		}
	}
	p.expect(">")
	p.expect(">")
	return players
}

// optimum takes what stands between max, min or = and the path.
func (p *properties) optimum(bound string) {
	if bound != "=" {
		p.expect("=")
	}
	p.expect("?")
}

// number takes a number: an expression of constants.
func (p *properties) number(t language.Type) float64 {
	e := p.level(levelOfNot + 2) // no comparisons
	for name, value := range p.given {
		c := Constant{At: e.At, Name: name, Type: language.Double}
		if _, err := p.scope.Resolve(language.NewName(e.At, name), nil); err == nil {
			continue
		}
		if t == language.Int {
			c.Type = language.Int
		}
		if v, err := parseValue(c, value); err == nil {
			_ = p.scope.Constant(e.At, name, c.Type, v) // it is not there, as was seen above
		}
	}
	v := must(p.scope.Compute(t, e, nil))
	if t == language.Int {
		return float64(v.Int)
	}
	return v.Num
}

// path reads what stands in brackets.
func (p *properties) path(f *property.Formula) {
	t := p.peek()
	switch {
	case f.Kind == 'S':
		f.Path = 'S'
		f.Goal = p.condition()
		return
	case f.Kind == 'R' && (t.is("S") || t.text == "LRA"):
		p.next()
		f.Path = 'S'
		return
	case f.Kind == 'R' && t.is("C"), t.is("F"), f.Kind == 'P' && t.is("G"):
		p.next()
		f.Path = t.text[0]
		p.within(f)
		if f.Path == 'C' {
			return
		}
		if f.Kind == 'R' && f.Within >= 0 {
			fail(t.at, "rewards of F with a bound of steps are not supported: want C<=k or F")
		}
		f.Goal = p.condition()
		return
	case f.Kind == 'R' || t.is("X"):
		fail(t.at, "%s is not supported: want %s", t, map[bool]string{true: "C, C<=k, F or S", false: "F, G or U"}[f.Kind == 'R'])
	}
	f.While = p.condition()
	if u := p.next(); !u.is("U") {
		fail(u.at, "got %s: want U, which stands between two conditions", u)
	}
	f.Path = 'U'
	p.within(f)
	f.Goal = p.condition()
}

func (p *properties) within(f *property.Formula) {
	t := p.peek()
	switch {
	case t.is("[") || t.is(">=") || t.is(">") || t.is("{"):
		fail(t.at, "only bounds of steps from above are supported, as in F<=10")
	case !t.is("<=") && !t.is("<"):
		return
	}
	p.next()
	// A parenthesis after a simple bound begins the condition.
	simple := p.peek()
	var x float64
	if simple.kind == integer || simple.kind == identifier && !keywords[simple.text] {
		end := p.at + 1
		sub := &properties{parser: parser{tokens: append(append([]token(nil), p.tokens[p.at:end]...), token{endOfFile, "", simple.at})}, scope: p.scope, given: p.given}
		p.at = end
		x = sub.number(language.Int)
	} else {
		x = p.number(language.Int)
	}
	if t.text == "<" {
		x--
	}
	if x < 0 || x > 1<<31-1 {
		fail(t.at, "a bound of %g steps: want 0 or more", x)
	}
	f.Within = int(x)
}

// condition takes a state formula as text.
func (p *properties) condition() string {
	begin := p.at
	p.labels = true
	p.expression()
	p.labels = false
	return p.text(begin, p.at)
}
