package contest

import (
	"context"
	"errors"
	"fmt"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/markov"
)

// Endless reports whether runs have no episodes: they are endless, and Episodes is the number of their steps.
func (c *Contest) Endless() bool { return c.discount > 0 }

// prepareEndless makes the environment of a problem without a horizon. Of a simulator nobody knows whether all
// states lead to each other.
func (c *Contest) prepareEndless(ctx context.Context) error {
	m := c.Query.Model
	switch {
	case m == nil:
	case !m.Average() && m.Means():
		return errors.New("learners need a horizon, a discount or long-run means; this problem asks for totals " +
			"beside long-run means")
	case !m.Average() && m.Discount() == 1:
		return errors.New("learners need a horizon, a discount or long-run means; this problem asks for totals: " +
			"want horizon, discount or criterion: average in a problem file")
	}
	if m != nil && m.Average() {
		if err := c.communicating(ctx); err != nil {
			return err
		}
	}
	if asked := c.asks("pool", "slater", "safe-policy", "null-policy", "expected", "mixture"); asked != "" {
		return fmt.Errorf("%s: this is about episodes, and the problem has none", asked)
	}
	if c.Steps > 0 {
		c.Episodes = c.Steps
	}
	if m == nil {
		c.discount = c.Query.Problem.SimulatedDiscount
		return nil
	}
	c.discount = m.Discount()
	var err error
	c.endless, err = cmdp.NewEndless(m)
	if err == nil {
		c.shape = c.endless.Shape()
	}
	return err
}

// communicating returns an error unless each state that a run can come to can be left for each other one
// (Puterman 1994, §8.3). In a model in which that is not so a run may come to where its means cannot be what
// they could have been, before it knows.
func (c *Contest) communicating(ctx context.Context) error {
	m := c.Query.Model
	g := &markov.Graph{Kernel: m.Kernel(0)}
	var from []int32
	for _, st := range m.StartStates() {
		from = append(from, int32(st.State))
	}
	var err error
	g.In, err = g.Reachable(ctx, from)
	if err != nil {
		return err
	}
	parts, err := g.Components(ctx)
	if err != nil || parts.Len() == 1 {
		return err
	}
	// The first component is one that no choice leaves.
	last := int(parts.Part(0)[0])
	gone := int(parts.Part(parts.Len() - 1)[0])
	return fmt.Errorf("an endless run learns where all states lead to each other, in communicating models; here no "+
		"choice leads from %s back to %s",
		c.Query.StateName(last), c.Query.StateName(gone))
}

// measureMean adds what is known of a run by the mean of its steps or episodes alone: regret to an optimum, and
// the largest excess over a limit. Single steps are not judged.
func (r *Run) measureMean(m *baseline.Metrics, optimum float64) {
	steps := float64(m.Episodes)
	if r.Task.Cost != nil {
		m.Regret = r.Task.Cost.Value(m.Average) - optimum
		m.RealizedWeakRegret = steps * m.Regret
	}
	if r.Task.Target == nil {
		return
	}
	m.MaxViolation = m.Violation
	if linear, err := baseline.LinearForm(r.shape, r.Task); err == nil {
		m.MaxViolation = 0
		for i := range linear.Rows {
			m.MaxViolation = max(m.MaxViolation, linear.Excess(i, m.Average))
		}
	}
	m.RealizedWeakViolation = steps * m.MaxViolation
}
