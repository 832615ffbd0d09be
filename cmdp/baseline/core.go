package baseline

import (
	"math"

	"cmdpsolve/cmdp"
)

// A core is what the tabular learners have in common: the estimate, the policy of
// the next episode, and their progress.
type core struct {
	*estimate
	scale  cmdp.BonusScale
	policy *table
	state  coreState
	k, p   float64 // episodes K and failure probability

	kept     []any // pointers to what is saved beyond the core
	restored func() error
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
	return &core{estimate: e, scale: c.Bonus, policy: newTable(u),
		k: float64(c.Confidence.Episodes), p: c.Confidence.Failure}, nil
}

// logTerm returns ln(factor·S·A·H·K/p), with the number of slots for S·A·H.
func (c *core) logTerm(factor float64) float64 {
	_, slots := c.shape.Unknown()
	return math.Log(factor * float64(max(1, slots)) * c.k / c.p)
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

// keeps adds to what is saved of the learner; restored, if not nil, brings up to date what follows
// from it.
func (c *core) keeps(restored func() error, parts ...any) {
	c.restored, c.kept = restored, append(c.kept, parts...)
}

// MarshalBinary returns the state of the learner, from which UnmarshalBinary continues bit for
// bit. It is called between episodes.
func (c *core) MarshalBinary() ([]byte, error) { return c.save(c.kept...) }

// UnmarshalBinary restores a state that MarshalBinary returned, into a learner of the same Config.
func (c *core) UnmarshalBinary(data []byte) error {
	if err := c.load(data, c.kept...); err != nil || c.restored == nil {
		return err
	}
	return c.restored()
}

// save returns the state of the core and what the learner keeps beyond it.
func (c *core) save(extra ...any) ([]byte, error) {
	return marshal(append([]any{c.counts, &c.state, &c.fresh, &c.policy.probs}, extra...)...)
}

// load restores what save returned.
func (c *core) load(data []byte, extra ...any) error {
	if err := unmarshal(data, append([]any{c.counts, &c.state, &c.fresh, &c.policy.probs}, extra...)...); err != nil {
		return err
	}
	fresh := c.fresh
	clear(c.mean)
	for h := range c.layers {
		clear(c.layers[h])
	}
	c.refreshAll()
	c.fresh = fresh
	return nil
}
