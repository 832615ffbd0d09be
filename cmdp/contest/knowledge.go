package contest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"

	"gonum.org/v1/gonum/floats"
)

// Told returns what learners and planners are told of a problem with a model, whether it has episodes or is one
// endless run, and the environment that they play. With returns they are told the expected returns, with support which
// successors a choice can have. It is an error if the problem asks for totals without a horizon.
func Told(q *query.Query, returns, support bool) (cfg baseline.Config, env cmdp.Environment, err error) {
	if q == nil {
		return cfg, nil, errors.New("contest: no query")
	}
	m := q.Model
	cfg, env = baseline.Config{Shape: m.Shape(), Task: q.Task}, m
	known := m.KnownReturns
	if cfg.Shape == nil {
		endless, err := cmdp.NewEndless(m)
		if err != nil {
			return cfg, nil, err
		}
		cfg.Shape, cfg.Endless = endless.Shape(), &baseline.Endless{Discount: m.Discount()}
		env, known = endless, endless.KnownReturns
	}
	if returns {
		cfg.Returns = known()
	}
	if support {
		cfg.Knowledge.Support = baseline.SupportOf(m)
	}
	return cfg, env, nil
}

// knowledge computes what the settings say that learners are told beyond the task.
// What was asked from the model but does not exist stays unknown; the learners
// that need it then say so.
func (c *Contest) knowledge(ctx context.Context) (err error) {
	m, know := c.Query.Model, &c.cfg.Knowledge
	if c.Slater == "auto" || c.Safe == "auto" {
		all, err := baseline.KnowledgeOf(ctx, m, c.Task)
		if err != nil {
			return err
		}
		if c.Slater == "auto" {
			know.Slater = all.Slater
		}
		if c.Safe == "auto" {
			know.Safe, know.SafeReturns = all.Safe, all.SafeReturns
		}
	}
	if given, err := c.slater(); err != nil {
		return err
	} else if given > 0 {
		know.Slater = given
	}
	if c.Safe != "auto" && c.Safe != "none" {
		know.Safe, know.SafeReturns, err = c.policy(c.Safe)
		if err != nil {
			return err
		}
	}
	switch c.Null {
	case "none":
	case "auto":
		know.Null, know.NullReturns = nullPolicy(m, c.Task)
	default:
		policy, returns, err := c.policy(c.Null)
		if err != nil {
			return err
		}
		if !surely(m, c.Task, policy) {
			return fmt.Errorf("null-policy %s: an episode of it does not surely return the same in every constraint", c.Null)
		}
		know.Null, know.NullReturns = policy, returns
	}
	return nil
}

// readLog reads what learners have seen before.
func (c *Contest) readLog() (err error) {
	if c.Log == "" {
		return nil
	}
	if c.opponent != nil {
		return fmt.Errorf("log %s: a log is for problems with one player", c.Log)
	}
	log := Log{Path: c.Log, Pool: c.Pool, Returns: c.Returns == "unknown", Support: c.Support == "auto"}
	c.cfg.Prior, c.Logged, err = log.Read(c.Query.Process)
	return err
}

// told lists what of the knowledge an algorithm uses.
func (c *Contest) told(a baseline.Algorithm) []string {
	told, know := []string{}, &c.cfg.Knowledge
	for _, need := range a.Needs {
		switch {
		case need == "Slater constant" && know.Slater > 0:
			told = append(told, fmt.Sprintf("Slater constant %.3g", know.Slater))
		case need == "safe policy" && know.Safe != nil, need == "null policy" && know.Null != nil:
			told = append(told, need)
		}
	}
	if a.Adversarial && c.Changes() {
		told = append(told, "the returns of each episode after it")
	}
	if a.UsesSupport && know.Support != nil {
		told = append(told, "possible successors")
	}
	return told
}

// policy reads a policy file and evaluates the policy in the model.
func (c *Contest) policy(path string) (cmdp.Policy, []float64, error) {
	policy, err := problem.ReadPolicy(path, c.Query.Process)
	if err != nil {
		return nil, nil, err
	}
	return policy, returnsUnder(c.Query.Model, policy), nil
}

func returnsUnder(m *cmdp.Model, policy cmdp.Policy) []float64 {
	returns := make([]float64, m.Dim())
	cmdp.NewEvaluator(m).Returns(returns, policy)
	return returns
}

// nullPolicy returns the policy with the least sum of the constraints' signals, and
// its expected returns. It returns nothing if the signals of that policy depend on
// chance.
func nullPolicy(m *cmdp.Model, task cmdp.Task) (cmdp.Policy, []float64) {
	linear, err := baseline.LinearForm(m.Shape(), task)
	if err != nil || len(linear.Rows) == 0 {
		return nil, nil
	}
	direction := make([]float64, m.Dim())
	for _, r := range linear.Rows {
		floats.AddScaled(direction, 1/floats.Norm(r.Normal, 2), r.Normal)
	}
	policy, _ := cmdp.BestPolicy(m, direction)
	if !surely(m, task, policy) {
		return nil, nil
	}
	return policy, returnsUnder(m, policy)
}

// surely reports whether every episode of a policy returns the same in every
// constraint.
func surely(m *cmdp.Model, task cmdp.Task, policy cmdp.Policy) bool {
	linear, err := baseline.LinearForm(m.Shape(), task)
	if err != nil {
		return false
	}
	for _, r := range linear.Rows {
		if low, high := cmdp.Extremes(m, policy, r.Normal); high-low > 1e-9*max(1, math.Abs(high)) {
			return false
		}
	}
	return true
}
