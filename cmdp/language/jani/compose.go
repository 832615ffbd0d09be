package jani

import (
	"fmt"
	"math"
	"slices"

	"cmdpsolve/cmdp/language"
)

// edges makes commands of the edges of each automaton, in a group for each action.
func (b *builder) edges() {
	for _, a := range b.order {
		var commands []language.Command
		for i, n := range a.list("edges") {
			commands = append(commands, b.command(a, n))
			commands[i].Name = fmt.Sprintf("edge %d [%s] of automaton %s", i, commands[i].Action, a.name)
		}
		a.groups, _ = b.Groups(commands, nil)
	}
}

// action returns the number of the action under a key, that of none where there is none.
func (b *builder) action(n *node, key string) int32 {
	number, ok := b.FindAction(n.word(key))
	if !ok {
		fail(n.get(key).at, "unknown action %s", n.get(key))
	}
	return number
}

// command reads an edge.
func (b *builder) command(a *automaton, n *node) language.Command {
	n.object("an edge", "location destinations | action guard")
	b.action(n, "action")
	c := language.Command{At: n.at, Action: n.word("action"), Guard: a.in(n.at, a.number(n.get("location")))}
	if guard := b.inner(n, "guard", &a.context); guard != nil {
		c.Guard = language.New(language.And, n.at, c.Guard, guard)
	}
	for _, d := range n.list("destinations") {
		c.Updates = append(c.Updates, b.destination(a, d))
	}
	if c.Updates == nil {
		fail(n.at, "an edge without destinations")
	}
	return c
}

func (b *builder) destination(a *automaton, n *node) language.Update {
	n.object("a destination", "location | probability assignments")
	u := language.Update{At: n.at, Probability: b.inner(n, "probability", &a.context)}
	location := language.NewInt(n.at, a.number(n.get("location")))
	if a.location != "" {
		u.Assign = append(u.Assign, language.Assignment{At: n.at, Name: a.location, Value: location})
	}
	for _, n := range n.list("assignments") {
		u.Assign = append(u.Assign, b.assignment(a, n))
	}
	return u
}

func (b *builder) assignment(a *automaton, n *node) language.Assignment {
	n.object("an assignment", "ref value | index")
	c := a.context
	c.step = true
	r := language.Assignment{At: n.at, Name: c.nameOf(n.word("ref")), Value: whole(b.expression(n.get("value"), &c))}
	if t := b.transient[r.Name]; t != nil {
		t.assigned = true
		r.Name = stepPrefix + r.Name
	}
	if index := b.constant(language.Int, n.get("index"), &context{}); index != nil {
		if index.Int < math.MinInt32 || index.Int > math.MaxInt32 {
			fail(index.At, "the index %d is too large", index.Int)
		}
		r.Index = int32(index.Int)
	}
	return r
}

// compose makes vectors: edges without an action are taken by one automaton alone, others as the synchronisation
// vectors say. A model of one automaton without vectors takes all of its edges.
func (b *builder) compose() {
	system := b.root.get("system")
	system.object("a system", "elements | syncs")
	var elements []*automaton
	used := make(map[*automaton]bool)
	for _, n := range system.list("elements") {
		n.object("an element", "automaton | input-enable")
		a := b.automata[n.word("automaton")]
		if a == nil || used[a] {
			fail(n.at, "%s is no automaton of the model, or stands in the system twice", n.get("automaton"))
		}
		used[a] = true
		elements = append(elements, a)
		for _, action := range n.list("input-enable") {
			b.enableInput(a, action)
		}
		b.vector(0, a.groups, "")
	}
	if len(used) < len(b.order) {
		fail(system.at, "the system has %d automata of %d: want every one once", len(used), len(b.order))
	}
	if len(elements) == 1 && system.get("syncs") == nil {
		for i, name := range b.Program.Actions[1:] {
			b.vector(int32(i+1), elements[0].groups, name)
		}
	}
	for _, n := range system.list("syncs") {
		b.synchronise(n, elements)
	}
	for _, v := range b.Program.Vectors {
		b.edged = append(b.edged, v.Action)
	}
	slices.Sort(b.edged)
	b.edged = slices.Compact(b.edged)
}

// vector adds the moves of one automaton alone with an action.
func (b *builder) vector(action int32, groups map[string]int32, name string) {
	if g, ok := groups[name]; ok {
		b.Program.Vectors = append(b.Program.Vectors, language.Vector{Action: action, Groups: []int32{g}})
	}
}

// synchronise adds a synchronisation vector, unless an automaton has no edge for it.
func (b *builder) synchronise(n *node, elements []*automaton) {
	n.object("a synchronisation vector", "synchronise | result")
	list := n.list("synchronise")
	if len(list) != len(elements) {
		fail(n.at, "a synchronisation vector of %d actions: want one, or null, for each of %d elements",
			len(list), len(elements))
	}
	v := language.Vector{Action: b.action(n, "result")}
	possible := true
	for i, action := range list {
		if action.kind == "null" {
			continue
		}
		b.known(action)
		g, ok := elements[i].groups[action.text]
		possible = possible && ok
		v.Groups = append(v.Groups, g)
	}
	if v.Groups == nil {
		fail(n.at, "a synchronisation vector without actions")
	}
	if possible {
		b.Program.Vectors = append(b.Program.Vectors, v)
	}
}

// known fails if a node is no action's name.
func (b *builder) known(action *node) {
	if _, ok := b.FindAction(action.text); !ok || action.text == "" {
		fail(action.at, "unknown action %s", action)
	}
}

// enableInput lets an automaton take an action where none of its edges can, without effect.
func (b *builder) enableInput(a *automaton, n *node) {
	b.known(n)
	var commands []language.Command
	if g, ok := a.groups[n.text]; ok {
		commands = b.Program.Groups[g]
	}
	none := b.Condition(language.None(n.at, commands), nil)
	name := "no edge [" + n.text + "] of automaton " + a.name
	stays := language.Update{At: n.at, Probability: language.NewDouble(n.at, 1)}
	idle := language.Command{At: n.at, Name: name, Guard: none, Updates: []language.Update{stays}}
	a.groups[n.text] = b.Program.AddGroup(append(slices.Clone(commands), idle))
}

// addTime lets time pass as long as the locations allow it.
func (b *builder) addTime() {
	var invariants []*expr
	for _, a := range b.order {
		for i, l := range a.list("locations") {
			e := b.inner(l, "time-progress", &a.context)
			if e == nil {
				continue
			}
			at := l.get("time-progress").at
			if !b.isTimed() {
				fail(at, "time-progress in a model of type %s: want pta", b.root.word("type"))
			}
			e = language.New(language.Implies, at, a.in(at, int64(i)), e)
			invariants = append(invariants, b.Condition(e, nil))
		}
	}
	if !b.isTimed() {
		return
	}
	if _, ok := b.FindAction(language.TimeAction); ok {
		fail(b.root.at, "an action called time, which is that of steps in which time passes: want another name")
	}
	b.AddTime(invariants)
}
