// Package prism reads models in the language of PRISM: Markov decision processes (mdp), Markov chains
// (dtmc), turn-based games of two players (smg), and probabilistic timed automata (pta), whose clocks
// become integers (digital clocks). docs/languages.md says what is understood and how.
package prism

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cmdpsolve/cmdp/language"
)

// Read reads a model. Name is that of its file, for errors, which are [language.Error]s. Constants hold
// the values of those constants of the model that it leaves open; others cannot be given one.
func Read(name, text string, constants map[string]string) (p *language.Program, err error) {
	err = language.Try(name, func() { p = read(name, text, constants) })
	return p, err
}

func read(name, text string, constants map[string]string) *language.Program {
	b := &builder{
		source:    parse(strings.TrimPrefix(text, "\ufeff")),
		Builder:   language.NewBuilder(name),
		instances: make(map[string]*module),
		owners:    make(map[string]*module),
	}
	for _, f := range b.formulas {
		b.Scope.Formula(f.At, f.Name, f.When)
	}
	Define(b.Scope, b.constants, constants)
	b.kind()
	b.instantiate()
	b.declare()
	b.invariants()
	b.commands()
	b.compose()
	b.players()
	b.rewards()
	b.labels()
	if b.isTimed() {
		var allowed []*expr
		for _, l := range b.Program.Invariants {
			allowed = append(allowed, l.When)
		}
		b.AddTime(allowed)
		b.Program.NoDeadlocks = "neither time can pass nor a command is enabled"
	}
	if b.initial == nil {
		b.initial = language.NewBool(language.Pos{}, true)
	}
	b.Start(b.initial)
	b.Program.Parse = func(text string) (*expr, error) { return Condition(b.Builder, text) }
	return b.Program
}

// builtIn are the labels that every model has.
var builtIn = map[string]func(*language.Program) *expr{
	"init": (*language.Program).IsInitial, "deadlock": (*language.Program).Deadlock,
}

// Condition reads a condition, in which labels stand in quotes.
func Condition(b *language.Builder, text string) (e *expr, err error) {
	err = language.Try("", func() {
		for name, when := range builtIn {
			if label := language.LabelPrefix + name; strings.Contains(text, name) && !b.Scope.Defines(label) {
				b.Scope.Formula(language.Pos{}, label, when(b.Program))
			}
		}
		e = b.Condition(whole(text, true), nil)
	})
	return e, err
}

// whole parses a text that is an expression.
func whole(text string, labels bool) *expr {
	p := &parser{tokens: lex(text), labels: labels}
	e := p.expression()
	if t := p.peek(); t.kind != endOfFile {
		fail(t.at, "got %s: want the end of the expression", t)
	}
	return e
}

// A builder makes a program of a source.
type builder struct {
	*source
	*language.Builder
	instances map[string]*module // by their names
	owners    map[string]*module // of variables; nil for globals
}

// A Constant is one of a model, whose value is nil if it is given from outside.
type Constant struct {
	At    language.Pos
	Name  string
	Type  language.Type
	Value *expr
}

// Define puts constants into a scope and computes them. Given are the values of those that the model leaves open, and
// of no others.
func Define(scope *language.Scope, constants []Constant, given map[string]string) {
	known := make(map[string]bool)
	var open []string
	var at language.Pos // of the first open one
	for _, c := range constants {
		text, ok := given[c.Name]
		known[c.Name] = true
		switch {
		case ok && c.Value != nil:
			fail(c.At, "constant %s has a value in the model: only constants without one can be given", shorten(c.Name))
		case ok:
			c.Value = parseValue(c, text)
		case c.Value == nil:
			if open == nil {
				at = c.At
			}
			open = append(open, c.Name)
		}
		scope.Constant(c.At, c.Name, c.Type, c.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known[name] {
			fail(language.Pos{}, "the model has no constant %s", shorten(name))
		}
	}
	if open != nil {
		fail(at, "constants without a value: %s: give them by --const, as in --const %s=1, "+
			"or under constants in a problem file", strings.Join(open, ", "), open[0])
	}
	for _, c := range constants { // also those that nothing uses
		scope.Compute(c.Type, language.NewName(c.At, c.Name), nil)
	}
}

// parseValue reads the value of a constant that is given from outside: an expression of numbers.
func parseValue(c Constant, text string) (value *expr) {
	err := language.Try("", func() {
		value = language.NewScope().Compute(c.Type, whole(text, false), nil)
	})
	if err != nil {
		fail(c.At, "constant %s is given the value %s, which is no expression of type %s: %s",
			c.Name, shorten(text), c.Type, err.(*language.Error).Message)
	}
	return value
}

// kinds are those of the words that say what a model is; others are decision processes.
var kinds = map[string]language.Kind{
	"dtmc": language.Chain, "probabilistic": language.Chain, "smg": language.Game,
}

func (b *builder) kind() {
	b.Program.Kind = kinds[b.source.kind.text]
	if b.Program.Kind != language.Game && len(b.source.players) > 0 {
		fail(b.source.players[0].name.at, "players in a model that is no game: want smg as its type")
	}
}

// instantiate finds the modules, and gives those that are others with other names what the others have.
func (b *builder) instantiate() {
	if len(b.modules) == 0 {
		fail(language.Pos{}, "the file has no modules")
	}
	for _, m := range b.modules {
		b.Once(m.name.at, "module", m.name.text)
		if m.base.text != "" {
			base := b.instances[m.base.text]
			if base == nil {
				fail(m.base.at, "no module %s is defined above", m.base)
			}
			rename := maps.Clone(m.rename)
			for old, name := range base.rename {
				rename[old] = m.renamed(name)
			}
			m.body = base.body
			m.rename = rename
		}
		b.instances[m.name.text] = m
	}
}

// declare numbers the variables: globals, then those of modules in order.
func (b *builder) declare() {
	for _, d := range b.globals {
		b.variable(d, &module{})
	}
	for _, in := range b.modules {
		for _, d := range in.variables {
			b.variable(d, in)
		}
	}
	if len(b.Program.Variables) == 0 {
		fail(language.Pos{}, "the model has no variables")
	}
}

// variable declares a variable of a module, or a global one of an instance without module.
func (b *builder) variable(d declaration, in *module) {
	name, at := in.renamed(d.name.text), d.name.at
	if in.name.text != "" {
		b.owners[name] = in
	}
	if in.base.text != "" {
		at = in.name.at
		if name == d.name.text {
			fail(at, "module %s has the variable %s of module %s: want another name for it", in.name, name, in.base)
		}
	}
	v := language.Variable{Name: name, Type: d.typ, High: 1}
	if d.low != nil {
		v.Low = b.Scope.Compute(language.Int, d.low, in.rename).Int
		v.High = b.Scope.Compute(language.Int, d.high, in.rename).Int
	}
	start := language.NewInt(at, v.Low)
	switch {
	case d.initial != nil && b.initial != nil:
		fail(d.initial.At, "%s has an initial value beside init … endinit: want one of them", name)
	case d.initial != nil:
		start = b.Scope.Compute(d.typ, d.initial, in.rename)
	case b.initial != nil:
		start = nil
	}
	b.Declare(at, v, d.clock, start)
}

// isTimed reports whether time passes in the model.
func (b *builder) isTimed() bool { return b.source.kind.text == "pta" || b.HasClocks() }

// invariants resolves invariants, and checks what stands beside clocks.
func (b *builder) invariants() {
	for _, in := range b.modules {
		if in.invariant == nil {
			continue
		}
		if !b.isTimed() {
			fail(in.invariant.At, "an invariant in a model without clocks: want pta")
		}
		when := b.Condition(in.invariant, in.rename)
		invariant := language.Label{Name: "the invariant of module " + in.name.text, At: when.At, When: when}
		b.Program.Invariants = append(b.Program.Invariants, invariant)
	}
	if !b.isTimed() {
		return
	}
	b.Action(language.TimeAction)
	switch k := b.source.kind; k.text {
	case "", "pta", "mdp", "nondeterministic":
	default:
		fail(k.at, "clocks in a model of type %s: want pta", k)
	}
}

// commands resolves the commands and groups those of a module by their action. A module writes its own variables and
// globals alone.
func (b *builder) commands() {
	for _, in := range b.modules {
		commands := slices.Clone(in.commands)
		for i := range commands {
			c := &commands[i]
			c.Action = in.renamed(c.Action)
			c.Name = "command [" + c.Action + "] of module " + in.name.text
			if c.Action == language.TimeAction && b.isTimed() {
				fail(c.At, "an action called time, which is that of steps in which time passes: want another name")
			}
			for _, u := range c.Updates {
				for _, a := range u.Assign {
					name := in.renamed(a.Name)
					if owner := b.owners[name]; owner != nil && owner != in {
						fail(a.At, "module %s writes %s, which is a variable of module %s", in.name, name, owner.name)
					}
				}
			}
		}
		in.groups, in.order = b.Groups(commands, in.rename)
		for _, action := range in.order {
			b.Action(action)
		}
	}
}

// players gives vectors their players.
func (b *builder) players() {
	if b.Program.Kind != language.Game {
		return
	}
	switch n := len(b.source.players); {
	case n == 0:
		fail(b.source.kind.at, "a game (smg) without players: want player NAME … endplayer for each")
	case n > 2:
		fail(b.source.players[2].name.at, "%d players: want two at most", n)
	}
	ofAction := slices.Repeat([]int8{-1}, len(b.Program.Actions))
	ofGroup := slices.Repeat([]int8{-1}, len(b.Program.Groups))
	b.Program.Players = []string{b.source.players[0].name.text, "nobody"}
	for i, p := range b.source.players {
		b.Program.Players[i] = p.name.text
		for _, m := range p.modules {
			in := b.instances[m.text]
			if in == nil {
				fail(m.at, "no module %s is defined", m)
			}
			b.Once(m.at, "the player of module", m.text)
			if g, ok := in.groups[""]; ok {
				ofGroup[g] = int8(i)
			}
		}
		for _, a := range p.actions {
			b.Once(a.at, "the player of action", a.text)
			ofAction[b.known(a)] = int8(i)
		}
	}
	for i := range b.Program.Vectors {
		v := &b.Program.Vectors[i]
		v.Player = ofAction[v.Action]
		if v.Action == 0 && len(v.Groups) == 1 {
			v.Player = ofGroup[v.Groups[0]]
		}
	}
}

// known returns the number of an action that some command has.
func (b *builder) known(t token) int32 {
	action, ok := b.FindAction(t.text)
	if !ok {
		fail(t.at, "no command has the action %s", t)
	}
	return action
}

// rewards resolves the reward structures. Those without a name are called reward, and reward2 and so on.
func (b *builder) rewards() {
	names := make(map[string]bool)
	for _, r := range b.source.rewards {
		if r.name.text != "" {
			b.Once(r.name.at, "rewards", r.name.String())
		}
		names[r.name.text] = true
	}
	for _, r := range b.source.rewards {
		reward := language.Reward{Name: cmp.Or(r.name.text, "reward")}
		for n := 2; r.name.text == "" && names[reward.Name]; n++ {
			reward.Name = "reward" + strconv.Itoa(n)
		}
		names[reward.Name] = true
		for _, item := range r.items {
			reward.Items = append(reward.Items, b.rewardItem(item))
		}
		b.Program.Rewards = append(b.Program.Rewards, reward)
	}
}

func (b *builder) rewardItem(item rewardItem) language.RewardItem {
	r := item.RewardItem
	r.Action = -1
	if item.ofChoice {
		r.Action = b.known(item.action)
	} else if b.isTimed() {
		r.Action = b.Action(language.TimeAction) // a rate, which time earns
	}
	r.Guard = b.Condition(r.Guard, nil)
	r.Value = b.Number(r.Value, nil, "a reward")
	return r
}

func (b *builder) labels() {
	for _, l := range b.source.labels {
		b.Once(l.At, "label", strconv.Quote(l.Name))
		b.Scope.Formula(l.At, language.LabelPrefix+l.Name, l.When)
		l.When = b.Condition(l.When, nil)
		b.Program.Labels = append(b.Program.Labels, l)
	}
}
