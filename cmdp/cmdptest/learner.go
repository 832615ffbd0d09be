package cmdptest

import (
	"encoding"
	"fmt"
	"math/rand/v2"

	"cmdpsolve/cmdp"
)

// learnerEpisodes is how many episodes CheckLearner plays.
const learnerEpisodes = 120

// CheckLearner lets a learner play an environment that is no game and checks that
// its policies are distributions over actions that exist, that it does not change
// trajectories, that runs repeat, and, if it can be saved, that it goes on bit for
// bit. make returns a fresh learner, the same at every call.
func CheckLearner(make func() (cmdp.Learner, error), env cmdp.Environment) error {
	whole, err := learn(make, env, false)
	if err != nil {
		return err
	}
	again, err := learn(make, env, false)
	if err != nil {
		return err
	}
	if !equal(whole, again) {
		return errorf("repeatable", "the same seed gave other episodes the second time")
	}
	l, err := make()
	if err != nil {
		return err
	}
	if _, ok := l.(encoding.BinaryMarshaler); !ok {
		return nil
	}
	saved, err := learn(make, env, true)
	if err != nil {
		return err
	}
	if !equal(whole, saved) {
		return errorf("saving", "a learner saved and restored played other episodes")
	}
	return nil
}

// learn returns the returns of all episodes, one after the other. If save is set,
// the learner is replaced by a restored copy every 30 episodes.
func learn(fresh func() (cmdp.Learner, error), env cmdp.Environment, save bool) ([]float64, error) {
	l, err := fresh()
	if err != nil {
		return nil, err
	}
	sh := env.Shape()
	envRNG, agent := rand.New(cmdp.Stream(1, "cmdptest environment")), rand.New(cmdp.Stream(1, "cmdptest agent"))
	tr := cmdp.NewTrajectory(sh)
	var all []float64
	for k := range learnerEpisodes {
		p := l.Policy()
		if err := checkActions(sh, p); err != nil {
			return nil, err
		}
		tr.Play(env, p, envRNG, agent)
		all = append(all, tr.Total...)
		before := fmt.Sprint(*tr)
		l.Observe(tr)
		if fmt.Sprint(*tr) != before {
			return nil, errorf("trajectory", "episode %d: Observe changed the trajectory", k+1)
		}
		if save && k%30 == 29 {
			to, err := fresh()
			if err != nil {
				return nil, err
			}
			l, err = resaved(l, to)
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
