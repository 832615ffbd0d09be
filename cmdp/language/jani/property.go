package jani

import (
	"slices"
	"strings"

	"cmdpsolve/cmdp/language"
	"cmdpsolve/cmdp/language/prism"
	"cmdpsolve/cmdp/language/property"
)

// Property reads a property of a model. Its conditions are in PRISM's language, in which names of the model stand in
// quotes where they have to. Wanted is its name; it may be empty if there is only one.
func Property(name string, text []byte, wanted string, constants map[string]string) (*property.Property, error) {
	b := new(builder)
	err := b.read(text, constants)
	if err != nil {
		return nil, b.explain(name, err)
	}
	p, err := b.property(wanted)
	if err != nil {
		return nil, b.explain(name, err)
	}
	return p, nil
}

// rewards makes a reward structure of every transient variable that is a number, and of what properties accumulate besides.
// A property that is not supported is refused when it is asked.
func (b *builder) rewards() error {
	for _, t := range b.listed {
		if t.Type == language.Bool {
			continue
		}
		var step, state *expr
		if t.assigned || t.Initial != 0 {
			step = language.NewName(t.at, stepPrefix+t.Name)
		}
		if t.by != nil || t.Initial != 0 {
			state = language.NewName(t.at, t.Name)
		}
		if err := b.reward(t.Name, t.at, step, state, b.isTimed()); err != nil {
			return err
		}
	}
	for _, n := range b.root.get("properties").list() {
		if err := n.object("a property", "name expression"); err != nil {
			return err
		}
		kept := len(b.program.Rewards)
		if _, err := b.formula(n); err != nil {
			b.program.Rewards = b.program.Rewards[:kept]
			delete(b.accumulates, n)
		}
	}
	return nil
}

// reward adds a reward structure of what is earned by a step with an edge, and in a state: as time passes, or with each edge
// from there. Either may be nil.
func (b *builder) reward(name string, at language.Pos, step, state *expr, ofTime bool) error {
	r := language.Reward{Name: name}
	add := func(value *expr, after bool, actions []int32) error {
		if value == nil {
			return nil
		}
		resolved, err := b.scope.ResolveAs(language.Double, value, nil)
		if err != nil {
			return err
		}
		if err := b.clocks.None(resolved, "a reward"); err != nil {
			return err
		}
		for _, action := range actions {
			r.Items = append(r.Items, language.RewardItem{At: at, Action: action, After: after && resolved.Op != language.Literal, Guard: language.NewBool(at, true), Value: resolved})
		}
		if b.items += len(actions); b.items > maxItems {
			return wrong(at, "the rewards of all actions are more than %d", maxItems)
		}
		return nil
	}
	if err := add(step, true, b.untimed); err != nil {
		return err
	}
	actions := b.untimed
	if ofTime {
		actions = []int32{b.actions[language.TimeAction]}
	}
	b.program.Rewards = append(b.program.Rewards, r)
	err := add(state, false, actions)
	b.program.Rewards[len(b.program.Rewards)-1] = r
	return err
}

// maxItems bounds the rewards of actions.
const maxItems = 1_000_000

// labels makes a label of every transient variable that is true or false.
func (b *builder) labels() error {
	for _, t := range b.listed {
		if t.Type != language.Bool {
			continue
		}
		when, err := b.scope.ResolveAs(language.Bool, language.NewName(t.at, t.Name), nil)
		if err != nil {
			return err
		}
		b.program.Labels = append(b.program.Labels, language.Label{Name: t.Name, At: t.at, When: when})
	}
	return nil
}

// initial finds the initial states.
func (b *builder) initial() (err error) {
	b.program.InitialAt = b.free
	when := language.NewBool(b.root.at, true)
	if b.start != nil {
		b.program.InitialAt = b.start.At
		if when, err = b.scope.ResolveAs(language.Bool, b.start, nil); err != nil {
			return err
		}
	}
	b.program.Initial, err = language.Solutions(b.starts, when)
	if err == nil && len(b.program.Initial) == 0 {
		err = wrong(when.At, "no state is initial: restrict-initial holds nowhere")
	}
	return err
}

func (b *builder) property(wanted string) (*property.Property, error) {
	var names []string
	list := b.root.get("properties").list()
	for _, n := range list {
		name := n.word("name")
		if name == wanted || wanted == "" && len(list) == 1 {
			f, err := b.formula(n)
			return &property.Property{At: n.at, Name: name, Formulas: []property.Formula{f}}, err
		}
		names = append(names, name)
	}
	if wanted == "" {
		return nil, wrong(language.Pos{}, "%d properties: want FILE:NAME, which names one of %s", len(list), strings.Join(names, ", "))
	}
	return nil, wrong(language.Pos{}, "no property %s: want one of %s", shorten(wanted), strings.Join(names, ", "))
}

// formula reads a property of the initial state.
func (b *builder) formula(n *node) (f property.Formula, err error) {
	filter := n.get("expression")
	if err := filter.object("a property", "op fun values states"); err != nil {
		return f, err
	}
	initial := filter.get("states").word("op") == "initial" || filter.word("states") == "initial"
	if filter.word("op") != "filter" || !initial || !slices.Contains([]string{"min", "max", "sum", "avg", "∀", "∃", "values"}, filter.word("fun")) {
		return f, wrong(filter.at, "want a filter of the initial states by min, max, sum, avg, ∀, ∃ or values")
	}
	values := filter.get("values")
	if operator, ok := map[string]string{"≥": ">=", "≤": "<=", "=": "="}[values.word("op")]; ok {
		return b.bounded(n, values, operator)
	}
	f, least, err := b.quantity(n, values)
	f.Bound = map[bool]string{true: "min", false: "max"}[least]
	return f, err
}

// bounded reads a quantity that is compared with a number. What some policy keeps is a bound. What all policies keep is a
// question for the optimum, which tells it.
func (b *builder) bounded(n, comparison *node, operator string) (f property.Formula, err error) {
	if err := comparison.object("a comparison", "op left right"); err != nil {
		return f, err
	}
	left, right := comparison.get("left"), comparison.get("right")
	if op := right.word("op"); strings.HasSuffix(op, "min") || strings.HasSuffix(op, "max") {
		left, right = right, left
		operator = map[string]string{">=": "<=", "<=": ">=", "=": "="}[operator]
	}
	f, isLeast, err := b.quantity(n, left)
	if err != nil {
		return f, err
	}
	value, err := b.constant(language.Double, right, &b.global)
	if err != nil {
		return f, err
	}
	f.Value = value.Num
	f.Bound = operator
	if isLeast != (operator == "<=") || operator == "=" {
		f.Bound = map[bool]string{true: "min", false: "max"}[isLeast]
	}
	return f, nil
}

// quantity reads a probability, an expected reward or a mean, the least or the largest of all policies.
func (b *builder) quantity(n, q *node) (f property.Formula, least bool, err error) {
	op := q.word("op")
	kind, least := strings.CutSuffix(op, "min")
	if !least {
		kind, _ = strings.CutSuffix(op, "max")
	}
	f.At = q.at
	f.Within = -1
	switch kind {
	case "P":
		f.Kind = 'P'
		if err := q.object(op, "op exp"); err != nil {
			return f, least, err
		}
		return f, least, b.path(&f, q.get("exp"))
	case "E":
		f.Kind = 'R'
		f.Path = 'C'
		if err := q.object(op, "op exp accumulate | reach step-instant"); err != nil {
			return f, least, err
		}
		if reach := q.get("reach"); reach != nil {
			f.Path = 'F'
			if err := b.condition(&f.Goal, reach); err != nil {
				return f, least, err
			}
		}
		if k := q.get("step-instant"); k != nil {
			if q.get("reach") != nil {
				return f, least, wrong(k.at, "%s with reach and step-instant is not supported", op)
			}
			if err := b.within(&f, k, false); err != nil {
				return f, least, err
			}
		}
	case "S":
		f.Kind = 'R'
		f.Path = 'S'
		if err := q.object(op, "op exp | accumulate"); err != nil {
			return f, least, err
		}
		if q.get("accumulate") == nil {
			f.Kind = 'S'
			return f, least, b.condition(&f.Goal, q.get("exp"))
		}
	default:
		return f, least, wrong(q.at, "%s is not supported as what a property asks: want Pmin, Pmax, Emin, Emax, Smin or Smax", q.describe())
	}
	f.Reward, err = b.accumulated(n, q)
	return f, least, err
}

// accumulated returns the name of the rewards that a property accumulates, and makes them if no transient variable
// stands for them.
func (b *builder) accumulated(n, q *node) (string, error) {
	how := make(map[string]bool)
	for _, x := range q.get("accumulate").list() {
		if x.text != "steps" && x.text != "exit" && (x.text != "time" || !b.isTimed()) {
			return "", wrong(x.at, "accumulate %s is not supported: want steps, exit, or in models of time, time", x.describe())
		}
		how[x.text] = true
	}
	stays, other := "exit", "time"
	if b.isTimed() {
		stays, other = other, stays
	}
	exp := q.get("exp")
	if t := b.transient[exp.text]; t != nil && exp.kind == "a string" && t.Type != language.Bool && !how[other] {
		if (how["steps"] || !t.assigned && t.Initial == 0) && (how[stays] || t.by == nil && t.Initial == 0) {
			return t.Name, nil
		}
	}
	if name, ok := b.accumulates[n]; ok {
		return name, nil
	}
	if how["exit"] && how["time"] {
		return "", wrong(q.at, "accumulate exit beside time is not supported")
	}
	name := n.word("name")
	for slices.ContainsFunc(b.program.Rewards, func(r language.Reward) bool { return r.Name == name }) {
		name += "'"
	}
	b.accumulates[n] = name
	var step, state *expr
	var err error
	if how["steps"] {
		if step, err = b.expression(exp, &context{step: true}); err != nil {
			return "", err
		}
	}
	if how["exit"] || how["time"] {
		if state, err = b.expression(exp, &b.global); err != nil {
			return "", err
		}
	}
	return name, b.reward(name, exp.at, step, state, how["time"])
}

// path reads what is to happen.
func (b *builder) path(f *property.Formula, p *node) error {
	switch op := p.word("op"); op {
	case "F", "G":
		f.Path = op[0]
		if err := p.object(op, "op exp | step-bounds"); err != nil {
			return err
		}
		if err := b.condition(&f.Goal, p.get("exp")); err != nil {
			return err
		}
	case "U":
		f.Path = 'U'
		if err := p.object(op, "op left right | step-bounds"); err != nil {
			return err
		}
		if err := b.condition(&f.Goal, p.get("right")); err != nil {
			return err
		}
		if p.get("left").text == "true" {
			f.Path = 'F'
		} else if err := b.condition(&f.While, p.get("left")); err != nil {
			return err
		}
	default:
		return wrong(p.at, "%s is not supported as what is to happen: want F, G or U", p.describe())
	}
	bounds := p.get("step-bounds")
	if bounds == nil {
		return nil
	}
	if err := bounds.object("step-bounds", "upper | upper-exclusive"); err != nil {
		return err
	}
	return b.within(f, bounds.get("upper"), bounds.word("upper-exclusive") == "true")
}

func (b *builder) within(f *property.Formula, n *node, exclusive bool) error {
	k, err := b.constant(language.Int, n, &b.global)
	if err != nil {
		return err
	}
	if b.isTimed() {
		return wrong(n.at, "bounds of steps are not supported in models of time")
	}
	if exclusive {
		k.Int--
	}
	if k.Int < 0 || k.Int > 1<<31 {
		return wrong(n.at, "a bound of %d steps: want 0 or more", k.Int)
	}
	f.Within = int(k.Int)
	return nil
}

// condition writes a condition on states in PRISM's language.
func (b *builder) condition(to *string, n *node) error {
	e, err := b.expression(n, &b.global)
	if err != nil {
		return err
	}
	if _, err := b.scope.ResolveAs(language.Bool, e, nil); err != nil {
		return err
	}
	*to = prism.Write(e)
	return nil
}
