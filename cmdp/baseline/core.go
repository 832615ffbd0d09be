package baseline

import (
	"bytes"
	"encoding/gob"
	"fmt"
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
}

type coreState struct {
	Episodes int
	Work     Work
	Planned  bool // the policy is that of the next episode
	Fresh    bool
	Probs    []float64
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
	return math.Log(factor * float64(max(1, c.slots())) * c.k / c.p)
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

// coreBinary is the saved form of a learner.
type coreBinary struct {
	State  coreState
	Counts []byte
	Extra  []byte
}

// save returns the state of the learner; extra points to what it keeps beyond the
// core.
func (c *core) save(extra any) ([]byte, error) {
	b := coreBinary{State: c.state}
	b.State.Fresh, b.State.Probs = c.fresh, c.policy.probs
	var err error
	if b.Counts, err = c.counts.MarshalBinary(); err != nil {
		return nil, err
	}
	var w bytes.Buffer
	if err := gob.NewEncoder(&w).Encode(extra); err != nil {
		return nil, err
	}
	b.Extra = w.Bytes()
	var out bytes.Buffer
	err = gob.NewEncoder(&out).Encode(&b)
	return out.Bytes(), err
}

// load restores what save returned, into a learner of the same Config.
func (c *core) load(data []byte, extra any) error {
	var b coreBinary
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&b); err != nil {
		return fmt.Errorf("baseline: saved learner: %w", err)
	}
	if len(b.State.Probs) != len(c.policy.probs) {
		return fmt.Errorf("baseline: saved learner: %d slots: want %d", len(b.State.Probs), len(c.policy.probs))
	}
	if err := gob.NewDecoder(bytes.NewReader(b.Extra)).Decode(extra); err != nil {
		return fmt.Errorf("baseline: saved learner: %w", err)
	}
	if err := c.unmarshalCounts(b.Counts); err != nil {
		return err
	}
	c.state = b.State
	c.fresh = b.State.Fresh
	copy(c.policy.probs, b.State.Probs)
	c.state.Probs = nil
	return nil
}
