package prism

import (
	"slices"
	"strings"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/property"
)

// ReadProperties reads properties in PRISM's language. Name is that of their file, for errors. Given are the
// values of constants, those of the model too. What the file defines, constants and labels, is put where its names
// stand in conditions. Defined are the names of the constants that it defines.
func ReadProperties(name, text string, given map[string]string) ([]property.Property, []string, error) {
	p := &properties{given: given, scope: language.NewScope(), defined: make(map[string]string)}
	err := language.Try(name, func() { p.all(text) })
	slices.Sort(p.constants)
	return p.found, p.constants, err
}

func (p *properties) all(text string) {
	p.tokens = lex(text)
	p.give()
	for p.peek().kind != endOfFile {
		if p.accept(";") {
			continue
		}
		p.top()
	}
	if len(p.found) == 0 {
		fail(p.peek().at, "no property: want P, R, S or multi(…)")
	}
}

type properties struct {
	parser
	found     []property.Property
	scope     *language.Scope
	given     map[string]string
	constants []string          // that the text defines
	defined   map[string]string // values of constants, and conditions of labels by their names in quotes
}

func (p *properties) top() {
	t := p.peek()
	switch {
	case t.is("const"):
		p.define()
		return
	case t.is("label"):
		p.next()
		name := p.quotedName("the name of a label")
		begin := p.at + 1
		p.definition(name)
		p.defined[name.source()] = p.text(begin, p.at-1)
		return
	}
	asked := property.Property{At: t.at}
	if t.kind == quoted && p.ahead(1).is(":") {
		asked.Name = t.text
		p.at += 2
	}
	add := func() { asked.Formulas = append(asked.Formulas, p.formula()) }
	if p.accept("multi") {
		p.expect("(")
		p.list(")", add)
	} else {
		add()
	}
	p.found = append(p.found, asked)
	if t := p.peek(); t.kind != endOfFile && !t.is(";") {
		fail(t.at, "got %s: want ; after a property: formulas are joined by multi(…) alone", t)
	}
}

// define reads a constant. Its value is put where its name stands in conditions.
func (p *properties) define() {
	c := p.constant(p.next())
	value := c.Value
	if text, ok := p.given[c.Name]; ok && value == nil {
		value = parseValue(c, text)
	}
	if value == nil {
		fail(c.At, "constant %s has no value: give it by --const", c.Name)
	}
	p.scope.Constant(c.At, c.Name, c.Type, value)
	p.defined[c.Name] = p.scope.Compute(c.Type, language.NewName(c.At, c.Name), nil).Value()
	p.constants = append(p.constants, c.Name)
}

// text writes the tokens from begin to end−1, with what stands for some of them.
func (p *properties) text(begin, end int) string {
	var words []string
	for _, t := range p.tokens[begin:end] {
		text := t.source()
		if other, ok := p.defined[text]; ok {
			text = "(" + other + ")"
		}
		words = append(words, text)
	}
	return strings.Join(words, " ")
}

// measures are the kinds of formulas by the words that begin them.
var measures = map[string]byte{"P": 'P', "R": 'R', "T": 'R', "S": 'S', "LRA": 'S'}

func (p *properties) formula() (f property.Formula) {
	f.Coalition = p.coalition()
	t := p.next()
	f.At = t.at
	f.Within = -1
	kind := strings.TrimSuffix(strings.TrimSuffix(t.text, "max"), "min")
	f.Kind = measures[kind]
	f.Bound = t.text[len(kind):]
	switch {
	case f.Kind == 0:
		fail(t.at, "got %s: want a formula P, R, S, T or multi(…); "+
			"filters, nesting, E, A and strategies are not supported", t)
	case kind == "T":
		f.Reward = property.Steps
	case kind == "R" && p.accept("{"):
		f.Reward = p.quotedName("the name of rewards").text
		p.expect("}")
	}
	if f.Bound == "" {
		b := p.next()
		if !slices.ContainsFunc([]string{">=", "<=", "max", "min", "="}, b.is) {
			fail(b.at, "got %s: want >=, <=, max=?, min=? or =?", b)
		}
		f.Bound = b.text
	}
	switch f.Bound {
	case ">=", "<=":
		f.Value = p.number(language.Double, p.sum())
	case "max", "min":
		p.expect("=")
		fallthrough
	default:
		p.expect("?")
	}
	p.expect("[")
	p.path(&f)
	p.expect("]")
	return f
}

// coalition takes the players of a formula, as in <<one>>; nil without any.
func (p *properties) coalition() []string {
	if !p.accept("<") {
		return nil
	}
	p.expect("<")
	players := []string{}
	if !p.accept(">") {
		p.list(">", func() {
			t := p.next()
			if t.kind != identifier && t.kind != number {
				fail(t.at, "got %s: want players, as in <<one>>", t)
			}
			players = append(players, t.text)
		})
	}
	p.expect(">")
	return players
}

// sum parses an expression without comparisons.
func (p *properties) sum() *expr { return p.level(levelOfPlus) }

// give defines the given constants that the text does not define, each of the first type that its value has.
func (p *properties) give() {
	own := make(map[string]bool)
	for i, t := range p.tokens {
		if t.is("const") {
			name := p.ahead(i + 1)
			if _, ok := types[name.text]; ok {
				name = p.ahead(i + 2)
			}
			own[name.text] = true
		}
	}
	for name, text := range p.given {
		for _, of := range []language.Type{language.Int, language.Double, language.Bool} {
			c := Constant{Name: name, Type: of}
			define := func() { p.scope.Constant(c.At, c.Name, c.Type, parseValue(c, text)) }
			if !own[name] && language.Try("", define) == nil {
				break
			}
		}
	}
}

// number computes an expression of constants.
func (p *properties) number(t language.Type, e *expr) float64 {
	v := p.scope.Compute(t, e, nil)
	if t == language.Int {
		return float64(v.Int)
	}
	return v.Num()
}

// path reads what stands in brackets.
func (p *properties) path(f *property.Formula) {
	t := p.peek()
	switch {
	case f.Kind == 'S':
		f.Path = 'S'
	case f.Reward == property.Steps && !t.is("F"):
		fail(t.at, "T of %s is not supported: want F", t)
	case f.Kind == 'R' && (t.is("S") || t.is("LRA")):
		p.next()
		f.Path = 'S'
		return
	case f.Kind == 'R' && t.is("C"), t.is("F"), f.Kind == 'P' && t.is("G"):
		p.next()
		f.Path = t.text[0]
		p.within(f)
	case f.Kind == 'R':
		fail(t.at, "%s is not supported: want C, C<=k, F or S", t)
	case t.is("X"):
		fail(t.at, "%s is not supported: want F, G or U", t)
	default:
		f.While = p.condition()
		if u := p.next(); !u.is("U") {
			fail(u.at, "got %s: want U, which stands between two conditions", u)
		}
		f.Path = 'U'
		p.within(f)
	}
	if f.Path == 'C' {
		return
	}
	if f.Kind == 'R' && f.Within >= 0 {
		fail(t.at, "rewards of F with a bound of steps are not supported: want C<=k or F")
	}
	f.Goal = p.condition()
}

// within reads bounds of steps and rewards, with commas between, as in F{"fuel"}<=10,<=20.
func (p *properties) within(f *property.Formula) {
	for p.bound(f) && p.accept(",") {
	}
}

// bound reads a bound, if there is one.
func (p *properties) bound(f *property.Formula) bool {
	begin := p.peek()
	if begin.is("rew") && p.ahead(1).is("{") {
		p.next()
	}
	reward := p.accept("{")
	cost := property.CostBound{}
	if reward {
		cost.Reward = p.quotedName("the name of rewards").text
		p.expect("}")
	}
	t := p.peek()
	switch {
	case t.is("[") || t.is(">=") || t.is(">"):
		fail(t.at, "only bounds from above are supported, as in F<=10")
	case !t.is("<=") && !t.is("<"):
		if reward {
			fail(t.at, "got %s: want a bound from above, as in F{\"fuel\"}<=10", t)
		}
		return false
	case reward && t.is("<"):
		fail(t.at, "a bound of rewards with < is not supported: want <=")
	case reward && f.Kind == 'R' && f.Path != 'C':
		fail(begin.at, "bounds of rewards are for F, U and G of probabilities, and for C")
	}
	p.next()
	if reward {
		cost.AtMost = p.most(language.Double)
		f.Costs = append(f.Costs, cost)
		return true
	}
	x := p.most(language.Int)
	if t.text == "<" {
		x--
	}
	if x < 0 || x > 1<<31-1 {
		fail(t.at, "a bound of %g steps: want 0 or more", x)
	}
	f.Within = int(x)
	return true
}

// most reads the number of a bound. A parenthesis after a name begins the condition that follows.
func (p *properties) most(t language.Type) float64 {
	bound := p.peek()
	e := language.NewName(bound.at, bound.text)
	switch {
	case bound.kind == identifier && !slices.Contains(keywords, bound.text):
		p.next()
	case bound.kind == number:
		e = p.primary()
	default:
		e = p.sum()
	}
	return p.number(t, e)
}

// condition takes a state formula as text.
func (p *properties) condition() string {
	begin := p.at
	p.labels = true
	p.expression()
	p.labels = false
	return p.text(begin, p.at)
}
