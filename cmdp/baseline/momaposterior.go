package baseline

import (
	"errors"

	"cmdpsolve/cmdp"
)

var _ = register(Algorithm{
	Name: "moma-posterior", New: newMOMAPosterior,
	Source: "this project: MOMA with drawn models (Osband, Russo, Van Roy 2013) in the place of bonuses", Planner: "1 value iteration on a drawn model",
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
}

// momaPosteriorState is its saved form.
type momaPosteriorState struct {
	Block   posteriorState
	Dual    []byte
	Kernels []cmdp.Kernel
	Least   float64
}

func newMOMAPosterior(c Config) (cmdp.Learner, error) {
	l, err := newPosterior("moma-posterior", false, c)
	if err != nil {
		return nil, err
	}
	penalty := c.Penalty
	if penalty == nil {
		penalty = &cmdp.Penalty{Rule: cmdp.PenaltyDoubling}
	}
	dual, err := cmdp.NewTermsDual(c.Shape, c.Task, penalty)
	if err != nil {
		return nil, err
	}
	return &momaPosterior{posterior: l.(*posterior), dual: dual}, nil
}

// Policy is best in the present direction, in the model of the block.
func (l *momaPosterior) Policy() cmdp.Policy {
	if !l.state.Planned {
		l.startBlock()
		if model, err := l.drawer.model(); err == nil { // else the old one will do
			l.model = model
		}
	}
	if l.model == nil {
		return l.policy
	}
	l.state.Work.Planner++
	policy, least := cmdp.BestPolicy(l.model, l.dual.Direction())
	l.least = least
	return policy
}

// Observe counts an episode and turns the direction.
func (l *momaPosterior) Observe(tr *cmdp.Trajectory) {
	l.posterior.Observe(tr)
	l.dual.Observe(tr.Total, l.least)
}

// MarshalBinary returns the state of the learner, from which UnmarshalBinary
// continues bit for bit.
func (l *momaPosterior) MarshalBinary() ([]byte, error) {
	x := momaPosteriorState{Block: l.x, Least: l.least}
	if l.model != nil {
		for h := range l.horizon {
			if h > 0 && l.model.Stationary() {
				break
			}
			x.Kernels = append(x.Kernels, *l.model.Kernel(h))
		}
	}
	var err error
	if x.Dual, err = l.dual.MarshalBinary(); err != nil {
		return nil, err
	}
	return l.save(&x)
}

// UnmarshalBinary restores a state that MarshalBinary returned, into a learner of the
// same Config.
func (l *momaPosterior) UnmarshalBinary(data []byte) error {
	var x momaPosteriorState
	if err := l.load(data, &x); err != nil {
		return err
	}
	if err := l.restore(x.Block); err != nil {
		return err
	}
	if err := l.dual.UnmarshalBinary(x.Dual); err != nil {
		return err
	}
	l.model, l.least = nil, x.Least
	if x.Kernels == nil {
		return nil
	}
	model, err := cmdp.NewModel(cmdp.ModelSpec{Horizon: l.horizon, Dim: l.shape.Dim(), Start: l.start, Kernels: x.Kernels})
	if err != nil {
		return errors.Join(errors.New("baseline: saved learner: its model is damaged"), err)
	}
	l.model = model
	return nil
}
