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
func Read(name, text string, constants map[string]string) (*language.Program, error) {
	p, err := read(text, constants)
	if err != nil {
		if e, ok := err.(*language.Error); ok {
			e.File = name
		}
		return nil, err
	}
	p.File = name
	return p, nil
}

func read(text string, constants map[string]string) (*language.Program, error) {
	s, err := parse(strings.TrimPrefix(text, "\ufeff"))
	if err != nil {
		return nil, err
	}
	b := &builder{source: s, scope: language.NewScope(), program: new(language.Program), instances: make(map[string]*instance),
		actions: map[string]int32{"": 0}, owners: make(map[string]*instance)}
	b.times = language.NewClocks(b.program)
	b.program.Actions = []string{""}
	steps := []func() error{
		func() error { return b.define(constants) },
		b.kind, b.instantiate, b.declare, b.clocks, b.commands, b.compose, b.players, b.rewards, b.labels, b.addTime, b.initial,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.program.Parse = func(text string) (*expr, error) { return Condition(b.scope, text) }
	return b.program, nil
}

// Condition reads a condition, in which labels stand in quotes.
func Condition(scope *language.Scope, text string) (*expr, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, labels: true}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != endOfFile {
		return nil, wrong(t.at, "got %s: want the end of the condition", t)
	}
	return scope.ResolveAs(language.Bool, e, nil)
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

// define puts constants and formulas into the scope.
func (b *builder) define(given map[string]string) error {
	if err := Define(b.scope, b.constants, given); err != nil {
		return err
	}
	for _, f := range b.formulas {
		if err := b.scope.Formula(f.name.at, f.name.text, f.value); err != nil {
			return err
		}
	}
	return CheckConstants(b.scope, b.constants)
}

// A Constant is one of a model, whose value is nil if it is given from outside.
type Constant struct {
	At    language.Pos
	Name  string
	Type  language.Type
	Value *expr
}

// Define puts constants into a scope. Given are the values of those that the model leaves open, and of no others.
func Define(scope *language.Scope, constants []Constant, given map[string]string) error {
	known := make(map[string]bool)
	var open []string
	for _, c := range constants {
		value := c.Value
		text, ok := given[c.Name]
		known[c.Name] = true
		switch {
		case ok && value != nil:
			return wrong(c.At, "constant %s has a value in the model: only constants without one can be given", shorten(c.Name))
		case ok:
			e, err := parseValue(c, text)
			if err != nil {
				return err
			}
			value = e
		case value == nil:
			open = append(open, c.Name)
		}
		if err := scope.Constant(c.At, c.Name, c.Type, value); err != nil {
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
	return nil
}

// CheckConstants computes all constants, also those that nothing uses.
func CheckConstants(scope *language.Scope, constants []Constant) error {
	for _, c := range constants {
		if _, err := scope.Resolve(language.NewName(c.At, c.Name), nil); err != nil {
			return err
		}
	}
	return nil
}

// parseValue reads the value of a constant that is given from outside: an expression of numbers.
func parseValue(c Constant, text string) (*expr, error) {
	bad := func(err error) error {
		return wrong(c.At, "constant %s is given the value %s, which is no expression of type %s: %s", c.Name, shorten(text), c.Type, err.(*language.Error).Message)
	}
	tokens, err := lex(text)
	if err != nil {
		return nil, bad(err)
	}
	p := &parser{tokens: tokens}
	e, err := p.expression()
	if err == nil && p.peek().kind != endOfFile {
		err = wrong(c.At, "%s follows", p.peek())
	}
	if err != nil {
		return nil, bad(err)
	}
	value, err := language.NewScope().Compute(c.Type, e, nil)
	if err != nil {
		return nil, bad(err)
	}
	return value, nil
}

func (b *builder) kind() error {
	p := b.program
	switch b.source.kind.text {
	case "dtmc", "probabilistic":
		p.Kind = language.Chain
	case "smg":
		p.Kind = language.Game
	}
	if p.Kind != language.Game && len(b.source.players) > 0 {
		return wrong(b.source.players[0].name.at, "players in a model that is no game: want smg as its type")
	}
	return nil
}

// instantiate finds the modules, those that are others with other names too.
func (b *builder) instantiate() error {
	if len(b.source.modules) == 0 {
		return wrong(language.Pos{}, "the file has no modules")
	}
	for _, m := range b.source.modules {
		in := &instance{module: m, name: m.name.text, groups: make(map[string]int32)}
		if b.instances[in.name] != nil {
			return wrong(m.name.at, "module %s is defined twice", m.name)
		}
		if m.base.text != "" {
			base := b.instances[m.base.text]
			if base == nil {
				return wrong(m.base.at, "no module %s is defined above", m.base)
			}
			in.module = base.module
			in.rename = compose(base.rename, m.rename)
		}
		b.instances[in.name] = in
		b.modules = append(b.modules, in)
	}
	return nil
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
func (b *builder) declare() error {
	for _, d := range b.globals {
		if err := b.variable(d, nil); err != nil {
			return err
		}
	}
	for _, in := range b.modules {
		for _, d := range in.module.variables {
			if err := b.variable(d, in); err != nil {
				return err
			}
		}
	}
	if len(b.variables) == 0 {
		return wrong(language.Pos{}, "the model has no variables")
	}
	b.program.Variables = b.variables
	return nil
}

func (b *builder) variable(d declaration, in *instance) error {
	name, at := d.name.text, d.name.at
	var rename map[string]string
	if in != nil {
		name = in.renamed(name)
		rename = in.rename
		if in.module.name.text != in.name {
			at = b.sourceOf(in).name.at
			if name == d.name.text {
				return wrong(at, "module %s has the variable %s of module %s: want another name for it", in.name, name, in.module.name)
			}
		}
	}
	v := language.Variable{Name: name, Type: d.typ, High: 1}
	if d.low != nil {
		low, err := b.scope.Compute(language.Int, d.low, rename)
		if err != nil {
			return err
		}
		high, err := b.scope.Compute(language.Int, d.high, rename)
		if err != nil {
			return err
		}
		v.Low, v.High = low.Int, high.Int
		if v.Low > v.High {
			return wrong(at, "the range of %s is empty: %d to %d", name, v.Low, v.High)
		}
	}
	start := language.NewInt(at, v.Low)
	if d.initial != nil {
		var err error
		if start, err = b.scope.Compute(d.typ, d.initial, rename); err != nil {
			return err
		}
		if b.source.initial != nil {
			return wrong(d.initial.At, "%s has an initial value beside init … endinit: want one of them", name)
		}
		if start.Int < v.Low || !d.clock && start.Int > v.High {
			return wrong(d.initial.At, "the initial value of %s is %s: want %d to %d", name, start.Value(), v.Low, v.High)
		}
	}
	if err := b.scope.Variable(at, name, d.typ, len(b.variables)); err != nil {
		return err
	}
	if d.clock {
		b.times.Add(len(b.variables), start.Int)
	}
	b.owners[name] = in
	b.variables = append(b.variables, v)
	b.starts = append(b.starts, start)
	return nil
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
func (b *builder) commands() error {
	for _, in := range b.modules {
		byAction := make(map[string][]language.Command)
		for i := range in.module.commands {
			c := &in.module.commands[i]
			action := ""
			if c.action.text != "" {
				action = in.renamed(c.action.text)
			}
			command, err := b.command(in, c, action)
			if err != nil {
				return err
			}
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
	return nil
}

func (b *builder) command(in *instance, c *command, action string) (r language.Command, err error) {
	r.At = c.at
	r.Name = "command [" + action + "] of module " + in.name
	if r.Guard, err = b.condition(c.guard, in.rename); err != nil {
		return r, err
	}
	for _, u := range c.updates {
		update := language.Update{At: u.at}
		if u.probability != nil {
			if update.Probability, err = b.scope.ResolveAs(language.Double, u.probability, in.rename); err != nil {
				return r, err
			}
			if err := b.times.None(update.Probability, "a probability"); err != nil {
				return r, err
			}
		}
		for _, a := range u.assign {
			assign, err := b.assignment(in, a)
			if err != nil {
				return r, err
			}
			if slices.ContainsFunc(update.Assign, func(other language.Assignment) bool { return other.Variable == assign.Variable }) {
				return r, wrong(a.name.at, "%s is written twice", a.name)
			}
			update.Assign = append(update.Assign, assign)
		}
		r.Updates = append(r.Updates, update)
	}
	return r, nil
}

func (b *builder) assignment(in *instance, a assignment) (r language.Assignment, err error) {
	name := in.renamed(a.name.text)
	index, ok := b.scope.IndexOf(name)
	if !ok {
		return r, wrong(a.name.at, "%s is no variable", shorten(name))
	}
	if owner := b.owners[name]; owner != nil && owner != in {
		return r, wrong(a.name.at, "module %s writes %s, which is a variable of module %s", in.name, name, owner.name)
	}
	r = language.Assignment{At: a.name.at, Variable: index}
	if r.Value, err = b.scope.ResolveAs(b.variables[index].Type, a.value, in.rename); err != nil {
		return r, err
	}
	return r, b.times.Assign(r)
}

// condition resolves a Boolean expression, in which clocks may be compared.
func (b *builder) condition(e *expr, rename map[string]string) (*expr, error) {
	r, err := b.scope.ResolveAs(language.Bool, e, rename)
	if err != nil {
		return nil, err
	}
	return r, b.times.Condition(r)
}

// players gives vectors their players.
func (b *builder) players() error {
	if b.program.Kind != language.Game {
		return nil
	}
	switch n := len(b.source.players); {
	case n == 0:
		return wrong(b.source.kind.at, "a game (smg) without players: want player NAME … endplayer for each")
	case n > 2:
		return wrong(b.source.players[2].name.at, "%d players: want two at most", n)
	}
	ofModule, ofAction := make(map[string]int8), make(map[string]int8)
	b.program.Players = []string{b.source.players[0].name.text, "nobody"}
	for i, p := range b.source.players {
		b.program.Players[i] = p.name.text
		for _, m := range p.modules {
			if b.instances[m.text] == nil {
				return wrong(m.at, "no module %s is defined", m)
			}
			if _, twice := ofModule[m.text]; twice {
				return wrong(m.at, "module %s has two players", m)
			}
			ofModule[m.text] = int8(i)
		}
		for _, a := range p.actions {
			if _, ok := b.actions[a.text]; !ok {
				return wrong(a.at, "no command has the action %s", a)
			}
			if _, twice := ofAction[a.text]; twice {
				return wrong(a.at, "action %s has two players", a)
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
	return nil
}

// rewards resolves the reward structures. Those without a name are called reward, and reward2 and so on.
func (b *builder) rewards() error {
	names := make(map[string]bool)
	for _, r := range b.source.rewards {
		if r.name != "" && names[r.name] {
			return wrong(r.at, "rewards %q are defined twice", r.name)
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
			resolved, err := b.rewardItem(item)
			if err != nil {
				return err
			}
			reward.Items = append(reward.Items, resolved)
		}
		b.program.Rewards = append(b.program.Rewards, reward)
	}
	return nil
}

func (b *builder) rewardItem(item rewardItem) (r language.RewardItem, err error) {
	r = language.RewardItem{At: item.at, Action: -1}
	if item.ofChoice {
		action, ok := b.actions[item.action.text]
		if !ok {
			return r, wrong(item.action.at, "no command has the action %s", item.action)
		}
		r.Action = action
	} else if b.isTimed() {
		r.Action = b.actions[language.TimeAction] // a rate, which time earns
	}
	if r.Guard, err = b.condition(item.guard, nil); err != nil {
		return r, err
	}
	if r.Value, err = b.scope.ResolveAs(language.Double, item.value, nil); err != nil {
		return r, err
	}
	return r, b.times.None(r.Value, "a reward")
}

func (b *builder) labels() error {
	names := make(map[string]bool)
	for _, l := range b.source.labels {
		if names[l.name.text] {
			return wrong(l.name.at, "label %s is defined twice", l.name)
		}
		names[l.name.text] = true
		when, err := b.condition(l.value, nil)
		if err != nil {
			return err
		}
		if err := b.scope.Formula(l.name.at, LabelPrefix+l.name.text, l.value); err != nil {
			return err
		}
		b.program.Labels = append(b.program.Labels, language.Label{Name: l.name.text, At: l.name.at, When: when})
	}
	return nil
}
