package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"cmdpsolve/cmdp"
	"cmdpsolve/cmdp/exact"
	"cmdpsolve/cmdp/problem"
	"cmdpsolve/cost"
	"cmdpsolve/geometry"
	"cmdpsolve/internal/threshold"
)

// ranges remembers the extremes of the total return of a model, which are problems of
// their own.
type ranges struct {
	mu           sync.Mutex
	lower, upper []float64
}

// of sets lower and upper to the extremes of the total return.
func (r *ranges) of(ctx context.Context, planner *exact.Planner, lower, upper []float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lower == nil {
		least, most, err := planner.Ranges(ctx, exact.Options{})
		if err != nil {
			return problem.Inside(err, "discount")
		}
		for i := range least {
			least[i], most[i] = max(least[i], -exact.Boundless), min(most[i], exact.Boundless)
		}
		r.lower, r.upper = least, most
	}
	copy(lower, r.lower)
	copy(upper, r.upper)
	return nil
}

// box returns the box of possible returns: with a horizon, the sums of the
// extremes of single steps, cut to the promised range of the return to go; with
// a discount below 1, the geometric series of the extremes; with discount 1, bounds of
// the expected total return over all policies, [exact.Boundless] where it may be infinite; of
// long-run averages, the extremes of single steps. Errors say which key of the file they are about.
func (q *Query) box(ctx context.Context) (*geometry.Box, error) {
	m, shape, d := q.Model, q.Shape(), len(q.Returns)
	lower, upper := make([]float64, d), make([]float64, d)
	key := "returns"
	switch {
	case q.Fleet() != nil:
		low, high, err := q.Fleet().planner.Exact().Extent(ctx)
		if err != nil {
			return nil, err
		}
		lower, upper = low, high
	case shape != nil:
		shape.ReturnToGo(lower, upper, 0)
	case m.Average():
		key = "criterion"
		stepRange(m, lower, upper)
	case m.Discount() == 1:
		key = "discount"
		if q.Uncertain() { // what totals can be depends on the model of the set
			for i := range lower {
				lower[i], upper[i] = -exact.Boundless, exact.Boundless
			}
		} else if err := q.extremes(ctx, lower, upper); err != nil {
			return nil, err
		}
		low, high := make([]float64, d), make([]float64, d)
		stepRange(m, low, high)
		for i := range lower {
			if m.Mean(i) {
				lower[i], upper[i] = low[i], high[i]
			}
		}
	default:
		key = "discount"
		stepRange(m, lower, upper)
		for i := range lower {
			lower[i] /= 1 - m.Discount()
			upper[i] /= 1 - m.Discount()
		}
	}
	for i := range lower {
		if math.IsInf(lower[i], 0) || math.IsInf(upper[i], 0) || math.IsInf(upper[i]-lower[i], 0) {
			return nil, problem.Inside(fmt.Errorf("return %s: its possible values, from %g to %g, are too far apart",
				q.Returns[i], lower[i], upper[i]), key)
		}
	}
	return geometry.NewBox(lower, upper)
}

// extremes sets lower and upper to bounds of the totals. In a large model they are not sought for limits and
// goals of single returns alone: signs of returns bound what they can, and the box is as wide elsewhere as
// where totals may be infinite.
func (q *Query) extremes(ctx context.Context, lower, upper []float64) error {
	if q.Model.States() < threshold.Ranged || q.Model.Means() || q.Problem.Goal.Cost != nil || q.Problem.Target != nil {
		planner, err := q.Planner()
		if err != nil {
			return err
		}
		return q.compiled.ranges.of(ctx, planner, lower, upper)
	}
	stepRange(q.Model, lower, upper)
	for i := range lower {
		below, above := lower[i] < 0, upper[i] > 0
		lower[i], upper[i] = 0, 0
		if below {
			lower[i] = -exact.Boundless
		}
		if above {
			upper[i] = exact.Boundless
		}
	}
	return nil
}

// stepRange sets lower and upper to the extremes of one step, 0 included if the
// process can rest.
func stepRange(m *cmdp.Model, lower, upper []float64) {
	rows, rests := m.Rows(0), false
	for i := range lower {
		lower[i], upper[i] = math.Inf(1), math.Inf(-1)
	}
	add := func(returns []float64) {
		for i, x := range returns {
			lower[i], upper[i] = min(lower[i], x), max(upper[i], x)
		}
	}
	for s := range m.States() {
		first, end := rows.Choices(s)
		rests = rests || first == end
		for c := first; c < end; c++ {
			next, _ := rows.Row(c)
			for e := range next {
				add(rows.Outcome(c, e))
			}
		}
	}
	if rests {
		add(make([]float64, len(lower)))
	}
}

// setTask sets Task: the goal as a cost to be minimised, and limits and target as a set within the box of
// possible returns. To maximise a return is to minimise its negative. The cost is nil without a goal, the
// target nil if there are neither limits nor a target. The rows of the task are the limits that are not kept by
// what the model offers, in their order, then the sides that the target is given by, then others that its kind
// has. A limit that no possible return keeps is not a mistake: the target is then the face of the limit,
// outside of the box, and no policy meets it. It is an error, wrapping [geometry.ErrEmpty], if limits
// contradict each other, or if a target set does not meet the box. Task then has no target and all its rows.
func (q *Query) setTask(ctx context.Context) error {
	box, err := q.box(ctx)
	if err != nil {
		return err
	}
	q.Task = cmdp.Task{Box: box}
	q.Task.Cost, err = q.goal(box)
	if err != nil {
		return err
	}
	err = q.setTarget(&q.Task)
	if err != nil && !errors.Is(err, geometry.ErrEmpty) {
		return err
	}
	q.setRows(&q.Task)
	if err == nil && q.Problem.Opponent != nil {
		_, err = q.Problem.Opponent.Build(q.Problem, q.Task.Target)
		err = problem.Inside(err, "opponent")
	}
	return err
}

// goal returns the goal as a cost.
func (q *Query) goal(box *geometry.Box) (cost.Cost, error) {
	g := q.Problem.Goal
	kind, err := g.Kind()
	switch {
	case err != nil:
		return nil, problem.Inside(err, "goal")
	case kind == "":
		return nil, nil
	case g.Cost != nil:
		c, err := q.curved(box)
		return c, problem.Inside(err, "goal", "cost")
	}
	i := slices.Index(q.Returns, g.Maximize+g.Minimize)
	if i < 0 {
		return nil, problem.Inside(fmt.Errorf("unknown return %q", g.Maximize+g.Minimize), "goal", kind)
	}
	gradient := make([]float64, len(q.Returns))
	gradient[i] = 1
	if g.Maximize != "" {
		gradient[i] = -1
	}
	c, err := cost.NewLinear(gradient, box)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// declared lists the returns that a cost and a target of the file are about: those after them were added to tell
// about limits.
func (q *Query) declared() []string { return q.Returns[:q.compiled.declared] }

// curved builds the cost of the goal over a box of all returns.
func (q *Query) curved(box *geometry.Box) (cost.Cost, error) {
	g, n, d := q.Problem.Goal, len(q.declared()), len(q.Returns)
	if n == d {
		return g.Cost.Build(q.Returns, box)
	}
	part, err := geometry.NewBox(box.Lower()[:n], box.Upper()[:n])
	if err != nil {
		return nil, err
	}
	c, err := g.Cost.Build(q.declared(), part)
	if err != nil {
		return nil, err
	}
	first := make([][]float64, n)
	for i := range first {
		first[i] = make([]float64, d)
		first[i][i] = 1
	}
	return cost.NewPrecomposed(c, first, make([]float64, n), box)
}

// target builds the target, with all values allowed for returns that it is not about.
func (q *Query) target() (geometry.Set, error) {
	n, d := len(q.declared()), len(q.Returns)
	set, err := q.Problem.Target.Build(n, q.declared())
	if err != nil || n == d {
		return set, err
	}
	rest, err := geometry.NewBox(slices.Repeat([]float64{math.Inf(-1)}, d-n),
		slices.Repeat([]float64{math.Inf(1)}, d-n))
	if err != nil {
		return nil, err
	}
	return geometry.NewProduct(set, rest)
}

// setTarget sets Target and Whole of a task that has its Box.
func (q *Query) setTarget(t *cmdp.Task) error {
	if !slices.ContainsFunc(q.Limits, func(l *Limit) bool { return l.row >= 0 }) && q.Problem.Target == nil {
		return nil
	}
	least, most, err := q.allowed()
	if err != nil {
		return err
	}
	// What limits leave of the box; where they lie outside, its face next to them.
	lower, upper := t.Box.Lower(), t.Box.Upper()
	for i := range lower {
		lo, up := lower[i], upper[i]
		lower[i], upper[i] = min(max(lo, least[i]), most[i]), max(min(up, most[i]), least[i])
	}
	cut, err := geometry.NewBox(lower, upper)
	if err != nil {
		return problem.Inside(err, "constraints")
	}
	asked, err := geometry.NewBox(least, most)
	if err != nil {
		return problem.Inside(err, "constraints")
	}
	if q.Problem.Target == nil {
		t.Whole = asked
		t.Target, err = cut.Bounded()
		return err
	}
	set, err := q.target()
	if err != nil {
		return problem.Inside(err, "target")
	}
	target, err := geometry.Restrict(set, cut)
	if errors.Is(err, geometry.ErrEmpty) {
		err = fmt.Errorf("the target does not meet the box of the returns that are possible and allowed by the "+
			"constraints, %v to %v: %w", lower, upper, err)
	}
	if err != nil {
		return problem.Inside(err, "target")
	}
	t.Target, t.Whole = target, set
	if len(q.Problem.Constraints) > 0 {
		t.Whole, err = geometry.NewIntersection(asked, set)
		if err != nil {
			return problem.Inside(err, "target")
		}
	}
	return nil
}

// allowed returns the bounds on each return that the limits ask for, ±Inf without one.
func (q *Query) allowed() (least, most []float64, err error) {
	d := len(q.Returns)
	least, most = slices.Repeat([]float64{math.Inf(-1)}, d), slices.Repeat([]float64{math.Inf(1)}, d)
	for _, l := range q.Limits {
		if l.row < 0 || l.Constraint < 0 {
			continue
		}
		i := l.expected.coordinate
		err := l.expected.narrow(&least[i], &most[i])
		if err != nil {
			return nil, nil, problem.Inside(err, "constraints", l.Constraint)
		}
	}
	return least, most, nil
}

// narrow narrows the interval from least to most to what the bound allows.
func (e *expected) narrow(least, most *float64) error {
	const contradiction = "%s %g is asked for, but the other constraints keep %s %s %g: %w"
	switch {
	case math.IsNaN(e.bound):
		return errors.New("a bound is NaN")
	case e.atLeast && e.bound > *most:
		return fmt.Errorf(contradiction, "at least", e.bound, e.name, "at most", *most, geometry.ErrEmpty)
	case e.atLeast:
		*least = max(*least, e.bound)
	case e.bound < *least:
		return fmt.Errorf(contradiction, "at most", e.bound, e.name, "at least", *least, geometry.ErrEmpty)
	default:
		*most = min(*most, e.bound)
	}
	return nil
}

// Objective returns the value of the return vector v in the user's own sense: the
// return that is maximised or minimised, or the cost. It is NaN without a goal. It panics if v has not
// the length of Returns.
func (q *Query) Objective(v []float64) float64 {
	if len(v) != len(q.Returns) {
		panic("query: dimension mismatch")
	}
	if q.Task.Cost == nil {
		return math.NaN()
	}
	return q.Sense() * q.Task.Cost.Value(v)
}

// Sense is 1 if the cost of the task is the user's objective, -1 if it is the
// negative of a return to be maximised.
func (q *Query) Sense() float64 {
	if q.Problem.Goal.Maximize != "" {
		return -1
	}
	return 1
}
