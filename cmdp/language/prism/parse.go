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
	formulas  []definition
	labels    []definition
	globals   []declaration
	modules   []*module
	rewards   []rewards
	players   []player
	initial   *expr // of init … endinit
	systems   []system
}

type definition struct {
	name  token
	value *expr
}

// A declaration is that of a variable: of a range, a Boolean, or a clock.
type declaration struct {
	name      token
	typ       language.Type
	clock     bool
	low, high *expr // nil but for ranges
	initial   *expr // nil for the least value
}

// A module has declarations and commands, or it is another one with other names.
type module struct {
	name      token
	variables []declaration
	invariant *expr
	commands  []command
	base      token // of a renamed module
	rename    []renaming
}

type renaming struct{ old, new token }

type command struct {
	at      language.Pos
	action  token // without text if there is none
	guard   *expr
	updates []update
}

type update struct {
	at          language.Pos
	probability *expr // nil for 1
	assign      []assignment
}

type assignment struct {
	name  token
	value *expr
}

type rewards struct {
	at    language.Pos
	name  string
	items []rewardItem
}

type rewardItem struct {
	at           language.Pos
	ofChoice     bool
	action       token
	guard, value *expr
}

type player struct {
	name             token
	modules, actions []token
}

// A system is a named composition of modules; the name may be empty.
type system struct {
	name token
	root *composition
}

// A composition is a module, the name of another composition, or an operator with its operands.
type composition struct {
	at     language.Pos
	op     string // "module", "reference", "()", "||", "|||", "|[]|", "/", "{}"
	name   token
	of     []*composition
	names  []token // of |[]| and /
	rename []renaming
}

// modelKinds are the words that say what a model is: in today's language, or why it is refused.
var modelKinds = map[string]string{
	"mdp": "", "nondeterministic": "", "dtmc": "", "probabilistic": "", "pta": "", "smg": "",
	"ctmc": "continuous-time Markov chains (ctmc) are not supported: want mdp, dtmc, smg or pta", "stochastic": "continuous-time Markov chains (stochastic) are not supported: want mdp, dtmc, smg or pta",
	"pomdp": "partial observation (pomdp) is not supported: want mdp, dtmc, smg or pta", "popta": "partial observation (popta) is not supported: want mdp, dtmc, smg or pta",
	"ma":  "Markov automata (ma) are not supported: want mdp, dtmc, smg or pta",
	"csg": "concurrent games (csg) are not supported: want smg", "tsg": "tsg is not supported: want smg", "tptg": "timed games (tptg) are not supported: want smg or pta",
	"imdp": "intervals of probabilities (imdp) are not supported", "idtmc": "intervals of probabilities (idtmc) are not supported",
}

// parse parses the text of a file.
func parse(text string) (*source, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p, s := &parser{tokens: tokens}, new(source)
	for p.peek().kind != endOfFile {
		if err := p.item(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// item parses one thing that stands at the top of a file.
func (p *parser) item(s *source) error {
	t := p.peek()
	if refused, ok := modelKinds[t.text]; ok && t.kind == identifier {
		p.next()
		if refused != "" {
			return wrong(t.at, "%s", refused)
		}
		if s.kind.text != "" {
			return wrong(t.at, "%s: the model is %s in line %d already", t, s.kind, s.kind.at.Line)
		}
		s.kind = t
		return nil
	}
	var err error
	switch t.text {
	case "const", "rate", "prob":
		return p.constant(s)
	case "formula", "label":
		return p.definition(s)
	case "global":
		p.next()
		var d declaration
		d, err = p.declaration()
		s.globals = append(s.globals, d)
	case "module":
		var m *module
		m, err = p.module()
		s.modules = append(s.modules, m)
	case "rewards":
		var r rewards
		r, err = p.rewards()
		s.rewards = append(s.rewards, r)
	case "player":
		return p.player(s)
	case "init":
		if s.initial != nil {
			return wrong(t.at, "a second init: want one")
		}
		p.next()
		if s.initial, err = p.expression(); err == nil {
			err = p.expect("endinit")
		}
	case "system":
		return p.system(s)
	case "observables", "observable":
		return wrong(t.at, "partial observation (%s) is not supported", t)
	default:
		return wrong(t.at, "got %s: want a type of model, const, global, formula, label, module, rewards, init, system or player", t)
	}
	return err
}

var types = map[string]language.Type{"int": language.Int, "double": language.Double, "bool": language.Bool}

func (p *parser) constant(s *source) error {
	c := Constant{Type: language.Double}
	if p.next().text == "const" {
		c.Type = language.Int
		if t, ok := types[p.peek().text]; ok {
			p.next()
			c.Type = t
		}
	}
	name, err := p.name("the name of a constant")
	if err != nil {
		return err
	}
	c.At, c.Name = name.at, name.text
	if p.accept("=") {
		if c.Value, err = p.expression(); err != nil {
			return err
		}
	}
	s.constants = append(s.constants, c)
	return p.expect(";")
}

func (p *parser) definition(s *source) error {
	var d definition
	var err error
	formula := p.next().text == "formula"
	if formula {
		d.name, err = p.name("the name of a formula")
	} else {
		d.name, err = p.quotedName("the name of a label")
	}
	if err == nil {
		err = p.expect("=")
	}
	if err != nil {
		return err
	}
	if d.value, err = p.expression(); err != nil {
		return err
	}
	if formula {
		s.formulas = append(s.formulas, d)
	} else {
		s.labels = append(s.labels, d)
	}
	return p.expect(";")
}

func (p *parser) declaration() (d declaration, err error) {
	if d.name, err = p.name("the name of a variable"); err != nil {
		return d, err
	}
	if err = p.expect(":"); err != nil {
		return d, err
	}
	switch t := p.next(); t.text {
	case "[":
		d.typ = language.Int
		if d.low, err = p.expression(); err != nil {
			return d, err
		}
		if err = p.expect(".."); err != nil {
			return d, err
		}
		if d.high, err = p.expression(); err == nil {
			err = p.expect("]")
		}
	case "bool":
		d.typ = language.Bool
	case "clock":
		d.typ = language.Int
		d.clock = true
	case "int":
		err = wrong(t.at, "unbounded integers are not supported: give %s a range, as in %s : [0..10]", d.name, d.name)
	default:
		err = wrong(t.at, "got %s: want a range such as [0..10], bool or clock", t)
	}
	if err == nil && p.accept("init") {
		d.initial, err = p.expression()
	}
	if err != nil {
		return d, err
	}
	return d, p.expect(";")
}

func (p *parser) module() (*module, error) {
	p.next()
	m := new(module)
	var err error
	if m.name, err = p.name("the name of a module"); err != nil {
		return nil, err
	}
	if p.accept("=") {
		if m.base, err = p.name("the name of a module"); err != nil {
			return nil, err
		}
		if err := p.expect("["); err != nil {
			return nil, err
		}
		if m.rename, err = p.renamings("=", "]"); err != nil {
			return nil, err
		}
		return m, p.expect("endmodule")
	}
	for p.peek().kind == identifier && p.ahead(1).is(":") {
		d, err := p.declaration()
		if err != nil {
			return nil, err
		}
		m.variables = append(m.variables, d)
	}
	if p.accept("invariant") {
		if m.invariant, err = p.expression(); err != nil {
			return nil, err
		}
		if err := p.expect("endinvariant"); err != nil {
			return nil, err
		}
	}
	for p.peek().is("[") {
		c, err := p.command()
		if err != nil {
			return nil, err
		}
		m.commands = append(m.commands, c)
	}
	if t := p.peek(); !t.is("endmodule") {
		return nil, wrong(t.at, "got %s: want a command [action] guard -> updates, or endmodule", t)
	}
	p.next()
	return m, nil
}

// renamings parses pairs of names up to a closing sign. Names of functions may be among them.
func (p *parser) renamings(between, end string) ([]renaming, error) {
	var list []renaming
	for {
		pair := renaming{p.next(), token{}}
		if err := p.expect(between); err != nil {
			return nil, err
		}
		pair.new = p.next()
		for _, t := range []token{pair.old, pair.new} {
			if t.kind != identifier || keywords[t.text] && t.text != "min" && t.text != "max" {
				return nil, wrong(t.at, "got %s: want a name", t)
			}
		}
		if slices.ContainsFunc(list, func(r renaming) bool { return r.old.text == pair.old.text }) {
			return nil, wrong(pair.old.at, "%s is renamed twice", pair.old)
		}
		list = append(list, pair)
		if !p.accept(",") {
			return list, p.expect(end)
		}
	}
}

// action parses [name] or [].
func (p *parser) action() (token, error) {
	if err := p.expect("["); err != nil {
		return token{}, err
	}
	if p.accept("]") {
		return token{}, nil
	}
	t, err := p.name("the name of an action")
	if err != nil {
		return t, err
	}
	return t, p.expect("]")
}

func (p *parser) command() (c command, err error) {
	c.at = p.peek().at
	if c.action, err = p.action(); err != nil {
		return c, err
	}
	if c.guard, err = p.expression(); err != nil {
		return c, err
	}
	if err = p.expect("->"); err != nil {
		return c, err
	}
	for {
		u := update{at: p.peek().at}
		if !p.atUpdate() {
			if t := p.peek(); t.is("[") {
				return c, wrong(t.at, "intervals of probabilities are not supported")
			}
			if u.probability, err = p.expression(); err != nil {
				return c, err
			}
			if err = p.expect(":"); err != nil {
				return c, err
			}
		}
		if err = p.assignments(&u); err != nil {
			return c, err
		}
		c.updates = append(c.updates, u)
		if u.probability == nil || !p.accept("+") {
			return c, p.expect(";")
		}
	}
}

// atUpdate reports whether an update without a probability begins here.
func (p *parser) atUpdate() bool {
	t := p.peek()
	return t.is("true") || t.is("(") && p.ahead(1).kind == identifier && p.ahead(2).is("'")
}

func (p *parser) assignments(u *update) error {
	if p.accept("true") {
		return nil
	}
	for {
		t := p.peek()
		if !p.atUpdate() {
			return wrong(t.at, "got %s: want an update such as (x'=1), or true", t)
		}
		p.next()
		name, err := p.name("the name of a variable")
		if err != nil {
			return err
		}
		p.next()
		if err := p.expect("="); err != nil {
			return err
		}
		value, err := p.expression()
		if err != nil {
			return err
		}
		if err := p.expect(")"); err != nil {
			return err
		}
		u.assign = append(u.assign, assignment{name, value})
		if !p.accept("&") {
			return nil
		}
	}
}

func (p *parser) rewards() (r rewards, err error) {
	r.at = p.next().at
	if p.peek().kind == quoted {
		name, err := p.quotedName("the name of rewards")
		if err != nil {
			return r, err
		}
		r.name = name.text
	}
	for !p.accept("endrewards") {
		item := rewardItem{at: p.peek().at}
		if p.peek().is("[") {
			item.ofChoice = true
			if item.action, err = p.action(); err != nil {
				return r, err
			}
		}
		if item.guard, err = p.expression(); err != nil {
			return r, err
		}
		if err = p.expect(":"); err != nil {
			return r, err
		}
		if item.value, err = p.expression(); err != nil {
			return r, err
		}
		if err = p.expect(";"); err != nil {
			return r, err
		}
		r.items = append(r.items, item)
	}
	return r, nil
}

// player parses player NAME module, [action], … endplayer.
func (p *parser) player(s *source) error {
	p.next()
	var player player
	var err error
	if player.name, err = p.name("the name of a player"); err != nil {
		return err
	}
	for !p.peek().is("endplayer") {
		list := &player.modules
		var t token
		if p.peek().is("[") {
			list = &player.actions
			if t, err = p.action(); err == nil && t.text == "" {
				err = wrong(player.name.at, "a player has actions by their names: want [name], or a module for its commands without a name")
			}
		} else {
			t, err = p.name("a module or [action]")
		}
		if err != nil {
			return err
		}
		*list = append(*list, t)
		if !p.accept(",") {
			break
		}
	}
	s.players = append(s.players, player)
	return p.expect("endplayer")
}

func (p *parser) system(s *source) error {
	p.next()
	var named system
	if t := p.peek(); t.kind == quoted && !p.endsComposition(p.ahead(1)) {
		named.name = p.next()
	}
	var err error
	if named.root, err = p.composition(); err != nil {
		return err
	}
	s.systems = append(s.systems, named)
	return p.expect("endsystem")
}

// endsComposition reports whether a token may follow the name of a composition in quotes, so that the
// name is one that is referred to.
func (p *parser) endsComposition(t token) bool {
	return slices.ContainsFunc([]string{"|", "/", "{", "endsystem"}, t.is)
}

// bars counts the signs | in front, up to three.
func (p *parser) bars() int {
	n := 0
	for n < 3 && p.ahead(n).is("|") {
		n++
	}
	return n
}

// composition parses operands between signs of one kind: ||, ||| or |[…]|.
func (p *parser) composition() (*composition, error) {
	c, err := p.operand()
	for err == nil && p.peek().is("|") {
		at, op := p.peek().at, [...]string{"", "|[]|", "||", "|||"}[p.bars()]
		p.at += p.bars()
		if c.op != op || op == "|[]|" {
			if slices.Contains([]string{"||", "|||", "|[]|"}, c.op) {
				return nil, wrong(at, "%s after %s: want parentheses, which say what belongs together", op, c.op)
			}
			c = &composition{at: at, op: op, of: []*composition{c}}
		}
		if op == "|[]|" {
			if c.names, err = p.nameList("[", "]"); err == nil {
				err = p.expect("|")
			}
			if err != nil {
				return nil, err
			}
		}
		var right *composition
		right, err = p.operand()
		c.of = append(c.of, right)
	}
	return c, err
}

func (p *parser) nameList(open, end string) ([]token, error) {
	if err := p.expect(open); err != nil {
		return nil, err
	}
	var list []token
	for {
		t, err := p.name("the name of an action")
		if err != nil {
			return nil, err
		}
		list = append(list, t)
		if !p.accept(",") {
			return list, p.expect(end)
		}
	}
}

// operand parses a module or a composition in parentheses, with actions hidden and renamed.
func (p *parser) operand() (*composition, error) {
	t := p.peek()
	c := &composition{at: t.at, op: "module", name: t}
	switch {
	case p.accept("("):
		if err := p.deeper(t.at); err != nil {
			return nil, err
		}
		inner, err := p.composition()
		p.depth--
		if err != nil {
			return nil, err
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
		c = &composition{at: t.at, op: "()", name: t, of: []*composition{inner}}
	case t.kind == quoted:
		p.next()
		c.op = "reference"
	default:
		if _, err := p.name("a module, a composition in quotes, or one in parentheses"); err != nil {
			return nil, err
		}
	}
	for {
		var err error
		switch at := p.peek().at; {
		case p.accept("/"):
			c = &composition{at: at, op: "/", of: []*composition{c}}
			c.names, err = p.nameList("{", "}")
		case p.accept("{"):
			c = &composition{at: at, op: "{}", of: []*composition{c}}
			c.rename, err = p.renamings("<-", "}")
		default:
			return c, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
