package baseline

import (
	"context"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/internal/saved"
)

// A core is what the tabular learners have in common: the estimate, the policy of
// the next episode, and their progress.
type core struct {
	*estimate
	saved.State
	scale  cmdp.BonusScale
	policy *table
	replan func() // makes the policy of the next episode; nil if it stays as it is until Observe
	state  coreState
	k, p   float64 // episodes K and failure probability
	// Plans end with ctx.
	ctx        context.Context
	unfinished bool // the last one has
}

type coreState struct {
	Episodes int
	Work     Work
	Planned  bool // the policy is that of the next episode
}

// newCore returns the core of the named algorithm, with the uniform policy.
func newCore(name string, c *Config) (*core, error) {
	u, err := newScaledTask(name, c)
	if err != nil {
		return nil, err
	}
	return coreOf(u, c)
}

func coreOf(u *scaledTask, c *Config) (*core, error) {
	e, err := newEstimate(u, c)
	if err != nil {
		return nil, err
	}
	l := &core{estimate: e, scale: c.Bonus, policy: newTable(u),
		k: float64(c.Confidence.Episodes), p: c.Confidence.Failure, ctx: context.Background()}
	l.Keep(e.counts, &l.state, &e.fresh, &l.policy.probs)
	l.Then(func() error {
		fresh := e.fresh
		clear(e.mean)
		for h := range e.layers {
			clear(e.layers[h])
		}
		e.refreshAll()
		e.fresh = fresh
		return nil
	})
	return l, nil
}

// logTerm returns ln(factor·S·A·H·K/p), with the number of slots for S·A·H.
func (c *core) logTerm(factor float64) float64 {
	_, slots := c.shape.Unknown()
	return math.Log(factor * float64(max(1, slots)) * c.k / c.p)
}

// Policy plans where that is still to be done, and returns the policy of the next episode.
func (c *core) Policy() cmdp.Policy {
	if !c.state.Planned && c.replan != nil {
		c.unfinished = false
		c.replan()
	}
	c.state.Planned = true
	return c.policy
}

// PlanWithin and Unfinished make a learner [cmdp.Interruptible].
func (c *core) PlanWithin(ctx context.Context) { c.ctx = ctx }

// Unfinished is about the last plan, see [core.PlanWithin].
func (c *core) Unfinished() bool { return c.unfinished }

// ended takes the error of a plan, nil if there is none.
func (c *core) ended(err error) {
	c.unfinished = c.unfinished || err != nil && c.ctx.Err() != nil
}

// Work returns what was spent on planning.
func (c *core) Work() Work { return c.state.Work }

// Counts returns the learner's counts. They must not be changed.
func (c *core) Counts() *cmdp.Counts { return c.counts }

// observe counts an episode and returns the choices that it touched.
func (c *core) observe(tr *cmdp.Trajectory) []slot {
	c.state.Episodes++
	c.state.Planned = false
	return c.estimate.observe(tr)
}
