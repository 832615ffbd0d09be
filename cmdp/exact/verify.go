package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/progress"
	"cmdpsolve/geometry"
	"cmdpsolve/oracle"

	"gonum.org/v1/gonum/floats"
)

// ErrNotProved is wrapped by errors about certificates that do not prove what they
// claim.
var ErrNotProved = errors.New("not proved")

// Verify checks that a certificate proves the target out of reach, without the solver: V* of its direction by a
// plain value iteration, the support function by asking the target. It returns nil if V* exceeds the support by
// more than rounding can account for, and Value, Support and Margin are what they are said to be. Distance is
// checked from below: it must not be less than the separation that was proved. With Whole, Support is that of a
// set that is not known here; it must not be less than that of the target. Rows and Weights are for
// [VerifyRational]. That no policy within the limits comes to the states of Without is found anew, with a dual
// bound of the probability. If the proof does not hold for all policies, it may hold for those with a finite cost.
// Totals that can grow for ever beside long-run means need not be finite where Direction is 0.
func Verify(ctx context.Context, m *cmdp.Model, task cmdp.Task, c *Certificate) error {
	if err := checkCertificate(m, task, c); err != nil {
		return err
	}
	return verifyForAnyCost(task, func(task cmdp.Task) error {
		_, err := provedByEpochsOrRows(ctx, m, func(m *cmdp.Model) (none struct{}, err error) {
			return none, verifyFor(ctx, m, task, c)
		})
		return err
	})
}

// verifyForAnyCost returns nil if a proof holds for all policies, or for those whose cost is finite.
func verifyForAnyCost(task cmdp.Task, verify func(task cmdp.Task) error) error {
	limits := task
	limits.Cost = nil
	if err := verify(limits); err == nil || task.Cost == nil {
		return err
	}
	return verify(task)
}

// verifyFor is Verify for the policies for which what matters to a task is finite.
func verifyFor(ctx context.Context, m *cmdp.Model, task cmdp.Task, c *Certificate) error {
	if length := floats.Norm(c.Direction, 2); !(math.Abs(length-1) <= 1e-9) {
		return fmt.Errorf("exact: certificate with a direction of length %g: want 1: %w", length, ErrNotProved)
	}
	s, err := separationOf(ctx, m, task, c)
	if err != nil {
		return err
	}
	if !s.proves() {
		return fmt.Errorf("exact: every policy reaches at least %g in the direction and the target %g, with errors "+
			"up to %g: %w", s.value, s.support, s.margin+s.slack, ErrNotProved)
	}
	return s.check(c, leastMargin(m, s.margin, 2))
}

// separationOf finds out anew what a certificate tells of its direction.
func separationOf(ctx context.Context, m *cmdp.Model, task cmdp.Task, c *Certificate) (s separation, err error) {
	left, err := leftOut(ctx, m, task, c.Without)
	if err != nil {
		return s, err
	}
	s.support, s.slack = oracle.Support(task.Target, c.Direction), supportError(task.Target, c.Direction)
	only := relevanceOf(m.Dim(), task).leavingOut(left)
	s.value, s.margin, err = leastValue(ctx, m, only, c.Direction)
	if err != nil {
		return s, err
	}
	if !heldValue(c.Value, s.value, s.margin, c.Margin, 0) {
		s.reached, err = withinReach(ctx, m, only, c.Direction, c.Value, s.value, c.Margin)
	}
	return s, err
}

// leastValue returns V*(dir) and a bound of its error, over policies for which what matters is finite.
func leastValue(ctx context.Context, m *cmdp.Model, c relevance, dir []float64) (value, margin float64, err error) {
	err = besideGrowth(c, func(i int) bool { return dir[i] != 0 }, func() error {
		p, err := newPricer(ctx, m, 1, c, progress.Of(ctx))
		if err == nil {
			value, margin, err = p.recheck(ctx, dir)
		}
		return err
	})
	return value, margin, err
}

// leastRationalValue is leastValue in rational arithmetic, see rationalValue.
func leastRationalValue(ctx context.Context, m *cmdp.Model, c relevance, dir []*big.Rat) (value *big.Rat, loss float64,
	err error) {
	m, err = rowsOf(ctx, m)
	if err != nil {
		return nil, 0, err
	}
	err = besideGrowth(c, func(i int) bool { return dir[i].Sign() != 0 }, func() (err error) {
		value, loss, err = rationalValue(ctx, m, dir, c)
		return err
	})
	return value, loss, err
}

// besideGrowth calls prove, and again without totals that c tells of and that may grow for ever beside long-run means,
// as long as a direction has no part in them: policies for which fewer totals have to be finite are more, so that what
// is true of all of them is true of those that keep the limits.
func besideGrowth(c relevance, takesPart func(i int) bool, prove func() error) error {
	for {
		err := prove()
		var found *NoTotalError
		if !errors.As(err, &found) || !found.Wanted || found.Return < 0 || takesPart(found.Return) {
			return err
		}
		c.up[found.Return], c.down[found.Return] = false, false
	}
}

// A separation is what is known of a direction.
type separation struct {
	value, margin  float64 // V* and a bound of its error
	support, slack float64 // h_W and a bound of its error
	reached        bool    // a policy comes to no less than the stated V*, which is above value
}

// proves reports whether the direction separates, whatever is lost to rounding.
func (s separation) proves() bool { return s.value-s.support > s.margin+s.slack }

// sameValue compares a stated V* with the one found, whose errors are at most the margins. Both may be values of
// large linear systems, which two ways of solving them give to a few units in the last place.
func sameValue(stated, found, margin, statedMargin float64) bool {
	// What two value iterations leave open may differ. More than this is no rounding.
	margin += math.Min(statedMargin, 1e-10*(1+math.Abs(found)))
	return math.Abs(stated-found) <= margin+256*roundoff*math.Abs(found)
}

// heldValue is sameValue, or that a value is stated that is a little lower, which was found in fewer steps or in less
// time. How little that is where returns cancel out tell the margin and the size of a step, whatever their units.
func heldValue(stated, found, margin, statedMargin, step float64) bool {
	return sameValue(stated, found, margin, statedMargin) ||
		stated <= found && stated >= found-math.Max(1e-10*(1+math.Abs(found)+step), 16*statedMargin)
}

// withinReach reports whether a stated V* is above the one found by no more than what a policy comes to, which V* does
// not exceed. The bound of a total is below V* by what each step is made cheaper by, and how much that is depends on
// the way to it.
func withinReach(ctx context.Context, m *cmdp.Model, c relevance, dir []float64,
	stated, found, statedMargin float64) (within bool, err error) {
	if m.Horizon() > 0 || m.Discount() < 1 || m.Epochs() != nil || !(stated > found) {
		return false, nil
	}
	err = besideGrowth(c, func(i int) bool { return dir[i] != 0 }, func() error {
		p, err := newPricer(ctx, m, 1, c, progress.Of(ctx))
		if err != nil {
			return err
		}
		best, err := p.price(ctx, dir, 0)
		if err != nil || best.ray != nil {
			return err
		}
		reached, size := 0.0, 0.0
		for i, r := range best.returns {
			reached += dir[i] * r
			size += math.Abs(dir[i] * r)
		}
		within = stated <= reached || sameValue(stated, reached, 256*roundoff*size, statedMargin)
		return nil
	})
	return within, err
}

// largestStep returns what a step of a model without a horizon gives in a direction at most, if nothing cancels out; 0
// for others.
func largestStep(m *cmdp.Model, dir []float64) float64 {
	most := 0.0
	if m.Horizon() > 0 || m.Epochs() != nil {
		return most
	}
	for step := range slices.Chunk(m.Kernel(0).Returns, len(dir)) {
		sum := 0.0
		for i, r := range step {
			sum += math.Abs(dir[i] * r)
		}
		most = max(most, sum)
	}
	return most
}

// leastMargin is the least margin that a statement may have whose rounding errors come to margin here: a share
// of it. What long-run means and discounted sums lose to rounding depends on the values that were at hand. This
// only tells numbers that cannot be meant: what is proved is certified with the margin found here.
func leastMargin(m *cmdp.Model, margin, share float64) float64 {
	if m.Means() || m.Horizon() == 0 && m.Discount() < 1 {
		share = 256
	}
	return margin / share
}

// check compares what a certificate says with what is known of its direction. Its margin is to be at least the
// given one.
func (s separation) check(c *Certificate, margin float64) error {
	// Distance and the support of a whole set come from nearest points, which may be
	// less exact than rounding.
	loose := 1e-9 * (math.Abs(s.value) + math.Abs(s.support))
	wrong := ""
	switch {
	case !heldValue(c.Value, s.value, s.margin, c.Margin, 0) && !s.reached:
		wrong = fmt.Sprintf("value %g: want %g", c.Value, s.value)
	case !c.Whole && !(math.Abs(c.Support-s.support) <= s.slack):
		wrong = fmt.Sprintf("support %g: want %g", c.Support, s.support)
	case c.Whole && !(c.Support >= s.support-loose):
		wrong = fmt.Sprintf("support %g of the whole set: want at least the %g of its part", c.Support, s.support)
	// the value alone is rounded by a unit
	case !(c.Margin >= max(margin, roundoff*math.Abs(s.value)) && c.Margin < c.Value-c.Support):
		wrong = fmt.Sprintf("margin %g: want a bound of the rounding error, below the separation %g", c.Margin,
			c.Value-c.Support)
	case !(c.Distance >= c.Value-c.Support-loose):
		wrong = fmt.Sprintf("distance %g: want at least the separation %g", c.Distance, c.Value-c.Support)
	default:
		return nil
	}
	return fmt.Errorf("exact: certificate with %s: %w", wrong, ErrNotProved)
}

// leftOut returns the states that a proof leaves out. It is an error if policies that keep the limits may come
// to some of them. A state may be out of reach only because others are left out before.
func leftOut(ctx context.Context, m *cmdp.Model, task cmdp.Task, without []int) ([]int32, error) {
	rest := make([]int32, 0, len(without))
	for _, s := range without {
		if s < 0 || s >= m.States() {
			return nil, fmt.Errorf("exact: state %d is left out of a model of %d: %w", s, m.States(), ErrNotProved)
		}
		rest = append(rest, int32(s))
	}
	var left []int32
	for len(rest) > 0 {
		out, err := outOfReach(ctx, m, task, left, rest)
		if err != nil {
			return nil, err
		}
		if out == nil {
			return nil, fmt.Errorf("exact: state %d is left out, and policies that keep the limits may come there: %w",
				rest[0], ErrNotProved)
		}
		left = append(left, out...)
		rest = slices.DeleteFunc(rest, func(s int32) bool { return slices.Contains(out, s) })
	}
	slices.Sort(left)
	return left, nil
}

// outOfReach returns all or else some states of a list to which no policy comes that keeps the limits and comes
// to none of those left out; nil if there are none.
func outOfReach(ctx context.Context, m *cmdp.Model, task cmdp.Task, left, list []int32) ([]int32, error) {
	if m.Horizon() > 0 || m.Discount() < 1 || m.Means() { // what returns there are is finite
		return nil, nil
	}
	opts, err := Options{Workers: 1}.withDefaults()
	if err == nil {
		m, err = rowsOf(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	p, err := newInfiniteHorizon(ctx, m, 1, relevanceOf(m.Dim(), task).leavingOut(left), progress.Of(ctx))
	if err != nil {
		return nil, err
	}
	lower, upper := make([]float64, m.Dim()), make([]float64, m.Dim())
	if err := p.ranges(ctx, lower, upper); err != nil {
		return nil, err
	}
	for i := range lower {
		lower[i], upper[i] = math.Max(lower[i], -Boundless), math.Min(upper[i], Boundless)
	}
	if task.Target != nil {
		CutBox(lower, upper, task.Target)
	}
	rows, _ := task.LinearConstraints(lower, upper)
	never := func(states []int32) (bool, error) {
		q, err := p.reaching(ctx, states)
		if err != nil {
			return false, err
		}
		n, verdict, err := maximizeReaching(ctx, q, rows, lower, upper, opts)
		if errors.Is(err, errNoBound) || errors.Is(err, errNoPoint) {
			return false, nil
		}
		return err == nil && n.provesUnreachable(verdict), err
	}
	if all, err := never(list); all || err != nil {
		return list, err
	}
	var out []int32
	for _, s := range list {
		one, err := never([]int32{s})
		if err != nil {
			return nil, err
		}
		if one {
			out = append(out, s)
		}
	}
	return out, nil
}

func checkCertificate(m *cmdp.Model, task cmdp.Task, c *Certificate) error {
	if err := checkTask(m, task); err != nil {
		return err
	}
	if task.Target == nil || c == nil || len(c.Direction) != m.Dim() || len(c.Rows) != len(c.Weights) {
		return fmt.Errorf("exact: want a target, and a certificate for it: %w", ErrNotProved)
	}
	return nil
}

// VerifyRational checks the half-spaces of a certificate in rational arithmetic: with
// θ = Σ Weights·Normal, every point of the target has θ·w ≤ Σ Weights·Offset, and
// V*(θ) must be larger, see [RationalValue]. Half-spaces that are rows of a polyhedral
// target contain it exactly. The others are moved out to its support function, and a
// little farther for rounding. The policies are those of [Verify].
func VerifyRational(ctx context.Context, m *cmdp.Model, task cmdp.Task, c *Certificate) error {
	if err := checkCertificate(m, task, c); err != nil {
		return err
	}
	return verifyForAnyCost(task, func(task cmdp.Task) error { return verifyRationalFor(ctx, m, task, c) })
}

// verifyRationalFor is VerifyRational for the policies for which what matters to a task is finite.
func verifyRationalFor(ctx context.Context, m *cmdp.Model, task cmdp.Task, c *Certificate) error {
	theta, offset := make([]*big.Rat, m.Dim()), new(big.Rat)
	for i := range theta {
		theta[i] = new(big.Rat)
	}
	if _, err := addRows(task, c.Rows, c.Weights, theta, offset); err != nil {
		return err
	}
	left, err := leftOut(ctx, m, task, c.Without)
	if err != nil {
		return err
	}
	value, _, err := leastRationalValue(ctx, m, relevanceOf(m.Dim(), task).leavingOut(left), theta)
	if err != nil {
		return err
	}
	if value.Cmp(offset) <= 0 {
		return fmt.Errorf("exact: every policy reaches at least %s and the target %s: %w", value.FloatString(20),
			offset.FloatString(20), ErrNotProved)
	}
	return nil
}

// covering returns an offset for the half-space with the normal of r such that it contains
// the target. If r is a row of a polyhedral target, that is the offset of r, exactly.
// Otherwise it is at least the support function, with room for rounding. It is an error if
// r falls short of that by more than an iterated answer may.
func covering(target geometry.Compact, r cmdp.Constraint) (float64, error) {
	if p, ok := target.(geometry.Polyhedral); ok {
		if rows, ok := p.Rows(); ok {
			for k, n := range rows.A {
				if slices.Equal(n, r.Normal) && rows.B[k] == r.Offset ||
					k < rows.Equalities && slices.Equal(n, scaled(-1, r.Normal)) && rows.B[k] == -r.Offset {
					return r.Offset, nil
				}
			}
		}
	}
	if err := checkContains(target, r); err != nil {
		return 0, err
	}
	return max(r.Offset, oracle.Support(target, r.Normal)+supportError(target, r.Normal)), nil
}
