package baseline

import (
	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/saved"
)

var _ = registerMOMA("moma", "", "double dual with a cost, else projection-free", "1 value iteration") &&
	registerMOMA("moma-projection", "projection", "projection-based dual update",
		"1 value iteration and a projection") &&
	registerMOMA("moma-free", "free", "projection-free dual update", "1 value iteration") &&
	registerMOMA("moma-double", "double", "double dual update", "1 value iteration")

func registerMOMA(name, dual, variant, planner string) bool {
	a := Algorithm{
		Name: name, New: func(c Config) (cmdp.Learner, error) { return newMOMA(name, dual, c) },
		Source: "Yu, Tian, Zhang, Sra (2021), MOMA, " + variant, Planner: planner,
		Guarantee:     "dist(W^K, W*) and g(W^K) − g* Õ(√(min{d,S} d H³ S A / K))",
		NonlinearCost: true, NonlinearConstraints: true, Games: true, Efficient: true,
		Certainty: "from the paper, with the corrections of docs/design.md",
	}
	if dual == "projection" || dual == "free" {
		a.NonlinearCost, a.Guarantee = false, "dist(W^K, W*) Õ(√(min{d,S} d H³ S A / K)); the target alone"
	}
	return register(a)
}

// A MOMA is [cmdp.MOMA] with its planning counted.
type MOMA struct {
	*cmdp.MOMA
	saved.State
	calls int
}

// counted returns a MOMA whose planning is counted.
func counted(m *cmdp.MOMA) *MOMA {
	l := &MOMA{MOMA: m}
	l.Keep(&l.calls, m)
	return l
}

// momaOf returns a MOMA that plans with a bonus for known returns, and has seen the prior.
func momaOf(c *Config, bonus cmdp.Bonus, dual cmdp.DualUpdate) (*MOMA, error) {
	counts, err := c.newCounts(nil)
	if err != nil {
		return nil, err
	}
	planner, err := cmdp.NewOptimisticVI(c.Shape, c.Returns, bonus)
	if err != nil {
		return nil, err
	}
	return counted(cmdp.NewMOMA(counts, planner, dual)), nil
}

// newMOMA returns a MOMA with the given dual update; "" is that of the settings, or else chosen by the task.
func newMOMA(name, dual string, c Config) (cmdp.Learner, error) {
	if dual == "" {
		dual = c.Dual
	}
	switch {
	case c.Task.Target == nil && dual != "" && dual != "double":
		return nil, unsupported(name, "it pursues a target, and the task has none")
	case c.Task.Cost == nil && dual == "double":
		return nil, unsupported(name, "it pursues a cost, and the task has none")
	case c.Shape.Game() && c.Task.Cost != nil && c.Task.Target != nil && (dual == "" || dual == "double"):
		return nil, unsupported(name, "against an opponent it pursues a cost or a target, not a cost within a target")
	}
	c.Dual = dual
	l, err := cmdp.NewLearner(c.Shape, c.Returns, c.Task, c.Settings)
	if err != nil {
		return nil, err
	}
	return counted(l), takePrior(l.Counts(), c.Prior)
}

// newCounts returns counts that begin with the prior.
func (c *Config) newCounts(confidence *cmdp.ReturnConfidence) (*cmdp.Counts, error) {
	counts, err := cmdp.NewCounts(c.Shape, c.Pooled, confidence)
	if err != nil {
		return nil, err
	}
	return counts, takePrior(counts, c.Prior)
}

// takePrior replaces counts by a copy of the prior, if there is one.
func takePrior(counts, prior *cmdp.Counts) error {
	if prior == nil {
		return nil
	}
	data, err := prior.MarshalBinary()
	if err != nil {
		return err
	}
	return counts.UnmarshalBinary(data)
}

// Policy plans in the present direction.
func (l *MOMA) Policy() cmdp.Policy {
	l.calls++
	return l.MOMA.Policy()
}

// Work returns what was spent on planning.
func (l *MOMA) Work() Work { return Work{Planner: l.calls} }
