package cmdp

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"cmdpsolve/cmdp/internal/saved"
)

// gameRun is the opponent's side of a run.
type gameRun struct {
	opponent  Opponent
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
func NewGameRunner(env Environment, learner Learner, opponent Opponent, seed uint64,
	evaluator *Evaluator) (*Runner, error) {
	if opponent == nil {
		return nil, errors.New(noOpponent)
	}
	g := &gameRun{opponent: opponent, pcg: Stream(seed, "opponent")}
	g.rng = rand.New(g.pcg)
	g.view.Average = make([]float64, env.Shape().Dim())
	if l, ok := learner.(interface{ Direction() []float64 }); ok {
		g.direction = l.Direction
	}
	against, ok := Markov(opponent)
	if !ok && evaluator != nil {
		return nil, fmt.Errorf("cmdp: opponent %T has no distribution, from which expected returns could be computed",
			opponent)
	}
	r := NewRunner(env, learner, seed, evaluator)
	r.game, r.against = g, against
	r.Keep(g.pcg, saved.Own{Name: "cmdp: opponent", Part: opponent})
	return r, nil
}

func (r *Runner) play(p Policy) error {
	g := r.game
	if r.endless != nil {
		r.step(p)
		return nil
	}
	if g == nil {
		if r.env.Shape().Game() {
			return errors.New(noOpponent)
		}
		r.tr.Play(r.env, p, r.envRNG, r.agentRNG)
		return nil
	}
	v := &g.view
	v.Episode, v.Policy = r.episodes, p
	if g.direction != nil {
		v.Direction = g.direction()
	}
	for i, x := range r.sum {
		v.Average[i] = x / float64(max(1, r.episodes))
	}
	err := g.opponent.Begin(v)
	if err == nil {
		err = r.tr.PlayAgainst(r.env, p, g.opponent, r.envRNG, r.agentRNG, g.rng)
	}
	if err != nil {
		return fmt.Errorf("episode %d: %w", r.episodes+1, err)
	}
	return nil
}
