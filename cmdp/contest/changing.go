package contest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/baseline"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cmdp/query"
)

// Changing says how expected returns change from episode to episode. Its zero value is that they stay.
type Changing struct {
	// How is "drift", from those of the problem in the first episode to those of the problem in File in the last
	// one; "switch", from one to the other with probability 1/√Episodes before each episode; or "adversary", which
	// worsens the goal's returns of choices that were taken lately, see cmdp.ReturnSchedule.
	How, File string
}

// adversary is that Changing for which returns are chosen by an adversary.
var adversary = Changing{How: "adversary"}

// UnmarshalText reads "drift:FILE", "switch:FILE", "adversary" or "".
func (c *Changing) UnmarshalText(text []byte) error {
	c.How, c.File, _ = strings.Cut(string(text), ":")
	return c.check()
}

func (c *Changing) check() error {
	if *c == adversary || c.File != "" && (c.How == "drift" || c.How == "switch") || *c == (Changing{}) {
		return nil
	}
	return fmt.Errorf("changing %q: want drift:FILE, switch:FILE or adversary", c)
}

// MarshalText returns what UnmarshalText reads.
func (c Changing) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String returns what UnmarshalText reads.
func (c Changing) String() string {
	if c.File == "" {
		return c.How
	}
	return c.How + ":" + c.File
}

// Changes reports whether returns change from episode to episode.
func (c *Contest) Changes() bool { return c.Changing != Changing{} }

// prepareChanging makes the schedule of returns that change.
func (c *Contest) prepareChanging(ctx context.Context, opts *PrepareOptions) error {
	q := c.Query
	switch {
	case q.Model == nil || c.Endless() || q.Model.Shape() == nil || q.Model.Shape().Game():
		return errors.New("changing: returns change from episode to episode of a model with a horizon and one player")
	case q.Remembers():
		return errors.New("changing: limits on whole episodes need returns that stay")
	}
	if asked := c.asks("rho", "slater", "safe-policy", "null-policy", "log", "expected", "mixture"); asked != "" {
		return fmt.Errorf("%s: this is about returns that stay, and here they change", asked)
	}
	c.schedule = cmdp.ReturnSchedule{}
	if c.Changing == adversary {
		linear, err := baseline.LinearForm(q.Model.Shape(), c.Task)
		if err != nil || c.Task.Cost == nil {
			return errors.New("changing adversary: it is against a linear goal, and the problem has none")
		}
		c.schedule.Against = linear.Goal
	} else if err := c.readOther(ctx); err != nil {
		return fmt.Errorf("changing %v: %w", c.Changing, err)
	}
	env, err := cmdp.NewChanging(q.Model, c.schedule, c.Seed)
	if err != nil {
		return fmt.Errorf("changing %v: %w", c.Changing, err)
	}
	c.shape = env.Shape()
	opts.Unsolved = true // the best fixed policy is known when the run is over
	return nil
}

// readOther reads the problem whose returns the present ones become.
func (c *Contest) readOther(ctx context.Context) error {
	p, err := problem.Read(c.Changing.File)
	if err != nil {
		return err
	}
	q, err := query.New(ctx, p, query.CompileOptions{})
	if err != nil {
		return err
	}
	if q.Model == nil || q.Model.Shape() == nil {
		return errors.New("want a problem with a model and a horizon")
	}
	c.schedule.Other = q.Model
	if c.Changing.How == "drift" {
		c.schedule.Drift = max(2, c.Episodes)
	} else {
		c.schedule.Switch = 1 / math.Sqrt(float64(c.Episodes))
	}
	return nil
}

// config is what a learner is told. Where returns change they have to be learned, except by a learner that is
// told those of each episode after it.
func (c *Contest) config(a *baseline.Algorithm) baseline.Config {
	cfg := c.cfg
	if c.Changes() && !a.Adversarial {
		cfg.Returns = nil
	}
	return cfg
}

// measureChanging adds what is known of a run whose returns change: regret against the best fixed policy for
// the mean of the returns over the episodes, and violation of the mean return. Single episodes are not judged.
func (r *Run) measureChanging(m *baseline.Metrics) {
	mean, err := r.environment.(*cmdp.Changing).Mean()
	if err != nil {
		return
	}
	best, err := exact.Solve(context.Background(), mean, r.Task, exact.Options{Workers: 1})
	optimum := math.NaN()
	if err == nil && best.Status == exact.Optimal && r.Task.Cost != nil {
		optimum = best.Objective
	}
	r.measureMean(m, optimum)
}
