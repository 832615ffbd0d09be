package exact

import (
	"errors"
	"math"
	"slices"

	"cmdpsolve/oracle/lp"

	"gonum.org/v1/gonum/floats"
)

// Joined says how a policy of long-run means goes round between recurrent classes that would not be left
// otherwise, so that all its runs have the same means: seldom, by rare choices.
type Joined struct {
	// Classes is how many there are.
	Classes int
	// Steps is the mean number of steps from one such choice to the next.
	Steps float64
	// Loss is by how much the cost is larger than that of a draw between the classes.
	Loss float64
}

// joinClasses makes a mixture of long-run means the incumbent that becomes one policy in each end, within the gap. A
// link leads round between the classes that the mixture consists of. It gets the largest share of the time that
// the gap has room for, and the mixture of the other policies is chosen again, so that all together keep every
// limit. Where that fails, or the time for it is over, the incumbent stays as it is: its policy draws a class.
func (s *recovery) joinClasses() error {
	p := s.traits.classes
	if p == nil {
		return nil
	}
	runs := make(map[*columnPolicy]*longRunFrequencies)
	columns, weights, rays, _ := s.incumbentMixture()
	if len(columns) < 2 || len(rays) > 0 {
		return nil
	}
	t, err := p.longRunMixtureOf(s.ctx, columns, weights, runs)
	if err != nil || !t.hasSeparateClasses() {
		return err
	}
	before := *s.columnGeneration
	before.master = nil
	known := slices.Clone(s.master.columns)
	err = s.joinWithin(max(s.opts.JoinGap, s.opts.Gap), t, runs)
	over := errors.Is(err, errBudget)
	if s.joined != nil || err != nil && !over {
		return err
	}
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	s.incumbent, s.anchor, s.leastEasing = before.incumbent, before.anchor, before.leastEasing
	s.acceptedGap, s.opts.Gap = before.acceptedGap, before.opts.Gap
	if restored := s.master.rebuild(known); restored != nil || !over {
		return restored
	}
	return err
}

// joinWithin is joinClasses for a mixture whose classes are to become one within a gap. It sets joined if they do.
func (s *recovery) joinWithin(gap float64, t *longRunMixture, runs map[*columnPolicy]*longRunFrequencies) error {
	cost := s.incumbent.cost
	s.acceptedGap = max(s.acceptedGap, gap)
	s.opts.Gap = 0.9 * gap // of which rounding takes a little
	const rounds = 8
	for range rounds {
		l, err := t.link(s.ctx, s.lagrangianDirection())
		if err != nil {
			return nil
		}
		ok, err := s.admitLink(l, gap)
		if !ok || err != nil {
			return err
		}
		columns, weights, _, _ := s.incumbentMixture()
		now, err := t.p.longRunMixtureOf(s.ctx, columns, weights, runs)
		if err != nil {
			return err
		}
		if !now.hasSeparateClasses() {
			s.joined = &Joined{Classes: l.classes, Steps: 1 / now.exitRate(l), Loss: math.Max(0, s.incumbent.cost-cost)}
			return nil
		}
		// What is new is joined too, and nothing is forgotten.
		columns, weights = unlinked(append(columns, t.columns...), append(weights, t.weights...))
		t, err = t.p.longRunMixtureOf(s.ctx, columns, scaled(0.5, weights), runs)
		if err != nil {
			return err
		}
	}
	return nil
}

// exitRate returns how often per step, where there are several classes to join, a link leaves one.
func (t *longRunMixture) exitRate(l *link) float64 {
	left, time := 0.0, 0.0
	ends := make(map[int32]bool)
	for c := range l.exits {
		left += t.mass[c]
		ends[t.p.ends.Of[t.p.least.Predecessors.Owner[c]]] = true
	}
	for end := range ends {
		time += t.endProbability(end)
	}
	return left / time
}

// admitLink gives a link a share of the time, and finds the best mixture with it. It reports whether that is within
// the gap goal and keeps the limits.
func (s *recovery) admitLink(l *link, goal float64) (bool, error) {
	const most, least = 0.25, 1e-15
	share := most
	if dir := s.lagrangianDirection(); dir != nil && s.task.Cost != nil {
		price := floats.Dot(dir, l.returns) - floats.Dot(dir, s.incumbent.v)
		if room := 0.5 * s.tolerance(goal); price > 0 {
			share = math.Min(most, room/price)
		}
	}
	for ; share >= least; share /= 8 {
		columns := append(s.master.withoutLinks(), column{returns: l.returns, link: l, leastWeight: share})
		if err := s.master.rebuild(columns); err != nil {
			return false, err
		}
		if err := s.master.startPhase1(); err != nil {
			return false, err
		}
		s.incumbent, s.farkas.certificate = point{cost: math.Inf(1)}, nil
		verdict, err := s.phase1()
		s.farkas.certificate = nil
		if err == nil && verdict == Optimal && s.task.Cost != nil {
			verdict, err = s.phase2()
		}
		if err != nil {
			return false, err
		}
		if verdict == Optimal && (s.task.Cost == nil || s.gap() <= s.tolerance(goal)) {
			return true, nil
		}
	}
	return false, nil
}

// withoutLinks returns the columns that are no links.
func (m *master) withoutLinks() []column { return policiesOf(m.columns) }

// policiesOf returns the columns that are no links.
func policiesOf(columns []column) []column {
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.link != nil })
}

// rebuild solves from scratch with other columns.
func (m *master) rebuild(columns []column) (err error) {
	m.columns = columns
	m.blocks = make([][]int, len(m.blocks))
	for j := range columns {
		m.addToBlock(j)
	}
	m.costs = append(m.costs[:firstLambda], make([]float64, len(columns))...)
	m.solver, err = lp.NewEmbedded(m.program())
	return err
}
