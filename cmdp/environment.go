package cmdp

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// An Environment lets itself be played and tells nothing of its kernel beyond
// its shape. Implementations must be safe for concurrent use: all randomness
// comes from the generator that the caller passes.
type Environment interface {
	// Shape returns what may be known in advance. It is the same at every call.
	Shape() *Shape
	// Start draws the first state of an episode.
	Start(rng *rand.Rand) int
	// Step takes an action in a state at step h, sets returns, of length d, to the
	// return vector received, and returns the next state. It is called only with
	// actions that the state offers. In a game, action is the number of the pair of
	// both players' actions, see [Shape.Joint].
	Step(returns []float64, rng *rand.Rand, h, state, action int) int
}

var _ Environment = (*Model)(nil)

// A Fallible environment can fail, such as a program of somebody else's. After a failure its
// methods still return states that exist, and Err says what happened. The episode then does not
// count, and the run ends.
type Fallible interface {
	Environment
	Err() error
}

// Start draws a first state.
func (m *Model) Start(rng *rand.Rand) int {
	if len(m.start) == 1 {
		return m.start[0].State
	}
	u, last := rng.Float64(), 0
	for _, st := range m.start {
		if st.Probability <= 0 {
			continue
		}
		u -= st.Probability
		if u < 0 {
			return st.State
		}
		last = st.State
	}
	return last
}

// Step samples a successor and the return vector received on the way.
func (m *Model) Step(returns []float64, rng *rand.Rand, h, state, action int) int {
	rows := m.Rows(h)
	first, end := rows.Choices(state)
	c := first + action
	if action < 0 || c >= end {
		panic(badAction)
	}
	next, prob := rows.Row(c)
	e := 0
	if len(next) > 1 {
		e = Draw(rng, prob)
	}
	copy(returns, rows.Outcome(c, e))
	return int(next[e])
}

// A Trajectory records one episode. Step t < Steps took action Actions[t] in state
// States[t], received the return vector Return(t) and led to States[t+1]. Where
// the process rested in a state without choices, the action is -1. In a game
// Actions holds the numbers of pairs, see [Shape.Split].
type Trajectory struct {
	Steps   int
	States  []int // H+1
	Actions []int // H
	Total   []float64
	returns []float64
}

// NewTrajectory returns an empty trajectory with room for an episode of the
// given shape.
func NewTrajectory(sh *Shape) *Trajectory {
	if sh == nil {
		panic(noShape)
	}
	return &Trajectory{
		States:  make([]int, sh.horizon+1),
		Actions: make([]int, sh.horizon),
		Total:   make([]float64, sh.dim),
		returns: make([]float64, sh.horizon*sh.dim),
	}
}

// Return returns the return vector of step t. The slice belongs to the
// trajectory.
func (tr *Trajectory) Return(t int) []float64 {
	d := len(tr.Total)
	return tr.returns[t*d : (t+1)*d]
}

// Play plays one episode of env with policy p and records it in tr, which is
// overwritten. The environment draws from envRNG, the policy from agentRNG, so
// that one does not disturb the other. The episode stops early once nothing can
// happen any more. Play panics if env is a game; see PlayAgainst.
func (tr *Trajectory) Play(env Environment, p Policy, envRNG, agentRNG *rand.Rand) {
	if env.Shape().Game() {
		panic(noOpponent)
	}
	tr.PlayAgainst(env, p, nil, envRNG, agentRNG, nil) // fails only by the opponent
}

// PlayAgainst plays one episode of a game, as Play does without an opponent. The
// opponent, whose Begin was called, draws from a generator of its own. It is an
// error if it chooses an action that it does not have; tr then holds the episode
// up to there.
func (tr *Trajectory) PlayAgainst(env Environment, agent Policy, opponent Opponent, envRNG, agentRNG,
	opponentRNG *rand.Rand) error {
	tr.States[0] = env.Start(envRNG)
	return tr.play(env, agent, opponent, envRNG, agentRNG, opponentRNG)
}

// play plays an episode that begins in States[0].
func (tr *Trajectory) play(env Environment, agent Policy, opponent Opponent, envRNG, agentRNG,
	opponentRNG *rand.Rand) error {
	sh := env.Shape()
	clear(tr.Total)
	tr.Steps = 0
	s := tr.States[0]
	for h := range sh.horizon {
		a := -1
		r := tr.Return(h)
		if sh.Actions(h, s) > 0 {
			a = agent.Choose(agentRNG, h, s)
			if n := sh.OpponentActions(h, s); n > 1 {
				b := opponent.Choose(opponentRNG, h, s)
				if b < 0 || b >= n {
					return fmt.Errorf("cmdp: step %d, state %d: the opponent chooses action %d: want 0 to %d", h+1, s,
						b, n-1)
				}
				a = a*n + b
			}
			s = env.Step(r, envRNG, h, s, a)
			floats.Add(tr.Total, r)
		} else if sh.SameEveryStep() || sh.Ends(h, s) {
			return nil
		} else {
			clear(r)
		}
		tr.Actions[h], tr.States[h+1] = a, s
		tr.Steps = h + 1
	}
	return nil
}

// Stream returns the random stream of a seed for a purpose. Streams of different
// purposes are independent, so that results do not depend on parallelism or on
// who draws first.
func Stream(seed uint64, purpose string) *rand.PCG {
	hash := fnv.New64a()
	hash.Write([]byte(purpose))
	return rand.NewPCG(seed, hash.Sum64())
}
