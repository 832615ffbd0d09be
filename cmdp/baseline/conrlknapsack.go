package baseline

import (
	"slices"

	"cmdpsolve/cmdp"

	"gonum.org/v1/gonum/floats"
)

var _ = register(Algorithm{
	Name: "conrl-knapsack", New: newConRLKnapsack,
	Source: "Brantley et al. (2020), ConRL, knapsack", Planner: "linear program (value iteration as pricing)",
	Guarantee: "budgets over all episodes are never exceeded; average regret 2H·AggReg/min B", Efficient: true,
	Homogeneous: true,
	Needs:       []string{"null policy"},
	Published:   "0.001·√(1/n), 1 where not visited (its code)",
	Certainty: "limits (1−ε)B/K and guarantee from the authors' poster; ε, which it leaves open, is a parameter, " +
		"0.05 by default; the rest from memory of the paper",
})

// A knapsackLearner spends a total budget of each constraint's signal.
type knapsackLearner struct {
	*lpLearner
	null   cmdp.Policy
	budget []float64 // of an episode; limits leave a margin
	floor  []float64 // signals of the null policy
	used   []float64 // signals so far
	done   bool
}

// DefaultKnapsackMargin is the share ε of every budget that conrl-knapsack sets aside
// unless it is told another. The paper's rule is ε = AggReg/min B, AggReg being its bound
// of the consumption regret summed over the episodes, Õ(S√(A H³ K)), whose constants we
// do not know; with constants of 1 it exceeds the whole budget of 2,000 episodes of
// RiverSwim, inventory and media, so it gives no useful default.
const DefaultKnapsackMargin = 0.05

// newConRLKnapsack returns the knapsack algorithm of Brantley et al. (2020), from memory: constraint i has the
// budget K·α_i for all K episodes together, hard. conrl-lp is run with limits (1−ε)α_i. Before each episode the
// learner checks whether the worst episode, followed by null episodes to the end, could overdraw a budget. If
// so, it plays the null policy from then on. The paper's ε = AggReg/min B needs the constants of its regret
// bound; ε here is Tuning.KnapsackMargin. Signals and budgets count from what the null policy uses. Guarantee:
// no budget is exceeded, which by the stopping rule is certain if the null policy surely returns what was told.
// It can be saved.
func newConRLKnapsack(c Config) (cmdp.Learner, error) {
	core, err := newCore("conrl-knapsack", &c)
	if err != nil {
		return nil, err
	}
	l := &knapsackLearner{null: c.Knowledge.Null, floor: make([]float64, core.signals),
		used: make([]float64, core.signals)}
	if len(core.limit) > 0 && l.null == nil {
		return nil, unsupported("conrl-knapsack", "it needs a null policy and its returns")
	}
	if l.null != nil {
		core.totals(l.floor, c.Knowledge.NullReturns)
	}
	margin := DefaultKnapsackMargin
	if c.Tuning.KnapsackMargin != nil {
		margin = *c.Tuning.KnapsackMargin
	}
	l.budget = slices.Clone(core.limit)
	for i, b := range l.budget {
		if b < l.floor[i+1] {
			return nil, unsupported("conrl-knapsack", "the null policy itself exceeds a constraint")
		}
		core.limit[i] = b - margin*(b-l.floor[i+1])
	}
	l.lpLearner = newConRLProgram(core, c.Lazy)
	l.Keep(&l.used, &l.done)
	return l, nil
}

// Policy plans, and returns the policy of the next episode.
func (l *knapsackLearner) Policy() cmdp.Policy {
	l.done = l.done || l.exhausted()
	if l.done {
		return l.null
	}
	return l.lpLearner.Policy()
}

// exhausted reports whether one more episode could overdraw a budget: it uses at
// most H, and null episodes fill the rest.
func (l *knapsackLearner) exhausted() bool {
	rest := max(0, l.k-float64(l.state.Episodes)-1)
	for i, b := range l.budget {
		if l.used[i+1]+float64(l.horizon)+rest*l.floor[i+1] > l.k*b+1e-9*l.k {
			return true
		}
	}
	return false
}

// Observe takes an episode.
func (l *knapsackLearner) Observe(tr *cmdp.Trajectory) {
	total := make([]float64, l.signals)
	l.totals(total, tr.Total)
	floats.Add(l.used, total)
	l.lpLearner.Observe(tr)
}
