package problem

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cmdpsolve/cmdp"
)

// A Process is what policies of a problem are for: its model, or one whose states also say what is remembered of the
// course of an episode. It names states and actions in the user's words. It is immutable and safe for concurrent use.
type Process struct {
	// Model is nil if a simulator is played.
	Model *cmdp.Model
	// Returns names the coordinates of the model's returns: those of the problem, then those that tell about the
	// course.
	Returns []string

	of     *Problem
	memory Memory
	// pairs holds of each state of the problem its states in the product by what is remembered. Only policies that
	// are read ask for it.
	pairs func() []map[string]int32
}

// A Memory says what the states of a model remember of the course of an episode, for policy files. The model has the
// transitions of that of the problem, in their order, for each of its states with each thing that may be remembered.
type Memory interface {
	// State returns the state of the problem that state s is about, and Memory what is remembered there, "" for
	// nothing.
	State(s int) int
	Memory(s int) string
	// Action returns the action of the problem that action a of state s at step h is, −1 where the problem rests.
	Action(h, s, a int) int
	// Restricted reports whether the model leaves out choices of the problem.
	Restricted() bool
	// Parts lists the things that are remembered, in the order of their values in Memory.
	Parts() []MemoryPart
}

// A MemoryPart is one thing that is remembered, and what its values may be.
type MemoryPart struct {
	Name   string
	Values []string
}

// noMemory is that of a model that is the problem's own.
type noMemory struct{}

func (noMemory) State(s int) int        { return s }
func (noMemory) Memory(int) string      { return "" }
func (noMemory) Action(_, _, a int) int { return a }
func (noMemory) Restricted() bool       { return false }
func (noMemory) Parts() []MemoryPart    { return nil }

// Process returns the process of a problem in which nothing is remembered.
func (p *Problem) Process() *Process {
	return &Process{Model: p.Model, Returns: p.Returns, of: p, memory: noMemory{}}
}

// Remembering returns the process of a problem for a model whose states remember something, and whose coordinates
// have the given names.
func (p *Problem) Remembering(m *cmdp.Model, memory Memory, returns []string) *Process {
	x := &Process{Model: m, Returns: returns, of: p, memory: memory}
	x.pairs = sync.OnceValue(x.index)
	return x
}

// index lists which states of the model are about which state of the problem.
func (x *Process) index() []map[string]int32 {
	pairs := make([]map[string]int32, x.of.Model.States())
	for s := range x.Model.States() {
		of, text := x.memory.State(s), x.memory.Memory(s)
		if pairs[of] == nil {
			pairs[of] = make(map[string]int32, 1)
		}
		// Where nothing is told apart that comes up, a pair that does not come up may be told like one that does.
		if _, told := pairs[of][text]; told && x.Model.Epochs() != nil && !x.Model.Epochs().ComesUp(s) {
			continue
		}
		pairs[of][text] = int32(s)
	}
	return pairs
}

// comesUp reports whether a memory value comes up in any state.
func (x *Process) comesUp(text string) bool {
	return slices.ContainsFunc(x.pairs(), func(in map[string]int32) bool { _, ok := in[text]; return ok })
}

// Shape returns what is known of the process without its kernel: the shape of the model, which
// is nil without a horizon, or that of the simulator.
func (x *Process) Shape() *cmdp.Shape { return x.played().shape() }

// A played process is a model or, where that is nil, a simulator.
type played struct {
	model     *cmdp.Model
	simulated *cmdp.Shape
}

func (x *Process) played() played { return played{x.Model, x.of.Simulated} }
func (p *Problem) played() played { return played{p.Model, p.Simulated} }

func (y played) shape() *cmdp.Shape {
	if y.model == nil {
		return y.simulated
	}
	return y.model.Shape()
}

// columns returns the number of the opponent's actions.
func (y played) columns(h, s int) int {
	if sh := y.shape(); sh != nil {
		return sh.OpponentActions(h, s)
	}
	return 1
}

// states returns the number of states.
func (y played) states() int {
	if y.model == nil {
		return y.simulated.States()
	}
	return y.model.States()
}

// Declared returns the state of the problem that a state of the process is about.
func (x *Process) Declared(s int) int { return x.memory.State(s) }

// Remembers reports whether policies remember anything.
func (x *Process) Remembers() bool { return x.pairs != nil }

// StateName returns the name of a state. Where something is remembered, that follows in parentheses.
func (x *Process) StateName(s int) string { return remembering(x.place(s)) }

// place returns the name of a state without what is remembered there, and that.
func (x *Process) place(s int) (name, memory string) {
	return x.of.StateName(x.Declared(s)), x.memory.Memory(s)
}

// remembering writes a state and what is remembered there.
func remembering(state, memory string) string {
	if memory == "" {
		return state
	}
	return state + " (" + memory + ")"
}

// restAction is the action of a state that only rests, where a step changes what is remembered.
const restAction = "rest"

// ActionName returns the name of action a of state s at the 0-based step h, its number if actions have no
// names. In a game it is the agent's.
func (x *Process) ActionName(h, s, a int) string {
	of := x.memory.Action(h, s, a)
	if of < 0 {
		return restAction
	}
	return x.of.ActionName(h, x.Declared(s), of)
}

// find returns the number of the action of state s at step h that has a name, −1 if the state does not offer it.
func (x *Process) find(h, s int, action string) int {
	first, end := x.span(h, s)
	for a := range end - first {
		if x.ActionName(h, s, a) == action && x.offers(h, s, a) {
			return a
		}
	}
	return -1
}

// offers reports whether action a of state s is offered at step h. Rows that are generated keep the numbers of choices
// that are taken away, which have no successors, and have no rows of pairs that do not come up then.
func (x *Process) offers(h, s, a int) bool {
	if x.Model == nil {
		return true
	}
	rows := x.Model.Rows(h)
	first, end := rows.Choices(s)
	if first == end {
		return true
	}
	next, _ := rows.Row(first + a)
	return len(next) > 0
}

// IntervalsAt says where the intervals of action a of state s at the first step stand, as in "line 3" or "line 3 of
// rows.yaml"; "" if they do not stand in a text.
func (x *Process) IntervalsAt(s, a int) string {
	of := x.memory.Action(0, s, a)
	if of < 0 {
		return ""
	}
	first, _ := x.of.Model.Rows(0).Choices(x.Declared(s))
	line := x.of.intervalLines[first+of]
	switch {
	case line == 0:
		return ""
	case x.of.intervalFile == "":
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("line %d of %s", line, x.of.intervalFile)
}

// OpponentName returns the name of action b of the opponent, as ActionName does those of the agent.
func (x *Process) OpponentName(h, s, b int) string { return x.of.OpponentName(h, s, b) }

// span returns the numbers [first, end) of the actions of a state among those of all states; in a game, of
// pairs of actions.
func (x *Process) span(h, s int) (first, end int) {
	if sh := x.Shape(); sh != nil {
		return sh.Choices(h, s)
	}
	return x.Model.Rows(h).Choices(s)
}

// offered returns a function that returns the numbers of the actions that a state offers at step h, none if it
// does not come up then.
func (x *Process) offered(h int) func(s int) (first, end int) {
	if x.Model != nil {
		return x.Model.Rows(h).Choices
	}
	return func(s int) (first, end int) { return x.span(h, s) }
}

// horizon returns the number of steps of an episode, 0 without a horizon.
func (x *Process) horizon() int {
	switch {
	case x.Model != nil:
		return x.Model.Horizon()
	case x.of.SimulatedDiscount > 0:
		return 0
	}
	return x.of.Simulated.Horizon()
}

// stationary reports whether steps do not differ.
func (x *Process) stationary() bool {
	if x.Model == nil {
		return x.of.Simulated.SameEveryStep()
	}
	return x.Model.Stationary()
}

// Expression writes a linear form of the returns for people, such as "reward + 2 cost".
func (x *Process) Expression(coefficients []float64) string {
	var b strings.Builder
	for i, a := range coefficients {
		if a == 0 {
			continue
		}
		switch {
		case b.Len() == 0 && a < 0:
			b.WriteString("-")
		case a < 0:
			b.WriteString(" - ")
		case b.Len() > 0:
			b.WriteString(" + ")
		}
		if size := strconv.FormatFloat(math.Abs(a), 'g', 3, 64); size != "1" {
			b.WriteString(size + " ")
		}
		b.WriteString(x.Returns[i])
	}
	return b.String()
}

// PolicyRows returns the rows of a policy of a player: one for every action of positive
// probability, at every step for each state that offers actions there. Without a horizon
// policies are stationary, and rows have no steps. Of a simulator all states have numbers, as in
// its shape.
func (x *Process) PolicyRows(policy cmdp.Policy, player Player) iter.Seq[PolicyRow] {
	return func(yield func(PolicyRow) bool) {
		horizon, states, probs := x.horizon(), x.played().states(), []float64(nil)
		for h := range max(1, horizon) {
			row, offered := PolicyRow{Step: min(h+1, horizon)}, x.offered(h)
			for s := range states {
				columns, name := x.played().columns(h, s), x.ActionName
				first, end := offered(s)
				n := (end - first) / columns
				if n == 0 {
					continue
				}
				if player == Adversary {
					n, name = columns, x.OpponentName
				}
				if cap(probs) < n {
					probs = make([]float64, n)
				}
				policy.Distribution(probs[:n], h, s)
				row.State, row.Memory = x.place(s)
				for a, q := range probs[:n] {
					row.Action, row.Probability = name(h, s, a), q
					if q != 0 && !yield(row) {
						return
					}
				}
			}
		}
	}
}
