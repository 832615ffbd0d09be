package jani

import (
	"math"
	"slices"
	"strings"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/prism"
	"cmdpsolve/cmdp/language/property"
)

// Properties reads the properties of a model. Their conditions are in PRISM's language, in which names of the model
// stand in quotes where they have to.
func Properties(name string, text []byte, constants map[string]string) ([]property.Property, error) {
	b := newBuilder(name)
	err := b.try(func() { b.read(text, constants) })
	return b.properties, err
}

// rewards makes a reward structure of every transient variable that is a number, and of what properties accumulate
// besides.
func (b *builder) rewards() {
	for _, t := range b.listed {
		if t.Type == language.Bool {
			continue
		}
		var step, state *expr
		if t.assigned || t.always() {
			step = language.NewName(t.at, stepPrefix+t.Name)
		}
		if t.by != nil || t.always() {
			state = language.NewName(t.at, t.Name)
		}
		b.reward(t.Name, t.at, step, state, b.isTimed())
	}
	for _, n := range b.root.list("properties") {
		n.object("a property", "name expression")
		kept := len(b.Program.Rewards)
		p := property.Property{At: n.at, Name: n.word("name")}
		p.Err = b.try(func() { p.Formulas = []property.Formula{b.formula(n)} })
		if p.Err != nil {
			b.Program.Rewards = b.Program.Rewards[:kept]
		}
		b.properties = append(b.properties, p)
	}
}

// maxItems bounds the rewards of actions.
const maxItems = 1_000_000

// reward adds a reward structure of what is earned by a step with an edge, and in a state: as time passes, or with each
// edge from there. Either may be nil.
func (b *builder) reward(name string, at language.Pos, step, state *expr, ofTime bool) {
	r := language.Reward{Name: name}
	add := func(value *expr, after bool, actions []int32) {
		if value == nil {
			return
		}
		value = b.Number(value, nil, "a reward")
		b.items += len(actions)
		if b.items > maxItems {
			fail(at, "the rewards of all actions are more than %d", maxItems)
		}
		for _, action := range actions {
			after := after && value.Op != language.Literal
			item := language.RewardItem{At: at, Action: action, After: after, Guard: language.NewBool(at, true),
				Value: value}
			r.Items = append(r.Items, item)
		}
	}
	add(step, true, b.edged)
	if ofTime {
		add(state, false, []int32{b.Action(language.TimeAction)})
	} else {
		add(state, false, b.edged)
	}
	b.Program.Rewards = append(b.Program.Rewards, r)
}

// formula reads a property of the initial state. What some policy keeps is a bound. What all policies keep is a
// question for the optimum, which tells it.
func (b *builder) formula(n *node) property.Formula {
	filter := n.get("expression")
	filter.object("a property", "op fun values states")
	initial := filter.get("states").word("op") == "initial" || filter.word("states") == "initial"
	known := slices.Contains([]string{"min", "max", "sum", "avg", "∀", "∃", "values"}, filter.word("fun"))
	if filter.word("op") != "filter" || !initial || !known {
		fail(filter.at, "want a filter of the initial states by min, max, sum, avg, ∀, ∃ or values")
	}
	values := filter.get("values")
	operator, ok := map[string]string{"≥": ">=", "≤": "<=", "=": "="}[values.word("op")]
	if !ok {
		f, least := b.quantity(n, values)
		f.Bound = optimum[least]
		return f
	}
	values.object("a comparison", "op left right")
	left, right := values.get("left"), values.get("right")
	if op := right.word("op"); strings.HasSuffix(op, "min") || strings.HasSuffix(op, "max") {
		left, right = right, left
		operator = map[string]string{">=": "<=", "<=": ">=", "=": "="}[operator]
	}
	f, least := b.quantity(n, left)
	f.Value = b.constant(language.Double, right, &b.global).Num()
	f.Bound = operator
	if operator == "=" || least != (operator == "<=") {
		f.Bound = optimum[least]
	}
	return f
}

// optimum is the bound of a formula that asks for the least value, or for the largest one.
var optimum = map[bool]string{true: "min", false: "max"}

// quantity reads a probability, an expected reward or a mean, the least or the largest of all policies.
func (b *builder) quantity(n, q *node) (f property.Formula, least bool) {
	op := q.word("op")
	f.At = q.at
	f.Within = -1
	switch op {
	case "Pmin", "Pmax":
		f.Kind = 'P'
		q.object(op, "op exp")
		b.path(&f, n, q.get("exp"))
	case "Emin", "Emax":
		f.Kind = 'R'
		f.Path = 'C'
		q.object(op, "op exp accumulate | reach step-instant reward-instants")
		if reach := q.get("reach"); reach != nil {
			f.Path = 'F'
			f.Goal = b.written(reach)
		}
		if k := q.get("step-instant"); k != nil {
			if f.Path == 'F' {
				fail(k.at, "%s with reach and step-instant is not supported", op)
			}
			b.within(&f, k, false)
		}
		f.Reward = b.accumulated(n, q)
		for _, r := range q.list("reward-instants") {
			if f.Path == 'F' {
				fail(r.at, "%s with reach and reward-instants is not supported", op)
			}
			r.object("an instant of rewards", "exp accumulate instant")
			b.bound(&f, n, r, r.get("instant"))
		}
	case "Smin", "Smax":
		f.Kind = 'S'
		f.Path = 'S'
		q.object(op, "op exp | accumulate")
		if q.get("accumulate") != nil {
			f.Kind = 'R'
			f.Reward = b.accumulated(n, q)
		} else {
			f.Goal = b.written(q.get("exp"))
		}
	default:
		fail(q.at, "%s as what a property asks is not supported: want Pmin, Pmax, Emin, Emax, Smin or Smax",
			strings.TrimSpace(q.String()+" "+op))
	}
	return f, strings.HasSuffix(op, "min")
}

// accumulated returns the name of the rewards that a property accumulates, and makes them if no transient variable
// stands for them.
func (b *builder) accumulated(n, q *node) string {
	how := make(map[string]bool)
	for _, x := range q.list("accumulate") {
		if x.text != "steps" && x.text != "exit" && (x.text != "time" || !b.isTimed()) {
			fail(x.at, "accumulate %s is not supported: want steps, exit, or in models of time, time", x)
		}
		how[x.text] = true
	}
	if how["exit"] && how["time"] {
		fail(q.at, "accumulate exit beside time is not supported")
	}
	exp := q.get("exp")
	if t := b.transient[exp.text]; t != nil && exp.kind == "a string" && t.Type != language.Bool {
		inStates := how["time"] || how["exit"] && !b.isTimed()
		if (how["steps"] || !t.assigned && !t.always()) && (inStates || !how["exit"] && t.by == nil && !t.always()) {
			return t.Name
		}
	}
	name := n.word("name")
	for slices.ContainsFunc(b.Program.Rewards, func(r language.Reward) bool { return r.Name == name }) {
		name += "'"
	}
	var step, state *expr
	if how["steps"] {
		step = b.expression(exp, &context{step: true})
	}
	if how["exit"] || how["time"] {
		state = b.expression(exp, &b.global)
	}
	b.reward(name, exp.at, step, state, how["time"])
	return name
}

// path reads what is to happen, in a property n.
func (b *builder) path(f *property.Formula, n, p *node) {
	op, goal := p.word("op"), p.get("exp")
	switch op {
	case "F", "G":
		p.object(op, "op exp | step-bounds reward-bounds")
	case "U":
		p.object(op, "op left right | step-bounds reward-bounds")
		goal = p.get("right")
		if left := p.get("left"); left.text == "true" {
			op = "F"
		} else {
			f.While = b.written(left)
		}
	default:
		fail(p.at, "%s as what is to happen is not supported: want F, G or U", strings.TrimSpace(p.String()+" "+op))
	}
	f.Path = op[0]
	f.Goal = b.written(goal)
	if bounds := p.get("step-bounds"); bounds != nil {
		bounds.object("step-bounds", "upper | upper-exclusive")
		b.within(f, bounds.get("upper"), bounds.word("upper-exclusive") == "true")
	}
	for _, r := range p.list("reward-bounds") {
		r.object("a bound of rewards", "exp accumulate bounds")
		bounds := r.get("bounds")
		bounds.object("bounds of rewards", "upper | upper-exclusive")
		if bounds.word("upper-exclusive") == "true" {
			fail(bounds.at, "a bound of rewards that is excluded is not supported: want upper alone")
		}
		b.bound(f, n, r, bounds.get("upper"))
	}
}

// bound adds a bound, in a property n, of the rewards r that are accumulated.
func (b *builder) bound(f *property.Formula, n, r, most *node) {
	x := b.constant(language.Double, most, &b.global).Num()
	f.Costs = append(f.Costs, property.CostBound{Reward: b.accumulated(n, r), AtMost: x})
}

func (b *builder) within(f *property.Formula, n *node, exclusive bool) {
	if b.isTimed() {
		fail(n.at, "bounds of steps are not supported in models of time")
	}
	k := b.constant(language.Int, n, &b.global).Int
	if exclusive {
		k--
	}
	if k < 0 || k > math.MaxInt32 {
		fail(n.at, "a bound of %d steps: want 0 or more", k)
	}
	f.Within = int(k)
}

// written writes a condition on states in PRISM's language.
func (b *builder) written(n *node) string {
	e := b.expression(n, &b.global)
	b.Scope.ResolveAs(language.Bool, e, nil)
	return prism.Write(e)
}
