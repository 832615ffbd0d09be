package baseline

import (
	"math"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "conrl-lp", New: newConRL,
	Source: "Brantley et al. (2020), ConRL, linear, LP planner", Planner: "linear program (value iteration as pricing)",
	Guarantee: "weak regret and violation of the average Õ(S√(A H³ K)), homogeneous kernel", Efficient: true,
	Homogeneous: true,
	Published:   "0.001·√(1/n), 1 where not visited (its code)",
	Certainty: "form of the bonus and guarantee from the authors' poster, logarithm of the bonus from memory of the " +
		"paper; published constants from its code",
})

var _ = register(Algorithm{
	Name: "conrl-lagr", New: newConRLLagrangian,
	Source: "Brantley et al. (2020), ConRL, linear, Lagrangian planner", Planner: "10 value iterations",
	Guarantee: "that of conrl-lp for an exact planner; the planner of the experiments", Efficient: true,
	Homogeneous: true,
	Published:   "0.001·√(1/n), 1 where not visited (its code)",
	Certainty: "planner from the paper's code; form of the bonus from the authors' poster, its logarithm from " +
		"memory of the paper",
})

// A conRLBonus is the bonus of Brantley et al. (2020),
//
//	b_k = H·√(2 ln(8SAH(I+1)k²/p)/(n∨1)),
//
// its order from the authors' poster and the logarithm from memory of the paper, by
// which rewards are raised and consumptions lowered whether their means are known or
// not. With "published" it is 0.001·√(1/n), and 1 for choices not visited, as in the
// paper's code.
type conRLBonus struct {
	*core
	means float64 // I+1: how many means of a choice it has to cover
	root  float64 // H·√(2 ln(…)) of this episode
}

// newConRLSweep returns value iteration on the frequencies, and the bonus for so many means.
func newConRLSweep(core *core, means int) (*sweep, *conRLBonus) {
	sw, bonus := newSweep(core.estimate, kernelSelf, nil), &conRLBonus{core: core, means: float64(means)}
	sw.episode = bonus.next
	return sw, bonus
}

func (b *conRLBonus) next() {
	k := float64(b.state.Episodes + 1)
	union := 8 * float64(max(1, b.slots())) * b.means * k * k / b.p
	b.root = b.scale.Multiplier() * float64(b.horizon) * math.Sqrt(2*math.Log(union))
}

func (b *conRLBonus) of(r *row) float64 {
	if b.scale.Mode == cmdp.Published {
		if r.visits == 0 {
			return b.scale.Multiplier()
		}
		return b.scale.Multiplier() * 0.001 / math.Sqrt(r.visits)
	}
	return b.root / math.Sqrt(max(1, r.visits))
}

// lower lowers all signals by the bonus.
func (b *conRLBonus) lower(dst []float64, _ int, r *row, mean []float64) {
	x := b.of(r)
	for j, m := range mean {
		dst[j] = m - x
	}
	if b.returns == nil && r.visits == 0 {
		dst[0] = 1 - x // the mean reward of no visits is 0
	}
}

// newConRL returns the basic algorithm of Brantley, Dudík, Lykouris, Miryoosefi,
// Simchowitz, Slivkins and Sun, "Constrained episodic reinforcement learning in
// concave-convex and knapsack settings" (2020), with an exact planner: each
// episode the occupancy program of the empirical kernel with signals lowered by the
// bonus of conRLBonus; a choice never visited is taken to stay where it is. The
// paper's kernel does not depend on the step: counts then should be pooled; with
// others the method runs on pairs of step and state, which are states of a
// homogeneous process too. Guarantee: the means of reward and consumptions, not
// those of single episodes. Without a solution the policy of the episode before is
// kept. It can be saved.
func newConRL(c Config) (cmdp.Learner, error) {
	core, err := newCore("conrl-lp", &c)
	if err != nil {
		return nil, err
	}
	return newConRLProgram(core, c.Lazy), nil
}

func newConRLProgram(core *core, lazy bool) *lpLearner {
	sw, bonus := newConRLSweep(core, core.signals)
	l := &lpLearner{core: core, lazy: lazy, anew: core.scale.Mode != cmdp.Published}
	l.ready(sw, bonus.lower)
	return l
}

// DefaultMultiplierStep is the step of conrl-lagr, that of its authors' grid world.
const DefaultMultiplierStep = 0.2

const lagrangianSteps = 10

// newConRLLagrangian returns the basic algorithm of Brantley et al. (2020) with
// the planner of their experiments: ten times value iteration on the signals
// weighted with the multipliers and a gradient step on these, of length
// Tuning.MultiplierStep, by default 0.2 (their gridworld's; from the paper's code); then
// the deterministic policy of the mean of the ten. The multipliers are kept between
// episodes. It can be saved.
func newConRLLagrangian(c Config) (cmdp.Learner, error) {
	core, err := newCore("conrl-lagr", &c)
	if err != nil {
		return nil, err
	}
	sw, bonus := newConRLSweep(core, core.signals)
	l := newLagrangian(core, sw, bonus.lower)
	l.turns, l.rate = lagrangianSteps, c.Tuning.MultiplierStep
	if l.rate == 0 {
		l.rate = DefaultMultiplierStep
	}
	return l, nil
}
