package baseline

import "cmdpsolve/cmdp"

var _ = register(Algorithm{
	Name: "moma-posterior", New: newMOMAPosterior,
	Source:        "this project: MOMA with drawn models (Osband, Russo, Van Roy 2013) in the place of bonuses",
	Planner:       "1 value iteration on a drawn model",
	Guarantee:     "none known: MOMA's needs optimism, that of posterior sampling a task that is solved in each model",
	NonlinearCost: true, NonlinearConstraints: true, Efficient: true, UsesSupport: true,
	Published: "no bonus: the scale changes nothing", Certainty: posteriorCertainty,
})

// A momaPosterior is MOMA whose value iterations run on a model that is drawn from the
// posterior, in the place of an optimistic one. A new one is drawn when posterior would
// start a block.
type momaPosterior struct {
	*posterior
	dual  *cmdp.TermsDual
	model *cmdp.Model // nil before the first draw
	least float64     // of the present direction in the model
	drawn struct{ Kernels []cmdp.Kernel }
}

func newMOMAPosterior(c Config) (cmdp.Learner, error) {
	l, err := newPosterior("moma-posterior", false, c)
	if err != nil {
		return nil, err
	}
	dual, err := cmdp.NewTermsDual(c.Shape, c.Task, c.Penalty)
	if err != nil {
		return nil, err
	}
	m := &momaPosterior{posterior: l.(*posterior), dual: dual}
	m.replan = m.draw
	m.Keep(dual, &m.least, &m.drawn)
	m.Then(m.remake)
	return m, nil
}

// remake makes the model of the kernels that were saved.
func (l *momaPosterior) remake() (err error) {
	l.model = nil
	if l.drawn.Kernels != nil {
		l.model, err = cmdp.NewModel(cmdp.ModelSpec{Horizon: l.horizon, Dim: l.shape.Dim(), Start: l.start,
			Kernels: l.drawn.Kernels})
	}
	return err
}

// draw starts a block with another model.
func (l *momaPosterior) draw() {
	l.startBlock()
	model, err := l.drawer.model()
	if err != nil {
		return // the old one will do
	}
	l.model, l.drawn.Kernels = model, nil
	for h := range model.Kernels() {
		l.drawn.Kernels = append(l.drawn.Kernels, *model.Kernel(h))
	}
}

// Policy is best in the present direction, in the model of the block.
func (l *momaPosterior) Policy() cmdp.Policy {
	policy := l.posterior.Policy()
	if l.model == nil {
		return policy
	}
	l.state.Work.Planner++
	policy, l.least = cmdp.BestPolicy(l.model, l.dual.Direction())
	return policy
}

// Observe counts an episode and turns the direction.
func (l *momaPosterior) Observe(tr *cmdp.Trajectory) {
	l.posterior.Observe(tr)
	l.dual.Observe(tr.Total, l.least)
}
