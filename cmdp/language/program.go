package language

import "slices"

// A Kind is what a program describes.
type Kind uint8

// The kinds. In a chain what is enabled in a state is chosen with equal probability. In a game every
// state belongs to one of two players.
const (
	Process Kind = iota
	Chain
	Game
)

// A Program is a model in resolved expressions. Its commands stand in groups; a vector names the groups that move
// together, each with one of its enabled commands.
type Program struct {
	File      string // for errors
	Kind      Kind
	Variables []Variable
	// Transient variables, which are numbered after the others, are no part of a state. Values of type
	// Double stand as the bits of the number.
	Transient []Variable
	// Initial holds the values of all variables in the initial states.
	Initial [][]int64
	// InitialAt is where they are said, if it is a condition.
	InitialAt Pos
	// Players names the two players of a game; nil where nobody has a name.
	Players []string
	// Actions names the actions. The empty name stands for none.
	Actions []string
	Groups  [][]Command
	Vectors []Vector
	Rewards []Reward
	Labels  []Label
	// Invariants hold in every state; where one does not, that is an error.
	Invariants []Label
	// NoDeadlocks makes a state without choices an error, with this message.
	NoDeadlocks string
	// Rest, if not nil, is a condition: states where it holds are at rest, without choices and rewards.
	Rest *Expr
	// Parse reads a condition on the variables in the program's language.
	Parse func(text string) (*Expr, error)
}

// A Command is enabled where its guard holds.
type Command struct {
	At      Pos
	Name    string // for errors
	Action  string // until commands are grouped
	Guard   *Expr
	Updates []Update
}

// An Update assigns values, all of which are computed before, with a probability.
type Update struct {
	At          Pos
	Probability *Expr // nil for 1, until it is resolved
	Assign      []Assignment
}

// An Assignment gives a variable the value of an expression of its type. Those with a lower index come
// first, of all commands that move together; those with the same one are carried out at once.
type Assignment struct {
	At       Pos
	Index    int32
	Name     string // until it is resolved
	Variable int
	Value    *Expr
}

// A Vector is a way to move: one command of each of its groups, under the name of an action, which
// belongs to a player, or to none where that is −1.
type Vector struct {
	Action int32
	Player int8
	Groups []int32
}

// A Reward is a reward structure. What its items give adds up.
type Reward struct {
	Name  string
	Items []RewardItem
}

// A RewardItem is earned in every step from states where the guard holds, or if Action is not −1, with
// every choice of that action there. If After is set, guard and value are those of the values, also of
// transient variables, after the assignments; a choice then earns what is expected.
type RewardItem struct {
	At           Pos
	Action       int32
	After        bool
	Guard, Value *Expr
}

// A Label names the states where a condition holds.
type Label struct {
	Name string
	At   Pos
	When *Expr
}

// Entering adds a reward structure that gives 1 for a step into a state where a condition holds.
func (p *Program) Entering(name string, when *Expr) {
	r := Reward{Name: name}
	for i := range p.Actions {
		one := NewDouble(when.At, 1)
		r.Items = append(r.Items, RewardItem{At: when.At, Action: int32(i), After: true, Guard: when, Value: one})
	}
	p.Rewards = append(p.Rewards, r)
}

// Initially reports whether a condition holds in some initial state.
func (p *Program) Initially(when *Expr) (holds bool, err error) {
	err = Try(p.File, func() { holds = slices.ContainsFunc(p.Initial, when.holds) })
	return holds, err
}

// None returns the condition that none of some commands is enabled.
func None(at Pos, commands []Command) *Expr {
	none := New(And, at, NewBool(at, true))
	for _, c := range commands {
		none.Args = append(none.Args, New(Not, at, c.Guard))
	}
	return none
}

// IsInitial returns the condition that a state is initial.
func (p *Program) IsInitial() *Expr {
	some := New(Or, Pos{}, NewBool(Pos{}, false))
	for _, values := range p.Initial {
		all := New(And, Pos{}, NewBool(Pos{}, true))
		for i, v := range p.Variables {
			variable := &Expr{Op: Var, Type: v.Type, Int: int64(i)}
			all.Args = append(all.Args, New(Eq, Pos{}, variable, newLiteral(Pos{}, v.Type, values[i])))
		}
		some.Args = append(some.Args, all)
	}
	return some
}

// Deadlock returns the condition that a state has no choices: of each vector, some group has no enabled command.
func (p *Program) Deadlock() *Expr {
	all := New(And, Pos{}, NewBool(Pos{}, true))
	for _, v := range p.Vectors {
		some := New(Or, Pos{})
		for _, g := range v.Groups {
			some.Args = append(some.Args, None(Pos{}, p.Groups[g]))
		}
		all.Args = append(all.Args, some)
	}
	return all
}

// variable returns a variable or transient variable by its number.
func (p *Program) variable(i int) *Variable {
	if n := len(p.Variables); i >= n {
		return &p.Transient[i-n]
	}
	return &p.Variables[i]
}

// AddGroup adds commands as a group of their own and returns its number.
func (p *Program) AddGroup(commands []Command) int32 {
	p.Groups = append(p.Groups, commands)
	return int32(len(p.Groups) - 1)
}

// conjuncts splits a condition at its conjunctions.
func conjuncts(e *Expr, dst []*Expr) []*Expr {
	if e.Op != And {
		return append(dst, e)
	}
	for _, a := range e.Args {
		dst = conjuncts(a, dst)
	}
	return dst
}
