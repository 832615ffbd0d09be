package language

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// tolerance is how far the probabilities of a command may sum to something other than 1.
const tolerance = 1e-9

// A machine is a program that is ready to run. It may be used concurrently.
type machine struct {
	*Program
	layout   *layout
	fields   []field // of variables and transient ones
	guards   *guardTable
	commands []command // of all groups, one after the other
	indices  []int32   // of assignments, in order
	// staged are the vectors whose assignments are carried out index by index: where indices matter, where rewards look
	// at what comes after, or where two groups may write the same variable. Others write a packed state at once.
	staged  []bool
	rewards []earnings
	// differs tells that successors of a choice may have different rewards: by what comes after, or as commands of a
	// chain, which are one choice.
	differs bool
}

type command struct {
	*Command
	group int32
	// fixed holds the probabilities if none of them depends on the state.
	fixed []float64
}

// Earnings are the items of a reward structure by their actions.
type earnings struct {
	name          string // for errors
	before, after map[int32][]*RewardItem
}

func compileProgram(p *Program) *machine {
	m := &machine{Program: p, layout: newLayout(p.Variables)}
	m.fields = slices.Clone(m.layout.fields)
	for _, v := range p.Transient {
		m.fields = append(m.fields, field{low: v.Low, high: v.High})
	}
	for g, commands := range p.Groups {
		for i := range commands {
			c := &commands[i]
			m.commands = append(m.commands, command{Command: c, group: int32(g), fixed: c.fixed()})
		}
	}
	m.stage()
	for i := range p.Rewards {
		m.rewards = append(m.rewards, byAction(&p.Rewards[i]))
		m.differs = m.differs || slices.ContainsFunc(p.Rewards[i].Items, func(item RewardItem) bool {
			return item.After || p.Kind == Chain && item.Action >= 0
		})
	}
	m.guards = newGuardTable(m)
	return m
}

// fixed returns the probabilities of the updates, nil if they depend on the state. Those that are wrong are left for
// the first state where the command is enabled.
func (c *Command) fixed() (p []float64) {
	for _, u := range c.Updates {
		if u.Probability.Op != Literal {
			return nil
		}
		p = append(p, u.Probability.Num())
	}
	if checkProbabilities(p) != "" {
		return nil
	}
	return p
}

// told is how many rewards are told of each successor: all of them or none.
func (m *machine) told() int {
	if m.differs {
		return len(m.rewards)
	}
	return 0
}

func byAction(r *Reward) earnings {
	e := earnings{"reward " + r.Name, make(map[int32][]*RewardItem), make(map[int32][]*RewardItem)}
	for i := range r.Items {
		item, of := &r.Items[i], e.before
		if item.After {
			of = e.after
		}
		if !item.Guard.is(false) {
			of[item.Action] = append(of[item.Action], item)
		}
	}
	return e
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
	writes := make([][]int, len(m.Groups))
	for _, c := range m.commands {
		for _, u := range c.Updates {
			for _, a := range u.Assign {
				m.indices = append(m.indices, a.Index)
				writes[c.group] = append(writes[c.group], a.Variable)
			}
		}
	}
	m.indices = set(m.indices)
	all := len(m.indices) > 1 || len(m.Transient) > 0 || slices.ContainsFunc(m.Rewards, func(r Reward) bool {
		return slices.ContainsFunc(r.Items, func(i RewardItem) bool { return i.After })
	})
	for g := range writes {
		writes[g] = set(writes[g])
	}
	for _, v := range m.Vectors {
		var written []int
		for _, g := range v.Groups {
			written = append(written, writes[g]...)
		}
		m.staged = append(m.staged, all || len(set(slices.Clone(written))) < len(written))
	}
}

// set sorts a list and leaves out what stands in it twice.
func set[T cmp.Ordered](list []T) []T {
	slices.Sort(list)
	return slices.Compact(list)
}
