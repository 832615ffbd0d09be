package problem

import (
	"errors"
	"fmt"

	"cmdpsolve/cmdp/exchange"
)

// Export returns the model of p with its names as a model for other tools: each
// return becomes a reward of choices, or of branches if it is random. Time, goal,
// constraints, target and opponent are left out. It is an error if the kernel differs
// between steps, or if both players of a game choose at once in some state. The
// slices of the kernel are shared and must not be changed.
func (p *Problem) Export() (*exchange.Model, error) {
	if !p.Model.Stationary() {
		return nil, errors.New("problem: transitions differ between steps, which the formats of other tools cannot say")
	}
	k := p.Model.Kernel(0).Plain(p.Model.Dim())
	m := &exchange.Model{
		Players: 1, First: k.First, Offset: k.Offset, Target: k.Next, Probability: k.Prob,
		Variables: exchange.Named(p.States), Described: p.Described, Labels: p.Labels,
	}
	p.exportIntervals(m)
	start := make([]float64, p.Model.States())
	for _, st := range p.Model.StartStates() {
		start[st.State] = st.Probability
	}
	m.Start = exchange.StartOf(start)
	if sh := p.Model.Shape(); p.Opponents != nil || sh != nil && sh.Game() {
		m.Players, m.Owner = 2, make([]int32, p.Model.States())
	}
	if err := p.exportActions(m); err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	d := p.Model.Dim()
	for i, name := range p.Given() {
		r := exchange.Reward{Name: name}
		if k.Outcomes == nil {
			r.Choice = column(k.Returns, i, d)
		} else {
			r.Branch = column(k.Outcomes, i, d)
		}
		m.Rewards = append(m.Rewards, r)
	}
	if k.Outcomes != nil {
		m.JoinBranchRewards()
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	return m, nil
}

// column returns every d-th value from i on.
func column(values []float64, i, d int) []float64 {
	out := make([]float64, len(values)/d)
	for c := range out {
		out[c] = values[c*d+i]
	}
	return out
}

// exportActions names the actions, and in a game finds out who owns each state.
func (p *Problem) exportActions(m *exchange.Model) error {
	var names exchange.ActionNames
	for s := range p.Model.States() {
		first, end := int(m.First[s]), int(m.First[s+1])
		if first == end {
			continue
		}
		columns := p.played().columns(0, s)
		if columns > 1 {
			if end-first > columns {
				return fmt.Errorf("in state %s both players choose at once, which the formats of other tools cannot "+
					"say: they have turn-based games", p.StateName(s))
			}
			m.Owner[s] = 1
		}
		for c := first; c < end; c++ {
			if columns > 1 {
				names.Add(p.OpponentName(0, s, c-first))
			} else {
				names.Add(p.ActionName(0, s, c-first))
			}
		}
	}
	if p.Actions != nil || p.Opponents != nil {
		m.ChoiceActions = names.Actions()
	}
	return nil
}
