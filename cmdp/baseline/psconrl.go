package baseline

import (
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
)

var _ = register(Algorithm{
	Name: "psconrl", New: newPSConRL, Endless: true, NoEpisodes: true,
	Source: "Provodin, Kaptein, Pechenizkiy (2024), PSConRL",
	Planner: "long-run means of a drawn model, each time the visits of a choice have doubled, or one step " +
		"later than the last time",
	Guarantee:     "Bayesian, for the prior: regret and violation Õ(D S √(A T)) in communicating models",
	NonlinearCost: true, NonlinearConstraints: true, Efficient: true, UsesSupport: true,
	Published: "no bonus: the scale changes nothing",
	Certainty: "from the abstract and the authors' code; epochs are those of Ouyang, Gagrani, Nayyar, Jain (2017), " +
		"where the code waits until visits are three times as many",
})

// A psConRL is PSConRL of Provodin, Kaptein and Pechenizkiy, "Efficient exploration in average-reward constrained
// reinforcement learning: achieving near-optimal regret with posterior sampling" (2024). At the start of an epoch it
// draws a model, solves the constrained problem of long-run means on it, and plays the stationary
// policy to the end of the epoch. If the model that was drawn has no policy within the limits, actions
// are drawn evenly during the epoch, as in the authors' code.
//
// Epoch k, which starts at step t_k with N_k(s,a) visits of each choice, ends before step t if
// t > t_k + T_{k−1}, where T_{k−1} is the length of the epoch before, or if N_t(s,a) > 2 N_k(s,a) for some choice.
type psConRL struct {
	*core
	*course
	task   cmdp.Task
	drawer drawer
}

func newPSConRL(c Config) (cmdp.Learner, error) {
	core, err := coreOf(newCoordinates(&c, false), &c)
	if err != nil {
		return nil, err
	}
	l := &psConRL{core: core, course: newCourse(core, c.Endless), task: c.Task,
		drawer: newDrawer(core.estimate, &c, "psconrl")}
	l.course.share = goalShare(c.Shape, c.Task)
	l.core.replan = l.plan
	l.core.Keep(l.drawer.source)
	return l, nil
}

// plan chooses the policy of an epoch.
func (l *psConRL) plan() {
	l.course.begin()
	l.drawer.from = l.course.from()
	m, err := l.drawer.model()
	l.course.plan(m, err, l.task, l.drawer.rng)
}

// endlessOptions say how exact a plan after t steps has to be: as for drawn models with episodes, and where
// classes of states are joined, so that they are left about √t times in t steps. The share is [goalShare].
func endlessOptions(t int, share float64) exact.Options {
	root := math.Sqrt(float64(t) + 1)
	return exact.Options{Gap: share * posteriorGap / root, JoinGap: share * min(0.1, 1/root), Workers: 1}
}

// Observe counts a step, and ends the epoch if it is time to.
func (l *psConRL) Observe(tr *cmdp.Trajectory) {
	planned := l.state.Planned
	l.observe(tr)
	l.step(tr)
	l.state.Planned = planned && l.state.Episodes <= l.x.Start+l.x.Length && !l.doubled(tr)
}
