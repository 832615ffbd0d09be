// Package exchange holds explicit Markov models as the files of other tools know
// them: states, choices with action names, branches with probabilities, named
// rewards and labels. Every format of the packages below it reads into a [Model]
// and writes from one, and none of them needs another one or the rest of this
// module.
package exchange

// A Model is a discrete-time Markov chain, a Markov decision process or a
// turn-based game of two players, in compressed sparse rows: state s offers the
// choices First[s] to First[s+1]−1, and choice c has the branches Offset[c] to
// Offset[c+1]−1. Nothing in it is computed: what a file says stands here bit for
// bit. It is safe for concurrent use as long as nobody changes it.
type Model struct {
	// Players is 0 for a Markov chain, which has at most one choice in each state, 1
	// for a Markov decision process, 2 for a game.
	Players     int
	PlayerNames []string // nil, or one for each player
	// Owner is the player who chooses in each state; nil if it is player 0 everywhere.
	Owner []int32

	// Variables describe the states. A model whose states have plain names has one
	// variable with Text.
	Variables []Variable
	// Described, if not nil, describes the states in the place of Variables, without memory for names.
	Described Described

	// Start lists the initial states in ascending order; none if the file names none.
	Start []Start

	First       []int32   // length S+1
	Offset      []int     // length C+1
	Target      []int32   // length B, the number of branches
	Probability []float64 // length B
	// Lower and Upper are bounds of the probabilities if some of them are intervals, length B; else nil.
	// Probability is then a distribution between them, see [Model.SetNominal].
	Lower, Upper []float64

	// ChoiceActions names the actions of choices, BranchActions those of branches.
	// Either is nil without names.
	ChoiceActions, BranchActions *Actions

	Labels  []Label
	Rewards []Reward
}

// Start is an initial state and its probability.
type Start struct {
	State       int32
	Probability float64
}

// Actions gives each choice, or each branch, the name Names[Of[i]]. The empty
// name stands for none.
type Actions struct {
	Names []string
	Of    []int32
}

// Name returns the name of choice or branch i. It is empty without names.
func (a *Actions) Name(i int) string {
	if a == nil {
		return ""
	}
	return a.Names[a.Of[i]]
}

// A Label is a named set of states, in ascending order.
type Label struct {
	Name   string
	States []int32
}

// A Reward is a named reward structure. State is earned in every step taken from a
// state, Choice with a choice, Branch with a branch; each is nil if all of it is 0.
type Reward struct {
	Name                  string
	State, Choice, Branch []float64
}

// A Variable is one coordinate of the description of states. Either Ints or Text
// holds a value for each state; a Bool variable has the Ints 0 and 1.
type Variable struct {
	Name string
	Bool bool
	Ints []int64
	Text []string
}

// Described are states whose names are made when they are asked for. It is safe for concurrent use.
type Described interface {
	// StateName returns the name of a state, such as "x=1,b=true".
	StateName(state int) string
	// Find returns the state of a name, and whether there is one.
	Find(name string) (state int, ok bool)
	// Where returns the states where a condition on their variables holds, in ascending order.
	Where(condition string) ([]int32, error)
	// Columns returns the variables with a value for each state.
	Columns() []Variable
	// Deadlocks returns how many states have no choices, but for a loop that earns a reward.
	Deadlocks() int
	// Initial returns where the model says which states are initial, counted from 1; 0 and 0 if nowhere.
	Initial() (line, column int)
}

// States returns the number of states.
func (m *Model) States() int { return len(m.First) - 1 }

// Choices returns the number of choices of all states.
func (m *Model) Choices() int { return len(m.Offset) - 1 }

// Branches returns the number of branches of all choices.
func (m *Model) Branches() int { return len(m.Target) }

// Empty returns a model without states, to which a reader appends.
func Empty(players int) *Model {
	return &Model{Players: players, First: make([]int32, 1), Offset: make([]int, 1)}
}

// UniformStart returns the uniform distribution over the given states, which is
// how the tools understand several initial states. The states are kept in order.
func UniformStart(states []int32) []Start {
	start := make([]Start, len(states))
	for i, s := range states {
		start[i] = Start{s, 1 / float64(len(states))}
	}
	return start
}

// StartOf lists the states that an episode may begin in, by the probability of each state.
func StartOf(probabilities []float64) []Start {
	var start []Start
	for s, p := range probabilities {
		if p != 0 {
			start = append(start, Start{int32(s), p})
		}
	}
	return start
}

// StartProbabilities returns for each state the probability to begin there.
func (m *Model) StartProbabilities() []float64 {
	p := make([]float64, m.States())
	for _, st := range m.Start {
		p[st.State] = st.Probability
	}
	return p
}

// StartIsUniform reports whether the initial states are equally likely, as
// [UniformStart] makes them.
func (m *Model) StartIsUniform() bool {
	for _, st := range m.Start {
		if st.Probability != 1/float64(len(m.Start)) {
			return false
		}
	}
	return true
}

// StatesOf lists the states of a set in ascending order.
func StatesOf(in []bool) []int32 {
	var states []int32
	for s, is := range in {
		if is {
			states = append(states, int32(s))
		}
	}
	return states
}

// Label returns the states of a label and whether there is such a label.
func (m *Model) Label(name string) ([]int32, bool) {
	for _, l := range m.Labels {
		if l.Name == name {
			return l.States, true
		}
	}
	return nil, false
}

// Reward returns the reward structure of the given name, or nil.
func (m *Model) Reward(name string) *Reward {
	for i := range m.Rewards {
		if m.Rewards[i].Name == name {
			return &m.Rewards[i]
		}
	}
	return nil
}

// RewardNames returns the names of the reward structures.
func (m *Model) RewardNames() []string {
	names := make([]string, len(m.Rewards))
	for i := range names {
		names[i] = m.Rewards[i].Name
	}
	return names
}

// Total returns what a branch earns with its choice and its state. It adds what there is, so that the
// bits of a single number stay.
func (r *Reward) Total(state, choice, branch int) float64 {
	switch {
	case r.Branch == nil:
		return r.Step(state, choice)
	case r.State == nil && r.Choice == nil:
		return r.Branch[branch]
	}
	return r.Step(state, choice) + r.Branch[branch]
}

// Step returns what a choice of a state earns besides the rewards of its branches:
// the reward of the state and that of the choice.
func (r *Reward) Step(state, choice int) float64 {
	switch {
	case r.State == nil && r.Choice == nil:
		return 0
	case r.State == nil:
		return r.Choice[choice]
	case r.Choice == nil:
		return r.State[state]
	}
	return r.State[state] + r.Choice[choice]
}
