package baseline

import (
	"errors"
	"fmt"

	"cmdpsolve/cmdp"
)

// A Config is all that a learner may know. Shape, Confidence and what the task
// needs must be given; every other field has a zero value that means a default.
type Config struct {
	// Shape is the shape of the environment.
	Shape *cmdp.Shape
	// Returns is the table of expected returns, or nil if they have to be learned.
	Returns *cmdp.Returns
	// Task is what is wanted, in the user's units.
	Task cmdp.Task
	// Linear is the linear form of the task. nil derives it where it is needed; a
	// task that has none is then refused by linear methods.
	Linear *Linear
	// Settings are those of MOMA. Other learners ask them too: for the number K of episodes and the failure
	// probability p, for how large bonuses and confidence radii are, and whether counts are pooled over steps;
	// learners with a double dual update for the penalty.
	cmdp.Settings
	// Seed is the seed of what a learner itself draws, which are the preferences of
	// mo-ucbvi if they are random. The draws of policies come from the runner's stream.
	Seed uint64
	// Preferences says where the preferences of mo-ucbvi come from: "dual", the
	// default, takes the dual variables of MOMA and so pursues the task; "random" draws
	// them from the simplex, as in the paper's experiments, and the task plays no part.
	Preferences string
	// Tuning has settings of single algorithms; its zero value means their defaults.
	Tuning Tuning
	// Lazy learners of the LP family plan anew only once the visits of some
	// (step, choice, successor) have doubled; the others ignore what they do not have.
	Lazy bool
	// Prior holds transitions seen before the run; nil means none. It is copied.
	Prior *cmdp.Counts
	// Knowledge is what some algorithms must be told beyond the task.
	Knowledge Knowledge
	// Endless is not nil if there are no episodes.
	Endless *Endless
}

// Knowledge is what some algorithms must be told about the environment beyond
// its shape. A comparison has to say which learner was told what.
type Knowledge struct {
	// Slater is a number γ > 0 such that some policy keeps every constraint with room
	// γ: f·V ≤ b − γ for each row of the linear form, in the units of the row. 0 means
	// unknown.
	Slater float64
	// Safe is a policy known to meet every constraint strictly, and SafeReturns its
	// expected returns, of length d. nil means unknown.
	Safe        cmdp.Policy
	SafeReturns []float64
	// Null is a policy under which each episode surely returns NullReturns, of length
	// d, to which a learner with hard budgets retreats. nil means unknown.
	Null        cmdp.Policy
	NullReturns []float64
	// Support says which successors a choice can have; nil means any. Learners whose optimism
	// or bonus runs over successors, or that suppose something of choices that were never
	// taken, then leave the others out; those that ask only what was seen have no use for it.
	// Successors that were seen, in a prior too, count as possible.
	Support Support
	// Span bounds the span of the relative values of good policies for long-run means, in ranges of a step: to
	// begin in the worst state in place of the best costs no more, in the long run, than so many steps that are as
	// bad as can be. See [PlanSampled]; others do not ask. 0 means unknown.
	Span float64
}

// ErrUnsupported is wrapped by the errors of algorithms that cannot handle a
// problem or were not told what they need. The message says why.
var ErrUnsupported = errors.New("not supported")

// unsupported returns an error that wraps ErrUnsupported.
func unsupported(name, format string, args ...any) error {
	return fmt.Errorf("baseline: %s: %w: %s", name, ErrUnsupported, fmt.Sprintf(format, args...))
}

// check returns an error for what no algorithm can work with.
func (c *Config) check() error {
	if c.Shape == nil {
		return errors.New("baseline: no shape")
	}
	d := c.Shape.Dim()
	k := &c.Knowledge
	switch {
	case c.Task.Cost == nil && c.Task.Target == nil:
		return errors.New("baseline: a task without a cost and without a target")
	case c.Pooled && !c.Shape.SameEveryStep():
		return errors.New("baseline: counts cannot be pooled over steps that offer different choices")
	case !(k.Span >= 0) || k.Span > 1e100:
		return fmt.Errorf("baseline: span %g: want a positive number, or 0 for unknown", k.Span)
	case !(k.Slater >= 0) || k.Slater > 1e100:
		return fmt.Errorf("baseline: Slater constant %g: want a positive number, or 0 for unknown", k.Slater)
	case (k.Safe == nil) != (k.SafeReturns == nil) || k.SafeReturns != nil && len(k.SafeReturns) != d:
		return fmt.Errorf("baseline: safe policy with %d returns: want both, %d returns", len(k.SafeReturns), d)
	case (k.Null == nil) != (k.NullReturns == nil) || k.NullReturns != nil && len(k.NullReturns) != d:
		return fmt.Errorf("baseline: null policy with %d returns: want both, %d returns", len(k.NullReturns), d)
	}
	for _, err := range []error{c.Confidence.Check(), c.Bonus.Check(), c.Task.Check(d), c.Tuning.Check()} {
		if err != nil {
			return fmt.Errorf("baseline: %w", err)
		}
	}
	if c.Endless != nil {
		if err := c.Endless.check(c.Shape); err != nil {
			return err
		}
	}
	if k.Support != nil {
		if err := k.Support.check(c.Shape, c.Pooled); err != nil {
			return err
		}
	}
	return nil
}

// atTheory reports whether the constants are at least those of theory, which for algorithms
// other than MOMA are the printed ones.
func atTheory(b cmdp.BonusScale) bool {
	return (b.Mode == cmdp.Theory || b.Mode == cmdp.Printed) && b.Multiplier() >= 1
}
