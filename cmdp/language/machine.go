package language

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// tolerance is how far the probabilities of a command may sum to something other than 1.
const tolerance = 1e-9

// A machine is a compiled program. It may be used concurrently.
type machine struct {
	*Program
	layout   *layout
	guards   *guardTable
	commands []compiledCommand // of all groups, one after the other
	indices  []int32           // of assignments, in order
	// staged are the vectors whose assignments are carried out index by index: where indices matter, where rewards look
	// at what comes after, or where two groups may write the same variable. Others write a packed state at once.
	staged     []bool
	rewards    []compiledReward
	invariants []boolFunc
	rest       boolFunc // nil for none
}

type compiledCommand struct {
	*Command
	group   int32
	updates []compiledUpdate
	// fixed holds the probabilities if none of them depends on the state.
	fixed []float64
}

type compiledUpdate struct {
	probability doubleFunc
	assign      []compiledAssignment
}

type compiledAssignment struct {
	variable  int32
	index     int32
	field     field
	low, high int64
	at        Pos
	constant  bool
	value     int64
	compute   intFunc
}

type compiledReward struct {
	name     string // for errors
	ofState  []compiledItem
	ofAction map[int32][]compiledItem
	after    map[int32][]compiledItem
}

type compiledItem struct {
	at    Pos
	guard boolFunc // nil for true
	value doubleFunc
}

func compile(p *Program) *machine {
	m := &machine{Program: p, layout: newLayout(p.Variables)}
	for g, commands := range p.Groups {
		for i := range commands {
			m.commands = append(m.commands, m.compileCommand(&commands[i], int32(g)))
		}
	}
	m.stage()
	for i := range p.Rewards {
		m.rewards = append(m.rewards, compileReward(&p.Rewards[i]))
	}
	for _, l := range p.Invariants {
		m.invariants = append(m.invariants, compileBool(l.When))
	}
	if p.Rest != nil {
		m.rest = compileBool(p.Rest)
	}
	m.guards = newGuardTable(m)
	return m
}

func (m *machine) compileCommand(c *Command, group int32) compiledCommand {
	compiled := compiledCommand{Command: c, group: group, updates: make([]compiledUpdate, len(c.Updates))}
	for i, u := range c.Updates {
		p := u.Probability
		if p == nil {
			p = NewDouble(u.At, 1)
		}
		if p.Op == Literal {
			compiled.fixed = append(compiled.fixed, p.Num())
		}
		compiled.updates[i].probability = compileDouble(p)
		for _, a := range u.Assign {
			compiled.updates[i].assign = append(compiled.updates[i].assign, m.compileAssignment(a))
		}
	}
	if len(compiled.fixed) < len(c.Updates) || checkProbabilities(compiled.fixed) != "" {
		compiled.fixed = nil // if they are wrong it is said in the first state where the command is enabled
	}
	return compiled
}

func (m *machine) compileAssignment(a Assignment) compiledAssignment {
	v := m.variable(a.Variable)
	c := compiledAssignment{variable: int32(a.Variable), index: a.Index, low: v.Low, high: v.High, at: a.At}
	if a.Variable < len(m.Variables) {
		c.field = m.layout.fields[a.Variable]
	}
	c.value = a.Value.Int
	c.constant = a.Value.Op == Literal && c.value >= v.Low && c.value <= v.High
	c.compute = compileValue(a.Value)
	return c
}

// checkProbabilities says what is wrong with a distribution.
func checkProbabilities(p []float64) string {
	sum := 0.0
	for _, x := range p {
		if !(x >= 0 && x <= math.MaxFloat64) {
			return fmt.Sprintf("%g is not a probability", x)
		}
		sum += x
	}
	if !(math.Abs(sum-1) <= tolerance) {
		return fmt.Sprintf("the probabilities sum to %.12g: want 1", sum)
	}
	return ""
}

// stage finds the indices of assignments and the staged vectors.
func (m *machine) stage() {
	used := map[int32]bool{0: true}
	writes := make([]map[int32]bool, len(m.Groups))
	for g := range writes {
		writes[g] = make(map[int32]bool)
	}
	for _, c := range m.commands {
		for _, u := range c.updates {
			for _, a := range u.assign {
				used[a.index] = true
				writes[c.group][a.variable] = true
			}
		}
	}
	m.indices = slices.Sorted(maps.Keys(used))
	after := slices.ContainsFunc(m.Rewards, func(r Reward) bool {
		return slices.ContainsFunc(r.Items, func(i RewardItem) bool { return i.After })
	})
	m.staged = make([]bool, len(m.Vectors))
	for i, v := range m.Vectors {
		m.staged[i] = len(m.indices) > 1 || after || len(m.Transient) > 0
		if len(v.Groups) < 2 {
			continue
		}
		seen := make(map[int32]bool)
		for _, g := range v.Groups {
			for variable := range writes[g] {
				m.staged[i] = m.staged[i] || seen[variable]
				seen[variable] = true
			}
		}
	}
}

func compileReward(r *Reward) compiledReward {
	c := compiledReward{name: "reward " + r.Name}
	c.ofAction, c.after = make(map[int32][]compiledItem), make(map[int32][]compiledItem)
	for i := range r.Items {
		item := &r.Items[i]
		if item.Guard.is(false) {
			continue
		}
		compiled := compiledItem{at: item.At, value: compileDouble(item.Value)}
		if !item.Guard.is(true) {
			compiled.guard = compileBool(item.Guard)
		}
		switch {
		case item.Action < 0:
			c.ofState = append(c.ofState, compiled)
		case item.After:
			c.after[item.Action] = append(c.after[item.Action], compiled)
		default:
			c.ofAction[item.Action] = append(c.ofAction[item.Action], compiled)
		}
	}
	return c
}
