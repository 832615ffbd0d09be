package prism

import (
	"math"
	"slices"

	"cmdpsolve/cmdp/language"
)

// timeAction is the action of a step in which time passes.
const timeAction = "time"

// A clock becomes an integer variable (Kwiatkowska, Norman, Parker and Sproston, Performance analysis
// of probabilistic timed automata using digital clocks, 2006). It stops one above the largest number
// that it is compared with or set to, beyond which no condition tells its values apart.
type clock struct {
	variable int
	most     int64
}

// isTimed reports whether time passes in the model.
func (b *builder) isTimed() bool { return b.source.kind.text == "pta" || len(b.times) > 0 }

func (b *builder) clockOf(variable int) *clock {
	for _, c := range b.times {
		if c.variable == variable {
			return c
		}
	}
	return nil
}

// set notes that a clock is set to a value.
func (c *clock) set(value *expr) error {
	if value.Op != language.Literal {
		return wrong(value.At, "a clock is set to a value that depends on the state: want a constant")
	}
	if value.Int < 0 {
		return wrong(value.At, "a clock is set to %d: want 0 or more", value.Int)
	}
	c.most = max(c.most, value.Int)
	return nil
}

// clocks resolves invariants, and checks what stands beside clocks.
func (b *builder) clocks() error {
	for _, in := range b.modules {
		if in.module.invariant == nil {
			continue
		}
		if !b.isTimed() {
			return wrong(in.module.invariant.At, "an invariant in a model without clocks: want pta")
		}
		when, err := b.condition(in.module.invariant, in.rename)
		if err != nil {
			return err
		}
		b.program.Invariants = append(b.program.Invariants, language.Label{Name: "the invariant of module " + in.name, At: when.At, When: when})
	}
	if !b.isTimed() {
		return nil
	}
	if k := b.source.kind; k.text != "" && k.text != "pta" && k.text != "mdp" && k.text != "nondeterministic" {
		return wrong(k.at, "clocks in a model of type %s: want pta", k)
	}
	b.action(timeAction)
	for _, in := range b.modules {
		for i := range in.module.commands {
			if a := in.module.commands[i].action; a.text != "" && in.renamed(a.text) == timeAction {
				return wrong(a.at, "an action called time, which is that of steps in which time passes: want another name")
			}
		}
	}
	return nil
}

// noClocks returns an error if an expression reads a clock.
func (b *builder) noClocks(e *expr, what string) error {
	if len(b.times) == 0 {
		return nil
	}
	if e.Op == language.Var && b.clockOf(int(e.Int)) != nil {
		return wrong(e.At, "%s depends on a clock: clocks stand in conditions such as x<=5", what)
	}
	for _, a := range e.Args {
		if err := b.noClocks(a, what); err != nil {
			return err
		}
	}
	return nil
}

// checkClocks checks that a condition compares clocks with numbers and holds for closed sets of their
// values, which digital clocks need, and notes the numbers.
func (b *builder) checkClocks(e *expr) error {
	if len(b.times) == 0 {
		return nil
	}
	return b.closed(e, true)
}

// closed checks a condition that has to hold, or not to hold, for closed sets.
func (b *builder) closed(e *expr, holds bool) error {
	switch e.Op {
	case language.And, language.Or:
		for _, a := range e.Args {
			if err := b.closed(a, holds); err != nil {
				return err
			}
		}
		return nil
	case language.Not:
		return b.closed(e.Args[0], !holds)
	case language.Implies:
		if err := b.closed(e.Args[0], !holds); err != nil {
			return err
		}
		return b.closed(e.Args[1], holds)
	case language.Eq, language.Ne, language.Lt, language.Le, language.Gt, language.Ge:
		return b.comparison(e, holds)
	}
	return b.noClocks(e, "a part of a condition")
}

func (b *builder) comparison(e *expr, holds bool) error {
	x, y := e.Args[0], e.Args[1]
	if y.Op == language.Var && b.clockOf(int(y.Int)) != nil {
		x, y = y, x
	}
	if x.Op != language.Var || b.clockOf(int(x.Int)) == nil {
		return b.noClocks(e, "a part of a condition")
	}
	if err := b.noClocks(y, "the number that a clock is compared with"); err != nil {
		return err
	}
	isClosed := e.Op == language.Eq || e.Op == language.Le || e.Op == language.Ge
	if isClosed != holds {
		return wrong(e.At, "the condition excludes its bound, as x<5 does: digital clocks want bounds that are included, as in x<=5")
	}
	most, err := b.mostOf(y)
	if err != nil {
		return err
	}
	c := b.clockOf(int(x.Int))
	c.most = max(c.most, most)
	return nil
}

// mostOf returns the largest value that an expression may have.
func (b *builder) mostOf(e *expr) (int64, error) {
	low, high, ok := b.rangeOf(e)
	if !ok || low > high || high > math.MaxInt32 {
		return 0, wrong(e.At, "no bound of the number that a clock is compared with is known: want sums of constants and variables")
	}
	return high, nil
}

func (b *builder) rangeOf(e *expr) (low, high int64, ok bool) {
	const most = 1 << 40
	switch e.Op {
	case language.Literal:
		return e.Int, e.Int, e.Type == language.Int && e.Int > -most && e.Int < most
	case language.Var:
		v := &b.variables[e.Int]
		return v.Low, v.High, v.Low > -most && v.High < most
	case language.Add, language.Sub, language.Min, language.Max, language.If:
	default:
		return 0, 0, false
	}
	args := e.Args
	if e.Op == language.If {
		args = args[1:]
	}
	for i, a := range args {
		l, h, known := b.rangeOf(a)
		if !known {
			return 0, 0, false
		}
		switch {
		case i == 0:
			low, high = l, h
		case e.Op == language.Add:
			low, high = low+l, high+h
		case e.Op == language.Sub:
			low, high = low-h, high-l
		case e.Op == language.Min:
			low, high = min(low, l), min(high, h)
		case e.Op == language.Max:
			low, high = max(low, l), max(high, h)
		default:
			low, high = min(low, l), max(high, h)
		}
	}
	return low, high, true
}

// addTime adds the steps in which time passes: all clocks run together, as long as the invariants allow
// it. Invariants hold in every state, and time never stands still.
func (b *builder) addTime() error {
	if !b.isTimed() {
		return nil
	}
	p := b.program
	for _, c := range b.times {
		p.Variables[c.variable].High = c.most + 1
	}
	guard := language.NewBool(language.Pos{}, true)
	for _, l := range p.Invariants {
		guard = language.New(language.And, l.At, guard, b.later(l.When))
		guard.Type = language.Bool
	}
	update := language.Update{}
	for _, c := range b.times {
		value := language.New(language.Min, language.Pos{}, b.later(b.variableOf(c)), language.NewInt(language.Pos{}, c.most+1))
		value.Type = language.Int
		update.Assign = append(update.Assign, language.Assignment{Variable: c.variable, Value: value})
	}
	g := b.group([]language.Command{{Name: "a step of time", Guard: guard, Updates: []language.Update{update}}})
	p.Vectors = append(p.Vectors, language.Vector{Action: b.actions[timeAction], Groups: []int32{g}})
	p.NoDeadlocks = "neither time can pass nor a command is enabled"
	return nil
}

func (b *builder) variableOf(c *clock) *expr {
	return &expr{Op: language.Var, Type: language.Int, Int: int64(c.variable)}
}

// later returns an expression one unit of time later.
func (b *builder) later(e *expr) *expr {
	if e.Op == language.Var && b.clockOf(int(e.Int)) != nil {
		return &expr{Op: language.Add, Type: language.Int, At: e.At, Args: []*expr{e, language.NewInt(e.At, 1)}}
	}
	later := *e
	later.Args = slices.Clone(e.Args)
	for i, a := range later.Args {
		later.Args[i] = b.later(a)
	}
	return &later
}
