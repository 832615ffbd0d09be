package language

import (
	"context"
	"errors"
	"slices"

	"cmdpsolve/cmdp/exchange"
)

// Model explores a program and returns its reachable states as an explicit model. Deadlocks are states
// at rest, without choices; only where such a state has a reward it gets a loop that earns it, and the
// label [exchange.Deadlock], as PRISM gives all of them. A model with several initial states has none,
// because their distribution is not known; see Program.InitialAt.
func (p *Program) Model(ctx context.Context, o ExploreOptions) (*exchange.Model, error) {
	m := exchange.Empty([...]int{Process: 1, Chain: 0, Game: 2}[p.Kind])
	m.PlayerNames = p.Players
	s := &modelSink{m: m, actions: &exchange.Actions{Names: p.Actions}}
	for _, r := range p.Rewards {
		m.Rewards = append(m.Rewards, exchange.Reward{Name: r.Name})
	}
	r, err := Explore(ctx, p, s, o)
	if err != nil {
		return nil, err
	}
	s.end()
	if slices.ContainsFunc(s.actions.Of, func(a int32) bool { return a != 0 }) {
		m.ChoiceActions = s.actions
	}
	for _, l := range p.Labels {
		states, err := r.States.Satisfying(p.File, l)
		if err != nil {
			return nil, err
		}
		m.Labels = append(m.Labels, exchange.Label{Name: l.Name, States: states})
	}
	isDeadlock := func(l exchange.Label) bool { return l.Name == exchange.Deadlock }
	if s.looped != nil && !slices.ContainsFunc(m.Labels, isDeadlock) {
		m.Labels = append(m.Labels, exchange.Label{Name: exchange.Deadlock, States: s.looped})
	}
	if len(r.Initial) == 1 {
		m.Start = exchange.UniformStart(r.Initial)
	}
	m.Described = &described{States: r.States, program: p, deadlocks: len(r.Deadlocks)}
	return m, m.Check()
}

// A modelSink appends what is found to a model.
type modelSink struct {
	m       *exchange.Model
	actions *exchange.Actions
	rewards []float64 // of the last state
	looped  []int32   // deadlocks with a reward
}

func (s *modelSink) State(player int, rewards []float64) error {
	s.end()
	m := s.m
	if m.Players == 2 {
		m.Owner = append(m.Owner, int32(player))
	}
	s.rewards = append(s.rewards[:0], rewards...)
	for i, x := range rewards {
		m.Rewards[i].State = appendSparse(m.Rewards[i].State, m.States(), x)
	}
	m.First = append(m.First, m.First[len(m.First)-1])
	return nil
}

// appendSparse appends a value to a column that had n values, and is nil as long as all of them are 0.
func appendSparse(column []float64, n int, x float64) []float64 {
	if x == 0 && column == nil {
		return nil
	}
	if column == nil {
		column = make([]float64, n, n+1)
	}
	return append(column, x)
}

func (s *modelSink) Choice(action int, next []int32, probability, rewards, gained []float64) error {
	m := s.m
	for i, x := range rewards {
		m.Rewards[i].Choice = appendSparse(m.Rewards[i].Choice, m.Choices(), x)
		for b := range next {
			x := 0.0
			if len(gained) > 0 {
				x = gained[b*len(rewards)+i]
			}
			m.Rewards[i].Branch = appendSparse(m.Rewards[i].Branch, m.Branches()+b, x)
		}
	}
	s.actions.Of = append(s.actions.Of, int32(action))
	m.Target = append(m.Target, next...)
	m.Probability = append(m.Probability, probability...)
	m.Offset = append(m.Offset, len(m.Target))
	m.First[len(m.First)-1]++
	return nil
}

// end gives the last state a loop if it has a reward and no choices.
func (s *modelSink) end() {
	m := s.m
	last := m.States() - 1
	earns := slices.ContainsFunc(s.rewards, func(x float64) bool { return x != 0 })
	if last < 0 || m.First[last] < m.First[last+1] || !earns {
		return
	}
	s.looped = append(s.looped, int32(last))
	_ = s.Choice(0, []int32{int32(last)}, []float64{1}, make([]float64, len(s.rewards)), nil)
}

// described names the states of a model and finds those of conditions.
type described struct {
	*States
	program   *Program
	deadlocks int
}

func (d *described) Deadlocks() int { return d.deadlocks }

func (d *described) Initial() (line, column int) {
	at := d.program.InitialAt
	return int(at.Line), int(at.Column)
}

// Where returns the states where a condition holds, in order.
func (d *described) Where(condition string) ([]int32, error) {
	when, err := d.program.Parse(condition)
	if e, ok := err.(*Error); ok {
		return nil, errors.New(e.Message) // its place is in the condition, which is short
	}
	if err != nil {
		return nil, err
	}
	return d.Satisfying(d.program.File, Label{Name: condition, When: when})
}

// Columns returns the values of all variables, which takes 8 bytes for each and each state.
func (d *described) Columns() []exchange.Variable {
	columns := make([]exchange.Variable, len(d.variables))
	for i, v := range d.variables {
		columns[i] = exchange.Variable{Name: v.Name, Bool: v.Type == Bool, Ints: make([]int64, d.Len())}
	}
	values := make([]int64, len(columns))
	for s := range d.Len() {
		d.Values(values, s)
		for i, x := range values {
			columns[i].Ints[s] = x
		}
	}
	return columns
}
