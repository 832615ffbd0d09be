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
type clocks struct {
	most    map[int64]int64 // of each clock, by the number of its variable
	counted bool            // the ranges of clocks are known
}

// HasClocks reports whether there are clocks.
func (b *Builder) HasClocks() bool { return len(b.clocks.most) > 0 }

// clock reports whether an expression is a clock, and which. One that is compared with a number of type Double counts
// too.
func (b *Builder) clock(e *Expr) (variable int64, ok bool) {
	if e.Op == toDouble {
		e = e.Args[0]
	}
	if e.Op != Var {
		return 0, false
	}
	_, ok = b.clocks.most[e.Int]
	return e.Int, ok
}

// checkTime checks that an assignment sets a clock to a constant, or another variable to what depends on no clocks.
func (b *Builder) checkTime(a Assignment) {
	most, ok := b.clocks.most[int64(a.Variable)]
	switch value := a.Value; {
	case !ok:
		b.timeless(value, "a value")
	case value.Op != Literal:
		Fail(value.At, "a clock is set to a value that depends on the state: want a constant")
	case value.Int < 0 || value.Int > math.MaxInt32:
		Fail(value.At, "a clock is set to %d: want 0 to %d", value.Int, math.MaxInt32)
	default:
		b.clocks.most[int64(a.Variable)] = max(most, value.Int)
	}
}

// timeless fails if an expression reads a clock.
func (b *Builder) timeless(e *Expr, what string) {
	e.walk(func(e *Expr) {
		if _, ok := b.clock(e); ok {
			Fail(e.At, "%s depends on a clock: clocks stand in conditions such as x<=5", what)
		}
	})
}

// closed checks that a condition compares clocks with numbers, and that it holds, or else does not hold, for closed
// sets of their values, which digital clocks need. It notes the numbers.
func (b *Builder) closed(e *Expr, holds bool) {
	switch e.Op {
	case And, Or:
		for _, a := range e.Args {
			b.closed(a, holds)
		}
	case Not:
		b.closed(e.Args[0], !holds)
	case Eq, Ne, Lt, Le, Gt, Ge:
		b.comparison(e, holds)
	default:
		b.timeless(e, "a part of a condition")
	}
}

func (b *Builder) comparison(e *Expr, holds bool) {
	x, y := e.Args[0], e.Args[1]
	if _, ok := b.clock(y); ok {
		x, y = y, x
	}
	clock, ok := b.clock(x)
	if !ok {
		b.timeless(e, "a part of a condition")
		return
	}
	b.timeless(y, "the number that a clock is compared with")
	isClosed := e.Op == Eq || e.Op == Le || e.Op == Ge
	if isClosed != holds {
		Fail(e.At, "the condition excludes its bound, as x<5 does: "+
			"digital clocks want bounds that are included, as in x<=5")
	}
	low, most, ok := b.rangeOf(y)
	switch counts := b.Program.Variables[clock].High - 1; {
	case !ok || low > most || most > math.MaxInt32:
		Fail(y.At, "no bound of the number that a clock is compared with is known: want sums of constants and variables")
	case b.clocks.counted && most > counts:
		Fail(y.At, "a clock that counts to %d, as far as the model looks at it, is compared with %d: "+
			"want a label of the model that does so", counts, most)
	}
	b.clocks.most[clock] = max(b.clocks.most[clock], most)
}

// rangeOf returns the least and the largest value that an expression may have, if it is a sum of integers and the like.
func (b *Builder) rangeOf(e *Expr) (low, high int64, ok bool) {
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
		v := b.Program.variable(int(e.Int))
		return v.Low, v.High, v.Type == Int && v.Low > -most && v.High < most
	case toDouble:
		return b.rangeOf(args[0])
	case If:
		args = args[1:]
	case Add, Sub, Min, Max:
	default:
		return 0, 0, false
	}
	for i, a := range args {
		l, h, known := b.rangeOf(a)
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

// AddTime adds the steps in which time passes: all clocks run together, as long as the invariants allow it.
func (b *Builder) AddTime(invariants []*Expr) {
	b.clocks.counted = true
	b.Scope.replaced = make(map[int64]*Expr)
	update := Update{Probability: NewDouble(Pos{}, 1)}
	for _, variable := range slices.Sorted(maps.Keys(b.clocks.most)) {
		most := b.clocks.most[variable] + 1
		b.Program.Variables[variable].High = most
		clock := &Expr{Op: Var, Type: Int, Int: variable}
		b.Scope.replaced[variable] = &Expr{Op: Add, Type: Int, Args: []*Expr{clock, NewInt(Pos{}, 1)}}
		value := b.Scope.ResolveAs(Int, New(Min, Pos{}, clock, NewInt(Pos{}, most)), nil)
		update.Assign = append(update.Assign, Assignment{Variable: int(variable), Value: value})
	}
	guard := b.Scope.ResolveAs(Bool, New(And, Pos{}, append(invariants, NewBool(Pos{}, true))...), nil)
	b.Scope.replaced = nil
	g := b.Program.AddGroup([]Command{{Name: "a step of time", Guard: guard, Updates: []Update{update}}})
	b.Program.Vectors = append(b.Program.Vectors, Vector{Action: b.Action(TimeAction), Groups: []int32{g}})
}
