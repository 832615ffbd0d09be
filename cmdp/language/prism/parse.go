package prism

import (
	"slices"

	"cmdpsolve/cmdp/language"
)

type expr = language.Expr

// A source is a parsed file. Names in it are not resolved.
type source struct {
	kind      token // of the model; without text if none is given
	constants []Constant
	formulas  []language.Label
	labels    []language.Label
	globals   []declaration
	modules   []*module
	rewards   []rewards
	players   []player
	initial   *expr // of init … endinit
	systems   []system
}

// A declaration is that of a variable: of a range, a Boolean, or a clock.
type declaration struct {
	name      token
	typ       language.Type
	clock     bool
	low, high *expr // nil but for ranges
	initial   *expr // nil for the least value
}

// A module has a body, or it has that of another one with other names.
type module struct {
	*body
	name   token
	base   token // of a renamed module
	rename map[string]string
	groups map[string]int32 // of commands, by action
	order  []string         // of actions
}

type body struct {
	variables []declaration
	invariant *expr
	commands  []language.Command
}

func (m *module) renamed(name string) string { return language.Renamed(m.rename, name) }

type rewards struct {
	name  token // without text if there is none
	items []rewardItem
}

type rewardItem struct {
	language.RewardItem
	ofChoice bool
	action   token
}

type player struct {
	name             token
	modules, actions []token
}

// A system is a composition of modules that may have a name.
type system struct {
	at   language.Pos
	name token
	of   composition
}

// modelKinds are the words that say what a model is: in today's language, or why it is refused.
var modelKinds = map[string]string{
	"mdp": "", "nondeterministic": "", "dtmc": "", "probabilistic": "", "pta": "", "smg": "",
	"ctmc":       "continuous-time Markov chains (ctmc) are not supported: want mdp, dtmc, smg or pta",
	"stochastic": "continuous-time Markov chains (stochastic) are not supported: want mdp, dtmc, smg or pta",
	"pomdp":      "partial observation (pomdp) is not supported: want mdp, dtmc, smg or pta",
	"popta":      "partial observation (popta) is not supported: want mdp, dtmc, smg or pta",
	"ma":         "Markov automata (ma) are not supported: want mdp, dtmc, smg or pta",
	"csg":        "concurrent games (csg) are not supported: want smg",
	"tsg":        "tsg is not supported: want smg",
	"tptg":       "timed games (tptg) are not supported: want smg or pta",
	"imdp":       "intervals of probabilities (imdp) are not supported",
	"idtmc":      "intervals of probabilities (idtmc) are not supported",
}

func parse(text string) *source {
	p, s := &parser{tokens: lex(text)}, new(source)
	for p.peek().kind != endOfFile {
		p.item(s)
	}
	return s
}

// item parses one thing that stands at the top of a file.
func (p *parser) item(s *source) {
	t := p.next()
	if refused, ok := modelKinds[t.text]; ok && t.kind == identifier {
		if refused != "" {
			fail(t.at, "%s", refused)
		}
		if s.kind.text != "" {
			fail(t.at, "%s: the model is %s in line %d already", t, s.kind, s.kind.at.Line)
		}
		s.kind = t
		return
	}
	switch t.String() {
	case "const", "rate", "prob":
		s.constants = append(s.constants, p.constant(t))
	case "formula":
		s.formulas = append(s.formulas, p.definition(p.name("the name of a formula")))
	case "label":
		s.labels = append(s.labels, p.definition(p.quotedName("the name of a label")))
	case "global":
		s.globals = append(s.globals, p.declaration())
	case "module":
		s.modules = append(s.modules, p.module())
	case "rewards":
		s.rewards = append(s.rewards, p.rewards(t))
	case "player":
		s.players = append(s.players, p.player())
	case "init":
		if s.initial != nil {
			fail(t.at, "a second init: want one")
		}
		s.initial = p.expression()
		p.expect("endinit")
	case "system":
		s.systems = append(s.systems, p.system())
	case "observables", "observable":
		fail(t.at, "partial observation (%s) is not supported", t)
	default:
		fail(t.at, "got %s: want a type of model, const, global, formula, label, module, rewards, init, system or player", t)
	}
}

var types = map[string]language.Type{"int": language.Int, "double": language.Double, "bool": language.Bool}

// constant parses what follows the word that begins the definition of a constant.
func (p *parser) constant(begin token) Constant {
	c := Constant{Type: language.Double}
	if begin.text == "const" {
		c.Type = language.Int
		if t, ok := types[p.peek().text]; ok {
			p.next()
			c.Type = t
		}
	}
	name := p.name("the name of a constant")
	c.At, c.Name = name.at, name.text
	if p.accept("=") {
		c.Value = p.expression()
	}
	p.expect(";")
	return c
}

// definition parses the definition of a formula or a label, whose name the caller has taken.
func (p *parser) definition(name token) language.Label {
	p.expect("=")
	when := p.expression()
	p.expect(";")
	return language.Label{Name: name.text, At: name.at, When: when}
}

func (p *parser) declaration() (d declaration) {
	d.name = p.name("the name of a variable")
	p.expect(":")
	switch t := p.next(); t.text {
	case "[":
		d.typ = language.Int
		d.low = p.expression()
		p.expect("..")
		d.high = p.expression()
		p.expect("]")
	case "bool":
		d.typ = language.Bool
	case "clock":
		d.typ = language.Int
		d.clock = true
	case "int":
		fail(t.at, "unbounded integers are not supported: give %s a range, as in %s : [0..10]", d.name, d.name)
	default:
		fail(t.at, "got %s: want a range such as [0..10], bool or clock", t)
	}
	if p.accept("init") {
		d.initial = p.expression()
	}
	p.expect(";")
	return d
}

func (p *parser) module() *module {
	m := &module{body: new(body)}
	m.name = p.name("the name of a module")
	if p.accept("=") {
		m.base = p.name("the name of a module")
		p.expect("[")
		m.rename = p.renamings("=", "]")
		p.expect("endmodule")
		return m
	}
	for p.peek().kind == identifier && p.ahead(1).is(":") {
		m.variables = append(m.variables, p.declaration())
	}
	if p.accept("invariant") {
		m.invariant = p.expression()
		p.expect("endinvariant")
	}
	for p.peek().is("[") {
		m.commands = append(m.commands, p.command())
	}
	if t := p.next(); !t.is("endmodule") {
		fail(t.at, "got %s: want a command [action] guard -> updates, or endmodule", t)
	}
	return m
}

// renamings parses pairs of names up to a closing sign. Names of functions may be among them.
func (p *parser) renamings(between, end string) map[string]string {
	rename := make(map[string]string)
	p.list(end, func() {
		old := p.next()
		p.expect(between)
		name := p.next()
		for _, t := range []token{old, name} {
			if t.kind != identifier || slices.Contains(keywords, t.text) && t.text != "min" && t.text != "max" {
				fail(t.at, "got %s: want a name", t)
			}
		}
		if rename[old.text] != "" {
			fail(old.at, "%s is renamed twice", old)
		}
		rename[old.text] = name.text
	})
	return rename
}

// action parses [name] or [].
func (p *parser) action() token {
	p.expect("[")
	if p.accept("]") {
		return token{}
	}
	t := p.name("the name of an action")
	p.expect("]")
	return t
}

func (p *parser) command() (c language.Command) {
	c.At = p.peek().at
	c.Action = p.action().text
	c.Guard = p.expression()
	p.expect("->")
	for {
		u := language.Update{At: p.peek().at}
		if !p.atUpdate() {
			if t := p.peek(); t.is("[") {
				fail(t.at, "intervals of probabilities are not supported")
			}
			u.Probability = p.expression()
			p.expect(":")
		}
		p.assignments(&u)
		c.Updates = append(c.Updates, u)
		if u.Probability == nil || !p.accept("+") {
			p.expect(";")
			return c
		}
	}
}

// atUpdate reports whether an update without a probability begins here.
func (p *parser) atUpdate() bool {
	t := p.peek()
	return t.is("true") || t.is("(") && p.ahead(1).kind == identifier && p.ahead(2).is("'")
}

func (p *parser) assignments(u *language.Update) {
	if p.accept("true") {
		return
	}
	for {
		t := p.peek()
		if !p.atUpdate() {
			fail(t.at, "got %s: want an update such as (x'=1), or true", t)
		}
		p.next()
		name := p.name("the name of a variable")
		p.next()
		p.expect("=")
		value := p.expression()
		p.expect(")")
		u.Assign = append(u.Assign, language.Assignment{At: name.at, Name: name.text, Value: value})
		if !p.accept("&") {
			return
		}
	}
}

func (p *parser) rewards(begin token) (r rewards) {
	if p.peek().kind == quoted {
		r.name = p.quotedName("the name of rewards")
	}
	r.name.at = begin.at
	for !p.accept("endrewards") {
		var item rewardItem
		item.At = p.peek().at
		if p.peek().is("[") {
			item.ofChoice = true
			item.action = p.action()
		}
		item.Guard = p.expression()
		p.expect(":")
		item.Value = p.expression()
		p.expect(";")
		r.items = append(r.items, item)
	}
	return r
}

// player parses player NAME module, [action], … endplayer.
func (p *parser) player() (of player) {
	of.name = p.name("the name of a player")
	if p.accept("endplayer") {
		return of
	}
	p.list("endplayer", func() {
		if !p.peek().is("[") {
			of.modules = append(of.modules, p.name("a module or [action]"))
			return
		}
		action := p.action()
		if action.text == "" {
			fail(of.name.at, "a player has actions by their names: "+
				"want [name], or a module for its commands without a name")
		}
		of.actions = append(of.actions, action)
	})
	return of
}

// system parses a composition, which begins with its name if that is no reference to another one.
func (p *parser) system() (s system) {
	refers := append([]string{"/", "{", "endsystem"}, between...)
	if t := p.peek(); t.kind == quoted && !slices.Contains(refers, p.ahead(1).text) {
		s.name = p.next()
	}
	s.at = p.peek().at
	s.of = p.composition()
	p.expect("endsystem")
	return s
}

// between are the signs between operands of a composition.
var between = []string{"||", "|||", "|["}

// composition parses operands between signs of one kind: ||, ||| or |[…]|.
func (p *parser) composition() composition {
	of := []composition{p.operand()}
	first := ""
	var over []string
	for t := p.peek(); slices.Contains(between, t.text) && t.kind == symbol; t = p.peek() {
		p.next()
		if first != "" && (t.text != first || first == "|[") {
			fail(t.at, "%s after %s: want parentheses, which say what belongs together", t, first)
		}
		first = t.text
		if first == "|[" {
			over = p.actions("]")
			p.expect("|")
		}
		of = append(of, p.operand())
	}
	return func(c *composer) *part {
		all := of[0](c)
		for _, next := range of[1:] {
			all.join(next(c), first == "||", over)
		}
		return all
	}
}

// actions parses names of actions.
func (p *parser) actions(end string) (list []string) {
	p.list(end, func() { list = append(list, p.name("the name of an action").text) })
	return list
}

// operand parses a module or a composition in parentheses, with actions hidden and renamed.
func (p *parser) operand() (of composition) {
	t := p.peek()
	switch {
	case p.accept("("):
		p.nested(t.at, func() *expr {
			of = p.composition()
			return nil
		})
		p.expect(")")
	case t.kind == quoted:
		p.next()
		of = func(c *composer) *part { return c.system(t) }
	default:
		p.name("a module, a composition in quotes, or one in parentheses")
		of = func(c *composer) *part { return c.module(t) }
	}
	for {
		inner := of
		switch {
		case p.accept("/"):
			p.expect("{")
			hidden := p.actions("}")
			of = func(c *composer) *part { return inner(c).hiding(hidden) }
		case p.accept("{"):
			rename := p.renamings("<-", "}")
			of = func(c *composer) *part { return inner(c).renamed(rename) }
		default:
			return of
		}
	}
}
