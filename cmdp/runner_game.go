package cmdp

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// gameRun is the opponent's side of a run.
type gameRun struct {
	opponent  Opponent
	policy    Policy // the opponent, if it is one
	pcg       *rand.PCG
	rng       *rand.Rand
	view      View
	direction func() []float64 // of the learner, or nil
}

// NewGameRunner returns a runner at episode 0 of a learner that plays a game
// against an opponent, which draws from a stream of the seed of its own. Everything
// else is as for [NewRunner]. If evaluator is not nil, the expected returns are
// those of the pairs of policies that are played (erratum E-06); the opponent then
// needs a policy, see [Markov]. An environment that is no game never asks the
// opponent, and needs none.
func NewGameRunner(env Environment, learner Learner, opponent Opponent, seed uint64, evaluator *Evaluator) (*Runner, error) {
	if opponent == nil {
		return nil, errors.New(noOpponent)
	}
	g := &gameRun{opponent: opponent, pcg: Stream(seed, "opponent")}
	g.rng = rand.New(g.pcg)
	g.view.Average = make([]float64, env.Shape().Dim())
	if l, ok := learner.(interface{ Direction() []float64 }); ok {
		g.direction = l.Direction
	}
	var ok bool
	if g.policy, ok = Markov(opponent); !ok && evaluator != nil {
		return nil, fmt.Errorf("cmdp: opponent %T has no distribution, from which expected returns could be computed", opponent)
	}
	r := NewRunner(env, learner, seed, evaluator)
	r.game = g
	return r, nil
}

// play plays the next episode.
func (r *Runner) play(p Policy) error {
	g := r.game
	if g == nil {
		if r.env.Shape().Game() {
			return errors.New(noOpponent)
		}
		r.tr.Play(r.env, p, r.envRNG, r.agentRNG)
		return nil
	}
	v := &g.view
	v.Episode, v.Policy = r.state.Episodes, p
	if g.direction != nil {
		v.Direction = g.direction()
	}
	for i, x := range r.state.Sum {
		v.Average[i] = x / float64(max(1, r.state.Episodes))
	}
	err := g.opponent.Begin(v)
	if err == nil {
		err = r.tr.PlayAgainst(r.env, p, g.opponent, r.envRNG, r.agentRNG, g.rng)
	}
	if err != nil {
		return fmt.Errorf("episode %d: %w", r.state.Episodes+1, err)
	}
	return nil
}

func (g *gameRun) policyOf() Policy {
	if g == nil {
		return nil
	}
	return g.policy
}

func (g *gameRun) observe(tr *Trajectory) {
	if g != nil {
		g.opponent.Observe(tr)
	}
}

// gameRunBinary is the saved form of a gameRun.
type gameRunBinary struct{ Opponent, Random []byte }

func (g *gameRun) save() (*gameRunBinary, error) {
	if g == nil {
		return nil, nil
	}
	parts, err := marshalParts([]Opponent{g.opponent})
	if err != nil {
		return nil, err
	}
	random, err := g.pcg.MarshalBinary()
	return &gameRunBinary{parts[0], random}, err
}

var errOtherOpponent = errors.New("cmdp: saved run does not fit: one has an opponent, the other none")

func (g *gameRun) restore(b *gameRunBinary) error {
	if (g == nil) != (b == nil) {
		return errOtherOpponent
	}
	if g == nil {
		return nil
	}
	if err := unmarshalParts([]Opponent{g.opponent}, [][]byte{b.Opponent}); err != nil {
		return err
	}
	return g.pcg.UnmarshalBinary(b.Random)
}
