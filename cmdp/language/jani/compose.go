package jani

import (
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp/language"
)

// edges makes commands of the edges of each automaton, in a group for each action.
func (b *builder) edges() error {
	for _, a := range b.order {
		byAction := make(map[string][]language.Command)
		var order []string
		for i, n := range a.get("edges").list() {
			if err := n.object("an edge", "location destinations | action guard"); err != nil {
				return err
			}
			action := n.word("action")
			if _, ok := b.actions[action]; !ok {
				return wrong(n.get("action").at, "unknown action %s", shorten(action))
			}
			command, err := b.command(a, n)
			if err != nil {
				return err
			}
			command.Name = fmt.Sprintf("edge %d [%s] of automaton %s", i, action, a.name)
			if byAction[action] == nil {
				order = append(order, action)
			}
			byAction[action] = append(byAction[action], command)
		}
		for _, action := range order {
			a.groups[action] = b.program.AddGroup(byAction[action])
		}
	}
	return nil
}

func (b *builder) command(a *automaton, n *node) (r language.Command, err error) {
	r.At = n.at
	location, ok := a.locations[n.word("location")]
	if !ok {
		return r, wrong(n.get("location").at, "unknown location %s", shorten(n.word("location")))
	}
	guard := a.in(n.at, location)
	if g := n.get("guard"); g != nil {
		if err := g.object("a guard", "exp"); err != nil {
			return r, err
		}
		e, err := b.expression(g.get("exp"), &a.context)
		if err != nil {
			return r, err
		}
		guard = language.New(language.And, n.at, guard, e)
	}
	if r.Guard, err = b.scope.ResolveAs(language.Bool, guard, nil); err != nil {
		return r, err
	}
	if err := b.clocks.Condition(r.Guard); err != nil {
		return r, err
	}
	for _, d := range n.get("destinations").list() {
		u, err := b.destination(a, d)
		if err != nil {
			return r, err
		}
		r.Updates = append(r.Updates, u)
	}
	if r.Updates == nil {
		return r, wrong(n.at, "an edge without destinations")
	}
	return r, nil
}

func (b *builder) destination(a *automaton, n *node) (u language.Update, err error) {
	u.At = n.at
	if err := n.object("a destination", "location | probability assignments"); err != nil {
		return u, err
	}
	if p := n.get("probability"); p != nil {
		if err := p.object("a probability", "exp"); err != nil {
			return u, err
		}
		if u.Probability, err = b.value(language.Double, p.get("exp"), &a.context, "a probability"); err != nil {
			return u, err
		}
	}
	location, ok := a.locations[n.word("location")]
	if !ok {
		return u, wrong(n.get("location").at, "unknown location %s", shorten(n.word("location")))
	}
	if a.location != "" {
		i, _ := b.scope.IndexOf(a.location)
		u.Assign = append(u.Assign, language.Assignment{At: n.at, Variable: i, Value: language.NewInt(n.at, int64(location))})
	}
	for _, n := range n.get("assignments").list() {
		assign, err := b.assignment(a, n)
		if err != nil {
			return u, err
		}
		if slices.ContainsFunc(u.Assign, func(x language.Assignment) bool { return x.Variable == assign.Variable && x.Index == assign.Index }) {
			return u, wrong(n.at, "%s is written twice", shorten(n.word("ref")))
		}
		u.Assign = append(u.Assign, assign)
	}
	return u, nil
}

func (b *builder) assignment(a *automaton, n *node) (r language.Assignment, err error) {
	if err := n.object("an assignment", "ref value | index"); err != nil {
		return r, err
	}
	c := a.context
	c.step = true
	name := c.nameOf(n.word("ref"))
	if t := b.transient[name]; t != nil {
		t.assigned = true
		name = stepPrefix + name
	}
	var ok bool
	if r.Variable, ok = b.scope.IndexOf(name); !ok {
		return r, wrong(n.at, "%s is no variable", shorten(n.word("ref")))
	}
	r.At = n.at
	if i := n.get("index"); i != nil {
		index, err := b.constant(language.Int, i, &context{})
		if err != nil {
			return r, err
		}
		if index.Int < math.MinInt32 || index.Int > math.MaxInt32 {
			return r, wrong(i.at, "the index %d is too large", index.Int)
		}
		r.Index = int32(index.Int)
	}
	value, err := b.expression(n.get("value"), &c)
	if err != nil {
		return r, err
	}
	r.Value, err = b.scope.ResolveAs(b.program.TypeOf(r.Variable), whole(value), nil)
	if err != nil {
		return r, err
	}
	return r, b.clocks.Assign(r)
}

// value resolves an expression that does not depend on clocks.
func (b *builder) value(t language.Type, n *node, c *context, what string) (*expr, error) {
	e, err := b.expression(n, c)
	if err != nil {
		return nil, err
	}
	if e, err = b.scope.ResolveAs(t, e, nil); err != nil {
		return nil, err
	}
	return e, b.clocks.None(e, what)
}

// compose makes vectors: edges without an action are taken by one automaton alone, others as the synchronisation vectors
// say. A model of one automaton without vectors takes all of its edges.
func (b *builder) compose() error {
	system := b.root.get("system")
	if err := system.object("a system", "elements | syncs"); err != nil {
		return err
	}
	var elements []*automaton
	used := make(map[*automaton]bool)
	for _, n := range system.get("elements").list() {
		if err := n.object("an element", "automaton | input-enable"); err != nil {
			return err
		}
		a := b.automata[n.word("automaton")]
		if a == nil || used[a] {
			return wrong(n.at, "%s is no automaton of the model, or stands in the system twice", shorten(n.word("automaton")))
		}
		used[a] = true
		elements = append(elements, a)
		for _, action := range n.get("input-enable").list() {
			if err := b.enableInput(a, action); err != nil {
				return err
			}
		}
		if g, ok := a.groups[""]; ok {
			b.program.Vectors = append(b.program.Vectors, language.Vector{Groups: []int32{g}})
		}
	}
	if len(used) < len(b.order) {
		return wrong(system.at, "the system has %d automata of %d: want every one once", len(used), len(b.order))
	}
	if len(elements) == 1 && system.get("syncs") == nil {
		for i, name := range b.program.Actions[1:] {
			if g, ok := elements[0].groups[name]; ok {
				b.program.Vectors = append(b.program.Vectors, language.Vector{Action: int32(i + 1), Groups: []int32{g}})
			}
		}
		return nil
	}
	for _, n := range system.get("syncs").list() {
		if err := b.synchronise(n, elements); err != nil {
			return err
		}
	}
	return nil
}

// synchronise adds a synchronisation vector, unless an automaton has no edge for it.
func (b *builder) synchronise(n *node, elements []*automaton) error {
	if err := n.object("a synchronisation vector", "synchronise | result"); err != nil {
		return err
	}
	list := n.get("synchronise").list()
	if len(list) != len(elements) {
		return wrong(n.at, "a synchronisation vector of %d actions: want one, or null, for each of %d elements", len(list), len(elements))
	}
	result, ok := b.actions[n.word("result")]
	if !ok {
		return wrong(n.get("result").at, "unknown action %s", shorten(n.word("result")))
	}
	v := language.Vector{Action: result}
	for i, action := range list {
		if action.kind == "null" {
			continue
		}
		if _, ok := b.actions[action.text]; !ok || action.text == "" {
			return wrong(action.at, "unknown action %s", action.describe())
		}
		g, ok := elements[i].groups[action.text]
		if !ok {
			return nil
		}
		v.Groups = append(v.Groups, g)
	}
	if v.Groups == nil {
		return wrong(n.at, "a synchronisation vector without actions")
	}
	b.program.Vectors = append(b.program.Vectors, v)
	return nil
}

// enableInput lets an automaton take an action where none of its edges can, without effect.
func (b *builder) enableInput(a *automaton, n *node) error {
	var commands []language.Command
	guards := []*expr{language.NewBool(n.at, false)}
	if g, ok := a.groups[n.text]; ok {
		commands = b.program.Group(g)
	}
	for _, c := range commands {
		guards = append(guards, c.Guard)
	}
	some := &expr{Op: language.Or, Type: language.Bool, At: n.at, Args: guards}
	none := &expr{Op: language.Not, Type: language.Bool, At: n.at, Args: []*expr{some}}
	idle := language.Command{At: n.at, Name: "no edge [" + n.text + "] of automaton " + a.name, Guard: none, Updates: []language.Update{{At: n.at}}}
	a.groups[n.text] = b.program.AddGroup(append(slices.Clone(commands), idle))
	return b.clocks.Condition(none)
}

// addTime lets time pass as long as the locations allow it.
func (b *builder) addTime() error {
	used := make(map[int32]bool)
	for _, v := range b.program.Vectors {
		used[v.Action] = true
	}
	for i := range b.program.Actions {
		if used[int32(i)] {
			b.untimed = append(b.untimed, int32(i))
		}
	}
	var invariants []*expr
	for _, a := range b.order {
		for i, l := range a.get("locations").list() {
			n := l.get("time-progress")
			if n == nil {
				continue
			}
			if err := n.object("time-progress", "exp"); err != nil {
				return err
			}
			if !b.isTimed() {
				return wrong(n.at, "time-progress in a model of type %s: want pta", b.root.word("type"))
			}
			e, err := b.expression(n.get("exp"), &a.context)
			if err != nil {
				return err
			}
			if e, err = b.scope.ResolveAs(language.Bool, language.New(language.Implies, n.at, a.in(n.at, i), e), nil); err != nil {
				return err
			}
			if err := b.clocks.Condition(e); err != nil {
				return err
			}
			invariants = append(invariants, e)
		}
	}
	if !b.isTimed() {
		return nil
	}
	if _, ok := b.actions[language.TimeAction]; ok {
		return wrong(b.root.at, "an action called time, which is that of steps in which time passes: want another name")
	}
	b.actions[language.TimeAction] = int32(len(b.program.Actions))
	b.program.Actions = append(b.program.Actions, language.TimeAction)
	b.clocks.AddTime(b.actions[language.TimeAction], invariants)
	return nil
}
