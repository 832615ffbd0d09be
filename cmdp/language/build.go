package language

import "slices"

// A Builder makes a program of what a parser has read: it knows the names, and resolves commands, conditions and
// rewards. What is wrong fails, see [Fail].
type Builder struct {
	Scope   *Scope
	Program *Program
	clocks  clocks
	actions map[string]int32
	named   map[[2]string]Pos // things that have names of their own, by their kinds
	starts  []*Expr           // the initial value of each variable, nil for any
}

// NewBuilder returns a builder of the program of a file, with nothing in it but the action without a name.
func NewBuilder(file string) *Builder {
	p := &Program{File: file, Actions: []string{""}}
	return &Builder{
		Scope:   NewScope(),
		Program: p,
		clocks:  clocks{most: make(map[int64]int64)},
		actions: map[string]int32{"": 0},
		named:   make(map[[2]string]Pos),
	}
}

// Once fails if a thing of the same kind has the same name.
func (b *Builder) Once(at Pos, kind, name string) {
	key := [2]string{kind, name}
	if old, ok := b.named[key]; ok {
		Fail(at, "%s %s is defined twice: also in line %d", kind, Shorten(name), old.Line)
	}
	b.named[key] = at
}

// FindAction returns the number of an action, and whether there is one.
func (b *Builder) FindAction(name string) (int32, bool) {
	n, ok := b.actions[name]
	return n, ok
}

// Action returns the number of an action, which is added if it is new.
func (b *Builder) Action(name string) int32 {
	n, ok := b.actions[name]
	if !ok {
		n = int32(len(b.Program.Actions))
		b.actions[name] = n
		b.Program.Actions = append(b.Program.Actions, name)
	}
	return n
}

// Declare adds a variable, which may be a clock. Its initial value is a literal, or nil for any of its range.
func (b *Builder) Declare(at Pos, v Variable, isClock bool, initial *Expr) {
	switch {
	case v.Low > v.High:
		Fail(at, "the range of %s is empty: %d to %d", Shorten(v.Name), v.Low, v.High)
	case initial != nil && (initial.Int < v.Low || initial.Int > v.High && !isClock):
		Fail(initial.At, "the initial value of %s is %s: want %d to %d", Shorten(v.Name), initial.Value(), v.Low,
			v.High)
	}
	n := len(b.Program.Variables)
	b.Scope.Variable(at, v.Name, v.Type, n)
	if isClock {
		b.clocks.most[int64(n)] = v.Low
		if initial != nil {
			b.clocks.most[int64(n)] = initial.Int
		}
	}
	b.Program.Variables = append(b.Program.Variables, v)
	b.starts = append(b.starts, initial)
}

// Start finds the initial states: variables have their initial values, and a condition holds.
func (b *Builder) Start(when *Expr) {
	starts := slices.Clone(b.Program.Variables)
	for i, initial := range b.starts {
		if initial != nil {
			starts[i].Low, starts[i].High = initial.Int, initial.Int
		}
	}
	b.Program.InitialAt = when.At
	b.Program.Initial = Solutions(starts, b.Scope.ResolveAs(Bool, when, nil))
	if len(b.Program.Initial) == 0 {
		Fail(when.At, "no state is initial: the condition of initial states holds nowhere")
	}
}

// Condition resolves a condition, in which clocks may be compared.
func (b *Builder) Condition(e *Expr, rename map[string]string) *Expr {
	r := b.Scope.ResolveAs(Bool, e, rename)
	if b.HasClocks() {
		b.closed(r, true)
	}
	return r
}

// Number resolves an expression that does not depend on clocks, and says in errors what it is.
func (b *Builder) Number(e *Expr, rename map[string]string, what string) *Expr {
	r := b.Scope.ResolveAs(Double, e, rename)
	b.timeless(r, what)
	return r
}

// Groups resolves commands, and adds a group of them for each action. It returns the numbers of the groups, and the
// actions in order.
func (b *Builder) Groups(commands []Command, rename map[string]string) (groups map[string]int32, order []string) {
	of := make(map[string][]Command)
	for _, c := range commands {
		if of[c.Action] == nil {
			order = append(order, c.Action)
		}
		of[c.Action] = append(of[c.Action], b.command(c, rename))
	}
	groups = make(map[string]int32, len(order))
	for _, action := range order {
		groups[action] = b.Program.AddGroup(of[action])
	}
	return groups, order
}

func (b *Builder) command(c Command, rename map[string]string) Command {
	c.Guard = b.Condition(c.Guard, rename)
	c.Updates = slices.Clone(c.Updates)
	for i := range c.Updates {
		u := &c.Updates[i]
		if u.Probability == nil {
			u.Probability = NewInt(u.At, 1)
		}
		u.Probability = b.Number(u.Probability, rename, "a probability")
		given := u.Assign
		u.Assign = nil
		for _, a := range given {
			a = b.assignment(a, rename)
			same := func(x Assignment) bool { return x.Variable == a.Variable && x.Index == a.Index }
			if slices.ContainsFunc(u.Assign, same) {
				Fail(a.At, "%s is written twice", Shorten(b.Program.variable(a.Variable).Name))
			}
			u.Assign = append(u.Assign, a)
		}
	}
	return c
}

func (b *Builder) assignment(a Assignment, rename map[string]string) Assignment {
	name := Renamed(rename, a.Name)
	index, ok := b.Scope.IndexOf(name)
	if !ok {
		Fail(a.At, "%s is no variable", Shorten(name))
	}
	a.Variable = index
	a.Value = b.Scope.ResolveAs(b.Program.variable(index).Type, a.Value, rename)
	b.checkTime(a)
	return a
}
