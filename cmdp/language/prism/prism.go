// Package prism reads models in the language of PRISM: Markov decision processes (mdp), Markov chains
// (dtmc), turn-based games of two players (smg), and probabilistic timed automata (pta), whose clocks
// become integers (digital clocks). docs/languages.md says what is understood and how.
package prism

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/language"
)

// Read reads a model. Name is that of its file, for errors, which are [language.Error]s. Constants hold
// the values of those constants of the model that it leaves open; others cannot be given one.
func Read(name, text string, constants map[string]string) (p *language.Program, err error) {
	err = try(name, func() { p = read(text, constants) })
	if err == nil {
		p.File = name
	}
	return p, err
}

func read(text string, constants map[string]string) *language.Program {
	s := parse(strings.TrimPrefix(text, "\ufeff"))
	b := &builder{source: s, scope: language.NewScope(), program: new(language.Program), instances: make(map[string]*instance),
		actions: map[string]int32{"": 0}, owners: make(map[string]*instance)}
	b.times = language.NewClocks(b.program)
	b.program.Actions = []string{""}
	b.define(constants)
	b.kind()
	b.instantiate()
	b.declare()
	b.clocks()
	b.commands()
	b.compose()
	b.players()
	b.rewards()
	b.labels()
	b.addTime()
	b.initial()
	b.program.Parse = func(text string) (*expr, error) { return Condition(b.scope, text) }
	return b.program
}

// Condition reads a condition, in which labels stand in quotes.
func Condition(scope *language.Scope, text string) (e *expr, err error) {
	err = try("", func() {
		p := &parser{tokens: lex(text), labels: true}
		e = p.expression()
		if t := p.peek(); t.kind != endOfFile {
			fail(t.at, "got %s: want the end of the condition", t)
		}
		e = must(scope.ResolveAs(language.Bool, e, nil))
	})
	return e, err
}

// A builder makes a program of a source.
type builder struct {
	*source
	scope     *language.Scope
	program   *language.Program
	modules   []*instance // in the order of the file
	instances map[string]*instance
	actions   map[string]int32     // numbers of actions in the program
	owners    map[string]*instance // of variables; nil for globals
	variables []language.Variable
	starts    []*language.Expr // literals, one for each variable
	times     *language.Clocks
}

// An instance is a module with its names.
type instance struct {
	*module
	name   string
	rename map[string]string
	groups map[string]int32 // of commands, by action
	order  []string         // of actions
}

func (in *instance) renamed(name string) string {
	if other, ok := in.rename[name]; ok {
		return other
	}
	return name
}

// define puts formulas and constants into the scope.
func (b *builder) define(given map[string]string) {
	for _, f := range b.formulas {
		check(b.scope.Formula(f.name.at, f.name.text, f.value))
	}
	check(Define(b.scope, b.constants, given))
}

// A Constant is one of a model, whose value is nil if it is given from outside.
type Constant struct {
	At    language.Pos
	Name  string
	Type  language.Type
	Value *expr
}

// Define puts constants into a scope and computes them. Given are the values of those that the model leaves open, and of no others.
func Define(scope *language.Scope, constants []Constant, given map[string]string) error {
	known := make(map[string]bool)
	var open []string
	for _, c := range constants {
		text, ok := given[c.Name]
		known[c.Name] = true
		switch {
		case ok && c.Value != nil:
			return wrong(c.At, "constant %s has a value in the model: only constants without one can be given", shorten(c.Name))
		case ok:
			value, err := parseValue(c, text)
			if err != nil {
				return err
			}
			c.Value = value
		case c.Value == nil:
			open = append(open, c.Name)
		}
		if err := scope.Constant(c.At, c.Name, c.Type, c.Value); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known[name] {
			return wrong(language.Pos{}, "the model has no constant %s", shorten(name))
		}
	}
	if open != nil {
		return wrong(language.Pos{}, "constants without a value: %s: give them by --const, as in --const %s=1, or under constants in a problem file",
			strings.Join(open, ", "), open[0])
	}
	for _, c := range constants { // also those that nothing uses
		if _, err := scope.Resolve(language.NewName(c.At, c.Name), nil); err != nil {
			return err
		}
	}
	return nil
}

// parseValue reads the value of a constant that is given from outside: an expression of numbers.
func parseValue(c Constant, text string) (value *expr, err error) {
	err = try("", func() {
		p := &parser{tokens: lex(text)}
		e := p.expression()
		if p.peek().kind != endOfFile {
			fail(c.At, "%s follows", p.peek())
		}
		value = must(language.NewScope().Compute(c.Type, e, nil))
	})
	if err != nil {
		err = wrong(c.At, "constant %s is given the value %s, which is no expression of type %s: %s", c.Name, shorten(text), c.Type, err.(*language.Error).Message)
	}
	return value, err
}

func (b *builder) kind() {
	p := b.program
	switch b.source.kind.text {
	case "dtmc", "probabilistic":
		p.Kind = language.Chain
	case "smg":
		p.Kind = language.Game
	}
	if p.Kind != language.Game && len(b.source.players) > 0 {
		fail(b.source.players[0].name.at, "players in a model that is no game: want smg as its type")
	}
}

// instantiate finds the modules, those that are others with other names too.
func (b *builder) instantiate() {
	if len(b.source.modules) == 0 {
		fail(language.Pos{}, "the file has no modules")
	}
	for _, m := range b.source.modules {
		in := &instance{module: m, name: m.name.text, groups: make(map[string]int32)}
		if b.instances[in.name] != nil {
			fail(m.name.at, "module %s is defined twice", m.name)
		}
		if m.base.text != "" {
			base := b.instances[m.base.text]
			if base == nil {
				fail(m.base.at, "no module %s is defined above", m.base)
			}
			in.module = base.module
			in.rename = compose(base.rename, m.rename)
		}
		b.instances[in.name] = in
		b.modules = append(b.modules, in)
	}
}

// compose returns what names stand for that are renamed once and then once more.
func compose(first map[string]string, then []renaming) map[string]string {
	all := make(map[string]string, len(first)+len(then))
	last := make(map[string]string, len(then))
	for _, r := range then {
		last[r.old.text] = r.new.text
		all[r.old.text] = r.new.text
	}
	for old, name := range first {
		all[old] = name
		if other, ok := last[name]; ok {
			all[old] = other
		}
	}
	return all
}

// declare numbers the variables: globals, then those of modules in order.
func (b *builder) declare() {
	for _, d := range b.globals {
		b.variable(d, nil)
	}
	for _, in := range b.modules {
		for _, d := range in.module.variables {
			b.variable(d, in)
		}
	}
	if len(b.variables) == 0 {
		fail(language.Pos{}, "the model has no variables")
	}
	b.program.Variables = b.variables
}

func (b *builder) variable(d declaration, in *instance) {
	name, at := d.name.text, d.name.at
	var rename map[string]string
	if in != nil {
		name = in.renamed(name)
		rename = in.rename
		if in.module.name.text != in.name {
			at = b.sourceOf(in).name.at
			if name == d.name.text {
				fail(at, "module %s has the variable %s of module %s: want another name for it", in.name, name, in.module.name)
			}
		}
	}
	v := language.Variable{Name: name, Type: d.typ, High: 1}
	if d.low != nil {
		low := must(b.scope.Compute(language.Int, d.low, rename))
		high := must(b.scope.Compute(language.Int, d.high, rename))
		v.Low, v.High = low.Int, high.Int
		if v.Low > v.High {
			fail(at, "the range of %s is empty: %d to %d", name, v.Low, v.High)
		}
	}
	start := language.NewInt(at, v.Low)
	if d.initial != nil {
		start = must(b.scope.Compute(d.typ, d.initial, rename))
		if b.source.initial != nil {
			fail(d.initial.At, "%s has an initial value beside init … endinit: want one of them", name)
		}
		if start.Int < v.Low || !d.clock && start.Int > v.High {
			fail(d.initial.At, "the initial value of %s is %s: want %d to %d", name, start.Value(), v.Low, v.High)
		}
	}
	check(b.scope.Variable(at, name, d.typ, len(b.variables)))
	if d.clock {
		b.times.Add(len(b.variables), start.Int)
	}
	b.owners[name] = in
	b.variables = append(b.variables, v)
	b.starts = append(b.starts, start)
}

// sourceOf returns the module of the file that an instance comes from.
func (b *builder) sourceOf(in *instance) *module {
	return b.source.modules[slices.Index(b.modules, in)]
}

// action returns the number of an action in the program.
func (b *builder) action(name string) int32 {
	n, ok := b.actions[name]
	if !ok {
		n = int32(len(b.program.Actions))
		b.actions[name] = n
		b.program.Actions = append(b.program.Actions, name)
	}
	return n
}

// commands resolves the commands and groups those of a module by their action.
func (b *builder) commands() {
	for _, in := range b.modules {
		byAction := make(map[string][]language.Command)
		for i := range in.module.commands {
			c := &in.module.commands[i]
			action := ""
			if c.action.text != "" {
				action = in.renamed(c.action.text)
			}
			command := b.command(in, c, action)
			if byAction[action] == nil {
				in.order = append(in.order, action)
			}
			byAction[action] = append(byAction[action], command)
		}
		for _, action := range in.order {
			b.action(action)
			in.groups[action] = b.program.AddGroup(byAction[action])
		}
	}
}

func (b *builder) command(in *instance, c *command, action string) (r language.Command) {
	r.At = c.at
	r.Name = "command [" + action + "] of module " + in.name
	r.Guard = b.condition(c.guard, in.rename)
	for _, u := range c.updates {
		update := language.Update{At: u.at}
		if u.probability != nil {
			update.Probability = must(b.scope.ResolveAs(language.Double, u.probability, in.rename))
			check(b.times.None(update.Probability, "a probability"))
		}
		for _, a := range u.assign {
			assign := b.assignment(in, a)
			if slices.ContainsFunc(update.Assign, func(other language.Assignment) bool { return other.Variable == assign.Variable }) {
				fail(a.name.at, "%s is written twice", a.name)
			}
			update.Assign = append(update.Assign, assign)
		}
		r.Updates = append(r.Updates, update)
	}
	return r
}

func (b *builder) assignment(in *instance, a assignment) (r language.Assignment) {
	name := in.renamed(a.name.text)
	index, ok := b.scope.IndexOf(name)
	if !ok {
		fail(a.name.at, "%s is no variable", shorten(name))
	}
	if owner := b.owners[name]; owner != nil && owner != in {
		fail(a.name.at, "module %s writes %s, which is a variable of module %s", in.name, name, owner.name)
	}
	r = language.Assignment{At: a.name.at, Variable: index}
	r.Value = must(b.scope.ResolveAs(b.variables[index].Type, a.value, in.rename))
	check(b.times.Assign(r))
	return r
}

// condition resolves a Boolean expression, in which clocks may be compared.
func (b *builder) condition(e *expr, rename map[string]string) *expr {
	r := must(b.scope.ResolveAs(language.Bool, e, rename))
	check(b.times.Condition(r))
	return r
}

// players gives vectors their players.
func (b *builder) players() {
	if b.program.Kind != language.Game {
		return
	}
	switch n := len(b.source.players); {
	case n == 0:
		fail(b.source.kind.at, "a game (smg) without players: want player NAME … endplayer for each")
	case n > 2:
		fail(b.source.players[2].name.at, "%d players: want two at most", n)
	}
	ofModule, ofAction := make(map[string]int8), make(map[string]int8)
	b.program.Players = []string{b.source.players[0].name.text, "nobody"}
	for i, p := range b.source.players {
		b.program.Players[i] = p.name.text
		for _, m := range p.modules {
			if b.instances[m.text] == nil {
				fail(m.at, "no module %s is defined", m)
			}
			if _, twice := ofModule[m.text]; twice {
				fail(m.at, "module %s has two players", m)
			}
			ofModule[m.text] = int8(i)
		}
		for _, a := range p.actions {
			if _, ok := b.actions[a.text]; !ok {
				fail(a.at, "no command has the action %s", a)
			}
			if _, twice := ofAction[a.text]; twice {
				fail(a.at, "action %s has two players", a)
			}
			ofAction[a.text] = int8(i)
		}
	}
	module := make(map[int32]string) // of the group of commands without action
	for _, in := range b.modules {
		if g, ok := in.groups[""]; ok {
			module[g] = in.name
		}
	}
	for i := range b.program.Vectors {
		v := &b.program.Vectors[i]
		v.Player = -1
		name := b.program.Actions[v.Action]
		player, ok := ofAction[name]
		if name == "" && len(v.Groups) == 1 {
			player, ok = ofModule[module[v.Groups[0]]]
		}
		if ok {
			v.Player = player
		}
	}
}

// rewards resolves the reward structures. Those without a name are called reward, and reward2 and so on.
func (b *builder) rewards() {
	names := make(map[string]bool)
	for _, r := range b.source.rewards {
		if r.name != "" && names[r.name] {
			fail(r.at, "rewards %q are defined twice", r.name)
		}
		names[r.name] = true
	}
	for _, r := range b.source.rewards {
		name := r.name
		for n := 1; name == "" || r.name == "" && names[name]; n++ {
			if name = "reward"; n > 1 {
				name += strconv.Itoa(n)
			}
		}
		names[name] = true
		reward := language.Reward{Name: name}
		for _, item := range r.items {
			resolved := b.rewardItem(item)
			reward.Items = append(reward.Items, resolved)
		}
		b.program.Rewards = append(b.program.Rewards, reward)
	}
}

func (b *builder) rewardItem(item rewardItem) (r language.RewardItem) {
	r = language.RewardItem{At: item.at, Action: -1}
	if item.ofChoice {
		action, ok := b.actions[item.action.text]
		if !ok {
			fail(item.action.at, "no command has the action %s", item.action)
		}
		r.Action = action
	} else if b.isTimed() {
		r.Action = b.actions[language.TimeAction] // a rate, which time earns
	}
	r.Guard = b.condition(item.guard, nil)
	r.Value = must(b.scope.ResolveAs(language.Double, item.value, nil))
	check(b.times.None(r.Value, "a reward"))
	return r
}

func (b *builder) labels() {
	names := make(map[string]bool)
	for _, l := range b.source.labels {
		if names[l.name.text] {
			fail(l.name.at, "label %s is defined twice", l.name)
		}
		names[l.name.text] = true
		when := b.condition(l.value, nil)
		check(b.scope.Formula(l.name.at, LabelPrefix+l.name.text, l.value))
		b.program.Labels = append(b.program.Labels, language.Label{Name: l.name.text, At: l.name.at, When: when})
	}
}
