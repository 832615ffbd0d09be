package language

import (
	"maps"
	"math"
	"slices"
)

// TimeAction is the action of a step in which time passes.
const TimeAction = "time"

// Clocks are integer variables of a program that count time (digital clocks: Kwiatkowska, Norman, Parker and
// Sproston, Performance analysis of probabilistic timed automata using digital clocks, 2006). Each stops one above
// the largest number that it is compared with or set to, beyond which no condition tells its values apart.
type Clocks struct {
	program *Program
	most    map[int64]int64 // of each clock, by the number of its variable
	counted bool            // the ranges of clocks are known
}

// NewClocks returns the clocks of a program, which has none yet.
func NewClocks(p *Program) *Clocks { return &Clocks{program: p, most: make(map[int64]int64)} }

// Add makes a variable a clock that starts at a value.
func (c *Clocks) Add(variable int, start int64) { c.most[int64(variable)] = start }

// Any reports whether there are clocks.
func (c *Clocks) Any() bool { return len(c.most) > 0 }

// is reports whether an expression is a clock, and which. One that is compared with a number of type Double counts too.
func (c *Clocks) is(e *Expr) (variable int64, ok bool) {
	if e.Op == toDouble {
		e = e.Args[0]
	}
	if e.Op != Var {
		return 0, false
	}
	_, ok = c.most[e.Int]
	return e.Int, ok
}

// Assign checks an assignment: a clock is set to a constant, and other values do not depend on clocks.
func (c *Clocks) Assign(a Assignment) {
	most, ok := c.most[int64(a.Variable)]
	switch value := a.Value; {
	case !ok:
		c.None(value, "a value")
	case value.Op != Literal:
		Fail(value.At, "a clock is set to a value that depends on the state: want a constant")
	case value.Int < 0 || value.Int > math.MaxInt32:
		Fail(value.At, "a clock is set to %d: want 0 to %d", value.Int, math.MaxInt32)
	default:
		c.most[int64(a.Variable)] = max(most, value.Int)
	}
}

// None fails if an expression reads a clock.
func (c *Clocks) None(e *Expr, what string) {
	if !c.Any() {
		return
	}
	if _, ok := c.is(e); ok {
		Fail(e.At, "%s depends on a clock: clocks stand in conditions such as x<=5", what)
	}
	for _, a := range e.Args {
		c.None(a, what)
	}
}

// Condition checks that a condition compares clocks with numbers and holds for closed sets of their
// values, which digital clocks need, and notes the numbers.
func (c *Clocks) Condition(e *Expr) {
	if c.Any() {
		c.closed(e, true)
	}
}

// closed checks a condition that has to hold, or not to hold, for closed sets.
func (c *Clocks) closed(e *Expr, holds bool) {
	switch e.Op {
	case And, Or:
		for _, a := range e.Args {
			c.closed(a, holds)
		}
	case Not:
		c.closed(e.Args[0], !holds)
	case Eq, Ne, Lt, Le, Gt, Ge:
		c.comparison(e, holds)
	default:
		c.None(e, "a part of a condition")
	}
}

func (c *Clocks) comparison(e *Expr, holds bool) {
	x, y := e.Args[0], e.Args[1]
	if _, ok := c.is(y); ok {
		x, y = y, x
	}
	clock, ok := c.is(x)
	if !ok {
		c.None(e, "a part of a condition")
		return
	}
	c.None(y, "the number that a clock is compared with")
	isClosed := e.Op == Eq || e.Op == Le || e.Op == Ge
	if isClosed != holds {
		Fail(e.At, "the condition excludes its bound, as x<5 does: "+
			"digital clocks want bounds that are included, as in x<=5")
	}
	low, most, ok := c.rangeOf(y)
	switch counts := c.program.Variables[clock].High - 1; {
	case !ok || low > most || most > math.MaxInt32:
		Fail(y.At, "no bound of the number that a clock is compared with is known: want sums of constants and variables")
	case c.counted && most > counts:
		Fail(y.At, "a clock that counts to %d, as far as the model looks at it, is compared with %d: "+
			"want a label of the model that does so", counts, most)
	}
	c.most[clock] = max(c.most[clock], most)
}

// rangeOf returns the least and the largest value that an expression may have, if it is a sum of integers and the like.
func (c *Clocks) rangeOf(e *Expr) (low, high int64, ok bool) {
	const most = 1 << 40
	args := e.Args
	switch e.Op {
	case Literal:
		x := e.Int
		if e.Type == Double {
			x = int64(max(-most, min(e.Num(), most)))
		}
		return x, x, x > -most && x < most && (e.Type == Int || float64(x) == e.Num())
	case Var:
		v := c.program.variable(int(e.Int))
		return v.Low, v.High, v.Type == Int && v.Low > -most && v.High < most
	case toDouble:
		return c.rangeOf(args[0])
	case If:
		args = args[1:]
	case Add, Sub, Min, Max:
	default:
		return 0, 0, false
	}
	for i, a := range args {
		l, h, known := c.rangeOf(a)
		switch {
		case !known:
			return 0, 0, false
		case i == 0:
			low, high = l, h
		case e.Op == Add:
			low, high = low+l, high+h
		case e.Op == Sub:
			low, high = low-h, high-l
		case e.Op == Min:
			low, high = min(low, l), min(high, h)
		case e.Op == Max:
			low, high = max(low, l), max(high, h)
		default:
			low, high = min(low, l), max(high, h)
		}
	}
	return low, high, true
}

// AddTime adds the steps in which time passes, with the given number of the action: all clocks run together, as long
// as the invariants allow it.
func (c *Clocks) AddTime(action int32, invariants []*Expr) {
	c.counted = true
	p := c.program
	guard := NewBool(Pos{}, true)
	for _, e := range invariants {
		guard = New(And, e.At, guard, c.later(e))
		guard.Type = Bool
	}
	update := Update{}
	for _, variable := range slices.Sorted(maps.Keys(c.most)) {
		most := c.most[variable] + 1
		p.Variables[variable].High = most
		clock := &Expr{Op: Var, Type: Int, Int: variable}
		value := New(Min, Pos{}, c.later(clock), NewInt(Pos{}, most))
		value.Type = Int
		update.Assign = append(update.Assign, Assignment{Variable: int(variable), Value: value})
	}
	g := p.AddGroup([]Command{{Name: "a step of time", Guard: guard, Updates: []Update{update}}})
	p.Vectors = append(p.Vectors, Vector{Action: action, Groups: []int32{g}})
}

// later returns an expression one unit of time later.
func (c *Clocks) later(e *Expr) *Expr {
	if _, ok := c.is(e); ok && e.Op == Var {
		return &Expr{Op: Add, Type: Int, At: e.At, Args: []*Expr{e, NewInt(e.At, 1)}}
	}
	later := *e
	later.Args = slices.Clone(e.Args)
	for i, a := range later.Args {
		later.Args[i] = c.later(a)
	}
	return &later
}
