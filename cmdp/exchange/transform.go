package exchange

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Deadlock is the label that PRISM and Storm give to a state that had no choices
// and was given a loop, because their files want one.
const Deadlock = "deadlock"

// RestAtDeadlocks takes the loops of states without choices out again: where the
// only choice of a state with the label [Deadlock] leads back to it for certain
// and nothing is earned there, the choice is removed. The label stays with states that have
// choices.
func (m *Model) RestAtDeadlocks() {
	states, ok := m.Label(Deadlock)
	if !ok {
		return
	}
	drop := make([]bool, m.Choices())
	kept := slices.DeleteFunc(slices.Clone(states), func(s int32) bool {
		if m.loops(int(s)) {
			drop[m.First[s]] = true
			return true
		}
		return m.First[s] == m.First[s+1]
	})
	m.remove(drop)
	m.Labels = slices.DeleteFunc(m.Labels, func(l Label) bool { return l.Name == Deadlock && len(kept) == 0 })
	for i := range m.Labels {
		if m.Labels[i].Name == Deadlock {
			m.Labels[i].States = kept
		}
	}
}

// Deadlocks returns the states without choices and those with the label [Deadlock], in order,
// which are those that files of PRISM and Storm give the label.
func (m *Model) Deadlocks() []int32 {
	states, _ := m.Label(Deadlock)
	states = slices.Clone(states)
	for s := range m.States() {
		if m.First[s] == m.First[s+1] {
			states = append(states, int32(s))
		}
	}
	slices.Sort(states)
	return slices.Compact(states)
}

// loops reports whether the one choice of a state is a loop that earns nothing.
func (m *Model) loops(s int) bool {
	c := int(m.First[s])
	if int(m.First[s+1]) != c+1 {
		return false
	}
	e := m.Offset[c]
	if m.Offset[c+1] != e+1 || int(m.Target[e]) != s || m.Probability[e] != 1 {
		return false
	}
	for i := range m.Rewards {
		r := &m.Rewards[i]
		if r.State != nil && r.State[s] != 0 || r.Choice != nil && r.Choice[c] != 0 ||
			r.Branch != nil && r.Branch[e] != 0 {
			return false
		}
	}
	return true
}

// remove takes out choices that have one branch each.
func (m *Model) remove(drop []bool) {
	if !slices.Contains(drop, true) {
		return
	}
	dropBranch := make([]bool, m.Branches())
	for c, d := range drop {
		if d {
			dropBranch[m.Offset[c]] = true
		}
	}
	m.Target, m.Probability = without(m.Target, dropBranch), without(m.Probability, dropBranch)
	if m.Lower != nil {
		m.Lower, m.Upper = without(m.Lower, dropBranch), without(m.Upper, dropBranch)
	}
	for i := range m.Rewards {
		r := &m.Rewards[i]
		r.Choice, r.Branch = without(r.Choice, drop), without(r.Branch, dropBranch)
	}
	m.ChoiceActions, m.BranchActions = m.ChoiceActions.without(drop), m.BranchActions.without(dropBranch)
	offset, gone := make([]int, 1, len(m.Offset)), 0
	before := make([]int32, len(m.Offset)) // removed choices before each
	for c, d := range drop {
		if d {
			gone++
		} else {
			offset = append(offset, m.Offset[c+1]-gone)
		}
		before[c+1] = int32(gone)
	}
	for s, c := range m.First {
		m.First[s] -= before[c]
	}
	m.Offset = offset
}

func without[T any](values []T, drop []bool) []T {
	kept := values[:0]
	for i, v := range values {
		if !drop[i] {
			kept = append(kept, v)
		}
	}
	return kept
}

func (a *Actions) without(drop []bool) *Actions {
	if a == nil {
		return nil
	}
	var kept ActionNames
	for i := range a.Of {
		if !drop[i] {
			kept.Add(a.Name(i))
		}
	}
	return kept.Actions()
}

// MeanRewards replaces the rewards of branches by their mean, which is added to
// the reward of the choice.
func (m *Model) MeanRewards() {
	for i := range m.Rewards {
		r := &m.Rewards[i]
		if r.Branch == nil {
			continue
		}
		if r.Choice == nil {
			r.Choice = make([]float64, m.Choices())
		}
		for c := range m.Choices() {
			mean := 0.0
			for e := m.Offset[c]; e < m.Offset[c+1]; e++ {
				mean += float64(m.Probability[e] * r.Branch[e])
			}
			if mean != 0 {
				r.Choice[c] += mean
			}
		}
		r.Branch = nil
	}
}

// JoinBranchRewards moves the rewards of branches to the choice wherever all
// branches of every choice earn the same and choices have no rewards of their own,
// as files that know rewards of branches alone say it.
func (m *Model) JoinBranchRewards() {
	for i := range m.Rewards {
		r := &m.Rewards[i]
		if r.Branch == nil || r.Choice != nil {
			continue
		}
		choice := make([]float64, m.Choices())
		same := true
		for c := range choice {
			choice[c] = r.Branch[m.Offset[c]]
			for _, x := range r.Branch[m.Offset[c]:m.Offset[c+1]] {
				same = same && math.Float64bits(x) == math.Float64bits(choice[c])
			}
		}
		if same {
			r.Choice, r.Branch = choice, nil
		}
	}
}

// NoBranchRewards returns an error that names a reward of branches, if there is
// one, for formats that have none.
func (m *Model) NoBranchRewards(format string) error {
	for _, r := range m.Rewards {
		if r.Branch != nil {
			return fmt.Errorf("reward %s differs between the branches of a choice, which %s cannot say: take its "+
				"mean first", r.Name, format)
		}
	}
	return nil
}

// CheckText is Check, and returns an error for what neither of the text formats of Storm and PRISM has: games, a start
// distribution that is not uniform, rewards of states without choices, a label init, and names of states with line
// ends.
func (m *Model) CheckText() error {
	if err := m.Check(); err != nil {
		return err
	}
	switch {
	case m.Players > 1:
		return errors.New("the format has no games")
	case !m.StartIsUniform():
		return errors.New("the format has no start distribution but the uniform one over its initial states")
	}
	if err := m.CheckRests(); err != nil {
		return err
	}
	for _, l := range m.Labels {
		if l.Name == "init" || strings.ContainsAny(l.Name, "\"\n\r\x00") {
			return BadLabel(l.Name)
		}
	}
	for s, name := range m.StateNames() {
		if name == "" || strings.ContainsAny(name, "\n\r\x00") || strings.TrimSpace(name) != name {
			return fmt.Errorf("state %d: the name %q is empty, begins or ends with a space or has a line end", s, name)
		}
	}
	return nil
}

// BadLabel is the error of a label whose name a text format cannot have.
func BadLabel(name string) error {
	return fmt.Errorf("label %q: the format keeps init for itself and has no quotes or line ends in labels", name)
}

// AppendProbability appends the probability of a branch, or its interval with a separator between the bounds.
func (m *Model) AppendProbability(b []byte, branch int, separator string) []byte {
	if m.Lower == nil {
		return strconv.AppendFloat(b, m.Probability[branch], 'g', -1, 64)
	}
	b = strconv.AppendFloat(append(b, '['), m.Lower[branch], 'g', -1, 64)
	b = strconv.AppendFloat(append(b, separator...), m.Upper[branch], 'g', -1, 64)
	return append(b, ']')
}

// CheckRests returns an error if a state without choices has a reward. It would
// never be earned, but tools that put a loop there would earn it for ever.
func (m *Model) CheckRests() error {
	for i := range m.Rewards {
		r := &m.Rewards[i]
		for s := range r.State {
			if r.State[s] != 0 && m.First[s] == m.First[s+1] {
				return fmt.Errorf("state %d has no choices, but the reward %s of %g in each step: give it a choice "+
					"that leads back to it, or no reward", s, r.Name, r.State[s])
			}
		}
	}
	return nil
}
